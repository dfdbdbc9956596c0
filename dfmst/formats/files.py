"""Files that hold edges, plain or compressed, and the errors that name the file, the line and its text."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import tempfile
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Self, TypeAlias, TypeVar

import pyarrow as pa

from dfmst._common.arguments import check_choice
from dfmst._common.directories import naming_full
from dfmst._common.machine import free_memory, machine_memory
from dfmst.errors import (
    DfmstError,
    FormatError,
    InvalidEdgesError,
    MissingFileError,
    UnsupportedFrameError,
    machine_fault,
    missing_columns,
    printable,
)
from dfmst.formats.stores import Access, Address, path_of

S = TypeVar("S")
T = TypeVar("T")
FileName: TypeAlias = str | os.PathLike[str]
BLOCK_BYTES = 8 << 20
HEAD_BYTES = 64 << 10
PIECE_BYTES = 64 << 10
ROWS_IN_A_BATCH = 1 << 18  # of formats that are not text

MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError)
#: End of hints for counts that are wrong.
ACCEPT = "or read it as it is with counts='ignore'"


#: Signs between thousands.
THOUSANDS = (",", ".", " ", "'", "_", "\u00a0", "\u202f")
#: Separators of text tables, by name.
SEPARATORS = {"comma": ",", "tab": "\t", "semicolon": ";", "bar": "|", "blank": " "}


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns of a text table are, as far as a caller says; the others stay as they stand in the file."""

    ids: tuple[tuple[str, ...], ...] = ()  # columns of one kind of vertices, which have one type
    keys: tuple[str, ...] = ()  # keys, groups, and ids of points
    numbers: tuple[str, ...] = ()  # weights and coordinates
    ordered: tuple[str, ...] = ()  # numbers if all values are
    text: tuple[str, ...] = ()
    others: bool = False  # whether the other columns are like `ordered`
    usual: bool = True  # whether columns of usual names have their roles
    decimal: str = "."
    thousands: str = ""
    separator: str = ""  # empty: found in the rows
    arguments: tuple[tuple[str, str], ...] = ()  # arguments and the columns that they name, which must be there

    @property
    def named(self) -> frozenset[str]:
        """All columns that have a role."""
        pairs = (name for pair in self.ids for name in pair)
        return frozenset((*pairs, *self.keys, *self.numbers, *self.ordered, *self.text))

    @classmethod
    def of(
        cls, columns: Mapping[str, Any], decimal: str = ".", thousands: str | None = None, sep: str | None = None
    ) -> Self:
        """Return the roles of columns that are named by the arguments of calls, by argument."""
        separator = "" if sep is None else {**SEPARATORS, r"\t": "\t"}.get(sep, sep)
        known = ("", *SEPARATORS.values())
        check_choice(separator, known, f"sep must be one of {(*SEPARATORS.values(), *SEPARATORS)}, not {sep!r}")
        check_choice(decimal, (".", ","), f"decimal must be '.' or ',', not {decimal!r}")
        if thousands is not None:
            check_choice(thousands, THOUSANDS, f"thousands must be one of {THOUSANDS}, not {thousands!r}")
        if decimal == thousands:
            raise ValueError(f"decimal and thousands are both {decimal!r}")
        named = {argument: _names(value) for argument, value in columns.items()}
        ends = zip_longest(named.get("source", ()), named.get("target", ()))
        return cls(
            ids=tuple(tuple(name for name in pair if name is not None) for pair in ends),
            keys=(*named.get("by", ()), *named.get("on", ()), *named.get("ids", ())),
            numbers=(*named.get("weight", ()), *named.get("columns", ())),
            ordered=named.get("ordered", ()),
            text=named.get("text", ()),
            others="columns" in named and not named["columns"],
            usual=not (named.get("source") or named.get("target") or {"on", "ids", "columns"} & named.keys()),
            decimal=decimal,
            thousands=thousands or "",
            separator=separator,
            arguments=tuple(
                (argument, name)
                for argument, names in named.items()
                if argument not in ("on", "ordered")
                for name in names
            ),
        )


