"""Filter-Borůvka: the lightest edges first, then the heavier ones whose ends still differ; each by Borůvka's rounds.

Made for GPUs: every step is flat over edges, and the table is read in place, one direction of every edge.

1. A sampled threshold in the total order (key, row), near the ``light`` · n lightest edges. Ties are split by row,
   so that equal weights cannot put everything in the light part. Small and sparse tables are one list.
2. Kernel ``take_edges`` reads the table once, lists the light edges as records of 16 bytes, and offers each to
   both ends on the way.
3. Rounds until the list is empty, all in one launch if it is not too long (see :class:`Worklist`): guarded atomic
   minima of packed (key, row) words, joins by the lightest edge of either end, path halving, representatives written
   back into the records, two arrays of minima in turns.
4. Pointer jumping, then 2 and 3 once more for the edges above the threshold whose ends still differ: most are dropped
   as they are read, by a bit a vertex for the giant component.

Worklists, one direction of each edge, filtering first, and guarded minima are the published ideas of Fallin, Gonzalez,
Seo and Burtscher (2023); order-preserving keys for every type, path halving and alternating minima those of their
solver's port to raft (pull request 3118). Both start from a symmetric CSR, which stores every edge twice.

Bytes moved, for m edges with ids of I and weights of W bytes, n vertices and l light edges:

* the table: m · W + l · 2I (in whole sectors of 32 bytes), then m · W + (m - l) · 2I;
* records: 16 to write one and 32 a round to read it twice. Over all rounds, a light edge is listed 1.9 times on roads,
  2.7 (1 edge a vertex) to 5.9 (8) times on random graphs and 3.4 times on R-MAT, an edge of the second list 1.0 to 1.2
  times;
* parents 4 n, two arrays of minima 16 n, the bits of the giant component n / 8, at least once each;
* flags of the rows: 3 m / 8 to clear, count and list them.

Finds and guarded minima, two of each a record and round, use a GPU's second-level cache if 12 n bytes fit in it.
Finds of offers read its first-level cache, too: no root is hooked in that step.
``bench/gpu/speed.py`` measures each step against this; ``bench/gpu/counts.py`` counts without a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.kernels import constants_of
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.edges import end_words, gather_keys
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact_at_once, count_set, flag_length, flag_words
from dfmst.algorithms._shared_steps import check_light, sampled_threshold
from dfmst.algorithms.base import Trace, chosen_rows

_SMALL = 1 << 22  # edges below which a GPU solves one list in the time that the host takes to begin another
_SMALL_DENSE = 1 << 20  # the same with so many edges a vertex that the second list leaves out most of them
_DENSE = 4  # edges a vertex
_SMALLEST = 1 << 15  # edges below which one list is solved although the caller has asked for two
_LEAST_LIGHT = 0.75  # edges a vertex from which random ones have a giant component that drops most others
_MOST_LIGHT = 0.5  # share of light edges above which filtering the rest no longer pays
_SPARE = 1.25  # room for light edges, as a multiple of those wanted: the sampled threshold is off by an eighth
_SAMPLE = 1024  # 64-bit keys whose span is about that of all
_LAST = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class FilterBoruvka:
    """Filter-Borůvka with a sampled threshold: the default on GPUs.

    Parameters
    ----------
    light
        Edges to solve first, as a multiple of the number of vertices. ``None`` picks it from the density: more
        light edges filter more of the heavy ones, which pays if there are many. Small and sparse tables are
        solved in one list.

    Notes
    -----
    **Differences from the paper**

    * The input is the edge table, each edge in one direction; ECL-MST starts from a symmetric CSR with both.
    * Weights of any type, 32 or 64 bits; theirs are 32-bit integers.
    * Two arrays of minima take turns, and representatives are found by path halving (as in raft's port).
    * The rounds of a list are one cooperative launch; theirs are launches of their own.
    * Ties go by row, and so does the threshold: equal weights cannot all fall on one side.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm="filter-boruvka")
    array([1, 2])

    References
    ----------
    Fallin, Gonzalez, Seo, Burtscher: A high-performance MST implementation for GPUs. SC 2023.
    """

    light: float | None = None

    def __post_init__(self) -> None:
        """Refuse a multiple that would leave the light part empty."""
        check_light(self.light)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        if not len(table):
            return chosen_rows(engine, flag_words(engine, 0))
        share = self._light_share(len(table), table.vertices)
        trace.round(vertices=table.vertices, edges=len(table))
        with trace.step("sample"):
            sides = _sides(engine, table, share)
        capacity = len(table) if share is None else math.ceil(min(1.0, _SPARE * share) * len(table))
        chosen = engine.xp.empty(flag_length(len(table)), np.uint64)
        work = Worklist(engine, table, capacity, chosen)
        components = self._solve(table.vertices, work, sides[0], trace)
        if len(sides) == 2 and components > 1:
            trace.round(vertices=components, edges=len(table))
            with trace.step("label"):
                flatten(engine, work.parent)
                giant = work.component_of(sides[0].row)
            components = self._solve(components, work, sides[1], trace, giant)
        if engine.on_host or not engine.in_steps:
            return chosen_rows(engine, chosen)
        return compact_at_once(engine, chosen, table.vertices - components, work.barrier).view(np.int64)

    @staticmethod
    def _solve(components: int, work: Worklist, side: Side, trace: Trace, giant: Array | None = None) -> int:
        """Take the edges of a side and solve them; return the number of components."""
        with trace.step("take"):
            work.take(side, giant)
        with trace.step("rounds"):
            taken, rounds, joined = work.solve()
        trace.add(taken=taken, rounds=rounds, chosen=joined, components=components - joined)
        return components - joined

    def _light_share(self, edges: int, vertices: int) -> float | None:
        """Share of the edges to solve first; ``None``: all of them.

        Random light edges, c a vertex, leave about 2 exp(-2c) of the heavy ones between two components. A light edge
        takes about four rounds and one of these a single one, so that the work is least near c = log(density) / 2.
        Counted on random graphs of 4 to 32 edges a vertex, it is within a tenth of the least; R-MAT graphs would do
        with fewer light edges, and take up to 1.4 times the least.
        """
        density = edges / vertices
        small = _SMALL if density < _DENSE else _SMALL_DENSE
        if edges < (small if self.light is None else _SMALLEST):
            return None
        light = self.light if self.light is not None else max(_LEAST_LIGHT, math.log(density) / 2)
        share = light / density
        return None if share > _MOST_LIGHT else share


def _sides(engine: Engine, table: EdgeTable, share: float | None) -> list[Side]:
    """The sides to solve one after the other: all edges, or those on either side of a sampled threshold."""
    if share is None:
        return [Side(_LAST, _LAST, False, *_spread(table, *_ends(engine, table)))]
    key, row, lowest, highest = sampled_threshold(engine, table.edges(), table.flip, share)
    return [Side(key, row, False, *_spread(table, lowest, key)), Side(key, row, True, *_spread(table, key, highest))]


def _spread(table: EdgeTable, low: int, high: int) -> tuple[int, int]:
    """Begin of a span of 64-bit keys, and the shift that leaves 32 bits of it, less a value for those outside."""
    if table.weight.dtype.itemsize == 4:
        return 0, 0
    return low, max(0, (high - low + 2).bit_length() - 32)


def _ends(engine: Engine, table: EdgeTable) -> tuple[int, int]:
    """Return the least and the greatest key of a sample; for keys of 32 bits they are not needed."""
    if table.weight.dtype.itemsize == 4:
        return 0, 0
    if table.span is not None:
        least, greatest = sorted(key ^ table.flip for key in table.span)
        return least, greatest
    drawn = engine.xp.ascontiguousarray(table.weight[:: max(1, len(table) // _SAMPLE)])
    keys = gather_keys(engine, drawn, None, table.flip)
    least, greatest = engine.xp.stack([keys.min(), keys.max()]).tolist()  # one read for both
    return least, greatest


_COUNTED = 1 << 14  # rows that predict the length of the second list
_DEVIATIONS = 5  # by which it may be longer
_TOGETHER = 1 << 22  # edges up to which a GPU runs all rounds in one launch
_NAMED = constants_of("filter_boruvka")  # places of the counters, and sizes


def threads_for(length: int, each: str) -> int:
    """Return the number of threads for a list; `each` names the constant of the kernels: edges that a thread takes."""
    return _NAMED["WARP"] * -(-length // (_NAMED["WARP"] * _NAMED[each]))


class Side(NamedTuple):
    """The edges on one side of a threshold in the total order, and the span of their keys."""

    key: int  # the threshold: the last edge of the lower side
    row: int
    above: bool  # whether it is the upper side
    # A record holds ``(key - low) >> shift`` of a 64-bit key, in 32 bits: `low` is the least key of the span, `shift` a
    # number of bits. Only the speed depends on them.
    low: int
    shift: int


class Worklist:
    """The buffers of all rounds over the edges of a side; they grow if a list needs more room.

    Two lists of records, two ``uint64`` words each, with room for `capacity` records; two arrays of the vertices'
    lightest records; counters by the names of the kernels' text. A record is 16 bytes: two representatives, 32 bits of
    the key, and the row (_engines/kernels/filter_boruvka.cuh).
    """

    def __init__(self, engine: Engine, table: EdgeTable, capacity: int, chosen: Array) -> None:
        self._engine, self._table, self._chosen = engine, table, chosen
        self._edges = (*end_words(table.source, table.target), table.weight, table.flip, len(table))
        self.parent: Array = engine.xp.empty(table.vertices, np.uint32)
        self._best: Array = engine.xp.empty((2, table.vertices), np.uint64)
        self._counters: Array = engine.xp.empty(_NAMED["COUNTERS"], np.uint32)
        self._prepared: dict[tuple[str, int, bool], Callable[[int], None]] = {}
        self._side = Side(0, 0, False, 0, 0)
        self._giant: Array | None = None
        self._reserve(capacity)
        self._begin(self.parent, chosen)
        self._earlier = 0  # edges chosen on the lower side

    @property
    def barrier(self) -> Array:
        """The word by which the threads of a kernel in steps wait for each other."""
        return self._counter("MET")

    def _counter(self, name: str) -> Array:
        return self._counters[_NAMED[name] :]

    def _reserve(self, capacity: int) -> None:
        """Make room for `capacity` records; those in the lists are lost."""
        self._capacity = capacity
        self._prepared.clear()
        self._records: tuple[Array, ...] = ()  # free the old ones first
        self._records = tuple(self._engine.xp.empty(2 * capacity, np.uint64) for _ in range(2))

    def _begin(self, parent: Array | None, chosen: Array | None) -> None:
        """Clear the first round's minima and all counters; make every vertex a root, and clear the flags of rows."""
        vertices, words = self._table.vertices, 0 if chosen is None else len(chosen)
        columns = (parent, self._best[0], chosen, self._counters)
        self._engine.launch("begin_worklist", max(vertices, words, len(self._counters)), vertices, words, *columns)
        self._begun = True

    def take(self, side: Side, giant: Array | None = None) -> None:
        """Fill the list with the edges of a side whose ends differ.

        Before the upper side, every vertex points at its root; before the lower one, every vertex is a root. `giant`
        flags the vertices of a component with many edges.
        """
        if side.shift != self._side.shift:
            self._prepared.clear()
        self._side, self._giant = side, giant
        if side.above:
            self._make_room()
        self._take()

    def _make_room(self) -> None:
        """Let the buffers grow to the length that a sample predicts: a list that is too long is taken twice."""
        rows, side = len(self._table), self._side
        sample = min(_COUNTED, rows)
        counted = self._engine.xp.zeros(1, np.uint32)
        columns = (*self._edges, side.key, side.row, self.parent)
        self._engine.launch("count_survivors", sample, *columns, rows // sample, counted)
        hits = int(counted[0])
        wanted = math.ceil((hits + _DEVIATIONS * math.sqrt(hits + 1)) / sample * rows)
        if wanted > self._capacity:
            self._reserve(min(wanted, rows))

    def _take(self) -> None:
        if not self._begun:
            self._begin(None, None)
        self._begun = False
        listed = (self._best[0], self._records[0], self._capacity, self._counter("FIRST"))
        columns = (*self._edges, *self._side, self.parent if self._side.above else None, self._giant, *listed)
        self._engine.launch("take_edges", threads_for(len(self._table), "TAKEN_EACH"), *columns)

    def component_of(self, row: int) -> Array:
        """Flag the vertices in the component of a row's first end; every vertex points at its root.

        The threshold is an edge drawn at random, so that its ends are most likely in a giant component, if any.
        """
        vertices = self._table.vertices
        flags: Array = self._engine.xp.empty(flag_length(vertices), np.uint64)
        columns = (self.parent, vertices, self._edges[0], self._edges[2], row, flags)
        self._engine.launch("flag_beside", len(flags), *columns, grain=FLAG_GRAIN)
        return flags

    def solve(self) -> tuple[int, int, int]:
        """Run rounds until the list is empty; return the edges in the first one, the rounds, and the edges chosen.

        A list that is too long for the buffers is taken once more.
        """
        while True:
            length = self._shorten()
            if length <= self._capacity:
                length, chosen, rounds, taken = self._finish()
                if length <= self._capacity:
                    joined, self._earlier = chosen - self._earlier, chosen
                    return taken, rounds, joined
            self._reserve(length)
            self._take()

    def _shorten(self) -> int:
        """Run single rounds while the list is long, or until it is empty; return a bound of its length."""
        length = min(self._capacity, len(self._table))
        together = _TOGETHER if self._engine.in_steps else 0
        if self._engine.on_host or length <= together:
            return length
        while together < (length := int(self._counter("FIRST")[0])) <= self._capacity:
            for now in (0, 1):
                self._round(now, length)
        return length

    def _finish(self) -> list[int]:
        """Run the remaining rounds; return the length of the list, all chosen edges, the rounds, the first length.

        A list that is longer than the buffers stays as it is.
        """
        if self._engine.in_steps:
            table, most = self._table, self._capacity
            first, second = self._records
            lists = (self.barrier, first, second, most, table.weight, table.flip, self._side.shift)
            columns = (self.parent, self._best, table.vertices, self._chosen, len(self._chosen), self._counters)
            self._engine.launch("finish_records", most, *lists, *columns)
        names = ("FIRST", "CHOSEN", "ROUNDS", "TAKEN")
        counted = self._counters[: 1 + _NAMED[names[-1]]].tolist()  # one read from the device
        if not self._engine.in_steps:
            counted[_NAMED["CHOSEN"]] = count_set(self._engine, self._chosen)
        return [counted[_NAMED[name]] for name in names]

    def _round(self, now: int, bound: int) -> None:
        """Join, then offer the remaining edges to the roots. Two arrays of minima take turns, and so do two lists."""
        vertices = self._table.vertices
        by_records = _NAMED["CLEAR_SHARE"] * bound < vertices
        self._launch("join_records", now, by_records)(bound if by_records else max(bound, vertices))
        self._launch("offer_records", now, False)(threads_for(bound, "OFFERED_EACH"))

    def _launch(self, kernel: str, now: int, by_records: bool) -> Callable[[int], None]:
        """Prepare a launch of one of the two kernels; only the count changes from round to round."""
        prepared = self._prepared.get((kernel, now, by_records))
        if prepared is not None:
            return prepared
        records, best, table, then = self._records, self._best, self._table, 1 - now
        length, next_length = map(self._counter, ("SECOND", "FIRST") if now else ("FIRST", "SECOND"))
        arguments: tuple[Array | int | None, ...]
        if kernel == "join_records":
            cleared = 0 if by_records else table.vertices
            places = (self.parent, self._chosen, self._counter("ROUNDS"), next_length)
            arguments = (records[now], length, best[now], best[then], cleared, *places)
        else:
            keys = (table.weight, table.flip, self._side.shift)
            arguments = (records[now], length, *keys, self.parent, best[then], records[then], next_length)
        prepared = self._prepared[kernel, now, by_records] = self._engine.prepare(kernel, *arguments)
        return prepared
