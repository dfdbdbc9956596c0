"""What a result file says about where its figures were taken."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["describe", "read_bandwidth"]


def read_bandwidth(threads: int, megabytes: int = 400) -> float:
    """Bytes a second at which a kernel reads a column that no cache holds: the best of five passes."""
    from dfmst.engines import CpuEngine

    column = np.ones(megabytes * 1_000_000 // 8, np.uint64)
    block = 1 << 16
    blocks = -(-len(column) // block)
    largest = np.empty(blocks, np.uint64)
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        CpuEngine(threads).launch("largest_id", blocks, column, len(column), block, largest, grain=1)
        best = min(best, time.perf_counter() - begin)
    return column.nbytes / best


def describe(*packages: str) -> dict[str, Any]:
    """Date, commit, processor, memory bandwidth and package versions."""
    # Not the metadata: bench also runs from a source tree that is not installed.
    from dfmst import __version__

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip() or None,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "read_gb_per_s": {threads: round(read_bandwidth(threads) / 1e9, 1) for threads in (1, 2)},
        "packages": {"dfmst": __version__, **{name: version(name) for name in ("numpy", "pandas", *packages)}},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
