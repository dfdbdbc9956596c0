"""Partitions of Parquet files and Dask frames: each is read inside the task that needs it, with its columns alone.

Tables that travel between tasks: ``source``, ``target``, ``key`` and ``row``, with ids as the frame has them.

``key`` is the weight as an unsigned integer of the same order (complemented for a maximum forest); ``row`` is the
locator, partition << 32 | position. Both mean the same in every task, so that tables need no common numbering. On a
worker with a GPU, tables of integer ids are a :class:`DeviceTable`; otherwise they are Arrow tables.

From a partition to its edge table: columns are opened and checked once, on the host or on a GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import dask
import numpy as np
import pyarrow as pa
from dask.tokenize import tokenize

from dfmst._common.types import Array, Column
from dfmst._drive.devices import TaskColumns, has_room, register_for_gpus, rows_that_fit, task_engine, worker_engine
from dfmst._drive.graph import graph_of, own_tasks, parquet_pieces, reading_fault, reference
from dfmst._drive.parts import Batch, FileRows, Part, TypeLedger, check_batch
from dfmst._drive.strategies import PIECE
from dfmst._edges.arrow_values import native_values
from dfmst._edges.conditions import Conditions, condition_masks
from dfmst._edges.device_frame import device_ids, device_weights
from dfmst._edges.edge_table import flip_bits
from dfmst._edges.encode import are_integers
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns, on_gpu, take_rows
from dfmst._edges.vertices import IdColumns, check_capacity, id_columns, same_width
from dfmst._edges.view import View
from dfmst._edges.weights import constant_weights
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._engines.primitives.edges import gather_keys
from dfmst._fold.checkpoint import CheckpointLayout, array_of, check, checked_table, is_id_type, strictly_ascends
from dfmst.algorithms.solve import solve_frame
from dfmst.errors import DfmstError, InvalidEdgesError
from dfmst.formats.columnar import TableSize, parquet_footer, parquet_size
from dfmst.formats.stores import file_stamp, path_of


class SubGraph(Part):
    """A partition of a Dask frame with the tasks that make it, none of which another partition needs."""

    name = ""  # the partition's number is enough

    def __init__(self, tasks: Mapping[Hashable, Any], key: Hashable) -> None:
        self.tasks = dict(tasks)
        self.key = key

    def read(self) -> Any:
        """Run the tasks in this thread."""
        try:
            return dask.get(self.tasks, self.key)
        except Exception as error:
            fault = None if isinstance(error, (DfmstError, Warning)) else reading_fault(error)
            if fault is None:
                raise
            raise fault from error


@dataclass(frozen=True, slots=True)
class FrameParts:
    """The partitions of a frame: each a :class:`Part`, or the reference to a task that makes it."""

    edges: list[Any]  # with at least the columns of the edges
    rows: list[Any]  # with all columns
    tasks: dict[Hashable, Any]  # that the references need
    token: str  # identifies the data

    @property
    def rereadable(self) -> bool:
        """Whether tasks can read the edges as often as they need them."""
        return all(isinstance(part, Part) for part in self.edges)

    @property
    def comparable(self) -> bool:
        """Whether edges and rows are read in the same way, so that equal values have equal hashes."""
        return all(
            isinstance(edges, FileRows) == isinstance(rows, FileRows)
            for edges, rows in zip(self.edges, self.rows, strict=True)
        )


def frame_parts(frame: Any, names: Sequence[Any]) -> FrameParts:
    """Return the partitions of a Dask frame.

    Our tasks read independent partitions themselves, so that none waits in memory for a second use. Others (after a
    shuffle, or persisted) are ordinary dependencies.
    """
    columns = frame[list(names)]
    edges, rows = columns.simplify(), frame.simplify()
    # Dask's simplification may change the partitions.
    if not len(edges.__dask_keys__()) == len(rows.__dask_keys__()) == frame.npartitions:
        edges, rows = columns, frame
    pieces = parquet_pieces(edges)
    if pieces is None:
        edge_parts, tasks = _parts(edges)
    else:
        names = list(edges.columns)
        places = [(path_of(path), groups) for path, groups in pieces]
        edge_parts = [FileRows(path, names, groups, file_stamp(path)) for path, groups in places]
        tasks = {}
    row_parts, more = _parts(rows) if pieces is not None or tokenize(rows) != tokenize(edges) else (edge_parts, {})
    stamps = [part.stamp for part in edge_parts if isinstance(part, FileRows)]
    return FrameParts(edge_parts, row_parts, {**tasks, **more}, tokenize(edges, rows, stamps))


def _parts(frame: Any) -> tuple[list[Any], dict[Hashable, Any]]:
    """A frame's partitions, and the tasks that references among them need."""
    keys, graph = list(frame.__dask_keys__()), graph_of(frame)
    own = own_tasks(graph, keys)
    if own is None:
        return [reference(key) for key in keys], graph
    return [SubGraph(tasks, key) for tasks, key in zip(own, keys, strict=True)], {}


