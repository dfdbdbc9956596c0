"""Results that outlive their worker and their client: a file of Arrow tables for each task, complete or absent.

Every file is sealed (:mod:`dfmst.formats.sealed`). One that does not keep its digest is damaged, and made anew.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.ipc

from dfmst._drive.cluster.device_tables import Table, host_table
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
