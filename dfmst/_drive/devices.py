"""The GPU of a worker, and results of tasks that other tasks wait for: columns and sorted runs.

A worker uses its GPU if it declares the resource ``GPU`` or runs under dask-cuda, and CuPy finds a device. A plain
cluster works on the host even on a machine with a GPU, because its processes would share the GPU.

Columns stay on the GPU between tasks of one worker. To another worker they travel from GPU to GPU if the comm can read
device memory (UCX: Dask's serializers named ``"cuda"``); any other comm sends them as NumPy columns. If the GPU is
short of memory, all columns of finished tasks are copied to the host. Only this module copies; Dask and CuPy move
nothing.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias, TypeVar
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from dfmst._common.directories import SpillDirectory
from dfmst._common.types import Array, Column, DType, Frame
from dfmst._drive.graph import worker_of_process
from dfmst._drive.strategies import DEVICE_SHARE, LEAST_ROWS
from dfmst._engines import CpuEngine, Engine, free_pool_bytes, host_engine, select_engine
from dfmst._engines.scratch import rmm_pool
from dfmst._fold.checkpoint import read_column
from dfmst._fold.rows import Order, Rows, Run, StoredColumn
from dfmst.errors import CapacityError, EngineUnavailableError

_on_gpu: WeakSet[TaskColumns] = WeakSet()  # of this process
_SIZE_SHARE = 16  # of their bytes is what columns report to Dask, which counts the host's memory
_RESULTS = 0.25  # share of a GPU that results of finished tasks may take

BY_KEY = Order("weight")  # the weights of these runs are ordered keys
_Column: TypeAlias = "Array | pa.Array | StoredColumn"

_lock = threading.Lock()
_directories: dict[tuple[int, str], LocalDirectory] = {}


class LocalDirectory(SpillDirectory):
    """The directory for a process's files; pickling names the directory of the receiving process."""

    def __reduce__(self) -> tuple[object, ...]:
        return local_directory, ()


def local_directory() -> LocalDirectory:
    """Return the directory for this process's files, which is removed with the process."""
    worker = _worker() or worker_of_process() if "distributed" in sys.modules else None  # no task: columns arrive
    parent = str(getattr(worker, "local_directory", tempfile.gettempdir()))
    with _lock:
        key = (os.getpid(), parent)
        if key not in _directories or not _directories[key].path.exists():
            _directories[key] = LocalDirectory(parent)
        return _directories[key]


class TaskColumns:
    """Columns that a task returns: on a GPU until that is short of memory, in the host's memory, or in files.

    Ids that are not integers are Arrow columns, always on the host.
    """

    def __init__(self, engine: Engine, *columns: _Column) -> None:
        self.engine = engine
        self._columns: tuple[Any, ...] = columns
        if not engine.on_host:
            _on_gpu.add(self)

    @classmethod
    def stored(cls, engine: Engine, *columns: Array | pa.Array) -> TaskColumns:
        """Keep columns on a GPU that has room for them, otherwise write them to files.

        No column may be a view into a longer one.
        """
        if not engine.on_host and has_room(engine, sum(column.nbytes for column in columns)):
            return cls(engine, *columns)
        directory, host = local_directory(), host_engine(engine)
        return cls(host, *(_stored(directory, engine, column) for column in columns))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle columns of a GPU as columns of the host."""
        return _of_host, self._host_columns()

    def _host_columns(self) -> tuple[Any, ...]:
        return self._columns if self.engine.on_host else tuple(map(self.engine.to_host, self._columns))

    def __sizeof__(self) -> int:
        return self.nbytes // _SIZE_SHARE

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in self._columns)

    @property
    def types(self) -> list[pa.DataType]:
        """The Arrow type of each column."""
        arrow = (pa.Array, StoredColumn)
        return [each.type if isinstance(each, arrow) else pa.from_numpy_dtype(each.dtype) for each in self._columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    def on(self, engine: Engine, *, writable: bool = False) -> tuple[Any, ...]:
        """Return the columns in an engine's memory; `writable` ones are copies."""
        return tuple(self._moved(engine, column, writable) for column in self._columns)

    def _moved(self, engine: Engine, column: Column, writable: bool) -> Any:
        loaded = column.load() if isinstance(column, StoredColumn) else column
        if isinstance(loaded, pa.Array):
            return loaded
        to_host = engine.on_host and not self.engine.on_host
        moved = self.engine.to_host(loaded) if to_host else engine.from_host(loaded)
        return moved.copy() if writable and moved is column else moved

    def tables(self) -> Iterator[pa.Table]:
        """Yield each column as a table, for a checkpoint."""
        return (pa.table({"values": column}) for column in self.on(CpuEngine(1)))

    @classmethod
    def read(cls, tables: Iterator[pa.Table], *tests: Callable[[pa.DataType], bool]) -> TaskColumns:
        """Read columns from a checkpoint, whose types pass tests, and store them."""
        columns = [read_column(tables, test) for test in tests]
        return cls.stored(CpuEngine(1), *columns)

    def load(self, engine: Engine | None = None, place: int = 0) -> Any:
        """Return one column in an engine's memory, or on the host."""
        return self._moved(engine or host_engine(self.engine), self._columns[place], False)

    def spill(self) -> None:
        """Move the columns to the host's memory."""
        _on_gpu.discard(self)
        self._columns, self.engine = self._host_columns(), host_engine(self.engine)


