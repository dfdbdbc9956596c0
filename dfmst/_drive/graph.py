"""Task graphs: named, deterministic, for any scheduler; the checkpoints of their tasks; and private parts of Dask.

Private are graph nodes, the files behind a frame, and the log of sent bytes. No other module of dfmst names a private
part of Dask. A release that changes one of these fails in tests/drive/cluster/test_boundary.py first, by name.

A directory of checkpoints has a file for each finished task and for each unfinished one. A file that is damaged or
false (:mod:`dfmst._fold.checkpoint`) counts as missing, and its task runs again.
"""

from __future__ import annotations

import os
import traceback
from collections import UserDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

import dask
import pyarrow as pa
from dask.tokenize import tokenize

from dfmst._common.directories import cannot
from dfmst._common.machine import Tell, trim_memory
from dfmst._common.records import is_count
from dfmst._common.types import Frame
from dfmst._engines.primitives.id_table import PROCESS_KEYS, HashKeys
from dfmst._fold.checkpoint import (
    CheckpointLayout,
    SavePace,
    is_complete,
    read_checkpoint,
    unchecked_field,
    write_checkpoint,
)
from dfmst.errors import (
    ColumnNotFoundError,
    DfmstError,
    EngineUnavailableError,
    FormatError,
    OutputError,
    UnsupportedFrameError,
)

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


