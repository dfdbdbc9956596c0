"""Rounds of Borůvka's algorithm on all pairs of points: every component takes its lightest edge out.

The same steps run on the host and on a GPU.

Most of these edges lead to one of a few nearest neighbors. If all of these are in the point's own component, the tree
is searched for the nearest point of another one; nodes whose points all have one label are skipped.

References
----------
March, Ram, Gray: Fast Euclidean minimum spanning tree: algorithm, analysis, and applications. KDD 2010.
Prokopenko, Sao, Lebrun-Grandié: A single-tree algorithm to compute the Euclidean minimum spanning tree on GPUs. ICPP
2022.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst._trees.points.tree import (
    GRAIN,
    PLANE,
    SURE,
    PointTree,
    Space,
    build_tree,
    distances,
    nearest_points,
    node_labels,
    sure_neighbors,
)

_NOWHERE = np.iinfo(np.uint32).max
_NONE = np.iinfo(np.uint64).max
HALF = np.uint64(32)
_INFINITE = int(np.array(np.inf).view(np.uint64))
_PIECE = 1 << 16  # entries of temporary columns


def halves(pairs: Array) -> tuple[Array, Array]:
    """Return the upper and the lower halves of words, ``int64``."""
    return (pairs >> HALF).view(np.int64), (pairs & np.uint64(_NOWHERE)).view(np.int64)


def pieces(length: int) -> Iterator[slice]:
    """Yield spans of entries whose temporary columns stay in the cache, and need no new memory."""
    for begin in range(0, length, _PIECE):
        yield slice(begin, begin + _PIECE)


def first_in_runs(xp: Any, ordered: Array) -> Array:
    """Flag the entries that differ from the one before."""
    first: Array = xp.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return first


class _Ways(NamedTuple):
    """The lightest edges out of every point and block, as ``point_rounds.cuh`` describes them, in its order."""

    other: Array
    weight: Array
    sure: Array
    reach: Array
    apart: Array
    spent: Array
    lightest: Array


class Rounds:
    """Rounds of Borůvka's algorithm on points of which no two are equal.

    With `counts`, ``hub`` has for each point the smallest number that an edge of its core's weight leads to, or its
    own number.
    """

    def __init__(
        self, engine: Engine, points: Array, counts: Array | None, wanted: int, min_samples: int, space: Space
    ) -> None:
        self.engine, length, xp = engine, points.shape[1], engine.xp
        self.tree = self._build(points, space)
        self.neighbor, reach = self._nearest(min(max(wanted, min_samples), length - 1), bool(min_samples))
        self.next = xp.zeros(length, np.uint8)
        self.label = xp.arange(length, dtype=np.uint32)
        self.place = xp.empty(length, np.uint32)
        self.place[self.tree.order] = self.label
        self.near_core = self._cores(counts, min_samples) if min_samples else None
        self.hub = np.arange(0 if counts is None else length)
        # The depth of nodes that have about as many points as a thread takes at a time: on a GPU a leaf.
        self.level = max(0, (length // GRAIN).bit_length() - 1) if engine.on_host else self.tree.depth
        blocks, lightest = 1 << self.level, xp.full(length, _INFINITE, np.uint64)
        other, sure = xp.full(length, _NOWHERE, np.uint32), xp.zeros(length, np.uint8)
        apart, spent = xp.full(blocks, -1.0), xp.zeros(blocks, np.uint8)
        self.ways = _Ways(other, xp.zeros(length), sure, reach, apart, spent, lightest)

    def _build(self, points: Array, space: Space) -> PointTree:
        return build_tree(self.engine, points, space)

    def _nearest(self, wanted: int, complete: bool) -> tuple[Array, Array]:
        """Nearest points of every point by position, and a distance that no other point is nearer than.

        Unless a `complete` list is asked for, it may have another length, and end early.
        """
        if not complete and self.engine.on_host and self.tree.axes <= PLANE and wanted <= SURE:
            return sure_neighbors(self.engine, self.tree)
        return nearest_points(self.engine, self.tree, wanted)

    def _cores(self, counts: Array | None, min_samples: int) -> Array:
        """Distance of each position's `min_samples`-th nearest neighbor, equal points counted one by one."""
        tree, xp = self.tree, self.engine.xp
        positions: Array = xp.arange(tree.length)
        if not self.neighbor.shape[1]:
            return xp.zeros(tree.length)  # type: ignore[no-any-return]
        if counts is None:
            return self._apart(positions, self.neighbor[:, min_samples - 1])
        count = counts[tree.order]
        within = np.cumsum(count[self.neighbor], axis=1) + (count - 1)[:, None] >= min_samples
        core = self._apart(positions, self.neighbor[positions, within.argmax(axis=1)])
        return np.where(count > min_samples, 0.0, core)

    def _apart(self, one: Array, other: Array) -> Array:
        """Distances of pairs of positions."""
        ends = one.astype(np.int64), other.astype(np.int64)
        return distances(self.engine, self.tree.points, *ends, self.tree.space)

    def core(self) -> Array | None:
        """Return the weight below which each point has no edge, ``float64``; ``None``: 0 for all."""
        return None if self.near_core is None else self.near_core[self.place]

    def run(self, label: Array | None = None) -> Array:
        """Return the pairs, the smaller number in the upper half of a word; ``uint64``."""
        if label is not None:
            self._begin_with(label)
        xp, length = self.engine.xp, self.tree.length
        components, pairs = xp.flatnonzero(self.label == xp.arange(length, dtype=np.uint32)), [xp.zeros(0, np.uint64)]
        chosen = xp.full(length, _NONE, np.uint64)
        while len(components) > 1:
            self._choose(chosen)
            if len(self.hub) and len(pairs) == 1:
                self._note_hubs()
            found = xp.sort(chosen[components])  # two components may have chosen the same pair, and one none
            pairs.append(found[first_in_runs(xp, found) & (found != _NONE)])
            for piece in pieces(len(pairs[-1])) if self.engine.on_host else (slice(None),):
                source, target = (self.place[end] for end in halves(pairs[-1][piece]))
                self.engine.launch("unite", len(source), source, target, None, self.label)
            flatten(self.engine, self.label)
            components = components[self.label[components] == components]
            chosen[components], self.ways.lightest[components] = _NONE, _INFINITE
        return xp.concatenate(pairs)  # type: ignore[no-any-return]

    def _begin_with(self, label: Array) -> None:
        """Join the points of each label; a label is one of its points."""
        ends = self.place, self.place[label]
        self.engine.launch("unite", len(label), *ends, None, self.label)
        flatten(self.engine, self.label)

    def _choose(self, chosen: Array) -> None:
        """Fill in the pair of every component's lightest edge out."""
        tree, label, ways, blocks = self.tree, self.label, self.ways, 1 << self.level
        whole = node_labels(self.engine, tree, label)
        state = *tree, label, whole, self.near_core, *ways
        near = self.neighbor.reshape(-1), self.neighbor.shape[1], self.next
        self.engine.launch("known_ways", blocks, *state, *near, self.level, grain=1)
        self.engine.launch("gaps_around", blocks, *tree, label, whole, ways.lightest, self.level, ways.apart, grain=8)
        turn = self.engine.xp.argsort(ways.apart)  # after a light edge, later blocks of its component need no search
        self.engine.launch("find_ways", blocks, *state, self.level, turn, grain=1)
        columns = label, tree.order, ways.other, ways.weight, ways.lightest, chosen
        self.engine.launch("first_ways", tree.length, *columns)

    def _note_hubs(self) -> None:
        """After the first round, in which every point found its lightest edge."""
        order, ways = self.tree.order, self.ways
        core = 0.0 if self.near_core is None else self.near_core
        at = np.flatnonzero(ways.weight == core)
        np.minimum.at(self.hub, order[at], order[ways.other[at]])
