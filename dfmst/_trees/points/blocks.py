"""Nearest points in many dimensions: products of matrices estimate distances, and candidates are measured exactly.

An estimate |y|^2 - 2 x.y of all points y around a block of points x is one product. Its rounding errors are bounded, so
that the points within the bound of the smallest estimates include the nearest ones. ``float32`` is tried first.

References
----------
Higham: Accuracy and stability of numerical algorithms, section 3.5. SIAM 2002: errors of matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._trees.points.rounds import Rounds
from dfmst._trees.points.tree import PointTree, Space, distances

_BLOCK = 1 << 23  # estimates at a time
_PLENTY = 16  # candidates a wanted point, above which float64 takes less time
_NOWHERE = np.iinfo(np.uint32).max


class _Estimates:
    """Estimates of squared distances in one precision, in units of a power of two."""

    def __init__(self, points: Array, dtype: type) -> None:
        axes, length = points.shape
        self.right = np.empty((axes + 1, length), dtype)
        middle = points.mean(axis=1, keepdims=True)
        largest = max(float(np.abs(axis - center).max()) for axis, center in zip(points, middle, strict=True))
        self.scale = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))
        square = np.zeros(length)
        for axis, center, row in zip(points, middle, self.right, strict=False):
            shifted = (axis - center) * self.scale
            square += shifted * shifted
            row[:] = shifted
        self.right[axes] = square
        self.square = square
        norm = np.sqrt(square)
        self.margin = 1.1 * (axes + 16) * float(np.finfo(dtype).eps) * (norm + norm.max()) ** 2

    def of(self, rows: Array) -> Array:
        """Return squared distances of all points from these points, less the square of each point's own length."""
        left = np.ones((len(rows), len(self.right)), self.right.dtype)
        np.multiply(self.right[:-1, rows].T, -2, out=left[:, :-1])
        estimate: Array = left @ self.right
        return estimate

    def above(self, least: Array, rows: Array) -> Array:
        """Return limits that the estimates of no nearer points exceed; shape ``(rows, 1)``."""
        limit = (least + 2 * self.margin[rows]).astype(self.right.dtype)
        above: Array = np.nextafter(limit, limit.dtype.type(np.inf))[:, None]
        return above


