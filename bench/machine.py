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

__all__ = ["commit", "describe", "describe_device", "device_name", "read_bandwidth"]


def commit() -> str | None:
    """The commit that is measured: ``DFMST_COMMIT``, or what git says of the working directory."""
    named = os.environ.get("DFMST_COMMIT")
    if named:
        return named
    try:
        said = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    except FileNotFoundError:  # a copy of the tree on a machine without git
        return None
    return said.stdout.strip() or None


def read_bandwidth(threads: int, megabytes: int = 400) -> float:
    """Bytes a second at which a kernel reads a column that no cache holds: the best of five passes."""
    from dfmst._engines import CpuEngine

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

    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "read_gb_per_s": {threads: round(read_bandwidth(threads) / 1e9, 1) for threads in (1, 2)},
        "packages": {"dfmst": __version__, **{name: version(name) for name in ("numpy", "pandas", *packages)}},
    }


def device_name(properties: dict[str, Any]) -> str:
    """Short name of a GPU for a folder: ``h200`` of "NVIDIA H200", ``h100`` of "NVIDIA H100 80GB HBM3"."""
    words = [word for word in properties["name"].decode().lower().split() if word not in ("nvidia", "tesla", "geforce")]
    return words[0] if words else "gpu"


def describe_device(xp: Any) -> dict[str, Any]:
    """Date, commit, and the GPU that CuPy runs on."""
    from dfmst import __version__

    runtime, device = xp.cuda.runtime, xp.cuda.runtime.getDevice()
    properties = runtime.getDeviceProperties(device)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "device": properties["name"].decode(),
        "folder": device_name(properties),
        "multiprocessors": properties["multiProcessorCount"],
        "memory_gb": round(properties["totalGlobalMem"] / 1e9, 1),
        "l2_mb": round(properties["l2CacheSize"] / 1e6, 1),
        "driver": _driver(),
        "cuda_of_driver": runtime.driverGetVersion(),
        "cuda_runtime": runtime.runtimeGetVersion(),
        "processor": _processor(),
        "python": platform.python_version(),
        "packages": {"dfmst": __version__, "cupy": xp.__version__, "numpy": version("numpy")},
    }


def _driver() -> str | None:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return said.stdout.strip().splitlines()[0] if said.stdout.strip() else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
