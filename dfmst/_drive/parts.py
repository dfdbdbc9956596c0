"""Batches: rows of a source as another thread reads them, the types of their ids, and numbers of rows.

Parquet files as the source of a stream.

Sources of edges: Parquet files, a dataset, or a sequence of frames.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain
from operator import attrgetter
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, NamedTuple, NoReturn, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._common.deferred import nw, pc
from dfmst._common.machine import has_threads
from dfmst._common.types import Array, ColumnName, EndNames
from dfmst._edges.arrow_values import arrow_column, arrow_numbers, plain_ids, plain_views
from dfmst._edges.device_frame import open_device_frame
from dfmst._edges.frame_rows import stack_frames, take_batch
from dfmst._edges.frames import as_table, open_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.unify import CommonSchema, common_type, native_type, with_categories
from dfmst._edges.view import View
from dfmst._engines import Engine, current_place
from dfmst._fold.budget import FIXED, parse_memory
from dfmst._fold.rows import Rows, Run
from dfmst.errors import FormatError, InvalidEdgesError, UnsupportedFrameError, machine_fault, missing_columns
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
from dfmst.formats.files import GraphFile, Roles, existing_path, no_answer, open_native, paths_of_dataset, problem
from dfmst.formats.read import bytes_to_solve
from dfmst.formats.stores import Access, Address, file_stamp, path_of

T = TypeVar("T")


class Batch(NamedTuple):
    """Consecutive rows of a source."""

    frame: View
    first: int  # number of the first row in the source
    place: str  # the file or frame that errors name
    row: int  # number of the first row in that file or frame

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def column(self, name: ColumnName) -> Any:
        """Return a column by its name."""
        return self.frame.column(name)

    def part(self, begin: int, end: int) -> Batch:
        """Return a span of the rows."""
        return Batch(self.frame.part(begin, end), self.first + begin, self.place, self.row + begin)

    def on_host(self, names: Sequence[ColumnName]) -> Batch:
        """Return these columns on the host."""
        if not self.frame.on_device:
            return self
        columns = {name: self.frame.column(name) for name in names}
        return self._replace(
            frame=FrameView(pa.table([column.to_arrow() for column in columns.values()], names=list(columns)))
        )

    def readable_on_device(self, ids: Sequence[object], weight: ColumnName) -> bool:
        """Whether kernels of a GPU read the rows: they are in its memory, ids are integers, weights no decimals."""
        if not self.frame.on_device:
            return False
        kinds = [getattr(self.frame.column(name).dtype, "kind", "") for name in ids]
        plain = weight is None or getattr(self.frame.column(weight).dtype, "kind", "O") in "biufmM"
        return plain and set(kinds) <= {"i", "u"}

    @contextmanager
    def located_errors(self) -> Iterator[None]:
        """Context manager: let errors of these rows name the rows of their file or frame."""
        try:
            yield
        except InvalidEdgesError as error:
            raise error.at(self.place, self.row) from error

    def parts(self, rows: int) -> Iterator[Batch]:
        """Yield all rows, `rows` at a time."""
        for begin in range(0, self.rows, rows):
            yield self.part(begin, min(begin + rows, self.rows))


_PIECE = 1 << 18


class Locators:
    """Ascending numbers of rows; each is taken once."""

    def __init__(self, rows: Array | Rows | Run) -> None:
        self._rows = rows
        self._piece = np.zeros(0, np.uint64)
        self._read = 0
        #: How many were taken.
        self.taken = 0

    def __len__(self) -> int:
        return len(self._rows)

    def any_below(self, end: int) -> bool:
        """Whether the next one is below `end`."""
        if not len(self._piece) and self._read < len(self._rows):
            begin, self._read = self._read, min(self._read + _PIECE, len(self._rows))
            if isinstance(self._rows, np.ndarray):
                self._piece = self._rows[begin : self._read]
            else:
                self._piece = self._rows.part(begin, self._read).arrays[3]
        return bool(len(self._piece) and self._piece[0] < end)

    def below(self, end: int) -> Array:
        """Take those below `end`."""
        pieces = []
        while self.any_below(end):
            count = int(np.searchsorted(self._piece, np.uint64(end)))
            pieces.append(self._piece[:count])
            self._piece = self._piece[count:]
            self.taken += count
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.uint64), *pieces])


_END: Any = object()


def prefetch(items: Iterator[T], places: int) -> Iterator[T]:
    """Yield the items; a thread, with this thread's GPU and CUDA stream, makes up to `places` more ahead."""
    place = current_place()
    made: SimpleQueue[tuple[T, BaseException | None]] = SimpleQueue()
    free, stopped = Semaphore(places - 1), Event()

    def make() -> None:
        try:
            with place():
                for item in chain(items, [_END]):
                    made.put((item, None))
                    free.acquire()
                    if stopped.is_set():
                        return
        except BaseException as error:  # raised in the thread that uses the items
            made.put((_END, error))

    thread = Thread(target=make, name="dfmst-reader", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread is to be had
        yield from items
        return
    try:
        while True:
            item, error = made.get()
            if error is not None:
                try:
                    raise error
                finally:
                    del error  # else the error would hold itself, by its traceback, and all that was worked on
            if item is _END:
                return
            free.release()
            yield item
    finally:
        stopped.set()
        free.release()
        thread.join()


_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}  # in the words of all libraries


