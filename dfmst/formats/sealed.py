"""Files that end with a digest of their name and their content: one that was changed or cut is known before its use."""

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
    """A file does not keep its digest: it was changed, cut off, renamed, or never had one."""


class SealedOutput:
    """A file, as PyArrow wants one, that takes the digest of what is written."""

    closed = False

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._digest = file, _digest(name)

    def write(self, content: Any) -> int:
        """Write some more."""
        self._digest.update(content)
        return self._file.write(content)

    def flush(self) -> None:
        """Nothing waits here."""

    def digest(self) -> bytes:
        """Return the digest of what was written."""
        digest: bytes = self._digest.digest()
        return digest


@contextmanager
def sealed_output(path: str | os.PathLike[str]) -> Iterator[SealedOutput]:
    """Give a file to write; it appears at the path at the end, with its digest, or not at all."""
    with atomic_path(path, own=True) as part, part.open("wb") as file:
        sink = SealedOutput(file, Path(path).name)
        yield sink
        file.write(sink.digest())


@contextmanager
def sealed_input(path: str | os.PathLike[str]) -> Iterator[tuple[pa.NativeFile, int]]:
    """Check the digest of a file, and give the file, at its beginning, and how many bytes come before the digest."""
    if not is_trusted(Path(path)):
        message = f"{path} is not a file of this user"
        raise BrokenSealError(message)
    with open_native(path) as file:
        size = file.size() - _DIGEST
        digest = _digest(Path(path).name)
        for begin in range(0, size, _PIECE):
            digest.update(file.read_buffer(min(_PIECE, size - begin)))
        if size < 0 or file.read() != digest.digest():
            message = f"{path} does not keep its digest"
            raise BrokenSealError(message)
        file.seek(0)
        yield file, size


def _digest(name: str) -> Any:
    """The digest of a file; one under another file's name does not keep it."""
    return hashlib.blake2b(os.fsencode(name), digest_size=_DIGEST)
