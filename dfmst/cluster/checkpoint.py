"""Results that outlive their worker and their client: one Arrow file a task, complete or absent."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dfmst.errors import OutputError

__all__ = ["checkpointed", "prepare"]


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
        message = f"cannot use {directory} for checkpoints: {error.strerror or error}"
        raise OutputError(message, "name a directory that every worker can write to") from error
    return str(path)


def checkpointed(path: str, task: Callable[..., pa.Table], *arguments: Any) -> pa.Table:
    """Return the table in the file; where there is none, run the task and write it.

    The name of the file stands for the task and everything it depends on.
    """
    try:
        with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
            return reader.read_all()
    except FileNotFoundError:
        table = task(*arguments)
    part = f"{path}.{secrets.token_hex(6)}.part"
    try:
        with pa.OSFile(part, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return table
