"""The fold in runs: the forest of any number of rows, in little memory or on disk, where it need not fit the memory.

Rows arrive in ascending order and fill a buffer. A full one is sorted by weight and written as a run; the runs together
are what the buffer of :class:`dfmst._fold.fold.Fold` is. When they hold several rows for each vertex, they are
solved: cut into slices of the total order, which Kruskal's algorithm takes in ascending order
(:mod:`dfmst._fold.slice_kruskal`), so that 4 bytes a vertex are enough. The forest is a run again, and from then on
rows that it beats are dropped as they arrive.

Sorted runs are an external merge sort's. They were preferred to slices by sampled thresholds because they can be cut
exactly where they must, whatever the order of the rows, the weights' distribution and their ties.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike

from dfmst._edges.edge_table import flip_bits
from dfmst._engines import Engine
from dfmst._engines.primitives.cycle_filter import CycleFilter
from dfmst._engines.primitives.edges import gather_keys
from dfmst._engines.primitives.flags import compact
from dfmst._fold.buffer import RowBuffer, Rows
from dfmst._fold.cuts import concat_spans, cut_runs
from dfmst._fold.disk_memory import HeldRoom, Room
from dfmst._fold.held import HeldRun
from dfmst._fold.levels import LevelMarks
from dfmst._fold.runs import GRAIN, Order, Run, write_sorted
from dfmst._fold.slice_kruskal import Chosen, SliceKruskal
from dfmst.formats.directories import SpillDirectory

_PIECE = 1 << 18  # rows filtered, or read, at a time
_SLICES = 4  # of a full buffer: shorter ones are read in more steps, longer ones leave more of it empty
_CUTS = 2048  # places at which a run as long as the buffer can be cut: many more than there are runs
_LEAST_GRAIN = 16  # rows


class SpillFold:
    """Folds rows into their minimum spanning forest, on disk."""

    def __init__(
        self,
        engine: Engine,
        directory: SpillDirectory | None,
        room: Room | HeldRoom,
        vertices: int,
        weight_dtype: DTypeLike,
        *,
        maximum: bool = False,
    ) -> None:
        self._engine, self._directory, self._room = engine, directory, room
        self._weight = np.dtype(weight_dtype)
        self._flip = flip_bits(self._weight, maximum)
        self._ascending = Order("weight", self._flip)
        self._capacity = room.run_rows(vertices)
        # Slices of a short buffer would be longer than they should be, or a grain long.
        self._grain = min(GRAIN, max(_LEAST_GRAIN, room.slice_rows(vertices) // _CUTS))
        self._buffer: RowBuffer | None = None
        self._runs: list[Run] = []
        self._filter: CycleFilter | None = None
        self.vertices = 0

    def add(self, rows: Rows) -> None:
        """Add rows that come after all rows before them; their weights have the fold's type."""
        if len(rows):
            self._grow(1 + int(max(rows.source.max(), rows.target.max())))
        for begin in range(0, len(rows), _PIECE):
            self._take(rows.part(begin, min(begin + _PIECE, len(rows))))

    def move_to(self, room: Room | HeldRoom) -> None:
        """Go on in other memory, with any number of vertices that fit it."""
        self._write()
        self._buffer, self._room = None, room
        self._capacity = room.run_rows(room.most_vertices)

    def forest(self) -> Run:
        """Return the forest of all rows, in the order of their locators; the fold is at its end."""
        self._write()
        self._buffer = self._filter = None
        order = Order("locator")
        parts: list[Run] = []
        for chosen in self._choose(None):
            if len(chosen.positions):
                parts.append(self._new_run(order))
                write_sorted(self._engine, parts[-1], order, *chosen)
        self._clear()
        return self._merged(parts, order)

    def so_far(self) -> Run:
        """Return the forest of all rows so far by ascending weight, good until the next row is added."""
        self._write()
        self._buffer = None
        self._solve()
        return self._runs[0]

    def ascending(self) -> Run:
        """Return the forest of all rows by ascending weight; the fold is at its end."""
        forest = self.so_far()
        self._runs, self._filter = [], None
        return forest

    def _grow(self, vertices: int) -> None:
        if vertices > self.vertices:
            self.vertices = vertices
            if self._filter:
                self._filter.grow(vertices)

    def _take(self, rows: Rows) -> None:
        positions = self._engine.xp.arange(len(rows), dtype=np.uint32)
        if self._filter:
            positions = compact(self._engine, self._filter.passing(*rows[:3], self._flip))
        while len(positions):
            if self._buffer is None:
                self._buffer = RowBuffer(self._engine, self._capacity, self._weight)
            free = self._buffer.free
            self._buffer.append(rows, positions[:free])
            positions = positions[free:]
            if not self._buffer.free:
                self._write()
                if self._is_full():
                    self._buffer = None  # its memory first
                    self._solve()

    def _write(self) -> None:
        """Write the buffer's rows as a run."""
        if self._buffer and self._buffer.filled:
            self._runs.append(self._new_run(self._ascending))
            write_sorted(self._engine, self._runs[-1], self._ascending, self._buffer.rows)
            self._buffer.filled = 0

    def _is_full(self) -> bool:
        """Whether the runs hold several rows a vertex, or are so many that slices could not be cut short."""
        rows = sum(map(len, self._runs))
        runs = self._room.slice_rows(self.vertices) // (2 * _SLICES * self._grain)
        return rows >= self._room.most_rows(self.vertices, self._capacity) or len(self._runs) >= max(2, runs)

    def _solve(self) -> None:
        """Leave only the forest, as a run, and make its filter."""
        self._filter = None
        levels = LevelMarks(self._engine, self.vertices)
        forest = self._new_run(self._ascending)
        for chosen in self._choose(levels):
            write_sorted(self._engine, forest, self._ascending, *chosen)
        self._clear()
        self._runs.append(forest)
        self._filter = levels.filter()

    def _choose(self, levels: LevelMarks | None) -> Iterator[Chosen]:
        """Solve the runs slice by slice; what is yielded is good until the next."""
        capacity = self._room.slice_rows(self.vertices)
        kruskal = SliceKruskal(self._engine, self.vertices, capacity, self._weight, self._flip)

        for chosen in kruskal.solve_runs(self._runs, max(1, capacity // _SLICES)):
            if levels and len(chosen.rows):
                levels.mark(kruskal.parent, self._heaviest(chosen.rows))
            yield chosen

    def _heaviest(self, rows: Rows) -> int:
        pieces = (rows.weight[begin : begin + _PIECE] for begin in range(0, len(rows), _PIECE))
        return max(int(gather_keys(self._engine, piece, None, self._flip).max()) for piece in pieces)

    def _merged(self, parts: list[Run], order: Order) -> Run:
        """One run of several; these go."""
        if len(parts) == 1:
            return parts[0]
        merged = self._new_run(order)
        for spans in cut_runs(parts, _PIECE):
            write_sorted(self._engine, merged, order, concat_spans(parts, spans))
            for part, (_, end) in zip(parts, spans, strict=True):
                part.release(end)
        for part in parts:
            part.remove()
        return merged

    def _new_run(self, order: Order) -> Run:
        if self._directory is None:
            return HeldRun(self._engine, order, self._weight, self._grain)
        return Run(self._engine, self._directory, order, self._weight, self._grain)

    def _clear(self) -> None:
        for run in self._runs:
            run.remove()
        self._runs = []
