"""A kd-tree of points: distances, and the nearest points of every point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine

_PIECE = 1 << 16  # entries of temporary columns


class Space(NamedTuple):
    """How distances follow from differences of coordinates."""

    norm: int = 2  # 2: the root of the sum of squares; 1: the sum; 0: the largest
    period: Array | None = None  # of every axis, ``float64``; 0 if it has none


EUCLID = Space()


def distances(points: Array, source: Array, target: Array, space: Space = EUCLID) -> Array:
    """Return the distances of pairs of points, ``float64``: the same floats as the kernels'."""
    total = np.zeros(len(source))
    for piece in pieces(len(source)):
        for axis, coordinate in enumerate(points):
            difference = np.abs(coordinate[source[piece]] - coordinate[target[piece]])
            if space.period is not None and space.period[axis] > 0:
                np.minimum(difference, space.period[axis] - difference, out=difference)
            if space.norm == 0:
                np.maximum(total[piece], difference, out=total[piece])
            else:
                total[piece] += difference * difference if space.norm == 2 else difference
    return np.sqrt(total, out=total) if space.norm == 2 else total


def pieces(length: int) -> Iterator[slice]:
    """Yield spans of entries whose temporary columns stay in the cache, and need no new memory."""
    for begin in range(0, length, _PIECE):
        yield slice(begin, begin + _PIECE)


_LANES = 8  # entries that the kernels read behind the last point
_PLANE = 3  # axes up to which a box is small compared with its distance from most points
_FEW, _MANY = 4, 32  # points of a leaf, or up to twice as many: up to _PLANE axes, and above
_SCRATCH = 1 << 18  # distances of neighbors at a time
GRAIN = 128  # positions that one thread takes at a time: points that follow each other look into the same leaves


class PointTree(NamedTuple):
    """Points in the order of a tree: arguments of kernels, in their order."""

    column: Array  # coordinates axis by axis, ``float64``, and some padding
    order: Array  # position in the tree -> number of the point, ``uint32``
    length: int  # number of points
    axes: int
    depth: int  # levels above the leaves
    box: Array  # node -> least and largest coordinates of its points, ``float64``, shape ``(nodes, 2, axes)``
    axis: Array  # node above the leaves -> the axis that it is cut across, ``uint32``
    cut: Array  # node above the leaves -> least coordinate of its upper half
    norm: int = 2  # as in :class:`Space`
    period: Array | None = None

    @property
    def space(self) -> Space:
        """How distances follow from differences of coordinates."""
        return Space(self.norm, self.period)

    @property
    def points(self) -> Array:
        """Coordinates in the tree's order, shape ``(axes, length)``."""
        return self.column[: self.axes * self.length].reshape(self.axes, self.length)


def build_tree(engine: Engine, points: Array, space: Space = EUCLID) -> PointTree:
    """Build the tree of points, ``float64`` of shape ``(axes, length)`` and at least one."""
    axes, length = points.shape
    depth = max(0, (length // (_FEW if axes <= _PLANE else _MANY)).bit_length() - 1)
    column = np.zeros(axes * length + _LANES)
    column[: axes * length] = points.reshape(-1)
    order, nodes = np.arange(length, dtype=np.uint32), 2 << depth
    box, axis, cut = np.zeros((nodes, 2, axes)), np.zeros(nodes // 2, np.uint32), np.zeros(nodes // 2)
    for level in range(depth + 1):
        columns = column, order, length, axes, level, depth, box, axis, cut
        engine.launch("split_points", 1 << level, *columns, grain=max(1, (GRAIN << level) // length))
    return PointTree(column, order, length, axes, depth, box, axis, cut, *space)


def nearest_points(engine: Engine, tree: PointTree, wanted: int) -> tuple[Array, Array]:
    """Find the nearest points of every point, by position in the tree."""
    neighbor = np.empty((tree.length, wanted), np.uint32)
    reach = np.full(tree.length, np.inf)
    if wanted:
        step = max(GRAIN, _SCRATCH // wanted)
        distance = np.empty((min(step, tree.length), wanted))
        for begin in range(0, tree.length, step):
            here = neighbor[begin : begin + step], distance, reach[begin : begin + step]
            engine.launch("nearest_points", len(here[0]), *tree, wanted, begin, *here, grain=GRAIN)
    if not wanted:
        reach.fill(0.0)
    if wanted == tree.length - 1:
        reach.fill(np.inf)
    return neighbor, reach


def node_labels(engine: Engine, tree: PointTree, label: Array) -> Array:
    """Node -> the label of all its points, or the largest ``uint32`` if they have several."""
    whole = np.empty(2 << tree.depth, np.uint32)
    engine.launch("label_leaves", 1 << tree.depth, label, tree.length, tree.depth, whole)
    for level in reversed(range(tree.depth)):
        engine.launch("label_nodes", 1 << level, level, whole)
    return whole
