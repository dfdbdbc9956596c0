"""Merges of a forest's vertices along its edges in ascending order: on one thread by union-find, else by contraction.

References
----------
Sao, Prokopenko, Lebrun-Grandié: PANDORA: a parallel dendrogram construction algorithm for single linkage clustering on
GPU. ICPP 2024.
Dhulipala, Dong, Gowda, Gu: Optimal parallel algorithms for dendrogram computation and single-linkage clustering. SPAA
2024.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines.base import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flags_to_write, ones
from dfmst.errors import CapacityError


class _Level(NamedTuple):
    """Edges of a level, in ascending order."""

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


def contracted_merges(engine: Engine, source: Array, target: Array, vertices: int) -> tuple[Array, Array, Array]:
    """Return left and right cluster and size of each merge, along the edges of a forest in ascending order."""
    xp, edges = engine.xp, len(source)
    left, right, size = (xp.empty(edges, dtype) for dtype in (np.uint64, np.uint64, np.uint32))
    if not edges:
        return left, right, size
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
    return left, right, size


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
