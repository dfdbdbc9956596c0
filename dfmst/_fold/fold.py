"""The fold: the forest of any number of rows, in a buffer of fixed size.

The forest of A and B is the forest of (the forest of A) and B. Rows arrive in ascending order and fill a buffer; a
full one is solved, and the forest stays at its beginning, in row order, so that position still decides between equal
weights. Once there is a forest, rows that it beats (:mod:`dfmst._engines.primitives.cycle_filter`) are dropped before
they enter.
"""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable, flip_bits
from dfmst._engines import Engine
from dfmst._engines.primitives.cycle_filter import CycleFilter
from dfmst._engines.primitives.edges import Edges, gather_keys
from dfmst._engines.primitives.flags import compact
from dfmst._fold.buffer import RowBuffer, Rows
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import solve_table
from dfmst.errors import CapacityError

_PIECE = 1 << 20  # rows filtered at a time: their levels and flags take little memory
_MOVED = 1 << 20  # rows moved at a time
_FULL = 4  # rows a vertex at which a buffer is solved, though it has room: the sooner there is a filter
_VERTEX_LIMIT = 1 << 32


class Fold:
    """Folds rows into their minimum spanning forest."""

    def __init__(
        self,
        engine: Engine,
        vertices: int,
        capacity: int,
        *,
        weight_dtype: np.dtype | type,
        maximum: bool = False,
        algorithm: str | Algorithm = "auto",
    ) -> None:
        self._engine, self._algorithm, self._maximum = engine, algorithm, maximum
        self._vertices = 0
        self._buffer = RowBuffer(engine, capacity, weight_dtype)
        self._forest = 0  # rows at the beginning that are a forest already
        self._filter: CycleFilter | None = None
        self.grow(vertices)

    def __len__(self) -> int:
        """Return the number of rows in the buffer."""
        return self._buffer.filled

    @property
    def vertices(self) -> int:
        """Exclusive upper bound of the vertices."""
        return self._vertices

    @property
    def nbytes(self) -> int:
        """Bytes that the fold holds between two solves."""
        return self._buffer.nbytes + (self._filter.nbytes if self._filter else 0)

    def grow(self, vertices: int) -> None:
        """Raise the bound of the vertices."""
        if vertices > _VERTEX_LIMIT:
            message = f"vertices up to {vertices - 1:,} were given; the fold numbers at most {_VERTEX_LIMIT:,}"
            raise CapacityError(message, "number the vertices densely first")
        if vertices > self._vertices:
            self._vertices = vertices
            if self._filter:
                self._filter.grow(vertices)

    def add(self, rows: Rows) -> None:
        """Add rows that come after all rows before them; their weights have the fold's type."""
        if len(rows):
            self.grow(1 + int(max(rows.source.max(), rows.target.max())))
        for begin in range(0, len(rows), _PIECE):
            self._take(rows.part(begin, min(begin + _PIECE, len(rows))))

    def forest(self) -> Rows:
        """Return the forest of all rows so far: views into the buffer, good until the next row is added."""
        self._solve()
        return self._buffer.part(0, self._forest)

    def _take(self, rows: Rows) -> None:
        count, positions = self._passing(rows)
        if count > self._wanted and self._buffer.filled > self._forest:
            self._solve()
            self._refilter()
            count, positions = self._passing(rows)
        if count <= self._buffer.free:
            self._buffer.append(rows, positions)
            return
        if not self._buffer.free:
            message = f"the forest fills the buffer of {self._buffer.filled:,} rows, and more rows come"
            raise CapacityError(message, f"fold into a larger buffer: twice the vertices ({self._vertices:,}) or more")
        length = len(rows)
        self._take(rows.part(0, length // 2))
        self._take(rows.part(length // 2, length))

    @property
    def _wanted(self) -> int:
        """Rows that go into the buffer before it is solved."""
        full = max(_FULL * self._vertices, _PIECE)
        return min(self._buffer.free, max(0, full - self._buffer.filled))

    def _passing(self, rows: Rows) -> tuple[int, Array | None]:
        """How many rows may enter the forest, and their positions (``None``: all)."""
        if self._filter is None:
            return len(rows), None
        flags = self._filter.passing(rows.source, rows.target, rows.weight, self._flip)
        positions = compact(self._engine, flags)
        return len(positions), positions

    def _solve(self) -> None:
        """Leave only the forest, in row order, at the buffer's beginning."""
        if self._buffer.filled == self._forest:
            return
        table = self._table()
        rows = solve_table(self._engine, table, self._algorithm)
        # Rows only move towards the beginning, so that a piece never lands on rows that wait to be moved.
        columns = self._buffer.rows.arrays
        for begin in range(0, len(rows), _MOVED):
            piece = rows[begin : begin + _MOVED]
            for column in columns:
                column[begin : begin + len(piece)] = column[piece]
        self._forest = self._buffer.filled = len(rows)

    def _refilter(self) -> None:
        """Make the filter of the new forest."""
        forest = self._buffer.part(0, self._forest)
        rows = self._engine.xp.arange(self._forest, dtype=np.uint32)
        key = gather_keys(self._engine, forest.weight, None, self._flip)
        self._filter = None  # its memory first
        if self._forest:
            edges = Edges(forest.source, forest.target, key, rows)
            self._filter = CycleFilter.of_forest(self._engine, edges, self._vertices)

    def _table(self) -> EdgeTable:
        rows = self._buffer.rows
        return EdgeTable(rows.source, rows.target, rows.weight, self._vertices, self._maximum)

    @property
    def _flip(self) -> int:
        return flip_bits(self._buffer.rows.weight.dtype, self._maximum)
