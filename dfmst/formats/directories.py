"""Directories that one run uses at a time: temporary ones, and those of checkpoints.

The run holds a lock on a file in the directory. The file says who made the directory, so that a later run removes what
a killed one has left, and nothing else.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import socket
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from dfmst.errors import OutputError, no_space

_LOCK = ".lock"
_OURS = b"dfmst"  # first word of a lock's file
_LONGEST = 1024  # bytes of a lock's file that are read
_BUSY = (errno.EACCES, errno.EAGAIN)
_FAR = 1 << 30
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)
# A pipe would wait for its other end, and a symbolic link may name any file of the user's.
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class TemporaryDirectory:
    """A directory of a run's own, for this user alone. It is removed by :meth:`remove`, else with this object.

    Attributes
    ----------
    path
        The directory.
    """

    def __init__(self, parent: str | os.PathLike[str], prefix: str, suffix: str = "") -> None:
        _remove_stale(parent, prefix)
        self.path = Path(tempfile.mkdtemp(suffix, prefix, parent))
        self._numbers = itertools.count()  # several threads may ask
        lock = ExitStack()
        self._remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())
        try:
            lock.enter_context(sole_use(self.path, self.path.name))
        except BaseException:
            self._remove()
            raise

    def new_name(self) -> str:
        """Return the beginning of a path that no other file has."""
        return str(self.path / f"{next(self._numbers)}")

    def remove(self) -> None:
        """Remove the directory and all that is in it."""
        self._remove()


class SpillDirectory(TemporaryDirectory):
    """A temporary directory for rows."""

    def __init__(self, parent: str | os.PathLike[str]) -> None:
        with disk_errors(Path(parent)):
            Path(parent).mkdir(0o700, parents=True, exist_ok=True)
            super().__init__(parent, "dfmst-spill-")


def private_directory(directory: str | os.PathLike[str]) -> Path:
    """Make a directory of checkpoints, for this user alone, and return its absolute path.

    One that exists keeps its mode.
    """
    path = Path(directory).absolute()
    try:
        path.mkdir(0o700, parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name that no system takes
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise no_space(directory) from error
        reason = getattr(error, "strerror", None) or error
        hint = "name a directory that you, and every worker, can write to"
        raise OutputError(f"cannot use {directory} for checkpoints: {reason}", hint) from error
    return path


def removed_with(owner: object, paths: Sequence[Path]) -> Callable[[], object]:
    """Remove files when the result is called, else with their owner."""
    return weakref.finalize(owner, _remove_files, list(paths), os.getpid())


@contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Name the directory if its disk is full or has another fault."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        if error.errno == errno.ENOSPC:
            raise no_space(f"temporary files in {place}") from error
        reason = error.strerror or str(error)
        raise OutputError(f"cannot keep temporary files in {place}: {reason}", "name another directory") from error


def _remove_stale(parent: str | os.PathLike[str], prefix: str) -> None:
    """Remove directories that killed runs have left: this user's, locked by nobody, with their names in their locks."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_stale(Path(entry))


def _remove_if_stale(path: Path) -> None:
    lock = os.open(path / _LOCK, os.O_RDWR | _SAFELY)
    try:
        owners = {path.lstat().st_uid, os.fstat(lock).st_uid}
        if owners == {_user()} and _words(lock)[3:] == [os.fsencode(path.name)] and _lock(lock):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def is_trusted(path: Path, state: os.stat_result | None = None) -> bool:
    """Whether a path is a file (no link) of this user, or of the owner of its directory."""
    state = state or path.lstat()
    # File systems that map users give a user's files another owner, which is that of the directory, too.
    return stat.S_ISREG(state.st_mode) and state.st_uid in (_user(), path.parent.stat().st_uid)


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0  # Windows says that user 0 owns every file


@contextmanager
def sole_use(folder: str | os.PathLike[str], token: str = "") -> Iterator[None]:
    """Keep other runs out of a directory meanwhile.

    The operating system ends the lock with the process, however that ends: a run that was killed keeps nobody out.
    """
    path = Path(folder) / _LOCK
    try:
        lock = _locked(path, token)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        if error.errno == errno.ENOSPC:
            raise no_space(folder) from error
        message = f"cannot lock {folder}: {error.strerror or error}"
        raise OutputError(message, "name a directory that you can write to") from error
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file; one that stays is locked again as it is
            path.unlink()
        os.close(lock)


