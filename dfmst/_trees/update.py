"""The forest of old and new rows, from the old forest, the new rows and the removed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.dispatch import driven
from dfmst._common.types import Array, Frame, Invalid
from dfmst._edges.frames import host_only, in_memory_of, open_frame
from dfmst._edges.joint import compose
from dfmst._edges.read import EdgeColumns, edge_columns
from dfmst._edges.stack import check_stackable, stack_frames
from dfmst._edges.view import View
from dfmst._engines import Engine, select_engine
from dfmst._trees.removal import rows_after_removal
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import solve_frame
from dfmst.errors import InvalidEdgesError
from dfmst.formats.provenance import Provenance, read_provenance, with_provenance, without_provenance


@driven("forest", "new_edges")
def update(
    forest: Frame,
    new_edges: Frame | None = None,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    removed: Frame | None = None,
    edges: Frame | None = None,
    layers: int | None = None,
    maximum: bool = False,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Any:
    """Return the forest of all rows, from the forest of the old ones, rows that are new and rows that are removed.

    The rows are those of :func:`dfmst.minimum_spanning_forest` on the old rows, less the removed ones, followed by the
    new ones. A row outside the old forest is in no later one, unless rows of the forest are removed. Their replacements
    are in a reserve: the rows of the first k layers of :func:`in_forest`, passed as `forest`.

    The result is exact without other rows if one of the layers of `forest` lost no row, or lost only rows whose ends
    are still joined by rows that come before them. So k layers are enough for any k - 1 removed rows. Else all old rows
    must be read: they are, if `edges` is given.

    Parameters
    ----------
    forest
        The forest of the old rows, in row order, as dfmst returned it; or a reserve of several layers.
    new_edges
        Rows that come after all old ones: a frame of the same kind with the same columns. Frames of cuDF stay on the
        GPU.
    source, target, weight, algorithm, engine, invalid, threads
        As for :func:`dfmst.minimum_spanning_forest`, and as the forest was made.
    removed
        Old rows that are removed: a frame with some of the columns. A row is removed if it agrees with one of these in
        all columns that they have. Rows outside `forest` may be among them. For a forest on a GPU, a frame on the host
        is copied there.
    edges
        All old rows, with or without the removed ones, to read if that is necessary; a polars LazyFrame is computed
        then only.
    layers
        Layers that `forest` was made with. If it has fewer, it holds all old rows. ``None``: those that it has.
    maximum
        Whether it is the maximum spanning forest.

    Returns
    -------
    forest
        The same kind of frame. A ``pyarrow.Table`` that was read from a file of dfmst keeps its record up to date,
        unless rows are removed.

    Raises
    ------
    InvalidEdgesError
        All old rows must be read, and `edges` is not given. The forest says that it was made with other columns or in
        another order (files of dfmst do); columns that differ; and as for :func:`dfmst.minimum_spanning_forest`.
    UnsupportedFrameError
        Frames of two kinds.
    ColumnNotFoundError, EngineUnavailableError, CapacityError
        As for :func:`dfmst.minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> monday = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> tuesday = pd.DataFrame({"source": [0], "target": [1], "weight": [1]}, index=[3])
    >>> dfmst.update(dfmst.minimum_spanning_forest(monday), tuesday)
       source  target  weight
    1       1       2       1
    3       0       1       1
    >>> reserve = monday[dfmst.in_forest(monday, layers=2) > 0]
    >>> dfmst.update(reserve, removed=monday.loc[[1]])
       source  target  weight
    0       0       1       3
    2       0       2       2
    """
    if new_edges is None and removed is None:
        raise ValueError("give new_edges=, removed= or both")
    columns = edge_columns(source, target, weight, maximum, invalid)
    old = open_frame(forest, "forest")
    new = None if new_edges is None else open_frame(new_edges, "new_edges")
    runner = select_engine(engine, threads, on_device=old.on_device and (new is None or new.on_device))
    native = old.native
    record = read_provenance(native.schema, native.num_rows) if isinstance(native, pa.Table) else None
    if record is not None:
        record.require("the forest", columns.given, columns.maximum)
    with runner.guard():
        view = compose(runner, old if new is None else _stacked(old, new), columns)
        if removed is not None:
            gone = _in_memory_of(old, removed, "removed")
            rows = rows_after_removal(runner, view, len(old), gone, columns, algorithm, layers=layers)
            if isinstance(rows, InvalidEdgesError):
                if edges is None:
                    raise rows
                return _anew(runner, edges, gone, old, new, columns, algorithm)
            later = view.take(runner, rows)
            return later if record is None else later.replace_schema_metadata(without_provenance(later.schema).metadata)
        assert new is not None
        solved = solve_frame(runner, view, columns, algorithm)
        rows = solved.input.frame_rows(solved.rows)
        updated = view.take(runner, rows)
    if record is None:
        return updated
    later = Provenance(columns.given, columns.maximum, record.rows + len(new), _locators(record, len(old), rows))
    return updated.replace_schema_metadata(with_provenance(updated.schema, later, len(rows)).metadata)


def _anew(
    engine: Engine,
    edges: Frame,
    gone: View,
    forest: View,
    new: View | None,
    columns: EdgeColumns,
    algorithm: str | Algorithm,
) -> Any:
    """Find the forest of all rows, a frame of the forest's kind."""
    old = _in_memory_of(forest, edges, "edges")
    check_stackable(("forest", forest), ("edges", old))
    view = forest.of(old.frame)
    view = compose(engine, view if new is None else _stacked(view, new), columns)
    rows: Any = rows_after_removal(engine, view, len(old), gone, columns, algorithm, certain=True)
    return view.take(engine, rows)


def _in_memory_of(forest: View, frame: Frame, argument: str) -> View:
    """Open a frame in the memory of the forest; one on the host is copied to a GPU, and none is copied back."""
    if not forest.on_device:
        return host_only(frame, argument, "the forest is on the host")
    return in_memory_of(forest, open_frame(frame, argument))


def _stacked(old: View, new: View) -> View:
    """Old rows, then new ones."""
    check_stackable(("forest", old), ("new_edges", new))
    return old.of(stack_frames([("forest", old), ("new_edges", new.select(old.names))]))


def _locators(record: Provenance, old: int, rows: Array) -> Array | None:
    """Return the positions of the rows among all old and new rows."""
    if record.locator is None:
        return None
    kept = rows[rows < old]
    added = (rows[rows >= old] - old).astype(np.uint64) + np.uint64(record.rows)
    return np.concatenate([record.locator[kept], added])
