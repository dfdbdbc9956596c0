"""Borůvka's rounds over worklists of edges that carry the representatives of their ends.

A record is 16 bytes: two representatives, 32 bits of the key, and the row (_kernels/filter_boruvka.cuh). A round is two
launches: ``join_records`` joins the ends of the edges that are the lightest of either, and ``offer_records`` drops the
edges inside a component and offers the others to both ends. The number of edges left stays on the device, where the
next launch reads it; the host reads it once in two rounds, or in four where the list is short, so that its bound for a
launch may be some rounds old.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dfmst._columns.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst.typing import Array

__all__ = ["Side", "Worklist"]

_NONE = np.uint64(np.iinfo(np.uint64).max)
_ROUNDS_PER_READ = 2  # one in each direction between the two lists
_SHORT = 1 << 20  # edges up to which a GPU runs two rounds more, perhaps for nothing, in the time of a read
_COUNTERS = 4  # edges in each list, chosen edges, rounds
_TAKEN = 8  # edges that a thread of `take_edges` takes
_OFFERED = 4  # records that a thread of `offer_records` takes
_CLEAR_SHARE = 8  # with fewer vertices than this for each record, clearing all minima is cheaper than by record


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


class Worklist:
    """The buffers of all rounds; they grow where a list needs more room.

    Parameters
    ----------
    engine
        Where the columns live.
    table
        The edges.
    capacity
        Records to have room for at first.
    chosen
        Flags of the forest's rows; set by the rounds.
    """

    def __init__(self, engine: Engine, table: EdgeTable, capacity: int, chosen: Array) -> None:
        self._engine = engine
        self._table = table
        self._ends, self._stride = _words(table)
        self._chosen = chosen
        self.parent: Array = engine.xp.arange(table.vertices, dtype=np.uint32)
        self._best = engine.xp.empty((2, table.vertices), np.uint64)
        self._prepared: dict[tuple[str, int, bool], Callable[[int], None]] = {}
        self._reserve(capacity)
        self._counters = engine.xp.empty(_COUNTERS, np.uint32)
        self._side = Side(0, 0, False, 0, 0)

    def take(self, side: Side, flat: bool = False, giant: Array | None = None) -> int:
        """Fill the list with the edges of a side whose ends differ; how many there are.

        With `flat`, every vertex points at its root; without, every vertex is a root. `giant` flags the vertices of a
        component that many edges lie in. Where the list is too long for the buffers, they grow, and it is filled again.
        """
        if side.shift != self._side.shift:
            self._prepared.clear()
        self._side = side
        length = self._take(flat, giant)
        if length > self._capacity:
            self._reserve(length)
            length = self._take(flat, giant)
        return length

    def _take(self, flat: bool, giant: Array | None) -> int:
        table, side = self._table, self._side
        self._counters.fill(0)
        self._best[0].fill(_NONE)
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
            self._best[0],
            self._records[0],
            self._capacity,
            self._counters[:1],
        )
        return int(self._counters[0])

    def solve(self, length: int) -> tuple[int, int]:
        """Run rounds until no edge of the list is left; the numbers of rounds and of chosen edges."""
        read = [length, 0, 0, 0]
        while read[0]:
            twice = not self._engine.on_host and read[0] <= _SHORT
            for number in range(_ROUNDS_PER_READ << twice):
                self._round(number % 2, read[0])
            read = self._counters.tolist()
        return read[3], read[2]

    def _round(self, now: int, bound: int) -> None:
        """Join, then offer the remaining edges to the roots. Two arrays of minima take turns, and so do two lists."""
        by_records = _CLEAR_SHARE * bound < self._table.vertices
        self._launch("join_records", now, by_records)(bound)
        if not by_records:
            self._best[1 - now].fill(_NONE)
        self._launch("offer_records", now, False)(-(-bound // _OFFERED))

    def _launch(self, kernel: str, now: int, by_records: bool) -> Callable[[int], None]:
        """A launch of one of the two kernels; only the count changes from round to round."""
        prepared = self._prepared.get((kernel, now, by_records))
        if prepared is not None:
            return prepared
        records, best, table, then = self._records, self._best, self._table, 1 - now
        length, next_length = (self._counters[at : at + 1] for at in (now, then))
        joined = self._counters[2:]
        arguments: tuple[Array | int | None, ...]
        if kernel == "join_records":
            other = best[then] if by_records else None
            arguments = (records[now], length, best[now], other, self.parent, self._chosen, joined, next_length)
        else:
            keys = (table.weight, table.flip, self._side.shift)
            arguments = (records[now], length, *keys, self.parent, best[then], records[then], next_length)
        prepared = self._prepared[kernel, now, by_records] = self._engine.prepare(kernel, *arguments)
        return prepared

    def _reserve(self, capacity: int) -> None:
        self._capacity = capacity
        self._prepared.clear()
        self._records: tuple[Array, ...] = ()  # free the old ones first
        self._records = tuple(self._engine.xp.empty(2 * capacity, np.uint64) for _ in range(2))


def _words(table: EdgeTable) -> tuple[tuple[Array, Array], int]:
    """The end columns as 32-bit words, and how many of them an id takes: vertices lie below 2^32."""
    stride = table.source.dtype.itemsize // 4
    first = stride - 1 if sys.byteorder == "big" else 0
    return (table.source.view(np.uint32)[first:], table.target.view(np.uint32)[first:]), stride
