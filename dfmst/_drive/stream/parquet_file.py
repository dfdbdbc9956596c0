"""One Parquet file of a stream, which must not change during the run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._drive.stream.locators import Locators
from dfmst._edges.arrow_values import arrow_numbers
from dfmst.formats.files import open_native, problem
from dfmst.formats.parquet import batch_rows, open_buffered


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was when the run began.

    Attributes
    ----------
    size, modified, footer
        What changes when the file changes.
    first
        Number of its first row among all rows of the source.
    groups
        Rows of each row group.
    """

    path: Path
    size: int
    modified: int
    footer: str
    first: int
    groups: tuple[int, ...]

    @classmethod
    def of_path(cls, path: Path, first: int) -> SourceFile:
        """Read a file's state and footer."""
        try:
            state = path.stat()
            with path.open("rb") as stream:
                footer = _footer_hash(stream, state.st_size)
            with open_native(path) as native:
                metadata = pyarrow.parquet.read_metadata(native)
        except FileNotFoundError as error:
            raise problem(path, "no such file", hint="check the name, and the directory you are in") from error
        except (pa.ArrowException, OSError) as error:
            message = f"not a Parquet file, or a damaged one ({_first_line(error)})"
            hint = "fetch or write the file again; convert other formats with dfmst convert"
            raise problem(path, message, hint=hint) from error
        groups = tuple(group.num_rows for group in _row_groups(metadata))
        return cls(path, state.st_size, state.st_mtime_ns, footer, first, groups)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(self.groups)

    @contextmanager
    def open(self) -> Iterator[pyarrow.parquet.ParquetFile]:
        """Open it."""
        try:
            state = self.path.stat()
            if (state.st_size, state.st_mtime_ns) != (self.size, self.modified):
                raise problem(self.path, "the file has changed since the run began", hint="start the run again")
            with open_native(self.path) as file, open_buffered(file) as parquet:
                yield parquet
        except FileNotFoundError as error:
            message = "the file has vanished since the run began"
            raise problem(self.path, message, hint="put it back and run again") from error

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        with self.open() as parquet:
            return parquet.schema_arrow

    @property
    def nbytes(self) -> int:
        """Bytes of its pages, not compressed."""
        with self.open() as parquet:
            return sum(group.total_byte_size for group in _row_groups(parquet.metadata))

    def largest_id(self, names: tuple[Any, Any]) -> int | None:
        """Return the largest id by the footer; -1 without rows, ``None`` without statistics or with a negative id."""
        with self.open() as parquet:
            metadata = parquet.metadata
        places = [place for place in range(metadata.num_columns) if metadata.schema.column(place).path in names]
        largest = -1
        for row_group in _row_groups(metadata):
            for place in places:
                statistics = row_group.column(place).statistics
                if not row_group.num_rows or (statistics and statistics.null_count == row_group.num_rows):
                    continue
                if not statistics or not statistics.has_min_max or statistics.min < 0:
                    return None
                largest = max(largest, int(statistics.max))
        return largest

    def batches(self, groups: Sequence[int], names: Sequence[Any], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of row groups, at most `rows` at a time; fewer where texts are long."""
        with self.open() as parquet:
            size = batch_rows(parquet.metadata, groups, rows, names)
            batches = parquet.iter_batches(batch_size=size, row_groups=list(groups), columns=list(names))
            done = sum(self.groups[: groups[0]]) if len(groups) else 0
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError) as error:
                    group = int(np.searchsorted(np.cumsum(self.groups), done, side="right"))
                    message = f"row group {group} cannot be read ({_first_line(error)})"
                    raise problem(self.path, message, hint="fetch or write the file again") from error
                if batch is None:
                    return
                done += batch.num_rows
                yield batch

    def take(
        self, group: int, first: int, locators: Locators, names: Sequence[Any], rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of some rows of a row group, whose first row has the number `first`."""
        for batch in self.batches(range(group, group + 1), names, rows):
            taken = locators.below(first + batch.num_rows)
            if len(taken):
                yield batch.take(arrow_numbers(taken - np.uint64(first)))
            first += batch.num_rows


def _footer_hash(stream: Any, size: int) -> str:
    """Hash what the footer says about every row group."""
    stream.seek(max(0, size - 8))
    length = int.from_bytes(stream.read(4), "little")
    stream.seek(max(0, size - 8 - length))
    return hashlib.sha256(stream.read(length)).hexdigest()


def _row_groups(metadata: Any) -> Iterator[Any]:
    """The metadata of every row group."""
    return (metadata.row_group(group) for group in range(metadata.num_row_groups))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
