"""Trees with roots: on a GPU by an Euler tour whose arcs are ranked in parallel, on a host level by level.

There, one thread takes less than a third of the processor time of the tour.

References
----------
Tarjan, Vishkin: An efficient parallel biconnectivity algorithm. SIAM Journal on Computing 14 (1985).
Helman, JáJá: Designing practical efficient algorithms for symmetric multiprocessors. ALENEX 1999.
"""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import CapacityError

_NONE = int(np.iinfo(np.uint32).max)
_WALKS = 8  # of an index of walk_list
_BLOCK = 64  # places that one of them is a splitter of
_LEVELS = 1 << 12  # of trees whose sums take less time level by level on a GPU than on the host


class RootedTrees(NamedTuple):
    """Trees with a root each, by vertex; ``uint32`` of shape ``(vertices,)``."""

    parent: Array  # the next vertex on the way to the root, which is its own parent
    edge: Array  # the edge to the parent; 2^32 - 1 at a root
    depth: Array  # number of edges to the root
    order: Array  # place in a depth-first order, tree after tree in ascending order of their roots
    size: Array  # number of vertices below it, with itself: those of order to order + size - 1


def root_trees(engine: Engine, source: Array, target: Array, root: Array) -> RootedTrees:
    """Lead the edges of a forest away from its roots; `root` is that of each vertex's tree."""
    xp, edges, vertices = engine.xp, len(source), len(root)
    if 2 * edges > ROW_LIMIT - _BLOCK:
        message = f"{edges:,} edges make {2 * edges:,} arcs, more than 32 bits number"
        raise CapacityError(message, "cut the forest first")
    root = root.astype(np.uint32)
    if engine.on_host:
        return _visit_levels(engine, source, target, root)
    parent, edge = xp.arange(vertices, dtype=np.uint32), xp.full(vertices, _NONE, np.uint32)
    first, last, depth, order, size = (xp.zeros(vertices, np.uint32) for _ in range(5))
    passed = xp.zeros(0, np.uint32)
    roots = xp.flatnonzero(root == xp.arange(vertices, dtype=np.uint32))
    if edges:
        records, place, offset = _arcs(engine, source, target, vertices)
        twin, following, head = _tour(engine, records, place, offset, roots, edges)
        rank, away = _ranks(engine, following, head), xp.empty(2 * edges, np.uint8)
        engine.launch("lead_away", 2 * edges, records, twin, rank, edges, away, parent, edge, first, last)
        passed = xp.cumsum(away, dtype=np.uint32)
    tree = xp.zeros(vertices, np.uint32)
    tree[roots] = xp.arange(len(roots), dtype=np.uint32)
    begin = xp.zeros(len(roots) + 1, np.uint32)
    begin[1:] = xp.cumsum(xp.bincount(tree[root], minlength=len(roots)), dtype=np.uint32)
    engine.launch("number_tree", vertices, passed, edge, first, last, root, tree, begin, depth, order, size)
    return RootedTrees(parent, edge, depth, order, size)


def _visit_levels(
    engine: Engine, source: Array, target: Array, root: Array, lengths: Array | None = None, *folded: Array
) -> RootedTrees:
    """Root trees; `folded` are the sums of lengths and the last edges of the paths to the roots, to be written."""
    scratch, vertices = engine.in_scratch().xp, len(root)
    temporary = [scratch.zeros(vertices + 1, np.uint32)]
    temporary += [scratch.empty(length, np.uint64) for length in (4 * vertices, vertices)]
    temporary += [scratch.empty(vertices, np.uint32) for _ in range(2)]
    trees = RootedTrees(*(np.empty(vertices, np.uint32) for _ in range(5)))
    words, real = (None, 0) if lengths is None else (lengths.view(np.uint64), int(lengths.dtype.kind == "f"))
    columns = (words, real, root, vertices, *temporary, *trees, *(folded or (None, None)))
    engine.launch_alone("visit_levels", source, target, len(source), *columns)
    return trees