def _names(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is not the name of a column")
    return names


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A file that holds edges."""

    path: Path
    block_bytes: int = BLOCK_BYTES
    check_counts: bool = True
    roles: Roles = Roles()
    note: Callable[[str], object] = str  # called with a line of text about lines that were skipped
    labels: bool | None = None  # whether labels of nodes are ids; None: no, but refuse local ids of several files
    several: bool = False  # whether it is one of several files
    least: tuple[tuple[str, pa.DataType], ...] = ()  # types that columns of numbers have at least
    lines: str = ""  # separator of rows whose lines are a column
    separator: str = ""  # of CSV and TSV, if the name or the caller says that the file is one

    def check_named(self, kinds: Mapping[str, object]) -> None:
        """Raise if a column that a caller names is none of the file's, whose names and types are given."""
        named = {name: kind for name, kind in kinds.items() if not re.fullmatch(r"column_[0-9]+", name)}
        missing = missing_columns(self.roles.arguments, kinds, self.path, named or kinds)  # R's names of rows have none
        if missing is not None:
            raise missing

    @property
    def compression(self) -> str | None:
        """Name of the compression by the first bytes, or ``None``."""
        with self.path.open("rb") as file:
            start = file.read(max(map(len, MAGIC)))
        return next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)

    def problem(self, message: str, line: Line | int | None = None, hint: str = "") -> FormatError:
        """Build the error for a fault of this file, as :func:`problem`."""
        return problem(self.path, message, line, hint)

    def pieces(self) -> Generator[bytes, None, None]:
        """Yield the uncompressed bytes in small pieces."""
        compression = self.compression
        with self.path.open("rb", buffering=0) as file:
            try:
                yield from _DECODERS[compression](file, min(PIECE_BYTES, self.block_bytes))
            except BROKEN as error:
                if compression is None or machine_fault(error) is not None:
                    raise
                message = f"the {compression} stream is cut or damaged ({error})"
                raise self.problem(message, hint="fetch or compress the file again") from error

    def head(self) -> bytes:
        """Return the first bytes of the uncompressed text, enough to detect the format."""
        head = b""
        try:
            for piece in self.pieces():
                head += piece
                if len(head) >= HEAD_BYTES:
                    break
        except FormatError as error:
            # With some text the reader meets the damage again and names its line.
            if not head:
                raise at_line(error, self.path, 1) from error
        return head

    @contextmanager
    def seekable(self) -> Iterator[IO[bytes]]:
        """Open the uncompressed bytes as a file with random access, on disk, never in memory."""
        if self.compression is None:
            with self.path.open("rb") as file:
                yield file
            return
        with naming_full(), tempfile.TemporaryFile() as copy:
            copy.writelines(self.pieces())
            copy.seek(0)
            yield copy


def _blocks(stream: Any, size: int) -> Iterator[bytes]:
    # read1 returns available bytes, so that a cut stream yields its last lines before it fails.
    return iter(partial(getattr(stream, "read1", stream.read), size), b"")


def _streams(file: IO[bytes], size: int, decoder: Callable[[], Any], padded: bool = False) -> Iterator[bytes]:
    """Decode streams, one after another. Python's own files take all that they cannot read for the end."""
    block = file.read(size)
    while block:
        stream = decoder()
        while not stream.eof:
            if stream.needs_input and not (block := block or file.read(size)):
                raise EOFError("it ends before its end mark")
            if piece := stream.decompress(block, size):
                yield piece
            block = b""
        block, zeros = stream.unused_data or file.read(size), 0
        while padded and block and not block[0]:
            zeros += len(block) - len(block := block.lstrip(b"\0"))
            block = block or file.read(size)
        if zeros % 4:
            raise lzma.LZMAError("zeros follow it, not in multiples of four")


_DECODERS: dict[str | None, Callable[[Any, int], Iterator[bytes]]] = {
    None: _blocks,
    "gzip": lambda file, size: _blocks(gzip.GzipFile(fileobj=file), size),
    "xz": partial(_streams, decoder=lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), padded=True),
    "bzip2": partial(_streams, decoder=bz2.BZ2Decompressor),
    "zstd": lambda file, size: _blocks(pa.CompressedInputStream(file, "zstd"), size),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end and without outer blanks; ``number`` counts from 1."""

    text: bytes
    number: int

    @property
    def words(self) -> list[bytes]:
        """The words between blanks of ASCII, which alone separate words."""
        return self.text.split()

    @property
    def texts(self) -> list[str]:
        """The words as texts."""
        return [word.decode("utf-8", errors="replace") for word in self.words]

    def decoded(self, file: GraphFile) -> str:
        """Return the text; raise FormatError if it is not UTF-8."""
        try:
            return self.text.decode()
        except UnicodeDecodeError as error:
            raise file.problem("bytes that are not UTF-8", self, "save the file as UTF-8") from error


LONGEST_QUOTE = 60  # characters


def paths_of(files: Any, argument: str = "path", opened_by: Access | None = None) -> list[Path]:
    """Return the paths of a file, or of several; `argument` is the caller's."""
    names = [files] if isinstance(files, (str, os.PathLike)) else files
    names = list(names) if isinstance(names, Iterable) else [names]
    wrong = [name for name in names if not isinstance(name, (str, os.PathLike))]
    if wrong:
        message = f"{argument} holds {wrong[0]!r}, which is not the name of a file"
        raise UnsupportedFrameError(message, f"pass a path or a list of paths as {argument}=")
    return list(map((opened_by or Access()).path, names))


