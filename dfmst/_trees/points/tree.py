"""A kd-tree in columns: halves of equal numbers of points, cut across the longest side of their box.

References
----------
Bentley: Multidimensional binary search trees used for associative searching. Communications of the ACM 18 (1975).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine

_LANES = 8  # of the kernels, which read so many entries behind the last point
_PLANE = 3  # axes up to which a box is small beside its distance from most points
_FEW, _MANY = 4, 32  # points of a leaf, or up to twice as many: up to so many axes, and above
_SCRATCH = 1 << 18  # distances of neighbours at a time
_GRAIN = 128  # positions that one thread takes at a time: points that follow each other look into the same leaves


class PointTree(NamedTuple):
    """Points in the order of a tree; what kernels receive, in their order.

    Attributes
    ----------
    column
        Coordinates axis by axis, ``float64``, and some padding.
    order
        Position in the tree -> number of the point, ``uint32``.
    length, axes
        How many points and coordinates there are.
    depth
        Levels above the leaves.
    box
        Node -> least and largest coordinates of its points, ``float64``, shape ``(nodes, 2, axes)``.
    axis, cut
        Node above the leaves -> the axis it is cut across, ``uint32``, and the least coordinate of its upper half.
    """

    column: Array
    order: Array
    length: int
    axes: int
    depth: int
    box: Array
    axis: Array
    cut: Array

    @property
    def points(self) -> Array:
        """Coordinates in the tree's order, shape ``(axes, length)``."""
        return self.column[: self.axes * self.length].reshape(self.axes, self.length)


def build_tree(engine: Engine, points: Array) -> PointTree:
    """Build the tree of points, ``float64`` of shape ``(axes, length)`` and at least one."""
    axes, length = points.shape
    depth = max(0, (length // (_FEW if axes <= _PLANE else _MANY)).bit_length() - 1)
    column = np.zeros(axes * length + _LANES)
    column[: axes * length] = points.reshape(-1)
    order, nodes = np.arange(length, dtype=np.uint32), 2 << depth
    box, axis, cut = np.zeros((nodes, 2, axes)), np.zeros(nodes // 2, np.uint32), np.zeros(nodes // 2)
    for level in range(depth + 1):
        columns = column, order, length, axes, level, depth, box, axis, cut
        engine.launch("split_points", 1 << level, *columns, grain=max(1, (_GRAIN << level) // length))
    return PointTree(column, order, length, axes, depth, box, axis, cut)


def nearest_points(engine: Engine, tree: PointTree, wanted: int) -> tuple[Array, Array]:
    """Find the nearest points of every point, by position in the tree."""
    neighbour = np.empty((tree.length, wanted), np.uint32)
    reach = np.full(tree.length, np.inf)
    if wanted:
        step = max(_GRAIN, _SCRATCH // wanted)
        distance = np.empty((min(step, tree.length), wanted))
        for begin in range(0, tree.length, step):
            here = neighbour[begin : begin + step], distance, reach[begin : begin + step]
            engine.launch("nearest_points", len(here[0]), *tree, wanted, begin, *here, grain=_GRAIN)
    if wanted == tree.length - 1:
        reach.fill(np.inf)
    return neighbour, reach


def block_level(tree: PointTree) -> int:
    """The depth of nodes that have about as many points as a thread takes at a time."""
    return max(0, (tree.length // _GRAIN).bit_length() - 1)


def node_labels(engine: Engine, tree: PointTree, label: Array) -> Array:
    """Node -> the label of all its points, or the largest ``uint32`` where they have several."""
    whole = np.empty(2 << tree.depth, np.uint32)
    engine.launch("label_leaves", 1 << tree.depth, label, tree.length, tree.depth, whole)
    for level in reversed(range(tree.depth)):
        engine.launch("label_nodes", 1 << level, level, whole)
    return whole
