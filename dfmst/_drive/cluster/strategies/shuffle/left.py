"""What tasks of a shuffle leave to others: on the GPU as long as there is room for it, else in the worker's files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.device_tables import DeviceTable, Table, columns_of, has_room
from dfmst._drive.cluster.local_files import local_directory
from dfmst._drive.cluster.task_columns import TaskColumns, register_for_gpus
from dfmst._edges.encode import DeviceEncoder, Encoder, are_integers
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.sort import sort_order
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Order, Run, StoredArray, StoredIds, write_sorted

BY_KEY = Order("weight")  # of keys that are ordered already
LeftArray: TypeAlias = "StoredArray | TaskColumns"
LeftIds: TypeAlias = "StoredIds | TaskColumns"


@register_for_gpus
class WaitingRun(Run):
    """A run whose columns wait for other tasks."""

    def __init__(self, grain: int, columns: TaskColumns, index: Array | None = None) -> None:
        self._begin(columns.engine, BY_KEY, columns.dtype(2), grain)
        self._columns = columns
        if index is None:
            self._count(Rows(*columns.on(columns.engine)))
        else:
            self._index, self._rows = [index], len(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the columns do."""
        return WaitingRun, (self.grain, self._columns, self.index)

    @property
    def on_host(self) -> bool:
        """Whether its rows lie on the host."""
        return self._columns.engine.on_host

    @property
    def xp(self) -> Any:
        """The array module of its rows."""
        return self._columns.engine.xp

    def _read(self, columns: Sequence[str], begin: int, end: int) -> Iterator[Array]:
        rows = Rows(*self._columns.on(self._columns.engine))
        return (getattr(rows, name)[begin:end] for name in columns)


def leave(engine: Engine, column: Array) -> LeftArray:
    """Return a column as others get it; it must not be a view into a longer one."""
    if not engine.on_host and has_room(engine, column.nbytes):
        return TaskColumns(engine, column)
    return StoredArray(local_directory(), engine.to_host(column))


def load(engine: Engine, left: LeftArray) -> Array:
    """Return a column that a task has left, in an engine's memory; it must not be written to."""
    return left.on(engine)[0] if isinstance(left, TaskColumns) else engine.from_host(left.load())


def leave_ids(engine: Engine, ids: Array) -> LeftIds:
    """Return integer ids of a GPU's memory as others get them; they must not be a view into a longer column."""
    if has_room(engine, ids.nbytes):
        return TaskColumns(engine, ids)
    return StoredIds(local_directory(), pa.array(engine.to_host(ids)))


def ids_on_host(left: LeftIds) -> pa.Array:
    """Return ids that a task has left, on the host."""
    return pa.array(left.load()) if isinstance(left, TaskColumns) else left.load()


def ids_there(engine: Engine, left: LeftIds) -> Array:
    """Return integer ids that a task has left, in a GPU's memory."""
    return left.on(engine)[0] if isinstance(left, TaskColumns) else engine.from_host(left.load().to_numpy())


def leave_sorted(engine: Engine, rows: Rows, positions: Array | None, grain: int) -> Run:
    """Return rows, or those at ascending positions, as a run by ascending key."""
    count = len(rows) if positions is None else len(positions)
    if engine.on_host or not has_room(engine, count * sum(column.itemsize for column in rows.arrays)):
        run = Run(host_engine(engine), local_directory(), BY_KEY, rows.weight.dtype, grain)
        write_sorted(engine, run, BY_KEY, rows, positions)
        return run
    places = sort_order(engine, rows.weight if positions is None else rows.weight[positions])
    places = places if positions is None else positions[places]
    return WaitingRun(grain, TaskColumns(engine, *(column[places] for column in rows.arrays)))


def leave_run(engine: Engine, run: Run) -> Run | None:
    """Return a run of a GPU's memory as others get it; ``None`` where there is no room for it."""
    if not has_room(engine, run.nbytes):
        return None
    return WaitingRun(run.grain, TaskColumns(engine, *(column.copy() for column in run.part(0, len(run)).arrays)))


def on_side(engine: Engine, rows: Rows) -> Rows:
    """Return rows in an engine's memory."""
    if not engine.on_host:
        return Rows(*map(engine.from_host, rows.arrays))
    columns: tuple[Any, ...] = rows.arrays
    return Rows(*(column if isinstance(column, np.ndarray) else column.get() for column in columns))


def encoded(engine: Engine, encoder: Encoder, table: Table) -> tuple[Encoder, Rows]:
    """Return a table's rows with their vertices, and the encoder of these; columns lie where they did, or there."""
    # A table of the host goes on as vertices.
    columns = columns_of(engine if isinstance(table, DeviceTable) else host_engine(engine), table)
    ids = columns.ids
    encoder = encoder if are_integers(ids.source) else encoder.on_host()
    if not isinstance(encoder, DeviceEncoder) and are_integers(ids.source):
        ids = ids._replace(source=engine.to_host(ids.source), target=engine.to_host(ids.target))
    return encoder, Rows(*encoder.encode(ids), columns.key, columns.row)


def ascending_locators(engine: Engine, run: Run) -> Array:
    """Return the locators of a run's rows in ascending order, in an engine's memory."""
    locator = run.part(0, len(run)).arrays[3]
    if not engine.on_host:
        ascending: Array = engine.xp.sort(engine.from_host(locator))
        return ascending
    return np.sort(locator) if run.on_host else run.xp.asnumpy(run.xp.sort(locator))
