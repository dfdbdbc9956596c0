"""Terms: numbers that know their formula. A formula that is called with terms prints itself."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

_SUM, _PRODUCT, _WHOLE = range(3)  # precedence of a formula's outermost operation
_OPERATIONS: dict[str, tuple[int, str, Callable[[float, float], float]]] = {
    "+": (_SUM, "+", operator.add),
    "-": (_SUM, "-", operator.sub),
    "*": (_PRODUCT, "·", operator.mul),
    "/": (_PRODUCT, "/", operator.truediv),
    "//": (_PRODUCT, "/", operator.floordiv),
}
_NEUTRAL = {"+": "0", "-": "0", "*": "1"}


def _binary(sign: str) -> Callable[[Term, Number], Term]:
    return lambda left, right: _operation(left, sign, right)


def _reflected(sign: str) -> Callable[[Term, float], Term]:
    return lambda right, left: _operation(left, sign, right)


@dataclass(frozen=True, slots=True)
class Term:
    """A number and the formula that computes it."""

    value: float
    text: str
    precedence: int = _WHOLE
    parts: dict[str, Term] = field(default_factory=dict)  # the named terms in the formula
    unit: str = ""  # of the value; empty: bytes

    def named(self, name: str, unit: str = "") -> Term:
        """Return a term that other formulas show as a name, with this formula as one of their parts."""
        return Term(self.value, name, parts={name: self.of(unit), **self.parts}, unit=unit)

    def of(self, unit: str) -> Term:
        """Return the term in this unit."""
        return replace(self, unit=unit)

    def __str__(self) -> str:
        return self.text

    def __int__(self) -> int:
        return int(self.value)

    __add__, __sub__, __mul__, __truediv__, __floordiv__ = map(_binary, _OPERATIONS)
    __radd__, __rsub__, __rmul__, __rtruediv__, __rfloordiv__ = map(_reflected, _OPERATIONS)


Number: TypeAlias = Term | float


def term(number: Number) -> Term:
    """Return a number as a term, which shows a million bytes and more in MB."""
    if isinstance(number, Term):
        return number
    return Term(number, f"{number / 1e6:,.0f} MB" if number >= 1e6 else f"{number:g}")


def _operation(first: Number, sign: str, second: Number) -> Term:
    """Compute and write an operation. Zeros that are added and ones that are multiplied do not show."""
    left, right = term(first), term(second)
    if (sign == "*" and right.text == "0") or (sign in "*//" and left.text == "0"):
        return Term(0, "0")
    neutral = _NEUTRAL.get(sign)
    if right.text == neutral:
        return left
    if left.text == neutral and sign != "-":
        return right
    precedence, shown, compute = _OPERATIONS[sign]
    texts = (_within(left, precedence), _within(right, precedence + (sign in "-//")))
    value = compute(left.value, right.value)
    return Term(value, f" {shown} ".join(texts), precedence, {**left.parts, **right.parts})


def _within(operand: Term, precedence: int) -> str:
    return f"({operand.text})" if operand.precedence < precedence else operand.text


def _choice(choose: Callable[[Iterable[float]], float], *numbers: Number) -> Term:
    terms = {choice.text: choice for choice in map(term, numbers)}
    if len(terms) == 1:
        return term(numbers[0])
    parts = {name: part for choice in terms.values() for name, part in choice.parts.items()}
    value = choose(choice.value for choice in terms.values())
    return Term(value, f"{choose.__name__}({', '.join(terms)})", parts=parts)


least, most = partial(_choice, min), partial(_choice, max)


def distinct(kinds: Term, drawn: Number) -> Term:
    """Return how many of a number of kinds occur among random draws, as expected."""
    share = term(-1 * drawn / kinds)
    return kinds * (1 - Term(math.exp(share.value), f"exp({share.text})", parts=share.parts))
