"""The edge table: two columns of dense vertices and one of weights, in the total order (weight, row)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dfmst._common.deferred import cached_property
from dfmst._common.types import ROW_LIMIT, Array
from dfmst._edges.vertices import Vertices
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges
from dfmst.errors import CapacityError


class ChecksFailed(Exception):
    """Unchecked columns proved invalid; read the table again with all checks."""


class DeferredChecks:
    """Checks that the first pass over a column makes on its way: cells in which it notes what is invalid."""

    @cached_property
    def missing(self) -> Array:
        """1 if a weight is NaN; ``uint32`` of shape ``(1,)``."""
        return np.zeros(1, np.uint32)

    @cached_property
    def outside(self) -> Array:
        """1 if an id is not below the table's number of vertices; ``uint32`` of shape ``(1,)``."""
        return np.zeros(1, np.uint32)

    def raise_if_failed(self) -> None:
        """Raise :class:`ChecksFailed` if a pass has found an invalid entry."""
        if self.missing[0] or self.outside[0]:
            raise ChecksFailed


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """What an algorithm receives.

    Attributes
    ----------
    source, target
        Vertices, ``uint32`` or ``uint64``, each below `vertices`; shape ``(rows,)``.
    weight
        ``int32``, ``uint32``, ``float32``, ``int64``, ``uint64`` or ``float64`` without NaN, shape ``(rows,)``.
    vertices
        Exclusive upper bound of the vertices.
    maximum
        Whether heavier edges come first.
    deferred
        Checks of the columns that are left to the algorithm (on the host, all ids integers): it notes in them what is
        invalid, and raises :class:`ChecksFailed`. ``None``: the columns are checked.
    span
        The least and the greatest key of a sample of the weights, as for a minimum forest; ``None``: no sample was
        drawn.
    """

    source: Array
    target: Array
    weight: Array
    vertices: int
    maximum: bool = False
    deferred: DeferredChecks | None = None
    span: tuple[int, int] | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    @property
    def flip(self) -> int:
        """Bits that turn a key around for a maximum forest."""
        return flip_bits(self.weight.dtype, self.maximum)

    def edges(self) -> Edges:
        """The table as an algorithm's first worklist, nothing copied."""
        return Edges(self.source, self.target, self.weight, None)


def flip_bits(weight: Any, maximum: bool) -> int:
    """Bits that turn the keys of weights of this dtype around for a maximum forest; 0 for a minimum forest."""
    return (1 << 8 * np.dtype(weight).itemsize) - 1 if maximum else 0


def check_capacity(rows: int, limit: int = ROW_LIMIT) -> None:
    """Raise an error if a table has more rows than row positions can number."""
    if rows > limit:
        message = f"the table has {rows:,} rows; row positions hold at most {limit:,}"
        raise CapacityError(message, "fold the table in parts with dfmst.stream, or spread it over a Dask cluster")


@dataclass(frozen=True, slots=True)
class Input:
    """An edge table and the way back to the rows it was read from.

    Attributes
    ----------
    table
        What algorithms receive.
    vertices
        What the table's vertices stand for.
    kept
        The frame's row of each table row, ascending; ``None`` if no row was dropped.
    moved_by
        The engine that the table was copied to, if it is not in the memory of the frame.
    forced
        Rows of the table that are in the forest by condition, ascending ``int64``, on the host; ``None`` if there is
        no condition on rows. The table's vertices are then those that these rows leave, and the forest is what an
        algorithm finds in it and these.
    barred
        Rows of the table that are not in the forest by condition, in the same form.
    """

    table: EdgeTable
    vertices: Vertices
    kept: Array | None = None
    moved_by: Engine | None = None
    forced: Array | None = None
    barred: Array | None = None

    def whole(self, *, barred: bool = True) -> EdgeTable:
        """The table before conditions on rows, on the host; rows that are barred are loops, or (`barred`) edges."""
        source, target, total, _ = self.vertices
        if not barred and self.barred is not None and len(self.barred):
            target = target.copy()
            target[self.barred] = source[self.barred]
        return EdgeTable(source, target, source, total)

    def frame_rows(self, rows: Array) -> Array:
        """Return rows of the frame, in its memory, for rows of the table."""
        rows = self.beside_frame(rows)
        return rows if self.kept is None else self.kept[rows]

    def beside_frame(self, column: Array) -> Array:
        """Copy a column back to the frame's memory."""
        return column if self.moved_by is None else self.moved_by.to_host(column)


def move_table(engine: Engine, table: EdgeTable) -> EdgeTable:
    """Copy a table's columns from the host into the engine's memory."""
    source, target, weight = (engine.from_host(column) for column in (table.source, table.target, table.weight))
    return EdgeTable(source, target, weight, table.vertices, table.maximum)
