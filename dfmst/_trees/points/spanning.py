"""The spanning tree of all pairs of points, by Borůvka's algorithm: every component takes its lightest edge out.

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
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten

_NOWHERE = np.iinfo(np.uint32).max
_NONE = np.iinfo(np.uint64).max
_HALF = np.uint64(32)
_PIECE = 1 << 16  # entries of temporary columns
_INFINITE = np.array(np.inf).view(np.uint64)


def spanning_pairs(engine: Engine, points: Array, wanted: int, min_samples: int = 0) -> tuple[Array, Array, Array]:
    """Find the minimum spanning tree of points; of equal weights the smaller pair of numbers comes first."""
    if points.shape[1] < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    first = _first_of_equals(points)
    if first is None:
        rounds = _Rounds(engine, points, None, wanted, min_samples)
        words, core = rounds.run(), rounds.core()
    else:
        words, core = _span_with_equals(engine, points, first, wanted, min_samples)
    words.sort()
    source, target = halves(words)
    weight = distances(points, source, target)
    if core is not None:
        np.maximum(weight, np.maximum(core[source], core[target]), out=weight)
    return source, target, weight


def halves(pairs: Array) -> Array:
    """Return the upper and the lower halves of words, ``int64``, shape ``(2, pairs)``."""
    ends = np.empty((2, len(pairs)), np.uint64)
    np.right_shift(pairs, _HALF, out=ends[0])
    np.bitwise_and(pairs, np.uint64(_NOWHERE), out=ends[1])
    return ends.view(np.int64)


def distances(points: Array, source: Array, target: Array) -> Array:
    """Return the distances of pairs of points, ``float64``: the same floats as the kernels'."""
    total = np.zeros(len(source))
    for piece in _pieces(len(source)):
        for coordinate in points:
            difference = coordinate[source[piece]] - coordinate[target[piece]]
            total[piece] += difference * difference
    root: Array = np.sqrt(total, out=total)
    return root


def _pieces(length: int) -> Iterator[slice]:
    """Yield spans of entries whose temporary columns stay in the cache, and need no new memory."""
    for begin in range(0, length, _PIECE):
        yield slice(begin, begin + _PIECE)


def _span_with_equals(
    engine: Engine, points: Array, first: Array, wanted: int, min_samples: int
) -> tuple[Array, Array | None]:
    """Pairs of the tree as words, and core distances: one point stands for its equals, which then join a hub."""
    repeats = first < np.arange(len(first))
    double, kept = np.flatnonzero(repeats), np.flatnonzero(~repeats)
    rounds = _Rounds(engine, points[:, kept], np.bincount(first)[kept], wanted, min_samples)
    ends = kept[halves(rounds.run())]
    hub = kept[rounds.hub[np.searchsorted(kept, first[double])]]
    ends = np.concatenate([ends, np.stack([hub, double])], axis=1).astype(np.uint64)
    core = rounds.core()
    return (
        np.minimum(*ends) << _HALF | np.maximum(*ends),
        core if core is None else core[np.searchsorted(kept, first)],
    )