def _stored(directory: SpillDirectory, engine: Engine, column: Column) -> StoredColumn:
    if not isinstance(column, pa.Array):
        return StoredColumn(directory, engine.to_host(column))
    return StoredColumn(directory, column.to_numpy() if pa.types.is_integer(column.type) else column)


def _of_host(*columns: Any) -> TaskColumns:
    return TaskColumns(CpuEngine(1), *columns)


def result_bytes() -> int:
    """Bytes of this process's GPU that columns of finished tasks take."""
    return sum(columns.nbytes for columns in list(_on_gpu))


def has_room(engine: Engine, size: int) -> bool:
    """Whether the results of finished tasks may take `size` more bytes of a GPU."""
    return result_bytes() + size <= _RESULTS * device_bytes(engine)


def reserve(engine: Engine) -> int:
    """Bytes of a GPU that results of finished tasks may still take."""
    return max(0, int(_RESULTS * device_bytes(engine)) - result_bytes())


def spill() -> int:
    """Move all columns of finished tasks from this process's GPU to the host; return their bytes."""
    size = result_bytes()
    for columns in list(_on_gpu):
        columns.spill()
    return size


def new_file_run(weight: DType, grain: int) -> Run:
    """Return an empty run in a file of this process."""
    return Run(CpuEngine(1), local_directory(), BY_KEY, weight, grain)


def rows_on(engine: Engine, rows: Rows) -> Rows:
    """Return rows in an engine's memory."""
    if not engine.on_host:
        return Rows(*map(engine.from_host, rows.arrays))
    columns: tuple[Any, ...] = rows.arrays
    return Rows(*(column if isinstance(column, np.ndarray) else column.get() for column in columns))


# ---- from GPU to GPU -----------------------------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Collects the columns of a GPU, and writes their numbers in their place."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.columns: list[TaskColumns] = []

    def persistent_id(self, value: object) -> int | None:
        if not isinstance(value, TaskColumns) or value.engine.on_host:
            return None
        self.columns.append(value)
        return len(self.columns) - 1


class _Unpickler(pickle.Unpickler):
    """Replaces the numbers of columns by the columns."""

    def __init__(self, file: io.BytesIO, columns: Sequence[TaskColumns]) -> None:
        super().__init__(file)
        self._known = columns

    def persistent_load(self, number: Any) -> TaskColumns:
        return self._known[int(number)]


def _dumps(value: object) -> tuple[dict[str, Any], list[Any]]:
    """Split a task's result into a pickle and the columns of a GPU, as bytes."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    if not pickler.columns:
        raise NotImplementedError  # Dask takes its next serializer
    arrays = [each.on(each.engine) for each in pickler.columns]
    types = [[column.dtype.str for column in columns] for columns in arrays]
    frames = [column.view(np.uint8) for columns in arrays for column in columns]
    return {"pickled": file.getvalue(), "types": types}, frames


def _loads(header: dict[str, Any], frames: list[Frame]) -> Any:
    engine = select_engine("cuda")
    arrays = iter(frames)
    columns = [
        TaskColumns(engine, *(engine.xp.asarray(next(arrays)).view(np.dtype(dtype)) for dtype in types))
        for types in header["types"]
    ]
    return _Unpickler(io.BytesIO(header["pickled"]), columns).load()


def _as_pickle(value: object) -> NoReturn:
    raise NotImplementedError  # Dask takes its next serializer


def register_for_gpus(type_: type) -> type:
    """Send objects that hold :class:`TaskColumns` from GPU to GPU if Dask's comm can (a class decorator).

    Dask looks into a list or a dict only if it has a serializer of the host for the type of the first entry.
    """
    _unregistered.append(type_)
    if "distributed" in sys.modules:
        from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
        from distributed.protocol.serialize import dask_serialize

        while _unregistered:
            waiting = _unregistered.pop()
            cuda_serialize.register(waiting, _dumps)
            cuda_deserialize.register(waiting, _loads)
            dask_serialize.register(waiting, _as_pickle)
    return type_


_unregistered: list[type] = []
register_for_gpus(TaskColumns)


# ---- the memory of a GPU ---------------------------------------------------------------------------------------------


_Result = TypeVar("_Result")


def device_engine(worker: Any) -> Engine | None:
    """Return the engine of a worker's GPU; ``None`` if it does not use one."""
    declared = worker.state.total_resources.get("GPU", 0) > 0
    if not (declared or "dask_cuda" in sys.modules):
        return None
    try:
        return select_engine("cuda")
    except EngineUnavailableError:
        return None


