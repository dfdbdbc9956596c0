"""A cluster: its client and its workers, and the graph that finds a forest on them.

The client is the caller's, that of a running cluster, or of a new one on this machine. Workers import this module, so
it must not import `dask.dataframe`, which takes 0.4 CPU-seconds a worker.
"""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing.resource_tracker import ensure_running
from typing import Any, NamedTuple

import dask
from dask.tokenize import tokenize

from dfmst._common.machine import Tell, machine_memory, peak_memory, trim_memory
from dfmst._drive.devices import worker_device_bytes
from dfmst._drive.graph import TaskGraph, bytes_sent, first_run, show_progress
from dfmst._drive.plan import count_vertices, id_bytes_of
from dfmst._drive.runs import GroupSizes
from dfmst._drive.shuffle import ShuffleSizes, add_shuffle, no_records
from dfmst._drive.strategies import (
    DENSE_ID,
    MOST_OWNERS,
    NUMBERED,
    SLICE_ENDS,
    Work,
    batch_of,
    fitting_plan,
    fitting_vertices,
    fold_room,
    groups_of,
    plan_of,
    slice_memory,
    slice_vertices,
)
from dfmst._drive.tables import FrameParts, size_of_parts
from dfmst._drive.tasks import Portion, Reduction, add_merge, group_parts, portions, rows_of_parts
from dfmst._engines import CpuEngine, processors, select_engine
from dfmst._engines.primitives.id_table import PROCESS_KEYS, HashKeys
from dfmst._fold.budget import format_size, parse_memory
from dfmst._fold.checkpoint import private_directory
from dfmst._trees.request import Request
from dfmst.algorithms.solve import resolve
from dfmst.errors import CapacityError, ClusterError, DeviceError, EngineUnavailableError
from dfmst.formats.columnar import TableSize

_UNKNOWN_MEMORY = 4 << 30


@contextmanager
def cluster_client(
    workers: int | None, scheduler: str | None, client: Any, gpus: bool, gpu_memory: int | None
) -> Iterator[Any]:
    """Context manager: yield a client and make it current."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise EngineUnavailableError("a cluster needs Dask", "pip install 'dfmst[dask]'") from error
    if client is None and workers is None and scheduler is None and not gpus:
        client = _current_client()
    address = scheduler or ("this machine" if client is None else client.scheduler.address)
    stack = ExitStack()
    with _clear_errors(address):
        try:
            if client is None:
                with _delayed_interrupts():
                    stack.enter_context(_quiet())
                    if scheduler is None:
                        cluster = _local_gpus(workers, gpu_memory) if gpus else LocalCluster(**_local_options(workers))
                        client = Client(stack.enter_context(cluster))
                    else:
                        client = _connected(Client, scheduler)
                    stack.enter_context(client)
            if gpus and scheduler is not None:
                require_gpus(client)
            with client.as_current():
                yield client
        finally:
            with _delayed_interrupts():
                stack.close()


def computed(*collections: Any) -> tuple[Any, ...]:
    """Compute Dask collections on the current client, if any."""
    client = _current_client()
    if client is None:
        return tuple(dask.compute(*collections))
    with _clear_errors(client.scheduler.address):
        return tuple(dask.compute(*collections))


@contextmanager
def _clear_errors(address: str) -> Iterator[None]:
    """Context manager: turn Dask's errors for a lost cluster into ClusterError."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        message = "the workers ended several times during one task"
        raise ClusterError(message, "they may lack memory: use larger workers, or more and smaller files") from error
    except (CommClosedError, CancelledError, asyncio.CancelledError, TimeoutError) as error:
        if _is_restart(error):
            raise ClusterError("the workers were restarted, and their results are lost", _AGAIN) from error
        raise ClusterError(f"lost the scheduler at {address}", f"start it again, and {_AGAIN}") from error


_AGAIN = "run again: checkpoints are used"
_RESTARTS = 3  # of all workers, after which a run ends
_LOOK = 1.0  # seconds between two looks at the workers
_RELEASE, _STUCK = 4, 12  # looks without progress after which paused workers are to release memory, and a run ends


