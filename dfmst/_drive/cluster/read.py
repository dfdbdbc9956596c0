"""From a partition to its edge table: columns are opened and checked once, on the host or on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.devices import TaskColumns, rows_that_fit, worker_engine
from dfmst._drive.cluster.partitions import FileRows, called, read_part
from dfmst._drive.cluster.tables import (
    POSITION_BITS,
    DeviceTable,
    Table,
    empty_table,
    kind_metadata,
    narrowed,
    travelling_ids,
    travelling_table,
    weight_kind,
)
from dfmst._drive.plan.formulas import PIECE
from dfmst._edges.arrow_values import arrow_column, is_missing, plain_ids, to_arrow
from dfmst._edges.composite import check_composite
from dfmst._edges.conditions import Conditions, condition_masks
from dfmst._edges.device_frame import device_ids, device_weights
from dfmst._edges.edge_table import HOST, flip_bits
from dfmst._edges.encode import are_integers
from dfmst._edges.frames import open_frame, open_host_frame
from dfmst._edges.read import EdgeColumns, check_columns, on_gpu, take_rows
from dfmst._edges.unify import cast_exactly, common_id_type
from dfmst._edges.vertices import IdColumns, check_capacity
from dfmst._edges.view import View
from dfmst._edges.weights import constant_weights, weight_column, weight_type, weights_as
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._engines.primitives.edges import gather_keys
from dfmst.algorithms.solve import solve_frame
from dfmst.errors import DfmstError, InvalidEdgesError
from dfmst.formats.columnar import parquet_footer


def _device_table(engine: Engine, view: View, columns: EdgeColumns, row: Array) -> DeviceTable | None:
    """Make the table of all rows of a frame on a GPU; ``None`` if ids or weights have types for the host alone."""
    source, target, weight = columns.names
    ids = device_ids((source, view.column(source)), (target, view.column(target)), invalid=columns.invalid)
    if not are_integers(ids.source):
        return None
    values, kind = constant_weights(len(row), engine.xp).values, "none"
    if weight is not None:
        column = view.column(weight)
        if column.dtype.kind not in "iufb":
            return None
        values = device_weights(weight, column).values
        kind = str(np.dtype(values.dtype))
    key = gather_keys(engine, values, None, flip_bits(values.dtype, columns.maximum))
    arrays = (narrowed(ids.source), narrowed(ids.target), key, row)
    return DeviceTable(TaskColumns(engine, *arrays), kind_metadata(kind))


_DECODED = 160  # bytes of a row that a GPU decodes and solves
_OBJECT_DECIMAL = pa.decimal128(38, 9)  # decimals in an object column have no common scale of their own


class _Edges(NamedTuple):
    """Valid rows of a partition: ids, weights of the named kind, and positions (``None``: all rows)."""

    ids: IdColumns
    weight: Array
    kind: str
    position: Array | None


def read_edges(engine: Engine, part: Any, number: int, columns: EdgeColumns) -> Iterator[Table]:
    """Read a partition, one of a file in pieces."""
    first = 0
    try:
        for frame in _frames(part, columns):
            yield edge_table(engine, frame, number, columns, first)
            first += len(frame)
    except DfmstError as error:
        raise error.at(called(number, part), first) from None


def _frames(part: Any, columns: EdgeColumns) -> Iterator[Any]:
    """Yield the frames of a partition: files in pieces, decoded on the GPU if the worker has one and cuDF."""
    if not isinstance(part, FileRows):
        yield read_part(part)
    elif _reads_on_gpu(part, columns):
        yield from part.device_pieces(sys.modules["cudf"])
    else:
        yield from part.pieces(PIECE)


def _reads_on_gpu(part: FileRows, columns: EdgeColumns) -> bool:
    """Whether cuDF decodes a file on this worker: ids are integers and weights numbers, and its row groups fit."""
    engine = worker_engine()
    if engine.on_host or "cudf" not in sys.modules or part.common is not None or columns.joint or columns.conditions:
        return False
    footer = parquet_footer(part.path)
    schema, (source, target, weight) = footer.schema.to_arrow_schema(), columns.names
    if not {source, target, *columns.weights} <= {*schema.names}:
        return False
    plain = all(pa.types.is_integer(schema.field(name).type) for name in (source, target))
    kind = None if weight is None else schema.field(weight).type
    plain &= kind is None or pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64())
    rows = max((footer.row_group(group).num_rows for group in range(footer.num_row_groups)), default=0)
    return plain and 0 < rows == rows_that_fit(engine, rows, _DECODED)


def edge_table(engine: Engine, frame: Any, number: int, columns: EdgeColumns, first: int = 0) -> Table:
    """Return the edges of a partition's rows from `first` on; of a frame on a GPU, those of its forest."""
    view = open_frame(frame)
    if view.on_device:
        if columns.joint:
            raise on_gpu(columns)
        return _device_forest(view, number, columns, first)
    edges = _host_edges(engine, view, columns, first)
    return _table(engine, edges, (number << POSITION_BITS) + first, columns.heavy_first)


