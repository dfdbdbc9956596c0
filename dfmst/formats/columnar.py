"""Files of columns: Parquet, also directories of it, with its footers; Arrow IPC, as files (Feather) and as streams."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from dfmst._common.machine import has_threads
from dfmst._common.types import ColumnName
from dfmst._edges.unify import CommonSchema
from dfmst.errors import ClusterError, DfmstError, FormatError, machine_fault, missing_columns
from dfmst.formats.files import (
    ROWS_IN_A_BATCH,
    Fetcher,
    GraphFile,
    at_once,
    existing_path,
    fetching,
    is_parquet,
    no_answer,
    open_native,
    problem,
    refusing_damage,
)
from dfmst.formats.stores import Address, RangeFile, file_stamp, path_of

SUFFIXES = (".parquet", ".parq", ".pq")
_KIND, _HINT = "a Parquet file", "fetch or write the file again"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile("[+-]?[0-9]{1,10}")
_DIGITS = re.compile(r"(\d+)")


def open_parquet(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a Parquet file, or all Parquet files under a directory."""
    if not file.path.is_dir():
        return pa.RecordBatchReader.from_batches(_source(file)[1], (batch for _, batch in _rows_of([file])))
    paths = parquet_files(file.path)
    files = [GraphFile(path, file.block_bytes) for path in paths]
    sources = list(at_once(_source, files, paths))
    for path, schema, rows in sources:  # in a file without a named column all its values would be null
        known = [*schema.names, *path_values(path, [file.path])]
        if rows and (missing := missing_columns(file.roles.arguments, known, path)) is not None:
            raise missing
    common, constants = common_columns(sources, [file.path])
    batches = (
        common.fit(batch, path, constants=constants[path]).replace_schema_metadata() for path, batch in _rows_of(files)
    )
    # The metadata of one file may not fit the others.
    return pa.RecordBatchReader.from_batches(common.schema.remove_metadata(), batches)


def common_columns(
    files: Sequence[tuple[Path, pa.Schema, int]], folders: Sequence[Path]
) -> tuple[CommonSchema, dict[Path, dict[str, object]]]:
    """Return the common columns of files (path, schema, rows), and the values in each path, such as ``kind=a/``.

    A column that files have, too, keeps their type; its values must be those of the paths.
    """
    common = CommonSchema([(path, schema) for path, schema, rows in files if rows] or [each[:2] for each in files])
    values = {path: path_values(path, folders) for path, *_ in files}
    kinds: dict[str, pa.DataType] = {}
    for name in dict.fromkeys(name for each in values.values() for name in each):
        if name not in common.schema.names:
            found = [value for each in values.values() if (value := each.get(name)) is not None]
            integers = all(_INTEGER.fullmatch(value) and -(1 << 31) <= int(value) < 1 << 31 for value in found)
            integers = integers and len({*map(int, found)}) == len({*found})  # 1 and 01 are two folders
            kinds[name] = pa.int32() if integers and found else pa.string()
    common.append(kinds)
    typed: dict[Path, dict[str, object]] = {
        path: {
            name: int(value) if value is not None and kinds.get(name) == pa.int32() else value
            for name, value in each.items()
        }
        for path, each in values.items()
    }
    return common, typed


def path_values(path: str | os.PathLike[str], folders: Sequence[Path] | None = None) -> dict[str, str | None]:
    """Return the columns that directories of a path, below one of `folders`, stand for, such as ``kind=a/``."""
    place = path_of(path)
    if folders is not None:
        place = place.relative_to(next((folder for folder in folders if place.is_relative_to(folder)), place.parent))
    pairs = [part.split("=", 1) for part in place.parts[:-1] if "=" in part]
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in pairs}


def parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files under a directory, also behind links, in the order of `natural_order`.

    Files and directories that start with a dot or an underscore are ignored, and files of zero bytes. A file without a
    suffix, as Hive writes it, is Parquet if it begins so. The folder of a table with a log is refused: files that the
    log does not name hold rows that were deleted.
    """
    return _chosen(folder, [*(folder.files() if isinstance(folder, Address) else _files(folder))])


def _chosen(folder: Path, found: Sequence[tuple[Path, int]]) -> list[Path]:
    _refuse_table(folder, [path for path, _ in found])
    paths = [
        path
        for path, size in found
        if path.suffix.lower() in ("", *SUFFIXES)
        and not _is_hidden(path, folder)
        and size
        and (path.suffix or is_parquet(path))
    ]
    paths.sort(key=natural_order)
    if not paths:
        raise problem(folder, "a directory without a Parquet file", hint=f"their names end in {', '.join(SUFFIXES)}")
    return paths


def named_files(name: str | os.PathLike[str]) -> list[Path]:
    """List the files that a path stands for: itself, or the Parquet files under it if it is a directory."""
    path = path_of(name)
    if isinstance(path, Address) and not path.suffix and (found := path.files()):
        return _chosen(path, found)
    path = existing_path(path)
    return parquet_files(path) if path.is_dir() else [path]


def natural_order(path: Path) -> tuple[list[str | int], str]:
    """Return the key that sorts ``part.2`` before ``part.10``, and whole paths as Dask sorts them."""
    text = path.as_posix()
    return [int(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(text))], text


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files under a directory, and their sizes; raise for what cannot be looked into, unless it is hidden."""

    def refuse(path: Path, message: str, hint: str) -> None:
        if not _is_hidden(path, folder):
            raise problem(path, message, hint=hint)

    def closed(error: OSError) -> None:
        refuse(Path(error.filename), f"cannot be listed ({error.strerror})", "move it elsewhere, or allow to read it")

    for place, folders, names in os.walk(folder, onerror=closed, followlinks=True):
        for path in (Path(place, name) for name in (*folders, *names)):
            if path.is_symlink() and (fault := _fault_of_link(path)):
                message = f"the link to {os.readlink(path)} cannot be followed ({fault})"
                refuse(path, message, "mend or remove the link")
                folders[:] = [name for name in folders if name != path.name]
            elif path.is_file():
                yield path, path.stat().st_size


def _fault_of_link(path: Path) -> str | None:
    try:
        return "its target holds the link" if any(map(path.samefile, path.absolute().parents)) else None
    except OSError as error:
        return error.strerror


#: Kind of a table, the folder of its log, how names of files there end, and the table's rows for a stream.
_LOGS = (
    ("Delta Lake", "_delta_log", "", "deltalake.DeltaTable({0}).to_pyarrow_dataset()"),
    ("Iceberg", "metadata", ".metadata.json", "lambda: catalog.load_table(NAME).scan().to_arrow_batch_reader()"),
)


def _refuse_table(folder: Path, found: Iterable[Path]) -> None:
    """Raise if a folder is a table with a log, or a part of one, or holds one."""
    root = whole = folder.absolute()
    while (root.name == "data" or "=" in root.name) and root.parent.name:
        root = root.parent
    logs = [] if root == whole else [root / name for _, name, *_ in _LOGS]
    for path in (*(path for log in logs if log.is_dir() for path in log.iterdir()), *found):
        for kind, name, ending, rows in _LOGS:
            if path.parent.name == name and path.name.endswith(ending):
                table = path.parent.parent
                place = "" if table.absolute() == whole else f" in {table}"
                call = f"dfmst.stream.minimum_spanning_forest({rows.format(repr(str(table)))})"
                message = f"a table of {kind}{place}, whose log says which files hold its rows"
                raise problem(folder, message, hint=f"read the rows by its log, in Python: {call}")


def _source(file: GraphFile) -> tuple[Path, pa.Schema, int]:
    """Path, schema and number of rows of a file."""
    if (known := _object(file.path)) is not None:
        footer = known.look()
        return file.path, footer.schema.to_arrow_schema(), footer.num_rows
    with file.seekable() as stream, refusing_damage(file.path, _KIND, _HINT):
        parquet = open_buffered(stream)
        return file.path, parquet.schema_arrow, parquet.metadata.num_rows


def _batches(file: GraphFile) -> Iterator[pa.RecordBatch]:
    with file.seekable() as stream, refusing_damage(file.path, _KIND, _HINT):
        parquet = open_buffered(stream)
        size = batch_rows(parquet.metadata, range(parquet.metadata.num_row_groups), ROWS_IN_A_BATCH)
        yield from parquet.iter_batches(batch_size=size, use_threads=has_threads())


