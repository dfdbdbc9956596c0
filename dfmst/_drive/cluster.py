"""A cluster: its client and its workers, and the graph that finds a forest on them.

The client is the caller's, that of a running cluster, or of a new one on this machine. Workers import this module, so
it must not import `dask.dataframe`, which takes 0.4 CPU-seconds a worker.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping, Sequence
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
from dfmst.errors import CapacityError, ClusterError, DeviceError, DfmstError, EngineUnavailableError
from dfmst.formats.columnar import TableSize

_UNKNOWN_MEMORY = 4 << 30
#: Some seconds after a worker's end, Dask stops starting it again if it happens to be absent. A worker that ends twice
#: within these seconds may be, and the cluster has none then.
LASTING = {"distributed.deploy.lost-worker-timeout": "24h"}


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
                    stack.enter_context(dask.config.set(LASTING))
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
        return tuple(Watch(client).results(client.compute(list(collections))))


@contextmanager
def _clear_errors(address: str) -> Iterator[None]:
    """Context manager: turn Dask's errors for a lost cluster into ClusterError."""
    from distributed.comm import CommClosedError

    try:
        yield
    except (CommClosedError, CancelledError, asyncio.CancelledError, TimeoutError) as error:
        if _is_restart(error):
            raise ClusterError("the workers were restarted, and their results are lost", _AGAIN) from error
        raise ClusterError(f"lost the scheduler at {address}", f"start it again, and {_AGAIN}") from error


_AGAIN = "run again: checkpoints are used"
_LARGER = "use larger workers, or more and smaller files"
_RESTARTS = 3  # of all workers, after which a run ends
_LOOK, _ANSWER = 1.0, 10.0  # seconds between two looks at the workers, and for an answer of the scheduler
_LESS = 0.8  # of a budget, after workers were killed for lack of memory
_PROGRESS = 0.99  # of the memory of paused workers: if they use less, they write results to disk
_KILLS = "worker-restart-memory"  # the topic of Dask's events about workers that were killed for lack of memory


def _is_restart(error: BaseException) -> bool:
    """Whether tasks are lost as someone called ``client.restart()``."""
    return getattr(error, "reason", None) == "scheduler-restart"


def results(
    watch: Watch, graph: Mapping[Hashable, Any], keys: Sequence[Hashable], tell: Tell | None = None
) -> list[Any]:
    """Return the results of some tasks of a graph; tasks that are lost in a restart of the workers run again."""
    watch.keys = graph.keys()
    for restarts in range(1, _RESTARTS + 1):
        futures = watch.client.get(dict(graph), list(keys), sync=False)
        if tell is not None:
            show_progress(watch.client, futures, tell)
        try:
            return watch.results(futures)
        except CancelledError as error:
            if not _is_restart(error) or restarts == _RESTARTS:
                raise
            warnings.warn("the workers were restarted during the run: lost tasks run again", stacklevel=5)
    raise AssertionError


class Look(NamedTuple):
    """The workers of a cluster and the tasks that each is given, by address; ``None``: the scheduler is silent."""

    workers: Mapping[str, Any] | None
    tasks: Mapping[str, Sequence[Hashable]]

    @property
    def paused(self) -> dict[str, Any]:
        """Workers that Dask has paused for lack of memory; none if some worker has work."""
        workers = self.workers or {}
        paused = {address: worker for address, worker in workers.items() if worker["status"] == "paused"}
        for address, worker in workers.items():
            counts = worker["metrics"].get("task_counts", {})
            if counts.get("executing") if address in paused else self.tasks.get(address):
                return {}
        return paused


