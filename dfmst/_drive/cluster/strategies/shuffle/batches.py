"""Batches of a group's rows, each of which becomes a sorted run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dfmst._common.types import Array
from dfmst._drive.cluster.device_tables import Table
from dfmst._drive.cluster.strategies.shuffle.left import encoded, leave_sorted, on_side
from dfmst._edges.encode import Encoder
from dfmst._engines import Engine
from dfmst._fold.buffer import RowBuffer, Rows
from dfmst._fold.runs import GRAIN, Run
from dfmst._fold.slices import SliceKruskal, forest_positions

_CUTS = 256  # keys in the index of a short run
_DROPS = 0.9  # share of a batch that is left, above which later batches are only sorted


class Batches:
    """Rows of tables in batches, each of which becomes a run.

    What cycles within a batch beat is dropped, as long as that drops enough.
    """

    def __init__(self, engine: Engine, encoder: Encoder, rows: int) -> None:
        self._engine, self._capacity = engine, rows
        self._buffer: RowBuffer | None = None
        self._drops = True
        self.encoder = encoder
        self.runs: list[Run] = []

    def add(self, table: Table) -> Iterator[Run]:
        """Take a table's rows; yield the runs that are full."""
        self.encoder, rows = encoded(self._engine, self.encoder, table)
        yield from self.add_rows(rows)

    def add_rows(self, rows: Rows) -> Iterator[Run]:
        """Take rows whose vertices are the encoder's; yield the runs that are full."""
        begin = 0
        while begin < len(rows):
            if self._buffer is None:
                self._buffer = RowBuffer(self._engine, self._capacity, rows.weight.dtype)
            end = min(len(rows), begin + self._buffer.free)
            self._buffer.append(on_side(self._engine, rows.part(begin, end)), None)
            begin = end
            if not self._buffer.free:
                yield from self.flush()

    def flush(self) -> Iterator[Run]:
        """Make a run of the batch, and yield it."""
        if self._buffer is None:
            return
        rows, self._buffer, positions = self._buffer.rows, None, None
        if self._drops:
            positions = self._forest(rows)
            self._drops = len(positions) <= _DROPS * len(rows)
        count = len(rows) if positions is None else len(positions)
        grain = min(GRAIN, max(1, count // _CUTS))
        self.runs.append(leave_sorted(self._engine, rows, positions, grain))
        yield self.runs[-1]

    def _forest(self, rows: Rows) -> Array:
        """Positions of a batch's forest; parents are only held for the range of vertices that it has."""
        if not self._engine.on_host:
            return forest_positions(self._engine, rows, 0)
        low = min(int(rows.source.min()), int(rows.target.min()))
        vertices = max(int(rows.source.max()), int(rows.target.max())) + 1 - low
        if low:
            rows = Rows(rows.source - np.uint32(low), rows.target - np.uint32(low), rows.weight, rows.locator)
        return SliceKruskal(self._engine, vertices, 0, rows.weight.dtype, 0).choose(rows).positions
