"""Task graphs: named, deterministic, for any scheduler; and the checkpoints of their tasks.

A directory of checkpoints has a file for each finished task and for each unfinished one. A file that is damaged or
false (:mod:`dfmst._fold.checkpoint`) counts as missing, and its task runs again.
"""

from __future__ import annotations

import os
from collections import UserDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.ipc
from dask.tokenize import tokenize

from dfmst._common.machine import trim_memory
from dfmst._common.records import is_count
from dfmst._common.types import Frame
from dfmst._drive.dask_internals import ARRIVING, PLACED, STAYING, new_task, reference
from dfmst._drive.tables import checked_edges, host_table
from dfmst._engines.primitives.id_table import PROCESS_KEYS, HashKeys
from dfmst._fold.checkpoint import (
    Codec,
    SavePace,
    check,
    is_complete,
    read_checkpoint,
    record_of,
    with_record,
    write_checkpoint,
)
from dfmst.errors import OutputError, no_space


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
        self._stored: dict[Hashable, tuple[str, Codec]] = {}  # file and codec of each task with a checkpoint
        self._complete: dict[str, bool] = {}  # files that were examined

    def add(
        self,
        name: str,
        number: Hashable,
        task: Callable[..., Any],
        *arguments: Any,
        durable: Codec | None = None,
        stays: bool = False,
        near: Sequence[Any] | None = None,
    ) -> Any:
        """Add a task and return a reference to its result.

        The result of a task with a codec (`durable`) gets a checkpoint. A task that `stays` runs on the worker of its
        largest input.

        A task stays in any case if it has arguments `near` it: these are brought to the worker of its first argument
        before. Dask would weigh this argument, of whose files it counts a sixteenth, against the tasks that wait there.
        """
        key: Hashable = (f"{STAYING}-{self.token}", (name, number)) if stays else (f"dfmst-{name}-{self.token}", number)
        if near is not None:
            place = (f"{ARRIVING}-{self.token}", ("near", name, number))
            self[place] = new_task(place, brought, [arguments[0], *near])
            key = (f"{PLACED[name]}-{self.token}", (name, number))
            task, arguments = arrived, (reference(place), task, *arguments)
        elif task not in (getitem, getattr):  # which take no memory
            task, arguments = released, (task, *arguments)
        file = self.file(name, number)
        if durable and file is not None:
            self._stored[key] = file, durable
            self[key] = new_task(key, checkpointed, [file, durable, task, *arguments])
        else:
            self[key] = new_task(key, task, arguments)
        return reference(key)

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


def _edge_tables(table: Frame) -> list[pa.Table]:
    return [host_table(table)]


#: Of a task's edges.
EDGE_TABLE = Codec(_edge_tables, checked_edges)


def checkpointed(path: str, codec: Codec, task: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result in a file; without one, run the task and write it."""
    stored = load(path, codec)
    if stored is not None:
        return stored
    result = task(*arguments)
    save(path, codec, result)
    Path(progress_path(path)).unlink(missing_ok=True)
    return result


def stored_result(path: str, codec: Codec) -> Any:
    """Return the result in a file that was complete when the run began (a task)."""
    stored = load(path, codec)
    if stored is None:
        message = f"the checkpoint {path} was damaged or removed during the run"
        raise OutputError(message, "run again: the other checkpoints are used")
    return stored


def load(path: str, codec: Codec) -> Any:
    """Return the content of a file; ``None`` if it is missing, damaged or false."""
    try:
        return read_checkpoint(path, codec)
    except (FileNotFoundError, ValueError):
        return None
    except OSError as error:
        raise _unusable(path, error) from error


def save(path: str, codec: Codec, content: Any) -> None:
    """Write content to a file."""
    try:
        write_checkpoint(path, codec, content)
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: str, error: OSError) -> OutputError:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    directory = Path(path).parent
    if (full := no_space(directory, cause)) is not None:
        return full
    reason = getattr(cause, "strerror", None) or getattr(cause, "message", cause)
    message = f"cannot use {directory} for checkpoints: {reason}"
    return OutputError(message, "name a directory that every worker can write to")


def false_checkpoint() -> OutputError:
    """Make the error for checkpoints that contradict each other."""
    return OutputError("checkpoints do not fit each other", "remove the directory of checkpoints and run again")


class FirstRun(NamedTuple):
    """Partitions are assigned to workers, and ids to tasks by keys: with others, a run would find no checkpoints."""

    workers: int
    low: int
    high: int


_RUN_FIELDS = dict.fromkeys(FirstRun._fields, lambda value: is_count(value) and value > 0)
_FIRST_RUN = Codec(
    lambda run: [with_record(pa.table({}), run._asdict())],
    lambda tables: FirstRun(**record_of(next(tables), _RUN_FIELDS)),
)


def first_run(directory: str, token: str, workers: int) -> FirstRun:
    """Return the record of the first run, which this run is if the directory has none, or that of an older version."""
    path = os.path.join(directory, f"workers-{token}")
    first: FirstRun | None = load(path, _FIRST_RUN)
    if first is None:
        first = FirstRun(max(1, workers), *PROCESS_KEYS)
        save(path, _FIRST_RUN, first)
    return first


def progress_path(path: str) -> str:
    """Return the file for the progress of a task, which is removed when its result is written."""
    return f"{path}.partial"


class Progress:
    """Progress of a task that processes its partitions in order; a later run of the task continues from its file.

    An earlier run processed `done` partitions, and `content` is their result; ``None``: nothing was saved.
    """

    def __init__(self, path: str | None, codec: Codec, partitions: int) -> None:
        self._path, self._codec = path, _with_progress(codec, partitions)
        stored = None if path is None else load(path, self._codec)
        progress: tuple[int, Any] = stored or (0, None)
        self.done, self.content = progress
        self._pace = SavePace(self.done)

    def save(self, done: int, content: Callable[[], Any]) -> None:
        """Save the result of the first `done` partitions, if it is time to."""
        if self._path is None or not self._pace.due(done):
            return
        begin = self._pace.now()
        save(self._path, self._codec, (done, content()))
        self._pace.saved(begin, done)


_DONE: dict[str, Callable[[Any], bool]] = {"done": is_count}


def _with_progress(codec: Codec, partitions: int) -> Codec:
    def tables(progress: tuple[int, Any]) -> Iterable[pa.Table]:
        done, content = progress
        yield with_record(pa.table({}), {"done": done})
        yield from codec.tables(content)

    def content(tables: Iterator[pa.Table]) -> tuple[int, Any]:
        record = record_of(next(tables), _DONE)
        check(record["done"] <= partitions, "more partitions than there are")
        return record["done"], codec.content(tables)

    return Codec(tables, content)


def partitions_done(path: str) -> int:
    """Return the number of partitions in a progress file, from its first record alone; 0 without one."""
    try:
        with Path(path).open("rb") as file:
            return int(record_of(pa.ipc.open_stream(file).read_all(), _DONE)["done"])
    except (OSError, pa.ArrowException, ValueError):
        return 0
