"""Worker processes of Dask that a test starts and kills, on the host or on a stand-in for a GPU."""

from __future__ import annotations

from pathlib import Path

from tests.support.forked import Forked

__all__ = ["Workers"]

_ROOT = str(Path(__file__).resolve().parents[2])
#: Functions of the tests run on workers, too.
_WORKER = f"import sys; sys.path.append({_ROOT!r}); from distributed.cli.dask_worker import main; main()"
#: What a worker of dask-cuda has: an order of the machine's devices of its own, and no more memory than that.
_ON_GPU = """
import os, sys
os.environ["CUDA_VISIBLE_DEVICES"] = {devices!r}
sys.path.append({root!r})
from tests.support.gpu.standin import worker
worker.install({limit!r})
"""


class Workers:
    """Worker processes without anyone who starts them again: the test kills them and starts others.

    Attributes
    ----------
    processes, devices
        That run, and the GPUs that each was started with (``""``: none).
    """

    def __init__(self, address: str, folder: Path) -> None:
        self._arguments = [address, "--no-nanny", "--no-dashboard", "--nthreads", "1", "--memory-limit", "3GiB"]
        self._folder = folder
        self.processes: list[Forked] = []
        self.devices: list[str] = []

    def start(self) -> None:
        """Start one on the host."""
        self.processes.append(Forked(_WORKER, self._arguments, self._folder))
        self.devices.append("")

    def start_on_gpu(self, devices: str, limit: int) -> None:
        """Start one on the first of the stand-in's `devices` (``"1,0"``), with so many bytes of its memory."""
        program = _ON_GPU.format(devices=devices, root=_ROOT, limit=limit) + _WORKER
        self.processes.append(Forked(program, [*self._arguments, "--resources", "GPU=1"], self._folder))
        self.devices.append(devices)

    def kill(self, place: int) -> None:
        """End one at once."""
        process = self.processes.pop(place)
        self.devices.pop(place)
        process.kill()
        process.wait(60)