def size_of_parts(parts: list[Any], ends: tuple[Any, ...]) -> TableSize | None:
    """Read the size of a table from its files' footers; ``None`` if the parts are not files."""
    if not all(isinstance(part, FileRows) for part in parts):
        return None
    return parquet_size([(part.path, part.groups) for part in parts], ends)


def read_part(part: Any) -> Any:
    """Return a partition's frame."""
    return part.read() if isinstance(part, Part) else part


def called(number: int, part: Any) -> str:
    """Return how errors name a partition."""
    return f"partition {number} ({part.name})" if isinstance(part, Part) and part.name else f"partition {number}"


POSITION_BITS = 32
_KIND = b"weights"


def travelling_table(source: pa.Array, target: pa.Array, key: Array, row: Array, kind: str) -> pa.Table:
    """Make a table; `kind` names the type of the weights."""
    arrays = {"source": source, "target": target, "key": pa.array(key), "row": pa.array(row)}
    return pa.table(arrays).replace_schema_metadata(kind_metadata(kind))


def is_key_type(kind: pa.DataType) -> bool:
    """Whether keys have this type."""
    return kind in (pa.uint32(), pa.uint64())


_EDGE_TYPES = {"source": is_id_type, "target": is_id_type, "key": is_key_type, "row": pa.types.is_uint64}


def checked_edges(table: pa.Table) -> pa.Table:
    """Return the table of a checkpoint; raise ValueError if its columns are not those of edges by ascending row."""
    checked_table(table, _EDGE_TYPES)
    source, target, *_ = table.schema.types
    check(source == target or (pa.types.is_integer(source) and pa.types.is_integer(target)), "ids of different types")
    check(strictly_ascends(column_values(table, "row")), "rows in another order")
    weight_kind(table)  # raises if it is not text
    return table


def kind_metadata(kind: str) -> dict[bytes, bytes]:
    """Return the metadata of a table whose weights are of a kind."""
    return {_KIND: kind.encode()}


def weight_kind(table: Table) -> str:
    """Return the kind of a table's weights."""
    return metadata_of(table).get(_KIND, b"").decode()


def empty_table() -> pa.Table:
    """Return a table without edges, which can be concatenated with any other."""
    types = {"source": pa.uint32(), "target": pa.uint32(), "key": pa.uint32(), "row": pa.uint64()}
    return pa.table({name: pa.array([], kind) for name, kind in types.items()})


def travelling_ids(ids: IdColumns) -> tuple[pa.Array, pa.Array]:
    """Both id columns in the narrowest of the types that travel: uint32, int64 or uint64; text as large_string."""
    return _narrow(ids.source), _narrow(ids.target)


def _narrow(column: Column) -> pa.Array:
    if not isinstance(column, np.ndarray):
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        plain = plain.combine_chunks() if isinstance(plain, pa.ChunkedArray) else plain
        text = pa.types.is_string(plain.type) or pa.types.is_string_view(plain.type)
        return plain.cast(pa.large_string()) if text else plain
    return pa.array(narrowed(column))


def narrowed(column: Array) -> Array:
    """Integers in the narrowest of the types that travel, on their engine."""
    if column.dtype.itemsize == 8:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        fits = low >= 0 and high < 1 << 32
    else:
        fits = column.dtype == np.uint32 or not len(column) or int(column.min()) >= 0
        high = 0
    if fits:
        return column.astype(np.uint32, copy=False)
    return column if high >= 1 << 63 else column.astype(np.int64, copy=False)


def column_values(table: pa.Table, name: str) -> Array:
    """A column of integers as kernels read it, not copied if it has one chunk."""
    return native_values(array_of(table, name).to_numpy())


