"""The Kruskal tree of a forest, which gives the heaviest edge of any path.

Kruskal's reconstruction tree in links: the edges are united by size in ascending order, without path compression,
and each link remembers the rank of its edge. Ranks grow on the way up and no path is longer than log2(vertices), so
that a short walk from both ends finds a path's heaviest edge: the tree of Tarjan's balanced unions, used as King uses
the tree of Borůvka's rounds. The last two links below the root bound that edge from above without a walk.

References
----------
Tarjan: Applications of path compression on balanced trees. Journal of the ACM 26 (1979).
King: A simpler minimum spanning tree verification algorithm. Algorithmica 18 (1997).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.sort import sort_order

_NONE = int(np.iinfo(np.uint64).max)
_SAMPLE = 1024


class RankedForest(NamedTuple):
    """The forest in ascending order: rank -> key, row and ends (source << 32 | target)."""

    key: Array
    row: Array
    ends: Array


class KruskalTree(NamedTuple):
    """Links of every vertex, its root and last link (``kruskal_tree.cuh``); the rank that closed a cycle, if any."""

    link: Array
    top: Array
    cycle: int | None


def rank_forest(engine: Engine, forest: Edges) -> RankedForest:
    """Sort a forest (``uint32`` ends, ordered keys, rows), and check the order in a linear pass.

    A certificate by ranks then does not depend on a correct sort.
    """
    xp, length = engine.xp, len(forest)
    order = sort_order(engine, forest.key)
    key, row, wrong = xp.empty_like(forest.key), xp.empty(length, np.uint32), xp.zeros(1, np.uint32)
    engine.launch("rank_edges", length, order, length, forest.key, forest.row, key, row, wrong)
    if int(wrong[0]):
        message = "the forest could not be put in order, so that nothing is certified: this is a fault of dfmst"
        raise RuntimeError(message)
    ends = xp.empty(length, np.uint64)
    engine.launch("pack_ends", length, forest.source, forest.target, order, ends)
    return RankedForest(key, row, ends)


class Merges(NamedTuple):
    """Merges of a dendrogram in the forest's order; merge r makes cluster ``vertices + r``."""

    left: Array  # the two clusters, the smaller number first, ``uint64``
    right: Array
    size: Array  # vertices of the new cluster, ``uint32``


def merge_clusters(engine: Engine, ends: Array, vertices: int) -> Merges:
    """Merge vertices along the edges of a forest (source << 32 | target) in ascending order."""
    left, right = (engine.xp.empty(len(ends), np.uint64) for _ in range(2))
    merges = Merges(left, right, engine.xp.empty(len(ends), np.uint32))
    cycle = _unite_by_size(engine, ends, vertices, None, engine.xp.zeros(vertices, np.uint32), *merges)
    assert cycle is None
    return merges


def _unite_by_size(
    engine: Engine,
    ends: Array,
    vertices: int,
    link: Array | None,
    last: Array | None = None,
    left: Array | None = None,
    right: Array | None = None,
    merged: Array | None = None,
) -> int | None:
    """Unite vertices along edges, and keep the links or the merges; return the rank that closed a cycle."""
    xp = engine.xp
    parent, size = xp.arange(vertices, dtype=np.uint32), xp.ones(vertices, np.uint32)
    cycle = xp.full(1, _NONE, np.uint64)
    kept = link, cycle, vertices, last, left, right, merged
    engine.launch_alone("link_trees", ends, len(ends), parent, size, *kept)
    closing = int(cycle[0])
    return None if closing == _NONE else closing


def build_kruskal_tree(engine: Engine, ends: Array, vertices: int) -> KruskalTree:
    """Link the vertices by a forest's edges in ascending order; ``top`` is empty if one of them closes a cycle."""
    link = engine.xp.full(vertices, _NONE, np.uint64)
    cycle = _unite_by_size(engine, ends, vertices, link)
    if cycle is not None:
        return KruskalTree(link, engine.xp.empty(0, np.uint64), cycle)
    top: Array = engine.xp.empty_like(link)
    engine.launch("climb", vertices, link, top)
    return KruskalTree(link, top, None)


def largest_tree(engine: Engine, top: Array, size: int = _SAMPLE) -> tuple[int, Array]:
    """Return the largest tree of a sample: its root, and the last ranks of the sample's vertices in it, ascending."""
    sample = top[:: max(1, len(top) // size)]
    roots, counts = engine.xp.unique(sample >> np.uint64(32), return_counts=True)
    root = int(roots[counts.argmax()])
    ranks = sample[sample >> np.uint64(32) == np.uint64(root)] & np.uint64(0xFFFFFFFF)
    return root, engine.xp.sort(ranks)
