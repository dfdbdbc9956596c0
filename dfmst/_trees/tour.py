"""Trees with a root, by an Euler tour: no recursion, and no step for every level of a deep tree.

Every edge is two arcs. The tour goes on from an arc with the arc that follows its twin around their vertex; cut at the
roots, it is a list, and pointer jumping ranks its arcs. Of an edge's arcs the one that comes first leads away from the
root.

References
----------
Tarjan, Vishkin: An efficient parallel biconnectivity algorithm. SIAM Journal on Computing 14 (1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.sort import sort_order


class RootedTrees(NamedTuple):
    """Trees with a root each, a root being its own parent.

    Attributes
    ----------
    parent
        Vertex -> the next one on the way to its root, ``int64``.
    edge
        Vertex -> the edge to its parent, ``int64``; -1 at a root.
    left
        Vertex -> arcs of the tour that come after the one to it, ``int64``: more than at any vertex below it.
    """

    parent: Array
    edge: Array
    left: Array


def root_trees(engine: Engine, source: Array, target: Array, root: Array) -> RootedTrees:
    """Lead the edges of a forest away from its roots."""
    edges, vertices = len(source), np.arange(len(root))
    tail, head = np.concatenate([source, target]), np.concatenate([target, source])
    left = _ranks(_tour(engine, tail, root), 2 * edges)
    away = np.flatnonzero(left > np.roll(left, edges))
    parent, edge, after = vertices.copy(), np.full(len(root), -1), np.full(len(root), 2 * edges)
    parent[head[away]] = tail[away]
    edge[head[away]] = away % edges if edges else away
    after[head[away]] = left[away]
    return RootedTrees(parent, edge, after)


def _tour(engine: Engine, tail: Array, root: Array) -> Array:
    """Arc -> the next one; the last of a tree points at itself."""
    arcs = len(tail)
    around = sort_order(engine, tail).astype(np.int64)
    vertex = tail[around]
    begins = np.flatnonzero(np.append(True, vertex[1:] != vertex[:-1]))[:arcs]
    following, before = np.empty(arcs, np.int64), np.empty(arcs, np.int64)
    following[around[:-1]] = around[1:]
    following[around[np.append(begins[1:], arcs)[: len(begins)] - 1]] = around[begins]
    tour = np.roll(following, arcs // 2)  # an arc's twin is so far away
    before[tour] = np.arange(arcs)
    first = around[begins]
    first = first[root[tail[first]] == tail[first]]
    tour[before[first]] = before[first]
    return tour


def _ranks(tour: Array, arcs: int) -> Array:
    """How many arcs come after each in its list, by pointer jumping."""
    rank: Array = (tour != np.arange(arcs)).astype(np.int64)
    while True:
        further = tour[tour]
        if np.array_equal(further, tour):
            return rank
        rank += rank[tour]
        tour = further


def fold_paths(parent: Array, *columns: tuple[np.ufunc, Array]) -> list[Array]:
    """Fold entries along the path from every vertex to its root, by pointer jumping."""
    folded = [values.copy() for _, values in columns]
    while True:
        further = parent[parent]
        for (function, _), values in zip(columns, folded, strict=True):
            function(values, values[parent], out=values)
        if np.array_equal(further, parent):
            return folded
        parent = further