def check_kinds(weights: Iterable[str]) -> None:
    """Raise if keys of these kinds of weights (:func:`weight_kind`) cannot be compared."""
    kinds = sorted(set(weights))
    if len(kinds) > 1:
        message = f"the partitions' weights have different types: {', '.join(kinds)}"
        raise InvalidEdgesError(message, "cast the weight column to one type in all partitions")


MOVED = 1 << 20  # rows copied to a GPU at a time


class Columns(NamedTuple):
    """The columns of a table in one engine's memory; ids other than integers are Arrow arrays on the host."""

    source: Any
    target: Any
    key: Array
    row: Array

    def __len__(self) -> int:
        return len(self.row)

    def take(self, positions: Array) -> Columns:
        """Return the rows at these positions."""
        if isinstance(self.source, pa.Array):
            source, target = (column.take(pa.array(positions)) for column in self[:2])
        else:
            source, target = (column[positions] for column in self[:2])
        return Columns(source, target, self.key[positions], self.row[positions])

    @property
    def ids(self) -> IdColumns:
        """Both id columns, aligned."""
        integers = are_integers(self.source) and are_integers(self.target)
        alike = same_width(self.source, self.target) if integers else None
        if alike is not None:
            return IdColumns(*alike, None, None)
        return id_columns(("source", self.source), ("target", self.target))


@register_for_gpus
class DeviceTable:
    """An edge table on a GPU."""

    def __init__(self, columns: TaskColumns, metadata: dict[bytes, bytes]) -> None:
        self.columns, self.metadata = columns, metadata

    def __sizeof__(self) -> int:
        return self.columns.__sizeof__()

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.columns)

    def to_arrow(self) -> pa.Table:
        """Return the table on the host."""
        columns = map(pa.array, self.columns.on(host_engine(self.columns.engine)))
        return pa.table(list(columns), names=list(Columns._fields), metadata=self.metadata)


Table: TypeAlias = "pa.Table | DeviceTable"


def host_table(table: Table) -> pa.Table:
    """Return a table as Arrow's."""
    return table.to_arrow() if isinstance(table, DeviceTable) else table


#: Of a task's edges.
EDGE_TABLE = CheckpointLayout(
    "edges", {}, lambda table: ({}, [host_table(table)]), lambda _, tables: checked_edges(next(tables))
)


def table_columns(engine: Engine, table: Table) -> Columns:
    """Return a table's columns in an engine's memory; ids other than integers need the host."""
    if isinstance(table, DeviceTable):
        return Columns(*table.columns.on(engine))
    if not all(pa.types.is_integer(table.schema.field(end).type) for end in ("source", "target")):
        ids = id_columns(("source", table.column("source")), ("target", table.column("target")))
        return Columns(ids.source, ids.target, column_values(table, "key"), column_values(table, "row"))
    return Columns(*(engine.from_host(column_values(table, name)) for name in Columns._fields))


def engine_of(table: Table) -> Engine:
    """Return an engine for work in the memory of a table."""
    return table.columns.engine if isinstance(table, DeviceTable) else task_engine()


def metadata_of(table: Table) -> dict[bytes, bytes]:
    """Return the metadata of a table."""
    return table.metadata if isinstance(table, DeviceTable) else dict(table.schema.metadata or {})


def task_result(engine: Engine, columns: Columns, metadata: dict[bytes, bytes]) -> Table:
    """Return a task's result; columns of a GPU are copied to the host if results for other tasks fill the GPU."""
    if engine.on_host:
        arrays = [column if isinstance(column, pa.Array) else pa.array(column) for column in columns]
        return pa.table(arrays, names=list(Columns._fields), metadata=metadata)
    table = DeviceTable(TaskColumns(engine, *columns), metadata)
    if not has_room(engine, 0):
        table.columns.spill()
    return table


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


def read_partition(engine: Engine, part: Any, number: int, columns: EdgeColumns) -> Iterator[Table]:
    """Yield the edges of a partition, one of a file in pieces; of frames on a GPU, those of each frame's forest."""
    place, row, types = called(number, part), 0, TypeLedger.of_frame(columns)
    try:
        for frame in _frames(part, columns):
            batch = Batch(open_frame(frame), (number << POSITION_BITS) + row, place, row)
            check_capacity(row + batch.rows)
            if batch.frame.on_device:
                yield _forest_table(batch, columns, types)
            else:
                yield edge_table(engine, batch, columns, types)
            row += batch.rows
    except DfmstError as error:
        raise error.at(place, row) from None


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


