"""Parquet files as the source of a stream."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._common.limits import has_threads
from dfmst._common.types import Array
from dfmst._drive.stream.batches import Batch, Locators
from dfmst._drive.stream.id_kinds import IdKinds
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.host_frame import FrameView
from dfmst._edges.take_rows import take_batch
from dfmst.errors import machine_fault, missing_columns
from dfmst.formats.columnar import (
    batch_rows,
    common_columns,
    open_buffered,
    parquet_files,
    parquet_footer,
    refuse_unreadable,
)
from dfmst.formats.files import existing_path, open_native, problem

_LONG = 4  # entries of a dictionary for each row, from which unused ones are left out
_LEAST = 1 << 10  # rows that every batch counts as more
_ROWS = 1 << 18  # rows that get another column at a time


def find_files(names: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """List the Parquet files that names stand for: files, directories, patterns such as ``part-*.parquet``."""
    files: list[Path] = []
    for name in names:
        if not glob.has_magic(os.fspath(name)) or os.path.exists(name):
            path = existing_path(name)
            files += parquet_files(path) if path.is_dir() else [path]
            continue
        matches = sorted(map(Path, glob.glob(str(name), recursive=True)))
        if not matches:
            raise problem(Path(name), "no file has such a name", hint="check the pattern, and the directory you are in")
        files += matches
    return files


class ParquetSource:
    """Files that are read as one table, in the order given.

    Names of directories below `folders` have values of columns. A dataset has these values in its `partitions`, by
    file, and their types in a schema.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        folders: Sequence[Path] = (),
        partitions: tuple[dict[Path, dict[str, object]], pa.Schema] | None = None,
    ) -> None:
        self.files: list[SourceFile] = []
        first = 0
        for path in paths:
            self.files.append(SourceFile.of_path(path, first))
            first += self.files[-1].rows
        sources = [(file.path, file.schema, file.rows) for file in self.files]
        self.columns, self.constants = common_columns(sources, folders)
        if partitions is not None:
            self.constants, schema = partitions
            absent = {name for each in self.constants.values() for name in each} - {*self.columns.schema.names}
            self.columns.append({name: schema.field(name).type for name in schema.names if name in absent})
        self._names = {path: {*schema.names, *self.constants[path]} for path, schema, rows in sources if rows}
        self.schema: pa.Schema = self.columns.schema

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(file.rows for file in self.files)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Path, size, time of change and footer of every file, and the types of columns that paths have."""
        state = {str(file.path.resolve()): [file.size, file.modified, file.footer] for file in self.files}
        return state | ({"schema": str(self.schema)} if any(self.constants.values()) else {})

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return [file.path for file in self.files]

    def require(self, arguments: Iterable[tuple[str, Any]]) -> None:
        """Raise if a column that an argument names is missing."""
        arguments = list(arguments)
        for path, known in self._names.items() or [(self.files[0].path, self.schema.names)]:
            missing = missing_columns(arguments, [each for each in self.schema.names if each in known], path)
            if missing is not None:
                raise missing

    def integers(self, names: Sequence[Any]) -> bool:
        """Whether columns hold integers."""
        return all(pa.types.is_integer(self.schema.field(name).type) for name in names)

    def vertices(self, names: tuple[Any, Any]) -> int | None:
        """Exclusive upper bound of two integer columns from the row groups' statistics."""
        if not self.integers(names):
            return None
        bound = 0
        for file in self.files:
            largest = file.largest_id(names)
            if largest is None:
                return None
            bound = max(bound, largest + 1)
        return bound

    def kinds_of(self, names: Sequence[Any]) -> IdKinds:
        """Return the types of id columns."""
        return IdKinds(dict.fromkeys(self.schema.field(name).type for name in names))

    def batches(self, names: Sequence[Any], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the named columns from row `start` on, at most `rows` at a time."""
        for file in self.files:
            if start >= file.first + file.rows:
                continue
            begins = np.cumsum([0, *file.groups])
            group = max(0, int(np.searchsorted(begins, start - file.first, side="right")) - 1)
            row = int(begins[group])
            skipped = max(0, start - file.first - row)
            for read in file.batches(range(group, len(file.groups)), names, rows):
                batch = self._fit(file, read, names)
                rest = batch.slice(min(skipped, batch.num_rows))
                at = row + batch.num_rows - rest.num_rows
                skipped -= batch.num_rows - rest.num_rows
                row += batch.num_rows
                if rest.num_rows:
                    yield Batch(FrameView(rest), file.first + at, str(file.path), at)

    def take(self, locators: Array | Locators, names: Sequence[Any], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of rows by their ascending numbers; only row groups that hold one are read."""
        locators = locators if isinstance(locators, Locators) else Locators(locators)
        for file in self.files:
            first = file.first
            for group, length in enumerate(file.groups):
                if locators.any_below(first + length):
                    taken = file.take(group, first, locators, names, rows)
                    yield from (self._fit(file, batch, names) for batch in taken)
                first += length

    def gather(self, locators: Locators) -> None:
        """Return ``None``: rows of files are read in pieces."""

    def with_column(self, name: str, values: Array, kept: Array | None, key: str, facts: dict[str, Any]) -> Any:
        """Return a reader of the rows with one more column, of integers, and facts about it under a key."""
        schema = self.schema.append(pa.field(name, pa.int64()))
        schema = schema.with_metadata({**(schema.metadata or {}), key: json.dumps(facts)})

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in self.batches(self.schema.names, _ROWS):
                frame = batch.frame.native
                own = slice(batch.first, batch.first + batch.rows)
                rows = pa.record_batch([*frame.columns, arrow_numbers(values[own].astype(np.int64))], schema=schema)
                yield rows if kept is None else rows.filter(pa.array(kept[own]))

        return pa.RecordBatchReader.from_batches(schema, batches())

    def _fit(self, file: SourceFile, batch: pa.RecordBatch, names: Sequence[Any]) -> pa.RecordBatch:
        """A batch in the types of all files."""
        return self.columns.fit(batch, file.path, names, self.constants[file.path])


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose dictionaries hold only values that occur, if they are far longer than its columns."""
    for at, column in enumerate(batch.columns):
        if pa.types.is_dictionary(column.type) and len(column.dictionary) > _LONG * (len(column) + _LEAST):
            used = column.indices.dictionary_encode()
            indices, values = used.indices.cast(column.type.index_type), column.dictionary.take(used.dictionary)
            short = pa.DictionaryArray.from_arrays(indices, values, ordered=column.type.ordered)
            batch = batch.set_column(at, batch.schema.field(at), short)
    return batch


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was when the run began; size, time and footer show a change."""

    path: Path
    size: int
    modified: int
    footer: str
    first: int  # number of its first row among all rows of the source
    groups: tuple[int, ...]  # rows of each row group
    schema: pa.Schema

    @classmethod
    def of_path(cls, path: Path, first: int) -> SourceFile:
        """Read a file's state and footer."""
        state, metadata = existing_path(path).stat(), parquet_footer(path)
        with path.open("rb") as stream:
            stream.seek(max(0, state.st_size - 8))
            length = int.from_bytes(stream.read(4), "little")
            stream.seek(max(0, state.st_size - 8 - length))
            footer = hashlib.sha256(stream.read(length)).hexdigest()
        rows = tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
        schema = metadata.schema.to_arrow_schema()
        return cls(path, state.st_size, state.st_mtime_ns, footer, first, rows, schema)

    @property
    def rows(self) -> int:
        """Number of rows."""
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

    def largest_id(self, names: tuple[Any, Any]) -> int | None:
        """Return the largest id by the footer; -1 without rows, ``None`` without statistics or with a negative id."""
        with self.open() as parquet:
            metadata = parquet.metadata
            refuse_unreadable(parquet, self.path, names)
        places = [place for place in range(metadata.num_columns) if metadata.schema.column(place).path in names]
        largest = -1
        for row_group in map(metadata.row_group, range(metadata.num_row_groups)):
            for place in places:
                statistics = row_group.column(place).statistics
                if not row_group.num_rows or (statistics and statistics.null_count == row_group.num_rows):
                    continue
                if not statistics or not statistics.has_min_max or statistics.min < 0:
                    return None
                largest = max(largest, int(statistics.max))
        return largest

    def batches(self, groups: Sequence[int], names: Sequence[Any], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of row groups, at most `rows` at a time; fewer if texts are long."""
        with self.open() as parquet:
            size = batch_rows(parquet.metadata, groups, rows, names)
            batches = parquet.iter_batches(
                batch_size=size, row_groups=list(groups), columns=list(names), use_threads=has_threads()
            )
            done = sum(self.groups[: groups[0]]) if len(groups) else 0
            try:
                for batch in batches:
                    done += batch.num_rows
                    yield batch
            except (pa.ArrowException, OSError) as error:
                if (fault := machine_fault(error)) is not None:
                    raise fault from error
                group = int(np.searchsorted(np.cumsum(self.groups), done, side="right"))
                reason = str(error).partition("\n")[0]
                message = f"row group {group} cannot be read ({reason})"
                raise problem(self.path, message, hint="fetch or write the file again") from error

    def take(
        self, group: int, first: int, locators: Locators, names: Sequence[Any], rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of some rows of a row group, whose first row has the number `first`."""
        for batch in self.batches(range(group, group + 1), names, rows):
            taken = locators.below(first + batch.num_rows)
            if len(taken):
                yield _compact(take_batch(batch, taken - np.uint64(first)))
            first += batch.num_rows