class Hold:
    """Sole use of a directory until it is released, or while this object lives.

    A later hold of the same process takes the directory over, unless this one is busy: whoever repeats a call must not
    be kept out by what the first one returned.

    Attributes
    ----------
    valid
        Whether the directory is still this one's.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._place = Path(os.path.realpath(folder))
        idle = _IDLE.pop(self._place, None)
        if idle is not None:
            idle.release()
        self._lock = ExitStack()
        self._lock.enter_context(sole_use(folder))
        self.valid = True

    def release(self) -> None:
        """Let others have the directory."""
        self.valid = False
        self._lock.close()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Let nobody take the directory over meanwhile."""
        if self.valid:
            _IDLE.pop(self._place, None)
        try:
            yield
        finally:
            if self.valid:
                _IDLE[self._place] = self


_IDLE: WeakValueDictionary[Path, Hold] = WeakValueDictionary()


def _locked(path: Path, token: str) -> int:
    """Open and lock the file, and say in it whose it is. A file that is not ours is left as it is."""
    while True:
        lock = _opened(path)
        try:
            _lock_at_once(lock, path)
            if _is_there(path, lock):
                state = os.fstat(lock)  # another link may name any file of the user's
                if state.st_nlink > 1 or not is_trusted(path, state) or _words(lock)[:1] not in ([], [_OURS]):
                    raise _foreign(path)
                try:
                    _sign(lock, token)
                except BaseException:
                    path.unlink()
                    raise
                return lock
        except BaseException:
            os.close(lock)
            raise
        # The run that held it has removed the file between our two calls.
        os.close(lock)


def _opened(path: Path) -> int:
    while True:
        with suppress(FileExistsError):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFELY, 0o600)
        try:
            return os.open(path, os.O_RDWR | _SAFELY)
        except FileNotFoundError:
            if path.is_symlink():
                raise _foreign(path) from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise _foreign(path) from error
            raise


def _foreign(path: Path) -> OutputError:
    return OutputError(f"{path} is not a lock of dfmst, or of another user", "name another directory")


def _lock_at_once(lock: int, path: Path) -> None:
    try:
        _lock(lock)
    except OSError as error:
        if error.errno not in _BUSY:
            raise
        words = _words(lock)
        holder = f" by process {words[1].decode()} on {words[2].decode()}" if words[:1] == [_OURS] else ""
        message = f"{path.parent} is in use{holder}"
        raise OutputError(message, "wait until that run has ended, or name another directory") from error


def _lock(lock: int) -> bool:
    """Lock an open file; false if the file system has no locks."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(lock, _FAR, os.SEEK_SET)  # the locked byte cannot be read
        msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        return True
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems have no locks; whoever starts runs there keeps them apart.
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _sign(lock: int, token: str) -> None:
    words = (_OURS, str(os.getpid()).encode(), socket.gethostname().encode(), os.fsencode(token))
    os.ftruncate(lock, 0)
    os.lseek(lock, 0, os.SEEK_SET)
    os.write(lock, b" ".join(words))


def _words(lock: int) -> list[bytes]:
    """Words of a lock's file: ours, the process, its host, and the token."""
    os.lseek(lock, 0, os.SEEK_SET)
    content = os.read(lock, _LONGEST)
    return content.split(b" ", 3) if content else []


def _is_there(path: Path, lock: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(lock))
    except FileNotFoundError:
        return False


def _remove_files(paths: list[Path], process: int) -> None:
    if process == os.getpid():  # a forked process does not own them
        for path in paths:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _remove(path: Path, lock: ExitStack, process: int) -> None:
    if process == os.getpid():  # a forked process does not own it
        try:
            shutil.rmtree(path, ignore_errors=True)
        finally:
            lock.close()
            shutil.rmtree(path, ignore_errors=True)  # what an interrupt, or a file that was open, has left
