"""The device's memory as its driver hands it out, and what is copied to it and from it."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["MEMORY", "OutOfMemoryError", "driver_memory", "traffic"]

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
    #: Bytes of each piece of pinned memory.
    pinned: list[int] = field(default_factory=list)
    #: Results and columns that CuPy's own kernels wrote, by name of the function or method.
    array_calls: list[str] = field(default_factory=list)

    def reset(self) -> None:
        self.to_device.clear()
        self.to_host.clear()
        self.pinned.clear()
        self.array_calls.clear()

    def columns(self, least: int) -> list[int]:
        """Copies of at least so many bytes, in either direction."""
        return [size for size in (*self.to_device, *self.to_host) if size >= least]


@dataclass
class DriverMemory:
    """What ``cudaMalloc`` hands out; every call of it is counted."""

    used: int = 0
    mallocs: list[int] = field(default_factory=list)

    def take(self, size: int) -> None:
        if self.used + size > MEMORY:
            raise OutOfMemoryError(size, self.used)
        self.used += size
        self.mallocs.append(size)

    def give(self, size: int) -> None:
        self.used -= size


traffic = Traffic()
driver_memory = DriverMemory()