def paths_of_dataset(dataset: Any) -> list[Path]:
    """Return the files of a dataset of PyArrow; other objects have none."""
    if not (hasattr(dataset, "scanner") and hasattr(dataset, "files")):
        return []
    return list(dict.fromkeys(map(Access(filesystem=dataset.filesystem).path, dataset.files)))


def existing_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a file or directory; raise if it does not exist."""
    path, hint = path_of(name), "check the name, and the directory you are in"
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"{path}: no such graph file", hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise problem(path, f"cannot be opened ({reason})", hint=hint) from error
    return path


def is_parquet(path: Path) -> bool:
    """Return whether a path is a directory, or a file that begins as Parquet does."""
    if path.is_dir():
        return True
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def problem(path: Path, message: str, line: Line | int | None = None, hint: str = "") -> FormatError:
    """Build the error for a file that breaks its format; a :class:`Line` is quoted."""
    number = line.number if isinstance(line, Line) else line
    place = str(path) if number is None else f"{path}, line {number}"
    if isinstance(line, Line):
        text = line.text[: 4 * LONGEST_QUOTE].decode("utf-8", errors="replace").strip()
        message += f": {text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + '...'!r}"
    return FormatError(f"{place}: {message}", hint)


@contextmanager
def refusing_damage(path: str | os.PathLike[str], kind: str, hint: str) -> Iterator[None]:
    """Raise FormatError for a file that PyArrow cannot read."""
    try:
        yield
    except DfmstError:  # of a reader within
        raise
    except (pa.ArrowException, OSError, EOFError, ValueError, MemoryError) as error:
        if not _asks_too_much(error) and (fault := machine_fault(error)) is not None:
            raise fault from error
        if (lost := no_answer(path, error)) is not None:
            raise lost from None
        reason = str(error).partition("\n")[0] or "it asks for more memory than there is"
        if "more than 64 bits" in reason:  # such integers of polars alone
            with path_of(path).open("rb") as file:
                read = {b"PAR1": "read_parquet", b"ARRO": "read_ipc"}.get(file.read(4), "read_ipc_stream")
            message = "integers of 128 bits (Int128 or UInt128 of polars), a type that Arrow does not have"
            cast = "cast({polars.Int128: polars.Decimal(38), polars.UInt128: polars.Decimal(38)})"
            hint = f"polars.{read}({str(path)!r}).{cast}.write_parquet('edges.parquet')"
            raise problem(path_of(path), message, hint=hint) from error
        raise problem(path_of(path), f"not {kind}, or a damaged one ({reason})", hint=hint) from error


_NO_ANSWER = re.compile("AWS Error|Azure|google::cloud|the server|the connection|[Tt]imed? ?out")


def no_answer(path: str | os.PathLike[str], error: BaseException) -> FormatError | None:
    """Return the error for a store that fails while an object is read; ``None``: the object is damaged."""
    if not isinstance(path, Address) or not _NO_ANSWER.search(str(error)):
        return None
    return problem(path, f"the store does not answer ({path.shown(error)})", hint="check the network, and run it again")


_MUCH = 1 << 30  # bytes; batches are far smaller
_ASKED = re.compile(r"of size (\d+)")


def _asks_too_much(error: BaseException) -> bool:
    """Whether a reader asks for memory because of a damaged length, not of a machine without memory."""
    if not isinstance(error, MemoryError):
        return False
    asked = _ASKED.search(str(error))
    return int(asked[1]) > (machine_memory() or _MUCH) if asked else (free_memory() or 0) > _MUCH


def at_line(error: FormatError, path: Path, line: int) -> FormatError:
    """Add the number of the line to an error about a file."""
    return problem(path, error.message.removeprefix(printable(f"{path}: ")), line, error.hint)


def open_native(path: str | os.PathLike[str], mode: str = "rb") -> pa.NativeFile:
    """Open a file with PyArrow, also if its name is not UTF-8 or it is an address."""
    if isinstance(path, Address):
        return path.native()
    return pa.OSFile(os.fsencode(path), mode)


_AT_ONCE = 25  # requests at the same time, for which PyArrow has connections
_WAITING = 16 << 20  # fetched bytes that may wait


class Fetcher:
    """Threads that make requests ahead."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool, self._checks = pool, deque[Future[object]]()

    def in_order(self, calls: Iterable[tuple[int, Callable[[], T]]]) -> Iterator[T]:
        """Yield the results of calls, given with the bytes that each fetches; those that fetch some are made ahead."""
        waiting, held = deque[tuple[int, Callable[[], T]]](), 0
        for size, call in calls:
            while waiting and (len(waiting) >= _AT_ONCE or held + size > _WAITING):
                fetched, result = waiting.popleft()
                held -= fetched
                yield result()
            waiting.append((size, self._pool.submit(call).result if size else call))
            held += size
        while waiting:
            yield waiting.popleft()[1]()

    def check(self, call: Callable[[], object]) -> None:
        """Make a call that may raise; its error is raised at a later one, or by :meth:`finish`."""
        self._checks.append(self._pool.submit(call))
        if len(self._checks) > _AT_ONCE:
            self._checks.popleft().result()

    def finish(self) -> None:
        """Raise the first error of a check."""
        while self._checks:
            self._checks.popleft().result()


