"""Folds: the forest of any number of rows, in bounded memory.

The forest of A and B is the forest of (the forest of A) and B. Rows arrive in ascending order of their locators. After
the first solve, rows that the forest beats (:mod:`dfmst._engines.primitives.kruskal_tree`) are dropped as they arrive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike

from dfmst._common.directories import SpillDirectory
from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable, flip_bits
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, gather_keys
from dfmst._engines.primitives.flags import compact
from dfmst._engines.primitives.kruskal_tree import CycleFilter
from dfmst._fold.budget import RunBudget
from dfmst._fold.buffer import RowBuffer, Rows
from dfmst._fold.runs import GRAIN, Order, Run, new_run, read_pieces, write_sorted
from dfmst._fold.slices import Chosen, LevelMarks, SliceKruskal, concat_spans, cut_runs
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import solve_table
from dfmst.errors import CapacityError

_MOVED = 1 << 20  # rows moved at a time
_FULL = 4  # rows a vertex at which a buffer is solved even if it has room: an early filter saves time
_VERTEX_LIMIT = 1 << 32
_PIECE = 1 << 18  # rows of a run that are read or merged at a time
_SLICES = 4  # slices of a full buffer: shorter ones need more reads, longer ones leave more of the buffer empty
_CUTS = 2048  # places at which a run as long as the buffer can be cut: many more than there are runs
_LEAST_GRAIN = 16  # rows


class Fold(ABC):
    """Folds rows into their minimum spanning forest; `vertices` is an exclusive upper bound of their ends."""

    piece: ClassVar[int]  # rows filtered at a time: their levels and flags take little memory

    def __init__(self, engine: Engine, weight_dtype: DTypeLike, *, maximum: bool) -> None:
        self._engine, self._maximum = engine, maximum
        self._flip = flip_bits(np.dtype(weight_dtype), maximum)
        self._filter: CycleFilter | None = None
        self.vertices = 0

    def add(self, rows: Rows) -> None:
        """Add rows that come after all rows before them; their weights have the fold's type."""
        if len(rows):
            self.grow(1 + int(max(rows.source.max(), rows.target.max())))
        for begin in range(0, len(rows), self.piece):
            self._take(rows.part(begin, min(begin + self.piece, len(rows))))

    def merge(self, forest: Rows | Run) -> None:
        """Add the forest of another fold, whose rows come after all rows before them."""
        for rows in read_pieces(forest):
            self.add(rows)

    @abstractmethod
    def forest(self) -> Rows | Run:
        """Return the forest of all rows so far, in the order of their locators."""

    def grow(self, vertices: int) -> None:
        """Raise the bound of the vertices."""
        if vertices > _VERTEX_LIMIT:
            message = f"vertices up to {vertices - 1:,} were given; a fold numbers at most {_VERTEX_LIMIT:,}"
            raise CapacityError(message, "number the vertices densely first")
        if vertices > self.vertices:
            self.vertices = vertices
            if self._filter:
                self._filter.grow(vertices)

    @abstractmethod
    def _take(self, rows: Rows) -> None: ...

    def _passing(self, rows: Rows) -> Array | None:
        """Positions of the rows that may enter the forest (``None``: all)."""
        if self._filter is None:
            return None
        return compact(self._engine, self._filter.passing(rows.source, rows.target, rows.weight, self._flip))


class BufferFold(Fold):
    """A fold in a buffer of fixed size: when it is full, only the forest stays in it, in row order."""

    piece = 1 << 20

    def __init__(
        self,
        engine: Engine,
        vertices: int,
        capacity: int,
        *,
        weight_dtype: DTypeLike,
        maximum: bool = False,
        algorithm: str | Algorithm = "auto",
    ) -> None:
        super().__init__(engine, weight_dtype, maximum=maximum)
        self._algorithm = algorithm
        self._buffer = RowBuffer(engine, capacity, weight_dtype)
        self._solved = 0  # rows at the beginning that are a forest already
        self.grow(vertices)

    def __len__(self) -> int:
        return self._buffer.filled

    def forest(self) -> Rows:
        """Return the forest of all rows so far: views into the buffer, valid until the next row is added."""
        self._solve()
        return self._buffer.part(0, self._solved)

    def _take(self, rows: Rows) -> None:
        positions = self._passing(rows)
        count = len(rows) if positions is None else len(positions)
        if count > self._wanted and self._buffer.filled > self._solved:
            self._solve()
            self._refilter()
            self._take(rows)
        elif count <= self._buffer.free:
            self._buffer.append(rows, positions)
        elif not self._buffer.free:
            message = f"the forest fills the buffer of {self._buffer.filled:,} rows, and more rows come"
            raise CapacityError(message, f"fold into a larger buffer: twice the vertices ({self.vertices:,}) or more")
        else:
            half = len(rows) // 2
            self._take(rows.part(0, half))
            self._take(rows.part(half, len(rows)))

    @property
    def _wanted(self) -> int:
        """Rows that go into the buffer before it is solved."""
        full = max(_FULL * self.vertices, self.piece)
        return min(self._buffer.free, max(0, full - self._buffer.filled))

    def _solve(self) -> None:
        """Leave only the forest, in row order, at the buffer's beginning."""
        if self._buffer.filled == self._solved:
            return
        every = self._buffer.rows
        table = EdgeTable(every.source, every.target, every.weight, self.vertices, self._maximum)
        rows = solve_table(self._engine, table, self._algorithm)
        # Rows only move towards the beginning, so that a piece never overwrites rows that have not moved yet.
        for begin in range(0, len(rows), _MOVED):
            piece = rows[begin : begin + _MOVED]
            for column in every.arrays:
                column[begin : begin + len(piece)] = column[piece]
        self._solved = self._buffer.filled = len(rows)

    def _refilter(self) -> None:
        forest = self._buffer.part(0, self._solved)
        rows = self._engine.xp.arange(self._solved, dtype=np.uint32)
        key = gather_keys(self._engine, forest.weight, None, self._flip)
        self._filter = None  # free its memory first
        if self._solved:
            edges = Edges(forest.source, forest.target, key, rows)
            self._filter = CycleFilter.of_forest(self._engine, edges, self.vertices)


