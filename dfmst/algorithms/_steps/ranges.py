"""Local contraction: a forest inside ranges of vertices, each by one thread in its cache, before all other edges.

Ids often have locality: roads, grids and meshes are numbered so that most edges join near numbers. Such an edge lies
inside a range of vertices that no other thread touches, so that ranges are solved side by side, without atomics. An
edge is contracted if it belongs to the forest whatever lies outside its range (`_engines/kernels/range_rounds.cuh`).
This is the local preprocessing of Sanders and Schimek (2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import sub
from typing import Self

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, end_words, gather_keys, spread_steps
from dfmst._engines.primitives.flags import ones
from dfmst._engines.primitives.sort import block_length, gather_keys_to_lead
from dfmst.algorithms.base import Trace

_DENSEST = 3.5  # edges a vertex above which levels, which sort fewer edges, cost less
_WIDTH = 15  # bits of a range whose vertices and edges the second-level cache holds
_SHORT_BITS = 16  # of a range whose vertices are numbered in two bytes
_LEAST_WIDTH = 12  # narrower ranges cut too many edges
_MOST_RANGES = 255  # wider ones of larger graphs cut fewer edges; kernels count no more
_SMALL = 1 << 16  # vertices below which the other algorithms' columns lie in caches as well
_INSIDE = 0.85  # share of a sample's edges that must lie inside ranges
_SAMPLE = 1 << 8


def range_width(engine: Engine, edges: Edges, vertices: int) -> int | None:
    """Bits of the ranges that pay for these edges; ``None`` where none do."""
    if not engine.on_host or vertices < _SMALL or len(edges) > _DENSEST * vertices:
        return None
    width = min(_WIDTH, (vertices // (2 * engine.threads)).bit_length() - 1)  # two ranges a thread, or more
    if width < _LEAST_WIDTH:
        return None
    width = max(width, ((vertices - 1) // _MOST_RANGES).bit_length())
    size, inside = min(_SAMPLE, len(edges)), np.empty(1, np.uint64)
    columns = (edges.source, edges.target, *spread_steps(len(edges), size))
    engine.launch_alone("count_inside", *columns, size, width, inside)
    return width if inside[0] >= _INSIDE * size else None


def contract_ranges(
    engine: Engine, edges: Edges, flip: int, vertices: int, width: int, chosen: Array, trace: Trace
) -> tuple[Edges, int]:
    """Contract the edges inside ranges of 2^`width` vertices that are known to belong to the forest."""
    with trace.step("sort"):
        buckets = _Buckets.fill(engine, edges, flip, vertices, width)
    with trace.step("scan"):
        limit, marks, components = buckets.solve()
    with trace.step("compact"):
        position, source, target = buckets.take(limit, marks, components, chosen)
        left = int(components[-1])
        trace.add(cut=len(edges) - int(buckets.starts[-2]), light=len(edges), chosen=vertices - left, components=left)
        key = gather_keys(engine, edges.key, position, flip)
        if edges.row is None:
            return Edges(source, target, key, position), left
        row = engine.xp.empty(len(position), np.uint32)
        engine.launch("gather_rows", len(position), position, edges.row, row)
        return Edges(source, target, key, row), left


@dataclass(slots=True)
class _Buckets:
    """Edges in buckets, stable: one a range, then the cut edges.

    ``bounds`` are the rows, those of a block, the bits of a range, and how many ranges there are; ``bucket`` is each
    row's; ``places`` tell where the edges of each bucket and block begin, ``starts`` those of each bucket. An edge's
    ``keys`` are its whole key and its position, if its leading bits are not all of its key, and the leading bits;
    ``ends`` are those in a range, in words of 32 bits or of 64.
    """

    engine: Engine
    edges: Edges
    vertices: int
    bounds: tuple[int, int, int, int]
    blocks: int
    bucket: Array
    places: Array
    starts: Array
    keys: tuple[Array | None, Array | None, Array]
    ends: tuple[Array | None, Array | None]

    @classmethod
    def fill(cls, engine: Engine, edges: Edges, flip: int, vertices: int, width: int) -> Self:
        """Scatter the edges, by blocks of rows."""
        length, empty = len(edges), engine.xp.empty
        block, ranges = -(-block_length(engine, length) // 64) * 64, -(-vertices >> width)
        blocks, bounds = -(-length // block), (length, block, width, ranges)
        bucket, places = empty(length, np.uint8), empty((ranges + 1) * blocks, np.uint64)
        engine.launch("count_ranges", blocks, edges.source, edges.target, *bounds, bucket, places, blocks, grain=1)
        starts = np.empty(ranges + 2, np.uint64)
        engine.launch_alone("place_buckets", places, ranges + 1, blocks, starts)
        weight, low, shift = edges.key, 0, 0
        if weight.dtype.itemsize == 8:
            weight, low, shift = gather_keys_to_lead(engine, weight, flip)
            flip = 0
        keys = (weight, empty(length, np.uint32)) if shift else (None, None)
        leading: Array = empty(length, np.uint32)
        ends = (empty(length, np.uint32), None) if width <= _SHORT_BITS else (None, empty(length, np.uint64))
        columns = (*end_words(edges.source, edges.target), weight, flip, low, shift, bucket, *bounds, places, blocks)
        engine.launch("scatter_ranges", blocks, *columns, leading, *ends, keys[1], grain=1)
        return cls(engine, edges, vertices, bounds, blocks, bucket, places, starts, (*keys, leading), ends)

    def solve(self) -> tuple[Array, Array, Array]:
        """Contract all ranges: limits or components of vertices, marks of edges by place, components of ranges."""
        engine, (length, _, width, ranges), begins = self.engine, self.bounds, self.starts.tolist()
        limit, marks = ones(engine, self.vertices), engine.xp.empty(length, np.uint8)
        cut = begins[ranges]
        columns = (None if column is None else column[cut:] for column in (self.keys[2], *self.ends))
        engine.launch("limit_ends", length - cut, self.edges.source, self.edges.target, *columns, limit, marks[cut:])
        workers, longest = min(engine.threads, ranges), max(map(sub, begins[1:-1], begins))
        words = 2 * longest + ((3 if width <= _SHORT_BITS else 5) << width)
        rooms = (longest, engine.xp.empty(workers * words, np.uint64))
        components, after = np.empty(ranges + 1, np.uint64), np.zeros(1, np.uint32)
        bounds = (self.starts, ranges, self.vertices, width)
        places = (limit, marks, components, after)
        engine.launch("solve_ranges", workers, *bounds, *self.keys, *self.ends, *rooms, *places, grain=1)
        return limit, marks, components

    def take(self, limit: Array, marks: Array, components: Array, chosen: Array) -> tuple[Array, Array, Array]:
        """Flag the rows of the forest's edges; position and ends of the edges that are put off.

        Of each range, `components` is then where its components begin; the last entry is how many there are.
        """
        engine, blocks, (length, *_, ranges) = self.engine, self.blocks, self.bounds
        after, offsets = engine.xp.empty(len(self.places), np.uint64), np.empty(blocks + 1, np.uint64)
        engine.launch("count_put_off", blocks, marks, length, ranges, self.places, blocks, after, grain=1)
        engine.launch_alone("place_put_off", after, self.starts, ranges, blocks, offsets, components)
        position, source, target = (engine.xp.empty(int(offsets[-1]), np.uint32) for _ in range(3))
        rows = (self.edges.source, self.edges.target, self.bucket, *self.bounds, self.places, blocks)
        columns = (marks, *self.ends, after, limit, components, self.edges.row, chosen, offsets)
        engine.launch("take_put_off", blocks, *rows, *columns, position, source, target, grain=1)
        return position, source, target
