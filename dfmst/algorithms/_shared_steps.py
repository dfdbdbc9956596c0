"""Steps that several algorithms share: light edges by a sampled threshold, Kruskal's scan of them, and contraction."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import DeferredChecks
from dfmst._engines import CpuEngine, Engine
from dfmst._engines.primitives.contract import (
    contract,
    contract_edges,
    crossing_flags,
    crossing_share,
    drop_parallel,
    flatten,
    join_pairs,
    lightest_flagged,
    listed_pairs,
    number_sets,
    take_crossing,
)
from dfmst._engines.primitives.edges import (
    Edges,
    gather_edges,
    gather_keys,
    gather_leading_bits,
    sample_keys,
    spread_position,
)
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flag_words, flags_to_write, ones
from dfmst._engines.primitives.sort import block_length, sort_order
from dfmst.algorithms.base import Trace

_HOST = CpuEngine(1)
_PAIRS = 1 << 12  # of components that a table holds in a first-level cache
_MOST_KEPT = 0.5  # share of the edges between components above which a filter costs more than it saves
_NONE = np.iinfo(np.uint64).max
_SAMPLE_HITS = 64  # sampled edges below the threshold: its rank is then off by about an eighth


def check_light(light: float | None) -> None:
    """Refuse a multiple of the components that would take no edge."""
    if light is not None and not light > 0:
        raise ValueError(f"light is {light!r}; it must be above 0, or None to choose by density")


def sampled_threshold(
    engine: Engine, edges: Edges, flip: int, share: float, seed: int | None = None
) -> tuple[int, int, int, int]:
    """Return key and position of the sampled entry near the wanted rank, and the sample's lowest and highest key.

    Mass ties are split by position. The sample is spread over all positions or, with a `seed`, drawn at random.
    """
    size = min(max(math.ceil(_SAMPLE_HITS / share), 1024), max(1, len(edges) // 8))
    drawn = None
    if seed is None:
        key = sample_keys(engine, edges.key, size, flip)
    else:
        drawn = np.sort(np.random.default_rng(seed).integers(0, len(edges), size).astype(np.uint32))
        key = gather_keys(engine, edges.key, engine.from_host(drawn), flip)
    # On the host: the sample is a few kilobytes, and a GPU would take longer to begin the search.
    key, rank, found = engine.to_host(key), int(size * share), np.empty(3, np.uint64)
    _HOST.launch_alone("place_of_rank", key, size, rank, np.empty(rank + 1, np.uint64), found)
    place, lowest, highest = found.tolist()
    position = spread_position(place, len(edges), size) if drawn is None else int(drawn[place])
    return int(key[place]), position, lowest, highest


class Level(NamedTuple):
    """The edges of a level of Filter-Kruskal, whose vertices are components; `deferred` checks belong to the first."""

    engine: Engine
    edges: Edges
    flip: int
    components: int
    chosen: Array  # flags of the forest's rows
    trace: Trace
    deferred: DeferredChecks | None = None


def select_light(level: Level, share: float, seed: int | None = None) -> tuple[Array, Array]:
    """Return flags and positions of about `share` (below 1) of the edges: the lightest ones, by a sample."""
    engine, edges, flip, *_ = level
    with level.trace.step("threshold"):
        key, last, *_ = sampled_threshold(engine, edges, flip, share, seed)
    with level.trace.step("select"):
        flags = flags_to_write(engine, len(edges))
        checks = () if level.deferred is None else (level.deferred.missing,)
        kernel = "flag_light_checked" if checks else "flag_light"
        engine.launch(kernel, len(flags), edges.key, flip, len(edges), key, last, flags, *checks, grain=FLAG_GRAIN)
        if level.deferred is not None:
            level.deferred.raise_if_failed()
        return flags, compact(engine, flags)


class _Scan:
    """Edges (those at `position`; ``None``: all), to be joined in the total order in `parent`, `most` of them at most.

    The rows of the chosen ones are flagged.
    """

    def __init__(
        self, engine: Engine, edges: Edges, position: Array | None, flip: int, parent: Array, most: int, flags: Array
    ) -> None:
        self._engine, self._edges, self._position, self._flip = engine, edges, position, flip
        self._parent, self._most, self._flags = parent, most, flags
        self._length = len(edges) if position is None else len(position)
        self._prepare()

    def _prepare(self) -> None:
        """Sort, as far as that comes before the scan; ``run`` then returns the number of chosen edges."""


class KruskalScan(_Scan):
    """A scan stretch by stretch, after a sort by key and place: a stable radix sort, parallel over blocks."""

    def _prepare(self) -> None:
        xp, length = self._engine.xp, self._length
        self._order = sort_order(self._engine, gather_keys(self._engine, self._edges.key, self._position, self._flip))
        self._packed, self._ends = (xp.empty(length, np.uint64) for _ in range(2))
        self._gathered = 0
        self._chosen, self._count = xp.empty(min(self._most, length), np.uint32), xp.zeros(1, np.uint64)

    def gather(self, end: int) -> None:
        """Bring the ends of the edges below `end` into scanning order; a scan that stops early needs no others."""
        if not self._gathered:
            columns = (self._edges.source, self._edges.target, self._position, self._packed)
            self._engine.launch("pack_ends", self._length, *columns)
        order, ends = self._order[self._gathered : end], self._ends[self._gathered : end]
        self._engine.launch("gather_packed", len(order), self._packed, order, ends)
        self._gathered = end

    def scan(
        self, begin: int, end: int, ahead: int = 0, label: Array | None = None, excluded: Array | None = None
    ) -> int:
        """Scan the edges ``[begin, end)`` while helpers check those up to `ahead`; the number of edges chosen so far.

        Helpers flag in `excluded` the edges whose ends share a `label`. The bounds are multiples of 64 or the
        number of edges. Without helpers, the CUDA engine scans on the host.
        """
        words = max(0, -(-(ahead - end) // 64))
        bounds = (begin, end, ahead, self._most)
        arguments = (self._ends, *bounds, label, excluded, self._parent, self._chosen, self._count)
        if words:
            self._engine.launch("scan_edges", 1 + words, *arguments, grain=min(FLAG_GRAIN, 1 + words // 8))
        else:
            self._engine.launch_alone("scan_edges", *arguments)
        return int(self._count[0])

    def run(self) -> int:
        """Scan all edges, without helpers."""
        self.gather(self._length)
        joined = self.scan(0, self._length)
        self.mark()
        return joined

    def reached(self, end: int) -> int:
        """Place at which a scan up to `end` has stopped: right after the last possible join, or `end`."""
        joined = int(self._count[0])
        return int(self._chosen[joined - 1]) + 1 if joined == self._most else end

    def mark(self) -> None:
        """Flag the rows of the chosen edges."""
        places = (self._chosen, self._order, self._position, self._edges.row, self._flags)
        self._engine.launch("flag_chosen", int(self._count[0]), *places)


_DIGIT_BITS = 10  # 1,024 counters stay in the first-level cache
_SORTED_BITS = 22  # of a bucket's keys, which it sorts in two passes
_BUCKET = 512  # edges a bucket should hold at least
_PORTION = 1 << 13  # edges of a portion, at least: fewer cost less than their launch
_PORTIONS = 32  # about as many portions at most
_FEW_JOINED = 0.4  # share of chosen edges below which it pays to drop edges inside a component before they are sorted
_GIANT_SAMPLE = 64  # edges
_CLIMB = 16  # steps to a root: the paths of edges that were just scanned are short, unless they were very long before
_SHORT = 1 << 16  # entries below which two columns in one cost less to get than two


class PortionScan(_Scan):
    """Edges in buckets by their keys' leading digit, and the scan.

    One pass copies every edge with its ends to the bucket of its digit. Then each launch scans a portion, which is some
    buckets, while the other threads sort the next portion's buckets in their caches and flag rows of chosen edges.
    Once few edges are chosen, those inside the giant component are dropped before a bucket is sorted.
    """

    def _prepare(self) -> None:
        engine, length = self._engine, self._length
        digit = min(_DIGIT_BITS, (length // _BUCKET).bit_length())
        key = (self._edges.key, self._position, self._flip)
        leading, bits, self._weights = gather_leading_bits(engine, *key, digit + _SORTED_BITS)
        digit = min(digit, bits)
        self._bits = bits - digit
        self._sorted = not self._bits and self._weights[0] is None  # all edges of a bucket are equal
        # The edges go into buckets block by block, so that the order within a bucket stays.
        block = block_length(engine, length)
        blocks = -(-length // block)
        counts = engine.xp.empty(blocks << digit, np.uint64)
        bounds = (length, block, self._bits, digit)
        engine.launch("count_leading", blocks, leading, *bounds, counts, blocks, grain=1)
        self._starts, self._stops = np.empty((1 << digit) + 1, np.uint64), np.empty(1 << digit, np.uint64)
        engine.launch_alone("place_buckets", counts, 1 << digit, blocks, self._starts)
        self._begins: list[int] = self._starts.tolist()
        self._records, self._ends = _two(engine, length)
        columns = (self._edges.source, self._edges.target, self._position, self._records, self._ends)
        engine.launch("scatter_edges", blocks, leading, *bounds, counts, blocks, *columns, grain=1)

    def check_ends(self, deferred: DeferredChecks) -> None:
        """Check the ends before the scan looks them up in `parent`: their low 32 bits, which are all it uses."""
        halves, half = self._ends.view(np.uint32), self._length
        deferred.check_ends(self._engine, halves[:half], halves[half:], len(self._parent))

    def _portions(self, least: int) -> tuple[list[int], tuple[Array, Array]]:
        """First bucket of each portion of about `least` edges, and the end; and two columns for the longest portion."""
        begins = self._begins
        inner = () if self._sorted else (bisect_left(begins, mark) for mark in range(least, self._length, least))
        buckets = sorted({0, len(begins) - 1, *inner})
        return buckets, _two(self._engine, max(begins[after] - begins[bucket] for bucket, after in pairwise(buckets)))

    def run(self) -> int:
        """Scan portion by portion."""
        engine = self._engine
        # A single thread sorts and scans in turn: longer portions, as far as its cache holds them.
        least = _PORTION if engine.threads > 1 else 4 * _PORTION
        buckets, room = self._portions(max(least, self._length // _PORTIONS))
        places = (self._ends, self._starts, self._stops)
        chosen, count = engine.xp.empty(min(self._most, self._length), np.uint32), np.zeros(1, np.uint64)
        scanned = first = marked = joined = 0
        giant = None
        # Two launches more than portions: the first only sorts, the last only marks.
        for at in range(len(buckets) + 1):
            last = buckets[min(at + 1, len(buckets) - 1)]
            scan = (scanned, first, self._most, self._parent, chosen, count)
            mark = (marked, joined, self._edges.row, self._flags)
            sort = (first, giant, self._bits, *self._weights, self._records, *room)
            done = joined == self._most
            engine.launch("scan_portion", 2 if done else 2 + last - first, *places, *scan, *mark, *sort, grain=1)
            begin, end = self._begins[scanned], self._begins[first]
            scanned, first = first, last
            marked, joined = joined, int(count[0])
            if done:
                break
            if giant is None and joined - marked < _FEW_JOINED * (end - begin):
                giant = self._giant(begin, end)
        return joined

    def _giant(self, begin: int, end: int) -> Array | None:
        """Flag the vertices of the component in which most of the edges ``[begin, end)`` begin, if there is one."""
        engine, parent = self._engine, self._parent
        vertex = self._ends[begin : end : -(-(end - begin) // _GIANT_SAMPLE)] >> np.uint64(32)
        for _ in range(_CLIMB):
            vertex = parent[vertex]
        roots, edges = np.unique(vertex, return_counts=True)
        if 2 * edges.max() <= len(vertex):
            return None
        flags, giant = flags_to_write(engine, len(parent)), int(roots[edges.argmax()])
        engine.launch("flag_below", len(flags), parent, len(parent), giant, flags, grain=FLAG_GRAIN)
        return flags


def _two(engine: Engine, length: int) -> tuple[Array, Array]:
    """Two columns of 64-bit words. Short ones are cut from one; two long ones in one would often fit no free memory."""
    if length > _SHORT:
        return engine.xp.empty(length, np.uint64), engine.xp.empty(length, np.uint64)
    both = engine.xp.empty(2 * length, np.uint64)
    return both[:length], both[length:]


BLOCK = 1 << 16  # edges of a block
_CHUNK = 1 << 9  # edges of a block that a thread takes at a time
_FIRST_ROUND = (1 << 16) - 1
_LONG_PORTION = 1 << 17  # edges, at least, of one that is only sorted: its room is 2 MiB
MANY_THREADS = 4  # from which all threads take less time than one thread's scan, as bench/solver/span.py projects


class BlockScan(PortionScan):
    """Edges in buckets, sorted all at once, and the scan by all threads."""

    def run(self) -> int:
        """Scan block by block."""
        engine, xp, length = self._engine, self._engine.xp, self._length
        if not self._sorted:
            self._sort_buckets()
        picked, totals = flag_words(engine, length), np.zeros(2, np.uint64)
        reserved = ones(engine, len(self._parent))
        room = (xp.empty(BLOCK, np.uint64), xp.empty(BLOCK, np.uint32))
        counts = (xp.empty(BLOCK // _CHUNK, np.uint32) for _ in range(2))
        bounds = (length, len(self._parent), self._most, _FIRST_ROUND)
        engine.launch_alone("scan_blocks", self._ends, *bounds, self._parent, reserved, *room, *counts, picked, totals)
        engine.launch("flag_picked", len(picked), picked, self._records, self._edges.row, self._flags, grain=64)
        return int(totals[0])

    def _sort_buckets(self) -> None:
        """Sort all buckets before any scan, in room for an eighth of the edges, or 2 MiB."""
        engine = self._engine
        buckets, room = self._portions(max(_LONG_PORTION, -(-self._length // 8)))
        nothing = (engine.xp.empty(0, np.uint32), engine.xp.zeros(1, np.uint64))  # chosen
        scan = (self._ends, self._starts, self._stops, 0, 0, self._most, self._parent, *nothing)
        mark = (0, 0, self._edges.row, self._flags)
        for first, last in pairwise(buckets):
            sort = (first, None, self._bits, *self._weights, self._records, *room)
            engine.launch("scan_portion", 2 + last - first, *scan, *mark, *sort, grain=1)


SHORT = 1 << 13  # edges; measured: a portion scan on one thread is faster only above


class ShortScan(_Scan):
    """Few edges on the host, sorted and scanned at once."""

    def run(self) -> int:
        """Sort and scan."""
        key = gather_keys(self._engine, self._edges.key, self._position, self._flip)
        keys = (key, None) if key.dtype == np.uint32 else (None, key)
        ordered = [np.empty(len(key), np.uint64) for _ in range(2)]  # records and ends, each in either
        chosen, count = np.empty(min(self._most, len(key)), np.uint32), np.zeros(1, np.uint64)
        columns = (self._edges.source, self._edges.target, self._position, self._edges.row, *keys)
        arguments = (*columns, len(key), self._most, self._parent, *ordered, chosen, count, self._flags)
        self._engine.launch_alone("scan_short", *arguments)
        return int(count[0])


def scan_light(level: Level, position: Array | None, parent: Array) -> int:
    """Kruskal on the edges at `position` (``None``: all): sort, scan, flag the rows; the number of chosen edges."""
    engine, edges, flip, components, chosen, trace, deferred = level
    length = len(edges) if position is None else len(position)
    if not length:
        trace.add(light=0, chosen=0, components=components)
        return 0
    scan: KruskalScan | ShortScan | PortionScan
    arguments = (engine, edges, position, flip, parent, components - 1, chosen)
    with trace.step("sort"):
        if not engine.on_host:  # the scan runs on the host
            scan = KruskalScan(*arguments)
        elif deferred is None and length <= SHORT:
            scan = ShortScan(*arguments)
        else:  # one thread scans while the others sort; many threads first sort, then scan together
            together = engine.threads >= MANY_THREADS and length > BLOCK
            scan = portions = BlockScan(*arguments) if together else PortionScan(*arguments)
            if deferred is not None:
                portions.check_ends(deferred)
    with trace.step("scan"):
        joined = scan.run()
    trace.add(light=length, chosen=joined, components=components - joined)
    return joined


def label_components(level: Level, parent: Array) -> tuple[Array, int]:
    """Return the number of each vertex's component in `parent`, and of all components."""
    with level.trace.step("label"):
        return number_sets(level.engine, parent) or contract(level.engine, parent)


