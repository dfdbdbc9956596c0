"""A directory of temporary files, which goes with its run."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dfmst.errors import OutputError
from dfmst.formats.lock import sole_use

__all__ = ["SpillDirectory", "disk_errors", "removed_with"]

_PREFIX = "dfmst-spill-"
_YOUNG = 60.0  # seconds: a directory that another run has just made may not be locked yet


class SpillDirectory:
    """A directory of a run's own. It is removed by :meth:`remove`, else with this object or the process.

    Parameters
    ----------
    parent
        Where to make it. What killed runs have left there is removed.

    Raises
    ------
    OutputError
        It cannot be made.
    """

    def __init__(self, parent: str | os.PathLike[str]) -> None:
        folder = Path(parent)
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            _remove_stale(folder)
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
        lock = ExitStack()
        lock.enter_context(sole_use(self.path))
        self._numbers = itertools.count()  # several threads may ask
        self._remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def new_name(self) -> str:
        """Return the beginning of a path that no other file has."""
        return str(self.path / f"{next(self._numbers)}")

    def remove(self) -> None:
        """Remove the directory and all that is in it."""
        self._remove()


def removed_with(owner: object, paths: Sequence[Path]) -> Callable[[], object]:
    """Remove files when the result is called, else with their owner."""
    return weakref.finalize(owner, _remove_files, list(paths), os.getpid())


@contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Say which directory a disk that is full, or another fault of it, was met at.

    Raises
    ------
    OutputError
        In place of the system's own error.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        if error.errno == errno.ENOSPC:
            message = f"no space left on device: the temporary files in {place} do not fit"
            full = OutputError(message, "free some space, or name a directory on a larger disk")
            full.errno = errno.ENOSPC
            raise full from error
        reason = error.strerror or str(error)
        raise OutputError(f"cannot keep temporary files in {place}: {reason}", "name another directory") from error


def _remove_stale(folder: Path) -> None:
    """Remove the directories of runs that have ended without: nobody holds their locks."""
    for path in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if (path / ".lock").exists() and time.time() - path.stat().st_mtime > _YOUNG:
                with sole_use(path):
                    pass
                shutil.rmtree(path, ignore_errors=True)


def _remove_files(paths: list[Path], process: int) -> None:
    if process == os.getpid():  # a forked process does not own them
        for path in paths:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _remove(path: Path, lock: ExitStack, process: int) -> None:
    if process == os.getpid():  # a forked process does not own it
        lock.close()
        shutil.rmtree(path, ignore_errors=True)
