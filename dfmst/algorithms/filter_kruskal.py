"""Filter-Kruskal: solve the lightest edges first, drop the heavy ones inside a component, repeat.

The scheme of Osipov, Sanders and Singler (2009), with a threshold from a sample (as in Fallin et al. 2023)
in place of a quicksort pivot. A level is a row of columnar steps:

1. a sampled threshold in the total order (key, position), near the ``light`` · n lightest edges: mass ties are
   split by position, so that equal weights cannot put everything in the light part;
2. the light edges are compacted, brought into buckets and scanned by Kruskal's union-find while the next buckets are
   sorted (kernel ``scan_portion``; a short list in one launch, kernel ``scan_short``). Once few edges join anything,
   those inside the giant component are dropped before they are sorted. Four threads and more sort all buckets, and
   then scan blocks of edges together (kernel ``scan_blocks``);
3. pointer jumping labels the vertices, and one pass over the rest (kernel ``take_crossing``) keeps only the edges
   between different components: a bit a vertex (a byte, of few) for the giant component answers for most of them;
4. the survivors, with components as their ends, are the next level. A last few components have many edges between
   each two: only the lightest one stays.

Step 3 drops few edges if the lightest join few vertices, as in a clique whose edges weigh as much as their greater end.
A sample shows that. Then every component takes its lightest edge instead (a round of Borůvka), up to four times; after
these, all edges are sorted. So no order of weights costs much more than the better of Borůvka and Kruskal
(``bench/orders.py``).

Sparse graphs whose ids have locality (roads, grids, meshes) are first contracted inside ranges of vertices, by every
thread on its own (`contract_ranges`): a small graph of the edges between ranges remains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import sub
from typing import Any

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import ChecksFailed, EdgeTable
from dfmst._edges.vertices import SHORT
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import BYTE_VERTICES, drop_parallel
from dfmst._engines.primitives.edges import (
    Edges,
    cut_to_zeros,
    end_words,
    gather_edges,
    gather_keys,
    leading_window,
    spread_steps,
    weights_to_look_up,
)
from dfmst._engines.primitives.flags import flag_words, numbered, ones
from dfmst._engines.primitives.sort import block_length
from dfmst.algorithms._shared_steps import (
    MANY_THREADS,
    Level,
    check_light,
    contract_round,
    join_lightest,
    keeps_most,
    label_components,
    scan_light,
    select_light,
    survivors,
)
from dfmst.algorithms.base import Trace, chosen_rows

_SMALL = 1 << 17  # edges below which one sort (of many threads: twice as many) is cheaper than a level, and a table of
# pairs takes little memory
# Edges a vertex from which light edges enough to join all vertices (of random graphs, log(n) / 2 a vertex) cost less
# than a look at the edges of the vertices that are left.
_DENSE = 256
_MOST_LIGHT = 0.45  # share of light edges above which one sort of all of them is cheaper


@dataclass(frozen=True, slots=True)
class FilterKruskal:
    """Filter-Kruskal with sampled thresholds.

    Parameters
    ----------
    light
        Edges to solve on each level, as a multiple of the number of components. ``None`` picks it from the
        density: more light edges filter more of the heavy ones, which pays if there are many.

    Notes
    -----
    **Differences from the paper**

    * One threshold a level from a sample, at a wanted number of edges, in place of a quicksort pivot and recursion.
    * The light edges are sorted in buckets by a radix sort while the scan runs; theirs are sorted first. Later buckets
      lose the edges inside the giant component before they are sorted, as if each were a level.
    * Between few components, parallel edges are dropped before the last level.
    * Ties are split by position, so that equal weights cannot all fall on one side.
    * From four threads on, edges are scanned in blocks by deterministic reservations, not by one thread (Blelloch,
      Fineman, Gibbons and Shun 2012).
    * If a filter would keep more than half of the edges, a round of Borůvka takes its place: quicksort's worst case has
      no counterpart here.
    * Edges between near ids are contracted in ranges of vertices first, if that pays (the local preprocessing of
      Sanders and Schimek 2023).

    On the CUDA engine the scan of each level, which is sequential, runs on the host: the level's light edges (8 bytes
    each) and the parents (4 bytes a component) are copied there, the parents and the choice back.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm="filter-kruskal")
    array([1, 2])

    References
    ----------
    Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009. Sanders, Schimek:
    Engineering massively parallel MST algorithms. IPDPS 2023, local preprocessing. Blelloch, Fineman, Gibbons, Shun:
    Internally deterministic parallel algorithms can be fast. PPoPP 2012.
    """

    light: float | None = None

    def __post_init__(self) -> None:
        """Refuse a multiple that would leave levels without progress."""
        check_light(self.light)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``.

        Raises
        ------
        ChecksFailed
            Checks are deferred, and a column is invalid or was not read to its end.
        """
        if self._is_short(engine, table, trace):
            return short_forest(engine, table)
        chosen = flag_words(engine, len(table))
        components = table.vertices
        edges, flip, deferred, near, joins = table.edges(), table.flip, table.deferred, True, 0
        while len(edges) and components > 1:
            trace.round(vertices=components, edges=len(edges))
            if edges.row is not None and components * components <= len(edges) <= _SMALL:
                with trace.step("compact"):
                    edges = drop_parallel(engine, edges, components)
            share = None if joins > _MOST_JOINS else self._light_share(engine, len(edges), components)
            width = range_width(engine, edges, components) if near else None
            level = Level(engine, edges, flip, components, chosen, trace, deferred)
            if width is not None:
                (edges, components), flip, deferred = contract_ranges(level, width), 0, None
                near = 2 * components <= level.components  # if light edges are cut, every component may have to wait
                continue
            if share is None and deferred is not None:
                break
            parent = numbered(engine, components)
            flags, position = (None, None) if share is None else select_light(level, share)
            components -= scan_light(level, position, parent)
            if components == 1 and deferred is not None:
                deferred.check_ends(engine, edges.source, edges.target, table.vertices)
                deferred = None
            if flags is None or components == 1:
                break
            position = None  # frees its memory
            edges, components, joins = _rest(level, flags, parent, joins)
            flip, deferred = 0, None
        if deferred is not None:
            raise ChecksFailed
        return chosen_rows(engine, chosen)

    @staticmethod
    def _is_short(engine: Engine, table: EdgeTable, trace: Trace) -> bool:
        """Whether one launch solves the table. It has no rounds to trace, and room for all vertices."""
        if table.deferred is None and (trace.counts or not engine.on_host or table.vertices > 2 * SHORT):
            return False
        return 0 < len(table) <= SHORT

    def _light_share(self, engine: Engine, edges: int, components: int) -> float | None:
        """Share of the edges to solve on this level; ``None``: all of them."""
        small = _SMALL if engine.threads < MANY_THREADS else 2 * _SMALL
        density = edges / components
        light = self.light if self.light is not None else max(1.2, 0.3 + 0.5 * math.log(density))
        if self.light is None and density >= _DENSE and components <= BYTE_VERTICES:
            light = max(light, 1 + math.log(components) / 2)
        share = light / density
        return None if edges <= small or share > _MOST_LIGHT else share


