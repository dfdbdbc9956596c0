"""Exact sums of weight columns."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Total", "total_weight"]

Total = int | float | Decimal | str | None


def total_weight(column: pa.ChunkedArray) -> Total:
    """Return the sum of a column without nulls: integers without overflow, floats rounded once.

    Decimals give a ``Decimal``, durations text such as ``"90 s"``.

    Examples
    --------
    >>> total_weight(pa.chunked_array([[2**62, 2**62, 1]]))
    9223372036854775809
    >>> total_weight(pa.chunked_array([[0.1] * 10]))
    1.0
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return total_weight(column.cast(kind.value_type))
    if pa.types.is_null(kind):
        return None
    if pa.types.is_boolean(kind):
        return int(pc.sum(column, min_count=0).as_py())
    if pa.types.is_decimal(kind):
        wide = column.cast(pa.decimal256(76, kind.scale))
        return Decimal(pc.sum(wide, min_count=0).as_py() or 0)
    if pa.types.is_duration(kind):
        return f"{_integers(column.cast(pa.int64()))} {kind.unit}"
    if pa.types.is_integer(kind):
        return _integers(column)
    return _floats(column)


def _integers(column: pa.ChunkedArray) -> int:
    # The halves of 64-bit integers sum without overflow: there are fewer than 2**32 rows.
    values: Any = column.to_numpy()
    if values.dtype.itemsize < 8:
        return int(values.sum(dtype=np.int64))
    low = int((values & 0xFFFFFFFF).astype(np.uint64).sum(dtype=np.uint64))
    return (int((values >> 32).sum()) << 32) + low


def _floats(column: pa.ChunkedArray) -> float:
    values = column.cast(pa.float64()).to_numpy()
    finite = values[np.isfinite(values)]
    if len(finite) < len(values):
        with np.errstate(invalid="ignore"):
            return float(values[~np.isfinite(values)].sum())
    try:
        return math.fsum(finite)
    except OverflowError:
        return float(math.copysign(math.inf, math.fsum(finite / 2)))
