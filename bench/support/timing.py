"""Runs in turn, their medians, and the processor time and memory that they take."""

from __future__ import annotations

import ctypes
import gc
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

SLOW = 5.0  # seconds; a slower run is repeated three times
QUICK = 1.0  # seconds; a faster run is warmed up before every repetition


class Measured(NamedTuple):
    """Seconds and CPU-seconds of runs, and the value of the last one."""

    times: list[dict[str, float]]
    value: Any

    def _of(self, clock: str) -> list[float]:
        return [taken[clock] for taken in self.times]

    @property
    def runs(self) -> int:
        """Their number."""
        return len(self.times)

    @property
    def seconds(self) -> float:
        """Median seconds."""
        return statistics.median(self._of("seconds"))

    @property
    def cpu(self) -> float:
        """Median CPU-seconds."""
        return statistics.median(self._of("cpu_seconds"))

    @property
    def least_seconds(self) -> float:
        """Least seconds."""
        return min(self._of("seconds"))

    @property
    def least_cpu(self) -> float:
        """Least CPU-seconds."""
        return min(self._of("cpu_seconds"))


def interleaved(runs: Mapping[str, Callable[..., Any]], repeat: int = 7) -> dict[str, Measured]:
    """Run all in turn, `repeat` times after one turn to warm up; a slow one three times in all.

    A run of less than a second runs once more, untimed, right before: between two of its turns others may run for
    minutes, and the host of a virtual machine takes back memory that nobody touches.
    """
    times: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
    values: dict[str, Any] = {}
    last: dict[str, float] = {}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            if turn > 2 and min(taken["seconds"] for taken in times[name]) > SLOW:
                continue
            values.pop(name, None)  # frees its memory before the next run
            if last.get(name, SLOW) < QUICK:
                run()
            taken, values[name] = spent(run)
            last[name] = taken["seconds"]
            if turn or last[name] > SLOW:
                times[name].append(taken)

    return {name: Measured(times[name], values[name]) for name in runs}


def milliseconds(measured: dict[str, Measured]) -> dict[str, float]:
    """Medians, rounded."""
    return {name: round(run.seconds * 1e3, 2) for name, run in measured.items()}


def spent(run: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Seconds and CPU-seconds of a run, and its value."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = run()
    return {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}, value


def _status(field: str) -> int:
    """Bytes of a field of /proc/self/status (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def usage() -> dict[str, float]:
    """CPU-seconds and peak memory in bytes of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    # ``ru_maxrss`` would count the parent's memory, from before the exec.
    return {"cpu": used.ru_utime + used.ru_stime, "peak": _status("VmHWM")}


def peak_memory(run: Callable[[], Any]) -> int | None:
    """Bytes by which the process grows at most during a run; ``None`` if the system is not Linux."""
    clear = Path("/proc/self/clear_refs")
    if not clear.exists():
        return None
    from support.inside import release_scratch

    release_scratch()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # memory that earlier runs freed would hide the growth of this one
    clear.write_text("5", encoding="utf-8")  # resets VmHWM
    before = _status("VmRSS")
    run()
    return max(0, _status("VmHWM") - before)
