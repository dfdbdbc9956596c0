"""Instructions that compute one value from others, each thread for itself."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.gpu.ptx.values import BOOL, TYPES

_PLAIN: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
    "mov": lambda a: a,
    "cvta": lambda a: a,
    "neg": operator.neg,
    "not": np.invert,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "rcp": lambda a: np.reciprocal(a),
}
_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
    # These also hold where an operand is NaN.
    "neu": operator.ne,
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
}
_UNSIGNED_32 = TYPES["u32"]

#: What is computed, and the types that its operands are read as.
Computation = tuple[Callable[..., Any], tuple[np.dtype[Any], ...]]


def computed(opcode: tuple[str, ...], operands: int) -> Computation | None:
    """What an instruction with so many inputs computes; ``None`` for one that is not arithmetic."""
    found = _plainly(opcode, operands)
    if found is None or "ftz" not in opcode:
        return found
    function, types = found
    return (lambda *values: _flushed(function(*map(_flushed, values)))), types


def _plainly(opcode: tuple[str, ...], operands: int) -> Computation | None:
    """What it computes without ``.ftz``."""
    op, dtype = opcode[0], TYPES.get(opcode[-1], BOOL)
    if op in ("mul", "mad"):
        return _product(opcode, dtype)
    if op == "setp":
        return _COMPARE[opcode[1]], (dtype, dtype)
    if op == "selp":
        return (lambda a, b, condition: np.where(condition, a, b)), (dtype, dtype, BOOL)
    if op == "cvt":
        return _conversion(TYPES[opcode[-2]]), (dtype,)
    if op in ("shl", "shr"):
        return _shift(op, dtype), (dtype, _UNSIGNED_32)
    if op in ("div", "rem"):
        return _quotient(op, dtype), (dtype, dtype)
    if op == "fma":  # rounded once
        return (lambda a, b, c: (a.astype(np.longdouble) * b + c).astype(dtype)), (dtype,) * 3
    if op in _BITS:
        return _BITS[op](dtype, "shiftamt" in opcode), (dtype,)
    if op == "bfi":
        return _insert, (dtype, dtype, _UNSIGNED_32, _UNSIGNED_32)
    if op in _PLAIN:
        return _PLAIN[op], (dtype,) * operands
    return None


def _product(opcode: tuple[str, ...], dtype: np.dtype[Any]) -> Computation:
    """Low half, high half or whole of an integer product; a product of floats; with a sum for ``mad``."""
    wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}") if opcode[1] == "wide" else dtype

    def widened(a: Any, b: Any) -> Any:
        return a.astype(wide) * b.astype(wide)

    def high_half(a: Any, b: Any) -> Any:
        whole = np.asarray(a).astype(object) * np.asarray(b).astype(object)
        return (whole >> 8 * dtype.itemsize).astype(dtype)

    product = {"wide": widened, "hi": high_half}.get(opcode[1], operator.mul)
    if opcode[0] == "mul":
        return product, (dtype, dtype)
    return (lambda a, b, c: product(a, b) + c), (dtype, dtype, wide)


def _flushed(value: Any) -> Any:
    """A value of which denormal 32-bit floats are zeros; others stay."""
    if getattr(value, "dtype", None) != np.float32:
        return value
    return np.where(np.abs(value) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), value), value)


def _quotient(op: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Quotients of floats; of integers, quotients are cut towards 0, and remainders have the sign of the dividend."""
    if dtype.kind == "f":
        return operator.truediv
    if dtype.kind == "u":
        return operator.floordiv if op == "div" else operator.mod

    def cut(a: Any, b: Any) -> Any:
        quotient = np.abs(a) // np.abs(b) * (np.sign(a) * np.sign(b))
        return (quotient if op == "div" else a - quotient * b).astype(dtype)

    return cut


def _conversion(to: np.dtype[Any]) -> Callable[..., Any]:
    return lambda a: a.astype(to)


def _shift(op: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Shifts by the width or more leave zeros, or copies of the sign."""
    bits = 8 * dtype.itemsize

    def left(a: Any, places: Any) -> Any:
        return (a << np.minimum(places, bits - 1).astype(dtype)) * (places < bits).astype(dtype)

    def right(a: Any, places: Any) -> Any:
        shifted = a >> np.minimum(places, bits - 1).astype(dtype)
        return shifted if dtype.kind == "i" else shifted * (places < bits).astype(dtype)

    return left if op == "shl" else right


def _insert(a: Any, b: Any, begin: Any, length: Any) -> Any:
    """Some low bits of `a` in the middle of `b`."""
    kind = a.dtype.type if hasattr(a, "dtype") else type(a)
    mask = kind(((1 << int(length)) - 1) << int(begin))
    return b & ~mask | (a << kind(int(begin))) & mask


def _popc(dtype: np.dtype[Any], _: bool) -> Callable[..., Any]:
    return lambda a: np.bitwise_count(a).astype(np.uint32)


def _lead(a: Any, bits: int) -> Any:
    """Zeros before the first bit that is set: the width where none is."""
    value, zeros = np.array(a, np.uint64, ndmin=1), np.full(np.shape(np.atleast_1d(a)), 64, np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        high = value >> np.uint64(step)
        some = high != 0
        zeros[some] -= step
        value[some] = high[some]
    return zeros - (value != 0) - (64 - bits)


def _clz(dtype: np.dtype[Any], _: bool) -> Callable[..., Any]:
    return lambda a: _lead(a, 8 * dtype.itemsize).astype(np.uint32)


def _bfind(dtype: np.dtype[Any], shift_amount: bool) -> Callable[..., Any]:
    bits = 8 * dtype.itemsize

    def find(a: Any) -> Any:
        lead = _lead(a, bits)
        return np.where(lead == bits, -1, lead if shift_amount else bits - 1 - lead).astype(np.uint32)

    return find


def _brev(dtype: np.dtype[Any], _: bool) -> Callable[..., Any]:
    def reverse(a: Any) -> Any:
        octets = np.atleast_1d(a).astype(dtype.newbyteorder("<")).view(np.uint8).reshape(-1, dtype.itemsize)
        bits = np.unpackbits(octets, axis=1, bitorder="little")[:, ::-1]
        return np.packbits(bits, axis=1, bitorder="little").view(dtype)[:, 0]

    return reverse


_BITS = {"popc": _popc, "clz": _clz, "bfind": _bfind, "brev": _brev}
