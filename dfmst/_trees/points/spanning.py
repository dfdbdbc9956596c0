"""The spanning tree of all pairs of points or of pairs that another library found, and the pairs of nearest points."""

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
from dfmst._engines.primitives.contract import component_labels
from dfmst._trees.points.metrics import Measured
from dfmst._trees.points.read import Points, is_array
from dfmst._trees.points.rounds import HALF, BlockRounds, Rounds, halves, nearest_by_blocks
from dfmst._trees.points.tree import EUCLID, Space, build_tree, distances, nearest_points
from dfmst.algorithms.solve import solve_table
from dfmst.errors import InvalidEdgesError

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


def given_pairs(edges: Frame, points: Points) -> tuple[Array, Array]:
    """Read pairs of points as rows, each once and in ascending order; ``int64``."""
    refuse_sparse("edges", edges, "make a table: dfmst.from_sparse(edges)")
    one, other = _from_array(np.asarray(edges), points) if is_array(edges) else _from_frame(edges, points)
    rows = np.concatenate([one, other])
    wrong = (rows < 0) | (rows >= points.number)
    if wrong.any():
        message = f"edges name point {int(rows[wrong][0])}, and the points are numbered from 0 to {points.number - 1:,}"
        raise InvalidEdgesError(message, "number the points by their rows, or name their column of ids with ids=")
    return halves(np.unique(words_of(np, one, other)[one != other]))


def _from_array(neighbors: Array, points: Points) -> tuple[Array, Array]:
    if neighbors.ndim != 2 or len(neighbors) != points.number or neighbors.dtype.kind not in "iu":
        message = f"edges is an array of shape {neighbors.shape} and type {neighbors.dtype}"
        hint = f"pass row numbers of neighbors, one row a point: integers of shape ({points.number}, k)"
        raise InvalidEdgesError(message, hint)
    other = neighbors.astype(np.int64).reshape(-1)
    one = np.repeat(np.arange(points.number), neighbors.shape[1])
    known = other != -1
    return one[known], other[known]


def _from_frame(edges: Frame, points: Points) -> tuple[Array, Array]:
    view = open_host_frame(edges)
    columns = [arrow_column(name, view.column(name)) for name in ("source", "target")]
    if points.ids is not None:
        ids: Any = arrow_column(points.ids, points.view.column(points.ids))
        ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
        try:
            columns = [pc.index_in(column.cast(ids.type), value_set=ids) for column in columns]
        except pa.ArrowException as error:
            message = f"edges name points by {columns[0].type} values, and column {points.ids!r} holds {ids.type}"
            raise InvalidEdgesError(message, "name the points in edges as in the column of ids") from error
    for name, column in zip(("source", "target"), columns, strict=True):
        if column.null_count:
            row = int(np.asarray(column.is_null()).argmax())
            message = f"column {name!r} of edges has {column.null_count:,} ids of no point, the first in row {row}"
            raise InvalidEdgesError(message, "pass pairs of the points alone")
        if len(column) and not pa.types.is_integer(column.type):
            message = f"column {name!r} of edges holds {column.type} values, and the points are named by their rows"
            raise InvalidEdgesError(message, "name the column of the points' ids with ids=")
    one, other = (np.asarray(column).astype(np.int64) for column in columns)
    return one, other


def complete_pairs(engine: Engine, measured: Measured, pairs: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Find the forest of pairs, and join its parts by the lightest pairs of points between them."""
    coordinates, space = measured.coordinates, measured.space
    label = np.arange(coordinates.shape[1], dtype=np.uint32)
    steps = [_join(engine, label, pairs, distances(engine, coordinates, *pairs, space))]
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
