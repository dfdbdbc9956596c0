"""From a frame to an edge table: columns named, checked and made dense."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._columns.device import device_factorize, device_ids, device_weights
from dfmst._columns.edge_table import DeferredChecks, EdgeTable, check_capacity
from dfmst._columns.ids import IdColumns, id_columns
from dfmst._columns.vertices import Vertices, dense_vertices, factorize, sampled_vertices
from dfmst._columns.weights import WeightColumn, constant_weights, missing_weights, weight_column
from dfmst._engines import Engine, host_engine
from dfmst._frames.device import DeviceView
from dfmst._frames.host import FrameView
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from dfmst.typing import Array, Invalid

__all__ = ["DEVICE", "HOST", "CheckedColumns", "Input", "Readers", "check_columns", "move_table", "read_table"]


class Readers(NamedTuple):
    """How columns are read: ids, ids that are not dense integers, and weights."""

    ids: Callable[..., IdColumns]
    number: Callable[..., Vertices]
    weights: Callable[..., WeightColumn]


#: Readers of columns on the host, and of columns on a GPU.
HOST = Readers(id_columns, factorize, weight_column)
DEVICE = Readers(device_ids, device_factorize, device_weights)


@dataclass(frozen=True, slots=True)
class Input:
    """A frame's edge table and the way back.

    Attributes
    ----------
    table
        What algorithms receive.
    vertices
        What the table's vertices stand for.
    kept
        The frame's row of each table row, ascending; ``None`` where no row was dropped.
    moved_by
        The engine that the table was copied to, away from the frame; ``None`` where both lie side by side.
    """

    table: EdgeTable
    vertices: Vertices
    kept: Array | None
    moved_by: Engine | None = None

    def frame_rows(self, rows: Array) -> Array:
        """Rows of the frame, and where it lies, from rows of the table."""
        rows = self.beside_frame(rows)
        return rows if self.kept is None else self.kept[rows]

    def beside_frame(self, column: Array) -> Array:
        """Bring a column back to where the frame lies."""
        return column if self.moved_by is None else self.moved_by.to_host(column)


def move_table(engine: Engine, table: EdgeTable) -> EdgeTable:
    """Copy a table's columns from the host into the engine's memory."""
    source, target, weight = (engine.from_host(column) for column in (table.source, table.target, table.weight))
    return EdgeTable(source, target, weight, table.vertices, table.maximum)


def read_table(
    engine: Engine,
    view: FrameView | DeviceView,
    source: Any,
    target: Any,
    weight: Any = None,
    *,
    maximum: bool = False,
    invalid: Invalid = "raise",
    in_order: bool = False,
    defer_checks: bool = False,
) -> Input:
    """Read a frame's columns into an edge table.

    Parameters
    ----------
    engine
        Where the table shall lie. Columns are checked where the frame lies; a frame on the host is then copied to an
        engine elsewhere: both ids and the weight, nothing else.
    view
        The frame.
    source, target, weight
        Column names; `weight` may be ``None``: all weights are equal.
    maximum
        Whether heavier edges come first.
    invalid
        ``"raise"``, or ``"drop"`` to leave out rows with null ids or with null or NaN weights.
    in_order
        Whether vertices are numbered by the order of their ids (components need it).
    defer_checks
        Whether the checks of a long table's columns may be left to the algorithm (``deferred``); the table then has
        more vertices than ids.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, CapacityError
        See :func:`dfmst.minimum_spanning_forest`.
    """
    check_capacity(len(view))
    beside, read = _reader(engine, view)
    names = (source, target, weight)
    defer_checks &= engine.on_host and not view.on_device
    checked = check_columns(beside, read, view.column, len(view), names, invalid, defer_checks=defer_checks)
    vertices = checked.trusted or dense_vertices(beside, checked.ids, in_order=in_order, number=read.number)
    deferred = DeferredChecks() if checked.trusted else None
    table = EdgeTable(vertices.source, vertices.target, checked.weights.values, vertices.total, maximum, deferred)
    if beside.on_host == engine.on_host:
        return Input(table, vertices, checked.kept)
    return Input(move_table(engine, table), vertices, checked.kept, engine)


class CheckedColumns(NamedTuple):
    """Ids and weights without nulls and NaNs, and the rows that were kept (``None``: all).

    Where the ids were `trusted` to be vertices, nobody has looked at them, nor for NaNs.
    """

    ids: IdColumns
    weights: WeightColumn
    kept: Array | None
    trusted: Vertices | None = None


def check_columns(
    beside: Engine,
    read: Readers,
    column: Callable[[Any], Any],
    rows: int,
    names: tuple[Any, Any, Any],
    invalid: Invalid = "raise",
    first_row: int = 0,
    *,
    defer_checks: bool = False,
) -> CheckedColumns:
    """Read and check columns by name.

    Parameters
    ----------
    beside
        Where the columns lie, and the checks run.
    read
        How columns are read there.
    column
        Returns a column by its name.
    rows
        How many rows there are.
    names
        Source, target and weight; the last may be ``None``.
    invalid
        ``"raise"`` or ``"drop"``.
    first_row
        What messages call the first row.
    defer_checks
        Whether a long table's columns may go unchecked.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError
        See :func:`dfmst.minimum_spanning_forest`.
    """
    if invalid not in ("raise", "drop"):
        message = f"invalid is {invalid!r}; it must be 'raise' or 'drop'"
        raise ValueError(message)
    source, target, weight = names
    columns = [(name, column(name)) for name in (source, target)]
    if not rows:
        # An empty column often has an accidental type, float64 say, that no value vouches for.
        columns = [(name, beside.xp.zeros(0, np.int64)) for name in (source, target)]
    ids = read.ids(*columns)
    found = None if weight is None else column(weight)
    weights = constant_weights(rows, beside.xp) if found is None or not rows else read.weights(weight, found)
    trusted = sampled_vertices(ids) if defer_checks and weights.invalid is None else None
    if trusted is not None:
        return CheckedColumns(ids, weights, None, trusted)
    flagged = [
        (f"column {source!r} has {{}} null id{{}}", ids.null_source),
        (f"column {target!r} has {{}} null id{{}}", ids.null_target),
        (f"column {weight!r} has {{}} weight{{}} that {{}} NaN or null", missing_weights(beside, weights)),
    ]
    kept = _kept(beside, flagged, invalid, first_row)
    if kept is not None:
        ids, weights = _filter(beside, ids, weights, kept)
    return CheckedColumns(ids, weights, kept)


def _reader(engine: Engine, view: FrameView | DeviceView) -> tuple[Engine, Readers]:
    """Where a frame's columns are read, and how."""
    if not view.on_device:
        return host_engine(engine), HOST
    if engine.on_host:
        hint = "leave engine='auto', or copy the frame yourself: edges.to_pandas() or edges.to_arrow()"
        raise UnsupportedFrameError("the frame lies on a GPU, and engine='cpu' works on the host", hint)
    return engine, DEVICE


def _kept(engine: Engine, flagged: list[tuple[str, Array | None]], invalid: Invalid, first_row: int) -> Array | None:
    masks = [(text, mask) for text, mask in flagged if mask is not None and mask.any()]
    if not masks:
        return None
    if invalid == "raise":
        text, mask = masks[0]
        count = int(mask.sum())
        counted = text.format(f"{count:,}", *(("", "is") if count == 1 else ("s", "are")))
        message = f"{counted}, {'in row' if count == 1 else 'the first in row'} {first_row + int(mask.argmax())}"
        raise InvalidEdgesError(message, "fill or remove those rows, or leave them out with invalid='drop'")
    rows: Array = engine.xp.flatnonzero(~reduce(operator.or_, [mask for _, mask in masks]))
    return rows


def _filter(engine: Engine, ids: IdColumns, weights: WeightColumn, kept: Array) -> tuple[IdColumns, WeightColumn]:
    def take(column: Any) -> Any:
        if isinstance(column, engine.xp.ndarray):
            return column[kept]
        return column.take(pa.array(kept) if isinstance(column, pa.Array) else kept)

    return IdColumns(take(ids.source), take(ids.target), None, None), WeightColumn(take(weights.values), None)