_MOST_JOINS = 4  # rounds of Borůvka; each takes up to a quarter of the time of a sort


def _rest(level: Level, light: Array, parent: Array, joins: int) -> tuple[Edges, int, int]:
    """Return the edges between components that are not `light`, the number of components, and that of `joins`.

    If a filter would keep most edges, a round of Borůvka joins each component instead, which makes `joins` one more.
    """
    label, components = label_components(level, parent)
    if keeps_most(level, light, label, components):
        joins += 1
        if joins <= _MOST_JOINS:
            return *_join_all(level, label, components), joins
    return *survivors(level, light, label, components, solve_few=True), joins


def _join_all(level: Level, label: Array, components: int) -> tuple[Edges, int]:
    """Join each component by its lightest edge; return the edges between those that are left, and their number."""
    engine, edges, flip, vertices, chosen, trace, deferred = level
    if deferred is not None:
        deferred.check_ends(engine, edges.source, edges.target, vertices)
    with trace.step("contract"):
        edges = gather_edges(engine, edges, None, label, flip)
    parent = numbered(engine, components)
    join_lightest(engine, edges, parent, chosen, trace)
    edges, _, left = contract_round(engine, edges, parent, trace, "contract", lightest_only=False)
    trace.add(joined=components - left, components=left)
    return edges, left


_FEW = 1 << 13  # words below which the scratch costs more than it saves


