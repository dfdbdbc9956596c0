"""Columns as values to print, which keep what Python's own dates and times leave out."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._edges.id_types import plain_ids
from dfmst._edges.to_arrow import to_arrow
from dfmst.errors import InvalidEdgesError

_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}  # of a second
_NO_FRACTION = re.compile(r"(:\d\d)\.0+(?!\d)")


def readable(column: Array | pa.Array) -> list[Any]:
    """Return the values of a column: dates and times as text, durations as seconds, the others as Python has them."""
    if isinstance(column, np.ndarray):
        try:
            column = to_arrow("", column)
        except InvalidEdgesError:
            listed: list[Any] = column.tolist()
            return listed
    column = plain_ids(column)
    if pa.types.is_duration(column.type):
        return [None if value is None else f"{value:f} s" for value in seconds(column)]
    if pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
        texts = column.cast(pa.string()).to_pylist()
        return [None if text is None else _NO_FRACTION.sub(r"\1", text) for text in texts]
    values: list[Any] = column.to_pylist()
    return values


def seconds(column: pa.Array) -> list[Any]:
    """Return durations as seconds, exactly: ``Decimal``, nulls as ``None``."""
    digits = _DIGITS[column.type.unit]
    counts = column.cast(pa.int64()).to_pylist()
    return [None if count is None else Decimal(count).scaleb(-digits).normalize() for count in counts]


def moments(column: pa.Array) -> Array:
    """Return times as seconds, ``float64``: since 1970, since midnight, or of a duration."""
    counts = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64()).to_numpy(zero_copy_only=False)
    if pa.types.is_date32(column.type):
        per_second = 1 / 86_400
    else:
        per_second = 10.0 ** _DIGITS["ms" if pa.types.is_date64(column.type) else column.type.unit]
    times: Array = counts / per_second
    return times
