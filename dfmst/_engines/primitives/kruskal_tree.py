"""The Kruskal tree of a forest, which gives the heaviest edge of any path; and the merges of its dendrogram.

Edges unite their ends by size in ascending order, without path compression, and each link has the rank of its edge.
Ranks increase towards the root, and no path has more than log2(vertices) links. So a short walk from both ends finds
the heaviest edge of a path: King (1997) on Tarjan's (1979) balanced unions in place of the tree of Borůvka's rounds.
The last two links below the root are an upper bound of that edge without a walk.

The cycle filter finds new rows of a stream that may enter the forest of the earlier rows. By the cycle property, no
later forest contains a row that is heavier than the forest's path between its ends. An upper bound of the path's
heaviest edge is the later of the two edges by which the ends joined their tree. One byte a vertex is the rank of that
edge, rounded up to one of 254 levels, so that a row needs two reads from a table in the cache. If no tree has nearly
all vertices, two more reads compare the trees of the ends. On a random graph, the filter drops nearly every row that
cannot enter.

One thread of a host unites clusters; a GPU contracts vertices along their lightest edges (Sao et al. 2024).

References
----------
Tarjan: Applications of path compression on balanced trees. Journal of the ACM 26 (1979).
King: A simpler minimum spanning tree verification algorithm. Algorithmica 18 (1997).
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
Sao, Prokopenko, Lebrun-Grandié: PANDORA: a parallel dendrogram construction algorithm for single linkage clustering on
GPU. ICPP 2024.
Dhulipala, Dong, Gowda, Gu: Optimal parallel algorithms for dendrogram computation and single-linkage clustering. SPAA
2024.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import count_roots, flatten, unite
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flag_words, flags_to_write, ones
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import CapacityError

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
        return contracted_merges(engine, source, target, vertices)
    ends = np.empty(len(source), np.uint64)
    engine.launch("pack_ends", len(source), source, target, None, ends)
    merges = _empty_merges(engine, len(source))
    cycle = _unite_by_size(engine, ends, vertices, None, engine.xp.zeros(vertices, np.uint32), *merges)
    assert cycle is None
    return merges


def _empty_merges(engine: Engine, edges: int) -> Merges:
    return Merges(*(engine.xp.empty(edges, dtype) for dtype in (np.uint64, np.uint64, np.uint32)))


def _unite_by_size(engine: Engine, ends: Array, vertices: int, link: Array | None, *merges: Array) -> int | None:
    """Unite vertices along edges, and write the links or the merges; return the rank that closed a cycle."""
    xp = engine.xp
    parent, size = xp.arange(vertices, dtype=np.uint32), xp.ones(vertices, np.uint32)
    cycle = xp.full(1, _NONE, np.uint64)
    columns = merges or (None,) * 4
    engine.launch_alone("link_trees", ends, len(ends), parent, size, link, cycle, vertices, *columns)
    closing = int(cycle[0])
    return None if closing == _NONE else closing


class _Level(NamedTuple):
    """Edges of a level of contraction, in ascending order."""

    source: Array
    target: Array
    rank: Array | None  # None: the position is the rank
    vertices: int

    def __len__(self) -> int:
        return len(self.source)


class _Nodes(NamedTuple):
    """Vertices of all levels, one after the other; see ``dendrogram.cuh``."""

    lightest: Array
    up: Array
    bases: list[int]  # the first node of each level, and the number of all
    one: Array  # a side of each edge: its node when it was contracted
    two: Array


def contracted_merges(engine: Engine, source: Array, target: Array, vertices: int) -> Merges:
    """Merge vertices along the edges of a forest in ascending order, by contraction."""
    xp, edges = engine.xp, len(source)
    merges = left, right, size = _empty_merges(engine, edges)
    if not edges:
        return merges
    if 2 * vertices >= ROW_LIMIT:  # vertices of all levels together
        message = f"the dendrogram of {vertices:,} vertices is not made on a GPU; 32-bit words number half as many"
        raise CapacityError(message, "copy the forest to the host: forest.to_arrow()")
    nodes = _contract_levels(engine, _Level(source, target, None, vertices))
    records, total = xp.empty(edges, np.uint64), nodes.bases[-1]
    engine.launch("find_chains", edges, nodes.one, nodes.up, nodes.lightest, records)
    records = engine.sort_records(records, total.bit_length())
    begin, top = xp.empty(total, np.uint32), xp.empty(total, np.uint32)
    engine.launch("bound_chains", edges, records, edges, begin, top)
    sides = nodes.one, nodes.two, nodes.lightest
    engine.launch("list_merges", edges, records, begin, top, *sides, vertices, left, right)
    added, counted = xp.empty(edges, np.uint32), xp.empty(total, np.uint32)
    places = xp.searchsorted(records, xp.asarray(np.array(nodes.bases[1:], np.uint64) << np.uint64(32))).tolist()
    for first, last in zip(places, [*places[1:], edges], strict=True):
        level = records[first:last]
        engine.launch("count_added", last - first, level, *sides, vertices, counted, added)
        sums = xp.cumsum(added[: last - first], dtype=np.uint32)
        engine.launch("size_merges", last - first, level, sums, begin, top, first, counted, size)
    return merges


def _contract_levels(engine: Engine, level: _Level) -> _Nodes:
    """Contract vertices along their lightest edges, until no edges are left."""
    xp, edges = engine.xp, len(level)
    room = 2 * level.vertices + 1  # every contracted vertex has at least two vertices of the level before
    lightest, up = xp.empty(room, np.uint32), xp.empty(room, np.uint32)
    one, two = xp.empty(edges, np.uint32), xp.empty(edges, np.uint32)
    base, bases = 0, [0]
    while len(level):
        end = base + level.vertices
        level = _contract(engine, level, base, lightest[base:end], up[base:end], one, two)
        base = end
        bases.append(base)
    lightest[base : base + level.vertices] = np.iinfo(np.uint32).max
    bases.append(base + level.vertices)
    return _Nodes(lightest, up, bases, one, two)


def _contract(engine: Engine, level: _Level, base: int, lightest: Array, up: Array, one: Array, two: Array) -> _Level:
    """Contract the vertices of a level, and return the next one."""
    xp, n = engine.xp, level.vertices
    first, parent, number = ones(engine, n), xp.empty(n, np.uint32), xp.empty(n, np.uint32)
    engine.launch("first_edges", len(level), level.source, level.target, first)
    engine.launch("hook_along", n, level.source, level.target, level.rank, first, parent, lightest)
    flatten(engine, parent)
    flags = flags_to_write(engine, n)
    engine.launch("flag_linked_roots", len(flags), parent, first, n, flags, grain=FLAG_GRAIN)
    roots = compact(engine, flags)
    engine.launch("rank_roots", len(roots), roots, number)
    engine.launch("lead_up", n, parent, number, base + n, up)
    flags = flags_to_write(engine, len(level))
    ends = (level.source, level.target, level.rank)
    engine.launch("flag_heavier", len(flags), *ends, len(level), first, base, one, two, flags, grain=FLAG_GRAIN)
    positions = compact(engine, flags)
    source, target, rank = (xp.empty(len(positions), np.uint32) for _ in range(3))
    engine.launch("gather_heavier", len(positions), positions, *ends, up, base + n, source, target, rank)
    return _Level(source, target, rank, len(roots))


_LEVELS = 254  # of a byte; 0 is for self-loops, 255 for vertices outside the largest tree
_LARGE = 0.95  # share of the vertices in one tree above which rows of other trees pass
_LEVEL_SAMPLE = 1 << 16
_LAST = int(np.iinfo(np.uint32).max)


class FilterTables(NamedTuple):
    """The tables of a filter."""

    level: Array  # of each vertex
    limit: Array  # key of each level
    tree: Array | None  # of each vertex; None: one tree has nearly all vertices
    ties: int  # whether rows of the limit pass


class CycleFilter:
    """Finds rows that are heavier than the forest's path between their ends."""

    def __init__(self, engine: Engine, tables: FilterTables) -> None:
        self._engine, self.tables = engine, tables

    @classmethod
    def of_trees(cls, engine: Engine, ranked: RankedForest, trees: KruskalTree, ties: bool = False) -> CycleFilter:
        """Make the filter of a forest and its Kruskal tree; with `ties`, rows of the limit pass."""
        xp = engine.xp
        root, ranks = largest_tree(engine, trees.top, _LEVEL_SAMPLE)
        sample = trees.top[:: max(1, len(trees.top) // _LEVEL_SAMPLE)]
        tree: Array | None = None
        if len(ranks) < _LARGE * len(sample):
            root, ranks = _LAST, xp.sort(sample & np.uint64(_LAST))
            tree = (trees.top >> np.uint64(32)).astype(np.uint32)
        places = np.arange(1, _LEVELS) * len(ranks) // _LEVELS
        last = np.append(engine.to_host(ranks)[places], _LAST).astype(np.uint32)
        level, limit = xp.empty(len(trees.top), np.uint8), xp.zeros(256, np.uint64)
        engine.launch("join_levels", len(trees.top), trees.top, root, engine.from_host(last), _LEVELS, level)
        if len(ranked.key):
            heaviest = engine.from_host(np.minimum(last, len(ranked.key) - 1))
            limit[1 : _LEVELS + 1] = ranked.key[heaviest]
        return cls(engine, FilterTables(level, limit, tree, int(ties)))

    @classmethod
    def of_forest(cls, engine: Engine, forest: Edges, vertices: int) -> CycleFilter:
        """Make the filter of a forest: ``uint32`` ends, ordered keys, and ascending rows."""
        if not engine.on_host:  # the Kruskal tree needs the host
            return cls(engine, FilterTables(*joined_levels(engine, forest, vertices, _LARGE), 0))
        ranked = rank_forest(engine, forest)
        trees = build_kruskal_tree(engine, ranked.ends, vertices)
        if trees.cycle is not None:
            raise ValueError("rows that are not a forest")
        return cls.of_trees(engine, ranked, trees)

    def grow(self, vertices: int) -> None:
        """Add vertices that are not in the forest."""
        xp, (level, _, tree, _) = self._engine.xp, self.tables
        if tree is not None:
            tree = xp.concatenate([tree, xp.arange(len(level), vertices, dtype=np.uint32)])
        level = xp.concatenate([level, xp.full(vertices - len(level), _OUTSIDE, np.uint8)])
        self.tables = self.tables._replace(level=level, tree=tree)

    def passing(self, source: Array, target: Array, weight: Array, flip: int) -> Array:
        """Flag the rows that may enter the forest."""
        level, limit, tree, ties = self.tables
        latest = self._engine.xp.empty(len(source), np.uint8)
        self._engine.launch("latest_levels", len(source), source, target, level, tree, latest)
        flags = flag_words(self._engine, len(source))
        arguments = (weight, flip, len(source), latest, limit, ties, flags)
        self._engine.launch("flag_unjoined", len(flags), *arguments, grain=FLAG_GRAIN)
        return flags


_SLICES = 64  # each takes a few passes over the vertices
_CORE_SAMPLE = 1 << 12
_OUTSIDE = 255


def joined_levels(engine: Engine, forest: Edges, vertices: int, large: float) -> tuple[Array, Array, Array | None]:
    """Return the level of each vertex, the limit of each level, and the tree of each vertex."""
    xp, order = engine.xp, sort_order(engine, forest.key)
    bounds = sorted({len(order) * number // _SLICES for number in range(_SLICES + 1)})
    core, tree, outside = _cores(engine, forest, order, vertices, large)
    level, limit = xp.full(vertices, _OUTSIDE, np.uint8), xp.zeros(256, np.uint64)
    parent = xp.arange(vertices, dtype=np.uint32)
    for number, (begin, end) in enumerate(pairwise(bounds), 1):
        _unite(engine, forest, order[begin:end], parent)
        level[(parent == parent[core]) & (level == _OUTSIDE)] = number
        limit[number] = forest.key[order[end - 1 : end]].astype(np.uint64)[0]
    if outside is not None:
        level[outside] = _OUTSIDE
    return level, limit, tree


def _cores(
    engine: Engine, forest: Edges, order: Array, vertices: int, large: float
) -> tuple[Array, Array | None, Array | None]:
    """Return the core of each vertex's tree; and the trees, or flags of the vertices outside the largest tree."""
    xp, half = engine.xp, len(order) // 2
    parent = xp.arange(vertices, dtype=np.uint32)
    _unite(engine, forest, order[:half], parent)
    step = max(1, vertices // _CORE_SAMPLE)
    middle = parent[::step].copy()
    _unite(engine, forest, order[half:], parent)
    sample = parent[::step]
    largest, members = _most_frequent(engine, sample)
    core = parent.copy()
    core[parent == np.uint32(largest)] = _most_frequent(engine, middle[sample == np.uint32(largest)])[0]
    if members < large * len(sample):
        return core, parent, None
    return core, None, parent != np.uint32(largest)


def _most_frequent(engine: Engine, sample: Array) -> tuple[int, int]:
    """Return the most frequent entry, and the number of its occurrences."""
    entries, counts = engine.xp.unique(sample, return_counts=True)
    place = counts.argmax()
    return int(entries[place]), int(counts[place])


def _unite(engine: Engine, forest: Edges, positions: Array, parent: Array) -> None:
    """Unite the ends of some edges; every vertex points at its root again."""
    engine.launch("unite", len(positions), forest.source, forest.target, positions, parent)
    flatten(engine, parent)
