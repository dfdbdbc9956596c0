"""The edges of one side of a threshold as records, which Borůvka's rounds run over.

A record is 16 bytes: two representatives, 32 bits of the key, and the row (_engines/kernels/filter_boruvka.cuh).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import end_words
from dfmst._engines.primitives.flags import FLAG_GRAIN, flag_length
from dfmst.algorithms._steps.worklist_rounds import COUNTERS, RecordRounds

_TAKEN = 8  # edges that a thread of `take_edges` takes
_SAMPLE = 1 << 14  # rows that tell how long the second list will be
_DEVIATIONS = 5  # by which it may be longer


class Side(NamedTuple):
    """The edges on one side of a threshold in the total order, and the span of their keys.

    Attributes
    ----------
    key, row
        The threshold: the last edge of the lower side.
    above
        Whether it is the upper side.
    low, shift
        A record holds ``(key - low) >> shift`` of a 64-bit key, in 32 bits: `low` is the least key of the span, `shift`
        a number of bits. Only the speed depends on them.
    """

    key: int
    row: int
    above: bool
    low: int
    shift: int


class Outcome(NamedTuple):
    """What the rounds over a side's edges did.

    Attributes
    ----------
    taken
        Edges that joined two components at the beginning.
    rounds
        Rounds that had any edge.
    joined
        Edges that were chosen.
    """

    taken: int
    rounds: int
    joined: int


class Worklist:
    """The buffers of all rounds; they grow where a list needs more room."""

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
        component that many edges lie in.
        """
        self._side, self._parts = side, (flat, giant)
        if flat:
            self._make_room()
        self._take()

    def _make_room(self) -> None:
        """Let the buffers grow to what a sample of the edges asks for: a list that is too long is taken twice."""
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
        self._engine.launch(
            "take_edges",
            -(-len(table) // _TAKEN),
            *self._ends,
            self._stride,
            table.weight,
            table.flip,
            len(table),
            side.key,
            side.row,
            int(side.above),
            side.low,
            side.shift,
            self.parent if flat else None,
            giant,
            rounds.best[0],
            rounds.records[0],
            rounds.capacity,
            rounds.counters[:1],
        )

    def component_of(self, row: int) -> Array:
        """Flags of the vertices in the component of a row's first end, where every vertex points at its root.

        An end of the threshold, an edge drawn at random, most likely lies in the giant component where there is one.
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