class TaskGraph(UserDict[Hashable, Any]):  # no dict: Dask takes the token of one from every task in it
    """Tasks by key; the key of a task identifies everything that its result depends on.

    `token` identifies the parameters, `shared` the parameters that graphs for other sizes of the cluster have as well.
    With `keys`, tasks share out ids: those of an earlier run if its checkpoints are used, else those of this process.
    """

    def __init__(
        self,
        parameters: Any,
        checkpoint: str | None = None,
        tasks: Mapping[Hashable, Any] | None = None,
        shared: str | None = None,
        keys: HashKeys = PROCESS_KEYS,
    ) -> None:
        super().__init__(tasks)
        self.token, self.hash_keys = tokenize(parameters, keys), keys
        self._checkpoint, self._shared = checkpoint, shared or self.token
        self._stored: dict[Hashable, tuple[str, CheckpointLayout]] = {}  # of tasks with a checkpoint
        self._complete: dict[str, bool] = {}  # files that were examined

    def add(
        self,
        name: str,
        number: Hashable,
        task: Callable[..., Any],
        *arguments: Any,
        durable: CheckpointLayout | None = None,
        stays: bool = False,
        near: Sequence[Any] | None = None,
    ) -> Any:
        """Add a task and return a reference to its result.

        The result of a task with a layout (`durable`) gets a checkpoint. A task that `stays` runs on the worker of its
        largest input, as an entry of a result always does.

        A task stays in any case if it has arguments `near` it: these are brought to the worker of its first argument
        before. Dask would weigh this argument, of whose files it counts a sixteenth, against the tasks that wait there.
        """
        is_entry = task in (getitem, getattr)  # which takes no memory
        key: Hashable = (f"dfmst-{name}-{self.token}", number)
        if stays or is_entry:
            key = (f"{STAYING}-{self.token}", (name, number))
        if near is not None:
            place = (f"{ARRIVING}-{self.token}", ("near", name, number))
            self[place] = new_task(place, brought, [arguments[0], *near])
            key = (f"{PLACED[name]}-{self.token}", (name, number))
            task, arguments = arrived, (reference(place), task, *arguments)
        elif not is_entry:
            task, arguments = released, (task, *arguments)
        file = self.file(name, number)
        if durable and file is not None:
            self._stored[key] = file, durable
            self[key] = new_task(key, checkpointed, [file, durable, task, *arguments])
        else:
            self[key] = new_task(key, task, arguments)
        return reference(key)

    def each(
        self,
        name: str,
        task: Callable[..., Any],
        *columns: Iterable[Any],
        more: Sequence[Any] = (),
        of: tuple[Hashable, ...] = (),
        **options: Any,
    ) -> list[Any]:
        """Add a task for each entry of columns of arguments; `more` are arguments of all, `of` begins their numbers."""
        return [
            self.add(name, (*of, at), task, *arguments, *more, **options)
            for at, arguments in enumerate(zip(*columns, strict=True))
        ]

    def sent(
        self, name: str, results: Sequence[Any], receivers: int, first: int = 0, of: tuple[Hashable, ...] = ()
    ) -> list[list[Any]]:
        """Return for each receiver an entry of every result: that of its own number, counted from `first`."""
        return [
            self.each(name, getitem, results, more=(first + receiver,), of=(*of, receiver))
            for receiver in range(receivers)
        ]

    def exchange(
        self,
        name: str,
        questions: Sequence[Any],
        owners: int,
        task: Callable[..., Any],
        *columns: Iterable[Any],
        first: int = 0,
        of: tuple[Hashable, ...] = (),
    ) -> tuple[list[Any], list[list[Any]]]:
        """Let owners answer questions: results with an entry for each owner, in a list of the owner's last argument.

        Return the results of `task` for all owners, and for each question their answers: entries from `first` on.
        """
        asked = self.sent(f"{name}-asked", questions, owners, of=of)
        results = self.each(name, task, *columns, asked, of=of)
        return results, self.sent(f"{name}-answers", results, len(questions), first, of)

    def file(self, name: str, number: Hashable) -> str | None:
        """Return the checkpoint file of a task; ``None`` without a directory of checkpoints."""
        if self._checkpoint is None:
            return None
        label = "-".join(map(str, number)) if isinstance(number, tuple) else str(number)
        return os.fspath(Path(self._checkpoint) / f"{name}-{self.token}-{label}.arrow")

    def progress_file(self, name: str, number: Hashable) -> str | None:
        """Return the file in which an unfinished task saves its progress; ``None`` without a directory."""
        file = self.file(name, number)
        return None if file is None else progress_path(file)

    def count_complete(self, name: str, tasks: int) -> int:
        """Return how many of the first tasks of a name have a complete checkpoint, up to the first without."""
        files = (self.file(name, number) for number in range(tasks))
        return next((number for number, file in enumerate(files) if not (file and self._is_complete(file))), tasks)

    def _is_complete(self, file: str) -> bool:
        """Whether a file is complete; it is examined once, so that all parts of the graph agree."""
        if file not in self._complete:
            self._complete[file] = is_complete(file)
        return self._complete[file]

    def earlier_results(self) -> str:
        """Describe the checkpoints of an earlier run, by the names of tasks in the order of the work."""
        found: dict[str, tuple[int, int, int]] = {}  # finished tasks, all tasks, partitions of unfinished tasks
        for file, _ in self._stored.values():
            name = Path(file).name.partition(f"-{self.token}")[0]
            done = os.path.exists(file)
            finished, tasks, partitions = found.get(name, (0, 0, 0))
            partitions += 0 if done else partitions_done(progress_path(file))
            found[name] = finished + done, tasks + 1, partitions
        return ", ".join(
            f"{name} {finished:,} of {tasks:,}" + (f" and {partitions:,} partitions more" if partitions else "")
            for name, (finished, tasks, partitions) in found.items()
            if finished or partitions
        )

    def remove_checkpoints(self) -> None:
        """Remove all files of the graph from the directory, those of killed tasks included."""
        if self._checkpoint is not None:
            for path in Path(self._checkpoint).iterdir():
                if self.token in path.name or self._shared in path.name:
                    path.unlink(missing_ok=True)

    def use_checkpoints(self, wanted: Iterable[Any]) -> None:
        """Let tasks with a complete checkpoint read it, without their inputs."""
        if not self._stored:
            return
        waiting, seen = [each.key for each in wanted], set()
        while waiting:
            key = waiting.pop()
            if key in seen or key not in self:
                continue
            seen.add(key)
            if key in self._stored and self._is_complete(self._stored[key][0]):
                self[key] = new_task(key, stored_result, self._stored[key])
            else:
                waiting.extend(getattr(self[key], "dependencies", ()))  # a future has none

    def __dask_tokenize__(self) -> Any:
        """Identify the graph without its data. Graphs of one token may have different checkpoints."""
        return ("dfmst", self.token, None if self._checkpoint is None else str(self._checkpoint), len(self))


def brought(_: Any, *values: Any) -> tuple[Any, ...]:
    """Return results that a task near another one needs (a task)."""
    return values


