"""Results that outlive their worker and their client: one Arrow file a task, complete or absent."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dfmst.errors import OutputError

__all__ = ["checkpointed", "first_workers", "prepare"]


def prepare(directory: str | os.PathLike[str]) -> str:
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
    deal them otherwise and find nothing of what is done.

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
            _write(str(path), lambda part: Path(part).write_text(json.dumps(workers)))
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

    def write(part: str) -> None:
        with pa.OSFile(part, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    _write(path, write)
    return table


def _unusable(directory: str | os.PathLike[str], error: OSError) -> OutputError:
    message = f"cannot use {directory} for checkpoints: {error.strerror or error}"
    return OutputError(message, "name a directory that every worker can write to")


def _write(path: str, write: Callable[[str], object]) -> None:
    """Let a file appear complete or not at all."""
    part = f"{path}.{secrets.token_hex(6)}.part"
    try:
        write(part)
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