def _object(path: Path) -> KnownFile | None:
    """Return the Parquet object of a store that reads ranges; ``None``: another file."""
    if not isinstance(path, Address) or path.suffix.lower() not in SUFFIXES or path.look()[1] is None:
        return None
    known = KnownFile(path, path.look()[0])
    known.on_worker = known.keeps = False
    return known


def _rows_of(files: Sequence[GraphFile]) -> Iterator[tuple[Path, pa.RecordBatch]]:
    """Yield the rows of files, each batch with its path."""
    objects = {file.path: known for file in files if (known := _object(file.path)) is not None}
    with reading_ahead(((known, None) for known in objects.values()), None) as ahead:
        for file in files:
            known = objects.get(file.path)
            batches = _batches(file) if known is None else known.batches(None, None, ROWS_IN_A_BATCH, ahead)
            with refusing_damage(file.path, _KIND, _HINT):
                for batch in batches:
                    batch.validate(full=True)  # PyArrow reads damaged texts as they are, and fails when it prints them
                    yield file.path, batch


_BATCH_BYTES = 16 << 20  # longer batches are not faster
_LEAST_ROWS = 1 << 10
_BUFFER = 1 << 18  # bytes read at a time; with pre_buffer PyArrow would keep a whole row group in memory
_FAR = 1 << 25  # bytes read at a time from a store, of all columns: a request takes longer than a read of a disk


def _read_last(path: Path) -> tuple[tuple[Any, ...], bytes, pyarrow.parquet.FileMetaData]:
    """Return the stamp of a file, its last bytes, and the footer in them: all of a short object."""
    stamp, read = path.look() if isinstance(path, Address) else (file_stamp(path), None)
    with refusing_damage(path, _KIND, f"{_HINT}; convert other formats with dfmst convert"), ExitStack() as stack:
        size = stamp[0]
        if read is None:
            file = stack.enter_context(open_native(path))
            read, size = (lambda begin, end: file.read_at(end - begin, begin)), file.size()
        tail = read(max(0, size - _TAIL), size)
        length = 8 + int.from_bytes(tail[-8:-4], "little")  # the last bytes are the footer's length, and a sign
        if len(tail) < length <= size and tail.endswith(_MAGIC):
            tail = read(size - length, size)
        footer = read_footer(tail)
    return stamp, tail if isinstance(path, Address) and len(tail) == size else tail[-length:], footer


def read_footer(tail: bytes, *, as_texts: bool = False) -> pyarrow.parquet.FileMetaData:
    """Read the footer in the last bytes of a file; `as_texts` lets dictionaries of texts be read as texts.

    All columns then have Parquet's own types, as Arrow's have another name, so that PyArrow does not find them. PyArrow
    would take seven times the bytes of a dictionary, and twice the time, as each batch gets the whole dictionary of its
    row group.
    """
    if as_texts:
        before, name, after = tail.rpartition(_TYPES)
        tail = before + name.lower() + after
    return pyarrow.parquet.read_metadata(pa.BufferReader(tail))


class _Unread(Exception):
    """Bytes of a column would have been read."""


def _unread(begin: int, end: int) -> bytes:
    raise _Unread


_TAIL = 1 << 16  # bytes of a file that are read first: the footers of most files
_TYPES = b"ARROW:schema"  # name of Arrow's types in a footer
_MAGIC = b"PAR1"


