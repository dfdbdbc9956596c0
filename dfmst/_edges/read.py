"""From a frame to an edge table: its columns are read, checked and numbered densely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dfmst._common.arguments import check_column_name, yes_or_no
from dfmst._common.types import Array, Invalid
from dfmst._edges.check import DEVICE, HOST, CheckedColumns, Readers, check_columns, check_invalid
from dfmst._edges.conditions import NO_CONDITIONS, Conditions, apply_conditions
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.edge_table import DeferredChecks, EdgeTable, check_capacity
from dfmst._edges.host_frame import FrameView
from dfmst._edges.vertices import Vertices, dense_vertices
from dfmst._engines import Engine, host_engine
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Which columns of a frame are its edges, and how they are read.

    Attributes
    ----------
    source, target, weight
        Column names; `weight` may be ``None``: all weights are equal.
    maximum
        Whether heavier edges come first.
    invalid
        ``"raise"``, or ``"drop"`` to leave out rows with null ids or with null or NaN weights.
    conditions
        What the forest must obey beside the weights.
    keys
        Source, target and weight as the call has them, where one is a list of names (see
        :mod:`dfmst._edges.compose`); else ``None``.
    types
        Arrow types of source, target and weight in which partitions are compared (``None``: their own).
    """

    source: Any = "source"
    target: Any = "target"
    weight: Any = "weight"
    maximum: bool = False
    invalid: Invalid = "raise"
    conditions: Conditions = NO_CONDITIONS
    keys: tuple[Any, Any, Any] | None = None
    types: tuple[Any, Any, Any] = (None, None, None)

    def __post_init__(self) -> None:
        """Refuse names that no column has, and an `invalid` that has no meaning."""
        for argument in ("source", "target", "weight"):
            name = getattr(self, argument)
            if isinstance(name, list) and name and all(isinstance(part, str) for part in name):
                message = f"{argument} names {len(name)} columns; keys of several columns are for the forest functions"
                raise InvalidEdgesError(message, "make one column of them, for example by joining them into a string")
            check_column_name(argument, name)
        object.__setattr__(self, "maximum", yes_or_no("maximum", self.maximum))
        check_invalid(self.invalid)

    @property
    def names(self) -> tuple[Any, Any, Any]:
        """Source, target and weight."""
        return self.source, self.target, self.weight


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
        The frame's row of each table row, ascending; ``None`` where no row was dropped.
    moved_by
        The engine that the table was copied to, away from the frame; ``None`` where both lie side by side.
    forced
        Rows of the table that are in the forest by condition, ascending ``int64``, on the host; ``None`` where there is
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
    columns: EdgeColumns,
    *,
    in_order: bool = False,
    defer_checks: bool = False,
) -> Input:
    """Read a frame's columns into an edge table."""
    check_capacity(len(view))
    beside, read = _reader(engine, view)
    conditions = columns.conditions
    defer_checks &= beside.on_host and engine.on_host and not conditions
    checked = check_columns(
        beside, read, view.column, len(view), columns.names, columns.invalid, defer_checks=defer_checks
    )
    input = number_ids(beside, read, checked, columns.maximum, in_order=in_order)
    if conditions:
        if isinstance(view, DeviceView):
            message = (
                f"{' and '.join(conditions.words)}: conditions are read of frames on the host, this one is on a GPU"
            )
            raise UnsupportedFrameError(message, "pass edges.to_arrow()")
        input = apply_conditions(beside, view, conditions, input)
    if beside.on_host == engine.on_host:
        return input
    return replace(input, table=move_table(engine, input.table), moved_by=engine)


def number_ids(
    engine: Engine,
    read: Readers,
    checked: CheckedColumns,
    maximum: bool,
    *,
    in_order: bool = False,
    bound: int | None = None,
) -> Input:
    """Make an edge table of checked columns: ids become dense vertices."""
    survey = checked.survey
    largest = None if survey is None else survey.largest
    vertices = checked.unchecked or dense_vertices(
        engine, checked.ids, in_order=in_order, bound=bound, number=read.number, largest=largest
    )
    deferred = DeferredChecks() if checked.unchecked else None
    span = None if survey is None else survey.span
    table = EdgeTable(vertices.source, vertices.target, checked.weights.values, vertices.total, maximum, deferred, span)
    return Input(table, vertices, checked.kept)


def _reader(engine: Engine, view: FrameView | DeviceView) -> tuple[Engine, Readers]:
    """Where a frame's columns are read, and how."""
    if not view.on_device:
        return host_engine(engine), HOST
    if engine.on_host:
        hint = "leave engine='auto', or copy the frame yourself: edges.to_pandas() or edges.to_arrow()"
        raise UnsupportedFrameError("the frame lies on a GPU, and engine='cpu' works on the host", hint)
    return engine, DEVICE
