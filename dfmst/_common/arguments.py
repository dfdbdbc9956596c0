"""Checks of the arguments of public functions, whose errors name the argument; patterns of numbers in text."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import Array, Column
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

ANY_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
# Each digit has one place in the pattern: two would take quadratic time in a long word of digits.
ANY_NUMBER = r"^\s*[+-]?(?i:([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)\s*$"
#: Whether a word is a whole number, and whether it is a number, possibly between blanks.
is_whole = re.compile(ANY_WHOLE, re.ASCII).match
is_number = re.compile(ANY_NUMBER, re.ASCII).match


def plural(count: int, one: str, more: str = "") -> str:
    """Return a count with its noun."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def refuse_masked(name: str, values: Column) -> None:
    """Raise an error for masked entries, which NumPy would read in spite of their mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        places = np.argwhere(np.ma.getmaskarray(values))
        first = int(places[0, 0]) if values.ndim == 1 else tuple(places[0].tolist())
        message = f"{name} has {len(places):,} missing entries, the first at position {first}"
        raise InvalidEdgesError(message, "fill or remove them first")


def whole_number(name: str, value: Any) -> int:
    """Return an argument that must be a whole number; floats such as 1e9 count as whole."""
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    with suppress(TypeError):
        if not isinstance(value, (bool, np.bool)):
            return operator.index(value)
    raise TypeError(f"{name} is {_shown(value)}; it must be a whole number")


def real_number(name: str, value: Any) -> float:
    """Return an argument that must be a number."""
    with suppress(TypeError, ValueError, ArithmeticError):
        if not isinstance(value, (str, bytes, bool, np.bool)):
            return float(value)
    raise TypeError(f"{name} is {_shown(value)}; it must be a number")


def check_choice(value: object, known: tuple[str, ...], message: str) -> None:
    """Raise an error with this message if an argument is not one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(message)


def check_strategy(strategy: object, known: tuple[str, ...]) -> None:
    """Raise an error if a strategy is unknown, or was removed."""
    if isinstance(strategy, str) and strategy == "two-pass":
        raise ValueError("strategy 'two-pass' was removed: merge is faster\nHint: pass strategy='merge'")
    check_choice(strategy, known, f"unknown strategy {strategy!r}; known: {', '.join(map(repr, known))}")


def is_several(value: object) -> bool:
    """Whether an argument holds several values: a list, an array or a column. A string or a 0-d array is one value."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) > 0


def yes_or_no(name: str, value: object) -> bool:
    """Return an argument that must be true or false, or 1 or 0: the text "false" would be true."""
    if isinstance(value, (bool, np.bool)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} is {_shown(value)}; it must be True or False")


def check_column_name(argument: str, value: object) -> None:
    """Raise if an argument cannot be a column's name, which must be hashable and have a boolean ``==``."""
    try:
        hash(value)
        bool(value == value)
    except Exception:  # objects may raise anything
        raise TypeError(f"{argument} is {_shown(value)}, which cannot be the name of a column") from None


def check_text(name: str, value: object) -> None:
    """Raise if an argument is not a string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {_shown(value)}; it must be a text")


def _shown(value: object) -> str:
    """Return a value in at most 60 characters, or its class."""
    if value is None or isinstance(value, (str, bytes, int, float, complex)):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    return f"a {type(value).__name__}"


def one_name(name: Any) -> Any:
    """Return the name in a list of one name, and any other argument as it is."""
    return name[0] if isinstance(name, list) and len(name) == 1 else name


class Entries(NamedTuple):
    """Entries of a square sparse matrix, in the order of ``matrix.tocoo()``; arrays of NumPy or CuPy."""

    row: Array
    column: Array
    value: Array
    size: int
    on_device: bool
    position: Array | None  # in ``matrix.tocoo()``; None: it has no other entries


def is_sparse(matrix: object) -> bool:
    """Whether an object has the interface of a sparse matrix of SciPy or CuPy."""
    return hasattr(matrix, "tocoo") and hasattr(matrix, "shape")


def refuse_sparse(argument: str, values: object, hint: str) -> None:
    """Raise an error for a sparse matrix, which NumPy would read as one object."""
    if is_sparse(values):
        raise UnsupportedFrameError(f"{argument} is a {type(values).__name__}, a sparse matrix", hint)


def stored_entries(matrix: Any) -> Entries:
    """Return the stored entries of a sparse matrix, with zeros and repeated entries.

    Blocks of several entries, and diagonals, do not tell a zero that was stored from one that fills up: both are none.
    """
    if not is_sparse(matrix):
        message = f"matrix is a {type(matrix).__name__}, not a sparse matrix of SciPy"
        raise UnsupportedFrameError(message, "for an array or a frame call dfmst.from_matrix")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        message = f"the matrix has shape {matrix.shape}"
        raise InvalidEdgesError(message, "pass a square matrix: its rows and columns are the vertices")
    row, column, value = _coordinates(matrix)
    if value.dtype.kind not in "biuf":
        message = f"the matrix holds {value.dtype} values"
        raise InvalidEdgesError(message, "make them real numbers to order by, for example by abs(matrix)")
    on_device, position = hasattr(value, "__cuda_array_interface__"), None
    if getattr(matrix, "format", None) == "bsr" and matrix.blocksize != (1, 1):  # DIA leaves zeros out itself
        position = np.flatnonzero(value)
        row, column, value = row[position], column[position], value[position]
    return Entries(row.astype(np.int64), column.astype(np.int64), value, matrix.shape[0], on_device, position)


def _coordinates(matrix: Any) -> tuple[Array, Array, Array]:
    """Return rows, columns and values; of a short CSR matrix on the host, SciPy's checks take most of a call."""
    begins = getattr(matrix, "indptr", None)
    if type(begins) is not np.ndarray or matrix.format != "csr":
        coo = matrix.tocoo()
        return coo.row, coo.col, coo.data
    stored = int(begins[-1])  # a matrix may have room for more
    row = np.repeat(np.arange(len(begins) - 1), begins[1:] - begins[:-1])
    return row, matrix.indices[:stored], matrix.data[:stored]


def read_count(word: bytes) -> int | None:
    """Return a number of lines or vertices; ``None`` if the word is not a whole number below 2^63."""
    digits = word.lstrip(b"0") or word[:1]
    value = int(digits) if digits.isdigit() and len(digits) < 20 else -1
    return value if 0 <= value < 1 << 63 else None
