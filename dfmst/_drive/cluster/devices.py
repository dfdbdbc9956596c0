"""The GPU of a worker: whether there is one, how much memory it has, and what a task does where that is short.

A worker works on its GPU where it declares the resource ``GPU`` or runs under dask-cuda, and CuPy finds a device. One
of a plain cluster does not, even where the machine has a GPU: its processes would share it unasked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from dfmst._drive.cluster.task_columns import spill
from dfmst._drive.plan.gpu_formulas import DEVICE_SHARE
from dfmst._engines import Engine, select_engine
from dfmst.errors import CapacityError, EngineUnavailableError

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
