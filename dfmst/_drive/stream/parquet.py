"""Parquet files as the source of a stream."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._common.machine import has_threads
from dfmst._common.types import Array, ColumnName, EndNames
from dfmst._drive.stream.batches import Batch, IdKinds, Locators, T
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.host_frame import FrameView
from dfmst._edges.take_rows import take_batch
from dfmst._edges.unify import CommonSchema, common_type, with_categories
from dfmst._edges.view import View
from dfmst.errors import FormatError, machine_fault, missing_columns
from dfmst.formats.columnar import (
    batch_rows,
    common_columns,
    natural_order,
    open_buffered,
    parquet_files,
    parquet_footer,
    refuse_unreadable,
)
from dfmst.formats.detect import format_of_file
from dfmst.formats.files import GraphFile, Roles, existing_path, no_answer, open_native, problem
from dfmst.formats.stores import Address, file_stamp, path_of

_LONG = 4  # entries of a dictionary for each row, from which unused ones are left out
_LEAST = 1 << 10  # rows that every batch counts as more
_TEXTS = 4 << 20  # bytes of dictionaries, from which they are read as texts
_AT_ONCE = 16  # objects of which footers are read
_ROWS = 1 << 18  # rows that get another column at a time


def find_files(names: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """List the Parquet files that names stand for: files, directories, patterns such as ``part-*.parquet``."""
    files: list[Path] = []
    for name in names:
        place = path_of(name)
        if not glob.has_magic(str(place)) or place.exists():
            path = existing_path(place)
            files += parquet_files(path) if path.is_dir() else [path]
            continue
        found = place.matches() if isinstance(place, Address) else glob.glob(str(name), recursive=True)
        matches = sorted(map(path_of, found), key=natural_order)
        if not matches:
            raise problem(place, "no file has such a name", hint="check the pattern, and the directory you are in")
        files += matches
    return files


class ParquetSource:
    """Files that are read as one table, in the order given."""

    def __init__(
        self, paths: Sequence[Path], folders: Sequence[Path] = (), given: tuple[pa.Schema, list[Any]] | None = None
    ) -> None:
        self.files: list[SourceFile] = []
        first = 0
        for file in _map(SourceFile.of_path, paths, paths):
            self.files.append(replace(file, first=first))
            first += file.rows
        sources = [(file.path, file.schema, file.rows) for file in self.files]
        self._types = ""  # those that a dataset gives
        if given is None:
            self.columns, self.constants = common_columns(sources, folders)
        else:
            self._types = given[0].to_string(show_schema_metadata=False)
            schemas = [(path, schema) for path, schema, _ in sources]
            self.columns = CommonSchema([("the dataset", with_categories(given[0], schemas))])
            self.constants = dict(zip(paths, given[1], strict=True))
        self._names = {path: {*schema.names, *self.constants[path]} for path, schema, rows in sources if rows}
        self.schema: pa.Schema = self.columns.schema
        self._read = self.columns  # types of batches

    @classmethod
    def of_dataset(cls, dataset: Any, paths: Sequence[Path]) -> Self | None:
        """Open the files of a dataset; ``None`` if it has only some of their rows, or casts values as no file does."""
        try:
            parts = list(dataset.get_fragments())
        except ValueError:  # it has a filter
            return None
        if len(parts) != len(paths):  # several of one file
            return None
        partition = import_module("pyarrow.dataset").get_partition_keys
        source = cls(paths, given=(dataset.schema, [partition(part.partition_expression) for part in parts]))
        kinds = dict(zip(dataset.schema.names, dataset.schema.types, strict=True))
        fields = {(field.type, kinds.get(field.name, field.type)) for file in source.files for field in file.schema}
        exact = all(own == kind or common_type(own, kind) == kind for own, kind in fields)
        groups = list(_map(attrgetter("num_row_groups"), parts, paths)) if exact else []
        return source if groups == [len(file.groups) for file in source.files] else None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(file.rows for file in self.files)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Path, size, time of change (or etag) and footer of every file, and types and values that a dataset adds."""
        return {
            str(file.path.resolve()): [*file.stamp, file.footer]
            + ([self._types, str(self.constants[file.path])] if self._types else [])
            for file in self.files
        }

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return [file.path for file in self.files]

    def require(self, arguments: Iterable[tuple[str, ColumnName]]) -> None:
        """Raise if a column that an argument names is missing."""
        arguments = list(arguments)
        for path, known in self._names.items() or [(self.files[0].path, self.schema.names)]:
            missing = missing_columns(arguments, [each for each in self.schema.names if each in known], path)
            if missing is not None:
                raise missing

    def integers(self, names: Sequence[ColumnName]) -> bool:
        """Whether columns hold integers."""
        return all(pa.types.is_integer(self.schema.field(name).type) for name in names)

    def vertices(self, names: EndNames) -> int | None:
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

    def dictionaries(self, names: Sequence[ColumnName]) -> int:
        """Return the bytes of the dictionaries that the reader has of columns, and read long ones as texts."""
        sizes = [file.dictionaries(names) for file in self.files]
        self.files = [
            replace(file, as_texts=file.as_texts or size > _TEXTS) for file, size in zip(self.files, sizes, strict=True)
        ]
        if any(file.as_texts for file in self.files):
            self._read = copy(self.columns)
            self._read.schema = pa.schema(map(_without_dictionary, self.schema))
        return max(sizes, default=0)

    def kinds_of(self, names: Sequence[ColumnName]) -> IdKinds:
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
                batch = self._read.fit(read, file.path, names, self.constants[file.path])
                rest = batch.slice(min(skipped, batch.num_rows))
                at = row + batch.num_rows - rest.num_rows
                skipped -= batch.num_rows - rest.num_rows
                row += batch.num_rows
                if rest.num_rows:
                    yield Batch(FrameView(rest), file.first + at, str(file.path), at)

    def take(self, locators: Array | Locators, names: Sequence[ColumnName], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of rows by their ascending numbers; only row groups that hold one are read."""
        locators = locators if isinstance(locators, Locators) else Locators(locators)
        for file in self.files:
            first = file.first
            for group, length in enumerate(file.groups):
                if locators.any_below(first + length):
                    taken = file.take(group, first, locators, names, rows)
                    yield from (self.columns.fit(batch, file.path, names, self.constants[file.path]) for batch in taken)
                first += length

    def gather(self, locators: Locators, check: Callable[[View], None]) -> None:
        """Return ``None``: rows of files are read in pieces."""

    def with_column(self, name: str, values: Array, kept: Array | None, key: str, facts: dict[str, object]) -> Any:
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


def _without_dictionary(field: pa.Field) -> pa.Field:
    return field.with_type(field.type.value_type) if _is_encoded(field) else field


def _is_encoded(field: pa.Field) -> bool:
    return bool(pa.types.is_dictionary(field.type))


def _map(read: Callable[[Any], T], items: Sequence[Any], paths: Sequence[Path]) -> Iterator[T]:
    """Read footers of files; those of several objects at the same time, as each waits for its store."""
    if len(paths) == 1 or not isinstance(paths[0], Address):
        yield from map(read, items)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(read, items)


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
    """A file as it was when the run began; its stamp and its footer show a change."""

    path: Path
    stamp: tuple[Any, ...]
    footer: str  # nothing for an object, whose stamp has a version
    groups: tuple[int, ...]  # rows of each row group
    schema: pa.Schema
    first: int = 0  # number of its first row among all rows of the source
    as_texts: bool = False  # whether dictionaries of texts are read as texts

    @classmethod
    def of_path(cls, path: Path) -> SourceFile:
        """Read a file's state and footer."""
        stamp, footer = file_stamp(existing_path(path)), ""
        try:
            metadata = parquet_footer(path)
        except FormatError:
            # Raises if the format has a fix of its own; which separator text has does not matter.
            format_of_file(GraphFile(path, roles=Roles(separator=",")))
            raise
        if not isinstance(path, Address):
            with path.open("rb") as stream:
                stream.seek(max(0, stamp[0] - 8))
                length = int.from_bytes(stream.read(4), "little")
                stream.seek(max(0, stamp[0] - 8 - length))
                footer = hashlib.sha256(stream.read(length)).hexdigest()
        rows = tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
        return cls(path, stamp, footer, rows, metadata.schema.to_arrow_schema())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.groups)

    @contextmanager
    def open(self, columns: int = 0) -> Iterator[pyarrow.parquet.ParquetFile]:
        """Open it, to read a number of columns."""
        try:
            self._check_unchanged()
            far = columns if isinstance(self.path, Address) else 0
            with open_native(self.path) as file, open_buffered(file, far, as_texts=self.as_texts) as parquet:
                yield parquet
            self._check_unchanged()
        except FileNotFoundError as error:
            message = "the file has vanished since the run began"
            raise problem(self.path, message, hint="put it back and run again") from error

    def _check_unchanged(self) -> None:
        if file_stamp(self.path) != self.stamp:
            raise problem(self.path, "the file has changed since the run began", hint="start the run again")

    def dictionaries(self, names: Sequence[ColumnName]) -> int:
        """Return the bytes of the dictionaries of texts that a row group has of columns, by the footer."""
        encoded = [name for name in names if name in self.schema.names and _is_encoded(self.schema.field(name))]
        if not encoded:
            return 0
        with replace(self, as_texts=True).open() as parquet:
            refuse_unreadable(parquet, self.path, encoded)
            return _dictionary_bytes(parquet.metadata, encoded)

    def largest_id(self, names: EndNames) -> int | None:
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
        with self.open(len(names)) as parquet:
            size = batch_rows(parquet.metadata, groups, rows, names)
            batches = parquet.iter_batches(
                batch_size=size, row_groups=list(groups), columns=list(names), use_threads=has_threads()
            )
            done = sum(self.groups[: groups[0]]) if len(groups) else 0
            try:
                for batch in batches:
                    done += batch.num_rows
                    yield self._typed(batch) if self.as_texts else batch
            except (pa.ArrowException, OSError) as error:
                if (fault := machine_fault(error)) is not None:
                    raise fault from error
                if (lost := no_answer(self.path, error)) is not None:
                    raise lost from None
                group = int(np.searchsorted(np.cumsum(self.groups), done, side="right"))
                reason = str(error).partition("\n")[0]
                message = f"row group {group} cannot be read ({reason})"
                raise problem(self.path, message, hint="fetch or write the file again") from error

    def _typed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with the file's types; dictionaries remain texts."""
        fields = [self.schema.field(field.name) for field in batch.schema]
        kinds = [own if _is_encoded(field) else field for own, field in zip(batch.schema, fields, strict=True)]
        return batch.cast(pa.schema(kinds))

    def take(
        self, group: int, first: int, locators: Locators, names: Sequence[ColumnName], rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of some rows of a row group, whose first row has the number `first`."""
        for batch in self.batches(range(group, group + 1), names, rows):
            taken = locators.below(first + batch.num_rows)
            if len(taken):
                yield _compact(take_batch(batch, taken - np.uint64(first)))
            first += batch.num_rows


def _dictionary_bytes(metadata: Any, names: Collection[ColumnName]) -> int:
    """Return the bytes of the dictionaries of texts of these columns in the row group that has most."""
    places = [place for place in range(metadata.num_columns) if metadata.schema.column(place).path in names]
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    sizes: list[int] = [sum(_dictionary(group.column(place)) for place in places) for group in groups if group.num_rows]
    return max(sizes, default=0)


def _dictionary(column: Any) -> int:
    if not column.has_dictionary_page or column.physical_type != "BYTE_ARRAY":
        return 0
    numbers = int(column.total_compressed_size - (column.data_page_offset - column.dictionary_page_offset))
    return max(0, int(column.total_uncompressed_size) - max(0, numbers))
