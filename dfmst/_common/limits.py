"""What this machine gives to this process: memory that is free, and threads."""

from __future__ import annotations

import _thread
import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import cache

from dfmst._common.progress import machine_memory

_MOST = 32  # processors that are counted
_STACK = 72 << 20  # addresses that a thread takes: 8 MiB for its stack, and 64 for small objects


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


_CGROUPS = "/sys/fs/cgroup"


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