def short_forest(engine: Engine, table: EdgeTable) -> Array:
    """Return a table's rows in the forest, ascending ``int64``; its ids may be too large."""
    length = len(table.source)
    # The count and the rows; records, and room to sort them; flags of rows; chosen places and parents, two a word.
    words = 2 + 3 * length + (length >> 6) + (length + table.vertices + 1 >> 1)
    room = (np if words <= _FEW else engine.xp).empty(words, np.uint64)
    ends = end_words(table.source, table.target)
    engine.launch_alone("solve_short", *ends, table.weight, length, table.vertices, table.flip, room)
    chosen = room.item(0)
    if chosen > length:
        raise ChecksFailed
    rows: Array = room[1 : chosen + 1].astype(np.int64)
    return rows


_DENSEST = 3.5  # edges a vertex above which levels, which sort fewer edges, cost less
_WIDTH = 15  # bits of a range whose vertices and edges the second-level cache holds
_SHORT_BITS = 16  # of a range whose vertices are numbered in two bytes
_LEAST_WIDTH = 12  # narrower ranges cut too many edges
_MOST_RANGES = 255  # wider ones of larger graphs cut fewer edges; kernels count no more
_SMALL_GRAPH = 1 << 16  # vertices: the columns of fewer fit caches anyway
_INSIDE = 0.85  # least share of a sample's edges inside ranges
_SAMPLE = 1 << 8
_LEADING = 32  # bits of keys of 64 bits, in a window of keys
_STRETCH = 3  # of a sample's window: keys outside of it are compared by weights


