"""Frames with one row a vertex, in the ids' own type."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst.device_frames import DeviceView
from dfmst.engines import Engine
from dfmst.engines.columnar import occurring
from dfmst.frames import FrameView
from dfmst.reading import Input
from dfmst.typing import Array, Frame

__all__ = ["vertex_frame"]


def vertex_frame(
    engine: Engine, view: FrameView | DeviceView, names: tuple[Any, Any], given: Input, **labels: Array
) -> Frame:
    """Build a frame of the vertices that occur in the table, ascending.

    Parameters
    ----------
    engine
        Where the table lies.
    view
        The frame that the table was read from.
    names
        Its id columns.
    given
        The table, vertices numbered in the order of their ids.
    labels
        Columns to add: for each vertex of the table another vertex, shape ``(vertices,)``.
    """
    vertices = engine.xp.flatnonzero(occurring(engine, given.table))
    found = {"vertex": vertices, **{name: label[vertices] for name, label in labels.items()}}
    columns = {name: given.beside_frame(column) for name, column in found.items()}
    if isinstance(view, DeviceView):
        return view.build_vertices(names, given.vertices.values, columns)
    source, target = (view.column(name) for name in names)
    plain = isinstance(source, np.ndarray) and isinstance(target, np.ndarray) and source.dtype == target.dtype
    if plain and given.vertices.values is None and source.dtype.kind in "iu":
        return view.build({name: column.astype(source.dtype) for name, column in columns.items()})
    positions = _first_positions(given, len(view))
    return view.build_from(names, {name: positions[column] for name, column in columns.items()})


def _first_positions(given: Input, rows: int) -> Array:
    """Where each vertex occurs first in the source column followed by the target column."""
    vertices = given.vertices
    row = np.arange(len(vertices.source), dtype=np.int64) if given.kept is None else given.kept
    first = np.zeros(vertices.total, np.int64)
    # Later assignments win, so the columns are written from the back.
    first[vertices.target[::-1]] = row[::-1] + rows
    first[vertices.source[::-1]] = row[::-1]
    return first