class Watch:
    """A watch of the tasks of one run, which raises if they stand still.

    `about` describes a task by its key. Tasks of a worker are planned to use `planned` bytes. If the caller `adapts`
    to less memory, it is an error that all workers were killed for lack of memory, even if others come.
    """

    def __init__(
        self, client: Any, about: Callable[[Hashable], str] = str, planned: int = 0, *, adapts: bool = False
    ) -> None:
        self.client, self._about, self._planned, self.adapts = client, about, planned, adapts
        self.keys: Collection[Hashable] = ()  # of all tasks; empty: not known
        self.ended = False  # whether workers ended, and the run with them
        self._wanted: list[Hashable] = []  # keys of the results
        self._kills: list[int] = []  # bytes of workers that were killed for lack of memory
        self._used: dict[str, int] = {}  # most bytes seen of each worker, by address
        self._most = 0  # workers at a time
        self._limit = 0  # bytes of the smallest worker
        self.all_lost = False  # whether there was no worker, after some, and the caller adapts
        self._least = math.inf  # bytes of paused workers
        self._since: dict[str, float] = {}  # state -> when it began
        self._helped: set[str] = set()  # states whose remedy was tried

    def results(self, futures: list[Any]) -> list[Any]:
        """Return the results of futures, which are released; other values are returned as they are."""
        own = [future for future in futures if hasattr(future, "release")]
        self._wanted = [future.key for future in own]
        return list(self.client.sync(self._gathered, futures, own))

    def wait_for_workers(self) -> None:
        """Wait some seconds until there are as many workers as there were."""
        with suppress(TimeoutError):
            self.client.wait_for_workers(max(1, self._most), timeout=_ANSWER)

    def less_than(self, memory: int) -> int | None:
        """Return the memory to plan with if workers were killed for lack of it; ``None`` if none was."""
        share = self._planned / max(self._kills, default=1)
        return int(memory * min(_LESS, max(share, _LESS**2))) if self._kills else None

    async def _gathered(self, futures: list[Any], own: list[Any]) -> Any:
        from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

        gathering = asyncio.ensure_future(self.client.gather(futures, asynchronous=True))
        try:
            while True:
                await self._compare(await self._look())
                if (await asyncio.wait([gathering], timeout=_LOOK))[0]:
                    return gathering.result()
        except KilledWorker as error:
            self.ended = True
            message = f"workers ended {error.allowed_failures + 1} times during one task, {self._about(error.task)}"
            raise ClusterError(f"{message}: {await self._deaths()}", f"they may lack memory: {_LARGER}") from error
        except NoWorkerError as error:  # the scheduler may have limits of its own
            raise await self._no_worker(Look({}, {}), error.timeout) from error
        except NoValidWorkerError as error:
            raise self._no_suitable(error.task) from error
        finally:
            for future in own:  # ends the client's waits, whose errors are logged otherwise
                future.release()
            await asyncio.wait([gathering], timeout=_LOOK)
            if not gathering.cancel():
                gathering.exception()

    async def _answer(self, call: Awaitable[Any]) -> Any:
        """Return an answer of the scheduler; ``None`` if none comes: the results themselves report a lost cluster."""
        with suppress(Exception):
            return await asyncio.wait_for(call, _ANSWER)

    async def _look(self) -> Look:
        scheduler = self.client.scheduler  # none if the client is closed
        questions = scheduler and asyncio.gather(scheduler.identity(n_workers=-1), scheduler.processing(workers=None))
        answers = await self._answer(questions)
        if answers is None:
            return Look(None, {})
        workers, tasks = answers[0]["workers"], answers[1]
        for address, worker in workers.items():
            self._used[address] = max(self._used.get(address, 0), worker["metrics"].get("memory", 0))
        self._limit = min((worker["memory_limit"] for worker in workers.values()), default=self._limit)
        self._most = max(self._most, len(workers))
        self.all_lost |= self.adapts and bool(self._used) and not workers
        return Look(workers, tasks)

    async def _compare(self, look: Look) -> None:
        """Raise if the cluster has been in one state of the table for too long."""
        for name, state in STANDSTILLS.items():
            if not state.seen(self, look):
                self._since.pop(name, None)
                self._helped.discard(name)
                continue
            waited = time.monotonic() - self._since.setdefault(name, time.monotonic())
            if state.remedy is not None and name not in self._helped and 3 * waited >= state.patience:
                self._helped.add(name)
                await state.remedy(self, look)
            if waited >= state.patience:
                if (error := await state.error(self, look, waited)) is not None:
                    raise error
                del self._since[name]

    async def _deaths(self) -> str:
        """Describe what ended the workers, with the bytes that were seen and planned."""
        events = await self._answer(self.client.get_events(_KILLS)) or ()
        self._kills = [event["rss"] for _, event in events if event["worker"] in self._used]
        seen, limit = max(self._kills or self._used.values(), default=0), self._limit or None
        sizes = f"they used up to {format_size(seen, limit)}"
        sizes += f" of {format_size(limit)}" if limit else ""
        sizes += f", and {format_size(self._planned, limit)} were planned" if self._planned else ""
        if self._kills:
            return f"Dask killed {len(self._kills)} for lack of memory: {sizes}"
        return f"they were lost: {sizes}" if self._used else "none has joined it"

    async def _no_worker(self, look: Look, seconds: float) -> ClusterError:
        message = f"the cluster has had no worker for {seconds:,.0f} seconds; {await self._deaths()}"
        return ClusterError(message, f"start {'larger workers' if self._kills else 'workers'}, and {_AGAIN}")

    async def _killed(self, look: Look, seconds: float) -> ClusterError | None:
        deaths, self.all_lost = await self._deaths(), False
        self.ended = bool(self._kills)
        return ClusterError(f"all workers ended; {deaths}", _LARGER) if self._kills else None

    async def _silent(self, look: Look, seconds: float) -> ClusterError:
        message = f"the scheduler at {self.client.scheduler.address} has not answered for {seconds:,.0f} seconds"
        return ClusterError(message, f"end it, start it again, and {_AGAIN}")

    def _is_paused(self, look: Look) -> bool:
        """Whether all tasks wait for paused workers, and these do not write results to disk."""
        used = sum(worker["metrics"].get("memory", 0) for worker in look.paused.values())
        if not used or used < _PROGRESS * self._least:
            self._least = used or math.inf
            return False
        return True

    async def _release(self, look: Look) -> None:
        await self._answer(self.client.run(trim_memory, workers=list(look.paused), on_error="ignore"))

    async def _paused(self, look: Look, seconds: float) -> CapacityError:
        """Make the error about the worker for which most tasks wait."""
        paused = look.paused
        address = max(paused, key=lambda each: len(look.tasks.get(each, ())))
        keys, limit = look.tasks.get(address, ()), paused[address]["memory_limit"]
        first = f"tasks wait for it ({len(keys):,}), the first for {self._about(keys[0])}" if keys else "all tasks wait"
        used = format_size(paused[address]["metrics"]["memory"], limit)
        message = f"worker {address} stands still: Dask has paused it at {used} of {format_size(limit)}, and {first}"
        return CapacityError(message, "use larger workers, end what else fills their memory, or write smaller files")

    def _is_idle(self, look: Look) -> bool:
        """Whether no worker has a task of the run."""
        given = itertools.chain.from_iterable(look.tasks.values())
        return bool(look.workers) and not look.paused and not any(not self.keys or key in self.keys for key in given)

    async def _idle(self, look: Look, seconds: float) -> ClusterError | None:
        """Make the error if the scheduler has found no worker that may run a task."""
        keys = list(self.keys or self._wanted)
        states = await self._answer(self.client.scheduler.get_task_status(keys=keys)) or {}
        unsuitable = next((key for key in keys if states.get(key) == "no-worker"), None)
        waits = "waiting" in states.values() and not any(look.tasks.values())
        return self._no_suitable(unsuitable) if unsuitable is not None or waits else None

    def _no_suitable(self, key: Hashable | None) -> ClusterError:
        task = "the tasks that are left" if key is None else self._about(key)
        message = f"no worker may run {task}: none has the name or the resources that dask.annotate asks for"
        return ClusterError(message, "start such workers, or call without dask.annotate")


