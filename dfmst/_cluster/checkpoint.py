"""Results that outlive their worker and their client: one Arrow file a task, complete or absent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dfmst.errors import OutputError
from dfmst.formats.atomic import atomic_path

__all__ = ["checkpointed", "first_workers", "prepare_directory"]


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
    except OSError as error:
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
    path = Path(directory) / f"workers-{token}.json"
    try:
        known = int(json.loads(path.read_text()))
    except (FileNotFoundError, ValueError):
        known = workers
        try:
            with atomic_path(path) as part:
                part.write_text(json.dumps(workers))
        except OSError as error:
            raise _unusable(directory, error) from error
    return max(1, known)


def checkpointed(path: str, task: Callable[..., pa.Table], *arguments: Any) -> pa.Table:
    """Return the table in the file; where there is none, run the task and write it.

    The name of the file stands for the task and everything it depends on.
    """
    try:
        with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
            return reader.read_all()
    except FileNotFoundError:
        table = task(*arguments)
    with atomic_path(path) as part, pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return table


def _unusable(directory: str | os.PathLike[str], error: OSError) -> OutputError:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    message = f"cannot use {directory} for checkpoints: {cause.strerror or cause}"
    return OutputError(message, "name a directory that every worker can write to")
