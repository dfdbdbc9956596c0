"""The Kruskal tree of a forest, which gives the heaviest edge of any path.

Edges unite their ends by size in ascending order, without path compression, and each link has the rank of its edge.
Ranks increase towards the root, and no path has more than log2(vertices) links. So a short walk from both ends finds
the heaviest edge of a path: King (1997) on Tarjan's (1979) balanced unions in place of the tree of Borůvka's rounds.
The last two links below the root are an upper bound of that edge without a walk.

References
----------
Tarjan: Applications of path compression on balanced trees. Journal of the ACM 26 (1979).
King: A simpler minimum spanning tree verification algorithm. Algorithmica 18 (1997).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import count_roots, flatten, unite
from dfmst._engines.primitives.dendrogram import contracted_merges
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.sort import sort_order

_NONE = int(np.iinfo(np.uint64).max)
_SAMPLE = 1024


class RankedForest(NamedTuple):
    """The forest in ascending order; ends are ``source << 32 | target``."""

    key: Array
    row: Array
    ends: Array


class KruskalTree(NamedTuple):
    """The Kruskal tree (see ``kruskal_tree.cuh``)."""

    link: Array  # of every vertex
    top: Array  # its root and last link
    cycle: int | None  # rank of an edge that closes a cycle; None: the edges are a forest


def rank_forest(engine: Engine, forest: Edges) -> RankedForest:
    """Sort a forest (``uint32`` ends, ordered keys, rows), and check the order, as certificates rely on it."""
    xp, length = engine.xp, len(forest)
    order = sort_order(engine, forest.key)
    key, row, wrong = xp.empty_like(forest.key), xp.empty(length, np.uint32), xp.zeros(1, np.uint32)
    engine.launch("rank_edges", length, order, length, forest.key, forest.row, key, row, wrong)
    if int(wrong[0]):
        raise RuntimeError("the sort of the forest is wrong, and it cannot be certified: this is a fault of dfmst")
    ends = xp.empty(length, np.uint64)
    engine.launch("pack_ends", length, forest.source, forest.target, order, ends)
    return RankedForest(key, row, ends)


class Merges(NamedTuple):
    """Merges of a dendrogram in the forest's order; merge r makes cluster ``vertices + r``."""

    left: Array  # the cluster with the smaller number, ``uint64``
    right: Array
    size: Array  # vertices of the new cluster, ``uint32``


def merge_clusters(engine: Engine, source: Array, target: Array, vertices: int) -> Merges:
    """Merge vertices along the edges of a forest in ascending order.

    On a host one thread unites clusters: the contraction of a GPU takes six to eight times the processor time
    (``bench/trees.py``).
    """
    if not engine.on_host:
        return Merges(*contracted_merges(engine, source, target, vertices))
    ends = np.empty(len(source), np.uint64)
    engine.launch("pack_ends", len(source), source, target, None, ends)
    merges = Merges(*(engine.xp.empty(len(ends), dtype) for dtype in (np.uint64, np.uint64, np.uint32)))
    cycle = _unite_by_size(engine, ends, vertices, None, engine.xp.zeros(vertices, np.uint32), *merges)
    assert cycle is None
    return merges


def _unite_by_size(engine: Engine, ends: Array, vertices: int, link: Array | None, *merges: Array) -> int | None:
    """Unite vertices along edges, and write the links or the merges; return the rank that closed a cycle."""
    xp = engine.xp
    parent, size = xp.arange(vertices, dtype=np.uint32), xp.ones(vertices, np.uint32)
    cycle = xp.full(1, _NONE, np.uint64)
    columns = merges or (None,) * 4
    engine.launch_alone("link_trees", ends, len(ends), parent, size, link, cycle, vertices, *columns)
    closing = int(cycle[0])
    return None if closing == _NONE else closing


def build_kruskal_tree(engine: Engine, ends: Array, vertices: int, *, contract: bool = False) -> KruskalTree:
    """Link vertices along the edges of a forest in ascending order; ``top`` is empty if an edge closes a cycle.

    With `contract`, a GPU does so without the host, in more memory, unless an edge closes a cycle.
    """
    link, cycle = engine.xp.full(vertices, _NONE, np.uint64), None
    if not (contract and _link_by_contraction(engine, ends, link)):
        cycle = _unite_by_size(engine, ends, vertices, link)
    if cycle is not None:
        return KruskalTree(link, engine.xp.empty(0, np.uint64), cycle)
    top: Array = engine.xp.empty_like(link)
    engine.launch("climb", vertices, link, top)
    return KruskalTree(link, top, None)


def _link_by_contraction(engine: Engine, ends: Array, link: Array) -> bool:
    """Write the links on a GPU; false if an edge closes a cycle, or if 32 bits do not number vertices and edges.

    In each merge, the vertex that leads the smaller cluster is linked to the one that leads the larger cluster.
    """
    xp, vertices = engine.xp, len(link)
    if engine.on_host or 2 * vertices >= ROW_LIMIT:
        return False
    source, target = (ends >> np.uint64(32)).astype(np.uint32), ends.astype(np.uint32)
    parent = xp.arange(vertices, dtype=np.uint32)
    unite(engine, source, target, None, parent)
    if vertices - count_roots(engine, parent) < len(ends):
        return False
    left, right, size = contracted_merges(engine, source, target, vertices)
    sizes = xp.concatenate([xp.ones(vertices, np.uint32), size])
    swapped = sizes[left] < sizes[right]
    larger, smaller = xp.where(swapped, right, left), xp.where(swapped, left, right)
    leader = xp.concatenate([xp.arange(vertices, dtype=np.uint32), larger.astype(np.uint32)])
    flatten(engine, leader)
    link[leader[smaller]] = xp.arange(len(ends), dtype=np.uint64) << np.uint64(32) | leader[vertices:]
    return True


def largest_tree(engine: Engine, top: Array, size: int = _SAMPLE) -> tuple[int, Array]:
    """Return the largest tree of a sample: its root, and the last ranks of the sample's vertices in it, ascending."""
    sample = top[:: max(1, len(top) // size)]
    roots, counts = engine.xp.unique(sample >> np.uint64(32), return_counts=True)
    root = int(roots[counts.argmax()])
    ranks = sample[sample >> np.uint64(32) == np.uint64(root)] & np.uint64(0xFFFFFFFF)
    return root, engine.xp.sort(ranks)