def open_buffered(
    file: Any, metadata: pyarrow.parquet.FileMetaData | None = None, far_columns: int = 0
) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file whose columns are read piece by piece; of an object `far_columns`, in longer pieces."""
    size = max(_BUFFER, _FAR // max(8, far_columns)) if far_columns else _BUFFER
    return pyarrow.parquet.ParquetFile(file, metadata=metadata, pre_buffer=False, buffer_size=size)


_FEW = 1 << 16  # rows that one thread decodes sooner than several
_SPAN = 32 << 20  # bytes of a row group that are fetched as a whole
_JOINED = 4 << 20  # bytes of several row groups that are fetched together
_GAP = 1 << 20  # bytes between columns that are fetched with them: another request takes longer


class Span(NamedTuple):
    """Row groups that are read together, and the ranges of bytes to fetch: none if they are too long to wait."""

    groups: list[int]
    ranges: list[tuple[int, int]]

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        return sum(end - begin for begin, end in self.ranges)


def spans(metadata: Any, groups: Iterable[int], names: Collection[ColumnName] | None) -> list[Span]:
    """Return how columns of row groups are fetched; the footer must be one that can be asked about these columns."""
    places = places_of(metadata, names)
    made: list[Span] = []
    for group in groups:
        chunks = [metadata.row_group(group).column(place) for place in places]
        begins = map(_begin, chunks)
        ranges = [(begin, begin + chunk.total_compressed_size) for begin, chunk in zip(begins, chunks, strict=True)]
        span = Span([group], _joined(ranges))
        if span.size > _SPAN:
            span.ranges.clear()
        elif made and made[-1].ranges and made[-1].size + span.size <= _JOINED:
            span = Span([*made[-1].groups, group], _joined(made.pop().ranges + span.ranges))
        made.append(span)
    return made


def places_of(metadata: Any, names: Collection[ColumnName] | None) -> list[int]:
    """Return the places of columns, those in lists and structs too, in a footer (``None``: of all)."""
    paths = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    return [at for at, path in enumerate(paths) if names is None or path in names or path.partition(".")[0] in names]


def _begin(chunk: Any) -> int:
    """Return the place of a column's first page."""
    first = chunk.dictionary_page_offset
    return int(chunk.data_page_offset if not first else min(first, chunk.data_page_offset))


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that are near to each other."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if joined and begin <= joined[-1][1] + _GAP:
            begin, end = joined[-1][0], max(joined.pop()[1], end)
        joined.append((begin, end))
    return joined


class Fetched(NamedTuple):
    """Row groups whose bytes are fetched, and whether they are the last ones that were wanted of the object."""

    file: pyarrow.parquet.ParquetFile
    groups: list[int]
    last: bool


Ahead: TypeAlias = tuple[Fetcher, Iterator[Fetched]]  # row groups of objects, in the order in which they are used


