"""The spanning tree of all pairs of points, by Borůvka's algorithm: every component takes its lightest way out.

Most ways out lead to one of a few nearest neighbours. Where all of these are in the point's own component, the nearest
point of another one is looked for in the tree, past every node whose points all have one label.

References
----------
March, Ram, Gray: Fast Euclidean minimum spanning tree: algorithm, analysis, and applications. KDD 2010.
Prokopenko, Sao, Lebrun-Grandié: A single-tree algorithm to compute the Euclidean minimum spanning tree on GPUs. ICPP
2022.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._engines import Engine
from dfmst._points.tree import GRAIN, build_tree, nearest_points, node_labels
from dfmst._primitives.contract import flatten
from dfmst.typing import Array

__all__ = ["distances", "halves", "spanning_pairs"]

_NOWHERE = np.iinfo(np.uint32).max
_NONE = np.iinfo(np.uint64).max
_HALF = np.uint64(32)
_INFINITE = np.array(np.inf).view(np.uint64)


def spanning_pairs(engine: Engine, points: Array, wanted: int, core_k: int = 0) -> tuple[Array, Array, Array]:
    """Find the minimum spanning tree of points; of equal weights the smaller pair of numbers comes first.

    Parameters
    ----------
    points
        ``float64``, shape ``(axes, length)``.
    wanted
        How many nearest neighbours of every point to look at first; the tree does not depend on it.
    core_k
        Where it is not 0, weights are mutual reachability: the largest of the distance and of both ends' distances to
        their `core_k`-th nearest neighbour. Fewer than there are points.

    Returns
    -------
    source, target
        Numbers of points, the smaller one in `source`; ``int64``, in ascending order.
    weight
        ``float64``.
    """
    length = points.shape[1]
    if length < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    first = _first_of_equals(points)
    repeats = first < np.arange(length)
    double, kept = np.flatnonzero(repeats), np.flatnonzero(~repeats)
    alone = not len(double)
    rounds = _Rounds(engine, points if alone else points[:, kept], np.bincount(first)[kept], wanted, core_k)
    ends = halves(rounds.run())
    if not alone:
        hub = kept[rounds.hub[np.searchsorted(kept, first[double])]]
        ends = np.concatenate([kept[ends], np.stack([hub, double])], axis=1)
    words = ends.astype(np.uint64)
    source, target = halves(np.sort(np.minimum(*words) << _HALF | np.maximum(*words)))
    weight = distances(points, source, target)
    if core_k:
        core = rounds.core[np.searchsorted(kept, first)]
        weight = np.maximum(weight, np.maximum(core[source], core[target]))
    return source, target, weight


def halves(pairs: Array) -> Array:
    """The upper and the lower halves of words, ``int64``, shape ``(2, pairs)``."""
    return np.stack([pairs >> _HALF, pairs & np.uint64(_NOWHERE)]).astype(np.int64)


def distances(points: Array, source: Array, target: Array) -> Array:
    """Distances of pairs of points, ``float64``: the same floats as the kernels'."""
    total = np.zeros(len(source))
    for coordinate in points:
        difference = coordinate[source] - coordinate[target]
        total += difference * difference
    root: Array = np.sqrt(total)
    return root


