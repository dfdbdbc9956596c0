"""The GPU of a worker: its memory, and the columns that wait there for other tasks.

A worker uses its GPU if it declares the resource ``GPU`` or runs under dask-cuda, and CuPy finds a device. A plain
cluster works on the host even on a machine with a GPU, because its processes would share the GPU.

Columns stay on the GPU between tasks of one worker. To another worker they travel from GPU to GPU if the comm can read
device memory (UCX: Dask's serializers named ``"cuda"``); any other comm sends them as NumPy columns. If the GPU is
short of memory, all waiting columns are copied to the host. Only this module copies; Dask and CuPy move nothing.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np

from dfmst._common.types import Array
from dfmst._drive.plan.formulas import DEVICE_SHARE
from dfmst._engines import Engine, host_engine, select_engine
from dfmst.errors import CapacityError, EngineUnavailableError

_waiting: WeakSet[TaskColumns] = WeakSet()  # of this process, on its GPU
_SHARE = 16  # of what they hold that columns say of themselves: Dask counts the host's memory


class TaskColumns:
    """Columns that wait for other tasks."""

    def __init__(self, engine: Engine, *columns: Array) -> None:
        self._engine, self._columns = engine, columns
        if not engine.on_host:
            _waiting.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as columns of the host."""
        return of_host, tuple(map(self._engine.to_host, self._columns))

    def __sizeof__(self) -> int:
        """Return a number that grows with the columns."""
        return self.nbytes // _SHARE

    @property
    def engine(self) -> Engine:
        """Where they lie."""
        return self._engine

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in self._columns)

    def dtype(self, place: int) -> np.dtype[Any]:
        """Return the type of a column."""
        return self._columns[place].dtype

    def __len__(self) -> int:
        """Return the number of entries of the first column."""
        return len(self._columns[0])

    def on(self, engine: Engine) -> tuple[Array, ...]:
        """Return the columns in an engine's memory; those that lie elsewhere are copied, and stay there as well."""
        columns = self._columns
        if engine.on_host:
            return tuple(map(self._engine.to_host, columns))
        return tuple(map(engine.from_host, columns))

    def load(self) -> Array:
        """Return the first column on the host."""
        return self._engine.to_host(self._columns[0])

    def spill(self) -> None:
        """Go to the host, and stay there."""
        _waiting.discard(self)
        columns = tuple(map(self._engine.to_host, self._columns))
        self._columns, self._engine = columns, host_engine(self._engine)


def of_host(*columns: Array) -> TaskColumns:
    """Make them of columns of the host."""
    engine = select_engine("cpu", 1)
    return TaskColumns(engine, *map(engine.from_host, columns))


def waiting_bytes() -> int:
    """Bytes of this process's GPU that columns hold which wait for other tasks."""
    return sum(columns.nbytes for columns in list(_waiting))


def spill() -> int:
    """Copy all columns that wait on this process's GPU to the host; return their bytes."""
    size = waiting_bytes()
    for columns in list(_waiting):
        columns.spill()
    return size


# ---- from GPU to GPU -----------------------------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Leaves the columns of a GPU out."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.columns: list[TaskColumns] = []

    def persistent_id(self, value: Any) -> int | None:
        """Number the columns of a GPU."""
        if not isinstance(value, TaskColumns) or value.engine.on_host:
            return None
        self.columns.append(value)
        return len(self.columns) - 1


class _Unpickler(pickle.Unpickler):
    """Puts the columns of a GPU back."""

    def __init__(self, file: io.BytesIO, columns: Sequence[TaskColumns]) -> None:
        super().__init__(file)
        self._known = columns

    def persistent_load(self, number: Any) -> TaskColumns:
        """Return the columns of a number."""
        return self._known[int(number)]


