"""Sorted runs of a shuffle: on the GPU while it has room, otherwise in files of the worker.

A group of a sliced merge is folded in memory first, with 48 bytes a vertex; its forest becomes one run. A merge of two
forests would hold both and a table of them.

Sanders, Schimek: Engineering massively parallel MST algorithms. IPDPS 2023 (local contraction first, then filtering);
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009 (light slices first).
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.devices import TaskColumns, device_bytes, register_for_gpus, waiting_bytes
from dfmst._drive.cluster.tables import DeviceTable, Table, columns_of, has_room
from dfmst._edges.encode import DeviceEncoder, Encoder, are_integers
from dfmst._engines import CpuEngine, Engine, host_engine
from dfmst._engines.primitives.sort import sort_order
from dfmst._fold.budget import ROW, MemoryRunBudget
from dfmst._fold.buffer import RowBuffer, Rows
from dfmst._fold.fold import RunFold
from dfmst._fold.runs import GRAIN, MemoryRun, Order, Run, StoredArray, StoredIds, read_pieces, write_sorted
from dfmst._fold.slices import COMPACT, SliceKruskal, forest_positions
from dfmst.formats.directories import SpillDirectory

_lock = threading.Lock()
_directories: dict[tuple[int, str], LocalDirectory] = {}


class LocalDirectory(SpillDirectory):
    """The directory of whichever process the object is in: what travels with it is written there."""

    def __reduce__(self) -> tuple[object, ...]:
        """Stand for the directory of the process that gets it."""
        return local_directory, ()


def local_directory() -> LocalDirectory:
    """Return the directory for this process's files, which is removed with the process."""
    parent = _parent()
    with _lock:
        key = (os.getpid(), parent)
        if key not in _directories or not _directories[key].path.exists():
            _directories[key] = LocalDirectory(parent)
        return _directories[key]


def _parent() -> str:
    if "distributed" in sys.modules:
        from distributed import get_worker

        try:
            return str(get_worker().local_directory)
        except (AttributeError, ValueError):  # no worker's process
            pass
    return tempfile.gettempdir()


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


_CUTS = 256  # keys in the index of a short run
_DROPS = 0.9  # share of a batch that is left, above which later batches are only sorted