def _is_restart(error: BaseException) -> bool:
    """Whether tasks are lost as someone called ``client.restart()``."""
    return getattr(error, "reason", None) == "scheduler-restart"


def results(
    client: Any,
    graph: Mapping[Hashable, Any],
    keys: Sequence[Hashable],
    about: Callable[[Hashable], str],
    tell: Tell | None = None,
) -> list[Any]:
    """Return the results of some tasks of a graph; `about` describes a task by its key.

    Tasks that are lost in a restart of the workers run again. If workers that Dask has paused do not go on, it raises
    CapacityError: Dask would wait for them without end.
    """
    for restarts in range(1, _RESTARTS + 1):
        futures = client.get(dict(graph), list(keys), sync=False)
        if tell is not None:
            show_progress(client, futures, tell)
        done, faults = threading.Event(), list[CapacityError]()
        threading.Thread(target=_watch, args=(client, futures, about, done, faults), daemon=True).start()
        try:
            return list(client.gather(futures))
        except CancelledError as error:
            if faults:
                raise faults[0] from None
            if not _is_restart(error) or restarts == _RESTARTS:
                raise
            warnings.warn("the workers were restarted during the run: lost tasks run again", stacklevel=5)
        finally:
            done.set()
            for future in futures:
                future.release()
    raise AssertionError


def _watch(
    client: Any,
    futures: list[Any],
    about: Callable[[Hashable], str],
    done: threading.Event,
    faults: list[CapacityError],
) -> None:
    """Let paused workers release memory if all tasks wait for them; cancel the futures if that does not help."""
    looks, least = 0, math.inf
    with suppress(Exception):  # the run itself reports a lost cluster
        while not done.wait(_LOOK):
            paused = _paused_workers(client)
            used = sum(worker["metrics"]["memory"] for worker in paused.values())
            if not paused or used < _PROGRESS * least:
                looks, least = 0, used or math.inf
            looks += bool(paused)
            if looks == _RELEASE:
                client.run(trim_memory, workers=list(paused), on_error="ignore")
            elif looks == _STUCK:
                faults.append(_too_full(paused, client.processing(), about))
                client.cancel(futures, force=True)
                return


_PROGRESS = 0.99  # of the memory of paused workers: if they use less, they write results to disk


def _paused_workers(client: Any) -> dict[str, Any]:
    """Return the workers that Dask has paused for lack of memory, by address; none if some worker has work."""
    workers, waiting = client.scheduler_info(n_workers=-1)["workers"], client.processing()
    paused = {address: worker for address, worker in workers.items() if worker["status"] == "paused"}
    for address, worker in workers.items():
        runs = worker["metrics"]["task_counts"].get("executing") if address in paused else waiting.get(address)
        if runs:
            return {}
    return paused


def _too_full(
    paused: dict[str, Any], waiting: Mapping[str, Sequence[Hashable]], about: Callable[[Hashable], str]
) -> CapacityError:
    """Make the error for workers that stay paused, about the one for which most tasks wait."""
    address = max(paused, key=lambda each: len(waiting.get(each, ())))
    keys, limit = waiting.get(address, ()), paused[address]["memory_limit"]
    first = f"tasks wait for it ({len(keys):,}), the first for {about(keys[0])}" if keys else "all tasks wait"
    used = format_size(paused[address]["metrics"]["memory"], limit)
    message = f"worker {address} stands still: Dask has paused it at {used} of {format_size(limit)}, and {first}"
    return CapacityError(message, "use larger workers, end what else fills their memory, or write smaller files")


@contextmanager
def _delayed_interrupts() -> Iterator[None]:
    """Context manager: raise interrupts at the end, as Dask has no defined state while workers start or end.

    Without it, Ctrl-C prints a traceback for each worker, and workers may stay: terminals interrupt all processes of a
    command. Dask has no option for this. Workers inherit the blocked signal, and this process ends them in order.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    ensure_running()  # multiprocessing unblocks interrupts when it starts its own first process
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, lambda number, _: received.append(number)) for number in numbers]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # threads and processes inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def _quiet() -> Iterator[None]:
    """Context manager: silence Dask's log in this process; `silence_logs` is for the processes of a cluster."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    # An interrupted wait of the client is logged when its task is collected, perhaps after this context.
    logging.getLogger("asyncio").addFilter(_is_no_interrupted_wait)
    try:
        yield
    finally:
        logger.setLevel(level)