def survivors(level: Level, light: Array, label: Array, vertices: int, *, solve_few: bool = False) -> tuple[Edges, int]:
    """Edges that are not flagged as `light` and join two components.

    Their ends are the components, numbered densely by `label`, so that the next level works on short columns. Between
    few components, only the lightest edge of each two is kept; on the host, `solve_few` solves these at once, so that
    no edge is left.
    """
    engine, edges, flip, _, chosen, trace, deferred = level
    outside = None if deferred is None else deferred.outside
    few = vertices * vertices <= _PAIRS
    with trace.step("filter"):
        if engine.on_host and not few:
            found: Edges | Array = take_crossing(engine, edges, label, light, flip, outside)
        else:
            found = crossing_flags(engine, edges.source, edges.target, label, light, outside)
        if deferred is not None:
            deferred.raise_if_failed()
    if isinstance(found, Edges):
        return found, vertices
    with trace.step("compact"):
        if not few:
            return gather_edges(engine, edges, compact(engine, found), label, flip), vertices
        best = lightest_flagged(engine, edges, flip, found, label, vertices)
        if not (solve_few and engine.on_host):
            return gather_edges(engine, edges, listed_pairs(engine, best), label, flip), vertices
    trace.round(vertices=vertices, edges=0)
    with trace.step("scan"):
        pairs, joined = join_pairs(engine, edges, flip, best, vertices, chosen)
    trace.add(edges=pairs, light=pairs, chosen=joined, components=vertices - joined)
    nothing = np.empty(0, np.uint32)
    return Edges(nothing, nothing, nothing, nothing), vertices - joined


