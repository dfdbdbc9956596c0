"""``cupy.cuda``: one device, its streams, and faults that a test can ask for."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tests.support.standin.cupy.device import MEMORY, OutOfMemoryError, free, get_default_memory_pool

__all__ = [
    "Device",
    "Event",
    "Stream",
    "alloc_pinned_memory",
    "compiler",
    "driver",
    "faults",
    "get_allocator",
    "get_current_stream",
    "launches",
    "memory",
    "nvrtc",
    "reset",
    "runtime",
    "set_allocator",
]


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


class CUDADriverError(RuntimeError):
    """As CuPy's."""


class CompileException(Exception):
    """As CuPy's."""


class NVRTCError(RuntimeError):
    """As CuPy's."""


@dataclass
class Faults:
    """What goes wrong next: messages of the errors to raise."""

    count: str = ""
    compile: str = ""
    launch: str = ""
    synchronize: str = ""


faults = Faults()
#: Kernel, count and threads of each launch.
launches: list[tuple[str, int, int]] = []
#: The allocator that was set last.
allocator: list[Any] = []
devices = [1]


class Device:
    """An H200's numbers, less so many multiprocessors that grids end below the count already on small graphs."""

    def __init__(self, device: int | None = None) -> None:
        self.id = 0 if device is None else device
        self.attributes = {
            "MultiProcessorCount": 1,
            "MaxThreadsPerMultiProcessor": 2048,
            "MaxGridDimX": 2**31 - 1,
            "MaxThreadsPerBlock": 1024,
        }


class Event:
    """An event that has always happened."""

    def synchronize(self) -> None:
        """Nothing to wait for."""


class Stream:
    """A stream that has always caught up."""

    def __init__(self, non_blocking: bool = False) -> None:
        self.non_blocking = non_blocking

    def synchronize(self) -> None:
        if faults.synchronize:
            raise CUDARuntimeError(faults.synchronize)

    def record(self) -> Event:
        return Event()

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, Event)


def alloc_pinned_memory(size: int) -> bytearray:
    return bytearray(size)


def get_current_stream() -> Stream:
    return Stream()


def get_allocator() -> Any:
    return allocator[-1] if allocator else get_default_memory_pool().malloc


def set_allocator(chosen: Any) -> None:
    allocator.append(chosen)


def _device_count() -> int:
    if faults.count:
        raise CUDARuntimeError(faults.count)
    return devices[0]


runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError,
    getDevice=lambda: 0,
    getDeviceCount=_device_count,
    memGetInfo=lambda: (free(), MEMORY),
)
nvrtc = SimpleNamespace(NVRTCError=NVRTCError)
driver = SimpleNamespace(CUDADriverError=CUDADriverError)
compiler = SimpleNamespace(CompileException=CompileException)
memory = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)


def reset() -> None:
    """One device, no faults, nothing recorded."""
    faults.__init__()  # type: ignore[misc]
    launches.clear()
    allocator.clear()
    devices[0] = 1
