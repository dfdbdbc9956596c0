"""Files of a process: on a cluster in its worker's own directory."""

from __future__ import annotations

import os
import sys
import tempfile
import threading

from dfmst.formats.directories import SpillDirectory

_lock = threading.Lock()
_directories: dict[tuple[int, str], LocalDirectory] = {}


class LocalDirectory(SpillDirectory):
    """The directory of whichever process the object is in: what travels with it is written there."""

    def __reduce__(self) -> tuple[object, ...]:
        """Stand for the directory of the process that gets it."""
        return local_directory, ()


def local_directory() -> LocalDirectory:
    """Return the directory for this process's files, which is removed with the process."""
    parent = _parent()
    with _lock:
        key = (os.getpid(), parent)
        if key not in _directories or not _directories[key].path.exists():
            _directories[key] = LocalDirectory(parent)
        return _directories[key]


def _parent() -> str:
    if "distributed" in sys.modules:
        from distributed import get_worker

        try:
            return str(get_worker().local_directory)
        except (AttributeError, ValueError):  # no worker's process
            pass
    return tempfile.gettempdir()