class _Search:
    """Candidates among all points, in the lowest precision that leaves few of them."""

    def __init__(self, engine: Engine, points: Array) -> None:
        self.engine, self.points = engine, points
        self.step = max(1, _BLOCK // points.shape[1])
        self.estimates = _Estimates(points, np.float32)

    def blocks(self, rows: Array) -> Iterator[Array]:
        """Yield the rows in blocks."""
        for begin in range(0, len(rows), self.step):
            yield rows[begin : begin + self.step]

    def refine(self, candidates: int, wanted: int) -> bool:
        """Whether to estimate once more, as there were too many candidates."""
        if candidates <= _PLENTY * wanted or self.estimates.right.dtype == np.float64:
            return False
        self.estimates = _Estimates(self.points, np.float64)
        return True

    def nearest(self, rows: Array, wanted: int) -> tuple[Array, Array]:
        """Return the nearest points of these points, nearest first, and their distances; shape ``(rows, wanted)``."""
        estimate = self.estimates.of(rows)
        estimate[np.arange(len(rows)), rows] = np.inf
        limit = np.partition(estimate, wanted - 1, axis=1)[:, wanted - 1]
        at, other = np.nonzero(estimate <= self.estimates.above(limit, rows))
        if self.refine(len(at), len(rows) * wanted):
            return self.nearest(rows, wanted)
        distance = distances(self.engine, self.points, rows[at], other)
        order = np.lexsort((other, distance, at))
        first = np.searchsorted(at, np.arange(len(rows)))  # `at` ascends, before and after
        kept = order[first[:, None] + np.arange(wanted)]
        return other[kept], distance[kept]

    def lightest_out(self, rows: Array, label: Array, core: Array | None) -> tuple[Array, Array]:
        """Return the other end and the weight of the lightest edge from each of these points to another label."""
        estimate = self.estimates.of(rows)
        estimate[label[rows][:, None] == label] = np.inf
        if core is not None:
            floor = ((core * self.estimates.scale) ** 2).astype(estimate.dtype)
            estimate += self.estimates.square[rows][:, None].astype(estimate.dtype)
            np.maximum(estimate, np.maximum(floor[rows][:, None], floor), out=estimate, where=estimate < np.inf)
        at, other = np.nonzero(estimate <= self.estimates.above(estimate.min(axis=1), rows))
        if self.refine(len(at), len(rows) * (1 if core is None else 8)):
            return self.lightest_out(rows, label, core)
        weight = distances(self.engine, self.points, rows[at], other)
        if core is not None:
            np.maximum(weight, np.maximum(core[rows[at]], core[other]), out=weight)
        order = np.lexsort((other, weight, at))
        kept = order[np.searchsorted(at, np.arange(len(rows)))]
        return other[kept], weight[kept]


def nearest_by_blocks(engine: Engine, points: Array, wanted: int, search: _Search | None = None) -> tuple[Array, Array]:
    """Find the nearest points of every point, and the distance of the last one."""
    search = search or _Search(engine, points)
    length = points.shape[1]
    neighbor, reach = np.empty((length, wanted), np.uint32), np.zeros(length)
    if wanted:
        for rows in search.blocks(np.arange(length)):
            neighbor[rows], distance = search.nearest(rows, wanted)
            reach[rows] = distance[:, -1]
    if wanted == length - 1:
        reach.fill(np.inf)
    return neighbor, reach


class BlockRounds(Rounds):
    """Rounds whose searches are products of matrices. The positions of points are their numbers."""

    def _build(self, points: Array, space: Space) -> PointTree:
        axes, length = points.shape
        none, order = np.zeros(0), np.arange(length, dtype=np.uint32)
        self.search = _Search(self.engine, points)
        return PointTree(points.reshape(-1), order, length, axes, 0, none, none, none, *space)

    def _nearest(self, wanted: int, complete: bool) -> tuple[Array, Array]:
        return nearest_by_blocks(self.engine, self.tree.points, wanted, self.search)

    def _choose(self, chosen: Array) -> None:
        """Fill in the pair of every component's lightest edge out, except for the largest component's."""
        self._know_ways()
        label, ways = self.label, self.ways
        count = np.bincount(label)
        largest = count.argmax() if count.max() > 1 else -1  # in the first round all points find their lightest edge
        bound = ways.lightest.view(np.float64)
        open_ = (ways.sure != 1) & (ways.reach <= bound[label]) & (label != largest)
        if self.near_core is not None:
            open_ &= self.near_core <= bound[label]
        for rows in self.search.blocks(np.flatnonzero(open_)):
            other, weight = self.search.lightest_out(rows, label, self.near_core)
            ways.other[rows], ways.weight[rows], ways.sure[rows] = other, weight, 1
            np.minimum.at(bound, label[rows], weight)
        at = np.flatnonzero((ways.other != _NOWHERE) & (ways.weight == bound[label]) & (label != largest))
        ends = at.astype(np.uint64), ways.other[at].astype(np.uint64)
        np.minimum.at(chosen, label[at], np.minimum(*ends) << np.uint64(32) | np.maximum(*ends))

    def _know_ways(self) -> None:
        """Find the ways out among the nearest points, as kernel ``known_ways`` does."""
        label, ways = self.label, self.ways
        known = ways.other != _NOWHERE
        known[known] = label[ways.other[known]] != label[known]
        rows = np.flatnonzero(~known)
        spent = rows[ways.sure[rows] == 1]
        ways.reach[spent] = np.maximum(ways.reach[spent], ways.weight[spent])
        near = self.neighbor[rows]
        weight = np.where(label[near] != label[rows][:, None], self._near_weights(rows, near), np.inf)
        order = np.lexsort((near, weight), axis=1)[:, :1] if near.size else np.zeros((len(rows), 0), np.int64)
        ways.other[rows], ways.weight[rows], ways.sure[rows] = _NOWHERE, np.inf, 0
        if order.size:
            least = np.take_along_axis(weight, order, 1)[:, 0]
            found = rows[least < np.inf]
            ways.other[found] = np.take_along_axis(near, order, 1)[:, 0][least < np.inf]
            ways.weight[found] = least[least < np.inf]
            sure = ways.weight[found] < ways.reach[found] if self.near_core is not None else np.ones(len(found), bool)
            ways.sure[found] = sure
        some = np.flatnonzero(ways.other != _NOWHERE)
        np.minimum.at(ways.lightest.view(np.float64), label[some], ways.weight[some])

    def _near_weights(self, rows: Array, near: Array) -> Array:
        """Weights of the edges to the nearest points."""
        one = np.repeat(rows, near.shape[1])
        weight = self._apart(one, near.reshape(-1))
        if self.near_core is not None:
            np.maximum(weight, np.maximum(self.near_core[one], self.near_core[near.reshape(-1)]), out=weight)
        return weight.reshape(near.shape)
