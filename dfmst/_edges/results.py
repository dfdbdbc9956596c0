"""Columns as results: in the user's kind of frame, with nulls that leave integers exact."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import nw
from dfmst._common.types import Array, Frame
from dfmst._edges.arrow_values import plain_ids
from dfmst._edges.take_rows import arrow_storage, take_arrow
from dfmst._edges.view import View

_NULLABLE = {"i": "Int", "u": "UInt"}  # names of pandas' integer types that have nulls, by the kind of NumPy


def result_column(edges: Frame, view: View, name: str, values: Array) -> Any:
    """Return one entry a row of the user's frame: a series with the frame's index, or an Arrow array."""
    native = view.labelled_column(name, values)
    narwhals = sys.modules.get("narwhals")
    if narwhals is None or not isinstance(edges, (narwhals.DataFrame, narwhals.LazyFrame)):
        return native
    wrap = getattr(sys.modules[type(edges).__module__], "from_native", narwhals.from_native)
    return wrap(pa.chunked_array([native]) if isinstance(native, pa.Array) else native, series_only=True)


def take_or_null(series: nw.Series[Any], rows: Array, missing: Array | None = None) -> nw.Series[Any]:
    """Return entries by position, and nulls if `missing`; pandas' integers then get its nullable type."""
    missing = np.zeros(len(rows), bool) if missing is None else missing
    native = nw.to_native(series)
    stored = None if series.implementation.is_polars() else arrow_storage(native)
    if stored is not None:
        if missing.any():
            stored = pa.chunked_array([*stored.chunks, pa.nulls(1, stored.type)])
            rows = np.where(missing, len(stored) - 1, rows)
        return _like(native, take_arrow(stored, rows))
    if series.implementation.is_pandas():
        native, dtype = native.reset_index(drop=True), native.dtype
        if isinstance(dtype, np.dtype):  # pandas takes no rows of numbers in the other byte order
            nullable = missing.any() and dtype.kind in "iub"
            native = native.astype(_nullable(dtype) if nullable else dtype.newbyteorder("="))
        taken = native.reindex(np.where(missing, -1, rows.astype(np.int64))).reset_index(drop=True)
        taken = taken if missing.any() else taken.astype(dtype)
    else:
        taken = native.gather(sys.modules["polars"].from_arrow(pa.array(rows, mask=missing)))
    return nw.from_native(taken, series_only=True)


def decoded(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column of pandas or Arrow without categories, runs and views, which libraries stack inexactly or not."""
    native = nw.to_native(series)
    stored = None if series.implementation.is_polars() else arrow_storage(native)
    if stored is not None:
        plain = pa.chunked_array([plain_ids(chunk) for chunk in stored.chunks] or [plain_ids(pa.nulls(0, stored.type))])
        return _like(native, plain, getattr(native, "index", None))
    categories = getattr(native.dtype, "categories", None) if series.implementation.is_pandas() else None
    if categories is None:
        return series
    dtype = categories.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and native.isna().any():  # a cast of these rounds, too
        entries = categories.astype(_nullable(dtype)).array.take(native.cat.codes.to_numpy(), allow_fill=True)
        return nw.from_native(type(native)(entries, native.index, name=native.name), series_only=True)
    return nw.from_native(native.astype(dtype), series_only=True)


def _like(native: Any, values: pa.ChunkedArray, index: Any = None) -> nw.Series[Any]:
    """Return values as a column of the same library."""
    if not isinstance(native, pa.ChunkedArray):
        values = type(native)(type(native.array)(values), index=index, name=native.name)
    return nw.from_native(values, series_only=True)


def _nullable(dtype: Any) -> str:
    """Return pandas' type with nulls for integers or booleans of NumPy."""
    return "boolean" if dtype.kind == "b" else f"{_NULLABLE[dtype.kind]}{8 * dtype.itemsize}"