def _is_no_interrupted_wait(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return type(error).__name__ != "AllExit"  # private to Dask's client


def _local_options(workers: int | None) -> dict[str, Any]:
    threads = {} if workers is None else {"threads_per_worker": max(1, processors() // workers)}
    return {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "n_workers": workers, **threads}


def _connected(client: Any, address: str) -> Any:
    try:
        return client(address, timeout=10)
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        message = f"there is no scheduler at {address} ({reason})"
        raise ClusterError(message, "check the address; it looks like tcp://host:8786") from error


@dataclass(frozen=True, slots=True)
class Resources:
    """Workers, and the resources of the smallest."""

    workers: int  # processes
    memory: int  # bytes of each
    tasks: int = 1  # that each runs at once
    device: int = 0  # bytes of each GPU; 0 if a worker has none


def resources() -> Resources:
    """Return the resources of the current client's workers; without one, of this machine."""
    client = _current_client()
    if client is not None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if workers:
            limits = [worker["memory_limit"] or machine_memory() or _UNKNOWN_MEMORY for worker in workers]
            declared = any(worker["resources"].get("GPU") or "gpu" in worker for worker in workers)
            # Lost workers do not answer.
            sizes = client.run(worker_device_bytes, on_error="ignore") if declared else {}
            device = min(sizes.values(), default=0)
            return Resources(len(limits), min(limits), max(worker["nthreads"] for worker in workers), device)
    count = processors()
    return Resources(count, (machine_memory() or _UNKNOWN_MEMORY) // count)


def _current_client() -> Any:
    """The current client, if any."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


_POOL = 0.5  # of a GPU's memory, with which RMM's pool begins if no limit is given
_SPILL = 0.8  # of a worker's GPU memory, from which dask-cuda moves results to the host


def _local_gpus(workers: int | None, memory: int | None) -> Any:
    """Start a worker for each GPU, or for `workers` of them, with `memory` bytes or the default of dask-cuda."""
    select_engine("cuda")
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        message = f"workers with a GPU need dask-cuda: {error}"
        raise EngineUnavailableError(message, "pip install 'dfmst[cu13]' (or 'dfmst[cu12]')") from error
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    if workers is not None:
        options["n_workers"] = workers
    if has_ucx():
        # UCX maps the memory of each pair of workers, which takes long unless a pool is all of it.
        options |= {"protocol": "ucx", "rmm_pool_size": _POOL, "rmm_allocator_external_lib_list": ["cupy"]}
    if memory is not None:
        # The limit holds for cuDF and CuPy together, as they share the pool. A pool without a maximum would grow.
        options |= {"rmm_pool_size": memory, "rmm_maximum_pool_size": memory}
        options |= {"rmm_allocator_external_lib_list": ["cupy"], "device_memory_limit": int(_SPILL * memory)}
    if "rmm_pool_size" in options:
        _check_pool(memory, workers)
    return LocalCUDACluster(**options)


#: Prints the free and all bytes of each GPU. Another process does so: CUDA would keep memory of each GPU in this one.
_PRINT_MEMORY = """
from cupy import cuda
for device in range(cuda.runtime.getDeviceCount()):
    with cuda.Device(device):
        print(*cuda.runtime.memGetInfo())
"""


def _check_pool(size: int | None, workers: int | None) -> None:
    """Raise if a worker's GPU does not have the free bytes of a pool, which RMM takes when the worker starts."""
    asked = subprocess.run([sys.executable, "-c", _PRINT_MEMORY], capture_output=True, text=True)
    if asked.returncode:
        reason = asked.stderr.strip().rpartition("\n")[2]
        raise DeviceError(f"a process of a worker cannot use the GPUs: {reason}", "nvidia-smi shows their state")
    for device, line in enumerate(asked.stdout.splitlines()[:workers]):
        free, total = map(int, line.split())
        pool = int(_POOL * total) if size is None else size
        if pool > free:
            message = f"GPU {device} has {free:,} of {total:,} bytes free, and the pool of its worker takes {pool:,}"
            most = f"{free >> 20}MiB"
            hint = f"end other programs on the GPU (nvidia-smi lists them), or use gpu_memory_limit={most!r} or less"
            option = f"gpu_memory_limit={most!r}", f"--gpu-memory-limit {most}"
            raise CapacityError(message, hint, option=option)


def has_ucx() -> bool:
    """Whether Dask can send columns from GPU to GPU."""
    return find_spec("distributed_ucxx") is not None


def protocol_of(client: Any) -> str:
    """Return how the workers of a client send columns to each other: ``"tcp"``, or ``"ucx"`` from GPU to GPU."""
    protocol = str(client.scheduler.address).partition("://")[0]
    return "ucx" if protocol.startswith("ucx") else protocol


def require_gpus(client: Any) -> None:
    """Raise if no worker works on a GPU."""
    if not any(client.run(worker_device_bytes, on_error="ignore").values()):
        message = "no worker of the cluster works on a GPU"
        hint = "start its workers with dask-cuda, or with the resource GPU; CuPy must find a device there"
        raise EngineUnavailableError(message, hint)


def usage(client: Any) -> dict[str, tuple[int | None, int | None]]:
    """Return the bytes that each worker, by address, has sent to others, and its peak memory; lost ones are absent."""
    answers: dict[str, tuple[int | None, int | None]] = client.run(_of_worker, on_error="ignore")
    return answers


def usage_since(client: Any, before: dict[str, tuple[int | None, int | None]]) -> tuple[int | None, int | None]:
    """Return the bytes that all workers have sent since then, and the highest peak memory; ``None``: unknown."""
    after = usage(client)
    sent = [count - (before.get(address, (0, 0))[0] or 0) for address, (count, _) in after.items() if count is not None]
    peaks = [peak for _, peak in after.values() if peak is not None]
    return (sum(sent) if sent else None), max(peaks, default=None)


def _of_worker(dask_worker: Any) -> tuple[int | None, int | None]:
    return bytes_sent(dask_worker), peak_memory()


_ALWAYS_DENSE = 1 << 16  # vertices
_BATCHES = 3  # of ids in a worker's memory, while they are numbered
_CHECKPOINT_ROWS = 1 << 23  # of a group of a shuffle with checkpoints, about
_DEPENDENT = 64  # groups for each worker, if other tasks make the partitions: those of a group are in memory together
_PORTIONS = 16  # for each worker


def check_request(request: Request) -> None:
    """Raise if an option is wrong, before a cluster is started."""
    resolve(request.solver.algorithm, CpuEngine(1))
    if request.limits.memory is not None:
        parse_memory(request.limits.memory, auto=False)


class ForestGraph(NamedTuple):
    """A graph, the rows of its partitions, the reference to the trace, and the strategy."""

    graph: TaskGraph
    rows: list[Portion]
    trace: Any
    strategy: str


def forest_tasks(parts: FrameParts, request: Request) -> ForestGraph:
    """Build the graph that finds a forest."""
    check_request(request)
    cluster, columns, n_vertices = workers_for(request), request.columns, request.cluster.n_vertices
    strategy, size, sliced = _strategy(parts, request, cluster)
    reduction = Reduction(request.cluster.split_every, request.solver.algorithm)
    work = (parts.token, columns, strategy, reduction, n_vertices)
    folder, keys = request.limits.checkpoint, PROCESS_KEYS
    checkpoint = None if folder is None else str(private_directory(folder))
    if checkpoint is not None:
        workers, *hash_keys = first_run(checkpoint, tokenize(work), cluster.workers)
        cluster, keys = replace(cluster, workers=workers), HashKeys(*hash_keys)
    workers = cluster.workers
    tasks = workers if parts.rereadable else _DEPENDENT * workers
    if strategy == "shuffle":
        rows_read = size.rows if size else 0
        # With checkpoints a group takes seconds, as each has one at its end.
        short = 1 if checkpoint is None else -(-rows_read // _CHECKPOINT_ROWS)
        tasks = max(tasks, short, math.ceil(groups_of(max(1, slice_memory(cluster.memory)), workers, rows_read)))
    groups = group_parts(parts.edges, tasks)
    in_slices = strategy == "shuffle" or sliced is not None
    sizes = _shuffle_sizes(size, n_vertices, cluster, sliced) if in_slices else None
    portion = -(-len(parts.edges) // (_PORTIONS * workers)) or 1
    graph = TaskGraph((work, len(groups), sizes, portion), checkpoint, parts.tasks, tokenize(work), keys)
    if sizes is not None:
        rows, trace = add_shuffle(graph, groups, columns, sizes, portion)
    else:
        forest = add_merge(graph, groups, columns, reduction)
        located = graph.add("locate", 0, rows_of_parts, forest, len(parts.edges), parts.comparable)
        rows = portions(graph, 0, len(parts.edges), portion, located)
        trace = graph.add("trace", 0, no_records)
    return ForestGraph(graph, rows, trace, strategy)


def workers_for(request: Request) -> Resources:
    """Return the resources of the workers, of whose memory a request may allow less."""
    cluster = resources()
    return replace(cluster, memory=parse_memory(request.limits.memory or cluster.memory, auto=False))


def _strategy(parts: FrameParts, request: Request, cluster: Resources) -> tuple[str, TableSize | None, Work | None]:
    """Return the strategy, the size of the table if it was read, and the work of a merge in slices."""
    options, columns = request.cluster, request.columns
    size = size_of_parts(parts.edges, columns.plain_ends)
    if options.strategy == "shuffle":
        return "shuffle", size, None
    if size is None:
        fits = options.strategy == "merge" or (options.n_vertices or 0) <= fitting_vertices(cluster.memory)
        return "merge" if fits else "shuffle", None, None
    files, dense = [(part.path, part.groups) for part in parts.edges], (size.vertices or 2 * size.rows) < 2 * size.rows
    vertices = options.n_vertices or size.vertices or 2 * size.rows
    id_bytes = DENSE_ID if dense else id_bytes_of(files, columns, dense)
    if options.n_vertices is None and 2 * size.rows <= vertices > fitting_vertices(cluster.memory, id_bytes):
        # Twice the rows is a loose bound, so vertices are counted if the bound does not fit.
        vertices = min(vertices, count_vertices(files, columns)[0])
    size_of_work = (max(1, vertices), max(1, size.rows), max(1, len(parts.edges)), max(1, cluster.workers))
    work = Work(*size_of_work, cluster.memory, id_bytes, cluster.device, largest=size.largest)
    plan = plan_of(work, "merge") if options.strategy == "merge" else fitting_plan(work)
    return plan.strategy, size, work if plan.strategy == "merge" and plan.rounds else None


def _shuffle_sizes(
    size: TableSize | None, vertices: int | None, cluster: Resources, sliced: Work | None
) -> ShuffleSizes:
    """Sizes of the tasks of a shuffle; those that run at once share a worker's memory."""
    memory = slice_memory(cluster.memory)
    fits = max(slice_vertices(cluster.memory), _ALWAYS_DENSE)
    bound = None if size is None or size.vertices == 2 * size.rows else size.vertices
    if bound is not None and bound <= fits:
        owners = 1  # the ids are dense: none are numbered
    else:
        expected = vertices or bound or (2 * size.rows if size else 0)
        batches = -(-_BATCHES * NUMBERED * expected * cluster.tasks // max(1, memory))
        owners = max(cluster.workers, min(MOST_OWNERS, batches))
    group = GroupSizes(int(batch_of(memory / cluster.tasks)), fits)
    if sliced is not None:
        group = group._replace(memory=fold_room(sliced), vertices=sliced.n_vertices)
    return ShuffleSizes(group, owners, SLICE_ENDS, memory, cluster.workers)
