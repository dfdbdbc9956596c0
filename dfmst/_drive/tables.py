"""Partitions of Parquet files and Dask frames: each is read inside the task that needs it, with its columns alone.

Tables that travel between tasks: ``source``, ``target``, ``key`` and ``row``, with ids as the frame has them.

``key`` is the weight as an unsigned integer of the same order (complemented for a maximum forest); ``row`` is the
locator, partition << 32 | position. Both mean the same in every task, so that tables need no common numbering. On a
worker with a GPU, tables of integer ids are a :class:`DeviceTable`; otherwise they are Arrow tables.

From a partition to its edge table: columns are opened and checked once, on the host or on a GPU.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from dask.tokenize import tokenize

from dfmst._common.types import Array, Column
from dfmst._drive.devices import TaskColumns, has_room, register_for_gpus, rows_that_fit, task_engine, worker_engine
from dfmst._drive.graph import graph_of, own_tasks, parquet_pieces, reading_fault, reference
from dfmst._drive.strategies import PIECE
from dfmst._edges.arrow_values import arrow_column, is_missing, native_values, plain_ids, to_arrow
from dfmst._edges.composite import check_composite
from dfmst._edges.conditions import Conditions, condition_masks
from dfmst._edges.device_frame import device_ids, device_weights
from dfmst._edges.edge_table import HOST, flip_bits
from dfmst._edges.encode import are_integers
from dfmst._edges.frames import open_frame, open_host_frame
from dfmst._edges.read import EdgeColumns, check_columns, on_gpu, take_rows
from dfmst._edges.unify import CommonSchema, cast_exactly, common_id_type
from dfmst._edges.vertices import IdColumns, check_capacity, id_columns, same_width
from dfmst._edges.view import View
from dfmst._edges.weights import constant_weights, weight_column, weight_type, weights_as
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._engines.primitives.edges import gather_keys
from dfmst._fold.checkpoint import Layout, array_of, ascends, check, checked_table, is_id_type
from dfmst.algorithms.solve import solve_frame
from dfmst.errors import ClusterError, DfmstError, FormatError, InvalidEdgesError, machine_fault
from dfmst.formats.columnar import TableSize, batch_rows, open_buffered, parquet_footer, parquet_size
from dfmst.formats.files import open_native
from dfmst.formats.stores import Address, file_stamp, path_of


class Part(ABC):
    """A partition that tasks can read as often as they need it; `name` is for messages."""

    name: str

    @abstractmethod
    def read(self) -> Any:
        """Return the partition's frame."""


class FileRows(Part):
    """Row groups of a Parquet file, read by PyArrow."""

    # No dataclass: Dask looks for tasks in their fields.
    def __init__(
        self,
        path: Path,
        columns: list[str] | None = None,
        groups: list[int] | None = None,
        stamp: tuple[Any, ...] | None = None,
        common: CommonSchema | None = None,
        constants: Mapping[str, object] | None = None,
        written: list[str] | None = None,
    ) -> None:
        self.path, self.columns, self.groups, self.stamp = path, columns, groups, stamp
        self.common, self.constants = common, constants
        self.written = written  # columns of the output; None: all that are read
        self.name = str(path) if groups is None else f"{path}, row groups {groups}"

    def read(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return pa.concat_tables(self.pieces(PIECE))

    def pieces(self, rows: int) -> Iterator[pa.Table]:
        """Yield the rows in order, at most `rows` at a time and at most 16 MiB; an empty table if there are none."""
        with self._opened(open_buffered) as file:
            groups = list(range(file.num_row_groups)) if self.groups is None else self.groups
            size, first = batch_rows(file.metadata, groups, rows, self.columns), 0
            for batch in file.iter_batches(size, groups, self.columns, use_threads=False):
                yield self._fitted([batch], batch.schema)
                first += len(batch)
            if not first:
                yield self._fitted([], file.read_row_groups([], self.columns).schema)

    def device_pieces(self, cudf: Any) -> Iterator[Any]:
        """Yield the rows of each row group as a frame of cuDF, which reads and decodes it on the GPU."""
        self.check()
        groups = self.groups
        if groups is None:
            with self._opened(pyarrow.parquet.ParquetFile) as file:
                groups = list(range(file.num_row_groups))
        for group in groups:
            with open_native(self.path) if isinstance(self.path, Address) else nullcontext(str(self.path)) as source:
                yield cudf.read_parquet(source, columns=self.columns, row_groups=[group])
            self.check()

    def _fitted(self, batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
        """Batches in the types of all files."""
        if self.common is None:
            return pa.Table.from_batches(batches, schema)
        fitted = [self.common.fit(each, self.path, self.columns, self.constants) for each in batches]
        return pa.Table.from_batches(fitted, self.common.columns(self.columns))

    @contextmanager
    def _opened(self, opener: Callable[[Any], pyarrow.parquet.ParquetFile]) -> Iterator[pyarrow.parquet.ParquetFile]:
        """Open the file, and check at the end that it has not changed; a file that changes may also look damaged."""
        try:
            with open_native(self.path) as native, opener(native) as file:
                yield file
        except (OSError, pa.ArrowException) as error:
            self.check()
            if (fault := machine_fault(error)) is not None:
                raise fault from error
            if isinstance(error, OSError) and error.strerror:
                raise self._unreadable(error) from error
            reason = str(error).partition("\n")[0]
            message = f"{self.path}: a damaged Parquet file ({reason})"
            raise FormatError(message, "fetch or write the file again") from error
        self.check()

    def check(self) -> None:
        """Raise if the file has changed."""
        try:
            same = self.stamp is None or self.stamp == file_stamp(self.path)
        except OSError as error:
            raise self._unreadable(error) from error
        if not same:
            hint = "run again with a new frame, and write nothing to the files during a run"
            raise ClusterError(f"{self.path} has changed since the run began", hint)

    def _unreadable(self, error: OSError) -> ClusterError:
        return ClusterError(f"{self.path}: {error.strerror}", "every worker must see the files, under the same names")


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
    check(ascends(column_values(table, "row")), "rows in another order")
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
EDGE_TABLE = Layout("edges", {}, lambda table: ({}, [host_table(table)]), lambda _, tables: checked_edges(next(tables)))


def has_integers(table: Table) -> bool:
    """Whether the ids are integers, which a GPU can number."""
    return isinstance(table, DeviceTable) or all(pa.types.is_integer(table.schema.field(end).type) for end in (0, 1))


def columns_of(engine: Engine, table: Table) -> Columns:
    """Return a table's columns in an engine's memory; ids other than integers need the host."""
    if isinstance(table, DeviceTable):
        return Columns(*table.columns.on(engine))
    if not has_integers(table):
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
