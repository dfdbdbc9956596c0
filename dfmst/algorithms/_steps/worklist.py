"""The edges of one side of a threshold as records, which Borůvka's rounds run over.

A record is 16 bytes: two representatives, 32 bits of the key, and the row (_engines/kernels/filter_boruvka.cuh).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import end_words
from dfmst._engines.primitives.flags import FLAG_GRAIN, flag_length

_TAKEN = 8  # edges that a thread of `take_edges` takes
_SAMPLE = 1 << 14  # rows that tell how long the second list will be
_DEVIATIONS = 5  # by which it may be longer


class Side(NamedTuple):
    """The edges on one side of a threshold in the total order, and the span of their keys."""

    key: int  # the threshold: the last edge of the lower side
    row: int
    above: bool  # whether it is the upper side
    # A record holds ``(key - low) >> shift`` of a 64-bit key, in 32 bits: `low` is the least key of the span, `shift` a
    # number of bits. Only the speed depends on them.
    low: int
    shift: int


class Outcome(NamedTuple):
    """Counts of the rounds over a side's edges."""

    taken: int  # edges that joined two components at the beginning
    rounds: int  # rounds that had any edge
    joined: int  # edges that were chosen


class Worklist:
    """The buffers of all rounds; they grow if a list needs more room."""

    def __init__(self, engine: Engine, table: EdgeTable, capacity: int, chosen: Array) -> None:
        self._engine = engine
        self._table = table
        source, target, self._stride = end_words(table.source, table.target)
        self._ends = source, target
        self._chosen = chosen
        self.parent: Array = engine.xp.empty(table.vertices, np.uint32)
        self._rounds = RecordRounds(engine, table, self.parent, chosen, capacity)
        self._side = Side(0, 0, False, 0, 0)
        self._parts: tuple[bool, Array | None] = (False, None)
        self._begin(self.parent, chosen)

    def _begin(self, parent: Array | None, chosen: Array | None) -> None:
        """Clear the first round's minima and all counters; make every vertex a root, and clear the flags of rows."""
        vertices, words = self._table.vertices, 0 if chosen is None else len(chosen)
        columns = (parent, self._rounds.best[0], chosen, self._rounds.counters)
        self._engine.launch("begin_worklist", max(vertices, words, COUNTERS), vertices, words, *columns)
        self._begun = True

    def take(self, side: Side, flat: bool = False, giant: Array | None = None) -> None:
        """Fill the list with the edges of a side whose ends differ.

        With `flat`, every vertex points at its root; without, every vertex is a root. `giant` flags the vertices of a
        component with many edges.
        """
        self._side, self._parts = side, (flat, giant)
        if flat:
            self._make_room()
        self._take()

    def _make_room(self) -> None:
        """Let the buffers grow to the length that a sample predicts: a list that is too long is taken twice."""
        table, side = self._table, self._side
        sample = min(_SAMPLE, len(table))
        counted = self._engine.xp.zeros(1, np.uint32)
        columns = (*self._ends, self._stride, table.weight, table.flip, len(table), side.key, side.row, self.parent)
        self._engine.launch("count_survivors", sample, *columns, len(table) // sample, counted)
        hits = int(counted[0]) if side.above else 0
        wanted = math.ceil((hits + _DEVIATIONS * math.sqrt(hits + 1)) / sample * len(table))
        if wanted > self._rounds.capacity:
            self._rounds.reserve(min(wanted, len(table)))

    def _take(self) -> None:
        table, side, rounds, (flat, giant) = self._table, self._side, self._rounds, self._parts
        if not self._begun:
            self._begin(None, None)
        self._begun = False
        edges = (*self._ends, self._stride, table.weight, table.flip, len(table))
        bounds = (side.key, side.row, int(side.above), side.low, side.shift)
        listed = (rounds.best[0], rounds.records[0], rounds.capacity, rounds.counters[:1])
        parent = self.parent if flat else None
        self._engine.launch("take_edges", -(-len(table) // _TAKEN), *edges, *bounds, parent, giant, *listed)

    def component_of(self, row: int) -> Array:
        """Flags of the vertices in the component of a row's first end; every vertex points at its root.

        The threshold is an edge drawn at random, so that its ends are most likely in a giant component, if any.
        """
        vertices = self._table.vertices
        flags: Array = self._engine.xp.empty(flag_length(vertices), np.uint64)
        columns = (self.parent, vertices, self._ends[0], self._stride, row, flags)
        self._engine.launch("flag_beside", len(flags), *columns, grain=FLAG_GRAIN)
        return flags

    def solve(self) -> Outcome:
        """Run rounds until no edge of the list is left. A list that is too long for the buffers is taken once more."""
        rounds, shift = self._rounds, self._side.shift
        while True:
            length = rounds.shorten(shift)
            if length <= rounds.capacity:
                length, joined, count, taken = rounds.finish(shift)
                if length <= rounds.capacity:
                    return Outcome(taken, count, joined)
            rounds.reserve(length)
            self._take()


COUNTERS = 8  # edges in the first list; chosen edges, rounds, edges of the first round and of all; then those below
_TOGETHER = 1 << 22  # edges up to which a GPU runs all rounds in one launch
_LENGTHS = (0, 5)  # the places of the edges in both lists
_JOINED = 1  # the place of the chosen edges
_WAITING = 6  # the place of the barrier's counter
_OFFERED = 4  # records that a thread of `offer_records` takes
_CLEAR_SHARE = 8  # with fewer vertices than this for each record, clearing all minima is cheaper than by record


class RecordRounds:
    """The buffers of all rounds, and the rounds.

    ``records``: two lists of records, two ``uint64`` words each; ``capacity``: records that a list has room for;
    ``best``: two arrays of the vertices' lightest records; ``counters``: sums over all threads, ``uint32``.
    """

    def __init__(self, engine: Engine, table: EdgeTable, parent: Array, chosen: Array, capacity: int) -> None:
        self._engine, self._table = engine, table
        self._parent, self._chosen = parent, chosen
        self.best: Array = engine.xp.empty((2, table.vertices), np.uint64)
        self.counters: Array = engine.xp.empty(COUNTERS, np.uint32)
        self._prepared: dict[tuple[str, int, bool], Callable[[int], None]] = {}
        self._shift = 0
        self.reserve(capacity)

    def reserve(self, capacity: int) -> None:
        """Make room for `capacity` records; those in the lists are lost."""
        self.capacity = capacity
        self._prepared.clear()
        self.records: tuple[Array, ...] = ()  # free the old ones first
        self.records = tuple(self._engine.xp.empty(2 * capacity, np.uint64) for _ in range(2))

    def shorten(self, shift: int) -> int:
        """Run single rounds while the list is long, or until it is empty; return a bound of its length."""
        self._use(shift)
        most = self._most_together()
        length = min(self.capacity, len(self._table))
        if length <= most:
            return length
        length = int(self.counters[0])
        while most < length <= self.capacity:
            for now in (0, 1):
                self._round(now, length)
            length = int(self.counters[0])
        return length

    def _most_together(self) -> int:
        """Edges up to which all rounds are one launch."""
        if self._engine.on_host:
            return len(self._table)
        return _TOGETHER if self._engine.in_steps else 0

    def finish(self, shift: int) -> list[int]:
        """Run all rounds that are left; return the length of the list, the edges chosen, the rounds, the first length.

        A list that is longer than the buffers is left as it is.
        """
        if self._engine.in_steps:
            table, most = self._table, self.capacity
            first, second = self.records
            lists = (self.counters[_WAITING:], first, second, most, table.weight, table.flip, shift)
            columns = (self._parent, self.best, table.vertices, self._chosen, self.counters)
            self._engine.launch("finish_records", most, *lists, *columns)
        counted: list[int] = self.counters[:4].tolist()
        return counted

    def _use(self, shift: int) -> None:
        if shift != self._shift:
            self._prepared.clear()
        self._shift = shift

    def _round(self, now: int, bound: int) -> None:
        """Join, then offer the remaining edges to the roots. Two arrays of minima take turns, and so do two lists."""
        vertices = self._table.vertices
        by_records = _CLEAR_SHARE * bound < vertices
        self._launch("join_records", now, by_records)(bound if by_records else max(bound, vertices))
        self._launch("offer_records", now, False)(-(-bound // _OFFERED))

    def _launch(self, kernel: str, now: int, by_records: bool) -> Callable[[int], None]:
        """A launch of one of the two kernels; only the count changes from round to round."""
        prepared = self._prepared.get((kernel, now, by_records))
        if prepared is not None:
            return prepared
        records, best, table, then = self.records, self.best, self._table, 1 - now
        length, next_length = (self.counters[_LENGTHS[at] :][:1] for at in (now, then))
        arguments: tuple[Array | int | None, ...]
        if kernel == "join_records":
            cleared = 0 if by_records else table.vertices
            places = (self._parent, self._chosen, self.counters[_JOINED:], next_length)
            arguments = (records[now], length, best[now], best[then], cleared, *places)
        else:
            keys = (table.weight, table.flip, self._shift)
            arguments = (records[now], length, *keys, self._parent, best[then], records[then], next_length)
        prepared = self._prepared[kernel, now, by_records] = self._engine.prepare(kernel, *arguments)
        return prepared
