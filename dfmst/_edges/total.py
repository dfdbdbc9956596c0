"""Exact sums of weight columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from datetime import time as clock
from decimal import Decimal, localcontext
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import call_arrow
from dfmst._common.types import Array
from dfmst._edges.arrow_values import to_arrow
from dfmst.errors import InvalidEdgesError

Total = int | float | Decimal | timedelta

_PART = 1 << 16
_MOST = 1 << 25  # floats whose significands' halves of 27 bits add up below 2^53
_EXPONENTS = 1 << 11
_DIGITS = 400  # a decimal column has at most 76 digits, and a sum few more
_FINER = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}  # units of a microsecond
_MICROSECONDS = {
    "W": 604_800_000_000,
    "D": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}


def total_weight(column: Array | pa.Array | pa.ChunkedArray) -> Total | None:
    """Sum a weight column without its nulls: integers and decimals exactly, floats rounded once.

    Parameters
    ----------
    column
        NumPy or Arrow: integers, booleans, floats, decimals, durations.

    Returns
    -------
    total
        ``int``, ``float``, ``Decimal`` or ``timedelta`` (whole microseconds, rounded down); ``None`` if the
        sum of durations is beyond what ``timedelta`` holds, and of dates and times, which have none.

    Raises
    ------
    InvalidEdgesError
        The column holds something else.

    Examples
    --------
    >>> import numpy as np
    >>> total_weight(np.array([2**63 - 1, 2**63 - 1, 2]))
    18446744073709551616
    >>> total_weight(np.array([0.1] * 10))
    1.0
    """
    try:
        return _total(column)
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError) as error:
        kind = getattr(column, "dtype", getattr(column, "type", type(column).__name__))
        message = f"the column holds {kind} values, which have no sum"
        raise InvalidEdgesError(
            message, "pass an array of integers, booleans, floats, decimals or durations"
        ) from error


def _total(column: Array | pa.Array | pa.ChunkedArray) -> Total | None:
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "M":
            return None
        if column.dtype.kind != "O":
            return total_of_pieces(lambda: [column]) if column.dtype.kind in "biufm" else _objects(column.tolist())
        total = _total(to_arrow("weight", column))
        if isinstance(total, Decimal) and not any(isinstance(value, Decimal) for value in column):
            return int(total)  # of integers beyond 64 bits
        return total
    column = call_arrow("drop_null", column) if column.null_count else column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return None
    if pa.types.is_duration(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = column.to_numpy()
        return total_of_pieces(lambda: [values])
    return _objects(column.to_pylist())


def total_of_pieces(pieces: Callable[[], Iterable[Array]]) -> Total | None:
    """Sum pieces of numbers or durations of one type, as :func:`total_weight` does; 0 if there are none."""
    kind = next((values.dtype for values in pieces()), np.dtype(np.int64))
    if kind.kind == "f":
        scaled = _scaled(pieces)
        if scaled is None:
            return _floats(lambda: chain.from_iterable(part.tolist() for values in pieces() for part in _parts(values)))
        try:
            return scaled / (1 << 1075)  # rounded once
        except OverflowError:
            return math.inf if scaled > 0 else -math.inf
    if kind.kind == "b":
        return sum(int(values.sum()) for values in pieces())
    if kind.kind == "m":
        return _duration(sum(_integers(values[~np.isnat(values)].view(np.int64)) for values in pieces()), kind)
    return sum(_integers(values) for values in pieces())


def _scaled(pieces: Callable[[], Iterable[Array]]) -> int | None:
    """Sum floats times 2**1075; ``None`` if one is not finite, or wider than 64 bits."""
    total = 0
    for values in pieces():
        for begin in range(0, len(values), _MOST):
            part = values[begin : begin + _MOST]
            if part.dtype.itemsize > 8 or not np.isfinite(part).all():
                return None
            total += _finite(part)
    return total


def _finite(values: Array) -> int:
    """Sum floats by their exponents: the halves of their significands are integers, whose sums stay exact."""
    high, low = np.zeros(_EXPONENTS), np.zeros(_EXPONENTS)
    for part in _parts(values):
        bits = part.astype(np.float64, copy=False).view(np.int64)
        exponent = bits >> 52 & 0x7FF
        significand = bits & 0xFFFFFFFFFFFFF | (exponent != 0).astype(np.int64) << 52
        sign = np.where(bits < 0, -1.0, 1.0)
        high += np.bincount(exponent, sign * (significand >> 27), _EXPONENTS)
        low += np.bincount(exponent, sign * (significand & 0x7FFFFFF), _EXPONENTS)
    exponents = np.flatnonzero((high != 0) | (low != 0)).tolist()
    # Subnormal numbers have the exponent of the smallest normal ones.
    return sum(((int(high[at]) << 27) + int(low[at])) << max(at, 1) for at in exponents)


def _integers(values: Array) -> int:
    """Halves of 32 bits are summed apart: neither sum can overflow."""
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False)
    return (int((wide >> 32).sum()) << 32) + int((wide & 0xFFFFFFFF).sum())


def _parts(values: Array) -> Iterator[Array]:
    """Parts of a column: as Python floats, all of it would take several times its memory."""
    return (values[begin : begin + _PART] for begin in range(0, len(values), _PART))


def _floats(values: Callable[[], Iterable[float]]) -> float:
    try:
        return math.fsum(values())
    except (OverflowError, ValueError):
        # Beyond the largest float, or infinities of both signs: what IEEE 754 makes of them.
        return sum(values())


def _duration(total: int, dtype: np.dtype[Any]) -> timedelta | None:
    unit, count = np.datetime_data(dtype)
    finer = _FINER.get(unit)
    microseconds = total * count * _MICROSECONDS[unit] if finer is None else total * count // finer
    try:
        return timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def _objects(values: Sequence[Any]) -> Total | None:
    values = [value for value in values if value is not None]
    if values and isinstance(values[0], (date, clock)):  # a datetime is a date
        return None
    if values and isinstance(values[0], float):
        return _floats(lambda: values)
    start = timedelta() if values and isinstance(values[0], timedelta) else 0
    with localcontext() as context:
        context.prec = _DIGITS
        total: Total = sum(values, start)
    return total
