"""Memory and threads of this machine and of this process, and the progress bar that shows them next to the rows."""

from __future__ import annotations

import _thread
import ctypes
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import Any, TypeAlias

from dfmst.errors import printable

#: Progress callback: takes the number of rows done and of all rows (``None``: unknown).
Tell: TypeAlias = Callable[[int, int | None], None]

_MOST = 32  # processors that are counted
_STACK = 72 << 20  # addresses that a thread takes: 8 MiB for its stack, and 64 for small objects
_CGROUPS = "/sys/fs/cgroup"
_WIDE = 88  # columns of a terminal that shows the memory, too


@cache
def has_threads() -> bool:
    """Whether this process can start the threads of all libraries: some end the process if they cannot.

    NumPy, PyArrow and dfmst start one for each processor, PyArrow eight more, and a stream three.
    """
    count, addresses = 3 * min(os.cpu_count() or 1, _MOST) + 11, _free_addresses()
    if addresses is not None and addresses < count * _STACK:
        return False
    wait = _thread.allocate_lock()

    def end() -> None:
        with wait:
            pass

    with wait:
        try:
            for _ in range(count):
                _thread.start_new_thread(end, ())
        except RuntimeError:
            return False
    return True


def free_memory() -> int | None:
    """Return the bytes that this process may still take; ``None`` if the system does not report it.

    It is the least of the machine's, those of its control groups (versions 1 and 2), and those of its address space.
    Caches of files count as free. A system that reports only the size of its memory has all of it free.
    """
    free = [machine_memory()]
    with suppress(OSError, ValueError, StopIteration), open("/proc/meminfo", encoding="ascii") as file:
        free.append(next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:")))
    with suppress(OSError, ValueError), open("/proc/self/cgroup", encoding="utf-8") as file:
        for _, kinds, group in (line.rstrip("\n").split(":", 2) for line in file):
            if kinds in ("", "memory"):
                free += _free_in_groups(os.path.join(_CGROUPS, kinds), group)
    free.append(_free_addresses())
    known = [size for size in free if size is not None]
    return max(0, min(known)) if known else None


def _free_addresses() -> int | None:
    """Return the bytes that the limit of this process's addresses leaves; ``None`` without a limit."""
    with suppress(ImportError, OSError, ValueError, AttributeError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            with open("/proc/self/statm", encoding="ascii") as file:
                return limit - int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_in_groups(folder: str, group: str) -> Iterator[int]:
    """Yield the bytes that a control group and those above it leave free; in a container their names are hidden."""
    names = ("memory.max", "memory.current", "")
    if folder.endswith("memory"):
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
    parts = [part for part in group.split("/") if part]
    for depth in range(len(parts) + 1):
        place = os.path.join(folder, *parts[:depth])
        with suppress(OSError, ValueError), ExitStack() as stack:
            files = [stack.enter_context(open(os.path.join(place, name), encoding="ascii")) for name in names[:2]]
            limit, taken = (int(file.read()) for file in files)  # "max" is no limit
            stat = stack.enter_context(open(os.path.join(place, "memory.stat"), encoding="ascii"))
            cached = (f"{names[2]}active_file", f"{names[2]}inactive_file")
            yield limit - taken + sum(int(size) for name, size in map(str.split, stat) if name in cached)


def memory_now() -> int:
    """Return the memory of this process in bytes; 0 if the system does not report it."""
    with suppress(OSError, ValueError, IndexError, AttributeError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def machine_memory() -> int | None:
    """Return the memory of this machine in bytes; ``None`` if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; ``None`` if the system does not report it."""
    with suppress(OSError, ValueError, IndexError, StopIteration), open("/proc/self/status", "rb") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(b"VmHWM:"))
    # On Linux, POSIX's peak includes the memory of the parent when it started this program.
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else 1024 * peak)


def trim_memory() -> None:
    """Give freed memory back to the system: Arrow and the C library keep it for later, and other processes wait."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(OSError, TypeError, AttributeError):  # other C libraries than GNU's
        ctypes.CDLL(None).malloc_trim(0)


class RowBar:
    """Progress callback that draws a bar from the first rows on: rows, rows a second, time left, memory in use."""

    def __init__(self, doing: str, limit: int | None = None, unit: str = "rows") -> None:
        self._doing, self._limit, self._unit = doing, limit, unit
        self._bar: Any = None

    def __call__(self, done: int, total: int | None = None) -> None:
        """Show the number of rows done."""
        first = self._bar is None
        if first:
            self._bar = self._open(done, total)
        if total != self._bar.total:
            self._bar.total = total
        if self._limit is not None and shutil.get_terminal_size().columns >= _WIDE:
            used = memory_now()
            self._bar.postfix = f"{used >> 20:,} of {self._limit >> 20:,} MiB" if used else None
        self._bar.update(done - self._bar.n)
        if first:
            self._bar.refresh()

    def _open(self, done: int, total: int | None) -> Any:
        # A narrow terminal cuts the end off.
        form = "{desc} {percentage:3.0f} % {remaining} left |{bar}| {n_fmt} of {total_fmt} {rate_fmt}{postfix}"
        form = form if total else "{desc} {n_fmt}{unit}, {rate_fmt}{postfix}"
        looks = {"file": sys.stderr, "dynamic_ncols": True, "leave": False, "bar_format": form}
        unit = f" {self._unit}"
        return _bar_class()(total=total, initial=done, desc=printable(self._doing), unit=unit, unit_scale=True, **looks)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _bar_class() -> Any:
    """Tqdm's bar without its thread and its lock between processes, neither of which survives a fork."""
    with warnings.catch_warnings():  # tqdm advises notebooks without widgets, which show text
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm as base

    class Bar(base):  # type: ignore[misc]
        monitor_interval = 0

    Bar.set_lock(threading.RLock())
    return Bar


@contextmanager
def showing(progress: object, doing: str, limit: int | None = None) -> Iterator[Tell]:
    """Context manager: yield a progress callback, which is a bar, the caller's own function, or does nothing."""
    if progress is True:
        bar = RowBar(doing, limit)
        try:
            yield bar
        finally:
            bar.close()
    elif progress is None or progress is False:
        yield lambda done, total: None
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress is a {type(progress).__name__}; it must be True, or a function of two numbers")
