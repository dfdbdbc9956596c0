"""Allocators: CuPy's pools, which keep what they have, and any other, which asks the driver for each array."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.gpu.standin.cupy import placement
from tests.support.gpu.standin.cupy.device import MEMORY, OutOfMemoryError, driver_memory

_ROUND = 512  # a pool's memory comes in multiples of so many bytes
#: Moments of allocations and events: an event knows of all memory that was handed out before it.
clock = itertools.count(1)


class MemoryPool:
    """A pool: what is given back waits for the next array of its size."""

    def __init__(self, allocator: Any = None) -> None:
        self.limit = MEMORY
        self.used = 0
        self.peak = 0
        self._free: Counter[int] = Counter()
        self._free_bytes = 0  # counted, since a collection of garbage may give memory back at any time

    def set_limit(self, size: int) -> None:
        self.limit = size or MEMORY

    def get_limit(self) -> int:
        """0 where there is none."""
        return 0 if self.limit == MEMORY else self.limit

    def malloc(self, size: int) -> Any:
        """Never called, but known as an allocator."""
        raise NotImplementedError(size)

    def used_bytes(self) -> int:
        return self.used

    def free_bytes(self) -> int:
        """Bytes that the pool holds and nobody uses."""
        return self._free_bytes

    def total_bytes(self) -> int:
        return self.used + self.free_bytes()

    def free_all_blocks(self) -> None:
        driver_memory.give(self.free_bytes())
        self._free.clear()
        self._free_bytes = 0

    def take(self, size: int) -> None:
        if self._free[size]:
            self._free[size] -= 1
            self._free_bytes -= size
        else:
            if self.total_bytes() + size > self.limit:
                self.free_all_blocks()
            if self.used + size > self.limit:
                raise OutOfMemoryError(size, self.used, self.limit)
            driver_memory.take(size)
        self.used += size
        self.peak = max(self.peak, self.used)

    def give(self, size: int) -> None:
        self.used -= size
        self._free[size] += 1
        self._free_bytes += size


_default = MemoryPool()
#: The allocators that were set, the last one last.
allocators: list[Any] = []
_thread = threading.local()


def get_default_memory_pool() -> MemoryPool:
    return _default


def get_allocator() -> Any:
    """The allocator of this thread."""
    chosen = getattr(_thread, "chosen", [])
    return chosen[-1] if chosen else allocators[-1] if allocators else _default.malloc


def set_allocator(allocator: Any) -> None:
    allocators.append(allocator)


@contextmanager
def using_allocator(allocator: Any) -> Iterator[None]:
    _thread.chosen = [*getattr(_thread, "chosen", []), allocator]
    try:
        yield
    finally:
        _thread.chosen = _thread.chosen[:-1]


class Memory:
    """A piece of a device's memory, given back when the last array over it is gone."""

    def __init__(self, size: int) -> None:
        size = -(-size // _ROUND) * _ROUND
        pool = getattr(get_allocator(), "__self__", None)
        owner = pool if isinstance(pool, MemoryPool) else driver_memory
        if size:
            owner.take(size)
            weakref.finalize(self, owner.give, size)
        self.device = placement.current()
        self.moment = next(clock)


def reset() -> None:
    """No limit, nothing kept, CuPy's own pool."""
    _default.set_limit(0)
    _default.free_all_blocks()
    _default.peak = _default.used
    allocators.clear()
    driver_memory.mallocs.clear()
