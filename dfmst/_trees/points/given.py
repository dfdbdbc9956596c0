"""Pairs of near points that another library found, completed to a tree of all points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_column
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.host_frame import FrameView, host_column, open_host_frame
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels
from dfmst._trees.points.metrics import Measured
from dfmst._trees.points.read import Points, is_array
from dfmst._trees.points.spanning import spanning_pairs
from dfmst._trees.points.tree import distances
from dfmst.algorithms.solve import solve_table
from dfmst.errors import InvalidEdgesError


def given_pairs(edges: Any, points: Points) -> tuple[Array, Array]:
    """Read pairs of points as rows, each once and in ascending order; ``int64``."""
    one, other = _from_array(np.asarray(edges), points) if is_array(edges) else _from_frame(edges, points)
    low, high = np.minimum(one, other), np.maximum(one, other)
    words = np.unique((low.astype(np.uint64) << np.uint64(32) | high.astype(np.uint64))[low != high])
    return (words >> np.uint64(32)).astype(np.int64), (words & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _from_array(neighbors: Array, points: Points) -> tuple[Array, Array]:
    if neighbors.ndim != 2 or len(neighbors) != points.number or neighbors.dtype.kind not in "iu":
        message = f"edges is an array of shape {neighbors.shape} and type {neighbors.dtype}"
        hint = f"pass row numbers of neighbors, one row a point: integers of shape ({points.number}, k)"
        raise InvalidEdgesError(message, hint)
    other = neighbors.astype(np.int64).reshape(-1)
    one = np.repeat(np.arange(points.number), neighbors.shape[1])
    known = other != -1
    _check_rows(other[known], points)
    return one[known], other[known]


def _from_frame(edges: Any, points: Points) -> tuple[Array, Array]:
    assert isinstance(points.view, FrameView)
    view = open_host_frame(edges)
    columns = [arrow_column(name, host_column(name, view.series(name))) for name in ("source", "target")]
    if points.ids is not None:
        ids: Any = arrow_column(points.ids, host_column(points.ids, points.view.series(points.ids)))
        ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
        try:
            columns = [pc.index_in(column.cast(ids.type), value_set=ids) for column in columns]
        except pa.ArrowException as error:
            message = f"edges name points by {columns[0].type} values, and column {points.ids!r} holds {ids.type}"
            raise InvalidEdgesError(message, "name the points in edges as in the column of ids") from error
    for name, column in zip(("source", "target"), columns, strict=True):
        if column.null_count:
            row = int(np.asarray(column.is_null()).argmax())
            message = f"column {name!r} of edges has {column.null_count:,} ids of no point, the first in row {row}"
            raise InvalidEdgesError(message, "pass pairs of the points alone")
        if not pa.types.is_integer(column.type):
            message = f"column {name!r} of edges holds {column.type} values, and the points are named by their rows"
            raise InvalidEdgesError(message, "name the column of the points' ids with ids=")
    one, other = (np.asarray(column).astype(np.int64) for column in columns)
    _check_rows(np.concatenate([one, other]), points)
    return one, other


def _check_rows(rows: Array, points: Points) -> None:
    wrong = (rows < 0) | (rows >= points.number)
    if wrong.any():
        message = f"edges name point {int(rows[wrong][0])}, and the points are numbered from 0 to {points.number - 1:,}"
        raise InvalidEdgesError(message, "number the points by their rows, or name their column of ids with ids=")


def complete_pairs(engine: Engine, measured: Measured, pairs: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Find the forest of pairs, and join its parts by the lightest pairs of points between them."""
    coordinates, space = measured.coordinates, measured.space
    source, target = pairs
    weight = distances(engine, coordinates, source, target, space)
    ends = source.astype(np.uint32), target.astype(np.uint32)
    rows = solve_table(engine, EdgeTable(*ends, weight, coordinates.shape[1]), "auto").astype(np.int64)
    label = component_labels(engine, EdgeTable(ends[0][rows], ends[1][rows], weight[rows], coordinates.shape[1]))
    found = source[rows], target[rows], weight[rows]
    if len(rows) < coordinates.shape[1] - 1:
        joined = spanning_pairs(engine, coordinates, 0, 0, space, label)
        found = tuple(map(np.concatenate, zip(found, joined, strict=True)))  # type: ignore[assignment]
    order = np.lexsort((found[1], found[0]))
    return found[0][order], found[1][order], found[2][order]
