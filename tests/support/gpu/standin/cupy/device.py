"""The device's memory as its driver hands it out, and what is copied to it and from it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import NamedTuple

MEMORY = 1 << 34  # bytes of the device
_PLACED = 256  # bytes from which a copy is a column's, and its place is noted


class OutOfMemoryError(MemoryError):
    """With CuPy's words."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        super().__init__(
            f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes, "
            f"limit set to: {limit:,} bytes)."
        )


class Crossing(NamedTuple):
    """A column's copy over the bus.

    Attributes
    ----------
    to_host
        In which direction.
    size
        Bytes.
    calls
        The functions of dfmst under way, the innermost first: ``module.name`` below the package.
    """

    to_host: bool
    size: int
    calls: tuple[str, ...]


def _calls() -> tuple[str, ...]:
    frame: FrameType | None = sys._getframe(3)
    names = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("dfmst."):
            names.append(f"{module.removeprefix('dfmst.')}.{frame.f_code.co_name}")
        frame = frame.f_back
    return tuple(names)


@dataclass
class Traffic:
    """Bytes of each copy between host and device since the last reset."""

    to_device: list[int] = field(default_factory=list)
    to_host: list[int] = field(default_factory=list)
    #: Those of columns, with their place in dfmst.
    crossings: list[Crossing] = field(default_factory=list)
    #: Bytes of each piece of pinned memory.
    pinned: list[int] = field(default_factory=list)
    #: Results and columns that CuPy's own kernels wrote, by name of the function or method.
    array_calls: list[str] = field(default_factory=list)

    def up(self, size: int) -> None:
        """Count a copy to the device."""
        self.to_device.append(size)
        self._note(False, size)

    def down(self, size: int) -> None:
        """Count a copy to the host."""
        self.to_host.append(size)
        self._note(True, size)

    def _note(self, to_host: bool, size: int) -> None:
        if size >= _PLACED:
            self.crossings.append(Crossing(to_host, size, _calls()))

    def reset(self) -> None:
        self.to_device.clear()
        self.to_host.clear()
        self.crossings.clear()
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
