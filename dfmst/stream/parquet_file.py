"""Parquet files in the state in which they were found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from dfmst.formats.problems import problem

__all__ = ["FoundFile", "look_at", "opened", "row_groups"]


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as it was found: its state, and the number of rows before and in each row group."""

    path: Path
    size: int
    modified: int
    footer: str
    first: int
    groups: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(self.groups)


def look_at(path: Path, first: int) -> FoundFile:
    """Note a file's state."""
    try:
        state = path.stat()
        with path.open("rb") as stream:
            footer = _footer(stream, state.st_size)
        metadata = pyarrow.parquet.read_metadata(str(path))
    except FileNotFoundError as error:
        raise problem(path, "no such file", hint="check the name, and the directory you are in") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        message = f"not a Parquet file, or a damaged one ({reason})"
        raise problem(
            path, message, hint="fetch or write the file again; convert other formats with dfmst convert"
        ) from error
    groups = tuple(group.num_rows for group in row_groups(metadata))
    return FoundFile(path, state.st_size, state.st_mtime_ns, footer, first, groups)


def _footer(stream: Any, size: int) -> str:
    """Hash of the footer: what it says about every row group."""
    stream.seek(max(0, size - 8))
    length = int.from_bytes(stream.read(4), "little")
    stream.seek(max(0, size - 8 - length))
    return hashlib.sha256(stream.read(length)).hexdigest()


@contextmanager
def opened(file: FoundFile) -> Iterator[Any]:
    """Open a file that is still what it was."""
    try:
        state = file.path.stat()
        if (state.st_size, state.st_mtime_ns) != (file.size, file.modified):
            raise problem(file.path, "the file has changed since the run began", hint="start the run again")
        with pyarrow.parquet.ParquetFile(str(file.path), pre_buffer=False) as parquet:
            yield parquet
    except FileNotFoundError as error:
        raise problem(
            file.path, "the file has vanished since the run began", hint="put it back and run again"
        ) from error


def row_groups(metadata: Any) -> Iterator[Any]:
    """The metadata of every row group."""
    return (metadata.row_group(group) for group in range(metadata.num_row_groups))