def _first_of_equals(points: Array) -> Array | None:
    """Return the first point with the same coordinates as each, ``int64``; ``None`` if no two points are equal."""
    word = np.empty(points.shape[1], np.uint32)
    for piece in _pieces(len(word)):
        hashed = np.zeros(len(word[piece]), np.uint64)
        for coordinate in points[:, piece]:
            hashed ^= (coordinate + 0.0).view(np.uint64)  # -0.0 becomes 0.0
            hashed *= np.uint64(0x9E3779B97F4A7C15)
            hashed ^= hashed >> _HALF
        word[piece] = hashed
    ordered = np.sort(word)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    alike = [np.zeros(0, np.int64)]
    for piece in _pieces(len(word)) if len(repeated) else ():
        at = np.minimum(np.searchsorted(repeated, word[piece]), len(repeated) - 1)
        alike.append(np.flatnonzero(repeated[at] == word[piece]) + piece.start)
    some = np.concatenate(alike)
    some = some[np.lexsort(points[:, some])]
    begins = np.append(True, (points[:, some[1:]] != points[:, some[:-1]]).any(axis=0))
    if begins.all():
        return None
    first = np.arange(len(word))
    first[some] = some[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
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


class _Rounds:
    """Rounds of Borůvka's algorithm on points of which no two are equal.

    With `counts`, ``hub`` has for each point the smallest number that an edge of its core's weight leads to, or its
    own number.
    """

    def __init__(self, engine: Engine, points: Array, counts: Array | None, wanted: int, min_samples: int) -> None:
        self.engine, length = engine, points.shape[1]
        self.tree = build_tree(engine, points)
        self.neighbor, reach = nearest_points(engine, self.tree, min(max(wanted, min_samples), length - 1))
        self.label = np.arange(length, dtype=np.uint32)
        self.place = np.empty(length, np.uint32)
        self.place[self.tree.order] = self.label
        self.near_core = self._cores(counts, min_samples) if min_samples else None
        self.hub = np.arange(0 if counts is None else length)
        # The depth of nodes that have about as many points as a thread takes at a time.
        self.level = max(0, (length // _GRAIN).bit_length() - 1)
        blocks, lightest = 1 << self.level, np.full(length, _INFINITE)
        other, sure = np.full(length, _NOWHERE, np.uint32), np.zeros(length, np.uint8)
        apart, spent = np.full(blocks, -1.0), np.zeros(blocks, np.uint8)
        self.ways = _Ways(other, np.zeros(length), sure, reach, apart, spent, lightest)

    def _cores(self, counts: Array | None, min_samples: int) -> Array:
        """Distance of each position's `min_samples`-th nearest neighbor, equal points counted one by one."""
        tree, positions = self.tree, np.arange(self.tree.length)
        if not self.neighbor.size:
            return np.zeros(tree.length)
        if counts is None:
            return distances(tree.points, positions, self.neighbor[:, min_samples - 1])
        count = counts[tree.order]
        within = np.cumsum(count[self.neighbor], axis=1) + (count - 1)[:, None] >= min_samples
        core = distances(tree.points, positions, self.neighbor[positions, within.argmax(axis=1)])
        return np.where(count > min_samples, 0.0, core)

    def core(self) -> Array | None:
        """Return the weight below which each point has no edge, ``float64``; ``None``: 0 for all."""
        return None if self.near_core is None else self.near_core[self.place]

    def run(self) -> Array:
        """Return the pairs, the smaller number in the upper half of a word; ``uint64``."""
        components, pairs = np.arange(self.tree.length, dtype=np.uint32), [np.zeros(0, np.uint64)]
        chosen = np.full(self.tree.length, _NONE)
        while len(components) > 1:
            self._choose(chosen)
            if len(self.hub) and len(pairs) == 1:
                self._note_hubs()
            found = chosen[components]
            found.sort()  # two components may have chosen the same pair
            pairs.append(found[np.append(True, found[1:] != found[:-1])])
            for piece in _pieces(len(pairs[-1])):
                source, target = self.place[halves(pairs[-1][piece])]
                self.engine.launch("unite", len(source), source, target, None, self.label)
            flatten(self.engine, self.label)
            components = components[self.label[components] == components]
            chosen[components], self.ways.lightest[components] = _NONE, _INFINITE
        return np.concatenate(pairs)

    def _choose(self, chosen: Array) -> None:
        """Fill in the pair of every component's lightest edge out."""
        tree, label, ways, blocks = self.tree, self.label, self.ways, 1 << self.level
        whole = node_labels(self.engine, tree, label)
        state = *tree, label, whole, self.near_core, *ways
        near = self.neighbor, self.neighbor.shape[1]
        self.engine.launch("known_ways", blocks, *state, *near, self.level, grain=1)
        self.engine.launch("gaps_around", blocks, *tree, label, whole, ways.lightest, self.level, ways.apart, grain=8)
        turn = np.argsort(ways.apart, kind="stable")  # after a light edge, later blocks of its component need no search
        self.engine.launch("find_ways", blocks, *state, self.level, turn, grain=1)
        columns = label, tree.order, ways.other, ways.weight, ways.lightest, chosen
        self.engine.launch("first_ways", tree.length, *columns)

    def _note_hubs(self) -> None:
        """After the first round, in which every point found its lightest edge."""
        order, ways = self.tree.order, self.ways
        core = 0.0 if self.near_core is None else self.near_core
        at = np.flatnonzero(ways.weight == core)
        np.minimum.at(self.hub, order[at], order[ways.other[at]])


_LANES = 8  # entries that the kernels read behind the last point
_PLANE = 3  # axes up to which a box is small compared with its distance from most points
_FEW, _MANY = 4, 32  # points of a leaf, or up to twice as many: up to _PLANE axes, and above
_SCRATCH = 1 << 18  # distances of neighbors at a time
_GRAIN = 128  # positions that one thread takes at a time: points that follow each other look into the same leaves


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
    neighbor = np.empty((tree.length, wanted), np.uint32)
    reach = np.full(tree.length, np.inf)
    if wanted:
        step = max(_GRAIN, _SCRATCH // wanted)
        distance = np.empty((min(step, tree.length), wanted))
        for begin in range(0, tree.length, step):
            here = neighbor[begin : begin + step], distance, reach[begin : begin + step]
            engine.launch("nearest_points", len(here[0]), *tree, wanted, begin, *here, grain=_GRAIN)
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
