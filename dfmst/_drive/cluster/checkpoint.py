"""Checkpoints: a sealed file of Arrow tables for each finished task, and one for its progress.

A file (:mod:`dfmst.formats.sealed`) whose digest is wrong counts as missing, and its task runs again.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.ipc

from dfmst._drive.cluster.solve import TableFold
from dfmst._drive.cluster.tables import Table, host_table
from dfmst._fold.checkpoint import SavePace
from dfmst.errors import OutputError, no_space
from dfmst.formats.sealed import SealedOutput, sealed_input, sealed_output

_Content = TypeVar("_Content")


#: What reading a file raises that holds anything else than its task's result, whether its digest is right or not.
_DAMAGED = (
    *(FileNotFoundError, pa.ArrowInvalid, ValueError, TypeError, LookupError),
    *(AttributeError, ArithmeticError, RecursionError, NotImplementedError, StopIteration),
)


class Codec(NamedTuple):
    """How a task's result becomes tables, and is made of them again."""

    tables: Callable[[Any], Iterable[pa.Table]]
    result: Callable[[Iterator[pa.Table]], Any]


def _only(table: Table) -> list[pa.Table]:
    return [host_table(table)]


#: Of tasks whose result is a table.
ONE_TABLE = Codec(_only, next)


def first_workers(directory: str, token: str, workers: int) -> int:
    """Return how many workers the first run had, which this one is if the directory knows of none.

    Partitions are dealt out to workers. A run that goes on with more of them, or while some are still to come, would
    deal them otherwise and find none of the results that are there.
    """
    path = os.path.join(directory, f"workers-{token}")
    known = _read(path, lambda file, size: int(file.read(size)))
    if known is not None:
        return known
    _write(path, lambda file: file.write(str(max(1, workers)).encode()))
    return max(1, workers)


def checkpointed(path: str, codec: Codec, task: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result in the file; where there is none, run the task and write it.

    The name of the file stands for the task and everything it depends on.
    """
    kept = read_kept(path, codec)
    if kept is not None:
        return kept
    result = task(*arguments)
    write_kept(path, codec, result)
    Path(partial_path(path)).unlink(missing_ok=True)
    return result


def partial_path(path: str) -> str:
    """Return the file of a task in progress, which goes when its result is in its own."""
    return f"{path}.partial"


def write_kept(path: str, codec: Codec, result: Any) -> None:
    """Write a result to a file."""

    def write(file: SealedOutput) -> None:
        for table in codec.tables(result):
            with pa.ipc.new_stream(pa.PythonFile(file, "w"), table.schema) as writer:
                writer.write_table(table)

    _write(path, write)


def read_kept(path: str, codec: Codec) -> Any:
    """Return the result in a file; ``None`` where there is none, or a damaged one."""
    return _read(path, lambda file, size: codec.result(_tables(file, size)))


def is_kept(path: str) -> bool:
    """Whether the file is there, and whole."""
    return _read(path, lambda file, size: True) or False


def kept_result(path: str, codec: Codec) -> Any:
    """Return the result in a file that was there, and whole, when the run began (a task)."""
    kept = read_kept(path, codec)
    if kept is None:
        message = f"the checkpoint {path} was damaged or removed during the run"
        raise OutputError(message, "start the run again: it goes on from what is left")
    return kept


def _tables(file: pa.NativeFile, size: int) -> Iterator[pa.Table]:
    while file.tell() < size:
        yield pa.ipc.open_stream(file).read_all()


def _write(path: str, write: Callable[[SealedOutput], object]) -> None:
    try:
        with sealed_output(path) as file:
            write(file)
    except OSError as error:
        raise _unusable(Path(path).parent, error) from error


def _read(path: str, read: Callable[[pa.NativeFile, int], _Content]) -> _Content | None:
    """Return what a file holds; ``None`` where there is none, or a damaged one."""
    try:
        with sealed_input(path) as (file, size):
            return read(file, size)
    except _DAMAGED:
        return None
    except OutputError:  # of the place where the content goes
        raise
    except OSError as error:
        raise _unusable(Path(path).parent, error) from error


def _unusable(directory: str | os.PathLike[str], error: OSError | ValueError) -> OutputError:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if isinstance(cause, OSError) and cause.errno == errno.ENOSPC:
        return no_space(directory)
    reason = getattr(cause, "strerror", None) or getattr(cause, "message", cause)
    message = f"cannot use {directory} for checkpoints: {reason}"
    return OutputError(message, "name a directory that every worker can write to")


_RECORD = b"partial"


class Partial:
    """What a later run of a task goes on with.

    Attributes
    ----------
    done
        Partitions that an earlier run has taken.
    record
        What it has saved with them.
    result
        What it had of them; ``None``: it has saved nothing.
    """

    def __init__(self, path: str | None, codec: Codec) -> None:
        self._path, self._codec = path, _with_record(codec)
        self.done = 0
        self.record: Any = None
        self.result: Any = None
        kept = None if path is None else read_kept(path, self._codec)
        if kept is not None:
            (self.done, self.record), self.result = kept
        self._pace = SavePace(self.done)

    def save(self, done: int, result: Callable[[], Any], record: Any = None) -> None:
        """Save what there is of so many partitions, if it is time to."""
        if self._path is None or not self._pace.due(done):
            return
        begin = self._pace.now()
        write_kept(self._path, self._codec, ([done, record], result()))
        self._pace.saved(begin, done)


def _with_record(codec: Codec) -> Codec:
    """The codec of a pair: what JSON holds, and what the codec is for."""

    def tables(pair: tuple[Any, Any]) -> Iterable[pa.Table]:
        record, result = pair
        yield pa.table({}).replace_schema_metadata({_RECORD: json.dumps(record)})
        yield from codec.tables(result)

    def result(tables: Iterator[pa.Table]) -> tuple[Any, Any]:
        record = json.loads(next(tables).schema.metadata[_RECORD])
        return record, codec.result(tables)

    return Codec(tables, result)


def partitions_done(path: str) -> int:
    """Return how many partitions a file says that it is of, without a look at the rest; 0 where it does not say."""
    try:
        with Path(path).open("rb") as file:
            return int(json.loads(pa.ipc.open_stream(file).schema.metadata[_RECORD])[0])
    except (OSError, pa.ArrowException, ValueError, TypeError, LookupError):
        return 0


class PartialFold:
    """A fold that a later run of its task goes on with.

    Attributes
    ----------
    done, record
        As of :class:`Partial`.
    """

    def __init__(self, path: str | None, fold: TableFold) -> None:
        self._partial, self._fold = Partial(path, ONE_TABLE), fold
        self.done, self.record = self._partial.done, self._partial.record
        if self._partial.result is not None:
            fold.add(self._partial.result)
            self._partial.result = None

    def save(self, done: int, record: Any = None) -> None:
        """Save the forest of so many partitions, if it is time to (:meth:`Partial.save`)."""
        self._partial.save(done, lambda: host_table(self._fold.forest()), record)
