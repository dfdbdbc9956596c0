"""Files that hold edges, plain or compressed, and the errors that name the file, the line and its text."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from dfmst._common.limits import free_memory
from dfmst._common.progress import machine_memory
from dfmst.errors import FormatError, MissingFileError, machine_fault, printable

BLOCK_BYTES = 8 << 20
HEAD_BYTES = 64 << 10
PIECE_BYTES = 64 << 10
ROWS_IN_A_BATCH = 1 << 18  # of formats that are not text

MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
OPENERS: dict[str | None, Callable[[Path], Any]] = {
    None: lambda path: path.open("rb", buffering=0),
    "gzip": gzip.open,
    "xz": lzma.open,
    "bzip2": bz2.open,
    "zstd": lambda path: pa.CompressedInputStream(open_native(path), "zstd"),
}
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError)
#: End of hints for counts that are wrong, and the option of the command line for its argument.
ACCEPT = "or read it as it is with counts='ignore'"
ACCEPT_OPTION = "counts='ignore'", "--ignore-counts"


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A file that holds edges."""

    path: Path
    block_bytes: int = BLOCK_BYTES
    check_counts: bool = True

    @property
    def compression(self) -> str | None:
        """Name of the compression by the first bytes, or ``None``."""
        with self.path.open("rb") as file:
            start = file.read(max(map(len, MAGIC)))
        return next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)

    def problem(
        self, message: str, line: Line | int | None = None, hint: str = "", option: tuple[str, str] = ACCEPT_OPTION
    ) -> FormatError:
        """Build the error for a fault of this file, as :func:`problem`."""
        return problem(self.path, message, line, hint, option)

    def pieces(self) -> Generator[bytes, None, None]:
        """Yield the uncompressed bytes in small pieces."""
        compression = self.compression
        size = min(PIECE_BYTES, self.block_bytes)
        with OPENERS[compression](self.path) as stream:
            # read1 returns available bytes, so that a cut stream yields its last lines before it fails.
            read = getattr(stream, "read1", stream.read)
            while True:
                try:
                    piece = read(size)
                except BROKEN as error:
                    if compression is None or machine_fault(error) is not None:
                        raise
                    message = f"the {compression} stream is cut or damaged ({error})"
                    raise self.problem(message, hint="fetch or compress the file again") from error
                if not piece:
                    return
                yield piece

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
        with tempfile.TemporaryFile() as copy:
            for piece in self.pieces():
                copy.write(piece)
            copy.seek(0)
            yield copy


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


LONGEST_QUOTE = 60  # characters


def existing_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a file or directory; raise if it does not exist."""
    path, hint = Path(name), "check the name, and the directory you are in"
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"{path}: no such graph file", hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise problem(path, f"cannot be opened ({reason})", hint=hint) from error
    return path


def problem(
    path: Path, message: str, line: Line | int | None = None, hint: str = "", option: tuple[str, str] | None = None
) -> FormatError:
    """Build the error for a file that breaks its format; a :class:`Line` is quoted."""
    number = line.number if isinstance(line, Line) else line
    place = str(path) if number is None else f"{path}, line {number}"
    if isinstance(line, Line):
        text = line.text[: 4 * LONGEST_QUOTE].decode("utf-8", errors="replace").strip()
        message += f": {text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + '...'!r}"
    return FormatError(f"{place}: {message}", hint, option=option)


@contextmanager
def refusing_damage(path: str | os.PathLike[str], kind: str, hint: str) -> Iterator[None]:
    """Raise FormatError for a file that PyArrow cannot read."""
    try:
        yield
    except FormatError:
        raise
    except (pa.ArrowException, OSError, EOFError, ValueError, MemoryError) as error:
        if not _asks_too_much(error) and (fault := machine_fault(error)) is not None:
            raise fault from error
        reason = str(error).partition("\n")[0] or "it asks for more memory than there is"
        raise problem(Path(path), f"not {kind}, or a damaged one ({reason})", hint=hint) from error


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
    return problem(path, error.message.removeprefix(printable(f"{path}: ")), line, error.hint, error.option)


def open_native(path: str | os.PathLike[str], mode: str = "rb") -> pa.NativeFile:
    """Open a file with PyArrow, also if its name is not UTF-8."""
    return pa.OSFile(os.fsencode(path), mode)