def range_width(engine: Engine, edges: Edges, vertices: int) -> int | None:
    """Bits of the ranges that pay for these edges; ``None`` if none do."""
    if not engine.on_host or vertices < _SMALL_GRAPH or len(edges) > _DENSEST * vertices:
        return None
    width = min(_WIDTH, (vertices // (2 * engine.threads)).bit_length() - 1)  # two ranges a thread, or more
    if width < _LEAST_WIDTH:
        return None
    width = max(width, ((vertices - 1) // _MOST_RANGES).bit_length())
    size, inside = min(_SAMPLE, len(edges)), np.empty(1, np.uint64)
    columns = (edges.source, edges.target, *spread_steps(len(edges), size))
    engine.launch_alone("count_inside", *columns, size, width, inside)
    return width if inside[0] >= _INSIDE * size else None


def contract_ranges(level: Level, width: int) -> tuple[Edges, int]:
    """Contract the edges inside ranges of 2^`width` vertices that are known to belong to the forest.

    With deferred checks, the number of vertices is a bound, and vertices above the largest id are left out.
    """
    engine, edges, flip, _, chosen, trace, _ = level
    with trace.step("sort"):
        buckets = _Buckets(level, width)
        vertices = buckets.vertices
    with trace.step("scan"):
        limit, marks, components = buckets.solve()
    with trace.step("compact"):
        position, source, target, key = buckets.take(limit, marks, components, chosen)
        left = int(components[-1])
        trace.add(cut=len(edges) - int(buckets.starts[-2]), light=len(edges), chosen=vertices - left, components=left)
        key = gather_keys(engine, edges.key, position, flip) if key is None else key
        row = position
        if edges.row is not None:
            row = engine.xp.empty(len(position), np.uint32)
            engine.launch("gather_rows", len(position), position, edges.row, row)
        return Edges(source, target, key, row), left


class _Buckets:
    """Edges in buckets, stable: one for each range, then the cut edges.

    ``bounds`` are the rows, those of a block, the bits of a range, and the number of ranges. ``bucket`` is each row's.
    The edges of each bucket and block begin at ``places``, those of each bucket at ``starts``. An edge has ``leading``
    bits of its key; if these are not all of some key, ``whole`` has weights and positions. The ``ends`` of an edge are
    those in its range, in words of 32 bits or of 64.
    """

    def __init__(self, level: Level, width: int) -> None:
        engine, edges, flip, vertices, _, _, deferred = level
        self.engine, self.edges = engine, edges
        length, empty = len(edges), engine.xp.empty
        block, ranges = -(-block_length(engine, length) // 64) * 64, -(-vertices >> width)
        self.blocks = blocks = -(-length // block)
        self.bucket, places = empty(length, np.uint8), empty((ranges + 1) * blocks, np.uint64)
        largest = np.empty(blocks, np.uint64)
        columns = (edges.source, edges.target, length, block, width, ranges, self.bucket, places, blocks, largest)
        engine.launch("count_ranges", blocks, *columns, grain=1)
        if deferred is not None:
            last, before = int(largest.max()), ranges * blocks
            if last >= vertices:
                raise ChecksFailed
            vertices, ranges = last + 1, (last >> width) + 1
            places[ranges * blocks : (ranges + 1) * blocks] = places[before:]  # those of the cut edges
            places = places[: (ranges + 1) * blocks]
        self.vertices, self.places, self.bounds = vertices, places, (length, block, width, ranges)
        self.starts = np.empty(ranges + 2, np.uint64)
        engine.launch_alone("place_buckets", places, ranges + 1, blocks, self.starts)
        self._scatter(edges, flip, None if deferred is None else deferred.missing)
        if deferred is not None:
            deferred.raise_if_failed()

    def _scatter(self, edges: Edges, flip: int, missing: Array | None) -> None:
        """Bring the edges into their buckets; `missing` is set if a weight is NaN."""
        engine, empty, (length, _, width, _) = self.engine, self.engine.xp.empty, self.bounds
        wide = edges.key.dtype.itemsize == 8
        low, shift, exact = 0, 0, True
        if wide:
            bounds = {"stretch": _STRETCH, "bits": _LEADING, "least_bits": _LEADING}
            low, shift, _, sample = leading_window(engine, edges.key, None, flip, **bounds)
            exact = cut_to_zeros(sample, flip, shift)
        self.leading = empty(length, np.uint32)
        short = width <= _SHORT_BITS
        self.ends = (empty(length, np.uint32), None) if short else (None, empty(length, np.uint64))
        notes = np.zeros(2, np.uint32)
        ends = end_words(edges.source, edges.target)
        columns = (*ends, edges.key, flip, low, shift, self.bucket, *self.bounds, self.places, self.blocks)
        self.whole: tuple[Any, ...] = (None, 0, 0, None)
        # The positions are written if leading bits are not all of a sampled key, or turn out not to be all of any.
        position = None if exact else empty(length, np.uint32)
        while True:
            written = (self.leading, *self.ends, position, notes[:1] if missing is None else missing, notes[1:])
            engine.launch("scatter_ranges", self.blocks, *columns, *written, grain=1)
            if position is not None or not notes[1]:
                break
            position = empty(length, np.uint32)
        if position is not None:
            self.whole = (*weights_to_look_up(edges.key, flip), position)

    def solve(self) -> tuple[Array, Array, Array]:
        """Contract all ranges: limits or components of vertices, marks of edges by place, components of ranges."""
        engine, (length, _, width, ranges), begins = self.engine, self.bounds, self.starts.tolist()
        limit, marks = ones(engine, self.vertices), engine.xp.empty(length, np.uint8)
        cut = begins[ranges]
        columns = (None if column is None else column[cut:] for column in (self.leading, *self.ends))
        engine.launch("limit_ends", length - cut, self.edges.source, self.edges.target, *columns, limit, marks[cut:])
        workers, longest = min(engine.threads, ranges), max(map(sub, begins[1:-1], begins))
        words = 2 * longest + ((3 if width <= _SHORT_BITS else 5) << width)
        rooms = (longest, engine.xp.empty(workers * words, np.uint64))
        components, after = np.empty(ranges + 1, np.uint64), np.zeros(1, np.uint32)
        bounds = (self.starts, ranges, self.vertices, width)
        places = (limit, marks, components, after)
        engine.launch("solve_ranges", workers, *bounds, *self.whole, self.leading, *self.ends, *rooms, *places, grain=1)
        return limit, marks, components

    def take(
        self, limit: Array, marks: Array, components: Array, chosen: Array
    ) -> tuple[Array, Array, Array, Array | None]:
        """Flag the rows of the forest's edges; return position, ends and key of the other ones to solve later.

        The key is ``None`` if leading bits are not all of it. Then `components` has the number of the first component
        of each range, and at last their number.
        """
        engine, blocks, (length, *_, ranges) = self.engine, self.blocks, self.bounds
        after, offsets = engine.xp.empty(len(self.places), np.uint64), np.empty(blocks + 1, np.uint64)
        engine.launch("count_put_off", blocks, marks, length, ranges, self.places, blocks, after, grain=1)
        engine.launch_alone("place_put_off", after, self.starts, ranges, blocks, offsets, components)
        position, source, target, key = (engine.xp.empty(int(offsets[-1]), np.uint32) for _ in range(4))
        taken = position, source, target, key if self.whole[-1] is None else None
        rows = (self.edges.source, self.edges.target, self.bucket, *self.bounds, self.places, blocks)
        columns = (marks, *self.ends, after, limit, components, self.edges.row, chosen, offsets)
        engine.launch("take_put_off", blocks, *rows, *columns, self.leading, *taken, grain=1)
        return taken