def _dumps(value: Any) -> tuple[dict[str, Any], list[Any]]:
    """Take a task's result apart: what is pickled, and the columns of a GPU, byte by byte."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    if not pickler.columns:
        raise NotImplementedError  # Dask takes its next serializer
    arrays = [each.on(each.engine) for each in pickler.columns]
    kinds = [[column.dtype.str for column in columns] for columns in arrays]
    frames = [column.view(np.uint8) for columns in arrays for column in columns]
    return {"pickled": file.getvalue(), "kinds": kinds}, frames


def _loads(header: dict[str, Any], frames: list[Any]) -> Any:
    engine = select_engine("cuda")
    arrays = iter(frames)
    columns = [
        TaskColumns(engine, *(engine.xp.asarray(next(arrays)).view(np.dtype(kind)) for kind in kinds))
        for kinds in header["kinds"]
    ]
    return _Unpickler(io.BytesIO(header["pickled"]), columns).load()


def register_for_gpus(kind: type) -> type:
    """Let objects that hold :class:`TaskColumns` travel from GPU to GPU, where Dask's comm can (a class decorator)."""
    _kinds.append(kind)
    if "distributed" in sys.modules:
        _register()
    return kind


_kinds: list[type] = []


def _register() -> None:
    from distributed.protocol.cuda import cuda_deserialize, cuda_serialize

    while _kinds:
        kind = _kinds.pop()
        cuda_serialize.register(kind, _dumps)
        cuda_deserialize.register(kind, _loads)


register_for_gpus(TaskColumns)


_Result = TypeVar("_Result")
LEAST_ROWS = 1 << 7


def device_engine(worker: Any) -> Engine | None:
    """Return the engine of a worker's GPU; ``None``: it has none, or does not work on it."""
    declared = worker.state.total_resources.get("GPU", 0) > 0
    if not (declared or "dask_cuda" in sys.modules):
        return None
    try:
        return select_engine("cuda")
    except EngineUnavailableError:
        return None


def device_bytes(engine: Engine) -> int:
    """Bytes that tasks may use of an engine's GPU: a share of its memory, or of the limit of CuPy's pool."""
    xp: Any = engine.xp
    total = int(xp.cuda.runtime.memGetInfo()[1])
    limits = [total, xp.get_default_memory_pool().get_limit() or total, _pool_bytes() or total]
    return int(DEVICE_SHARE * min(limits))


def _pool_bytes() -> int:
    """Bytes of RMM's pool, where there is one."""
    rmm = sys.modules.get("rmm")
    resource = None if rmm is None else rmm.mr.get_current_device_resource()
    size = getattr(resource, "pool_size", None)
    return int(size()) if callable(size) else 0


def _free_bytes(engine: Engine) -> int:
    """Bytes of these that are free now."""
    return device_bytes(engine) - int(engine.xp.get_default_memory_pool().used_bytes())


def worker_device_bytes(dask_worker: Any) -> int:
    """Return what a worker's tasks may use of its GPU, in bytes; 0 where it works on the host."""
    engine = device_engine(dask_worker)
    return 0 if engine is None else device_bytes(engine)


def rows_that_fit(engine: Engine, most: int, row: int, beside: int = 0) -> int:
    """Return how many rows of so many bytes a GPU holds beside other columns, at most `most`; 0: not even few.

    Before it says 0, the columns that wait on the GPU for other tasks go to the host.
    """
    rows = (_free_bytes(engine) - beside) // row
    if rows < LEAST_ROWS and spill():
        rows = (_free_bytes(engine) - beside) // row
    return min(most, rows) if rows >= LEAST_ROWS else 0


def on_device(engine: Engine, size: int, task: Callable[[int], _Result], least: int = LEAST_ROWS) -> _Result:
    """Run a task with so many rows at a time, or a vertex; where the GPU is out of memory, again with half as many.

    Before it is tried with fewer, the columns that wait on the GPU for other tasks go to the host.
    """
    while True:
        try:
            with engine.guard():
                return task(size)
        except CapacityError as error:
            if engine.on_host:
                raise
            if spill():
                continue  # what waited for other tasks has made room
            if size // 2 < least:
                message = f"worker {_worker_name()}: {error.message}"
                raise CapacityError(message, "use GPUs with more memory, or workers without") from error
        size //= 2


def _worker_name() -> str:
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return "in this process"
