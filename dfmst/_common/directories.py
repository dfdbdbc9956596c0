"""Directories that one run uses at a time: temporary ones, and those of checkpoints.

The run locks a file in the directory. The file names the process that made the directory, so that a later run removes
only directories of processes that were killed.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from dfmst.errors import OutputError, no_space

_LOCK = ".lock"
_OURS = b"dfmst"  # first word of a lock file
_ATTEMPTS = 10  # to make a directory
_REMOVALS = 12  # attempts to remove a directory, in two seconds
_PAUSE = 0.03  # seconds before the second of them, and as many more before each later one
_LONGEST = 1024  # bytes of a lock file that are read
_BUSY = (errno.EACCES, errno.EAGAIN)
_FAR = 1 << 30
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)
# A pipe would block, and a symbolic link may point to any file of the user.
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class TemporaryDirectory:
    """A directory of one run that only this user can read, removed by :meth:`remove` or with this object."""

    def __init__(self, parent: str | os.PathLike[str], prefix: str, suffix: str = "") -> None:
        _remove_stale(parent, prefix, suffix)
        self._numbers = itertools.count()  # several threads may ask
        # Before it is locked, another run may remove the new directory, as if a killed run had left it.
        for attempt in reversed(range(_ATTEMPTS)):
            self.path = Path(tempfile.mkdtemp(suffix, prefix, parent))
            lock = ExitStack()
            self._remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())
            try:
                lock.enter_context(sole_use(self.path, self.path.name))
                break
            except BaseException as error:
                self._remove()
                if not attempt or not isinstance(error.__cause__, (FileNotFoundError, BlockingIOError)):
                    raise

    def new_name(self) -> str:
        """Return the beginning of an unused path."""
        return str(self.path / f"{next(self._numbers)}")

    def remove(self) -> None:
        """Remove the directory and its files."""
        self._remove()


class SpillDirectory(TemporaryDirectory):
    """A temporary directory for rows."""

    def __init__(self, parent: str | os.PathLike[str]) -> None:
        with disk_errors(Path(parent)):
            Path(parent).mkdir(0o700, parents=True, exist_ok=True)
            super().__init__(parent, "dfmst-spill-")


def cannot(do: str, place: object, error: OSError | ValueError, hint: str) -> OutputError:
    """Build the error for a place that cannot be written; that of a full disk is the same for all."""
    return no_space(place, error) or OutputError(f"cannot {do}: {getattr(error, 'strerror', None) or error}", hint)


@contextmanager
def naming(do: str, place: object, hint: str) -> Iterator[None]:
    """Name the place of an error of the operating system."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise cannot(do, place, error, hint) from error


@contextmanager
def naming_full(place: object = None) -> Iterator[None]:
    """Name a place, or temporary files, if it takes no more bytes. Other errors may be those of a file that is read."""
    try:
        yield
    except OSError as error:
        full = no_space(place or f"temporary files in {tempfile.gettempdir()}", error)
        if isinstance(error, OutputError) or full is None:
            raise
        raise full from error


def disk_errors(place: Path) -> AbstractContextManager[None]:
    """Context manager: name the directory if its disk is full or has another fault."""
    what = f"temporary files in {place}"
    return naming(f"write {what}", what, "name another directory")


def _remove_stale(parent: str | os.PathLike[str], prefix: str, suffix: str) -> None:
    """Remove the directories of killed runs: of this user, not locked, and empty or named in their own lock."""
    made = re.compile(f"{re.escape(prefix)}[a-z0-9_]{{8}}{re.escape(suffix)}")  # names of mkdtemp
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if made.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_stale(Path(entry))


