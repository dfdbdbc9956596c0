"""Sources of edges: Parquet files, a dataset, or a sequence of frames."""

from __future__ import annotations

import glob
import json
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from importlib import import_module
from itertools import tee
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self

import numpy as np
import pyarrow as pa

from dfmst._common.options import with_options
from dfmst._common.types import Array, ColumnName, EndNames
from dfmst._drive.parts import Batch, IdKinds, Locators, SourceFile, is_encoded
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.device_frame import open_device_frame
from dfmst._edges.frame_rows import stack_frames
from dfmst._edges.frames import as_table, open_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.unify import CommonSchema, common_type, with_categories
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._fold.budget import FIXED, parse_memory
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError, missing_columns
from dfmst.formats.columnar import Ahead, common_columns, named_files, natural_order, reading_ahead
from dfmst.formats.files import at_once, paths_of_dataset, problem
from dfmst.formats.read import bytes_to_solve
from dfmst.formats.stores import Access, Address, path_of

_TEXTS = 4 << 20  # bytes of dictionaries, from which they are read as texts
_KEPT = 32 << 20  # bytes of footers and of short objects that are kept
_ROWS = 1 << 18  # rows that get another column at a time
_SHORT = 1 << 14  # rows of a batch that is joined with those of the next files: each batch takes a millisecond
_JOINED = 4 << 20  # bytes of batches that are joined


def find_files(names: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """List the Parquet files that names stand for: files, directories, patterns such as ``part-*.parquet``."""
    files: list[Path] = []
    places = list(map(path_of, names))
    far = [place for place in places if isinstance(place, Address) and place.suffix]
    plain = [place for place in far if not glob.has_magic(str(place))]
    list(at_once(Address.is_file, plain, plain))  # the store is asked once
    for name, place in zip(names, places, strict=True):
        if not glob.has_magic(str(place)) or place.exists():
            files += named_files(place)
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
        #: Number of rows.
        self.rows, kept = 0, 0
        for file in at_once(SourceFile.of_path, paths, paths):
            file.first = self.rows
            self.files.append(file)
            self.rows += file.rows
            kept += len(file.tail)
            if kept > _KEPT:
                file.tail, file.keeps = b"", False
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
        for file in self.files:
            file.common, file.constants = self.columns, self.constants[file.path]
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
        groups = list(at_once(attrgetter("num_row_groups"), parts, paths)) if exact else []
        return source if groups == [len(file.lengths) for file in source.files] else None

    def part(self, begin: int, end: int) -> Self:
        """Return a range of the files, whose rows keep their numbers and their types."""
        part = copy(self)
        part.files = self.files[begin:end]
        part.rows = sum(file.rows for file in part.files)
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
            kinds = {field.name: field.type for field in self.schema if field.name in known}
            missing = missing_columns(arguments, kinds, path, kinds)
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
        for file, size in zip(self.files, sizes, strict=True):
            file.as_texts = file.as_texts or size > _TEXTS
        if any(file.as_texts for file in self.files):
            self._read = copy(self.columns)
            self._read.schema = pa.schema(map(_without_dictionary, self.schema))
        return max(sizes, default=0)

    def kinds_of(self, names: Sequence[ColumnName]) -> IdKinds:
        """Return the types of id columns."""
        return IdKinds(dict.fromkeys(self.schema.field(name).type for name in names))

    def batches(self, names: Sequence[Any], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the named columns from row `start` on, at most `rows` at a time."""
        batches = self._batches(names, rows, start)
        return batches if len(self.files) == 1 else _joined(batches, rows)

    def _batches(self, names: Sequence[Any], rows: int, start: int) -> Iterator[Batch]:
        """Yield the named columns of each file."""
        wanted = [
            (file, *file.groups_from(start - file.first)) for file in self.files if start < file.first + file.rows
        ]
        with self._ahead(((file, groups) for file, groups, _ in wanted), names) as ahead:
            for file, groups, row in wanted:
                skipped = max(0, start - file.first - row)
                for read in file.batches(groups, names, rows, ahead):
                    batch = self._read.fit(read, file.path, names, file.constants)
                    rest = batch.slice(min(skipped, batch.num_rows))
                    at = row + batch.num_rows - rest.num_rows
                    skipped -= batch.num_rows - rest.num_rows
                    row += batch.num_rows
                    if rest.num_rows:
                        yield Batch(FrameView(rest), file.first + at, str(file.path), at)

    def take(self, locators: Array | Locators, names: Sequence[ColumnName], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of rows by their ascending numbers; only row groups that hold one are read."""
        locators = locators if isinstance(locators, Locators) else Locators(locators)
        again = locators.again()
        chosen = ((file, list(file.groups_of(again))) for file in self.files)
        wanted, ahead_of = tee((file, groups) for file, groups in chosen if groups)
        with self._ahead(ahead_of, names) as ahead:
            for file, groups in wanted:
                yield from file.take(locators, names, rows, groups, ahead)

    def _ahead(
        self, wanted: Iterable[tuple[SourceFile, Sequence[int]]], names: Sequence[ColumnName]
    ) -> AbstractContextManager[Ahead | None]:
        """Context manager: fetch row groups ahead that objects of stores have."""
        if not any(isinstance(path, Address) for path in self.paths):
            return nullcontext()
        list(at_once(SourceFile.is_far, self.files, self.paths))  # a worker has not looked at them
        return reading_ahead((one for one in wanted if one[0].is_far()), names)

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
    return field.with_type(field.type.value_type) if is_encoded(field) else field


def _joined(batches: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """Join short batches, which follow each other, to some of at most `rows` rows."""
    short: list[Batch] = []
    left = space = 0
    for batch in batches:
        size = batch.frame.native.nbytes
        if batch.rows > min(left, _SHORT) or size > space:
            yield from _join(short)
            short, left, space = [], rows, _JOINED
        short.append(batch)
        left, space = left - batch.rows, space - size
    yield from _join(short)


def _join(batches: list[Batch]) -> Sequence[Batch]:
    """Return the batches as one, or as they are if Arrow cannot join their types."""
    if len(batches) < 2:
        return batches
    try:
        (whole,) = pa.Table.from_batches([batch.frame.native for batch in batches]).combine_chunks().to_batches()
    except (pa.ArrowException, ValueError):
        return batches
    first = batches[0]
    others = tuple((batch.first - first.first, batch.place, batch.row) for batch in batches[1:])
    return [first._replace(frame=FrameView(whole), others=others)]


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


def open_parquet_source(edges: object, opened_by: Access | None = None) -> ParquetSource:
    """Open Parquet files."""
    source = _files(edges, opened_by)
    if source is None:
        message = f"edges is a {type(edges).__name__}, and only Parquet files describe themselves before they are read"
        raise UnsupportedFrameError(message, "pass Parquet files, a directory, or a pyarrow.dataset of them")
    return source


@with_options()
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
        open_parquet_source(edges)  # raises: only files say how large they are
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