class Standstill(NamedTuple):
    """A state in which tasks wait without end, and the seconds after which it is an error.

    `remedy` is tried once, after a third of them. `error` returns ``None`` if a closer look shows another state.
    """

    seen: Callable[[Watch, Look], bool]
    patience: float
    error: Callable[[Watch, Look, float], Awaitable[DfmstError | None]]
    remedy: Callable[[Watch, Look], Awaitable[None]] | None = None


#: Workers that end again and again during one task, and a scheduler that is gone, are errors of Dask.
STANDSTILLS = {
    "silent scheduler": Standstill(lambda watch, look: look.workers is None, 300, Watch._silent),
    "no worker": Standstill(lambda watch, look: look.workers == {}, 60, Watch._no_worker),
    "killed workers": Standstill(lambda watch, look: watch.all_lost and bool(look.workers), 0, Watch._killed),
    "paused workers": Standstill(Watch._is_paused, 12, Watch._paused, Watch._release),
    "no suitable worker": Standstill(Watch._is_idle, 60, Watch._idle),
}


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
            raise CapacityError(message, hint, option=(f"gpu_memory_limit={most!r}", f"--gpu-memory-limit {most}"))


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
    """A graph, the rows of its partitions, the reference to the trace, and the plan behind it."""

    graph: TaskGraph
    rows: list[Portion]
    trace: Any
    strategy: str
    planned: int  # bytes of a worker at its peak; 0: not known


