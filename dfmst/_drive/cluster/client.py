"""The client of a run (the caller's, of a cluster that is there, or of one on this machine), and what it can use."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.resource_tracker import ensure_running
from typing import Any, NamedTuple

import dask

from dfmst._common.progress import machine_memory, peak_memory
from dfmst._drive.cluster.dask_internals import bytes_sent
from dfmst._drive.cluster.devices import worker_device_bytes
from dfmst._engines import select_engine
from dfmst.errors import ClusterError, EngineUnavailableError

_UNKNOWN_MEMORY = 4 << 30


@contextmanager
def cluster_client(
    workers: int | None = None, scheduler: str | None = None, client: Any = None, gpus: Gpus | None = None
) -> Iterator[Any]:
    """Give a client, which is the current one meanwhile."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise EngineUnavailableError("a cluster needs Dask", "pip install 'dfmst[dask]'") from error
    if client is None and workers is None and scheduler is None and gpus is None:
        client = _current_client()
    address = scheduler or ("this machine" if client is None else client.scheduler.address)
    stack = ExitStack()
    with _clear_errors(address):
        try:
            if client is None:
                with _interrupts_later():
                    stack.enter_context(_quiet())
                    if scheduler is None:
                        cluster = local_gpus(workers, gpus) if gpus else LocalCluster(**_local_options(workers))
                        client = Client(stack.enter_context(cluster))
                    else:
                        client = _connected(Client, scheduler)
                    stack.enter_context(client)
            if gpus is not None and scheduler is not None:
                require_gpus(client)
            with client.as_current():
                yield client
        finally:
            with _interrupts_later():
                stack.close()


def computed(*collections: Any) -> tuple[Any, ...]:
    """Compute Dask collections for a call of ours, on the current client where there is one."""
    client = _current_client()
    if client is None:
        return tuple(dask.compute(*collections))
    with _clear_errors(client.scheduler.address):
        return tuple(dask.compute(*collections))


@contextmanager
def _clear_errors(address: str) -> Iterator[None]:
    """Turn Dask's errors for a cluster that is lost into ours."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        message = "the workers ended several times during one task"
        hint = "they may lack memory: use larger workers, or more and smaller files"
        raise ClusterError(message, hint) from error
    except (CommClosedError, CancelledError, asyncio.CancelledError, TimeoutError) as error:
        message = f"lost the scheduler at {address}"
        raise ClusterError(message, "start it again, and run again; what was checkpointed is kept") from error


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Let interrupts wait while workers start or end, which Dask does not expect.

    Workers that start meanwhile never get the interrupts of a terminal: this process ends them in order.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    ensure_running()  # multiprocessing unblocks interrupts when it starts this first process of its own
    waiting: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, lambda number, _: waiting.append(number)) for number in numbers]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # threads and processes inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if waiting:
            signal.raise_signal(waiting[0])


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out Dask's own log: what matters becomes an error of ours."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    # Stays: what an interrupt leaves behind is told when it is collected, some time later.
    logging.getLogger("asyncio").addFilter(_tells_more_than_an_interrupt)
    try:
        yield
    finally:
        logger.setLevel(level)


def _tells_more_than_an_interrupt(record: logging.LogRecord) -> bool:
    """Whether a record of asyncio is not about a wait for results that Dask's client has broken off."""
    error = record.exc_info[1] if record.exc_info else None
    return type(error).__name__ != "AllExit"


def _local_options(workers: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    if workers is None:
        return options
    return {**options, "n_workers": workers, "threads_per_worker": max(1, (os.cpu_count() or 1) // workers)}


def _connected(client: Any, address: str) -> Any:
    try:
        return client(address, timeout=10)
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        message = f"there is no scheduler at {address} ({reason})"
        raise ClusterError(message, "check the address; it looks like tcp://host:8786") from error


@dataclass(frozen=True, slots=True)
class Resources:
    """Workers, and what the smallest of them has.

    Attributes
    ----------
    workers
        Processes.
    memory
        Bytes each may use.
    tasks
        Tasks that each may run at once.
    device
        Bytes that each may use of its GPU; 0 where one of them has none.
    """

    workers: int
    memory: int
    tasks: int = 1
    device: int = 0


def resources() -> Resources:
    """Ask the current client; without one, the machine that this process runs on."""
    client = _current_client()
    if client is not None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if workers:
            limits = [worker["memory_limit"] or machine_memory() or _UNKNOWN_MEMORY for worker in workers]
            declared = any(worker["resources"].get("GPU") or "gpu" in worker for worker in workers)
            # One that is lost meanwhile does not answer.
            told = client.run(worker_device_bytes, on_error="ignore") if declared else {}
            device = min(told.values(), default=0)
            return Resources(len(limits), min(limits), max(worker["nthreads"] for worker in workers), device)
    threads = os.cpu_count() or 1
    return Resources(threads, (machine_memory() or _UNKNOWN_MEMORY) // threads)


def _current_client() -> Any:
    """The client of this process; ``None`` where there is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


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


class Usage(NamedTuple):
    """Of each worker that answers, by address.

    Attributes
    ----------
    sent
        Bytes sent to other workers since it was first asked.
    peak
        Bytes that its process took at most since its start.
    """

    sent: dict[str, int]
    peak: dict[str, int]

    def since(self, before: Usage) -> tuple[int | None, int | None]:
        """Return the bytes sent by all since then, and the most that one took; ``None``: no worker says."""
        sent = [count - before.sent.get(address, 0) for address, count in self.sent.items()]
        return (sum(sent) if sent else None), max(self.peak.values(), default=None)


def usage(client: Any) -> Usage:
    """Ask the workers; one that is lost meanwhile does not answer."""
    told: dict[str, Any] = client.run(_of_worker, on_error="ignore")
    sent = {address: one[0] for address, one in told.items() if one[0] is not None}
    return Usage(sent, {address: one[1] for address, one in told.items() if one[1] is not None})


def _of_worker(dask_worker: Any) -> tuple[int | None, int | None]:
    return bytes_sent(dask_worker), peak_memory()
