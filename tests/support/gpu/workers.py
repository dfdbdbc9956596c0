"""Worker processes of Dask with a stand-in for a GPU each."""

from __future__ import annotations

from pathlib import Path

from tests.support.workers import ROOT, Workers

#: Like a worker of dask-cuda, it lists the machine's devices in its own order, and has a limit of memory.
_ON_GPU = """
import os, sys
os.environ["CUDA_VISIBLE_DEVICES"] = {devices!r}
sys.path.append({root!r})
from tests.support.gpu.standin import worker
worker.install({limit!r})
"""


class GpuWorkers(Workers):
    """Workers of which some have a GPU; `devices` holds those that each was started with (``""``: none)."""

    def __init__(self, address: str, folder: Path) -> None:
        super().__init__(address, folder)
        self.devices: list[str] = []

    def start(self, before: str = "", *arguments: str, devices: str = "") -> None:
        """Start one."""
        super().start(before, *arguments)
        self.devices.append(devices)

    def start_on_gpu(self, devices: str, limit: int) -> None:
        """Start one on the first of the stand-in's `devices` (``"1,0"``), with a number of bytes of its memory."""
        before = _ON_GPU.format(devices=devices, root=ROOT, limit=limit)
        self.start(before, "--resources", "GPU=1", devices=devices)

    def kill(self, place: int) -> None:
        """End one at once."""
        self.devices.pop(place)
        super().kill(place)
