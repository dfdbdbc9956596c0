"""Workers with a GPU each on this machine, by dask-cuda; and whether those of a cluster have one."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from dfmst._drive.cluster.devices import worker_device_bytes
from dfmst._engines import select_engine
from dfmst.errors import EngineUnavailableError

_SPILL = 0.8  # of a worker's GPU memory, from which dask-cuda moves results to the host


class Gpus(NamedTuple):
    """Workers with a GPU, and bytes of its memory that each may use; ``None``: as dask-cuda finds fit."""

    memory: int | None = None


def local_gpus(workers: int | None, gpus: Gpus) -> Any:
    """Start a worker for each GPU, or for so many of them."""
    select_engine("cuda")
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        message = f"workers with a GPU need dask-cuda: {error}"
        raise EngineUnavailableError(message, "pip install 'dfmst[cu13]' (or 'dfmst[cu12]')") from error
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    if workers is not None:
        options["n_workers"] = workers
    if gpus.memory is not None:
        # One pool for cuDF and CuPy, so that the limit is of both.
        options |= {"rmm_pool_size": gpus.memory, "rmm_allocator_external_lib_list": ["cupy"]}
        options["device_memory_limit"] = int(_SPILL * gpus.memory)
    return LocalCUDACluster(**options)


def require_gpus(client: Any) -> None:
    """Raise where not one worker works on a GPU."""
    if not any(client.run(worker_device_bytes, on_error="ignore").values()):
        message = "no worker of the cluster works on a GPU"
        hint = "start its workers with dask-cuda, or with the resource GPU; CuPy must find a device there"
        raise EngineUnavailableError(message, hint)
