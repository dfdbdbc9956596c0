"""Rows by position: of pandas frames by kernels (threads, misses that overlap), of Arrow columns of any type."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import call_arrow, pc
from dfmst._common.types import Array, Frame
from dfmst._engines import Engine

#: Fixed-width columns: numbers and times. Their entries are moved as unsigned words.
_KINDS = "biufmM"
_SIZES = (1, 4, 8)
_FEW = 1 << 14  # rows that pandas gathers faster than a launch for each column does


def is_plain_pandas(frame: Frame) -> bool:
    """Whether the frame is a plain pandas one; a subclass may mean something by its own ``take`` or columns."""
    return type(frame).__name__ == "DataFrame" and type(frame).__module__.partition(".")[0] == "pandas"


def gather_rows(engine: Engine, frame: Frame, rows: Array) -> Frame:
    """Return the rows of a pandas frame: every column, the index, column labels, attributes and flags."""
    if len(rows) <= _FEW:
        # Arrow types without a take; bytes in the other order, and records, which pandas' own take refuses.
        with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError, ValueError):
            return frame.take(rows)
    series_at = [frame.iloc[:, place] for place in range(frame.shape[1])]
    moved = {place: values for place, series in enumerate(series_at) if (values := _words(series)) is not None}
    gathered = _gather(engine, moved, rows)
    columns = {
        place: gathered[place].view(series.dtype) if place in gathered else _taken(series, rows)
        for place, series in enumerate(series_at)
    }
    taken = type(frame)(columns, index=frame.index.take(rows), copy=False)
    taken.columns = frame.columns
    return taken.__finalize__(frame)


def _taken(series: Any, rows: Array) -> Any:
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy().take(rows)
    if type(series.dtype).__name__ == "ArrowDtype":
        values = series.array.__arrow_array__()
        whole = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        return type(series.array)(take_arrow(whole, rows))
    return series.array.take(rows)


def _words(series: Any) -> Array | None:
    """The column as unsigned words that a kernel moves; ``None`` for another kind."""
    if not isinstance(series.dtype, np.dtype) or series.dtype.kind not in _KINDS or series.dtype.itemsize not in _SIZES:
        return None
    values: Array = series.to_numpy()
    # Columns that were unpickled beside others may lie at odd addresses.
    plain = values.flags.c_contiguous and values.flags.aligned
    return values.view(f"u{values.itemsize}") if plain else None


def _gather(engine: Engine, columns: dict[int, Array], rows: Array) -> dict[int, Array]:
    """Entries of the columns at the rows.

    Columns of one width share a block, as in pandas' own frames: the system hands out its memory in larger pages.
    """
    at = rows.view(np.uint64)
    gathered = {}
    for size in _SIZES:
        places = [place for place, column in columns.items() if column.itemsize == size]
        block = np.empty((len(places), len(rows)), f"u{size}")
        for place, entries in zip(places, block, strict=True):
            engine.launch("gather_bytes" if size == 1 else "gather_entries", len(rows), columns[place], at, entries)
            gathered[place] = entries
    return gathered


def take_arrow(column: pa.ChunkedArray, rows: Array) -> pa.ChunkedArray:
    """Return rows of an Arrow column of any type, also of those that Arrow itself cannot take rows of."""
    kind = column.type
    if not len(rows):
        return pa.chunked_array([], kind)
    # Not by pa.array, which loads numpy.ma to see whether they are masked.
    positions = np.ascontiguousarray(rows, np.int64)
    at = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(positions)])
    if pa.types.is_run_end_encoded(kind):
        plain = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
        taken = take_arrow(plain, rows)
        return pa.chunked_array([pc.run_end_encode(chunk, kind.run_end_type) for chunk in taken.chunks], kind)
    for view, plain_kind in ((pa.string_view(), pa.large_string()), (pa.binary_view(), pa.large_binary())):
        if kind == view:
            return column.cast(plain_kind).take(at).cast(kind)
    try:
        return call_arrow("take", column, at)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return _joined_slices(column, rows)


def _joined_slices(column: pa.ChunkedArray, rows: Array) -> pa.ChunkedArray:
    """Rows of a nested type with views in it, or of more text than Arrow takes at once: run by run."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    runs = np.split(rows, breaks) if len(rows) else []
    slices = [column.slice(int(run[0]), len(run)) for run in runs]
    return pa.chunked_array([chunk for part in slices for chunk in part.chunks], column.type)