def closing_rows(engine: Engine, view: View, columns: EdgeColumns, position: Array) -> list[int]:
    """Return the positions of rows to keep that are not among those of the forest: they close cycles."""
    keep = columns.conditions.keep
    forced, _ = condition_masks(Conditions(keep=keep), view.column, None)
    rest: Array = np.setdiff1d(np.flatnonzero(forced), position) if forced is not None else position[:0]
    if not len(rest):
        return []
    valid = _host_edges(engine, view.rows(engine, rest), columns).position
    closing: list[int] = (rest if valid is None else rest[valid]).tolist()
    return closing


def taken_edges(
    engine: Engine,
    view: View,
    columns: EdgeColumns,
    source: pa.DataType,
    target: pa.DataType,
    kind: str,
) -> Table:
    """Return rows of the forest as a table with ids of these types and weights of this kind."""
    if view.on_device:
        if pa.types.is_integer(source) and pa.types.is_integer(target):
            same = _device_table(engine, view, columns, engine.xp.arange(len(view), dtype=np.uint64))
            if same is not None and weight_kind(same) == kind:
                return same
        engine, position = host_engine(engine), np.arange(len(view))
        names = {name: view.column(name) for name in columns.names if name is not None}
        edges = _copied_edges(engine, view.build(names), columns, position)
    else:
        edges = _host_edges(engine, view, columns)
    if edges.kind != kind:
        edges = edges._replace(weight=edges.weight.astype(np.dtype(kind)))
    table = _table(engine, edges, 0, columns.heavy_first)
    return table.set_column(0, "source", table["source"].cast(source)).set_column(
        1, "target", table["target"].cast(target)
    )


def _table(engine: Engine, edges: _Edges, first: int, maximum: bool) -> pa.Table:
    if not len(edges.weight):
        return empty_table()
    key = gather_keys(engine, edges.weight, None, flip_bits(edges.weight.dtype, maximum))
    if edges.position is None:
        row = np.arange(first, first + len(edges.weight), dtype=np.uint64)
    else:
        row = edges.position.astype(np.uint64) + np.uint64(first)
    return travelling_table(*travelling_ids(edges.ids), key, row, edges.kind)


def _host_edges(engine: Engine, view: View, columns: EdgeColumns, first: int = 0) -> _Edges:
    rows = len(view)
    check_capacity(first + rows)
    types, weights = columns.types, columns.weights if rows else []
    ends = [name for pair in columns.end_parts for name in pair] if rows else []
    read = {name: _ids(name, view.column(name), types.get(name)) for name in ends}
    read |= {name: _weights(name, _plain_column(view, name), types.get(name)) for name in weights}
    read |= {name: view.column(name) for name in columns.read_names if name not in read}
    if columns.joint:
        checked = check_composite(engine, columns, read.__getitem__, rows)
    else:
        checked = check_columns(engine, HOST, read.__getitem__, rows, columns.names, columns.invalid)
    ids, values, position = checked.ids, checked.weights.values, checked.kept
    raw = [weight_column(name, read[name]).values if columns.keyed else values for name in weights]
    kind = ", ".join(_kind(name, read[name], column) for name, column in zip(weights, raw, strict=True)) or "none"
    if checked.barred is not None:
        rest = np.flatnonzero(~checked.barred)
        ids, (values, _) = take_rows(engine, ids, checked.weights, rest)
        position = rest if position is None else position[rest]
    return _Edges(ids, values, f"keys of {kind}" if columns.keyed else kind, position)


def column_types(view: View, names: list[Any]) -> dict[Any, Any]:
    """Return the types of the columns of an empty frame, for :attr:`EdgeColumns.types`."""
    return {name: _type_of(view.column(name)) for name in names}


