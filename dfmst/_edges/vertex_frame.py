"""Frames with one row a vertex, in the ids' own type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Frame
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView
from dfmst._edges.read import Input


def vertex_frame(
    view: FrameView | DeviceView, names: tuple[Any, Any], input: Input, columns: Mapping[str, Array]
) -> Frame:
    """Build a frame of the user's kind whose columns are vertices."""
    if isinstance(view, DeviceView):
        return view.build_vertices(names, input.vertices.values, columns)
    kind = _integers(view, names)
    if input.vertices.values is None and kind is not None:
        return view.build({name: column.astype(kind) for name, column in columns.items()})
    if not view.stackable(names):
        values = input.vertices.values
        ids = {name: pa.array(column) for name, column in columns.items()}
        return view.build_arrow(ids if values is None else {name: values.take(at) for name, at in ids.items()})
    positions = _first_positions(input, len(view))
    return view.build_from(names, {name: positions[column] for name, column in columns.items()})


def id_frame(view: FrameView, names: tuple[Any, Any], columns: Mapping[str, Any]) -> Frame:
    """Build a frame of the user's kind of ids; integers have the type of the id columns where it holds them."""
    kind = _integers(view, names)
    if kind is None or not all(_fits(column, kind) for column in columns.values()):
        return view.build_arrow({name: pa.array(column) for name, column in columns.items()})
    return view.build({name: np.asarray(column).astype(kind) for name, column in columns.items()})


def _integers(view: FrameView, names: tuple[Any, Any]) -> np.dtype | None:
    """The type of both id columns, where they are NumPy's integers."""
    source, target = (view.column(name) for name in names)
    plain = isinstance(source, np.ndarray) and isinstance(target, np.ndarray) and source.dtype == target.dtype
    return source.dtype if plain and source.dtype.kind in "iu" else None


def _fits(column: Any, kind: np.dtype) -> bool:
    """Whether all entries are integers that a type holds."""
    if not isinstance(column, np.ndarray):
        if not pa.types.is_integer(column.type):
            return False
        column = column.to_numpy()
    bounds = np.iinfo(kind)
    return not len(column) or (int(column.min()) >= int(bounds.min) and int(column.max()) <= int(bounds.max))


def _first_positions(input: Input, rows: int) -> Array:
    """Where each vertex occurs first in the source column followed by the target column."""
    vertices = input.vertices
    row = np.arange(len(vertices.source), dtype=np.int64) if input.kept is None else input.kept
    first = np.zeros(vertices.total, np.int64)
    # Later assignments win, so the columns are written from the back.
    first[vertices.target[::-1]] = row[::-1] + rows
    first[vertices.source[::-1]] = row[::-1]
    return first