def _remove_if_stale(path: Path) -> None:
    owner = path.lstat().st_uid
    if owner == _user() and not os.listdir(path):
        path.rmdir()  # of a run that was killed before it locked its directory, or at its end
        return
    lock = os.open(path / _LOCK, os.O_RDWR | _SAFELY)
    try:
        owners = {owner, os.fstat(lock).st_uid}
        words = _words(lock)
        ours = words[3:] == [os.fsencode(path.name)] or (not words and os.listdir(path) == [_LOCK])
        if owners == {_user()} and ours and _lock(lock, path / _LOCK):
            _remove_content(path)
            (path / _LOCK).unlink()
            path.rmdir()
    finally:
        os.close(lock)


def _remove_content(path: Path) -> None:
    """Remove all but the lock: a directory without it, of a run that is killed now, would stay."""
    with suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != _LOCK:
                with suppress(OSError):
                    os.unlink(entry)


def is_trusted(path: Path, state: os.stat_result | None = None) -> bool:
    """Return whether a path is a regular file of this user or of the owner of its directory."""
    state = state or path.lstat()
    # File systems that map users show another owner, the same for the directory and its files.
    return stat.S_ISREG(state.st_mode) and state.st_uid in (_user(), path.parent.stat().st_uid)


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0  # on Windows user 0 owns every file


@contextmanager
def sole_use(folder: str | os.PathLike[str], token: str = "") -> Iterator[None]:
    """Lock a directory against other runs; the operating system removes the lock of a killed process."""
    path = Path(folder) / _LOCK
    with naming(f"lock {folder}", folder, "name a directory that you can write to"):
        lock = _locked(path, token)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not remove open files; the next lock reuses it
            path.unlink()
        os.close(lock)


def _locked(path: Path, token: str) -> int:
    """Open and lock the file, and write our process into it; a file of another origin is not changed."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | _SAFELY, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _foreign(path) from error
        raise
    try:
        _lock(lock, path)
        state = os.fstat(lock)  # a hard link may point to any file of the user
        if state.st_nlink > 1 or not is_trusted(path, state) or _words(lock)[:1] not in ([], [_OURS]):
            raise _foreign(path)
        with suppress(FileNotFoundError):
            if os.path.samestat(path.lstat(), state):
                return _signed(lock, path, token)
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)  # of a file that another run has removed between our two calls
    return _locked(path, token)


def _signed(lock: int, path: Path, token: str) -> int:
    """Write our process into a lock; if the disk is full, the file is removed."""
    try:
        os.ftruncate(lock, 0)
        os.lseek(lock, 0, os.SEEK_SET)
        os.write(lock, b" ".join((_OURS, *map(os.fsencode, (str(os.getpid()), socket.gethostname(), token)))))
    except BaseException:
        path.unlink()
        raise
    return lock


def _foreign(path: Path) -> OutputError:
    return OutputError(f"{path} is not a lock of dfmst, or of another user", "name another directory")


def _lock(lock: int, path: Path) -> bool:
    """Lock an open file; return false if the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(lock, _FAR, os.SEEK_SET)  # the locked byte cannot be read
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems have no locks; their users must not start two runs in one directory.
        if error.errno in _NO_LOCKS:
            return False
        if error.errno not in _BUSY:
            raise
        words = _words(lock)
        holder = f" by process {words[1].decode()} on {words[2].decode()}" if words[:1] == [_OURS] else ""
        message = f"{path.parent} is in use{holder}"
        raise OutputError(message, "wait until that run has ended, or name another directory") from error
    return True


def _words(lock: int) -> list[bytes]:
    """Words of a lock file: dfmst, the process, its host, the token."""
    os.lseek(lock, 0, os.SEEK_SET)
    content = os.read(lock, _LONGEST)
    return content.split(b" ", 3) if content else []


def _remove(path: Path, lock: ExitStack, process: int) -> None:
    if process == os.getpid():  # a forked process does not own it
        try:
            _remove_content(path)
        finally:
            lock.close()
            remove_tree(path)  # files that were open, or remain after an interrupt


def remove_tree(path: Path) -> None:
    """Remove a directory in which others may still write: each file that they add takes another attempt."""
    for attempt in range(_REMOVALS):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return
        time.sleep(_PAUSE * attempt)
