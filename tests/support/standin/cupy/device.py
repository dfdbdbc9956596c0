"""The device's memory, and what is copied to it and from it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MEMORY", "Memory", "OutOfMemoryError", "get_default_memory_pool", "reset", "traffic"]

MEMORY = 1 << 34  # bytes of the device


class OutOfMemoryError(MemoryError):
    """With CuPy's words."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        super().__init__(
            f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes, "
            f"limit set to: {limit:,} bytes)."
        )


@dataclass
class Traffic:
    """Bytes of each copy between host and device since the last reset."""

    to_device: list[int] = field(default_factory=list)
    to_host: list[int] = field(default_factory=list)

    def reset(self) -> None:
        self.to_device.clear()
        self.to_host.clear()

    def columns(self, least: int) -> list[int]:
        """Copies of at least so many bytes, in either direction."""
        return [size for size in (*self.to_device, *self.to_host) if size >= least]


class Pool:
    """The memory pool."""

    def __init__(self) -> None:
        self.limit = MEMORY
        self.used = 0
        self.peak = 0

    def set_limit(self, size: int) -> None:
        self.limit = size or MEMORY

    def malloc(self, size: int) -> Any:
        """Never called, but known to be the default allocator."""
        raise NotImplementedError(size)

    def used_bytes(self) -> int:
        return self.used

    def free_bytes(self) -> int:
        """Bytes that the pool holds and nobody uses: none, it gives all back at once."""
        return 0

    def take(self, size: int) -> None:
        if self.used + size > self.limit:
            raise OutOfMemoryError(size, self.used, self.limit)
        self.used += size
        self.peak = max(self.peak, self.used)

    def give(self, size: int) -> None:
        self.used -= size


traffic = Traffic()
_pool = Pool()


class Memory:
    """A piece of the device's memory, given back when the last array over it is gone."""

    def __init__(self, size: int) -> None:
        _pool.take(size)
        weakref.finalize(self, _pool.give, size)


def get_default_memory_pool() -> Pool:
    return _pool


def reset() -> None:
    """Put the device back: all memory, one device, no faults, nothing counted."""
    from tests.support.standin.cupy import cuda

    _pool.set_limit(0)
    _pool.peak = _pool.used
    traffic.reset()
    cuda.reset()


def free(pool: Any = _pool) -> int:
    """Bytes that can still be had."""
    return int(pool.limit - pool.used)
