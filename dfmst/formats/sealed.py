"""Files that end with a digest of their name and content, which is checked before they are read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from dfmst.formats.atomic import atomic_path
from dfmst.formats.directories import is_trusted
from dfmst.formats.files import open_native

_DIGEST = 32  # bytes
_PIECE = 1 << 20  # bytes that are hashed at a time


class BrokenSealError(ValueError):
    """The digest of a file is wrong: it was changed, cut, renamed, or never had one."""


class SealedOutput:
    """Writable file for PyArrow that hashes its content."""

    closed = False

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._digest = file, _digest(name)

    def write(self, content: Any) -> int:
        """Write and hash bytes."""
        self._digest.update(content)
        return self._file.write(content)

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""

    def digest(self) -> bytes:
        """Return the digest of the written bytes."""
        digest: bytes = self._digest.digest()
        return digest


@contextmanager
def sealed_output(path: str | os.PathLike[str]) -> Iterator[SealedOutput]:
    """Yield a file to write; it appears at the path, with its digest, only when it is complete."""
    with atomic_path(path, own=True) as part, part.open("wb") as file:
        sink = SealedOutput(file, Path(path).name)
        yield sink
        file.write(sink.digest())


@contextmanager
def sealed_input(path: str | os.PathLike[str]) -> Iterator[tuple[pa.NativeFile, int]]:
    """Check the digest of a file; yield the file at its beginning, and the number of bytes before the digest."""
    if not is_trusted(Path(path)):
        message = f"{path} is not a file of this user"
        raise BrokenSealError(message)
    with open_native(path) as file:
        size = file.size() - _DIGEST
        digest = _digest(Path(path).name)
        for begin in range(0, size, _PIECE):
            digest.update(file.read_buffer(min(_PIECE, size - begin)))
        if size < 0 or file.read() != digest.digest():
            message = f"{path} has a wrong digest"
            raise BrokenSealError(message)
        file.seek(0)
        yield file, size


def _digest(name: str) -> Any:
    """Return a digest that starts with the name of the file, so that a renamed file is refused."""
    return hashlib.blake2b(os.fsencode(name), digest_size=_DIGEST)
