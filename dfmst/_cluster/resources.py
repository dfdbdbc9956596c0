"""What the scheduler has to run on."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

__all__ = ["Resources", "resources"]

_UNKNOWN = 4 << 30


@dataclass(frozen=True, slots=True)
class Resources:
    """Workers, and what the smallest of them has.

    Attributes
    ----------
    workers
        Processes.
    memory
        Bytes each may use.
    """

    workers: int
    memory: int


def resources() -> Resources:
    """Ask the current client; without one, the machine that this process runs on."""
    client = _client()
    if client is not None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if workers:
            limits = [worker["memory_limit"] or _machine_memory() for worker in workers]
            return Resources(len(limits), min(limits))
    threads = os.cpu_count() or 1
    return Resources(threads, _machine_memory() // threads)


def _client() -> Any:
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN
