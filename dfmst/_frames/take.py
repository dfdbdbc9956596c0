"""Rows of a pandas frame, gathered by kernels: several threads, and misses that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst._engines import Engine
from dfmst.typing import Array, Frame

__all__ = ["can_gather", "gather_rows"]

#: Fixed-width columns: numbers and times. Their entries are moved as unsigned words.
_KINDS = "biufmM"
_SIZES = (1, 4, 8)


def can_gather(frame: Frame) -> bool:
    """Whether the frame is a plain pandas one; a subclass may mean something by its own ``take``."""
    return type(frame).__name__ == "DataFrame" and type(frame).__module__.partition(".")[0] == "pandas"


def gather_rows(engine: Engine, frame: Frame, rows: Array) -> Frame:
    """Return the rows of a pandas frame: every column, the index, column labels, attributes and flags.

    Parameters
    ----------
    engine
        Runs the kernels.
    frame
        A ``pandas.DataFrame``.
    rows
        ``int64`` positions; ascending ones are the fastest.
    """
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
    plain = isinstance(series.dtype, np.dtype)
    return series.to_numpy().take(rows) if plain else series.array.take(rows)


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
