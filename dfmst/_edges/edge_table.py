"""The edge table: two columns of dense vertices and one of weights, in the total order (weight, row).

It is made of checked columns of ids and weights, on the host and on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array, Column, ColumnName
from dfmst._edges.vertices import IdColumns, Vertices, dense_vertices, id_columns, unchecked_vertices
from dfmst._edges.weights import WeightColumn, missing_weights, weight_column
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, end_words, used_vertices
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

    def used_vertices(self, engine: Engine, spanning: tuple[Array, Array] | None = None) -> Array:
        """Return :func:`used_vertices` of a table without conditions on rows, in the frame's memory."""
        if self.vertices.ids is not None:  # only ids that occur have numbers
            return self.to_frame_memory(engine.xp.ones(self.table.vertices, np.uint8))
        return self.to_frame_memory(used_vertices(engine, self.table, spanning))

    def frame_rows(self, rows: Array) -> Array:
        """Return rows of the frame, in its memory, for rows of the table."""
        rows = self.to_frame_memory(rows)
        return rows if self.kept is None else self.kept[rows]

    def frame_row(self, engine: Engine, row: int) -> int:
        """Return the row of the frame for a row of the table, which is in the memory of the engine."""
        return int(self.frame_rows(engine.from_host(np.array([row])))[0])

    def to_frame_memory(self, column: Array) -> Array:
        """Copy a column back to the frame's memory."""
        return column if self.moved_by is None else self.moved_by.to_host(column)


def move_table(engine: Engine, table: EdgeTable) -> EdgeTable:
    source, target, weight = (engine.from_host(column) for column in (table.source, table.target, table.weight))
    return EdgeTable(source, target, weight, table.vertices, table.maximum)


#: Returns a column of a frame or of a batch by its name.
ColumnOf: TypeAlias = Callable[[ColumnName], Column]


class Readers(NamedTuple):
    """Functions that read ids and weights."""

    ids: Callable[..., IdColumns]
    weights: Callable[..., WeightColumn]


#: Readers of batches on the host.
HOST = Readers(id_columns, weight_column)
#: Readers of tables in host memory.
IN_MEMORY = HOST._replace(ids=partial(id_columns, whole=True))


class CheckedColumns(NamedTuple):
    """The rows that have both ids and a weight."""

    ids: IdColumns
    weights: WeightColumn
    kept: Array | None  # these rows among those that were read; None: all
    forced: Array | None = None  # flags the rows that must be in the forest; None: no condition
    barred: Array | None = None  # flags the rows that must not be


#: Masks of the rows without a source (0), a target (1) or a weight (2), for each of these that some row lacks.
Missing: TypeAlias = list[tuple[int, Array]]


def find_missing(
    engine: Engine, ids: IdColumns, weights: WeightColumn, statistics: EdgeStatistics | None = None
) -> Missing:
    missing = missing_weights(engine, weights) if statistics is None or statistics.missing else weights.invalid
    masks = (ids.null_source, ids.null_target, missing)
    return [(end, mask) for end, mask in enumerate(masks) if mask is not None and mask.any()]


def make_table(
    engine: Engine,
    ids: IdColumns,
    weights: WeightColumn,
    maximum: bool,
    without: Callable[[IdColumns, WeightColumn, Missing], CheckedColumns],
    *,
    defer_checks: bool = False,
    in_order: bool = False,
    bound: int | None = None,
) -> Input:
    """Make an edge table of columns: ids become dense vertices.

    `without` leaves out the rows that lack an id or a weight, or raises. With `defer_checks`, algorithms may look for
    them, in their own pass over a long table.
    """
    vertices = unchecked_vertices(engine, ids, bound) if defer_checks and weights.invalid is None else None
    deferred = None if vertices is None else DeferredChecks()
    kept = largest = span = None
    if vertices is None:
        statistics = edge_statistics(engine, ids, weights)
        if missing := find_missing(engine, ids, weights, statistics):
            ids, weights, kept, *_ = without(ids, weights, missing)
        elif statistics is not None:
            largest, _, span = statistics
        vertices = dense_vertices(engine, ids, in_order=in_order, bound=bound, largest=largest)
    table = EdgeTable(vertices.source, vertices.target, weights.values, vertices.total, maximum, deferred, span)
    return Input(table, vertices, kept)


_ROWS = 8  # rows of a thread
_DRAWN = 128  # threads whose rows are the sample
_NOTES = 4  # largest id, missing weights, greatest key, complement of the least key


class EdgeStatistics(NamedTuple):
    """Statistics of the rows on a GPU."""

    largest: int  # of the ids of both columns, viewed as unsigned
    missing: bool  # whether a weight is NaN
    # The least and the greatest key, as for a minimum forest, of a sample: outliers say little about the distribution.
    span: tuple[int, int]


def edge_statistics(engine: Engine, ids: IdColumns, weights: WeightColumn) -> EdgeStatistics | None:
    """Compute statistics of all rows; ``None`` on the host, for ids that are not integers, and for no rows."""
    rows, values = len(ids.source), weights.values
    if engine.on_host or not rows or not isinstance(ids.source, engine.xp.ndarray):
        return None
    notes = engine.xp.zeros(_NOTES, np.uint64)
    count = -(-rows // _ROWS)
    ends = end_words(ids.source, ids.target)
    engine.launch("survey_edges", count, *ends, values, rows, max(1, count // _DRAWN), notes)
    largest, missing, greatest, least = notes.tolist()
    every = (1 << 8 * values.dtype.itemsize) - 1
    return EdgeStatistics(largest, bool(missing), (least ^ every, greatest))
