"""Results that outlive their worker and their client: one Arrow file a task, complete or absent.

Every file ends with a digest of its name and its content. One that does not keep its digest is damaged, and made anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.ipc

from dfmst.errors import OutputError
from dfmst.formats.atomic import atomic_path

__all__ = ["checkpointed", "first_workers", "prepare_directory"]

_DIGEST = 32  # bytes


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
    path = os.path.join(directory, f"workers-{token}")
    known = _read(path)
    if known is not None:
        return int(known.to_pybytes())
    _write(path, lambda file: file.write(str(max(1, workers)).encode()))
    return max(1, workers)


def checkpointed(path: str, task: Callable[..., pa.Table], *arguments: Any) -> pa.Table:
    """Return the table in the file; where there is none, run the task and write it.

    The name of the file stands for the task and everything it depends on.
    """
    content = _read(path)
    if content is not None:
        return pa.ipc.open_stream(content).read_all()
    table = task(*arguments)

    def write(file: _DigestFile) -> None:
        with pa.ipc.new_stream(pa.PythonFile(file, "w"), table.schema) as writer:
            writer.write_table(table)

    _write(path, write)
    return table


class _DigestFile:
    """A file, as PyArrow wants one, that takes the digest of what is written."""

    closed = False

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._digest = file, _digest(name)

    def write(self, content: bytes) -> int:
        """Write some more."""
        self._digest.update(content)
        return self._file.write(content)

    def flush(self) -> None:
        """Nothing waits here."""

    def digest(self) -> bytes:
        """Return the digest of what was written."""
        digest: bytes = self._digest.digest()
        return digest


def _write(path: str, write: Callable[[_DigestFile], object]) -> None:
    try:
        with atomic_path(path) as part, part.open("wb") as file:
            sink = _DigestFile(file, Path(path).name)
            write(sink)
            file.write(sink.digest())
    except OSError as error:
        raise _unusable(Path(path).parent, error) from error


def _read(path: str) -> pa.Buffer | None:
    """Return what a file holds; ``None`` where there is none, or a damaged one."""
    try:
        with pa.OSFile(path) as file:
            whole = file.read_buffer()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(Path(path).parent, error) from error
    content = whole[: max(0, whole.size - _DIGEST)]
    digest = _digest(Path(path).name)
    digest.update(content)
    return content if digest.digest() == whole[content.size :].to_pybytes() else None


def _digest(name: str) -> Any:
    """The digest of a file; one under another file's name does not keep it."""
    return hashlib.blake2b(name.encode(), digest_size=_DIGEST)


def _unusable(directory: str | os.PathLike[str], error: OSError) -> OutputError:
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    message = f"cannot use {directory} for checkpoints: {cause.strerror or getattr(cause, 'message', cause)}"
    return OutputError(message, "name a directory that every worker can write to")
