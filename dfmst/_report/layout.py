"""Places for vertices that have no coordinates: each tree spread so that no two of its edges cross.

A tree is drawn around its middle, on a circle for each number of steps from there: a vertex hands each of its subtrees
a sector as wide as its share of the leaves (Eades: Drawing free trees. Bulletin of the ICA 5, 1992). Trees stand in
rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dfmst._common.types import Array
from dfmst._report.facts import ForestFacts

MOST = 2_000  # vertices that are drawn
_WIDER = 1.3
_GAP = 0.06  # between trees, as a share of the larger one's side

_Neighbors = Callable[[int], list[int]]  # of a vertex


def lay_out(forest: ForestFacts) -> tuple[Array, Array, bool]:
    """Return x and y (upwards) of each vertex, NaN if it is not drawn, and whether only a part of a tree is drawn.

    The largest trees are drawn that fit; if not even the largest fits, the part around its hub.
    """
    x, y = np.full(forest.vertices, np.nan), np.full(forest.vertices, np.nan)
    whole = int(np.searchsorted(np.cumsum(forest.tree_sizes), MOST, side="right"))
    cut = whole == 0
    chosen = np.flatnonzero(forest.tree < max(whole, 1))
    neighbors = _neighbors(forest)
    hub = chosen[np.lexsort((chosen, -forest.degree[chosen], forest.tree[chosen]))]
    _, first = np.unique(forest.tree[hub], return_index=True)
    placed = [_place_tree(_middle(start, neighbors, cut), neighbors) for start in hub[first].tolist()]
    _pack(placed, x, y)
    return x, y, cut


def _neighbors(forest: ForestFacts) -> _Neighbors:
    source, target = forest.ordered.source, forest.ordered.target
    others = np.concatenate([target, source])[np.argsort(np.concatenate([source, target]), kind="stable")]
    first = np.concatenate([[0], np.cumsum(forest.degree)])
    return lambda vertex: others[first[vertex] : first[vertex + 1]].tolist()


def _middle(start: int, neighbors: _Neighbors, cut: bool) -> int:
    """The middle of a tree's longest path; of a tree that is cut, its hub."""
    if cut:
        return start
    first = _breadth_first(start, neighbors)[0][-1]
    order, parent = _breadth_first(first, neighbors)
    path = [order[-1]]
    while parent[path[-1]] != path[-1]:
        path.append(parent[path[-1]])
    return path[len(path) // 2]


def _breadth_first(start: int, neighbors: _Neighbors) -> tuple[list[int], dict[int, int]]:
    """Vertices from `start` on, as many as are drawn, and the parent of each."""
    parent, order = {start: start}, [start]
    for vertex in order:
        for other in neighbors(vertex) if len(order) < MOST else ():
            if other not in parent and len(order) < MOST:
                parent[other] = vertex
                order.append(other)
    return order, parent


def _place_tree(root: int, neighbors: _Neighbors) -> tuple[list[int], Array, Array]:
    order, parent = _breadth_first(root, neighbors)
    leaves = dict.fromkeys(order, 0)
    for vertex in reversed(order):
        leaves[vertex] = max(1, leaves[vertex])
        if vertex != root:
            leaves[parent[vertex]] += leaves[vertex]
    middle, depth = {root: 0.0}, {root: 0}
    begin, unit = {root: 0.0}, 2 * math.pi / leaves[root]
    for vertex in order[1:]:
        above = parent[vertex]
        middle[vertex], depth[vertex] = begin[above] + unit * leaves[vertex] / 2, depth[above] + 1
        begin[vertex] = begin[above]
        begin[above] += unit * leaves[vertex]
    angle = np.array([middle[vertex] for vertex in order])
    radius = np.array([depth[vertex] for vertex in order], float)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    # The longest side goes across: pictures are wider than high.
    if len(points) > 2:
        points = points @ np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2].T
    return order, _WIDER * points[:, 0], points[:, 1]


def _pack(placed: list[tuple[list[int], Array, Array]], x: Array, y: Array) -> None:
    """Put the trees into rows, each in a box whose area follows its vertices."""
    boxes = []
    for vertices, own_x, own_y in placed:
        wide, high = float(np.ptp(own_x)) or 0.3, float(np.ptp(own_y)) or 0.3
        scale = math.sqrt(len(vertices) ** 0.9 / (wide * high))
        scale = min(scale, 3 * len(vertices) ** 0.5 / max(wide, high))
        boxes.append((scale * wide, scale * high, scale))
    gap = _GAP * max(max(wide, high) for wide, high, _ in boxes)
    room = max(max(wide for wide, *_ in boxes), 1.35 * math.sqrt(sum((w + gap) * (h + gap) for w, h, _ in boxes)))
    left = top = row = 0.0
    for (vertices, own_x, own_y), (wide, high, scale) in zip(placed, boxes, strict=True):
        if left and left + wide > room:
            left, top, row = 0.0, top - row - gap, 0.0
        x[vertices] = left + scale * (own_x - own_x.min())
        y[vertices] = top - high + scale * (own_y - own_y.min())
        left, row = left + wide + gap, max(row, high)
