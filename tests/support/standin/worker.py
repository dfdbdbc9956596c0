"""The stand-ins in a worker process of Dask: installed for good, with a limit of its own."""

from __future__ import annotations

from typing import Any

from tests.support import standin

__all__ = ["counts", "install"]

_installed: list[Any] = []


def install(limit: int) -> None:
    """Let this process find a GPU with so many bytes free."""
    context = standin.installed()
    context.__enter__()
    _installed.append(context)
    pool = standin.cupy.get_default_memory_pool()
    pool.set_limit(pool.used + limit)


def counts() -> dict[str, int]:
    """Bytes that crossed the bus in this process, and the most that lay on its device."""
    traffic, pool = standin.cupy.traffic, standin.cupy.get_default_memory_pool()
    return {"to_device": sum(traffic.to_device), "to_host": sum(traffic.to_host), "peak": pool.peak, "used": pool.used}
