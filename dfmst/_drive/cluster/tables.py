"""Tables that travel between tasks: ``source``, ``target``, ``key`` and ``row``, with ids as the frame has them.

``key`` is the weight as an unsigned integer of the same order (complemented for a maximum forest); ``row`` is the
locator, partition << 32 | position. Both mean the same in every task, so that tables need no common numbering. On a
worker with a GPU, tables of integer ids are a :class:`DeviceTable`; otherwise they are Arrow tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Column
from dfmst._drive.cluster.devices import TaskColumns, has_room, register_for_gpus, task_engine
from dfmst._edges.arrow_values import native_values
from dfmst._edges.encode import are_integers
from dfmst._edges.vertices import IdColumns, id_columns, same_width
from dfmst._engines import Engine, host_engine
from dfmst._fold.checkpoint import array_of, ascends, check, checked_table, is_id_type
from dfmst.errors import InvalidEdgesError

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


def checked_edges(tables: Iterator[pa.Table]) -> pa.Table:
    """Return the table of a checkpoint; raise ValueError if its columns are not those of edges by ascending row."""
    table = checked_table(next(tables), _EDGE_TYPES)
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
