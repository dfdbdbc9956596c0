"""Rounds of Borůvka's algorithm on all pairs of points: every component takes its lightest edge out.

The same steps run on the host and on a GPU.

Most of these edges lead to one of a few nearest neighbors. If all of these are in the point's own component, the tree
is searched for the nearest point of another one; nodes whose points all have one label are skipped.

In many dimensions products of matrices find them in less time. An estimate |y|^2 - 2 x.y of all points y around a block
of points x is one product. Its rounding errors are bounded, so that the points within the bound of the smallest
estimates include the nearest ones, and are measured exactly. ``float32`` is tried first.

References
----------
Higham: Accuracy and stability of numerical algorithms, section 3.5. SIAM 2002: errors of matrix products.
March, Ram, Gray: Fast Euclidean minimum spanning tree: algorithm, analysis, and applications. KDD 2010.
Prokopenko, Sao, Lebrun-Grandié: A single-tree algorithm to compute the Euclidean minimum spanning tree on GPUs. ICPP
2022.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import refuse_sparse
from dfmst._common.deferred import pc
from dfmst._common.types import Array, Frame
from dfmst._edges.arrow_values import arrow_column
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.frames import open_host_frame
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels, flatten
from dfmst._engines.primitives.sort import different_values
from dfmst._trees.points.read import Points, is_array
from dfmst._trees.points.search import (
    EUCLID,
    GRAIN,
    PLANE,
    SURE,
    Measured,
    PointTree,
    Space,
    build_tree,
    distances,
    nearest_points,
    sure_neighbors,
)
from dfmst.algorithms.solve import solve_table
from dfmst.errors import InvalidEdgesError

_NOWHERE = np.uint32(np.iinfo(np.uint32).max)
_NONE = np.iinfo(np.uint64).max
_ALL = np.iinfo(np.uint32).max  # rounds in one launch
HALF = np.uint64(32)


def halves(pairs: Array) -> tuple[Array, Array]:
    """Return the upper and the lower halves of words, ``int64``."""
    return (pairs >> HALF).view(np.int64), (pairs & np.uint64(_NOWHERE)).view(np.int64)


class Rounds:
    """Rounds of Borůvka's algorithm on points of which no two are equal.

    With `counts`, ``hub`` has for each point the smallest number that an edge of its core's weight leads to, or its
    own number.
    """

    def __init__(
        self, engine: Engine, points: Array, counts: Array | None, wanted: int, min_samples: int, space: Space
    ) -> None:
        self.engine, length = engine, points.shape[1]
        self.tree = self._build(points, space)
        self.neighbor, self.reach = self._nearest(min(max(wanted, min_samples), length - 1), bool(min_samples))
        self.near_core = self._cores(counts, min_samples) if min_samples else None
        self.hub = np.arange(0 if counts is None else length, dtype=np.uint32)
        self.place: Array = engine.xp.empty(length, np.uint32)

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
        """Return the weight below which each point has no edge, ``float64``, after `run`; ``None``: 0 for all."""
        return None if self.near_core is None else self.near_core[self.place]

    def run(self, label: Array | None = None) -> Array:
        """Return the pairs, the smaller number in the upper half of a word; ``uint64``.

        With `label`, points of one label are joined already; a label is one of its points.
        """
        empty, tree, length = self.engine.xp.empty, self.tree, self.tree.length
        # The depth of blocks: leaves, and of few axes nodes with about as many points as a thread takes at a time.
        few = self.engine.on_host and tree.axes <= PLANE
        level = max(0, (length // GRAIN).bit_length() - 1) if few else tree.depth
        vertices = self.place, empty(length, np.uint32), empty(2 << tree.depth, np.uint32)
        ways = empty(length, np.uint32), empty(length), empty(length, np.uint8), empty(length, np.uint8)
        blocks, least = (empty(1 << level), empty(1 << level, np.uint8)), empty(length, np.uint64)
        chosen = empty(length, np.uint64)
        pairs: Array = empty(length, np.uint64)
        self.words: Array = self.engine.xp.zeros(2, np.uint32)  # the barrier's, and the rounds
        near = self.near_core, self.neighbor.reshape(-1), self.neighbor.shape[1], self.reach, label, level
        hub = self.hub if len(self.hub) else None
        turn = empty(1 << level, np.uint64)
        columns = self.words, *tree, *near, *vertices, *ways, *blocks, least, chosen, hub, pairs, turn
        begin = int(label is None)  # round 0 joins the points of one label
        end = begin + 1 if self.engine.ends_long_launches else _ALL
        self.engine.launch("span_points", length, *columns, begin, end, self.words[1:])
        while end != _ALL and int(self.words[1]) == end:  # several components are left
            self.engine.launch("span_points", length, *columns, end, end + 1, self.words[1:])
            end += 1
        # No edge joins position 0 to a smaller one, and none the points that were joined before.
        return pairs[1:] if label is None else pairs[pairs != _NONE]


_BLOCK = 1 << 23  # estimates at a time
_PLENTY = 16  # candidates a wanted point, above which float64 takes less time


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
    """Rounds whose searches are products of matrices. The positions of points are their numbers.

    ``other``, ``weight``, ``sure``, ``reach`` and ``lightest`` are as in ``point_rounds.cuh``.
    """

    def run(self, label: Array | None = None) -> Array:
        """Return the pairs (see :meth:`Rounds.run`)."""
        length = self.tree.length
        self.label, self.place = np.arange(length, dtype=np.uint32), np.arange(length, dtype=np.uint32)
        self.other, self.weight, self.sure = np.full(length, _NOWHERE), np.zeros(length), np.zeros(length, np.uint8)
        self.lightest = np.full(length, np.inf)
        if label is not None:
            self._unite(self.place, label)
        components, pairs = np.flatnonzero(self.label == self.place), [np.zeros(0, np.uint64)]
        chosen = np.full(length, _NONE, np.uint64)
        while len(components) > 1:
            self._choose(chosen)
            if len(self.hub) and len(pairs) == 1:  # in the first round every point found its lightest edge
                at = np.flatnonzero(self.weight == (0.0 if self.near_core is None else self.near_core))
                np.minimum.at(self.hub, at, self.other[at])
            found = different_values(
                np, chosen[components]
            )  # two components may have chosen the same pair, and one none
            pairs.append(found[found != _NONE])
            self._unite(*(half.astype(np.uint32) for half in halves(pairs[-1])))
            components = components[self.label[components] == components]
            chosen[components], self.lightest[components] = _NONE, np.inf
        return np.concatenate(pairs)

    def _unite(self, source: Array, target: Array) -> None:
        self.engine.launch("unite", len(source), source, target, None, self.label)
        flatten(self.engine, self.label)

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
        label = self.label
        count = np.bincount(label)
        largest = count.argmax() if count.max() > 1 else -1  # in the first round all points find their lightest edge
        open_ = (self.sure != 1) & (self.reach <= self.lightest[label]) & (label != largest)
        if self.near_core is not None:
            open_ &= self.near_core <= self.lightest[label]
        for rows in self.search.blocks(np.flatnonzero(open_)):
            other, weight = self.search.lightest_out(rows, label, self.near_core)
            self.other[rows], self.weight[rows], self.sure[rows] = other, weight, 1
            np.minimum.at(self.lightest, label[rows], weight)
        at = np.flatnonzero((self.other != _NOWHERE) & (self.weight == self.lightest[label]) & (label != largest))
        ends = at.astype(np.uint64), self.other[at].astype(np.uint64)
        np.minimum.at(chosen, label[at], np.minimum(*ends) << np.uint64(32) | np.maximum(*ends))

    def _know_ways(self) -> None:
        """Find the ways out among the nearest points, as kernel ``span_points`` does."""
        label = self.label
        known = self.other != _NOWHERE
        known[known] = label[self.other[known]] != label[known]
        rows = np.flatnonzero(~known)
        spent = rows[self.sure[rows] == 1]
        self.reach[spent] = np.maximum(self.reach[spent], self.weight[spent])
        near = self.neighbor[rows]
        weight = np.where(label[near] != label[rows][:, None], self._near_weights(rows, near), np.inf)
        order = np.lexsort((near, weight), axis=1)[:, :1] if near.size else np.zeros((len(rows), 0), np.int64)
        self.other[rows], self.weight[rows], self.sure[rows] = _NOWHERE, np.inf, 0
        if order.size:
            least = np.take_along_axis(weight, order, 1)[:, 0]
            found = rows[least < np.inf]
            self.other[found] = np.take_along_axis(near, order, 1)[:, 0][least < np.inf]
            self.weight[found] = least[least < np.inf]
            sure = self.weight[found] < self.reach[found] if self.near_core is not None else np.ones(len(found), bool)
            self.sure[found] = sure
        some = np.flatnonzero(self.other != _NOWHERE)
        np.minimum.at(self.lightest, label[some], self.weight[some])

    def _near_weights(self, rows: Array, near: Array) -> Array:
        """Weights of the edges to the nearest points."""
        one = np.repeat(rows, near.shape[1])
        weight = self._apart(one, near.reshape(-1))
        if self.near_core is not None:
            np.maximum(weight, np.maximum(self.near_core[one], self.near_core[near.reshape(-1)]), out=weight)
        return weight.reshape(near.shape)


_HALF_WORD = np.uint32(0xFFFF)
_MANY_AXES = 20  # above which a tree leaves out hardly any points
_PIECE = 1 << 16  # entries of temporary columns


def spanning_pairs(
    engine: Engine, points: Array, wanted: int, min_samples: int = 0, space: Space = EUCLID, label: Array | None = None
) -> tuple[Array, Array, Array]:
    """Find the minimum spanning tree of points; of equal weights the smaller pair of numbers comes first.

    With `label`, points of one label are joined already: find the lightest pairs that join the labels.
    """
    xp = engine.xp
    if points.shape[1] < 2:
        return xp.zeros(0, np.int64), xp.zeros(0, np.int64), xp.zeros(0)
    # A GPU looks at equal points one by one: to group them takes more time, unless most points are equal.
    first = first_of_equals(points) if label is None and engine.on_host else None
    if first is None:
        rounds = _rounds(engine, points, None, wanted, min_samples, space)
        words, core = rounds.run(label), rounds.core()
    else:
        words, core = _span_with_equals(engine, points, first, wanted, min_samples, space)
    source, target = halves(xp.sort(words))
    weight = distances(engine, points, source, target, space)
    if core is not None:
        weight = xp.maximum(weight, xp.maximum(core[source], core[target]))
    return source, target, weight


def nearest_pairs(engine: Engine, points: Array, wanted: int, space: Space = EUCLID) -> tuple[Array, Array]:
    """Find pairs of which one is among the nearest of the other, each once and in ascending order; ``int64``."""
    xp = engine.xp
    if not wanted:
        return xp.zeros(0, np.int64), xp.zeros(0, np.int64)
    piles = _piles(points, wanted) if engine.on_host else None
    number, other = _nearest(engine, points if piles is None else points[:, piles.kept], wanted, space)
    if piles is not None:
        of_last = np.empty_like(other)
        of_last[number] = other
        number = np.concatenate([piles.kept[number], piles.left])
        other = piles.kept[np.concatenate([other, of_last[piles.last]])]
    one = number[xp.arange(len(number) * wanted) // wanted]
    words = xp.sort(words_of(xp, one, other.reshape(-1)))
    return halves(words[first_in_runs(xp, words)])


def _nearest(engine: Engine, points: Array, wanted: int, space: Space) -> tuple[Array, Array]:
    """Points, and the nearest ones of each, nearest first."""
    if _by_blocks(engine, points, space):
        return engine.xp.arange(points.shape[1]), nearest_by_blocks(engine, points, wanted)[0]
    tree = build_tree(engine, points, space)
    return tree.order, tree.order[nearest_points(engine, tree, wanted)[0]]


class _Piles(NamedTuple):
    """Points of which more are equal than have a part in any list of neighbors.

    Such a list has those that come first in a pile, and one more if it is the list of one of these. All points that
    are left out have the list of the last one that is kept.
    """

    kept: Array  # points, in ascending order
    left: Array  # the other points
    last: Array  # left point -> place among those kept of the last one that is equal to it


def _piles(points: Array, wanted: int) -> _Piles | None:
    """Find the points of piles that lists of `wanted` points leave out; ``None`` if there are none."""
    first = first_of_equals(points)
    if first is None:
        return None
    order = np.argsort(first, kind="stable")
    begins = np.flatnonzero(first_in_runs(np, first[order]))
    place = np.empty(len(first), np.int64)  # in its pile
    place[order] = np.arange(len(first)) - np.repeat(begins, np.diff(np.append(begins, len(first))))
    left = np.flatnonzero(place > wanted)
    if not len(left):
        return None
    kept, full = np.flatnonzero(place <= wanted), np.flatnonzero(place == wanted)
    last = np.zeros(len(first), np.int64)
    last[first[full]] = np.searchsorted(kept, full)
    return _Piles(kept, left, last[first[left]])


def words_of(xp: ModuleType, one: Array, other: Array) -> Array:
    """Return pairs as words, the smaller number in the upper half."""
    low, high = xp.minimum(one, other).astype(np.uint64), xp.maximum(one, other).astype(np.uint64)
    return low << HALF | high  # type: ignore[no-any-return]


def _by_blocks(engine: Engine, points: Array, space: Space) -> bool:
    """Whether products of matrices find distances in less time than a tree."""
    return engine.on_host and len(points) > _MANY_AXES and space.norm == 2 and space.period is None


def _rounds(engine: Engine, points: Array, counts: Array | None, wanted: int, min_samples: int, space: Space) -> Rounds:
    kind = BlockRounds if _by_blocks(engine, points, space) else Rounds
    return kind(engine, points, counts, wanted, min_samples, space)


def _span_with_equals(
    engine: Engine, points: Array, first: Array, wanted: int, min_samples: int, space: Space
) -> tuple[Array, Array | None]:
    """Pairs of the tree as words, and core distances: one point stands for its equals, which then join a hub."""
    repeats = first < np.arange(len(first))
    double, kept = np.flatnonzero(repeats), np.flatnonzero(~repeats)
    rounds = _rounds(engine, points[:, kept], np.bincount(first)[kept], wanted, min_samples, space)
    ends = kept[np.stack(halves(rounds.run()))]
    hub = kept[rounds.hub[np.searchsorted(kept, first[double])]]
    ends = np.concatenate([ends, np.stack([hub, double])], axis=1).astype(np.uint64)
    core = rounds.core()
    return (
        np.minimum(*ends) << HALF | np.maximum(*ends),
        core if core is None else core[np.searchsorted(kept, first)],
    )


def pieces(length: int) -> Iterator[slice]:
    """Yield spans of entries whose temporary columns stay in the cache, and need no new memory."""
    for begin in range(0, length, _PIECE):
        yield slice(begin, begin + _PIECE)


def first_in_runs(xp: ModuleType, ordered: Array) -> Array:
    """Flag the entries that differ from the one before."""
    first: Array = xp.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return first


def first_of_equals(points: Array) -> Array | None:
    """Return the first point with the same coordinates as each, ``int64``; ``None`` if no two points are equal."""
    word = np.empty(points.shape[1], np.uint32)
    for piece in pieces(len(word)):
        hashed = np.zeros(len(word[piece]), np.uint64)
        for coordinate in points[:, piece]:
            hashed ^= (coordinate + 0.0).view(np.uint64)  # -0.0 becomes 0.0
            hashed *= np.uint64(0x9E3779B97F4A7C15)
            hashed ^= hashed >> HALF
        word[piece] = hashed
    ordered = np.sort(word)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    maybe = np.zeros(1 << 16, bool)  # by half of a word: most words are not repeated, and need no search
    maybe[repeated & _HALF_WORD] = True
    alike = [np.zeros(0, np.int64)]
    for piece in pieces(len(word)) if len(repeated) else ():
        some = np.flatnonzero(maybe[word[piece] & _HALF_WORD])
        at = np.minimum(np.searchsorted(repeated, word[piece][some]), len(repeated) - 1)
        alike.append(some[repeated[at] == word[piece][some]] + piece.start)
    some = np.concatenate(alike)
    some = some[np.lexsort(points[:, some])]
    begins = np.append(True, (points[:, some[1:]] != points[:, some[:-1]]).any(axis=0))
    if begins.all():
        return None
    first = np.arange(len(word))
    first[some] = some[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    return first


def given_pairs(argument: str, edges: Frame, points: Points) -> tuple[Array, Array]:
    """Read pairs of points as rows, each once and in ascending order; ``int64``."""
    refuse_sparse(argument, edges, f"make a table: dfmst.from_sparse({argument})")
    read = _from_array(argument, np.asarray(edges), points) if is_array(edges) else _from_frame(argument, edges, points)
    one, other = read
    rows = np.concatenate([one, other])
    wrong = (rows < 0) | (rows >= points.number)
    if wrong.any():
        message = (
            f"{argument} name point {int(rows[wrong][0])}, and the points are numbered from 0 to {points.number - 1:,}"
        )
        raise InvalidEdgesError(message, "number the points by their rows, or name their column of ids with ids=")
    return halves(different_values(np, words_of(np, one, other)[one != other]))


def _from_array(argument: str, neighbors: Array, points: Points) -> tuple[Array, Array]:
    if neighbors.ndim != 2 or len(neighbors) != points.number or neighbors.dtype.kind not in "iu":
        message = f"{argument} is an array of shape {neighbors.shape} and type {neighbors.dtype}"
        hint = f"pass row numbers of neighbors, one row a point: integers of shape ({points.number}, k)"
        raise InvalidEdgesError(message, hint)
    other = neighbors.astype(np.int64).reshape(-1)
    one = np.repeat(np.arange(points.number), neighbors.shape[1])
    known = other != -1
    return one[known], other[known]


def _from_frame(argument: str, edges: Frame, points: Points) -> tuple[Array, Array]:
    view = open_host_frame(edges, argument)
    columns = [arrow_column(name, view.column(name)) for name in ("source", "target")]
    if points.ids is not None:
        ids: Any = arrow_column(points.ids, points.view.column(points.ids))
        ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
        try:
            columns = [pc.index_in(column.cast(ids.type), value_set=ids) for column in columns]
        except pa.ArrowException as error:
            message = f"{argument} name points by {columns[0].type} values, and column {points.ids!r} holds {ids.type}"
            raise InvalidEdgesError(message, f"name the points in {argument} as in the column of ids") from error
    for name, column in zip(("source", "target"), columns, strict=True):
        if column.null_count:
            row = int(np.asarray(column.is_null()).argmax())
            message = f"column {name!r} of {argument} has {column.null_count:,} ids of no point, the first in row {row}"
            raise InvalidEdgesError(message, "pass pairs of the points alone")
        if len(column) and not pa.types.is_integer(column.type):
            message = (
                f"column {name!r} of {argument} holds {column.type} values, and the points are named by their rows"
            )
            raise InvalidEdgesError(message, "name the column of the points' ids with ids=")
    one, other = (np.asarray(column).astype(np.int64) for column in columns)
    return one, other


def complete_pairs(
    engine: Engine, measured: Measured, pairs: tuple[Array, Array], *, keep: bool = False
) -> tuple[Array, Array, Array]:
    """Find the forest of pairs, and join its parts by the lightest pairs of points between them.

    With `keep` all pairs must be in the forest.
    """
    coordinates, space = measured.coordinates, measured.space
    label = np.arange(coordinates.shape[1], dtype=np.uint32)
    steps = [_join(engine, label, pairs, distances(engine, coordinates, *pairs, space))]
    closing = len(pairs[0]) - len(steps[0][0])
    if keep and closing:
        raise InvalidEdgesError(
            f"the pairs of keep form cycles: {closing:,} too many", "leave a pair of each cycle out"
        )
    first = first_of_equals(coordinates)
    if first is not None:  # a search would look at all points that are equal to one
        apart = np.flatnonzero(label != label[first])
        apart = apart[np.argsort(first[apart], kind="stable")]
        steps.append(_join(engine, label, (first[apart], apart), np.zeros(len(apart))))
    if label.any():
        steps.append(spanning_pairs(engine, coordinates, 0, 0, space, label))
    found = list(map(np.concatenate, zip(*steps, strict=True)))
    order = np.lexsort((found[1], found[0]))
    return found[0][order], found[1][order], found[2][order]


def _join(engine: Engine, label: Array, pairs: tuple[Array, Array], weight: Array) -> tuple[Array, Array, Array]:
    """Find the forest of pairs between labels, which are updated: the least point of each tree."""
    source, target = (label[end] for end in pairs)
    rows = solve_table(engine, EdgeTable(source, target, weight, len(label)), "auto").astype(np.int64)
    label[:] = component_labels(engine, EdgeTable(source[rows], target[rows], weight[rows], len(label)))[label]
    return pairs[0][rows], pairs[1][rows], weight[rows]
