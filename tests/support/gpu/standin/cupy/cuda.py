"""``cupy.cuda``: devices, streams, allocators, and faults that a test can ask for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import SimpleNamespace

from tests.support.gpu.standin.cupy import memory as pools, placement
from tests.support.gpu.standin.cupy.device import MEMORY, OutOfMemoryError, driver_memory, traffic
from tests.support.gpu.standin.cupy.memory import MemoryPool, get_allocator, set_allocator, using_allocator
from tests.support.gpu.standin.cupy.placement import (
    Device,
    capability,
    cooperative,
    granted,
    multiprocessors,
    taken,
    watched,
)
from tests.support.gpu.standin.cupy.streams import Event, Stream, get_current_stream, waits

__all__ = [
    "Device",
    "Event",
    "MemoryPool",
    "Stream",
    "alloc_pinned_memory",
    "capability",
    "compiler",
    "cooperative",
    "driver",
    "driver_version",
    "faults",
    "get_allocator",
    "get_current_stream",
    "granted",
    "launches",
    "memory",
    "multiprocessors",
    "nvrtc",
    "reset",
    "runtime",
    "set_allocator",
    "taken",
    "using_allocator",
    "waits",
    "watched",
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
    nvrtc: str = ""
    pinned: str = ""
    synchronize: str = ""

    def __setattr__(self, name: str, value: str) -> None:
        """A stream raises its fault itself."""
        object.__setattr__(self, name, value)
        if name == "synchronize":
            Stream.fault = CUDARuntimeError(value) if value else None


faults = Faults()
#: Kernel, count, threads and stream of each launch.
launches: list[tuple[str, int, int, Stream]] = []
devices = [1]
driver_version = [13000]  # 0: there is no driver


def alloc_pinned_memory(size: int) -> bytearray:
    if faults.pinned:
        raise CUDARuntimeError(faults.pinned)
    traffic.pinned.append(size)
    return bytearray(size)


class DynamicLibNotFoundError(RuntimeError):
    """What the loader of CUDA's libraries raises, in words of its own."""


def _nvrtc_version() -> tuple[int, int]:
    if faults.nvrtc:
        raise DynamicLibNotFoundError(faults.nvrtc)
    return 13, 0


def _visible() -> list[int]:
    """Ordinals of the machine's devices, in the order in which this process sees them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return list(range(devices[0])) if named is None else [int(one) for one in named.split(",") if one]


def ordinal() -> int:
    """Which of the machine's devices is the current one."""
    return _visible()[placement.current()]


def _device_count() -> int:
    if faults.count:
        raise CUDARuntimeError(faults.count)
    return len(_visible())


runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError,
    getDevice=placement.current,
    getDeviceCount=_device_count,
    driverGetVersion=lambda: driver_version[0],
    memGetInfo=lambda: (MEMORY - driver_memory.used - taken.get(placement.current(), 0), MEMORY),
    pointerGetAttributes=lambda ptr: SimpleNamespace(device=placement.places[ptr]),
)
nvrtc = SimpleNamespace(NVRTCError=NVRTCError, getVersion=_nvrtc_version)


def occupancyMaxActiveBlocksPerMultiprocessor(func: int, blockSize: int, dynamicSMemSize: int) -> int:
    """As many as threads allow, whatever the kernel's registers."""
    assert func
    assert dynamicSMemSize == 0
    return int(Device().attributes["MaxThreadsPerMultiProcessor"]) // blockSize


driver = SimpleNamespace(
    CUDADriverError=CUDADriverError, occupancyMaxActiveBlocksPerMultiprocessor=occupancyMaxActiveBlocksPerMultiprocessor
)
compiler = SimpleNamespace(CompileException=CompileException)
memory = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)


def reset() -> None:
    """One device, no faults, nothing recorded, CuPy's own pool."""
    faults.__init__()  # type: ignore[misc]
    launches.clear()
    waits.clear()
    pools.reset()
    traffic.reset()
    devices[0], driver_version[0] = 1, 13000
    cooperative[0], watched[0], multiprocessors[:] = True, False, [1]
    taken.clear()
    granted[0], capability[0] = None, (9, 0)
