"""Checkpoints of tasks: a file for each finished task and for each unfinished one.

A file that is damaged or false (:mod:`dfmst._fold.checkpoint`) counts as missing, and its task runs again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dfmst._drive.cluster.tables import checked_edges, host_table
from dfmst._fold.checkpoint import Codec, SavePace, check, read_checkpoint, record_of, with_record, write_checkpoint
from dfmst.errors import OutputError, no_space
from dfmst.formats.provenance import is_count


def _edge_tables(table: Any) -> Iterator[pa.Table]:
    yield host_table(table)


def _edge_table(tables: Iterator[pa.Table]) -> pa.Table:
    return checked_edges(next(tables))


#: Of a task's edges.
EDGE_TABLE = Codec(_edge_tables, _edge_table)


def first_workers(directory: str, token: str, workers: int) -> int:
    """Return the number of workers of the first run, which this run is if the directory has no record of one.

    Partitions are assigned to workers. A later run with another number of workers would assign them differently and
    find no checkpoints.
    """
    fields = {"workers": lambda value: is_count(value) and value > 0}
    codec = Codec(lambda count: [with_record(pa.table({}), {"workers": count})], lambda tables: _record(tables, fields))
    path = os.path.join(directory, f"workers-{token}")
    known = load(path, codec)
    if known is not None:
        return int(known["workers"])
    save(path, codec, max(1, workers))
    return max(1, workers)


def _record(tables: Iterator[pa.Table], fields: Mapping[str, Callable[[Any], bool]]) -> dict[str, Any]:
    return record_of(next(tables), fields)


def checkpointed(path: str, codec: Codec, task: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result in a file; without one, run the task and write it.

    The name of the file identifies the task and everything that it depends on.
    """
    stored = load(path, codec)
    if stored is not None:
        return stored
    result = task(*arguments)
    save(path, codec, result)
    Path(progress_path(path)).unlink(missing_ok=True)
    return result


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
    if cause.errno == errno.ENOSPC:
        return no_space(directory)
    reason = getattr(cause, "strerror", None) or getattr(cause, "message", cause)
    message = f"cannot use {directory} for checkpoints: {reason}"
    return OutputError(message, "name a directory that every worker can write to")


def stored_result(path: str, codec: Codec) -> Any:
    """Return the result in a file that was complete when the run began (a task)."""
    stored = load(path, codec)
    if stored is None:
        message = f"the checkpoint {path} was damaged or removed during the run"
        raise OutputError(message, "run again: the other checkpoints are used")
    return stored


def false_checkpoint() -> OutputError:
    """Make the error for checkpoints that contradict each other."""
    return OutputError("checkpoints do not fit each other", "remove the directory of checkpoints and run again")


def progress_path(path: str) -> str:
    """Return the file for the progress of a task, which is removed when its result is written."""
    return f"{path}.partial"


class Progress:
    """Progress of a task that processes its partitions in order; a later run of the task continues from its file.

    Attributes
    ----------
    done
        Partitions that an earlier run processed.
    digests
        Digests of these partitions by number, if the task computes them.
    content
        Their result; ``None``: nothing was saved.
    """

    def __init__(self, path: str | None, codec: Codec, partitions: int) -> None:
        self._path, self._codec = path, _with_progress(codec, partitions)
        stored = None if path is None else load(path, self._codec)
        progress: tuple[int, dict[int, int], Any] = stored or (0, {}, None)
        self.done, self.digests, self.content = progress
        self._pace = SavePace(self.done)

    def save(self, done: int, content: Callable[[], Any], digests: Mapping[int, int] | None = None) -> None:
        """Save the result of the first `done` partitions, if it is time to."""
        if self._path is None or not self._pace.due(done):
            return
        begin = self._pace.now()
        save(self._path, self._codec, (done, digests or {}, content()))
        self._pace.saved(begin, done)


_DONE: dict[str, Callable[[Any], bool]] = {"done": is_count}


def _with_progress(codec: Codec, partitions: int) -> Codec:
    def tables(progress: tuple[int, Mapping[int, int], Any]) -> Iterable[pa.Table]:
        done, digests, content = progress
        yield with_record(pa.table({}), {"done": done, "digests": digests})
        yield from codec.tables(content)

    def content(tables: Iterator[pa.Table]) -> tuple[int, dict[int, int], Any]:
        record = record_of(next(tables), _DONE)
        check(record["done"] <= partitions, "more partitions than there are")
        return record["done"], digests_by_number(record.get("digests")), codec.content(tables)

    return Codec(tables, content)


def digests_by_number(written: Any) -> dict[int, int]:
    """Return the digests of partitions by number, from a record of JSON."""
    check(isinstance(written, dict) and all(map(is_count, written.values())), "digests that are no integers")
    return {int(number): digest for number, digest in written.items()}


def partitions_done(path: str) -> int:
    """Return the number of partitions in a progress file, from its first record alone; 0 without one."""
    try:
        with Path(path).open("rb") as file:
            return int(record_of(pa.ipc.open_stream(file).read_all(), _DONE)["done"])
    except (OSError, pa.ArrowException, ValueError):
        return 0
