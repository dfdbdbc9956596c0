"""Borůvka's rounds over worklists of edges that carry the representatives of their ends.

A record is 16 bytes: two representatives, 32 bits of the key, and the row (kernels/filter_boruvka.cuh). A round is two
launches: ``join_records`` joins the ends of the edges that are the lightest of either, and ``offer_records`` drops the
edges inside a component and offers the others to both ends. How many are left stays on the device, where the next
launch reads it; the host reads it once in two rounds, and gives launches a bound that may be a round old.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from dfmst.edges import EdgeTable
from dfmst.engines import Engine
from dfmst.typing import Array

__all__ = ["Side", "Worklist"]

_NONE = np.uint64(np.iinfo(np.uint64).max)
_ROUNDS_PER_READ = 2
_COUNTERS = 128  # one of the edges taken, two a round: a round halves the components at least, so there are up to 33
_TAKEN = 8  # edges that a thread of `take_edges` takes
_OFFERED = 4  # records that a thread of `offer_records` takes
_CLEAR_SHARE = 4  # records per vertex, inverted, from which clearing all minima is cheaper than those of the records


class Side(NamedTuple):
    """The edges on one side of a threshold in the total order, and what spreads their keys over 32 bits.

    Attributes
    ----------
    key, row
        The threshold: the last edge of the lower side.
    above
        Whether the upper side is meant.
    low, shift
        Where 64-bit keys begin to be told apart by 32 bits, and in steps of 2 to the how many. Only the speed depends
        on it.
    """

    key: int
    row: int
    above: bool
    low: int
    shift: int


class Worklist:
    """The buffers of all rounds; they only grow.

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
        self._reserve(capacity)
        self._counters = engine.xp.empty(_COUNTERS, np.uint32)
        self._side = Side(0, 0, False, 0, 0)

    def take(self, side: Side, flat: bool) -> int:
        """Fill the list with the edges of a side whose ends differ; how many.

        `flat` tells that every vertex points at its root. A list that turns out too long for the buffers is taken
        again, once they have grown.
        """
        self._side = side
        length = self._take(flat)
        if length > self._capacity:
            self._reserve(length)
            length = self._take(flat)
        return length

    def _take(self, flat: bool) -> int:
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
            self._best[0],
            self._records[0],
            self._capacity,
            self._counters[:1],
        )
        return int(self._counters[0])

    def solve(self, length: int) -> tuple[int, int]:
        """Run rounds until no edge of the list is left; how many rounds, and how many edges were chosen."""
        rounds, chosen = 0, 0
        while length:
            for _ in range(_ROUNDS_PER_READ):
                self._round(rounds, length)
                rounds += 1
            read = self._counters[2 * (rounds - _ROUNDS_PER_READ) + 1 : 2 * rounds + 1].tolist()
            chosen += sum(read[::2])
            empty = next((at for at, left in enumerate(read[1::2]) if not left), None)
            length = read[-1]
            if empty is not None:
                rounds += empty + 1 - _ROUNDS_PER_READ
        return rounds, chosen

    def _round(self, number: int, bound: int) -> None:
        """Join, then offer what is left to the roots: the minima alternate between two arrays, and so do the lists."""
        now, then = number % 2, 1 - number % 2
        best, records, table = self._best, self._records, self._table
        length, joined, left = (self._counters[2 * number + at : 2 * number + at + 1] for at in range(3))
        by_records = _CLEAR_SHARE * bound < table.vertices
        other = best[then] if by_records else None
        self._engine.launch(
            "join_records", bound, records[now], length, best[now], other, self.parent, self._chosen, joined
        )
        if not by_records:
            best[then].fill(_NONE)
        keys = (table.weight, table.flip, self._side.shift)
        self._engine.launch(
            "offer_records",
            -(-bound // _OFFERED),
            *(records[now], length, *keys, self.parent, best[then], records[then], left),
        )

    def _reserve(self, capacity: int) -> None:
        self._capacity = capacity
        self._records: tuple[Array, ...] = ()  # free the old ones first
        self._records = tuple(self._engine.xp.empty(2 * capacity, np.uint64) for _ in range(2))


def _words(table: EdgeTable) -> tuple[tuple[Array, Array], int]:
    """The end columns as 32-bit words, and how many of them an id takes: vertices lie below 2^32."""
    stride = table.source.dtype.itemsize // 4
    first = stride - 1 if sys.byteorder == "big" else 0
    return (table.source.view(np.uint32)[first:], table.target.view(np.uint32)[first:]), stride