class KnownFile:
    """A Parquet file; if it has another stamp than when the run began (``None``: unknown), reading it fails."""

    as_texts = False  # whether dictionaries of texts are read as texts
    on_worker = True  # whether a task reads it
    tail = b""  # last bytes, as a look at the file has found them
    keeps = True  # whether it keeps them
    looked = False  # whether nothing was read since the look

    def __init__(self, path: Path, stamp: tuple[Any, ...] | None = None) -> None:
        self.path, self.stamp = path, stamp

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("tail", "looked")}

    def look(self) -> pyarrow.parquet.FileMetaData:
        """Read stamp and footer at once, and return the footer."""
        stamp, tail, footer = _read_last(self.path)
        self._compare(stamp)
        self.stamp, self.tail, self.looked = stamp, tail, True
        return footer

    @contextmanager
    def open(self) -> Iterator[pyarrow.parquet.ParquetFile]:
        """Open the file, and check that it has not changed."""
        self.check()
        try:
            footer = read_footer(self.last_bytes(), as_texts=True) if self.as_texts else None
            with open_native(self.path) as native, open_buffered(native, footer) as file:
                yield file
        except DfmstError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise self._fault(error) from (None if isinstance(self.path, Address) else error)
        self.check()

    def last_bytes(self) -> bytes:
        """Return the last bytes of the file, the footer among them."""
        try:
            with self._not_changed():
                tail = self.tail or (self.look() and self.tail)
        except OSError as error:
            raise self._lost(error) from error
        if not self.keeps:
            self.tail = b""
        return tail

    @contextmanager
    def _not_changed(self) -> Iterator[None]:
        """Context manager: say that the file has changed if it looks damaged for that."""
        try:
            yield
        except FormatError:
            self.check()
            raise

    def footer_of(self, names: Sequence[ColumnName] | None) -> pyarrow.parquet.FileMetaData:
        """Return the footer, which may be asked about columns (``None``: all); raise if PyArrow cannot read their rows.

        PyArrow ends the process if another footer is asked: of columns that are encrypted, or have damaged statistics
        of sizes. Of a long object no byte of the columns is fetched.
        """
        metadata = read_footer(tail := self.last_bytes())
        group = next((group for group in range(metadata.num_row_groups) if metadata.row_group(group).num_rows), None)
        if group is None:
            return metadata
        with self._not_changed(), refusing_damage(self.path, _KIND, _HINT), suppress(_Unread), ExitStack() as stack:
            if not self.is_far():
                source = stack.enter_context(open_native(self.path))
            elif self._is_whole(tail):
                source = pa.BufferReader(tail)
            else:
                source = pa.PythonFile(RangeFile(_unread, 1 << 62), "r")
            columns = None if names is None else list(names)
            next(open_buffered(source, metadata).iter_batches(1, [group], columns, use_threads=False), None)
        return metadata

    def largest_id(self, names: Sequence[ColumnName], groups: Iterable[int] | None = None) -> int | None:
        """Return the largest id of row groups (``None``: all) by the footer, -1 without ids.

        Without statistics, or with an id that is negative or not an integer, it is ``None``.
        """
        footer, largest = self.footer_of(names), -1
        places = places_of(footer, names)
        for group in map(footer.row_group, range(footer.num_row_groups) if groups is None else groups):
            for found in (group.column(place).statistics for place in places):
                if not group.num_rows or (found and found.null_count == group.num_rows):
                    continue
                if not found or not found.has_min_max or not isinstance(found.min, int) or found.min < 0:
                    return None
                largest = max(largest, int(found.max))
        return largest

    def _is_whole(self, tail: bytes) -> bool:
        """Whether an object has no other bytes."""
        return len(tail) == self.path.stat().st_size

    def spans(self, groups: Sequence[int] | None, names: Sequence[ColumnName] | None) -> tuple[bytes, list[Span]]:
        """Return the last bytes of an object, and how row groups (``None``: all) are fetched."""
        whole = self._is_whole(tail := self.last_bytes())
        metadata = read_footer(tail) if whole else self.footer_of(names)
        numbers = list(range(metadata.num_row_groups) if groups is None else groups)
        return tail, [Span(numbers, [])] if whole or not numbers else spans(metadata, numbers, names)

    def fetch(self, tail: bytes, part: Span, columns: int, last: bool) -> Fetched:
        """Fetch the ranges of a span; a span without ranges is read by longer pieces when it is used."""
        assert isinstance(self.path, Address)
        (size, _), read = self.path.look()
        assert read is not None
        pieces = [(begin, read(begin, end)) for begin, end in part.ranges]
        whole = len(tail) == size
        source = pa.BufferReader(tail) if whole else pa.PythonFile(RangeFile(read, size, pieces), "r")
        metadata = read_footer(tail, as_texts=self.as_texts)
        return Fetched(open_buffered(source, metadata, 0 if whole or pieces else max(1, columns)), part.groups, last)

    def is_far(self) -> bool:
        """Whether a store reads ranges of its bytes."""
        try:
            return isinstance(self.path, Address) and self.path.look()[1] is not None
        except OSError as error:
            raise self._lost(error) from error

    def check(self) -> None:
        """Raise if the file has changed."""
        if self.stamp is not None:
            try:
                stamp = file_stamp(self.path)
            except OSError as error:
                raise self._lost(error) from error
            self._compare(stamp)

    def _compare(self, stamp: tuple[Any, ...]) -> None:
        if self.stamp not in (None, stamp):
            hint = "run again, and write nothing to the files during a run"
            raise problem(self.path, "the file has changed since the run began", hint=hint)

    def _fault(self, error: Exception, damage: str = "a damaged Parquet file") -> DfmstError:
        """Return the error for a file that cannot be read; one that changes may look damaged."""
        self.check()
        if (fault := machine_fault(error) or no_answer(self.path, error)) is not None:
            return fault
        if isinstance(error, OSError) and error.strerror:
            return self._lost(error)
        reason = str(error).partition("\n")[0]
        return problem(self.path, f"{damage} ({reason})", hint="fetch or write the file again")

    def _lost(self, error: OSError) -> DfmstError:
        if self.on_worker:
            reason, hint = error.strerror or "no such file", "every worker must see the files, under the same names"
            return ClusterError(f"{self.path}: {reason}", hint)
        if isinstance(error, FileNotFoundError):
            return problem(self.path, "the file has vanished since the run began", hint="put it back and run again")
        return problem(self.path, f"cannot be opened ({error.strerror or error})", hint="run again when it can be read")

    def batches(
        self, groups: Sequence[int] | None, names: Sequence[Any] | None, rows: int, ahead: Ahead | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of row groups (``None``: all) as the file has them, at most `rows` at a time and 16 MiB.

        Those of an object may be `ahead`: the next ones that it yields.
        """
        columns = None if names is None else list(names)
        threads = has_threads() and not self.on_worker
        with closing(self._opened(groups, names, ahead)) as opened:
            for file, numbers in opened:
                size, done = batch_rows(file.metadata, numbers, rows, columns), 0
                lengths = [file.metadata.row_group(group).num_rows for group in numbers]
                several = threads and sum(lengths) > _FEW
                try:
                    for batch in file.iter_batches(size, numbers, columns, use_threads=several):
                        done += batch.num_rows
                        yield batch
                except (pa.ArrowException, OSError) as error:
                    group = numbers[int(np.searchsorted(np.cumsum(lengths), done, side="right"))]
                    fault = self._fault(error, f"row group {group} cannot be read")
                    raise fault from (None if isinstance(self.path, Address) else error)

    def _opened(
        self, groups: Sequence[int] | None, names: Sequence[Any] | None, ahead: Ahead | None
    ) -> Generator[tuple[pyarrow.parquet.ParquetFile, list[int]], None, None]:
        """Yield the file, opened to read row groups: of an object once for those that are fetched together."""
        if not self.is_far():
            with self.open() as file:
                yield file, list(range(file.num_row_groups) if groups is None else groups)
            return
        if ahead is None:
            with reading_ahead([(self, groups)], names) as ahead:
                yield from self._opened(groups, names, ahead)
            return
        fetcher, others = ahead
        try:
            for fetched in others:
                yield fetched.file, fetched.groups
                if fetched.last:
                    break
        except DfmstError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise self._fault(error) from None
        if not (self.looked and self._is_whole(self.tail)):  # else one request has read all of it
            fetcher.check(self.check)
        self.looked = False


@contextmanager
def reading_ahead(
    wanted: Iterable[tuple[KnownFile, Sequence[int] | None]], names: Sequence[ColumnName] | None
) -> Iterator[Ahead]:
    """Context manager: fetch columns of row groups (``None``: all) of objects ahead, in this order."""

    def calls() -> Iterator[tuple[int, Callable[[], Fetched]]]:
        looks = ((0 if file.tail else _TAIL, partial(_spans, file, groups, names)) for file, groups in wanted)
        for file, (tail, parts) in fetcher.in_order(looks):
            for number, part in enumerate(parts, 1):
                yield part.size, partial(file.fetch, tail, part, len(names or ()), number == len(parts))

    with fetching() as fetcher:
        yield fetcher, fetcher.in_order(calls())


def _spans(file: KnownFile, *arguments: Any) -> tuple[KnownFile, tuple[bytes, list[Span]]]:
    return file, file.spans(*arguments)


_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}  # bytes of a value


def batch_rows(metadata: Any, groups: Sequence[int], rows: int, names: Sequence[ColumnName] | None = None) -> int:
    """Return how many rows to read at a time, so that a batch has at most 16 MiB.

    With texts and lists, this is by the bytes of all columns: see `KnownFile.footer_of` for why not by those of each.
    """
    named = [metadata.schema.column(place) for place in places_of(metadata, names)]
    widths = [None if each.max_repetition_level else _WIDTHS.get(each.physical_type) for each in named]
    width = None if None in widths else sum(filter(None, widths))
    row_groups = [metadata.row_group(group) for group in groups]
    sizes = [group.total_byte_size if width is None else width * group.num_rows for group in row_groups]
    fit = [_BATCH_BYTES * group.num_rows // max(1, size) for group, size in zip(row_groups, sizes, strict=True)]
    return min(rows, max(_LEAST_ROWS, min(fit, default=rows)))


class TableSize(NamedTuple):
    """Rows of a table, an upper bound of its vertices or ``None``, and the rows of its largest file."""

    rows: int
    vertices: int | None
    largest: int


def parquet_footer(path: str | os.PathLike[str]) -> pyarrow.parquet.FileMetaData:
    """Read the footer of a Parquet file."""
    return _read_last(existing_path(path))[2]


def parquet_size(
    files: Iterable[tuple[str | os.PathLike[str], Iterable[int] | None]], ends: tuple[ColumnName, ...]
) -> TableSize:
    """Add up the sizes of Parquet files; without `ends` the vertices are not known."""
    largest, bounded, counts = -1, True, [0]
    chosen = [(KnownFile(existing_path(path)), groups) for path, groups in files]
    footers = at_once(KnownFile.look, [file for file, _ in chosen], [file.path for file, _ in chosen])
    for (file, groups), footer in zip(chosen, footers, strict=True):
        if footer.num_rows:
            bounded &= _check_ends(file.path, footer, ends)
        numbers = list(range(footer.num_row_groups) if groups is None else groups)
        counts.append(sum(footer.row_group(number).num_rows for number in numbers))
        found = file.largest_id(ends, numbers) if ends else -1
        bounded, largest = bounded and found is not None, max(largest, found or 0)
    rows = sum(counts)
    return TableSize(rows, min(largest + 1, 2 * rows) if bounded and ends and largest >= 0 else None, max(counts))


def _check_ends(path: Any, footer: Any, ends: tuple[ColumnName, ...]) -> bool:
    """Raise if neither a file nor its path has an end; return whether the file has both."""
    names = footer.schema.to_arrow_schema().names
    known = [*names, *path_values(path)]
    missing = missing_columns(zip(("source", "target"), ends, strict=False), known, path)
    if missing is not None:
        raise missing
    return {*ends} <= {*names}


_ARROW_MAGIC = b"ARROW1"
_BEFORE_STREAM = 8  # bytes of a file before the stream that it holds
_OLD_FEATHER = b"FEA1"
_ARROW, _ARROW_HINT = "an Arrow file or stream", "write the table again, as an Arrow file or stream"


def open_arrow(file: GraphFile) -> pa.RecordBatchReader:
    """Stream an Arrow IPC file, a Feather file (version 2) or an Arrow IPC stream."""
    with file.seekable() as stream:
        magic = stream.read(len(_ARROW_MAGIC))
        stream.seek(0)
        if magic.startswith(_OLD_FEATHER):
            raise file.problem("Feather version 1, which is retired", hint=_ARROW_HINT)
        is_file = magic == _ARROW_MAGIC
        with refusing_damage(file.path, _ARROW, _ARROW_HINT):
            schema = _open_arrow(stream, is_file).schema
            _ = schema.names  # PyArrow decodes them at the first access
    return pa.RecordBatchReader.from_batches(schema, _arrow_batches(file, is_file))


def _open_arrow(stream: Any, is_file: bool) -> Any:
    if has_threads():
        return pyarrow.ipc.open_file(stream) if is_file else pyarrow.ipc.open_stream(stream)
    if is_file:
        stream.seek(_BEFORE_STREAM)  # a reader of files starts a thread
    return pyarrow.ipc.open_stream(stream, options=pyarrow.ipc.IpcReadOptions(use_threads=False))


def _arrow_batches(file: GraphFile, is_file: bool) -> Iterator[pa.RecordBatch]:
    with file.seekable() as stream, refusing_damage(file.path, _ARROW, _ARROW_HINT):
        reader = _open_arrow(stream, is_file)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file and has_threads() else reader:
            batch.validate(full=True)  # a damaged offset would end the process later
            plain = batch.replace_schema_metadata()
            for start in range(0, plain.num_rows, ROWS_IN_A_BATCH):
                yield plain.slice(start, ROWS_IN_A_BATCH)