class RunFold(Fold):
    """A fold in sorted runs, on disk or (without a directory) in memory.

    A full buffer is sorted by weight and becomes a run. When the runs hold several rows a vertex, they are cut into
    slices of ascending weight, which Kruskal's algorithm solves with 4 bytes a vertex; the forest is a run again.
    Sorted runs can be cut exactly, whatever the order of the rows, the weights' distribution and their ties; slices by
    sampled thresholds cannot.
    """

    piece = _PIECE

    def __init__(
        self,
        engine: Engine,
        directory: SpillDirectory | None,
        budget: RunBudget,
        vertices: int,
        weight_dtype: DTypeLike,
        *,
        maximum: bool = False,
    ) -> None:
        super().__init__(engine, weight_dtype, maximum=maximum)
        self._directory, self._budget, self._weight = directory, budget, np.dtype(weight_dtype)
        self._ascending = Order("weight", self._flip)
        self._capacity = budget.run_rows(vertices)
        # Slices of a short buffer would be longer than they should be, or a grain long.
        self._grain = min(GRAIN, max(_LEAST_GRAIN, budget.slice_rows(vertices) // _CUTS))
        self._buffer: RowBuffer | None = None
        self._runs: list[Run] = []

    def move_to(self, budget: RunBudget) -> None:
        """Continue with another budget, and any number of vertices that fit it."""
        self._write()
        self._buffer, self._budget, self._capacity = None, budget, budget.run_rows(budget.most_vertices)

    def forest(self) -> Run:
        """Return the forest of all rows, in the order of their locators; the fold ends."""
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
        """Return the forest of all rows so far by ascending weight, valid until the next row is added."""
        self._write()
        self._buffer = None
        self._solve()
        return self._runs[0]

    def ascending(self) -> Run:
        """Return the forest of all rows by ascending weight; the fold ends."""
        forest, self._runs, self._filter = self.so_far(), [], None
        return forest

    def _take(self, rows: Rows) -> None:
        positions = self._passing(rows)
        begin, count = 0, len(rows) if positions is None else len(positions)
        while begin < count:
            if self._buffer is None:
                self._buffer = RowBuffer(self._engine, self._capacity, self._weight)
            end = min(count, begin + self._buffer.free)
            part = (rows.part(begin, end), None) if positions is None else (rows, positions[begin:end])
            self._buffer.append(*part)
            begin = end
            if not self._buffer.free:
                self._write()
                if self._is_full():
                    self._buffer = None  # free its memory first
                    self._solve()

    def _write(self) -> None:
        if self._buffer and self._buffer.filled:
            self._runs.append(self._new_run(self._ascending))
            write_sorted(self._engine, self._runs[-1], self._ascending, self._buffer.rows)
            self._buffer.filled = 0

    def _is_full(self) -> bool:
        """Whether the runs hold several rows a vertex, or are too many to be cut into short slices."""
        rows = sum(map(len, self._runs))
        runs = self._budget.slice_rows(self.vertices) // (2 * _SLICES * self._grain)
        return rows >= self._budget.most_rows(self.vertices, self._capacity) or len(self._runs) >= max(2, runs)

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
        """Solve the runs slice by slice; each result is valid until the next."""
        capacity = self._budget.slice_rows(self.vertices)
        kruskal = SliceKruskal(self._engine, self.vertices, capacity, self._weight, self._flip)
        for chosen in kruskal.solve_runs(self._runs, max(1, capacity // _SLICES)):
            if levels and len(chosen.rows):
                levels.mark(kruskal.parent, self._heaviest(chosen.rows))
            yield chosen

    def _heaviest(self, rows: Rows) -> int:
        pieces = (rows.weight[begin : begin + _PIECE] for begin in range(0, len(rows), _PIECE))
        return max(int(gather_keys(self._engine, piece, None, self._flip).max()) for piece in pieces)

    def _merged(self, parts: list[Run], order: Order) -> Run:
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
        return new_run(self._engine, self._directory, order, self._weight, self._grain)

    def _clear(self) -> None:
        for run in self._runs:
            run.remove()
        self._runs = []
