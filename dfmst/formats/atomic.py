"""Output files and directories that are either complete or absent.

Sealed files end with a digest of their name and content, which is checked before they are read.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from dfmst._common.directories import (
    SpillDirectory,
    TemporaryDirectory,
    cannot,
    is_trusted,
    naming,
    naming_full,
    remove_tree,
)
from dfmst.errors import OutputError
from dfmst.formats.files import FileName, open_native
from dfmst.formats.stores import COMPLETE, Address, path_of

# Letters of the name of a temporary file: file systems allow 255 bytes, and a letter has up to 4.
_LETTERS = 50
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


@contextmanager
def atomic_path(target: str | os.PathLike[str], *, own: bool = False) -> Iterator[Path]:
    """Yield a temporary file next to the target, and rename it to the target at the end.

    Parameters
    ----------
    target
        Path of the output. An older file stays until the new one is complete, which takes its mode and owner. Of a
        symbolic link the file is replaced. A device or a pipe is written directly. A file for an address is temporary,
        and uploaded at the end.
    own
        True if only this run writes to the directory of the target: a symbolic link is then not followed.

    Yields
    ------
    pathlib.Path
        The file to write; it exists and is empty.

    Raises
    ------
    OutputError
        If the target is a directory, its directory is missing or cannot be written, or the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "edges.csv") as path:
    ...         count = path.write_text("source,target")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['edges.csv']
    """
    path = path_of(target)
    if isinstance(path, Address):
        with _uploaded(path, os.fspath(target).endswith("/")) as part:
            yield part
        return
    if not own and path.exists() and not path.is_file() and not path.is_dir():
        # A rename would replace the device. The target of /dev/stdout may be a pipe, which has no path of its own.
        with naming_full(target):
            yield path
        return
    if path.is_dir() or os.fspath(target).endswith(_SEPARATORS):
        raise OutputError(f"{target} is a directory", "name a file in it")
    final = path if own else Path(os.path.realpath(target))
    before = final.stat() if final.exists() and not own else None
    with naming_full(target), ExitStack() as stack:
        try:
            if own:
                part = final.with_name(f".{final.name[:_LETTERS]}.{os.urandom(6).hex()}.part")
                stack.callback(part.unlink, missing_ok=True)
            else:
                part = _part(final, stack)
            # Not tempfile: its files are readable by their owner alone, and so would be the output.
            part.touch(exist_ok=False)
        except OSError as error:
            _check_parent(path)
            _check_parent(final)
            raise cannot(f"write {target}", target, error, "write to a directory of your own") from error
        yield part
        _copy_owner(part, before)
        part.replace(final)


@contextmanager
def _uploaded(target: Address, is_directory: bool) -> Iterator[Path]:
    """Yield a temporary file of this machine, and upload it at the end."""
    if is_directory or target.is_dir():
        raise OutputError(f"{target} is a directory", "name a file in it")
    target.check_store()
    folder = SpillDirectory(tempfile.gettempdir())
    try:
        part = folder.path / "output"
        part.touch()
        with naming_full(part):
            yield part
        target.upload(part)
    finally:
        folder.remove()


def _part(final: Path, stack: ExitStack) -> Path:
    """Return the path of a temporary output; the stack removes its directory, which is next to the output."""
    # The prefix and the suffix make the name longer.
    name = final.name if len(os.fsencode(final.name)) < 200 else final.name[:_LETTERS]
    folder = TemporaryDirectory(final.parent, f".{name}.", ".part")
    stack.callback(folder.remove)
    return folder.path / final.name


def _copy_owner(part: Path, before: os.stat_result | None) -> None:
    """Give an output the owner and the mode of the one that it replaces."""
    if before is None or not hasattr(os, "chown"):
        return
    mode = stat.S_IMODE(before.st_mode)
    for owner in (before.st_uid, -1):  # only root gives files away
        try:
            os.chown(part, owner, before.st_gid)
            break
        except OSError:
            continue
    else:
        mode = mode & ~0o070 | (mode & 0o007) << 3  # another group than before gets no more than everyone
    part.chmod(mode)


@contextmanager
def atomic_directory(target: FileName, token: str | None = None, note: Path | None = None) -> Iterator[Path]:
    """Yield a temporary directory next to the target, and rename it to the target at the end.

    With a token, several processes fill the same temporary directory, which its name contains. Objects cannot be
    renamed: a directory of them is complete if it holds the object ``_SUCCESS``. Until then a local file, the `note`,
    says that its objects are of this run, which may remove them.
    """
    check_directory(target, note=note)
    place = path_of(target)
    if isinstance(place, Address):
        if note is not None:
            note.touch()
        try:
            yield place
            with _uploaded(place / COMPLETE, False):
                pass
        except BaseException:
            place.remove_files()
            raise
        finally:
            if note is not None:
                note.unlink(missing_ok=True)
        return
    final = Path(os.path.realpath(target))
    before = final.stat() if final.exists() else None
    with ExitStack() as stack:
        with naming(f"write {target}", target, "write to a directory of your own"):
            if token is None:
                part = _part(final, stack)
            else:
                part = final.with_name(f".{final.name[:_LETTERS]}.{token}.part")
                stack.callback(remove_tree, part)
            part.mkdir(exist_ok=token is not None)
        if part.is_symlink():
            raise OutputError(f"{part} is a symbolic link", "remove it, or name another directory")
        yield part
        _copy_owner(part, before)
        part.rename(final)


def check_file(target: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise, before anything is read, if a file cannot be written later.

    Parameters
    ----------
    target
        The file.
    inputs
        Files that must not be written over, and directories that must not get another file.

    Raises
    ------
    OutputError
        If its directory is missing, it is a directory itself or one of the inputs, or it is inside one of them.
    """
    path = path_of(target)
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a directory", "name a file in it")
    _check_parent(path)
    for other in map(path_of, inputs):
        if type(path) is type(other) and other.exists() and path.exists() and path.samefile(other):
            raise OutputError(f"{path} is also an input ({other})", "write to another file")
        _check_outside(path, other)


