"""Which device is the current one."""

from __future__ import annotations

import threading
from typing import Any

_thread = threading.local()
#: Whether devices launch grids whose threads wait for each other.
cooperative = [True]
#: Blocks of a cooperative launch that a green context or MPS grants; ``None``: as many as the device holds.
granted: list[int | None] = [None]
#: Multiprocessors of each device; further devices have as many as the last.
multiprocessors = [1]
#: Device -> bytes of its memory that other processes have.
taken: dict[int, int] = {}
#: Whether the driver ends kernels that run for seconds, as on a device with a display.
watched = [False]
#: Compute capability of the devices.
capability = [(9, 0)]


#: Address of a column that was asked for -> its device.
places: dict[int, int] = {}


def current() -> int:
    """Number of this thread's device."""
    return int(getattr(_thread, "device", 0))


class Device:
    """An H200's numbers, less so many multiprocessors that grids end below the count already on small graphs."""

    def __init__(self, device: int | None = None) -> None:
        self.id = current() if device is None else device
        self.attributes = {
            "MultiProcessorCount": multiprocessors[min(self.id, len(multiprocessors) - 1)],
            "MaxThreadsPerMultiProcessor": 2048,
            "MaxGridDimX": 2**31 - 1,
            "MaxThreadsPerBlock": 1024,
            "CooperativeLaunch": int(cooperative[0]),
            "KernelExecTimeout": int(watched[0]),
        }
        self._before: list[int] = []

    @property
    def compute_capability(self) -> str:
        return "".join(map(str, capability[0]))

    def __enter__(self) -> Device:
        self._before.append(current())
        _thread.device = self.id
        return self

    def __exit__(self, *_: Any) -> None:
        _thread.device = self._before.pop()
