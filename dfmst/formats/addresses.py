"""Addresses of files that other machines hold, such as ``s3://bucket/edges.parquet`` or ``https://host/edges.csv``.

An :class:`Address` has those methods of a path that readers and writers call, so that they treat both alike. PyArrow
opens object stores, Python's own library reads ``https://``, and fsspec opens all else, if it is installed.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dfmst.errors import DfmstError, OutputError

if TYPE_CHECKING:
    _Path = Path  # for type checkers an address is a path; at run time it lacks the methods that nobody calls
else:
    _Path = object

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_MAGIC = re.compile(r"[*?\[]")
ATTEMPTS = 5  # to send a request
BUFFER = 1 << 20  # bytes that are read at a time
_SENT, _WAITING = 8 << 20, 8  # bytes of a piece that is sent, and pieces that may wait
_HINT = "check the address, storage_options= and the network"
_WORDS = "check the address, --storage-option and the network"
#: The object that says that a directory is complete.
COMPLETE = "_SUCCESS"


class Address(_Path):
    """A file or a directory of another file system; its text never shows credentials."""

    def __init__(self, filesystem: Any, key: str, start: str, secrets: Sequence[str] = (), root: str = "") -> None:
        self.filesystem, self.start, self._root, self._secrets = filesystem, start, root, tuple(secrets)
        self._path = PurePosixPath(key)

    @property
    def key(self) -> str:
        """The name in the file system."""
        return "" if self._path == PurePosixPath() else str(self._path)

    def __str__(self) -> str:
        return self.start + self.key.removeprefix(self._root)

    __fspath__ = as_posix = __str__

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)

    parts = property(lambda self: self._path.parts)
    name = property(lambda self: self._path.name)
    stem = property(lambda self: self._path.stem)
    suffix = property(lambda self: self._path.suffix)
    suffixes = property(lambda self: self._path.suffixes)
    parent = property(lambda self: self._at(self._path.parent))
    parents = property(lambda self: list(map(self._at, self._path.parents)))

    def _at(self, path: PurePosixPath | str) -> Address:
        return Address(self.filesystem, str(path), self.start, self._secrets, self._root)

    def __truediv__(self, name: Any) -> Address:
        return self._at(self._path / name)

    def with_name(self, name: str) -> Address:
        """Return the address of another file of the directory."""
        return self._at(self._path.with_name(name))

    def match(self, pattern: str) -> bool:
        """Whether the end of its name fits a pattern."""
        return self._path.match(pattern)

    def glob(self, pattern: str) -> Any:
        """Return the files of the directory whose names fit a pattern, or the file or directory of a name."""
        return (self / pattern).matches() if _MAGIC.search(pattern) else filter(Address.exists, [self / pattern])

    def relative_to(self, other: Any) -> Any:  # type: ignore[override]
        """Return the name in a directory."""
        return self._path.relative_to(other._path)

    def is_relative_to(self, other: Any, *_: Any) -> bool:
        """Whether a directory holds it."""
        if not isinstance(other, Address) or (self.start, self._root) != (other.start, other._root):
            return False
        return bool(self._path.is_relative_to(other._path))

    def resolve(self, strict: bool = False) -> Address:
        """Return the address: it has no links."""
        return self

    absolute = resolve

    def samefile(self, other: Any) -> bool:
        """Whether the other one has the same address."""
        return bool(self == other)

    def exists(self, **_: Any) -> bool:
        """Whether it is a file or a directory."""
        return bool(self._state()[0])

    def is_file(self, **_: Any) -> bool:
        """Whether it is a file."""
        return self._state()[0] == "File"

    def is_dir(self, **_: Any) -> bool:
        """Whether there are files whose names begin with it and a slash."""
        return self._state()[0] == "Directory"

    def stat(self, **_: Any) -> Any:
        """Return its size; raise FileNotFoundError if it does not exist."""
        kind, size = self._state()
        if not kind:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        return SimpleNamespace(st_size=size)

    def _state(self) -> tuple[str, int]:
        """Return its kind, ``"File"``, ``"Directory"`` or nothing, and its size."""
        with self.reached():
            info = self.filesystem.get_file_info(self.key)
        return ("" if info.type.name == "NotFound" else info.type.name), info.size or 0

    def native(self) -> pa.NativeFile:
        """Open it for reading at any place."""
        with self.reached():
            return self.filesystem.open_input_file(self.key)

    def open(self, *_: Any, **__: Any) -> Any:
        """Open it for reading, with a buffer."""
        return io.BufferedReader(_Bytes(self), BUFFER)

    def stamp(self) -> tuple[int, str]:
        """Return size and version (etag); one of them changes if the file is replaced."""
        with self.native() as file, self.reached():
            size = file.size()
            store = of_fsspec(self.filesystem)
            tag = "" if store is None else str(store.ukey(self.key))
            tag = tag or _text((file.metadata() or {}).get("ETag", ""))
        return size, tag or str(self.filesystem.get_file_info(self.key).mtime_ns)

    def files(self) -> list[tuple[Address, int]]:
        """List all files under the directory, with their sizes."""
        fs = import_module("pyarrow.fs")
        with self.reached():
            found = self.filesystem.get_file_info(fs.FileSelector(self.key, recursive=True, allow_not_found=True))
        return sorted((self._at(info.path), info.size or 0) for info in found if info.is_file)

    def iterdir(self) -> Any:
        """Yield the files under the directory."""
        return iter([path for path, _ in self.files()])

    def matches(self) -> list[Address]:
        """List the files that its name as a pattern stands for."""
        parts = self.parts
        plain = next(number for number, part in enumerate(parts) if _MAGIC.search(part))
        names = [path for path, _ in self._at(PurePosixPath(*parts[:plain])).files()]
        return [path for path in names if _matches(path.parts[plain:], parts[plain:])]

    def mkdir(self, *_: Any, **__: Any) -> None:
        """Do nothing: a directory is the beginning of its files' names."""

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file."""
        with self.reached():
            self.filesystem.delete_file(self.key)

    def remove_files(self) -> None:
        """Remove all files under the directory."""
        with self.reached():
            if len(self.parts) > 1:
                self.filesystem.delete_dir(self.key)
            else:  # of a bucket, which stays
                self.filesystem.delete_dir_contents(self.key, accept_root_dir=True)

    def check_store(self) -> None:
        """Raise if its bucket, or its container, does not exist."""
        bucket = self._at(self.parts[0])
        if of_fsspec(self.filesystem) is None and len(self.parts) > 1 and not bucket.exists():
            raise OutputError(f"cannot write {self}: {bucket} does not exist", "create it first, or name another one")

    def upload(self, file: Path) -> None:
        """Copy a local file to it, whole or not at all."""
        store = of_fsspec(self.filesystem)
        try:
            if store is None:
                with ThreadPoolExecutor(1) as pool:  # which no signal interrupts
                    pool.submit(self._send, file).result()
            else:
                with store.transaction:
                    store.put_file(str(file), self.key)
            if self.stat().st_size != file.stat().st_size:
                raise OSError("it has another size than the file that was sent")
        except OSError as error:
            raise OutputError(f"cannot write {self}: {self.shown(error)}", _HINT, option=(_HINT, _WORDS)) from None

    def _send(self, file: Path) -> None:
        """Write the bytes of a local file; a stream of PyArrow that is deleted after a fault completes its object."""
        output = self.filesystem.open_output_stream(self.key, compression=None)
        try:
            with file.open("rb") as stream:
                for number, piece in enumerate(iter(partial(stream.read, _SENT), b""), 1):
                    output.write(piece)
                    if not number % _WAITING:
                        output.flush()  # until it is sent, a piece is in memory
            output.close()
        except BaseException:
            with suppress(OSError):
                output.close()
                self.filesystem.delete_file(self.key)
            raise

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Context manager: name the address if the file system fails."""
        try:
            yield
        except (FileNotFoundError, OutputError):
            raise
        except OSError as error:
            message = f"{self}: cannot be reached ({self.shown(error)})"
            raise DfmstError(message, _HINT, option=(_HINT, _WORDS)) from None

    def shown(self, error: BaseException) -> str:
        """Return the first line of an error without credentials."""
        text = str(error).partition("\n")[0]
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


