"""Tables that travel (:mod:`dfmst._drive.cluster.tables`), of integer ids, on the GPU of the worker that made them.

What a task does with them it does there. A worker without a GPU takes them as Arrow tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.devices import device_bytes
from dfmst._drive.cluster.tables import (
    column_values,
    empty_table,
    id_pair,
    take,
    travelling_table,
)
from dfmst._drive.cluster.task_columns import TaskColumns, register_for_gpus, waiting_bytes
from dfmst._edges.encode import are_integers
from dfmst._edges.vertices import IdColumns, id_columns, same_width
from dfmst._engines import Engine, host_engine

_WAITING = 0.25  # share of a GPU that results may hold which wait for other tasks
_MOVED = 1 << 20  # rows that go to a GPU at a time


class Columns(NamedTuple):
    """The columns of a table in one engine's memory; on the host, ids that are no integers are Arrow's."""

    source: Any
    target: Any
    key: Array
    row: Array

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.row)

    def take(self, positions: Array) -> Columns:
        """Return the rows at these positions."""
        source, target = (_taken(column, positions) for column in self[:2])
        return Columns(source, target, self.key[positions], self.row[positions])

    def part(self, begin: int, end: int) -> Columns:
        """Return a span of the rows, nothing copied."""
        source, target, key, row = (column[begin:end] for column in self)
        return Columns(source, target, key, row)

    @property
    def ids(self) -> IdColumns:
        """Both id columns, aligned."""
        if are_integers(self.source) and are_integers(self.target):
            source, target = same_width("source", "target", self.source, self.target)
            return IdColumns(source, target, None, None)
        return id_columns(("source", self.source), ("target", self.target))


def _taken(column: Any, positions: Array) -> Any:
    return column.take(pa.array(positions)) if isinstance(column, pa.Array) else column[positions]


@register_for_gpus
class DeviceTable:
    """A table that travels."""

    def __init__(self, columns: TaskColumns, metadata: dict[bytes, bytes]) -> None:
        self.columns, self.metadata = columns, metadata

    def __sizeof__(self) -> int:
        """Return a number that grows with the rows."""
        return self.columns.__sizeof__()

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.columns)

    def to_arrow(self) -> pa.Table:
        """Return the table on the host."""
        source, target, key, row = self.columns.on(host_engine(self.columns.engine))
        table = travelling_table(pa.array(source), pa.array(target), key, row, "")
        return table.replace_schema_metadata(self.metadata)


Table: TypeAlias = "pa.Table | DeviceTable"


def host_table(table: Table) -> pa.Table:
    """Return a table as Arrow's."""
    return table.to_arrow() if isinstance(table, DeviceTable) else table


def has_integers(table: Table) -> bool:
    """Whether the ids are integers, which a GPU numbers."""
    return isinstance(table, DeviceTable) or all(pa.types.is_integer(table.schema.field(end).type) for end in (0, 1))


def columns_of(engine: Engine, table: Table) -> Columns:
    """Return a table's columns in an engine's memory; only the host's holds ids that are no integers."""
    if isinstance(table, DeviceTable):
        return Columns(*table.columns.on(engine))
    if not has_integers(table):
        return Columns(*id_pair(table)[:2], column_values(table, "key"), column_values(table, "row"))
    return Columns(*(engine.from_host(column_values(table, name)) for name in Columns._fields))


def side_of(engine: Engine, table: Table) -> Engine:
    """Return where work on a table's columns is done: on a GPU only on ids that are integers."""
    return engine if has_integers(table) else host_engine(engine)


def pieces(engine: Engine, table: Table) -> Iterator[Columns]:
    """Yield a table's columns in an engine's memory: on a GPU a bounded number of rows at a time."""
    step = max(1, table.num_rows) if engine.on_host else _MOVED
    if isinstance(table, DeviceTable):
        columns = columns_of(engine, table)
        yield from (columns.part(begin, begin + step) for begin in range(0, len(columns), step))
        return
    yield from (columns_of(engine, table.slice(begin, step)) for begin in range(0, table.num_rows, step))


def some_rows(table: Table, positions: Array) -> pa.Table:
    """Return a few rows of a table, by position, on the host."""
    if not isinstance(table, DeviceTable):
        return take(table, positions)
    engine = table.columns.engine
    columns = columns_of(engine, table).take(engine.from_host(positions))
    return DeviceTable(TaskColumns(engine, *columns), table.metadata).to_arrow()


def metadata_of(table: Table) -> dict[bytes, bytes]:
    """Return what goes with a table."""
    return table.metadata if isinstance(table, DeviceTable) else dict(table.schema.metadata or {})


def with_metadata(table: Table, more: dict[bytes, bytes]) -> Table:
    """Return a table with more that goes with it."""
    metadata = {**metadata_of(table), **more}
    return (
        DeviceTable(table.columns, metadata)
        if isinstance(table, DeviceTable)
        else table.replace_schema_metadata(metadata)
    )


def has_room(engine: Engine, size: int) -> bool:
    """Whether so many bytes more may wait on a GPU for other tasks."""
    return waiting_bytes() + size <= _WAITING * device_bytes(engine)


def reserve(engine: Engine) -> int:
    """Bytes of a GPU that results may still take which wait for other tasks."""
    return max(0, int(_WAITING * device_bytes(engine)) - waiting_bytes())


def kept(engine: Engine, columns: Columns, metadata: dict[bytes, bytes]) -> DeviceTable:
    """Return a task's result; where the results that wait leave the GPU too little, it goes to the host."""
    table = DeviceTable(TaskColumns(engine, *columns), metadata)
    if not engine.on_host and not has_room(engine, 0):
        table.columns.spill()
    return table


def like_of(table: Table) -> pa.Table:
    """Return a table without rows that agrees with a table."""
    return empty_table().replace_schema_metadata(metadata_of(table))
