"""Terms, numbers that know their formula, and the plan, a table of terms."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from html import escape
from typing import Any, TypeAlias

_SUM, _PRODUCT, _WHOLE = range(3)  # precedence of a formula's outermost operation
_OPERATIONS: dict[str, tuple[int, Callable[[float, float], float]]] = {
    "+": (_SUM, operator.add),
    "-": (_SUM, operator.sub),
    "·": (_PRODUCT, operator.mul),
    "/": (_PRODUCT, operator.truediv),
}


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
        return Term(self.value, name, parts={name: replace(self, unit=unit), **self.parts}, unit=unit)

    def __str__(self) -> str:
        return self.text

    def __add__(self, other: Number) -> Term:
        return _operation(self, "+", other)

    def __sub__(self, other: Number) -> Term:
        return _operation(self, "-", other)

    def __mul__(self, other: Number) -> Term:
        return _operation(self, "·", other)

    def __truediv__(self, other: Number) -> Term:
        return _operation(self, "/", other)

    def __radd__(self, other: float) -> Term:
        return _operation(other, "+", self)

    def __rmul__(self, other: float) -> Term:
        return _operation(other, "·", self)

    def __rtruediv__(self, other: float) -> Term:
        return _operation(other, "/", self)


Number: TypeAlias = Term | float


def _term(number: Number) -> Term:
    if isinstance(number, Term):
        return number
    return Term(number, f"{number / 1e6:,.0f} MB" if number >= 1e6 else f"{number:g}")


def _operation(one: Number, sign: str, other: Number) -> Term:
    """Compute and write an operation. Zeros that are added and ones that are multiplied do not show."""
    left, right = _term(one), _term(other)
    if sign in "+·":
        neutral = "0" if sign == "+" else "1"
        if sign == "·" and "0" in (left.text, right.text):
            return Term(0, "0")
        if neutral in (left.text, right.text):
            return right if left.text == neutral else left
    precedence, compute = _OPERATIONS[sign]
    texts = (_within(left, precedence), _within(right, precedence + (sign in "-/")))
    value = compute(left.value, right.value)
    return Term(value, f" {sign} ".join(texts), precedence, {**left.parts, **right.parts})


def _within(term: Term, precedence: int) -> str:
    return f"({term.text})" if term.precedence < precedence else term.text


def _choice(choose: Callable[[Iterator[float]], float], *numbers: Number) -> Term:
    terms = {term.text: term for term in map(_term, numbers)}
    if len(terms) == 1:
        return _term(numbers[0])
    parts = {name: part for term in terms.values() for name, part in term.parts.items()}
    value = choose(term.value for term in terms.values())
    return Term(value, f"{choose.__name__}({', '.join(terms)})", parts=parts)


least, most = partial(_choice, min), partial(_choice, max)

_QUANTITIES = {
    "bytes_moved": "moved between workers",
    "bytes_on_disk": "on disk",
    "peak_memory": "peak memory of a process",
    "peak_gpu_memory": "peak memory of a GPU",
    "bytes_over_bus": "between hosts and GPUs",
    "bytes_between_gpus": "from GPU to GPU",
}
_LABELS = ("components", "clusters", "labels")  # strategies that write no rows
_LIMITS = {"peak_memory": "memory_limit", "peak_gpu_memory": "gpu_memory_limit"}


@dataclass(frozen=True, slots=True)
class Plan:
    """A prediction of :func:`plan`, which prints as a table.

    Attributes
    ----------
    n_vertices, n_edges, partitions, workers, memory_limit
        The graph, and the processes that find its forest.
    strategy
        The strategy that is planned.
    reason
        Why ``"auto"`` chooses this strategy.
    reads
        How often the rows are read to find the forest. They are read once more to write it.
    rounds
        Number of slices that are solved one after the other; 0 if there are none.
    fits
        Whether each process has enough memory.
    usable_memory
        Bytes of the limit that tasks may use: on a cluster less than the limit, at which Dask ends a worker.
    peak_memory
        Bytes of one process.
    formulas
        Name of a quantity -> its formula: a term with the attributes `value` and `text`, and with the formulas of its
        `parts`.
    bytes_moved, bytes_on_disk
        Bytes between the workers of a cluster, and most bytes on the disk of a stream.
    gpu_memory_limit, peak_gpu_memory, bytes_over_bus
        Memory of each worker's GPU (0: no GPU), the bytes used of it, and the bytes between hosts and GPUs (PCIe).
    bytes_between_gpus
        Bytes that move from GPU to GPU (NVLink, if there is one) with ``protocol="ucx"``.
    """

    n_vertices: int
    n_edges: int
    partitions: int
    workers: int
    memory_limit: int
    strategy: str
    reason: str
    reads: int
    rounds: int
    fits: bool
    usable_memory: int
    peak_memory: int
    formulas: dict[str, Term]
    bytes_moved: int = 0
    bytes_on_disk: int = 0
    gpu_memory_limit: int = 0
    peak_gpu_memory: int = 0
    bytes_over_bus: int = 0
    bytes_between_gpus: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values, formulas as text."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**values, "formulas": {name: term.text for name, term in self.formulas.items()}}

    def __repr__(self) -> str:
        rows = list(self._rows())
        wide, size = (max(len(row[column]) for row in rows) for column in (0, 1))
        lines = [f"{name:{wide}}  {value:>{size}}  {formula}".rstrip() for name, value, formula in rows]
        return "\n".join([*self._head(), "", *lines])

    def _repr_html_(self) -> str:
        head = "<br>".join(map(escape, self._head()))
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._rows())
        return f"<p>{head}</p>\n<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    def _head(self) -> list[str]:
        gpu = f", each with a GPU of {_size(self.gpu_memory_limit)}" if self.gpu_memory_limit else ""
        read = "once" if self.reads == 1 else f"{self.reads} times"
        slices = f", in {self.rounds} slices" if self.rounds else ""
        return [
            f"{self.strategy}{slices}: {'fits' if self.fits else 'does not fit'} ({self.reason})",
            f"n = {self.n_vertices:,} vertices, m = {self.n_edges:,} edges in P = {self.partitions:,} partitions",
            f"W = {self.workers:,} workers of M = {_size(self.memory_limit)}{gpu}",
            f"rows are read {read}" + ("" if self.strategy in _LABELS else " to find the forest, and once to write it"),
        ]

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Quantities with their values and formulas, and below each the parts that no other has shown."""
        shown: set[str] = set()
        for quantity, term in self.formulas.items():
            yield _QUANTITIES[quantity], _size(term.value), term.text
            for name, part in term.parts.items():
                if name not in shown:
                    value = f"{part.value:,.0f} {part.unit}" if part.unit else _size(part.value)
                    yield f"  {name}", value, part.text
            shown |= set(term.parts)
            if quantity in _LIMITS:
                shares = f"{_size(self.usable_memory)} for tasks" if quantity == "peak_memory" else ""
                yield "  limit", _size(getattr(self, _LIMITS[quantity])), shares


def _size(count: float) -> str:
    """Format bytes with three digits."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.0f} PB"