def keeps_most(level: Level, light: Array, label: Array, vertices: int) -> bool:
    """Whether `survivors` would keep most of the edges, by a sample. It keeps few edges between few components."""
    engine, edges, *_ = level
    if not engine.on_host or vertices * vertices <= _PAIRS:
        return False
    return crossing_share(engine, edges, label, light) > _MOST_KEPT


def join_lightest(engine: Engine, edges: Edges, parent: Array, chosen: Array, trace: Trace) -> None:
    """Join each component by its lightest edge (Borůvka): flag the rows, and let every vertex point at its root.

    The edges' ends are replaced by components of `parent`.
    """
    with trace.step("lightest"):
        best = engine.xp.full(len(parent), _NONE, np.uint64)
        engine.launch("lightest_edges", len(edges), edges.source, edges.target, edges.key, parent, best)
    with trace.step("hook"):
        engine.launch("hook", len(parent), edges.source, edges.target, best, edges.row, parent, chosen)
    with trace.step("jump"):
        flatten(engine, parent)


def contract_round(
    engine: Engine, edges: Edges, parent: Array, trace: Trace, step: str, lightest_only: bool, isolated: bool = True
) -> tuple[Edges, int, int]:
    """Make each component a vertex; the edges between two, their number, and the number of vertices.

    With `lightest_only`, only the lightest of the edges between two vertices stays; the number is that before. Vertices
    without an edge stay if `isolated`.
    """
    with trace.step(step):
        edges, vertices = contract_edges(engine, edges, parent, drop_isolated=not isolated)
    crossing = len(edges)
    if lightest_only:
        with trace.step("parallel"):
            edges = drop_parallel(engine, edges, vertices)
    return edges, crossing, vertices
