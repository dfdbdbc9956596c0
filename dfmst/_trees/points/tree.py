"""A kd-tree of points: distances, and the nearest points of every point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.sort import sort_order


class Space(NamedTuple):
    """How distances follow from differences of coordinates."""

    norm: int = 2  # 2: the root of the sum of squares; 1: the sum; 0: the largest
    period: Array | None = None  # of every axis, ``float64``; 0 if it has none


EUCLID = Space()


def distances(engine: Engine, points: Array, source: Array, target: Array, space: Space = EUCLID) -> Array:
    """Return the distances of pairs of points (``int64``), ``float64``: the same floats as the searches'."""
    distance: Array = engine.xp.empty(len(source))
    ends = (engine.xp.ascontiguousarray(end) for end in (source, target))
    columns = points.reshape(-1), points.shape[1], len(points), *space, *ends, distance
    engine.launch("pair_distances", len(source), *columns)
    return distance


_LANES = 8  # entries that the kernels read behind the last point
SURE = 9  # most points that are listed by ``sure_neighbors``; the kernels' SLOTS less one
PLANE = 3  # axes up to which a box is small compared with its distance from most points
_FEW, _MANY = 8, 32  # points of a leaf, or up to twice as many: up to PLANE axes, and above
_SCRATCH = 1 << 18  # distances of neighbors at a time
_CODE = 63  # bits of a code
_DEVICE_SCRATCH = 1 << 25  # on a GPU: enough to keep it busy
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
        return Space(self.norm, self.period)

    @property
    def points(self) -> Array:
        """Coordinates in the tree's order, shape ``(axes, length)``."""
        points: Array = self.column[: self.axes * self.length].reshape(self.axes, self.length)
        return points


def build_tree(engine: Engine, points: Array, space: Space = EUCLID) -> PointTree:
    """Build the tree of points, ``float64`` of shape ``(axes, length)`` and at least one."""
    xp, (axes, length) = engine.xp, points.shape
    depth = max(0, (length // (_FEW if axes <= PLANE else _MANY)).bit_length() - 1)
    column, nodes = xp.empty(axes * length + _LANES), 2 << depth
    box, axis, cut = xp.empty((nodes, 2, axes)), xp.empty(nodes // 2, np.uint32), xp.empty(nodes // 2)
    if not engine.on_host:
        barrier = xp.zeros(1, np.uint32)
        order, points = _sort_points(engine, points, barrier), points.reshape(-1)
        engine.launch("bound_nodes", length, barrier, points, order, length, axes, depth, column, box, axis, cut)
        return PointTree(column, order, length, axes, depth, box, axis, cut, *space)
    column[: axes * length] = points.reshape(-1)
    column[axes * length :] = 0
    order = np.arange(length, dtype=np.uint32)
    for level in range(depth + 1):
        columns = column, order, length, axes, level, depth, box, axis, cut
        engine.launch("split_points", 1 << level, *columns, grain=max(1, (GRAIN << level) // length))
    return PointTree(column, order, length, axes, depth, box, axis, cut, *space)


def _sort_points(engine: Engine, points: Array, barrier: Array) -> Array:
    """Return the points in the order of Morton codes.

    To sort codes keeps all threads of a GPU busy; the selection of medians leaves the upper levels to a few.
    """
    xp, (axes, length) = engine.xp, points.shape
    used = min(axes, _CODE)
    bits = _CODE // used if used > 2 else _CODE // 2
    code, bounds = xp.empty(length, np.uint64), xp.zeros(2 * used, np.uint64)
    engine.launch("morton_codes", length, barrier, points.reshape(-1), length, axes, bits, bounds, code)
    return sort_order(engine, code, used * bits)


def nearest_points(engine: Engine, tree: PointTree, wanted: int) -> tuple[Array, Array]:
    """Find the nearest points of every point, by position in the tree; and the distance of the last one."""
    xp, length, by_leaf = engine.xp, tree.length, engine.on_host and tree.axes <= PLANE
    neighbor, reach = xp.empty(length * wanted, np.uint32), xp.empty(length) if wanted else xp.zeros(length)
    # An index is a leaf, whose points look for neighbors together. On a GPU, and if boxes are large compared with
    # distances, it is a point.
    indices, scratch = (1 << tree.depth, _SCRATCH) if by_leaf else (length, _DEVICE_SCRATCH)
    grain = max(1, GRAIN * indices // length)
    step = max(grain, scratch * indices // max(1, wanted * length))
    distance = xp.empty(min(step * (length // indices + 1), length) * wanted)
    for start in range(0, indices if wanted else 0, step):
        begin, end = (length * min(at, indices) // indices for at in (start, start + step))
        here = neighbor[begin * wanted : end * wanted], distance, reach[begin:end]
        count = min(step, indices - start)
        kernel = "nearest_to_leaves" if by_leaf else "nearest_points"
        engine.launch(kernel, count, *tree, wanted, start, *here, grain=grain)
    if wanted == tree.length - 1:
        reach.fill(np.inf)
    return neighbor.reshape(tree.length, wanted), reach


def sure_neighbors(engine: Engine, tree: PointTree) -> tuple[Array, Array]:
    """Find up to ``SURE`` points of which each is surely nearer than all others; and a bound of the distance of those.

    For up to three axes on the host. A list of positions is padded with the largest ``uint32``.
    """
    neighbor, reach = np.empty((tree.length, SURE), np.uint32), np.empty(tree.length)
    grain = max(1, (GRAIN << tree.depth) // tree.length)
    engine.launch("sure_neighbors", 1 << tree.depth, *tree, neighbor.reshape(-1), reach, grain=grain)
    return neighbor, reach