def arrived(values: tuple[Any, ...], task: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a task with the results that were brought to it."""
    return released(task, *arguments, *values)


def released(task: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a task, and give freed memory back: Dask pauses a worker by the memory of its process."""
    try:
        return task(*arguments)
    finally:
        trim_memory()


def checkpointed(path: str, layout: CheckpointLayout, task: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result in a file; without one, run the task and write it."""
    stored = load(path, layout)
    if stored is not None:
        return stored
    result = task(*arguments)
    save(path, layout, result)
    Path(progress_path(path)).unlink(missing_ok=True)
    return result


def stored_result(path: str, layout: CheckpointLayout) -> Any:
    """Return the result in a file that was complete when the run began (a task)."""
    stored = load(path, layout)
    if stored is None:
        message = f"the checkpoint {path} was damaged or removed during the run"
        raise OutputError(message, "run again: the other checkpoints are used")
    return stored


def load(path: str, layout: CheckpointLayout) -> Any:
    """Return the content of a file; ``None`` if it is missing, damaged or false. Another version's is an error."""
    try:
        return read_checkpoint(path, layout)
    except FormatError:  # of another version
        raise
    except (FileNotFoundError, ValueError):
        return None
    except OSError as error:
        raise _unusable(path, error) from error


def save(path: str, layout: CheckpointLayout, content: Any) -> None:
    """Write content to a file."""
    try:
        write_checkpoint(path, layout, content)
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: str, error: OSError) -> OutputError:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    directory = Path(path).parent
    return cannot(
        f"use {directory} for checkpoints", directory, cause, "name a directory that every worker can write to"
    )


def false_checkpoint() -> OutputError:
    """Make the error for checkpoints that contradict each other."""
    return OutputError("checkpoints do not fit each other", "remove the directory of checkpoints and run again")


class FirstRun(NamedTuple):
    """Partitions are assigned to workers, and ids to tasks by keys: with others, a run would find no checkpoints."""

    workers: int
    low: int
    high: int


_RUN_FIELDS = dict.fromkeys(FirstRun._fields, lambda value: is_count(value) and value > 0)
_FIRST_RUN = CheckpointLayout(
    "first run",
    _RUN_FIELDS,
    lambda run: (run._asdict(), ()),
    lambda record, _: FirstRun(*map(record.__getitem__, FirstRun._fields)),
)


def first_run(directory: str, token: str, workers: int) -> FirstRun:
    """Return the record of the first run, which this run is if the directory has none."""
    path = os.path.join(directory, f"workers-{token}")
    first: FirstRun | None = load(path, _FIRST_RUN)
    if first is None:
        first = FirstRun(max(1, workers), *PROCESS_KEYS)
        save(path, _FIRST_RUN, first)
    return first


def progress_path(path: str) -> str:
    """Return the file for the progress of a task, which is removed when its result is written."""
    return f"{path}.partial"


class TaskProgress:
    """Progress of a task that processes its partitions in order; a later run of the task continues from its file.

    An earlier run processed `done` partitions, and `content` is their result; ``None``: nothing was saved.
    """

    def __init__(self, path: str | None, layout: CheckpointLayout, partitions: int) -> None:
        self._path, self._layout = path, _with_progress(layout, partitions)
        stored = None if path is None else load(path, self._layout)
        progress: tuple[int, Any] = stored or (0, None)
        self.done, self.content = progress
        self._pace = SavePace(self.done)

    def save(self, done: int, content: Callable[[], Any]) -> None:
        """Save the result of the first `done` partitions, if it is time to."""
        if self._path is None or not self._pace.due(done):
            return
        begin = self._pace.now()
        save(self._path, self._layout, (done, content()))
        self._pace.saved(begin, done)


def _with_progress(layout: CheckpointLayout, partitions: int) -> CheckpointLayout:
    def parts(progress: tuple[int, Any]) -> tuple[Mapping[str, object], Iterable[pa.Table]]:
        fields, tables = layout.parts(progress[1])
        return {**fields, "done": progress[0]}, tables

    def content(record: dict[str, Any], tables: Iterator[pa.Table]) -> tuple[int, Any]:
        return record["done"], layout.content(record, tables)

    fields = {**layout.fields, "done": lambda value: is_count(value) and value <= partitions}
    return CheckpointLayout(f"progress of {layout.name}", fields, parts, content)


def partitions_done(path: str) -> int:
    """Return the number of partitions in a progress file, of whose content nothing is checked; 0 without one."""
    done = unchecked_field(path, "done")
    return done if is_count(done) else 0