class Batches:
    """Rows of tables in batches, each of which becomes a run.

    What cycles within a batch beat is dropped, as long as that drops enough.
    """

    def __init__(self, engine: Engine, encoder: Encoder, rows: int) -> None:
        self._engine, self._capacity = engine, rows
        self._buffer: RowBuffer | None = None
        self._drops = True
        self.encoder = encoder
        self.runs: list[Run] = []

    def add(self, table: Table) -> Iterator[Run]:
        """Take a table's rows; yield the runs that are full."""
        self.encoder, rows = encoded(self._engine, self.encoder, table)
        yield from self.add_rows(rows)

    def add_rows(self, rows: Rows) -> Iterator[Run]:
        """Take rows whose vertices are the encoder's; yield the runs that are full."""
        begin = 0
        while begin < len(rows):
            if self._buffer is None:
                self._buffer = RowBuffer(self._engine, self._capacity, rows.weight.dtype)
            end = min(len(rows), begin + self._buffer.free)
            self._buffer.append(on_side(self._engine, rows.part(begin, end)), None)
            begin = end
            if not self._buffer.free:
                yield from self.flush()

    def flush(self) -> Iterator[Run]:
        """Make a run of the batch, and yield it."""
        if self._buffer is None:
            return
        rows, self._buffer, positions = self._buffer.rows, None, None
        if self._drops:
            positions = self._forest(rows)
            self._drops = len(positions) <= _DROPS * len(rows)
        count = len(rows) if positions is None else len(positions)
        grain = min(GRAIN, max(1, count // _CUTS))
        self.runs.append(leave_sorted(self._engine, rows, positions, grain))
        yield self.runs[-1]

    def _forest(self, rows: Rows) -> Array:
        """Positions of a batch's forest; parents are only held for the range of vertices that it has."""
        if not self._engine.on_host:
            return forest_positions(self._engine, rows, 0)
        low = min(int(rows.source.min()), int(rows.target.min()))
        vertices = max(int(rows.source.max()), int(rows.target.max())) + 1 - low
        if low:
            rows = Rows(rows.source - np.uint32(low), rows.target - np.uint32(low), rows.weight, rows.locator)
        return SliceKruskal(self._engine, vertices, 0, rows.weight.dtype, 0).choose(rows).positions


DEVICE_SORT = 56  # bytes a row that sorting takes on a GPU: keys, records twice, their halves and two orders
DEVICE_SCAN = ROW + COMPACT + 24  # bytes a row that a slice takes there, but for the weights of two buffers


class FoldRoom(NamedTuple):
    """What the fold of a group may hold, in bytes, and how many vertices it is expected to have."""

    size: int
    vertices: int


class GroupFold:
    """Rows of tables, folded into their forest; with more vertices than fit, sorted into files as in a shuffle.

    Attributes
    ----------
    runs
        The edges that are left, by ascending key, after :meth:`flush`.
    """

    def __init__(self, engine: Engine, encoder: Encoder, room: FoldRoom, batch: int) -> None:
        self._engine, self._room, self._batch = engine, room, batch
        self._fold: RunFold | None = None
        self._files: Batches | None = None
        self.encoder = encoder
        self.runs: list[Run] = []

    @property
    def in_memory(self) -> bool:
        """Whether all edges that are left are a forest in memory."""
        return self._files is None

    def add(self, table: Table) -> Iterator[Run]:
        """Take a table's rows; yield the runs whose rows stay. Those in memory are known at the end."""
        self.encoder, rows = encoded(self._engine, self.encoder, table)
        if self._files is None and self.encoder.count > self._room_for(rows.weight.dtype).most_vertices:
            _warn()
            runs = list(self.flush())
            self._files = Batches(self._engine, self.encoder, self._batch)
            self._files.runs += [_in_file(run) for run in runs]
            yield from runs
        if self._files is None:
            self._add(rows)
        else:
            yield from self._files.add_rows(rows)

    def take_up(self, forest: Run) -> None:
        """Go on with the forest of earlier rows, by ascending key."""
        self._add(forest)
        forest.remove()

    def so_far(self) -> Run | None:
        """Return the forest of all rows so far by ascending key, good until the next is added; ``None``: no rows."""
        return None if self._fold is None else self._fold.so_far()

    def _add(self, rows: Rows | Run) -> None:
        for piece in read_pieces(rows):
            if self._fold is None:
                room = self._room_for(piece.weight.dtype)
                vertices = min(max(self._room.vertices, self.encoder.count), room.most_vertices)
                self._fold = RunFold(self._engine, None, room, vertices, piece.weight.dtype)
            self._fold.add(on_side(self._engine, piece))

    def _room_for(self, weight: np.dtype[Any]) -> MemoryRunBudget:
        """The room for weights of a type."""
        if self._engine.on_host:
            return MemoryRunBudget(self._room.size, weight.itemsize)
        return MemoryRunBudget(device_bytes(self._engine) - waiting_bytes(), weight.itemsize, DEVICE_SORT, DEVICE_SCAN)

    def flush(self) -> Iterator[Run]:
        """Solve, or write what waits; yield the runs whose rows were not known to stay."""
        if self._files is not None:
            yield from self._files.flush()
            self.runs = self._files.runs
        elif self._fold is not None:
            forest = self._fold.ascending()
            self._fold = None
            self.runs = [forest if forest.on_host else leave_run(self._engine, forest) or self._on_host(forest)]
            yield self.runs[0]

    def _on_host(self, run: Run) -> Run:
        """The forest in the host's memory, where it waits until it is cut: there is no room for it on the GPU."""
        copy = MemoryRun(host_engine(self._engine), BY_KEY, run.part(0, 0).weight.dtype, run.grain)
        copy.append(Rows(*map(self._engine.to_host, piece.arrays)) for piece in read_pieces(run))
        return copy


def _in_file(run: Run) -> Run:
    """The run in a file of its worker; one on a GPU stays there."""
    if not run.on_host:
        return run
    file = Run(CpuEngine(1), local_directory(), BY_KEY, run.part(0, 0).weight.dtype, run.grain)
    file.append(read_pieces(run))
    return file


def _warn() -> None:
    """Say, on the client as well, that a merge becomes a shuffle; the same words are shown once."""
    try:
        from distributed import warn
    except ImportError:
        from warnings import warn
    warn("more vertices than planned: the merge goes on as a shuffle, in files of the workers", stacklevel=3)
