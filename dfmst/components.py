"""Connected components of frames: one row a vertex, in the ids' own type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._columns.read import EdgeColumns, Input, read_table
from dfmst._engines import Engine
from dfmst._frames.device import DeviceView
from dfmst._frames.host import FrameView
from dfmst._primitives.edges import used_vertices
from dfmst.algorithms.components import component_labels
from dfmst.algorithms.solution import open_edges
from dfmst.typing import Array, Frame, Invalid

__all__ = ["connected_components"]


def connected_components(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    *,
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Any:
    """Return the connected component of every vertex of an edge table.

    Vertices are the ends of its rows. A vertex that loses all its edges, where a forest is cut for example, is in no
    row, and so in no component.

    Parameters
    ----------
    edges, source, target, engine, invalid, threads
        As for :func:`minimum_spanning_forest`.

    Returns
    -------
    components
        The same kind of frame, one row a vertex in ascending order: ``vertex``, and ``component``, the
        smallest vertex of its component; both have the type of the id columns.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> dfmst.connected_components(pd.DataFrame({"source": [1, 4], "target": [2, 5]}))
       vertex  component
    0       1          1
    1       2          1
    2       4          4
    3       5          4
    """
    view, runner = open_edges(edges, engine, threads)
    with runner.guard():
        input = read_table(runner, view, EdgeColumns(source, target, None, invalid=invalid), in_order=True)
        labels = component_labels(runner, input.table)
        return _vertex_frame(runner, view, (source, target), input, component=labels)


def _vertex_frame(
    engine: Engine, view: FrameView | DeviceView, names: tuple[Any, Any], input: Input, **labels: Array
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
    input
        The table, vertices numbered in the order of their ids.
    labels
        Columns to add: for each vertex of the table another vertex, shape ``(vertices,)``.
    """
    vertices = engine.xp.flatnonzero(used_vertices(engine, input.table))
    labelled = {"vertex": vertices, **{name: label[vertices] for name, label in labels.items()}}
    columns = {name: input.beside_frame(column) for name, column in labelled.items()}
    if isinstance(view, DeviceView):
        return view.build_vertices(names, input.vertices.values, columns)
    source, target = (view.column(name) for name in names)
    plain = isinstance(source, np.ndarray) and isinstance(target, np.ndarray) and source.dtype == target.dtype
    if plain and input.vertices.values is None and source.dtype.kind in "iu":
        return view.build({name: column.astype(source.dtype) for name, column in columns.items()})
    if not view.stackable(names):
        values = input.vertices.values
        ids = {name: pa.array(column) for name, column in columns.items()}
        return view.build_arrow(ids if values is None else {name: values.take(at) for name, at in ids.items()})
    positions = _first_positions(input, len(view))
    return view.build_from(names, {name: positions[column] for name, column in columns.items()})


def _first_positions(input: Input, rows: int) -> Array:
    """Where each vertex occurs first in the source column followed by the target column."""
    vertices = input.vertices
    row = np.arange(len(vertices.source), dtype=np.int64) if input.kept is None else input.kept
    first = np.zeros(vertices.total, np.int64)
    # Later assignments win, so the columns are written from the back.
    first[vertices.target[::-1]] = row[::-1] + rows
    first[vertices.source[::-1]] = row[::-1]
    return first
