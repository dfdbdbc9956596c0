"""The forest that one task finds: of one table, or of tables that come one after the other."""

from __future__ import annotations

import multiprocessing
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.checkpoint import EDGE_TABLE, Progress
from dfmst._drive.cluster.devices import TaskColumns, device_engine, on_device
from dfmst._drive.cluster.tables import (
    Columns,
    DeviceTable,
    Table,
    check_kinds,
    column_values,
    columns_of,
    concat,
    empty_table,
    has_integers,
    host_table,
    id_pair,
    in_row_order,
    kept,
    kind_metadata,
    like_of,
    metadata_of,
    take,
    weight_kind,
)
from dfmst._drive.plan.formulas import BUFFER, SMALL_BUFFER
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.dictionary import mixed_signs
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.encode import DeviceEncoder, Encoder, are_integers
from dfmst._edges.vertices import IdColumns, dense_vertices
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._fold.buffer import Rows
from dfmst._fold.fold import BufferFold, Fold
from dfmst.algorithms.solve import solve_table
from dfmst.errors import CapacityError

_LEAST_DENSE = 4096  # vertices


def solve_tables(engine: Engine, tables: Sequence[Table]) -> Table:
    """Return the forest of tables whose ids are integers, by ascending locator, found on a GPU."""
    filled = [table for table in tables if table.num_rows]
    if not filled:
        return empty_table()
    check_kinds(weight_kind(like_of(table)) for table in filled)
    columns = _concat(engine, [columns_of(engine, table) for table in filled])
    if bool((columns.row[1:] < columns.row[:-1]).any()):
        columns = columns.take(engine.xp.argsort(columns.row))
    encoder = _encoder(engine, len(columns.row))
    source, target = encoder.encode(columns.ids)
    forest = solve_table(engine, EdgeTable(source, target, columns.key, encoder.count))
    return kept(engine, columns.take(forest), metadata_of(filled[0]))


def _encoder(engine: Engine, rows: int) -> Encoder:
    return DeviceEncoder(max(2 * rows, _LEAST_DENSE), engine=engine)


def _concat(engine: Engine, parts: list[Columns]) -> Columns:
    """One table after the other; ids in common types."""
    if len(parts) == 1:
        return parts[0]
    joined = []
    for place in range(len(Columns._fields)):
        columns = [part[place] for part in parts]
        if place < 2:
            columns = _in_common_type(columns)
        joined.append(engine.xp.concatenate(columns))
    return Columns(*joined)


def _in_common_type(columns: list[Array]) -> list[Array]:
    """Integers in the type that holds all of them."""
    kinds = {column.dtype for column in columns}
    if len(kinds) == 1:
        return columns
    common: Any = np.int64
    if np.dtype(np.uint64) in kinds:
        if any(column.dtype.kind == "i" and len(column) and int(column.min()) < 0 for column in columns):
            raise mixed_signs()
        common = np.uint64
    return [column.astype(common, copy=False) for column in columns]


_LEAST_BUFFER = 1 << 16
_MOVED = 1 << 20  # rows that go to a GPU at a time


def worker_engine() -> Engine:
    """Return the engine of this task's worker: its GPU, or the task's share of its threads."""
    try:
        from distributed import get_worker

        device = device_engine(get_worker())
    except (ImportError, ValueError):  # a scheduler within the process
        device = None
    return task_engine() if device is None else device