@dataclass
class IdKinds:
    """Types of id columns, in the order in which they came, and a frame without rows of the user's kind."""

    types: dict[Any, None] = field(default_factory=dict)  # of the frames' library
    view: View | None = None  # None: the source is files

    def note(self, view: View, names: Sequence[ColumnName]) -> None:
        """Note the types of another frame."""
        if self.view is None:
            self.view = view.part(0, 0)
        for name in names:
            self.types[native_type(view.series(name))] = None

    def arrow(self, encoded: pa.DataType | None) -> pa.DataType:
        """Return the Arrow type of ids in a result; `encoded` is that of a dictionary."""
        kinds = [kind for kind in self.types if isinstance(kind, pa.DataType) and not pa.types.is_null(kind)]
        if len(kinds) == 1:
            kind = kinds[0]
            if pa.types.is_dictionary(kind) and kind.index_type.bit_width < 32:  # a piece may have more than 127 ids
                return pa.dictionary(pa.int32(), kind.value_type)
            return kind
        names = {str(kind).lower().removesuffix("[pyarrow]") for kind in self.types} & _INTEGERS
        if names and (encoded is None or pa.types.is_integer(encoded)):  # a frame without rows may have another type
            unsigned = "uint64" in names and encoded != pa.int64()  # ids below 0 are signed in the dictionary, too
            return getattr(pa, names.pop() if len(names) == 1 else "uint64" if unsigned else "int64")()
        return pa.uint32() if encoded is None else encoded

    def cast(self, ids: pa.Array, kind: pa.DataType) -> pa.Array:
        """Cast ids to the type of their columns."""
        if pa.types.is_dictionary(kind):
            return ids.cast(kind.value_type).dictionary_encode().cast(kind)
        if pa.types.is_run_end_encoded(kind):
            return pc.run_end_encode(ids.cast(kind.value_type), kind.run_end_type)
        if isinstance(kind, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(kind, ids.cast(kind.storage_type))
        return ids.cast(kind)

    def plain_type(self, name: ColumnName) -> pa.DataType:
        """Return the Arrow type of a column without an encoding; null if the frames' library does not say it."""
        if self.view is None:
            (kind,) = self.types
            return plain_views().get(kind, kind)
        # Arrow takes no rows of views and of runs.
        return plain_ids(arrow_column(name, self.view.column(name))).type

    def frame(self, table: pa.Table, named: Mapping[object, pa.DataType]) -> Any:
        """Return a table of ids as the user's kind of frame; `named` are columns of groups that come first, and ids."""
        view = self.view
        if view is None:
            return table
        if named:
            return table if view.on_device else self._in_groups(view, table, named)
        kind: Any = next(iter(self.types)) if len(self.types) == 1 else None
        if hasattr(kind, "pyarrow_dtype"):  # pandas itself does not cast to all of its Arrow types
            cast = pa.table({name: self.cast(table[name], kind.pyarrow_dtype) for name in table.column_names})
            return view.finish(nw.from_native(cast.to_pandas(types_mapper=type(kind)), eager_only=True))
        native = view.plain().build_arrow(dict(zip(table.column_names, table, strict=True)))
        if view.on_device:
            kinds = {name: native[name].dtype if kind is None else kind for name in table.column_names}
            return view.build({name: native[name].astype(each) for name, each in kinds.items()})
        if kind is not None and view.library == "pandas":
            native = native.astype(kind)
        elif kind is not None and view.library == "polars":
            native = native.cast(kind)
        return view.finish(nw.from_native(native, eager_only=True))

    def _in_groups(self, view: View, table: pa.Table, named: Mapping[object, pa.DataType]) -> Any:
        """Return a table of groups, then ids, in the types of their columns."""
        native = view.build_arrow({name: table.column(name) for name in table.column_names})
        frame = nw.from_native(native, eager_only=True)
        *names, source = named
        untyped = {name for name in named if pa.types.is_null(self.plain_type(name))}
        wanted = {str(name): name for name in names} | dict.fromkeys(frame.columns[len(names) :], source)
        casts = [
            nw.col(column).cast(view.frame.schema[name])
            for column, name in wanted.items()
            if name not in untyped
            and view.frame.schema[name] not in (nw.Object, nw.Unknown, frame.schema[column])
            and (view.frame.schema[name] != nw.Categorical or frame.schema[column] == nw.String)
        ]
        return nw.to_native(frame.with_columns(*casts))


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

    def part(self, begin: int, end: int) -> Self:
        """Return a range of the files, whose rows keep their numbers and their types."""
        part = copy(self)
        part.files = self.files[begin:end]
        part.constants = {file.path: self.constants[file.path] for file in part.files}
        part._names = {}
        return part

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


def open_source(
    engine: Engine, edges: object, *, once: bool = False, argument: str = "edges", opened_by: Access | None = None
) -> EdgeSource:
    """Open Parquet files, a dataset, or frames; an iterator of frames only if they are read `once`."""
    files = _files(edges, opened_by)
    if files is not None:
        return files
    if hasattr(edges, "to_batches") and hasattr(edges, "scanner"):
        return FrameSource(engine, lambda: _tables(edges), argument)
    if hasattr(edges, "columns") and not callable(edges):
        return FrameSource(engine, [edges], argument)
    if callable(edges) or hasattr(edges, "__iter__"):
        return FrameSource(engine, edges, argument, once=once)
    hint = as_table(edges, argument, "pass Parquet files, a directory, a pyarrow.dataset, or a list of frames")
    raise UnsupportedFrameError(f"{argument} is a {type(edges).__name__}", hint)


def on_device(edges: object) -> bool:
    """Whether `edges` is a frame on a GPU, or a list that begins with one."""
    first = edges[0] if isinstance(edges, (list, tuple)) and edges else edges
    return open_device_frame(first) is not None


def open_parquet(edges: object, opened_by: Access | None = None) -> ParquetSource:
    """Open Parquet files."""
    source = _files(edges, opened_by)
    if source is None:
        message = f"edges is a {type(edges).__name__}, and only Parquet files describe themselves before they are read"
        raise UnsupportedFrameError(message, "pass Parquet files, a directory, or a pyarrow.dataset of them")
    return source


def fits(
    edges: object,
    memory_limit: int | str = "2GiB",
    *,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
) -> bool:
    """Say whether files, all columns, can be read and solved in memory within a limit.

    Parameters
    ----------
    edges
        A path, a directory, a pattern, several of these, or a ``pyarrow.dataset`` of files. The footers of Parquet say
        how many rows they hold; of other formats the size is an estimate.
    memory_limit
        Bytes, a text such as ``"2GiB"``, or ``"auto"``: a quarter of the memory that is free.
    storage_options, filesystem
        As for :func:`dfmst.stream.minimum_spanning_forest`.

    Raises
    ------
    FormatError, InvalidEdgesError, UnsupportedFrameError
        As for :func:`dfmst.stream.minimum_spanning_forest`; frames do not say how large they are.
    ValueError
        `memory_limit` is not a number of bytes.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> import dfmst
    >>> pa.parquet.write_table(pa.table({"source": [0], "target": [1], "weight": [2]}), "edges.parquet")
    >>> dfmst.stream.fits("edges.parquet", "2GiB"), dfmst.stream.fits("edges.parquet", "2MiB")
    (True, False)
    """
    names = input_names(edges, Access(storage_options, filesystem))
    if not names:
        open_parquet(edges)  # raises: only files say how large they are
    return FIXED + bytes_to_solve(find_files(names)) <= parse_memory(memory_limit)


class EdgeSource(Protocol):
    """Edges that can be read twice, in the same order. Nothing is known of frames before they are read."""

    @property
    def rows(self) -> int | None:
        """Number of rows; ``None``: unknown."""
        return None

    @property
    def schema(self) -> pa.Schema | None:
        """Columns of files, whose rows are read in pieces; ``None``: frames."""
        return None

    @property
    def paths(self) -> Sequence[Path]:
        """The files that are read."""
        return ()

    @property
    def fingerprint(self) -> dict[str, Any]:
        """State of the files, by which a checkpoint knows them."""
        message = "a checkpoint needs Parquet files: frames have no state that identifies them"
        raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")

    def require(self, arguments: Iterable[tuple[str, ColumnName]]) -> None:
        """Raise if a column that an argument names is missing; columns of frames are looked up frame by frame."""
        return

    def integers(self, names: Sequence[ColumnName]) -> bool:
        """Whether columns may hold integers: until other ids come."""
        return True

    def vertices(self, names: EndNames) -> int | None:
        """Exclusive upper bound of two columns of integers; ``None``: unknown."""
        return None

    def dictionaries(self, names: Sequence[ColumnName]) -> int:
        """Return the bytes of the dictionaries that the reader has of columns; those of frames are their owner's."""
        return 0

    @abstractmethod
    def kinds_of(self, names: Sequence[ColumnName]) -> IdKinds:
        """Return the types of the id columns of the rows that were read."""

    @abstractmethod
    def batches(self, names: Sequence[ColumnName], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the named columns from row `start` on, at most `rows` at a time."""

    @abstractmethod
    def take(self, locators: Locators, names: Sequence[ColumnName], rows: int) -> Iterator[Any]:
        """Yield the named columns, or more, of rows by their ascending numbers."""

    @abstractmethod
    def gather(self, locators: Locators, check: Callable[[View], None]) -> Any:
        """Return these rows as one frame of the user's kind; ``None``: they are read in pieces.

        The rows of each frame that has some are checked, in the types of that frame.
        """

    @abstractmethod
    def with_column(self, name: str, values: Array, kept: Array | None, key: str, facts: dict[str, object]) -> Any:
        """Return the rows, or the `kept` ones, with one more column, of integers, and facts about it under a key."""


class FrameSource(EdgeSource):
    """An iterable of frames that gives the same frames each time."""

    def __init__(
        self, engine: Engine, frames: Iterable[Any] | Callable[[], Iterable[Any]], argument: str, *, once: bool = False
    ) -> None:
        if not once and not callable(frames) and iter(frames) is frames:
            message = f"{argument} is an iterator, which can be read only once; rows of the result need a second pass"
            hint = "pass a list, or a function that returns a new iterator each time: lambda: read_frames()"
            raise UnsupportedFrameError(message, hint)
        self._engine, self.argument = engine, argument
        #: Types of the id columns of the frames that were read.
        self.kinds = IdKinds()
        self._frames: Callable[[], Iterable[Any]] = frames if callable(frames) else lambda: frames
        self._place = getattr(frames, "place", None)  # the files that a function reads

    def called(self, number: int) -> str:
        """Return how errors name a frame."""
        return f"frame {number} of {self.argument}"

    def batches(self, names: Sequence[ColumnName], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the frames from row `start` on, each cut into pieces."""
        for number, first, view in self.views():
            self.kinds.note(view, names[:2])
            skipped = min(max(0, start - first), len(view))
            whole = Batch(view, first, self._place or self.called(number), first if self._place else 0)
            yield from whole.part(skipped, len(view)).parts(rows)

    def take(self, locators: Locators, names: Sequence[ColumnName], rows: int) -> Iterator[Any]:
        """Yield the rows of each frame that holds some of these, all columns, as the user's kind of frame."""
        for _, view in self._take(locators):
            yield view.finish(view.frame)

    def gather(self, locators: Locators, check: Callable[[View], None]) -> Any:
        """Return these rows as one frame of the user's kind."""
        named = [(self.called(number), view) for number, view in self._take(locators)]
        for _, view in named:
            check(view)
        return named[0][1].finish(stack_frames(named)) if named else self._raise_empty()

    def with_column(self, name: str, values: Array, kept: Array | None, key: str, facts: dict[str, object]) -> Any:
        """Return the rows as one frame with one more column, of integers, and facts about it under a key."""
        named, total = [], 0
        for number, first, view in self.views():
            total = first + len(view)
            rows = None if kept is None else np.flatnonzero(kept[first : first + len(view)])
            named.append((self.called(number), view if rows is None else view.rows(self._engine, rows)))
        if not named:
            self._raise_empty()
        if total != len(values):
            raise other_rows(self, "fewer" if total < len(values) else "more")
        whole = named[0][1].of(stack_frames(named))
        values = values if kept is None else values[kept]
        return whole.with_column(name, values.astype(np.int64), key, facts)

    def _take(self, locators: Locators) -> Iterator[tuple[int, View]]:
        """The rows, and the numbers of their frames."""
        view = None
        for number, first, view in self.views():
            end = first + len(view)
            if locators.any_below(end):
                yield number, view.rows(self._engine, (locators.below(end) - np.uint64(first)).astype(np.int64))
        if locators.taken != len(locators):
            raise other_rows(self, "fewer")
        if view is not None and not locators.taken:
            yield 0, view.rows(self._engine, np.zeros(0, np.int64))

    def views(self) -> Iterator[tuple[int, int, View]]:
        """Yield the frames, each with its number and the number of its first row."""
        first = 0
        for number, frame in enumerate(self._frames()):
            view = open_frame(frame, self.called(number))
            if view.on_device and self._engine.on_host:
                message = f"{self.called(number)} is on a GPU, and this stream runs on the host"
                raise UnsupportedFrameError(message, "pass engine='cuda', or copy the frames to the host")
            yield number, first, view
            first += len(view)

    def kinds_of(self, names: Sequence[ColumnName]) -> IdKinds:
        """Return the types of the id columns of the rows that were read."""
        return self.kinds if self.kinds.view is not None else self._raise_empty()

    def _raise_empty(self) -> NoReturn:
        hint = "pass at least one, which may be empty; make a new iterator for each call"
        raise InvalidEdgesError(f"{self.argument} holds no frame", hint)


def other_rows(source: EdgeSource, which: str) -> InvalidEdgesError:
    message = f"the second pass over {getattr(source, 'argument', 'edges')} gave {which} rows than the first"
    return InvalidEdgesError(message, "pass a list, or a function that returns the same frames each time")


def input_names(edges: object, opened_by: Access | None = None) -> list[Path]:
    """Return the files, directories and patterns that were given as edges; frames have none."""
    names: Any = [edges] if isinstance(edges, (str, os.PathLike)) else edges
    paths = isinstance(names, (list, tuple)) and all(isinstance(name, (str, os.PathLike)) for name in names)
    return list(map((opened_by or Access()).path, names)) if paths else paths_of_dataset(edges)


def _files(edges: Any, opened_by: Access | None) -> ParquetSource | None:
    """Open Parquet files; ``None`` if `edges` are something else."""
    names = input_names(edges, opened_by)
    if not names or not hasattr(edges, "scanner"):
        return ParquetSource(find_files(names), names) if names else None
    return ParquetSource.of_dataset(edges, names) if edges.format.default_extname == "parquet" else None


def _schemas(dataset: Any) -> Iterator[tuple[object, pa.Schema]]:
    """Yield the schemas of a dataset's files; a dataset with a filter hides them, and its categories are dropped."""
    try:
        parts = list(dataset.get_fragments())
    except ValueError:
        yield dataset, pa.schema([field.remove_metadata() for field in dataset.schema])
    else:
        yield from ((part, part.physical_schema) for part in parts)


def _tables(dataset: Any) -> Iterator[pa.Table]:
    schema = with_categories(dataset.schema, _schemas(dataset))
    for batch in dataset.scanner(batch_readahead=1, fragment_readahead=1).to_batches():
        yield pa.Table.from_arrays(batch.columns, schema=schema)
