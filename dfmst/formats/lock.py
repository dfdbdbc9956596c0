"""A directory that one run uses at a time."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from dfmst.errors import OutputError

__all__ = ["Hold", "sole_use"]

_NAME = ".lock"
_BUSY = (errno.EACCES, errno.EAGAIN)
_FAR = 1 << 30
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)


@contextmanager
def sole_use(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other runs out of a directory meanwhile.

    The operating system ends the lock with the process, however that ends: a run that was killed keeps nobody out.

    Parameters
    ----------
    folder
        The directory; the lock is a hidden file in it, which says whose it is.

    Raises
    ------
    OutputError
        Another run uses the directory, or the lock cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, sole_use(folder):
    ...     with sole_use(folder):
    ...         pass
    Traceback (most recent call last):
    dfmst.errors.OutputError: ... is in use by process ... on ...
    Hint: wait until that run has ended, or name another directory
    """
    path = Path(folder) / _NAME
    try:
        lock = _locked(path)
    except OSError as error:
        if error.errno in _BUSY:
            message = f"{folder} is in use{_holder(path)}"
            raise OutputError(message, "wait until that run has ended, or name another directory") from error
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

    Parameters
    ----------
    folder
        The directory.

    Attributes
    ----------
    valid
        Whether the directory is still this one's.

    Raises
    ------
    OutputError
        As for :func:`sole_use`.
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


def _locked(path: Path) -> int:
    """Open and lock the file, and say in it whose it is."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(lock)
            if _is_there(path, lock):
                os.ftruncate(lock, 0)
                os.write(lock, f"{os.getpid()} {socket.gethostname()}\n".encode())
                return lock
        except BaseException:
            os.close(lock)
            raise
        # The run that held it has removed the file between our two calls.
        os.close(lock)


def _lock(lock: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(lock, _FAR, os.SEEK_SET)  # what is locked there cannot be read
        msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        os.lseek(lock, 0, os.SEEK_SET)
        return
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems have no locks; runs there are kept apart by whoever starts them.
        if error.errno not in _NO_LOCKS:
            raise


def _is_there(path: Path, lock: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(lock))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    try:
        words = path.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return ""
    return f" by process {words[0]} on {words[1]}" if len(words) == 2 else ""
