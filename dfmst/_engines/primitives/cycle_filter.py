"""A filter of the new rows of a stream that may enter the forest of the earlier rows.

By the cycle property, no later forest contains a row that is heavier than the forest's path between its ends. An upper
bound of the heaviest edge of the path is the later of the two edges by which the ends joined their tree, when the
forest was linked in ascending order (:mod:`dfmst._engines.primitives.kruskal_tree`). One byte a vertex is the rank of
that edge, rounded up to one of 254 levels, so that a row needs two reads from a table in the cache. If no tree has
nearly all vertices, two more reads compare the trees of the ends. On a random graph, the filter drops nearly every row
that cannot enter.

References
----------
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import FLAG_GRAIN, flag_words
from dfmst._engines.primitives.kruskal_tree import (
    KruskalTree,
    RankedForest,
    build_kruskal_tree,
    largest_tree,
    rank_forest,
)
from dfmst._engines.primitives.sort import sort_order

_LEVELS = 254  # of a byte; 0 is for self-loops, 255 for vertices outside the largest tree
_LARGE = 0.95  # share of the vertices in one tree above which rows of other trees pass
_SAMPLE = 1 << 16
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
        root, ranks = largest_tree(engine, trees.top, _SAMPLE)
        sample = trees.top[:: max(1, len(trees.top) // _SAMPLE)]
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
