"""Columns between NumPy and Arrow, numbers without a copy.

Arrow's own conversions import pandas at their first use, which takes a third of a second and 30 MB.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._edges.id_types import whole_ids
from dfmst._edges.to_arrow import to_arrow


def arrow_column(name: object, column: Any, *, nan_is_null: bool = True) -> pa.Array:
    """Return a column of any kind as one Arrow array."""
    column = to_arrow(name, column, nan_is_null=nan_is_null) if isinstance(column, np.ndarray) else column
    return whole_ids(column) if isinstance(column, pa.ChunkedArray) else column


def numbers_of_arrow(column: pa.Array) -> Array:
    """Return the values of an Arrow array as NumPy has them."""
    kind = column.type
    if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        values: Array = column.to_numpy(zero_copy_only=False)
        return values
    dtype, data = np.dtype(kind.to_pandas_dtype()), column.buffers()[1]
    if data is None:
        return np.zeros(len(column), dtype)
    return np.frombuffer(data, dtype, len(column), column.offset * dtype.itemsize)


def arrow_numbers(values: Array, kind: pa.DataType | None = None) -> pa.Array:
    """Return integers, floats or booleans as an Arrow array."""
    if values.dtype == bool:  # a bit each in Arrow
        return pa.array(values)
    whole = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(whole.dtype) if kind is None else kind
    return pa.Array.from_buffers(kind, len(whole), [None, pa.py_buffer(whole)])
