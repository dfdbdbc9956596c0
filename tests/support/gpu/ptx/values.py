"""Operands: registers, constants and special registers as NumPy arrays of one entry a thread."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.support.gpu.ptx.machine import Launch

BOOL = np.dtype(bool)
#: PTX type -> NumPy dtype; ``b`` are bits without a meaning.
TYPES: dict[str, np.dtype[Any]] = {
    "pred": BOOL,
    **{
        f"{kind}{bits}": np.dtype(f"{code}{bits // 8}") for kind, code in ("uu", "si", "bu") for bits in (8, 16, 32, 64)
    },
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
_NAME = re.compile(r"[A-Za-z_]")

#: An operand's value for some threads: an array, or a number that is the same for all.
Reader = Callable[["Launch", np.ndarray], Any]
Writer = Callable[["Launch", np.ndarray, Any], None]


def reader(operand: str, dtype: np.dtype[Any]) -> Reader:
    """How an operand is read as a type."""
    if operand[0] == "%":
        return _register(operand, dtype)
    value = constant(operand, dtype)
    return lambda launch, threads: value


def constant(operand: str, dtype: np.dtype[Any]) -> Any:
    """A number in the text."""
    if operand[:2] in ("0f", "0F"):
        return np.uint32(int(operand[2:], 16)).view(np.float32)
    if operand[:2] in ("0d", "0D"):
        return np.uint64(int(operand[2:], 16)).view(np.float64)
    if _NAME.match(operand):
        return dtype.type(0)  # a thread's stack begins at 0
    number = int(operand.rstrip("U"), 0)
    if dtype == BOOL:
        return np.bool_(number)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return unsigned.type(number & (1 << 8 * dtype.itemsize) - 1).view(dtype)


def _register(name: str, dtype: np.dtype[Any]) -> Reader:
    unsigned = dtype if dtype == BOOL else np.dtype(f"u{dtype.itemsize}")

    def read(launch: Launch, threads: np.ndarray) -> Any:
        values = launch.register(name)[threads]
        if values.dtype.itemsize != dtype.itemsize:
            values = values.astype(unsigned)
        return values.view(dtype)

    return read


def writer(operand: str) -> Writer:
    """How a register is written: signed values are extended by their sign, others by zeros."""
    if operand == "_":
        return lambda launch, threads, values: None

    def write(launch: Launch, threads: np.ndarray, values: Any) -> None:
        register = launch.register(operand)
        if values.dtype.itemsize != register.dtype.itemsize:
            kind = "i" if values.dtype.kind == "i" else "u"
            values = values.astype(f"{kind}{register.dtype.itemsize}")
        register[threads] = values.view(register.dtype)

    return write
