"""Local contraction: a forest inside ranges of vertices, each by one thread in its cache, before all other edges.

Ids often have locality: roads, grids and meshes are numbered so that most edges join near numbers. Such an edge lies
inside a range of vertices that no other thread touches, so that ranges are solved side by side, without atomics. An
edge is contracted if it belongs to the forest whatever lies outside its range (`_kernels/ranges.cuh`). This is the
local preprocessing of Sanders and Schimek (2023), with Kruskal's scan after one round of Borůvka's.
"""

from __future__ import annotations

import numpy as np

from dfmst._engines import Engine
from dfmst._primitives.contract import contract
from dfmst._primitives.edges import Edges, gather_edges, gather_keys, spread_positions
from dfmst._primitives.fills import ones
from dfmst._primitives.flags import FLAG_GRAIN, compact, exclusive_sum, flag_words
from dfmst._primitives.leading import block_length, leading_bits
from dfmst.algorithms._steps.block_scan import MANY_THREADS
from dfmst.algorithms.trace import Trace
from dfmst.typing import Array

__all__ = ["contract_ranges", "range_width"]

_DENSEST = 3.5  # edges a vertex above which levels, which sort fewer edges, cost less
_WIDTH = 15  # bits of a range whose vertices and edges the second-level cache holds
_LEAST_WIDTH = 12  # narrower ranges cut too many edges
_MOST_RANGES = 1 << 8  # wider ones of larger graphs cut fewer edges; kernels count up to 1,024
_SMALL = 1 << 16  # vertices below which the other algorithms' columns lie in caches as well
_LARGE = 1 << 21  # vertices above which a scan of all edges waits for memory
_INSIDE = 0.85  # share of a sample's edges that must lie inside ranges
_SAMPLE = 1 << 10


def range_width(engine: Engine, edges: Edges, vertices: int, *, in_levels: bool) -> int | None:
    """Bits of the ranges that pay for these edges; ``None`` where none do.

    `in_levels`: whether the edges would be solved in levels otherwise, not sorted at once, which costs less.
    """
    if not engine.on_host or vertices < _SMALL or len(edges) > _DENSEST * vertices:
        return None
    if not (vertices >= _LARGE or engine.threads >= MANY_THREADS or (in_levels and engine.threads > 1)):
        return None
    width = min(_WIDTH, (vertices // (4 * engine.threads)).bit_length() - 1)  # four ranges a thread, or more
    if width < _LEAST_WIDTH:
        return None
    width = max(width, ((vertices - 1) // _MOST_RANGES).bit_length())
    sample = spread_positions(np, len(edges), min(_SAMPLE, len(edges)))
    shift = edges.source.dtype.type(width)
    inside = np.count_nonzero(edges.source[sample] >> shift == edges.target[sample] >> shift)
    return width if inside >= _INSIDE * len(sample) else None


def contract_ranges(
    engine: Engine, edges: Edges, flip: int, vertices: int, width: int, chosen: Array, trace: Trace
) -> tuple[Edges, int]:
    """Contract the edges inside ranges of 2^`width` vertices that are known to belong to the forest.

    Parameters
    ----------
    flip
        Bits that turn a key around.
    vertices
        Exclusive upper bound of the edges' ends.
    chosen
        Flags of the forest's rows; those of the contracted edges are set.

    Returns
    -------
    edges
        The edges that were put off and still join two components, these as their ends, and their ordered keys.
    vertices
        How many components there are.
    """
    parent, marks = _solve(engine, edges, flip, vertices, width, trace)
    with trace.step("label"):
        label, left = contract(engine, parent)
    with trace.step("compact"):
        rest = _take_marked(engine, marks, edges.row, chosen)
        trace.add(light=len(edges), chosen=vertices - left, components=left)
        return gather_edges(engine, edges, rest, label, flip), left


def _solve(engine: Engine, edges: Edges, flip: int, vertices: int, width: int, trace: Trace) -> tuple[Array, Array]:
    """Scan all ranges; each vertex's root, and a mark for each edge: 1 if it joined, 2 if it was put off."""
    with trace.step("sort"):
        leading, bits, key = leading_bits(engine, gather_keys(engine, edges.key, None, flip))
        starts, records, ends = _partition(engine, edges, leading, -(-vertices >> width), width)
        del leading  # 4 bytes a row
    with trace.step("scan"):
        parent, limit = engine.xp.empty(vertices, np.uint32), ones(engine, vertices)
        marks = engine.xp.zeros(len(edges), np.uint8)
        ranges, cut = len(starts) - 2, int(starts[-2])
        engine.launch("limit_ends", len(edges) - cut, records[cut:], ends[cut:], limit, marks)
        workers, longest = min(engine.threads, ranges), int(np.diff(starts[:-1]).max())
        room = engine.xp.empty(workers * (5 * longest + (1 << width)), np.uint64)
        columns = (key, records, ends, longest, room, parent, limit, marks)
        bounds = (starts, ranges, vertices, width, bits)
        engine.launch("solve_ranges", workers, *bounds, *columns, engine.xp.zeros(1, np.uint32), grain=1)
    trace.add(cut=len(edges) - cut)
    return parent, marks


def _partition(engine: Engine, edges: Edges, leading: Array, ranges: int, width: int) -> tuple[Array, Array, Array]:
    """Bring the edges into buckets, stable: one a range, then the cut edges; where they begin, records and ends."""
    length, block = len(edges), block_length(engine, len(edges))
    blocks = -(-length // block)
    counts = engine.xp.empty(blocks * (ranges + 1), np.uint64)
    columns, bounds = (edges.source, edges.target), (length, block, width, ranges)
    engine.launch("count_ranges", blocks, *columns, *bounds, counts, blocks, grain=1)
    places, _ = exclusive_sum(engine, counts)
    records, ends = (engine.xp.empty(length, np.uint64) for _ in range(2))
    engine.launch("scatter_ranges", blocks, *columns, leading, *bounds, places, blocks, records, ends, grain=1)
    return engine.xp.append(places[::blocks], np.uint64(length)), records, ends


def _take_marked(engine: Engine, marks: Array, row: Array | None, chosen: Array) -> Array:
    """Flag the rows of the edges that are marked 1; positions of those that are marked 2."""
    ones, twos = (flag_words(engine, len(marks)) for _ in range(2))
    engine.launch("flag_marks", len(ones), marks, len(marks), ones, twos, grain=FLAG_GRAIN)
    if row is None:
        chosen |= ones
    else:
        rows = row[compact(engine, ones)]
        engine.launch("set_flags", len(rows), rows, chosen)
    return compact(engine, twos)
