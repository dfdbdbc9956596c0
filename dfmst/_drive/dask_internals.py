"""Private parts of Dask: graph nodes, the files behind a frame, and the log of sent bytes.

No other module of dfmst names a private part of Dask. A release that changes one of these fails in
tests/drive/cluster/test_boundary.py first, by name.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import dask

from dfmst._common.machine import Tell
from dfmst._common.types import Frame
from dfmst.errors import ColumnNotFoundError, DfmstError, EngineUnavailableError, UnsupportedFrameError

try:
    from dask._task_spec import Alias, DataNode, List, Task, TaskRef, convert_legacy_graph
except ImportError as error:
    message = f"this version of dfmst does not know Dask {dask.__version__} ({error})"
    raise EngineUnavailableError(message, "install a later dfmst, or an earlier Dask") from error


#: Prefix of the keys of tasks that stay on the worker of their largest input: the scheduler's settings
#: (``distributed.scheduler.default-task-durations``) say that they take no time.
STAYING = "split-shuffle"
#: The same of tasks that bring other inputs to a worker, and of tasks that then have all inputs there, by their name.
#: Dask learns how long the tasks of a prefix take, and moves others away from a worker that has long ones.
ARRIVING = "rechunk-split"
PLACED = {"ids": "split-stage", "name": "split-taskshuffle", "cut": "split-stage", "giant": "split-stage"}


def reference(key: Hashable) -> Any:
    """Refer to the result of a task, among the arguments of another."""
    return TaskRef(key)


def new_task(key: Hashable, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Make the node of a call; an argument may be a reference, or a list of references."""
    values = [
        List(*value) if isinstance(value, list) and any(isinstance(each, TaskRef) for each in value) else value
        for value in arguments
    ]
    return Task(key, function, *values)


def graph_of(frame: Frame) -> dict[Hashable, Any]:
    """Return the tasks of a Dask frame by key, as nodes, and its futures: without its future, a result is lost."""
    graph = dict(frame.__dask_graph__())
    return {**convert_legacy_graph(graph), **{key: value for key, value in graph.items() if _is_future(value)}}


def own_tasks(graph: Mapping[Hashable, Any], keys: Sequence[Hashable]) -> list[dict[Hashable, Any]] | None:
    """Return the tasks behind each key; ``None`` if two keys share a task, or one holds a future."""
    seen: set[Hashable] = set()
    groups = []
    for key in keys:
        tasks: dict[Hashable, Any] = {}
        waiting = [key]
        while waiting:
            name = waiting.pop()
            if name in tasks:
                continue
            if name in seen or name not in graph or _holds_future(graph[name]):
                return None
            tasks[name] = graph[name]
            waiting.extend(graph[name].dependencies)
        seen.update(tasks)
        groups.append(tasks)
    return groups


def _holds_future(node: Any) -> bool:
    value = node.value if isinstance(node, DataNode) else node.target if isinstance(node, Alias) else node
    return _is_future(value)


def _is_future(value: Any) -> bool:
    return type(value).__name__ == "Future"


def parquet_pieces(frame: Frame) -> list[tuple[str, list[int] | None]] | None:
    """Return path and row groups (``None``: all) of each partition of a frame of local Parquet files.

    Return ``None`` for other frames, and with an unknown Dask; Dask's own tasks read those.
    """
    try:
        expression = frame.expr.lower_completely()
        if type(expression).__name__ != "ReadParquetFSSpec" or expression.operand("filters"):
            return None
        pieces = [expression._plan["parts"][index]["piece"] for index in expression._partitions]
        local = "file" in expression._dataset_info["fs"].protocol
    except (AttributeError, KeyError, TypeError):
        return None
    # The third entry has the values of columns that are part of the path.
    if not local or not all(isinstance(piece, tuple) and len(piece) == 3 and not piece[2] for piece in pieces):
        return None
    return [(str(path), None if groups in (None, [None]) else list(groups)) for path, groups, _ in pieces]


def show_progress(client: Any, futures: Sequence[Any], tell: Tell) -> None:
    """Report the progress of the tasks behind some futures."""
    from distributed.diagnostics.progressbar import TextProgressBar

    class Watch(TextProgressBar):  # type: ignore[misc]
        def _draw_bar(self, remaining: int, all: int, **_: Any) -> None:
            tell(all - remaining, all)

        def _draw_stop(self, **_: Any) -> None:
            pass

    watch = Watch([future.key for future in futures], client.scheduler.address, loop=client.loop, start=False)
    client.loop.add_callback(watch.listen)


class _SentLog(deque[dict[str, Any]]):
    """A worker's log of transfers to others, which sums the bytes that the comm sent.

    The worker's documented metric sums ``sys.getsizeof`` of the objects, which is a sixteenth for columns in files. The
    log itself has the bytes, but only of the last 1,000 transfers.
    """

    sent = 0

    def append(self, record: dict[str, Any]) -> None:
        self.sent += record["compressed"]
        super().append(record)


def bytes_sent(worker: Any) -> int | None:
    """Return the bytes that a worker has sent to others since the first call; ``None``: unknown."""
    log = getattr(worker, "transfer_outgoing_log", None)
    if log is None:
        return None
    if not isinstance(log, _SentLog):
        log = worker.transfer_outgoing_log = _SentLog(log, log.maxlen)
    return log.sent


def worker_of_process() -> Any:
    """Return a worker that runs in this process, if any."""
    from distributed import Worker

    return next(iter(Worker._instances), None)


#: Packages in the traceback of an error as Dask selects columns; a function of the user would be another.
_SELECTING = {"dfmst", "dask", "concurrent", "pandas"}


def reading_fault(error: Exception) -> DfmstError | None:
    """Return our error if Dask's Parquet reader or column selection failed; ``None`` if a user's function did."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    if any(module.startswith("dask.dataframe.io.parquet") for module in modules):
        message = f"Dask cannot read its Parquet files ({type(error).__name__}: {error})"
        hint = "if they have an index with labels, read them with dd.read_parquet(..., index=False)"
        return UnsupportedFrameError(message, hint)
    if isinstance(error, KeyError) and {module.partition(".")[0] for module in modules} <= _SELECTING:
        message = f"Dask cannot select its columns: {error.args[0]}"
        return ColumnNotFoundError(message, "give every partition the columns of the frame's meta")
    return None
