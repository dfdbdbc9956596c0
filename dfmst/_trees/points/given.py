"""Pairs of near points that another library found, completed to a tree of all points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_column
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.frames import open_host_frame
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels
from dfmst._trees.points.metrics import Measured
from dfmst._trees.points.read import Points, is_array
from dfmst._trees.points.spanning import first_of_equals, spanning_pairs
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
    view = open_host_frame(edges)
    columns = [arrow_column(name, view.column(name)) for name in ("source", "target")]
    if points.ids is not None:
        ids: Any = arrow_column(points.ids, points.view.column(points.ids))
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
    label = np.arange(coordinates.shape[1], dtype=np.uint32)
    steps = [_join(engine, label, pairs, distances(engine, coordinates, *pairs, space))]
    first = first_of_equals(coordinates)
    if first is not None:  # a search would look at all points that are equal to one
        apart = np.flatnonzero(label != label[first])
        apart = apart[np.argsort(first[apart], kind="stable")]
        steps.append(_join(engine, label, (first[apart], apart), np.zeros(len(apart))))
    if label.any():
        steps.append(spanning_pairs(engine, coordinates, 0, 0, space, label))
    found = list(map(np.concatenate, zip(*steps, strict=True)))
    order = np.lexsort((found[1], found[0]))
    return found[0][order], found[1][order], found[2][order]


def _join(engine: Engine, label: Array, pairs: tuple[Array, Array], weight: Array) -> tuple[Array, Array, Array]:
    """Find the forest of pairs between labels, which are updated: the least point of each tree."""
    source, target = (label[end] for end in pairs)
    rows = solve_table(engine, EdgeTable(source, target, weight, len(label)), "auto").astype(np.int64)
    label[:] = component_labels(engine, EdgeTable(source[rows], target[rows], weight[rows], len(label)))[label]
    return pairs[0][rows], pairs[1][rows], weight[rows]
