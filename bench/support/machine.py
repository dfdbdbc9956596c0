"""The machine and the versions that a result file names."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


def _said(*command: str) -> str | None:
    """The first line that a command prints; ``None`` if it is not installed or prints nothing."""
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return None
    return said.strip().partition("\n")[0] or None


def commit() -> str | None:
    """The commit that is measured: ``DFMST_COMMIT``, or that of the working directory."""
    return os.environ.get("DFMST_COMMIT") or _said("git", "rev-parse", "--short", "HEAD")


def read_bandwidth(threads: int, megabytes: int = 400) -> float:
    """Bytes a second at which threads read a column that no cache holds: the best of five passes."""
    column = np.ones(megabytes * 1_000_000 // 8, np.uint64)
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            begin = time.perf_counter()
            list(pool.map(np.max, np.array_split(column, threads)))
            best = min(best, time.perf_counter() - begin)
    return column.nbytes / best


def describe(*packages: str) -> dict[str, Any]:
    """Date, commit, processor, memory bandwidth and package versions."""
    # The metadata is missing when a source tree runs that is not installed.
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


def describe_device(xp: Any) -> dict[str, Any]:
    """Date, commit, and the GPU that CuPy runs on."""
    from dfmst import __version__

    runtime, device = xp.cuda.runtime, xp.cuda.runtime.getDevice()
    properties = runtime.getDeviceProperties(device)
    name = properties["name"].decode()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "device": name,
        "folder": short_name(name),
        "multiprocessors": properties["multiProcessorCount"],
        "memory_gb": round(properties["totalGlobalMem"] / 1e9, 1),
        "l2_mb": round(properties["l2CacheSize"] / 1e6, 1),
        "driver": _said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "cuda_of_driver": runtime.driverGetVersion(),
        "cuda_runtime": runtime.runtimeGetVersion(),
        "processor": _processor(),
        "python": platform.python_version(),
        "packages": {"dfmst": __version__, "cupy": xp.__version__, "numpy": version("numpy")},
    }


_MAKERS = {"nvidia", "tesla", "geforce", "quadro", "gpu", "generation"}


def short_name(name: str) -> str:
    """Return a folder's name for a GPU: ``h100`` of ``NVIDIA H100 80GB HBM3``, ``rtx-4090`` of ``GeForce RTX 4090``."""
    words: list[str] = []
    for word in re.split(r"[^a-z0-9]+", name.lower()):
        if re.fullmatch(r"\d+gb|hbm\d*e?", word):
            break  # the memory, which is no part of the model's name
        if word and word not in _MAKERS:
            words.append(word)
    return "-".join(words) or "gpu"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
