"""Partitions that lie on a GPU: each is solved there, and only its forest comes to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dfmst._cluster.solving import task_engine
from dfmst._columns.read import EdgeColumns
from dfmst._engines import select_engine
from dfmst._frames.device import DeviceView
from dfmst._frames.host import open_frame
from dfmst.algorithms.solve import solve_frame
from dfmst.typing import Array

if TYPE_CHECKING:
    from dfmst._cluster.tasks import Reading

__all__ = ["device_forest", "take_frame"]


def device_forest(frame: Any, reading: Reading) -> tuple[pa.Table, Array] | None:
    """Return the edges of a cuDF partition's forest and their positions; ``None`` for a frame on the host.

    The copy to the host is meant: forests travel between workers and are merged there, and what CuPy holds cannot be
    spilled.
    """
    view = open_frame(frame)
    if not isinstance(view, DeviceView):
        return None
    engine = select_engine(on_device=True)
    with engine.guard():
        solved = solve_frame(engine, view, EdgeColumns(*reading.names, reading.maximum, reading.invalid))
        rows = solved.input.frame_rows(solved.rows)
        chosen = view.take(engine, rows)
        positions: Any = rows
        return DeviceView(chosen).to_arrow(), np.asarray(positions.get() if hasattr(positions, "get") else positions)


def take_frame(frame: Any, rows: Array) -> Any:
    """Return rows of a partition on the side where it lies."""
    view = open_frame(frame)
    if not isinstance(view, DeviceView):
        return view.take(task_engine(), rows)
    engine = select_engine(on_device=True)
    with engine.guard():
        return view.take(engine, engine.xp.asarray(rows))