def forest_tasks(parts: FrameParts, request: Request) -> ForestGraph:
    """Build the graph that finds a forest."""
    check_request(request)
    cluster, columns, n_vertices = workers_for(request), request.columns, request.cluster.n_vertices
    strategy, size, sliced, planned = _strategy(parts, request, cluster)
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
    return ForestGraph(graph, rows, trace, strategy, planned)


def workers_for(request: Request) -> Resources:
    """Return the resources of the workers, of whose memory a request may allow less."""
    cluster = resources()
    return replace(cluster, memory=parse_memory(request.limits.memory or cluster.memory, auto=False))


def _strategy(
    parts: FrameParts, request: Request, cluster: Resources
) -> tuple[str, TableSize | None, Work | None, int]:
    """Return the strategy, the size of the table if it was read, the work of a merge in slices, and a worker's peak."""
    options, columns = request.cluster, request.columns
    size = size_of_parts(parts.edges, columns.plain_ends)
    if size is None:
        fits = options.strategy == "auto" and (options.n_vertices or 0) <= fitting_vertices(cluster.memory)
        return "merge" if fits or options.strategy == "merge" else "shuffle", None, None, 0
    files, dense = [(part.path, part.groups) for part in parts.edges], (size.vertices or 2 * size.rows) < 2 * size.rows
    vertices = options.n_vertices or size.vertices or 2 * size.rows
    id_bytes = DENSE_ID if dense else id_bytes_of(files, columns, dense)
    if options.n_vertices is None and 2 * size.rows <= vertices > fitting_vertices(cluster.memory, id_bytes):
        # Twice the rows is a loose bound, so vertices are counted if the bound does not fit.
        vertices = min(vertices, count_vertices(files, columns)[0])
    size_of_work = (max(1, vertices), max(1, size.rows), max(1, len(parts.edges)), max(1, cluster.workers))
    work = Work(*size_of_work, cluster.memory, id_bytes, cluster.device, largest=size.largest)
    if options.strategy == "auto":
        plan = fitting_plan(work)
    else:
        fitting_plan(replace(work, memory_limit=max(cluster.memory, resources().memory)), options.strategy)
        plan = plan_of(work, options.strategy)
    sliced = work if plan.strategy == "merge" and plan.rounds else None
    return plan.strategy, size, sliced, plan.peak_memory


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
