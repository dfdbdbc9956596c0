"""Rows of a pandas frame, gathered by kernels: several threads, and misses that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst.engines import Engine
from dfmst.typing import Array, Frame

__all__ = ["can_gather", "gather_rows"]

#: Fixed-width columns: numbers and times. Their entries are moved as unsigned words.
_KINDS = "iufmM"


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
    columns = {place: _entries(engine, frame.iloc[:, place], rows) for place in range(frame.shape[1])}
    taken = type(frame)(columns, index=frame.index.take(rows), copy=False)
    taken.columns = frame.columns
    return taken.__finalize__(frame)


def _entries(engine: Engine, series: Any, rows: Array) -> Any:
    if not isinstance(series.dtype, np.dtype):
        return series.array.take(rows)
    values: Array = series.to_numpy()
    words = np.dtype(f"u{values.itemsize}") if values.itemsize in (4, 8) else None
    # Columns that were unpickled beside others may lie at odd addresses.
    plain = values.flags.c_contiguous and values.flags.aligned
    if words is None or values.dtype.kind not in _KINDS or not plain:
        return values.take(rows)
    gathered = np.empty(len(rows), values.dtype)
    engine.launch("gather_entries", len(rows), values.view(words), rows.view(np.uint64), gathered.view(words))
    return gathered
