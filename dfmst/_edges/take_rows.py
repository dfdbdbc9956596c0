"""Rows of pandas frames and Arrow columns at given positions, and columns as results."""

from __future__ import annotations

import contextlib
import sys
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import call_arrow, nw, pc
from dfmst._common.types import Array, Column, Frame
from dfmst._edges.arrow_values import arrow_numbers, plain_ids, plain_views
from dfmst._edges.unify import cast_exactly
from dfmst._edges.view import View
from dfmst._engines import Engine

_KINDS = "biufmM"  # of numbers and times, whose entries kernels move as unsigned words of these bytes
_SIZES = (1, 4, 8)
_FEW = 1 << 14  # rows up to which pandas takes less time than a launch for each column, and polars than with threads


def gather_rows(engine: Engine | None, frame: Frame, rows: Array) -> Frame:
    """Return the rows of a pandas frame: every column, the index, column labels, attributes and flags."""
    if engine is None or len(rows) <= _FEW:
        # pandas cannot take rows of some Arrow types, of numbers in the other byte order, and of records.
        with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError, ValueError):
            return frame.take(rows)
    series_at = [frame.iloc[:, place] for place in range(frame.shape[1])]
    words = {place: values for place, series in enumerate(series_at) if (values := _words(series)) is not None}
    gathered = {} if engine is None else _gather(engine, words, rows)
    columns = {
        place: gathered[place].view(series.dtype) if place in gathered else _taken(series, rows)
        for place, series in enumerate(series_at)
    }
    taken = type(frame)(columns, index=frame.index.take(rows), copy=False)
    taken.columns = frame.columns
    return taken.__finalize__(frame)


def _taken(series: Column, rows: Array) -> Any:
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy().take(rows)
    stored = arrow_storage(series)
    return series.array.take(rows) if stored is None else type(series.array)(take_arrow(stored, rows))


def arrow_storage(column: Column) -> pa.ChunkedArray | None:
    """Return the data of an Arrow column, or of a series of a pandas type of Arrow; ``None`` for other columns."""
    if isinstance(column, pa.ChunkedArray) or type(column.dtype).__name__ != "ArrowDtype":
        return column if isinstance(column, pa.ChunkedArray) else None
    values = column.array.__arrow_array__()
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _words(series: Column) -> Array | None:
    """Return a column as unsigned words that a kernel moves; ``None`` for another kind."""
    if not isinstance(series.dtype, np.dtype) or series.dtype.kind not in _KINDS or series.dtype.itemsize not in _SIZES:
        return None
    values: Array = series.to_numpy()
    return values.view(f"u{values.itemsize}") if values.flags.c_contiguous and values.flags.aligned else None


def _gather(engine: Engine, columns: dict[int, Array], rows: Array) -> dict[int, Array]:
    """Return the entries of the columns at the rows; as in pandas, columns of one width share a block of memory."""
    at = rows.view(np.uint64)
    gathered = {}
    for size in _SIZES:
        places = [place for place, column in columns.items() if column.itemsize == size]
        block = np.empty((len(places), len(rows)), f"u{size}")
        for place, entries in zip(places, block, strict=True):
            engine.launch("gather_bytes" if size == 1 else "gather_entries", len(rows), columns[place], at, entries)
            gathered[place] = entries
    return gathered


def _with_buffers(views: pa.Array) -> pa.Array:
    """Replace absent buffers of text by empty ones: PyArrow 21 and 22 crash when they export an absent one."""
    validity, places, *texts = views.buffers()
    texts = [pa.py_buffer(b"") if text is None else text for text in texts]
    return pa.Array.from_buffers(views.type, len(views), [validity, places, *texts], offset=views.offset)


def take_polars(frame: Frame, rows: Array) -> Frame:
    """Return rows of a polars frame; few are taken column by column, as polars wakes its threads for a frame."""
    columns = frame.get_columns()
    if len(rows) > _FEW or len(frame) >= 1 << 32 or not columns:
        return frame[rows]
    at = sys.modules["polars"].Series(rows.astype(np.uint32))
    return type(frame)([column[at] for column in columns])


@cache
def _not_taken() -> set[int]:
    """Return numbers of types that Arrow cannot take rows of; comparing the types themselves takes longer."""
    return {kind.id for kind in (*plain_views(), pa.run_end_encoded(pa.int32(), pa.int32()))}


def take_table(table: pa.Table, rows: Array) -> pa.Table:
    """Return rows of an Arrow table, by one call for all columns if Arrow itself can take rows of their types."""
    if len(rows) and _not_taken().isdisjoint([kind.id for kind in table.schema.types]):
        with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return call_arrow("take", table, arrow_numbers(rows.astype(np.int64, copy=False), pa.int64()))
    return pa.table([take_arrow(column, rows) for column in table.columns], schema=table.schema)


def take_batch(batch: pa.RecordBatch, rows: Array) -> pa.RecordBatch:
    try:
        return batch.take(arrow_numbers(rows))
    except pa.ArrowNotImplementedError:  # a view
        table = take_table(pa.Table.from_batches([batch]), rows).combine_chunks()
        return table.to_batches()[0] if len(rows) else batch.slice(0, 0)


def take_arrow(column: pa.ChunkedArray, rows: Array) -> pa.ChunkedArray:
    """Return rows of an Arrow column of any type, also of those that Arrow itself cannot take rows of."""
    kind = column.type
    if not len(rows):
        return pa.chunked_array([], kind)
    at = arrow_numbers(rows.astype(np.int64, copy=False))
    if pa.types.is_run_end_encoded(kind):
        plain = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
        taken = take_arrow(plain, rows)
        return pa.chunked_array([pc.run_end_encode(chunk, kind.run_end_type) for chunk in taken.chunks], kind)
    if kind in plain_views():
        taken = column.cast(plain_views()[kind]).take(at).cast(kind)
        return pa.chunked_array([_with_buffers(chunk) for chunk in taken.chunks], kind)
    try:
        return call_arrow("take", column, at)  # the method imports pyarrow.compute: 40 ms
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # nested views, or more text than Arrow takes at once
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        slices = [column.slice(int(run[0]), len(run)) for run in runs]
        return pa.chunked_array([chunk for part in slices for chunk in part.chunks], kind)


def take_of_two(whole: tuple[pa.ChunkedArray, pa.ChunkedArray], rows: Array, kind: pa.DataType) -> pa.ChunkedArray:
    """Return entries of two columns as one type, by position in the first, then the second.

    Only entries that are taken are cast: all texts of a dictionary may be more than Arrow casts at once.
    """
    first, second = whole
    if first.type == second.type == kind:
        return take_arrow(pa.chunked_array([*first.chunks, *second.chunks], kind), rows)
    late = rows >= len(first)
    taken = take_arrow(first, rows[~late]), take_arrow(second, rows[late] - len(first))
    stacked = pa.chunked_array([cast_exactly(chunk, kind) for part in taken for chunk in part.chunks], kind)
    place = np.empty(len(rows), np.int64)
    place[np.argsort(late, kind="stable")] = np.arange(len(rows))
    return take_arrow(stacked, place)


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


def _like(native: Frame, values: pa.ChunkedArray, index: object = None) -> nw.Series[Any]:
    if not isinstance(native, pa.ChunkedArray):
        values = type(native)(type(native.array)(values), index=index, name=native.name)
    return nw.from_native(values, series_only=True)


def _nullable(dtype: Any) -> str:
    return "boolean" if dtype.kind == "b" else f"{_NULLABLE[dtype.kind]}{8 * dtype.itemsize}"