@contextmanager
def fetching() -> Iterator[Fetcher]:
    """Context manager: start threads that make requests, and end with them; calls that wait are left out."""
    pool = ThreadPoolExecutor(_AT_ONCE, "dfmst-store")
    try:
        fetcher = Fetcher(pool)
        yield fetcher
        fetcher.finish()
    finally:
        pool.shutdown(cancel_futures=True)


def at_once(call: Callable[[S], T], items: Sequence[S], paths: Iterable[Path]) -> Iterator[T]:
    """Yield the results of a call for each item; of `paths` in stores, several calls are made at the same time."""
    if len(items) < 2 or not any(isinstance(path, Address) for path in paths):
        yield from map(call, items)
        return
    with fetching() as fetcher:
        yield from fetcher.in_order((1, partial(call, item)) for item in items)


def check_same_columns(first: FileName, expected: pa.Schema, path: FileName, schema: pa.Schema) -> None:
    """Raise if the columns of a file differ from those of the first.

    Parameters
    ----------
    first, expected
        The first file, for the message, and its schema.
    path, schema
        The other file, and its schema. Whether columns may hold nulls, and metadata, may differ.

    Raises
    ------
    InvalidEdgesError
        Other names or another type.

    Examples
    --------
    >>> roads = pa.schema({"a": pa.int64(), "b": pa.int64()})
    >>> check_same_columns("monday.csv", roads, "tuesday.csv", pa.schema({"a": pa.int64(), "b": pa.string()}))
    Traceback (most recent call last):
    dfmst.errors.InvalidEdgesError: tuesday.csv has other columns than monday.csv: 'b' is string instead of int64
    Hint: give all files the same columns, of the same types
    """
    check_same_names(first, expected, path, schema)
    ordered = (sorted(fields, key=lambda field: field.name) for fields in (expected, schema))
    for ours, theirs in zip(*ordered, strict=True):
        if ours.type != theirs.type:
            raise _other_columns(first, path, f"{theirs.name!r} is {theirs.type} instead of {ours.type}")


def check_same_names(first: FileName, expected: pa.Schema, path: FileName, schema: pa.Schema) -> None:
    """Raise if the column names of a file differ from those of the first."""
    if sorted(expected.names) != sorted(schema.names):
        raise _other_columns(first, path, f"{', '.join(schema.names)} instead of {', '.join(expected.names)}")


def _other_columns(first: FileName, path: FileName, difference: str) -> InvalidEdgesError:
    message = f"{path} has other columns than {first}: {difference}"
    return InvalidEdgesError(message, "give all files the same columns, of the same types")