def check_page(target: str | os.PathLike[str]) -> None:
    """Raise if the name of a report says that it is something else than a page."""
    path = path_of(target)
    if path.suffix.lower() not in ("", ".html", ".htm", ".xhtml"):
        message = f"cannot write {path}: a report is a page of HTML, and the name ends in {path.suffix}"
        raise OutputError(message, "end it in .html; a browser saves the page as PDF or picture, -o of forest the rows")


def _check_parent(path: Path) -> None:
    if isinstance(path, Address):
        path.check_store()
    elif not path.parent.is_dir():
        exists = path.parent.exists()
        reason = f"{path.parent} is not a directory" if exists else f"the directory {path.parent} does not exist"
        raise OutputError(f"cannot write {path}: {reason}", "create the directory first, or name another")


def _check_outside(path: Path, other: Path) -> None:
    """Raise if a path is inside an input directory: the next run would read it."""
    if type(path) is type(other) and other.is_dir() and path.resolve().is_relative_to(other.resolve()):
        raise OutputError(f"{path} is inside the input directory {other}", "write to another directory")


def check_directory(target: FileName, inputs: Iterable[FileName] = (), *, note: Path | None = None) -> None:
    """Raise if a directory cannot be created at a path: it exists and is not empty, or its parent is missing.

    A run that resumes finds the objects that it has written, if they are not complete, and if the `note` says so.
    """
    path = path_of(target)
    _check_parent(path)
    left = note is not None and note.exists() and isinstance(path, Address) and not (path / COMPLETE).exists()
    if not left and path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise OutputError(f"cannot write {path}: it exists", "remove it first, or name another directory")
    for other in map(path_of, inputs):
        _check_outside(path, other)


_DIGEST = 32  # bytes
_PIECE = 1 << 20  # bytes that are hashed at a time


class BrokenSealError(ValueError):
    """The digest of a file is wrong: it was changed, cut, renamed, or never had one."""


class SealedOutput:
    """Writable file for PyArrow that hashes its content."""

    closed = False

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self.hash = file, _hash_of_name(name)

    def write(self, content: Any) -> int:
        """Write and hash bytes."""
        self.hash.update(content)
        return self._file.write(content)

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""


@contextmanager
def sealed_output(path: str | os.PathLike[str]) -> Iterator[SealedOutput]:
    """Yield a file to write; it appears at the path, with its digest, only when it is complete."""
    with atomic_path(path, own=True) as part, part.open("wb") as file:
        sink = SealedOutput(file, Path(path).name)
        yield sink
        file.write(sink.hash.digest())


@contextmanager
def sealed_input(path: str | os.PathLike[str]) -> Iterator[tuple[pa.NativeFile, int]]:
    """Check the digest of a file; yield the file at its beginning, and the number of bytes before the digest."""
    if not is_trusted(Path(path)):
        raise BrokenSealError(f"{path} is not a file of this user")
    with open_native(path) as file:
        size = file.size() - _DIGEST
        digest = _hash_of_name(Path(path).name)
        for begin in range(0, size, _PIECE):
            digest.update(file.read_buffer(min(_PIECE, size - begin)))
        if size < 0 or file.read() != digest.digest():
            raise BrokenSealError(f"{path} has a wrong digest")
        file.seek(0)
        yield file, size


def _hash_of_name(name: str) -> Any:
    """Return a hash that starts with the name of the file, so that a renamed file is refused."""
    import hashlib  # it loads OpenSSL

    return hashlib.blake2b(os.fsencode(name), digest_size=_DIGEST)
