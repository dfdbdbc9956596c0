"""Kruskal's sort and scan: edges in the total order, joined one after the other by union-find."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import DeferredChecks
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, gather_keys, gather_leading_bits
from dfmst._engines.primitives.flags import FLAG_GRAIN, flag_words, flags_to_write, ones
from dfmst._engines.primitives.sort import block_length, sort_order
from dfmst.algorithms.base import Trace


class KruskalScan:
    """Edges (those at `position`; ``None``: all) in the total order, and the scan that joins components in `parent`.

    It scans stretch by stretch, chooses `most` edges at most, and flags their rows. The sort, by key and place, is a
    stable radix sort, parallel over blocks.
    """

    def __init__(
        self, engine: Engine, edges: Edges, position: Array | None, flip: int, parent: Array, most: int, flags: Array
    ) -> None:
        self._engine, self._edges, self._position = engine, edges, position
        self._order = sort_order(engine, gather_keys(engine, edges.key, position, flip))
        self._parent, self._most, self._flags = parent, most, flags
        self._packed, self._ends = (engine.xp.empty(len(self._order), np.uint64) for _ in range(2))
        self._gathered = 0
        self._chosen = engine.xp.empty(min(most, len(self._order)), np.uint32)
        self._count = engine.xp.zeros(1, np.uint64)

    def gather(self, end: int) -> None:
        """Bring the ends of the edges below `end` into scanning order; a scan that stops early needs no others."""
        if not self._gathered:
            columns = (self._edges.source, self._edges.target, self._position, self._packed)
            self._engine.launch("pack_ends", len(self._packed), *columns)
        span = slice(self._gathered, end)
        order, ends = self._order[span], self._ends[span]
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
        """Scan all edges, without helpers, and flag the chosen ones; their number."""
        self.gather(len(self._order))
        joined = self.scan(0, len(self._order))
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
_SAMPLE = 64  # edges
_CLIMB = 16  # steps to a root: the paths of edges that were just scanned are short, unless they were very long before
_SHORT = 1 << 16  # entries below which two columns in one cost less to get than two
_LONG_PORTION = 1 << 17  # edges, at least, of one that is only sorted: its room is 2 MiB


class PortionScan:
    """Edges in buckets by their keys' leading digit, and the scan; parameters are `KruskalScan`'s.

    One pass copies every edge with its ends to the bucket of its digit. Then each launch scans a portion, which is some
    buckets, while the other threads sort the next portion's buckets in their caches and flag rows of chosen edges.
    Once few edges are chosen, those inside the giant component are dropped before a bucket is sorted.
    """

    def __init__(
        self, engine: Engine, edges: Edges, position: Array | None, flip: int, parent: Array, most: int, flags: Array
    ) -> None:
        self._engine, self._row = engine, edges.row
        self._parent, self._most, self._flags = parent, most, flags
        self._length = len(edges) if position is None else len(position)
        digit = min(_DIGIT_BITS, (self._length // _BUCKET).bit_length())
        leading, bits, self._weights = gather_leading_bits(engine, edges.key, position, flip, digit + _SORTED_BITS)
        digit = min(digit, bits)
        self._bits = bits - digit
        # The edges go into buckets block by block, so that the order within a bucket stays.
        block = block_length(engine, self._length)
        blocks = -(-self._length // block)
        counts = engine.xp.empty(blocks << digit, np.uint64)
        bounds = (self._length, block, self._bits, digit)
        engine.launch("count_leading", blocks, leading, *bounds, counts, blocks, grain=1)
        self._starts = np.empty((1 << digit) + 1, np.uint64)
        engine.launch_alone("place_buckets", counts, 1 << digit, blocks, self._starts)
        self._begins: list[int] = self._starts.tolist()
        self._stops = np.empty(1 << digit, np.uint64)
        self._records, self._ends = _two(engine, self._length)
        columns = (edges.source, edges.target, position, self._records, self._ends)
        engine.launch("scatter_edges", blocks, leading, *bounds, counts, blocks, *columns, grain=1)

    def check_ends(self, deferred: DeferredChecks) -> None:
        """Check the ends before the scan looks them up in `parent`: their low 32 bits, which are all it uses."""
        halves = self._ends.view(np.uint32)
        first, second = halves[: self._length], halves[self._length :]
        deferred.check_ends(self._engine, first, second, len(self._parent))

    def _sort_buckets(self) -> None:
        """Sort all buckets before any scan, in room for an eighth of the edges, or 2 MiB."""
        if not self._bits and self._weights[0] is None:
            return
        engine, buckets = self._engine, self._portions(max(_LONG_PORTION, -(-self._length // 8)))
        spare, other = self._room(buckets)
        nothing = (engine.xp.empty(0, np.uint32), engine.xp.zeros(1, np.uint64))  # chosen
        places = (self._ends, self._starts, self._stops)
        scan = (0, 0, self._most, self._parent, *nothing, 0, 0, self._row, self._flags)
        for first, last in pairwise(buckets):
            sort = (first, None, self._bits, *self._weights, self._records, spare, other)
            engine.launch("scan_portion", 2 + last - first, *places, *scan, *sort, grain=1)

    def _portions(self, least: int) -> list[int]:
        """First bucket of each portion of about `least` edges, and the end."""
        if not self._bits and self._weights[0] is None:
            return [0, len(self._begins) - 1]  # buckets are sorted already
        inner = [bisect_left(self._begins, mark) for mark in range(least, self._length, least)]
        return sorted({0, len(self._begins) - 1, *inner})

    def _room(self, buckets: list[int]) -> tuple[Array, Array]:
        """Make two columns as long as the longest portion."""
        longest = max(self._begins[after] - self._begins[bucket] for bucket, after in pairwise(buckets))
        return _two(self._engine, longest)

    def run(self) -> int:
        """Scan in ascending order until `most` edges are chosen; return the number of chosen edges."""
        engine = self._engine
        # A single thread sorts and scans in turn: longer portions, as far as its cache holds them.
        least = _PORTION if engine.threads > 1 else 4 * _PORTION
        buckets = self._portions(max(least, self._length // _PORTIONS))
        places = (self._ends, self._starts, self._stops)
        spare, other = self._room(buckets)
        chosen = engine.xp.empty(min(self._most, self._length), np.uint32)
        count = np.zeros(1, np.uint64)
        scanned = first = marked = joined = 0
        giant = None
        # Two launches more than portions: the first only sorts, the last only marks.
        for at in range(len(buckets) + 1):
            last = buckets[min(at + 1, len(buckets) - 1)]
            scan = (scanned, first, self._most, self._parent, chosen, count)
            mark = (marked, joined, self._row, self._flags)
            sort = (first, giant, self._bits, *self._weights, self._records, spare, other)
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
        vertex = self._ends[begin : end : -(-(end - begin) // _SAMPLE)] >> np.uint64(32)
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
MANY_THREADS = 4  # from which all threads take less time than one thread's scan, as bench/solver/span.py projects


class BlockScan(PortionScan):
    """Edges in buckets, sorted all at once, and the scan by all threads; parameters are `KruskalScan`'s."""

    def run(self) -> int:
        """Scan in ascending order until `most` edges are chosen; return the number of chosen edges."""
        engine, xp, length = self._engine, self._engine.xp, self._length
        self._sort_buckets()
        picked, totals = flag_words(engine, length), np.zeros(2, np.uint64)
        reserved = ones(engine, len(self._parent))
        room = (xp.empty(BLOCK, np.uint64), xp.empty(BLOCK, np.uint32))
        counts = (xp.empty(BLOCK // _CHUNK, np.uint32) for _ in range(2))
        bounds = (length, len(self._parent), self._most, _FIRST_ROUND)
        engine.launch_alone("scan_blocks", self._ends, *bounds, self._parent, reserved, *room, *counts, picked, totals)
        engine.launch("flag_picked", len(picked), picked, self._records, self._row, self._flags, grain=64)
        return int(totals[0])


SHORT = 1 << 13  # edges; measured: a portion scan on one thread is faster only above


class ShortScan:
    """Few edges on the host, and the scan; parameters are `KruskalScan`'s."""

    def __init__(
        self, engine: Engine, edges: Edges, position: Array | None, flip: int, parent: Array, most: int, flags: Array
    ) -> None:
        self._engine = engine
        key = gather_keys(engine, edges.key, position, flip)
        keys = (key, None) if key.dtype == np.uint32 else (None, key)
        ordered = [np.empty(len(key), np.uint64) for _ in range(2)]  # records and ends, each in either
        self._count = np.zeros(1, np.uint64)
        chosen = np.empty(min(most, len(key)), np.uint32)
        columns = (edges.source, edges.target, position, edges.row, *keys)
        self._arguments = (*columns, len(key), most, parent, *ordered, chosen, self._count, flags)

    def run(self) -> int:
        """Scan in ascending order until `most` edges are chosen; return the number of chosen edges."""
        self._engine.launch_alone("scan_short", *self._arguments)
        return int(self._count[0])


def scan_light(
    engine: Engine,
    edges: Edges,
    flip: int,
    position: Array | None,
    components: int,
    parent: Array,
    chosen: Array,
    trace: Trace,
    deferred: DeferredChecks | None = None,
) -> int:
    """Kruskal on the edges at `position` (``None``: all): sort, scan, flag the rows; the number of chosen edges."""
    length = len(edges) if position is None else len(position)
    if not length:
        trace.add(light=0, chosen=0, components=components)
        return 0
    arguments = (engine, edges, position, flip, parent, components - 1, chosen)
    scan: KruskalScan | ShortScan | PortionScan
    with trace.step("sort"):
        if not engine.on_host:  # the scan runs on the host
            scan = KruskalScan(*arguments)
        elif deferred is None and length <= SHORT:
            scan = ShortScan(*arguments)
        else:
            # One thread scans while the others sort; many threads first sort, then scan together.
            scan = (BlockScan if engine.threads >= MANY_THREADS and length > BLOCK else PortionScan)(*arguments)
            if deferred is not None:
                scan.check_ends(deferred)
    with trace.step("scan"):
        joined = scan.run()
    trace.add(light=length, chosen=joined, components=components - joined)
    return joined