def task_engine() -> Engine:
    """Return an engine with this task's share of its worker's threads."""
    try:
        from distributed import get_worker

        worker: Any = get_worker()
    except (ImportError, ValueError):
        # A scheduler within the process: alone in the main thread, or one of several threads or processes.
        alone = threading.current_thread() is threading.main_thread() and multiprocessing.parent_process() is None
        return select_engine("cpu", None if alone else 1)
    return select_engine("cpu", max(1, worker.state.nthreads // max(1, worker.state.executing_count)))


def solve(engine: Engine, table: pa.Table) -> pa.Table:
    """Return the rows of a table that form its minimum spanning forest, by ascending locator."""
    if not table.num_rows:
        return table
    table = in_row_order(table)
    vertices = dense_vertices(host_engine(engine), id_pair(table))
    key = engine.from_host(column_values(table, "key"))
    edges = EdgeTable(engine.from_host(vertices.source), engine.from_host(vertices.target), key, vertices.total)
    return take(table, engine.to_host(solve_table(engine, edges)))


def merge(tables: list[Table]) -> Table:
    """Return the forest of several tables (a task).

    Where a GPU has no room for the tables' ids, the host numbers them, and only vertices and keys go there.
    """
    engine = worker_engine()
    # All rows are solved at once: there is nothing to halve.
    if not engine.on_host and all(map(has_integers, tables)):
        with suppress(CapacityError):
            return on_device(engine, 1, lambda _: solve_tables(engine, tables), least=1)
    table = concat([host_table(table) for table in tables])
    return on_device(engine, 1, lambda _: solve(engine, table), least=1)


def folded(task: Callable[[TableFold], Table]) -> Table:
    """Return what a task makes of a fold on its worker's engine: with a smaller buffer where a GPU has little room.

    Where that has no room for the ids' numbers either, the task runs again, and the host numbers them.
    """
    engine, has_dictionary = worker_engine(), False

    def attempt(buffer: int, numbered_there: bool) -> Table:
        nonlocal has_dictionary
        fold = TableFold(engine, buffer, numbered_there)
        try:
            return task(fold)
        finally:
            has_dictionary = fold.has_device_dictionary

    try:
        return on_device(engine, BUFFER, lambda buffer: attempt(buffer, True), SMALL_BUFFER)
    except CapacityError:
        if not has_dictionary:
            raise
    return on_device(engine, SMALL_BUFFER, lambda buffer: attempt(buffer, False), SMALL_BUFFER)


def resume(fold: TableFold, path: str | None, partitions: int) -> Progress:
    """Continue a fold with the forest that an earlier run of its task saved."""
    progress = Progress(path, EDGE_TABLE, partitions)
    if progress.content is not None:
        fold.add(progress.content)
        progress.content = None
    return progress


class StoredEncoder(NamedTuple):
    """The state of an encoder (:class:`dfmst._edges.encode.Encoder`): the bound of dense ids, and the other ids."""

    dense: int = 0
    ids: TaskColumns | None = None

    @classmethod
    def of(cls, engine: Engine, encoder: Encoder) -> StoredEncoder:
        """Take the state of an encoder; ids that a GPU numbers stay there while it has room."""
        if isinstance(encoder, DeviceEncoder):
            ids: Any = encoder.ids_there
        else:
            engine, ids = host_engine(engine), encoder.values
        return cls(encoder.dense, None if ids is None else TaskColumns.stored(engine, ids))

    @property
    def vertices(self) -> int:
        """Exclusive upper bound of the vertices."""
        return self.dense + (0 if self.ids is None else len(self.ids))

    @property
    def type(self) -> pa.DataType | None:
        """The type of the ids; ``None`` if all are dense."""
        return None if self.ids is None else self.ids.types[0]

    def on(self, engine: Engine, bound: int | None = 0) -> Encoder:
        """Make the encoder: on a GPU if that is the engine and ids are integers."""
        ids = None if self.ids is None else self.ids.on(engine)[0]
        if engine.on_host or isinstance(ids, pa.Array):
            ids = arrow_numbers(ids) if isinstance(ids, np.ndarray) else ids
            return Encoder(bound, self.dense, ids, host_engine(engine))
        return DeviceEncoder(bound, self.dense, ids, engine)


class EncodedFold(ABC):
    """A fold of tables whose locators ascend: ids become vertices, and :meth:`_fold_for` returns the fold of the rows.

    `rows` is the number of rows that go to a GPU at a time; `kind` is the type of the weights, empty without rows.
    """

    def __init__(self, engine: Engine, encoder: Encoder, rows: int = _MOVED) -> None:
        self.engine, self._encoder = engine, encoder
        self._step = _MOVED if engine.on_host else min(_MOVED, rows)
        self.kind = ""

    @property
    def has_device_dictionary(self) -> bool:
        """Whether ids are numbered by a dictionary in the memory of a GPU."""
        return isinstance(self._encoder, DeviceEncoder) and self._encoder.type is not None

    def add(self, table: Table) -> None:
        """Add rows that come after all rows before them."""
        # Rows of the host go to a GPU as vertices, if ids are vertices.
        on_gpu = isinstance(table, DeviceTable) and not self.engine.on_host
        engine = self.engine if on_gpu else host_engine(self.engine)
        self.add_columns(columns_of(engine, table), table, table.num_rows)

    def add_columns(self, columns: Columns, table: Table, rows: int) -> None:
        """Add columns of the host or the GPU, which were chosen from `rows` rows of a table (see :meth:`add`)."""
        if not len(columns):
            return
        kind = weight_kind(like_of(table))
        check_kinds([self.kind or kind, kind])
        self.kind = kind
        ids = columns.ids
        if not are_integers(ids.source):
            self._encoder = self._encoder.on_host()
        for begin, end, ends in self._numbered(ids, rows):
            fold = self._fold_for(columns.key.dtype)
            fold.add(Rows(*map(self.engine.from_host, (*ends, columns.key[begin:end], columns.row[begin:end]))))

    @abstractmethod
    def _fold_for(self, weight: np.dtype[Any]) -> Fold:
        """Return the fold of rows with weights of this type and any vertex of the encoder."""

    def _numbered(self, ids: IdColumns, rows: int) -> Iterator[tuple[int, int, tuple[Array, Array]]]:
        """Yield the vertices in pieces, each with its span."""
        on_device, count = isinstance(self._encoder, DeviceEncoder), len(ids.source)
        if not on_device and are_integers(ids.source):
            ids = ids._replace(source=self.engine.to_host(ids.source), target=self.engine.to_host(ids.target))
        whole = self._encoder.encode_dense(ids, rows) if on_device else self._encoder.encode(ids, rows)
        for begin in range(0, count, self._step):
            end = min(begin + self._step, count)
            if whole is not None:
                yield begin, end, (whole[0][begin:end], whole[1][begin:end])
            else:  # only the ids of one piece are on the device next to its vertices
                piece = ids._replace(source=ids.source[begin:end], target=ids.target[begin:end])
                yield begin, end, self._encoder.encode(piece, 0)


class TableFold(EncodedFold):
    """The forest of tables whose locators ascend, in memory that grows with the vertices and not with the rows."""

    def __init__(self, engine: Engine, buffer: int = BUFFER, numbered_there: bool = True) -> None:
        super().__init__(engine, StoredEncoder().on(engine if numbered_there else host_engine(engine), None))
        self._buffer = buffer
        self._fold: BufferFold | None = None
        self._capacity = 0

    def forest(self) -> Table:
        """Return the forest of all rows so far."""
        if self._fold is None:
            return empty_table()
        forest, metadata = self._fold.forest(), kind_metadata(self.kind)
        if isinstance(self._encoder, DeviceEncoder):
            ends = map(self._encoder.decode_there, forest.arrays[:2])
            # The other columns are views into the fold's buffer.
            return kept(self.engine, Columns(*ends, *(column.copy() for column in forest.arrays[2:])), metadata)
        source, target, weight, locator = map(self.engine.to_host, forest.arrays)
        arrays = [*map(self._encoder.decode, (source, target)), pa.array(weight.copy()), pa.array(locator.copy())]
        return pa.table(arrays, names=list(Columns._fields), metadata=metadata)

    def _fold_for(self, weight: np.dtype[Any]) -> BufferFold:
        vertices = self._encoder.count
        if self._fold is not None and self._capacity >= 2 * vertices:
            return self._fold
        # A larger buffer takes the forest of the rows so far.
        forest = None if self._fold is None else self._fold.forest()
        self._capacity = max(_LEAST_BUFFER, self._buffer * vertices)
        larger = BufferFold(self.engine, vertices, self._capacity, weight_dtype=weight)
        if forest is not None:
            larger.add(forest)
        self._fold = larger
        return larger
