"""The forest of old and new rows, from the old forest and the new rows."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.dispatch import driven
from dfmst._common.types import Array, Frame, Invalid
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView, open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.stack import check_stackable, stack_frames
from dfmst._engines import select_engine
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import solve_frame
from dfmst.formats.provenance import Provenance, read_provenance, with_provenance


@driven("forest", "new_edges")
def update(
    forest: Frame,
    new_edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    maximum: bool = False,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Any:
    """Return the forest of all rows, old and new, from the forest of the old ones.

    The rows are those of :func:`dfmst.minimum_spanning_forest` on the old rows followed by the new ones: a row outside
    the old forest is never in a later one.

    Parameters
    ----------
    forest
        The forest of the old rows, in row order, as dfmst returned it.
    new_edges
        Rows that come after all old ones: a frame of the same kind with the same columns. Frames of cuDF stay on the
        GPU.
    source, target, weight, algorithm, engine, invalid, threads
        As for :func:`dfmst.minimum_spanning_forest`, and as the forest was made.
    maximum
        Whether it is the maximum spanning forest.

    Returns
    -------
    forest
        The same kind of frame. A ``pyarrow.Table`` that was read from a file of dfmst keeps its record up to date.

    Raises
    ------
    InvalidEdgesError
        The forest says that it was made with other columns or in another order (files of dfmst do); columns that
        differ; and as for :func:`dfmst.minimum_spanning_forest`.
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
    """
    old, new = open_frame(forest, "forest"), open_frame(new_edges, "new_edges")
    runner = select_engine(engine, threads, on_device=old.on_device and new.on_device)
    names = (source, target, weight)
    native = old.native if isinstance(old, FrameView) else None
    record = read_provenance(native.schema, native.num_rows) if isinstance(native, pa.Table) else None
    if record is not None:
        record.require("the forest", names, maximum)
    with runner.guard():
        view = _stacked(old, new)
        solved = solve_frame(runner, view, EdgeColumns(*names, maximum, invalid), algorithm)
        rows = solved.input.frame_rows(solved.rows)
        updated = view.take(runner, rows)
    if record is None:
        return updated
    later = Provenance(names, maximum, record.rows + len(new), _locators(record, len(old), rows))
    return updated.replace_schema_metadata(with_provenance(updated.schema, later, len(rows)).metadata)


def _stacked(old: FrameView | DeviceView, new: FrameView | DeviceView) -> FrameView | DeviceView:
    """Old rows, then new ones."""
    if isinstance(old, DeviceView) or isinstance(new, DeviceView):
        return DeviceView(stack_frames([("forest", old), ("new_edges", new)]), getattr(old, "proxied", False))
    check_stackable(("forest", old), ("new_edges", new))
    aligned = FrameView(nw.to_native(new.frame.select(old.frame.columns)))
    stacked = nw.to_native(stack_frames([("forest", old), ("new_edges", aligned)]))
    return FrameView(stacked, lazy=old.lazy, as_user=old.as_user)


def _locators(record: Provenance, old: int, rows: Array) -> Array | None:
    """Return the positions of the rows among all old and new rows."""
    if record.locator is None:
        return None
    kept = rows[rows < old]
    added = (rows[rows >= old] - old).astype(np.uint64) + np.uint64(record.rows)
    return np.concatenate([record.locator[kept], added])