def root_with_paths(
    engine: Engine, source: Array, target: Array, root: Array, lengths: Array
) -> tuple[RootedTrees, Array, Array]:
    """Return rooted trees, the sum of the lengths of edges on the path from each vertex to its root, and the last edge.

    That edge is -1 at a root. Python's integers as lengths are on the host, and so are their sums.
    """
    xp = engine.xp
    if engine.on_host and lengths.dtype != object:
        total, greatest = np.empty(len(root), lengths.dtype), np.empty(len(root), np.uint32)
        folded = total.view(np.uint64), greatest
        trees = _visit_levels(engine, source, target, root.astype(np.uint32), lengths, *folded)
        return trees, total, greatest.view(np.int32)
    trees = root_trees(engine, source, target, root)
    last = _jump(trees.parent, xp.maximum, trees.edge.view(np.int32))
    if not len(lengths):
        return trees, xp.zeros(len(root), lengths.dtype), last
    if lengths.dtype.kind == "f" and int(trees.depth.max()) >= _LEVELS:
        columns = map(engine.to_host, (source, target, root, lengths))
        return trees, engine.from_host(root_with_paths(host_engine(engine), *columns)[1]), last
    place = host_engine(engine) if lengths.dtype == object else engine
    parent, edge = (engine.to_host(column) if place.on_host else column for column in (trees.parent, trees.edge))
    along = place.xp.where(edge == np.uint32(_NONE), 0, lengths[edge.view(np.int32)])
    total = _sum_levels(engine, trees, along) if along.dtype.kind == "f" else _jump(parent, place.xp.add, along)
    return trees, total, last


def _sum_levels(engine: Engine, trees: RootedTrees, along: Array) -> Array:
    """Sum floats of a GPU from the roots on, as the host does: other orders round otherwise."""
    total, vertices = along.copy(), sort_order(engine, trees.depth)
    ends = engine.xp.cumsum(engine.xp.bincount(trees.depth)).tolist()
    with np.errstate(invalid="ignore"):  # infinities of both signs
        for begin, end in pairwise(ends):
            level = vertices[begin:end]
            total[level] += total[trees.parent[level]]
    return total


def _jump(parent: Array, function: Any, column: Array) -> Array:
    """Fold a column along the path from each vertex to its root, by pointer jumping."""
    values = column.copy()
    while True:
        further = parent[parent]
        function(values, values[parent], out=values)
        if bool((further == parent).all()):
            return values
        parent = further


def _arcs(engine: Engine, source: Array, target: Array, vertices: int) -> tuple[Array, Array, Array]:
    """Return the arcs by their tails, the place of each arc, and the first place of each vertex."""
    xp, arcs = engine.xp, 2 * len(source)
    records = xp.empty(arcs, np.uint64)
    engine.launch("arc_records", arcs, source, target, len(source), records)
    records = engine.sort_records(records, vertices.bit_length())
    place, offset = xp.empty(arcs, np.uint32), xp.empty(vertices + 1, np.uint64)
    engine.launch("arc_places", arcs, records, place)
    engine.launch("list_offsets", arcs + 1, records, arcs, vertices, offset)
    return records, place, offset


def _tour(
    engine: Engine, records: Array, place: Array, offset: Array, roots: Array, edges: int
) -> tuple[Array, Array, int]:
    """Return the place of each arc's twin, the place after each place, and the first place of the tour."""
    xp = engine.xp
    heads = offset[roots]
    has_arcs = heads < offset[roots + 1]
    heads = heads[has_arcs].astype(np.uint32)
    after = xp.full(len(offset) - 1, _NONE - 1, np.uint32)
    after[roots[has_arcs]] = xp.concatenate([heads[1:], xp.full(1, _NONE, np.uint32)])
    twin, following = xp.empty(len(records), np.uint32), xp.empty(len(records), np.uint32)
    engine.launch("follow_arcs", len(records), records, place, offset, after, edges, twin, following)
    return twin, following, int(heads[0])


def _ranks(engine: Engine, following: Array, head: int) -> Array:
    """Return the number of places before each place of a list."""
    xp, length = engine.xp, len(following)
    splitters = -(-length // _BLOCK)
    walked = xp.empty(length, np.uint64)
    rank: Array = xp.empty(length, np.uint32)
    onward, steps = (xp.empty(splitters + 1, np.uint32) for _ in range(2))
    walks = -(-(splitters + 1) // _WALKS)
    engine.launch("walk_list", walks, following, length, splitters, head, walked, onward, steps, grain=16)
    behind = _sums_behind(xp, onward, steps)
    engine.launch("rank_list", length, walked, (np.uint64(length) - behind).astype(np.uint32), rank)
    return rank


def _sums_behind(xp: ModuleType, onward: Array, steps: Array) -> Array:
    """Return the steps from each splitter to the end of the list, by pointer jumping."""
    end = len(onward)
    sums = xp.concatenate([steps, xp.zeros(1, np.uint32)]).astype(np.uint64)
    hop = xp.concatenate([xp.where(onward == np.uint32(_NONE), end, onward.astype(np.int64)), xp.full(1, end)])
    for _ in range(end.bit_length()):
        sums = sums + sums[hop]
        hop = hop[hop]
    behind: Array = sums[:end]
    return behind
