"""The edge table: two columns of dense vertices and one of weights, in the total order (weight, row)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array
from dfmst._edges.vertices import Vertices
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import FLAG_GRAIN, flag_length


class ChecksFailed(Exception):
    """Unchecked columns proved invalid; read the table again with all checks."""


class DeferredChecks:
    """Checks that an algorithm makes in its first pass over a column: cells that it sets if an entry is invalid."""

    @cached_property
    def missing(self) -> Array:
        """1 if a weight is NaN; ``uint32`` of shape ``(1,)``."""
        return np.zeros(1, np.uint32)

    @cached_property
    def outside(self) -> Array:
        """1 if an id is not below the table's number of vertices; ``uint32`` of shape ``(1,)``."""
        return np.zeros(1, np.uint32)

    def check_ends(self, engine: Engine, source: Array, target: Array, vertices: int) -> None:
        """Check all ids of two columns."""
        words = flag_length(len(source))
        engine.launch("find_outside", words, source, target, len(source), vertices, self.outside, grain=FLAG_GRAIN)
        self.raise_if_failed()

    def raise_if_failed(self) -> None:
        """Raise :class:`ChecksFailed` if a pass has found an invalid entry."""
        if self.missing[0] or self.outside[0]:
            raise ChecksFailed


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """The columns that an algorithm receives, each of shape ``(rows,)``."""

    source: Array  # vertices, ``uint32`` or ``uint64``, each below `vertices`
    target: Array
    weight: Array  # ``int32``, ``uint32``, ``float32``, ``int64``, ``uint64`` or ``float64`` without NaN
    vertices: int
    maximum: bool = False  # whether heavier edges come first
    # Checks for the algorithm to make, of integer ids on the host; it raises ChecksFailed. None: all is checked.
    deferred: DeferredChecks | None = None
    # The least and the greatest key of a sample of the weights, as for a minimum forest. None: no sample was taken.
    span: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def flip(self) -> int:
        """Bits of a key to invert (see :func:`flip_bits`)."""
        return flip_bits(self.weight.dtype, self.maximum)

    def part(self, begin: int, end: int) -> EdgeTable:
        """Return a table of the rows from `begin` to `end`, without a copy."""
        some = slice(begin, end)
        return replace(self, source=self.source[some], target=self.target[some], weight=self.weight[some])

    def take(self, rows: Array) -> EdgeTable:
        """Return a table of some rows, which an algorithm has checked."""
        source, target, weight = self.source[rows], self.target[rows], self.weight[rows]
        return EdgeTable(source, target, weight, self.vertices, self.maximum)

    def edges(self) -> Edges:
        """Return the table as an algorithm's first worklist, without a copy."""
        return Edges(self.source, self.target, self.weight, None)


def flip_bits(weight: Any, maximum: bool) -> int:
    """Return the bits of a key to invert for a maximum forest of weights of this dtype; 0 for a minimum forest."""
    return (1 << 8 * np.dtype(weight).itemsize) - 1 if maximum else 0


@dataclass(frozen=True, slots=True)
class Input:
    """An edge table, and the frame's rows that its rows were read from."""

    table: EdgeTable
    vertices: Vertices  # as read, before conditions on rows
    kept: Array | None = None  # the frame's row of each table row, ascending; None: they are the same
    moved_by: Engine | None = None  # the engine that the table was copied to, if the frame is in other memory
    # Rows of the table that must be in the forest, and rows that must not: ascending int64, in the frame's memory.
    # None: no condition on rows. Forced rows unite their ends in the table; the forest is these and those that
    # an algorithm finds.
    forced: Array | None = None
    barred: Array | None = None

    def whole(self, *, barred: bool = True) -> EdgeTable:
        """Return the table before conditions on rows, in the frame's memory.

        Without `barred`, barred rows are self-loops.
        """
        source, target, total, _ = self.vertices
        if not barred and self.barred is not None and len(self.barred):
            target = target.copy()
            target[self.barred] = source[self.barred]
        return EdgeTable(source, target, source, total)

    def frame_rows(self, rows: Array) -> Array:
        """Return rows of the frame, in its memory, for rows of the table."""
        rows = self.to_frame_memory(rows)
        return rows if self.kept is None else self.kept[rows]

    def to_frame_memory(self, column: Array) -> Array:
        """Copy a column back to the frame's memory."""
        return column if self.moved_by is None else self.moved_by.to_host(column)


def move_table(engine: Engine, table: EdgeTable) -> EdgeTable:
    """Copy a table's columns from the host into the engine's memory."""
    source, target, weight = (engine.from_host(column) for column in (table.source, table.target, table.weight))
    return EdgeTable(source, target, weight, table.vertices, table.maximum)
