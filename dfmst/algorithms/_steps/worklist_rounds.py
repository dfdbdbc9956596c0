"""Borůvka's rounds over worklists of edges that carry the representatives of their ends.

A round has two steps: the edges that are the lightest of either end join them, then the edges inside a component are
dropped and the others offered to both ends. The number of edges left stays on the device.

``finish_records`` runs all rounds in one launch. All threads wait for each other behind each step, so that there are
only as many as the device holds at once. A long list keeps more of them busy: a GPU first runs two launches a round,
``join_records`` and ``offer_records``, and reads the length of the list behind every second round.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine

COUNTERS = 8  # edges in the first list; chosen edges, rounds, edges of the first round and of all; then those below
_TOGETHER = 1 << 22  # edges up to which a GPU runs all rounds in one launch
_LENGTHS = (0, 5)  # the places of the edges in both lists
_JOINED = 1  # the place of the chosen edges
_WAITING = 6  # the place of what threads wait for
_OFFERED = 4  # records that a thread of `offer_records` takes
_CLEAR_SHARE = 8  # with fewer vertices than this for each record, clearing all minima is cheaper than by record


class RecordRounds:
    """The buffers of all rounds, and the rounds.

    Attributes
    ----------
    records
        Two lists of records, two ``uint64`` words each.
    capacity
        Records that a list has room for.
    best
        Two arrays of the vertices' lightest records.
    counters
        What threads count, ``uint32``.
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
        """Make room for so many records; those that are there are lost."""
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
            table = self._table
            self._engine.launch(
                "finish_records",
                self.capacity,
                self.counters[_WAITING:],
                *self.records,
                self.capacity,
                table.weight,
                table.flip,
                shift,
                self._parent,
                self.best,
                table.vertices,
                self._chosen,
                self.counters,
            )
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