def device_bytes(engine: Engine, worker: Any = None) -> int:
    """Bytes that tasks may use of an engine's GPU: a share of its memory, or of the limit of a pool."""
    xp: Any = engine.xp
    total = int(xp.cuda.runtime.memGetInfo()[1])
    limits = [total, xp.get_default_memory_pool().get_limit() or total, _pool_limit(worker) or total]
    return int(DEVICE_SHARE * min(limits))


def _pool_limit(worker: Any) -> int:
    """Bytes that RMM's pool may grow to in this worker, as dask-cuda has set it up; 0 if it may take the whole GPU.

    RMM itself names the size of a pool, but not its limit.
    """
    plugins = getattr(worker or _worker(), "plugins", {}).values()
    return max((int(getattr(plugin, "maximum_pool_size", None) or 0) for plugin in plugins), default=0)


def _free_bytes(engine: Engine) -> int:
    """Bytes of these that are free: in the driver's memory, or in pools that wait for the next column."""
    xp: Any = engine.xp
    pool, (reserved, counted) = xp.get_default_memory_pool(), rmm_pool()
    # If RMM does not count, a task may be out of memory: it runs again with fewer rows.
    used = max(0, min(reserved, result_bytes() if counted is None else counted))
    waiting = int(pool.free_bytes()) + free_pool_bytes() + reserved - used
    return min(device_bytes(engine) - int(pool.used_bytes()) - used, int(xp.cuda.runtime.memGetInfo()[0]) + waiting)


def worker_device_bytes(dask_worker: Any) -> int:
    """Return the bytes of its GPU that a worker's tasks may use; 0 if it works on the host."""
    engine = device_engine(dask_worker)
    return 0 if engine is None else device_bytes(engine, dask_worker)


def rows_that_fit(engine: Engine, most: int, row: int, others: int = 0) -> int:
    """Return how many rows of `row` bytes fit a GPU next to `others` bytes, at most `most`; 0 if too few do.

    Before it returns 0, the columns of finished tasks move to the host.
    """
    rows = (_free_bytes(engine) - others) // row
    if rows < LEAST_ROWS and spill():
        rows = (_free_bytes(engine) - others) // row
    return min(most, rows) if rows >= LEAST_ROWS else 0


def run_on_device(engine: Engine, size: int, task: Callable[[int], _Result], least: int = LEAST_ROWS) -> _Result:
    """Run a task with a number of rows; if the GPU is out of memory, run it again with half as many.

    Before it runs with fewer rows, the columns of finished tasks move to the host.
    """
    while True:
        try:
            with engine.guard():
                return task(size)
        except CapacityError as error:
            if engine.on_host:
                raise
            if spill():
                continue  # the columns of finished tasks have made room
            if size // 2 < least:
                message = f"worker {getattr(_worker(), 'address', 'in this process')}: {error.message}"
                raise CapacityError(message, "use GPUs with more memory, or workers without") from error
        size //= 2


def near_columns(on_gpu: bool, task: Callable[[Engine], _Result]) -> _Result:
    """Run a task on the GPU if `on_gpu`; on the host otherwise, or if the GPU is short of memory."""
    engine = worker_engine() if on_gpu else task_engine()
    if not engine.on_host:
        with suppress(CapacityError):
            return run_on_device(engine, 1, lambda _: task(engine), least=1)
    return task(task_engine())


def _worker() -> Any:
    """The worker of a task; ``None`` with a scheduler inside the process."""
    try:
        from distributed import get_worker

        return get_worker()
    except (ImportError, ValueError):
        return None


def worker_engine() -> Engine:
    """Return the engine of a task's worker: its GPU, or the task's share of its threads."""
    worker = _worker()
    return (None if worker is None else device_engine(worker)) or task_engine()


def task_engine() -> Engine:
    """Return an engine with a task's share of its worker's threads."""
    worker = _worker()
    if worker is None:
        # Alone in the main thread, or in one of several threads or processes.
        alone = threading.current_thread() is threading.main_thread() and multiprocessing.parent_process() is None
        return select_engine("cpu", None if alone else 1)
    return select_engine("cpu", max(1, worker.state.nthreads // max(1, worker.state.executing_count)))
