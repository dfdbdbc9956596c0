"""Tasks of a cluster that run as on workers with a GPU, and what comes to the host of their columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dfmst._drive.parts import Part
from dfmst._engines import CudaEngine

#: Function of dfmst that copies to the host -> what for.
PURPOSES = {
    "_drive.devices.__reduce__": "sent",
    "_drive.devices.spill": "spilled",
    "_drive.runs.sorted_run": "spilled",
    "_drive.devices.stored": "spilled",
    "_drive.tasks.rows_of_parts": "positions",
    "_drive.shuffle._locators": "positions",
}


class Partition(Part):
    """A partition that can be read again."""

    name = "a partition"

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def read(self) -> Any:
        return self.frame


def run_on_gpu(monkeypatch: Any, *modules: str) -> None:
    """Let the tasks of these modules of `_drive` run as on a worker with a GPU."""
    for module in modules:
        monkeypatch.setattr(f"dfmst._drive.{module}.worker_engine", CudaEngine)


def purposes(crossings: Any) -> Counter[str]:
    """What for columns went to the host, and how many bytes; those of no known purpose by the innermost function."""
    reported: Counter[str] = Counter()
    for to_host, size, calls in crossings:
        calls = [call for call in calls if not call.startswith("_engines.")]
        if to_host:
            reported[next((PURPOSES[call] for call in calls if call in PURPOSES), calls[0])] += size
    return reported