def edge_table(
    engine: Engine, batch: Batch, columns: EdgeColumns, types: TypeLedger, position: Array | None = None
) -> pa.Table:
    """Return the edges of a batch, less those that are invalid or must not be in the forest, on the host.

    `position` are the rows' positions from the batch's first row on; ``None``: consecutive rows.
    """
    engine = host_engine(engine)
    checked = check_batch(engine, columns, batch, types)
    ids, weights, kept = checked.ids, checked.weights, checked.kept if position is None else position
    if checked.barred is not None:
        rest = np.flatnonzero(~checked.barred)
        ids, weights = take_rows(engine, ids, weights, rest)
        kept = rest if kept is None else kept[rest]
    if not len(weights.values):
        return empty_table()
    key = gather_keys(engine, weights.values, None, flip_bits(weights.values.dtype, columns.heavy_first))
    row = np.arange(len(key), dtype=np.uint64) if kept is None else kept.astype(np.uint64)
    kind = types.kind(columns.weights)
    kind = f"keys of {kind}" if columns.keyed else kind
    return travelling_table(*travelling_ids(ids), key, row + np.uint64(batch.first), kind)


def _forest_table(batch: Batch, columns: EdgeColumns, types: TypeLedger) -> Table:
    """Return the forest of a batch on a GPU; it stays there if the worker's tasks run there and ids are integers."""
    if columns.joint:
        raise on_gpu(columns)
    engine, stays = select_engine(on_device=True), not worker_engine().on_host
    with engine.guard():
        solved = solve_frame(engine, batch.frame, columns)
        rows = solved.input.frame_rows(solved.rows)
        forest = batch._replace(frame=batch.frame.rows(engine, rows))
        if stays and len(rows):
            table = _device_table(engine, forest.frame, columns, rows.astype(np.uint64) + np.uint64(batch.first))
            if table is not None:
                return table
        return edge_table(engine, forest, columns, types, engine.to_host(rows))


def closing_rows(engine: Engine, view: View, columns: EdgeColumns, position: Array) -> list[int]:
    """Return the positions of rows to keep that are not among those of the forest: they close cycles."""
    keep = columns.conditions.keep
    forced, _ = condition_masks(Conditions(keep=keep), view.column, None)
    rest: Array = np.setdiff1d(np.flatnonzero(forced), position) if forced is not None else position[:0]
    if not len(rest):
        return []
    batch = Batch(view.rows(engine, rest), 0, "", 0)
    valid = check_batch(engine, columns, batch, TypeLedger.of_frame(columns)).kept
    closing: list[int] = (rest if valid is None else rest[valid]).tolist()
    return closing


class EdgeTypes(NamedTuple):
    """The types of both id columns of a table, and the kind of its weights."""

    source: pa.DataType
    target: pa.DataType
    kind: str

    @classmethod
    def of(cls, table: Table) -> EdgeTypes:
        """Return the types of a table."""
        types = table.columns.types if isinstance(table, DeviceTable) else table.schema.types
        return cls(types[0], types[1], weight_kind(table))


def read_again(engine: Engine, view: View, columns: EdgeColumns, like: EdgeTypes) -> Table:
    """Return rows of the forest as a table of the types of the table that they were chosen from."""
    if view.on_device and pa.types.is_integer(like.source) and pa.types.is_integer(like.target):
        same = _device_table(engine, view, columns, engine.xp.arange(len(view), dtype=np.uint64))
        if same is not None and weight_kind(same) == like.kind:
            return same
    types = TypeLedger.of_frame(columns)
    for name, kind in zip(columns.weights, like.kind.removeprefix("keys of ").split(", "), strict=False):
        with suppress(TypeError):  # objects have other types in other rows
            types.expect(name, pa.from_numpy_dtype(np.dtype(kind)))
    table = edge_table(engine, Batch(view, 0, "", 0), columns, types)
    return table.set_column(0, "source", table["source"].cast(like.source)).set_column(
        1, "target", table["target"].cast(like.target)
    )
