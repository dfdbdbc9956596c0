"""Results that outlive their worker and their client: one Arrow file a task, complete or absent.

Every file is sealed (:mod:`dfmst.formats.sealed`). One that does not keep its digest is damaged, and made anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.ipc

from dfmst.errors import OutputError
from dfmst.formats.sealed import BrokenSealError, SealedOutput, sealed_input, sealed_output

__all__ = ["checkpointed", "first_workers", "prepare_directory"]

_Content = TypeVar("_Content")


def prepare_directory(directory: str | os.PathLike[str]) -> str:
    """Make the directory and return its absolute path.

    Raises
    ------
    OutputError
        It cannot be made or written to.
    """
    path = Path(directory).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name that no system takes
        raise _unusable(directory, error) from error
    return str(path)


def first_workers(directory: str, token: str, workers: int) -> int:
    """Return how many workers the first run had, which this one is if the directory knows of none.

    Partitions are dealt out to workers. A run that goes on with more of them, or while some are still to come, would
    deal them otherwise and find none of the results that are there.

    Parameters
    ----------
    directory
        Of the checkpoints.
    token
        Stands for the work, whoever does it.
    workers
        At hand now.

    Raises
    ------
    OutputError
        The directory cannot be written to.
    """
    path = os.path.join(directory, f"workers-{token}")
    known = _read(path, lambda file, size: int(file.read(size)))
    if known is not None:
        return known
    _write(path, lambda file: file.write(str(max(1, workers)).encode()))
    return max(1, workers)


def checkpointed(path: str, task: Callable[..., pa.Table], *arguments: Any) -> pa.Table:
    """Return the table in the file; where there is none, run the task and write it.

    The name of the file stands for the task and everything it depends on.
    """
    kept = _read(path, lambda file, size: pa.ipc.open_stream(file).read_all())
    if kept is not None:
        return kept
    table = task(*arguments)

    def write(file: SealedOutput) -> None:
        with pa.ipc.new_stream(pa.PythonFile(file, "w"), table.schema) as writer:
            writer.write_table(table)

    _write(path, write)
    return table


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
    except (FileNotFoundError, BrokenSealError, pa.ArrowInvalid):
        return None
    except OSError as error:
        raise _unusable(Path(path).parent, error) from error


def _unusable(directory: str | os.PathLike[str], error: OSError | ValueError) -> OutputError:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    reason = getattr(cause, "strerror", None) or getattr(cause, "message", cause)
    message = f"cannot use {directory} for checkpoints: {reason}"
    return OutputError(message, "name a directory that every worker can write to")