def _first_of_equals(points: Array) -> Array:
    """Point -> the first point with the same coordinates, ``int64``."""
    first = np.arange(points.shape[1])
    word = np.zeros(points.shape[1], np.uint64)
    for coordinate in points:
        word = (word ^ (coordinate + 0.0).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)  # -0.0 becomes 0.0
        word ^= word >> np.uint64(32)
    ordered = np.sort(word)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return first
    some = np.flatnonzero(np.isin(word, repeated))
    some = some[np.lexsort(points[:, some])]
    begins = np.append(True, (points[:, some[1:]] != points[:, some[:-1]]).any(axis=0))
    first[some] = some[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    return first


class _Ways(NamedTuple):
    """Every point's way out; what kernels receive, in their order (see ``points.cuh``)."""

    other: Array
    weight: Array
    sure: Array
    reach: Array
    lightest: Array


class _Rounds:
    """Rounds of Borůvka's algorithm on points of which no two are equal.

    Parameters
    ----------
    points
        ``float64``, shape ``(axes, length)``.
    counts
        How many equal points each one stands for, ``int64``.
    wanted, core_k
        As for :func:`spanning_pairs`.

    Attributes
    ----------
    core
        Point -> weight below which it has no edge, ``float64``.
    hub
        Point -> the smallest number that an edge of its core's weight leads to, its own included; ``int64``.
    """

    def __init__(self, engine: Engine, points: Array, counts: Array, wanted: int, core_k: int) -> None:
        self.engine, length = engine, points.shape[1]
        self.tree = build_tree(engine, points)
        wanted = min(max(wanted, core_k), length - 1)
        self.neighbour, self.distance = nearest_points(engine, self.tree, wanted)
        self.label = np.arange(length, dtype=np.uint32)
        self.place = np.empty(length, np.int64)
        self.place[self.tree.order] = np.arange(length)
        self.near_core = self._cores(counts[self.tree.order], core_k) if core_k else None
        core = np.zeros(length) if self.near_core is None else self.near_core
        self.core = core[self.place]
        self.hub = np.arange(length)
        reach = np.full(length, np.inf) if wanted == length - 1 else self.distance[:, -1].copy()
        sure, lightest = np.zeros(length, np.uint8), np.full(length, _INFINITE)
        self.ways = _Ways(np.full(length, _NOWHERE, np.uint32), np.zeros(length), sure, reach, lightest)

    def _cores(self, counts: Array, core_k: int) -> Array:
        """Distance of each position's `core_k`-th nearest neighbour, equal points counted one by one."""
        if not self.neighbour.size:
            return np.zeros(len(counts))
        within = np.cumsum(counts[self.neighbour], axis=1) + (counts - 1)[:, None] >= core_k
        core = np.take_along_axis(self.distance, within.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(counts > core_k, 0.0, core)

    def run(self) -> Array:
        """Return the pairs, the smaller number in the upper half of a word; ``uint64``."""
        components, pairs = np.arange(self.tree.length), [np.zeros(0, np.uint64)]
        chosen = np.full(self.tree.length, _NONE)
        while len(components) > 1:
            self._choose(chosen)
            if len(pairs) == 1:
                self._note_hubs()
            found = np.sort(chosen[components])  # two components may have chosen the same pair
            pairs.append(found[np.append(True, found[1:] != found[:-1])])
            source, target = self.place[halves(pairs[-1])].astype(np.uint32)
            self.engine.launch("unite", len(source), source, target, None, self.label)
            flatten(self.engine, self.label)
            components = components[self.label[components] == components]
            chosen[components], self.ways.lightest[components] = _NONE, _INFINITE
        return np.concatenate(pairs)

    def _choose(self, chosen: Array) -> None:
        """Fill in the pair of every component's lightest way out."""
        tree, label, core, ways = self.tree, self.label, self.near_core, self.ways
        length, near = tree.length, (self.neighbour, self.distance, self.neighbour.shape[1])
        self.engine.launch("known_ways", length, label, tree.order, *near, core, *ways)
        whole = node_labels(self.engine, tree, label)
        self.engine.launch("find_ways", length, *tree, label, whole, core, *ways, grain=GRAIN)
        self.engine.launch("first_ways", length, label, tree.order, ways.other, ways.weight, ways.lightest, chosen)

    def _note_hubs(self) -> None:
        """After the first round, in which every point found its lightest edge."""
        order, ways = self.tree.order, self.ways
        core = 0.0 if self.near_core is None else self.near_core
        at = np.flatnonzero(ways.weight == core)
        np.minimum.at(self.hub, order[at], order[ways.other[at]])
