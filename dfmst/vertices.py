"""Frames with one row a vertex, in the ids' own type."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst.frames import FrameView
from dfmst.reading import Input
from dfmst.typing import Array, Frame

__all__ = ["vertex_frame"]


def vertex_frame(view: FrameView, names: tuple[Any, Any], given: Input, **labels: Array) -> Frame:
    """Build a frame of the vertices that occur in the table, ascending.

    Parameters
    ----------
    view
        The frame that the table was read from.
    names
        Its id columns.
    given
        The table, vertices numbered in the order of their ids.
    labels
        Columns to add: for each vertex of the table another vertex, shape ``(vertices,)``.
    """
    table = given.table
    occurs = np.zeros(table.vertices, bool)
    occurs[table.source] = True
    occurs[table.target] = True
    vertices = np.flatnonzero(occurs)
    columns = {"vertex": vertices, **{name: label[vertices] for name, label in labels.items()}}
    source, target = (view.column(name) for name in names)
    plain = isinstance(source, np.ndarray) and isinstance(target, np.ndarray) and source.dtype == target.dtype
    if plain and given.vertices.values is None and source.dtype.kind in "iu":
        return view.build({name: column.astype(source.dtype) for name, column in columns.items()})
    positions = _first_positions(given, len(view))
    return view.build_from(names, {name: positions[column] for name, column in columns.items()})


def _first_positions(given: Input, rows: int) -> Array:
    """Where each vertex occurs first in the source column followed by the target column."""
    table = given.table
    row = np.arange(len(table), dtype=np.int64) if given.kept is None else given.kept
    first = np.zeros(table.vertices, np.int64)
    # Later assignments win, so the columns are written from the back.
    first[table.target[::-1]] = row[::-1] + rows
    first[table.source[::-1]] = row[::-1]
    return first
