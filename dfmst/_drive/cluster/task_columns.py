"""Columns that a task leaves to others: on the GPU where it made them, as long as they fit beside the next task's.

Between tasks of one worker they stay where they are. To another worker they go from GPU to GPU where the comm can read
device memory (UCX: Dask's family of serializers ``"cuda"``). Every other comm takes them as NumPy columns: they are
copied to the host to be sent, and from the host by the task that needs them on a GPU. Where the GPU is short of memory
they are spilled, all at once, to the host's. Each copy is one that this module makes; neither Dask nor CuPy moves
anything by itself.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine, host_engine, select_engine

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
