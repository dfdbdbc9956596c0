"""Runs in turn, their medians, and the memory that each takes."""

from __future__ import annotations

import ctypes
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dfmst._engines.scratch import release_scratch

__all__ = ["Measured", "interleaved", "milliseconds", "peak_memory"]

SLOW = 5.0  # seconds; what takes longer runs three times
QUICK = 1.0  # seconds; what takes less is warmed up before every run


class Measured(NamedTuple):
    """Median seconds, how many runs, and what the last run gave."""

    seconds: float
    runs: int
    value: Any


def interleaved(
    runs: Mapping[str, Callable[..., Any]], repeat: int = 7, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Measured]:
    """Run all in turn, `repeat` times over after one turn to warm up; a slow one three times in all.

    What takes less than a second runs once more, untimed, right before: between two of its turns others may run for
    minutes, and a virtual machine's host takes back memory that nobody touches meanwhile.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    values: dict[str, Any] = {}
    last: dict[str, float] = {}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            if turn > 2 and min(seconds[name]) > SLOW:
                continue
            values.pop(name, None)  # its memory is free before the run that makes it anew
            if last.get(name, SLOW) < QUICK:
                run()
            begin = clock()
            values[name] = run()
            taken = last[name] = clock() - begin
            if turn or taken > SLOW:
                seconds[name].append(taken)
    return {name: Measured(statistics.median(times), len(times), values[name]) for name, times in seconds.items()}


def milliseconds(measured: dict[str, Measured]) -> dict[str, float]:
    """Medians, rounded."""
    return {name: round(run.seconds * 1e3, 2) for name, run in measured.items()}


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def peak_memory(run: Callable[[], Any]) -> int | None:
    """Bytes by which the process grows at most during a run (Linux tells; ``None`` elsewhere)."""
    clear = Path("/proc/self/clear_refs")
    if not clear.exists():
        return None
    release_scratch()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what earlier runs have freed would hide what this one takes
    clear.write_text("5", encoding="utf-8")  # the high-water mark starts afresh
    before = _status("VmRSS")
    run()
    return max(0, _status("VmHWM") - before)