class _Bytes(io.RawIOBase):
    """The bytes of an object; an error of its store names it."""

    def __init__(self, address: Address) -> None:
        self._address, self._file = address, address.native()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        with self._address.reached():
            return int(self._file.readinto(buffer))

    def close(self) -> None:
        self._file.close()
        super().close()


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether parts of a name fit those of a pattern; ``**`` fits any number of them."""
    if not patterns:
        return not names
    if patterns[0] == "**":
        return any(_matches(names[skipped:], patterns[1:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], patterns[0]) and _matches(names[1:], patterns[1:])


def of_fsspec(filesystem: Any) -> Any:
    """Return the object of fsspec that PyArrow's file system calls, if it calls one."""
    return getattr(getattr(filesystem, "handler", None), "fs", None)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def scheme_of(name: Any) -> str | None:
    """Return the scheme of an address in small letters; ``None``: a name on this machine."""
    text = os.fspath(name) if isinstance(name, (str, os.PathLike)) else ""
    found = _ADDRESS.match(text) if isinstance(text, str) else None
    return None if found is None else found[1].lower()


def file_stamp(path: Path) -> tuple[Any, ...]:
    """Return the size of a file and its version: when it was written, or the etag of an object."""
    if isinstance(path, Address):
        return path.stamp()
    state = path.stat()
    return state.st_size, state.st_mtime_ns