def _type_of(column: Any) -> pa.DataType | None:
    """The type in which a column's values are compared; ``None``: objects, wide floats, or a column on a GPU."""
    if isinstance(column, np.ndarray):
        unknown = column.dtype.kind == "O" or (column.dtype.kind in "fc" and column.dtype.itemsize > 8)
        return None if unknown else pa.from_numpy_dtype(column.dtype.newbyteorder("="))
    kind = getattr(column, "type", None)
    return getattr(kind, "value_type", kind) if kind is not None and not pa.types.is_nested(kind) else kind


def _ids(name: object, column: Any, kind: pa.DataType | None) -> Any:
    """Ids in the frame's type, if that holds them; integers and texts are compared in any."""
    own = _type_of(column)
    try:
        if isinstance(column, np.ndarray) and column.dtype.kind == "O":  # of decimals, each partition has its scale
            first = next((value for value in column if not is_missing(value)), None)
            exact = plain_ids(arrow_column(name, column)) if isinstance(first, Decimal) else None
            return column if exact is None else cast_exactly(exact, _OBJECT_DECIMAL)
        common = None if own is None or kind is None or own == kind else common_id_type(own, kind)
        if common is None or common in (pa.int64(), pa.uint64(), pa.large_string(), pa.large_binary()):
            return column
        return cast_exactly(plain_ids(arrow_column(name, column)), kind)
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
        return column


def _weights(name: object, column: Any, kind: pa.DataType | None) -> Any:
    """Weights in the frame's type, if that holds them."""
    if kind is None or pa.types.is_nested(kind) or (isinstance(column, np.ndarray) and column.dtype.itemsize > 8):
        return column
    try:
        return weights_as(name, column, weight_type(pa.array([], kind)))
    except pa.ArrowException:
        return column


def _device_forest(view: View, number: int, columns: EdgeColumns, first: int = 0) -> Table:
    """The forest of a partition on a GPU, whose rows are those from `first` on.

    It stays there if the worker's tasks run there and ids are integers.
    """
    engine, stays = select_engine(on_device=True), not worker_engine().on_host
    with engine.guard():
        solved = solve_frame(engine, view, columns)
        rows = solved.input.frame_rows(solved.rows)
        if stays and len(rows):
            locator = rows.astype(np.uint64) + np.uint64((number << POSITION_BITS) + first)
            table = _device_table(engine, view.rows(engine, rows), columns, locator)
            if table is not None:
                return table
        host = host_engine(engine)
        edges = _copied_edges(host, view.take(engine, rows), columns, engine.to_host(rows))
    return _table(host, edges, (number << POSITION_BITS) + first, columns.maximum)


def _copied_edges(engine: Engine, frame: Any, columns: EdgeColumns, position: Array) -> _Edges:
    """Copy rows of a forest from a GPU to the host."""
    source, target, weight = (None if name is None else str(name) for name in columns.names)  # as Arrow has them
    named = replace(columns, source=source, target=target, weight=weight, types={})
    return _host_edges(engine, open_host_frame(frame), named)._replace(position=position)


def _plain_column(view: View, name: Any) -> Any:
    """A column of weights; objects in their Arrow type."""
    column = view.column(name)
    if not isinstance(column, np.ndarray) or column.dtype.kind != "O":
        return column
    plain = to_arrow(name, column)
    try:
        return plain.cast(_OBJECT_DECIMAL) if pa.types.is_decimal(plain.type) else plain
    except pa.ArrowException as error:
        message = f"column {name!r} holds objects that are not 64-bit numbers"
        raise InvalidEdgesError(message, "cast the column to int64, float64 or an Arrow decimal") from error


def _kind(name: Any, column: Any, values: Array) -> str:
    """Name the type of a column's weights; keys of one kind can be compared."""
    numpy = isinstance(column, np.ndarray)
    decimal = not numpy and pa.types.is_decimal(column.type)
    wide = numpy and column.dtype.itemsize > 8
    if values.dtype == np.uint32 and (decimal or wide):  # ranks, which mean nothing in another partition
        message = f"column {name!r} holds {column.dtype if numpy else column.type} values that are not 64-bit numbers"
        raise InvalidEdgesError(message, "cast the column to int64, or to float64 if rounding is meant")
    # Decimals of one scale, and times of one unit, compare as the integers that they are without it.
    if decimal:
        return f"decimals of scale {column.type.scale}"
    if wide:
        return str(values.dtype)
    kind = weight_type(column)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return f"instants in {kind.unit}"
    return str(kind) if pa.types.is_temporal(kind) else str(values.dtype)
