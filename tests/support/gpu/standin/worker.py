"""The stand-ins in a worker process of Dask: installed for good, with a limit of its own."""

from __future__ import annotations

from typing import Any

from tests.support.gpu import standin

_installed: list[Any] = []


def install(limit: int) -> None:
    """Let this process find a GPU with so many bytes free, on which nothing waits."""
    if not _installed:
        context = standin.installed()
        context.__enter__()
        _installed.append(context)
    set_limit(limit)


def set_limit(limit: int) -> None:
    """Let so many bytes of this process's GPU be free."""
    pool = standin.cupy.get_default_memory_pool()
    pool.set_limit(pool.used + limit)


def counts() -> dict[str, Any]:
    """What crossed the bus in this process, and the most that lay on its device, since the last call of this."""
    traffic, pool = standin.cupy.traffic, standin.cupy.get_default_memory_pool()
    reported: dict[str, Any] = {
        "to_device": sum(traffic.to_device),
        "to_host": sum(traffic.to_host),
        "peak": pool.peak,
        "used": pool.used,
    }
    reported["ordinal"] = standin.cupy.cuda.ordinal()
    reported["crossings"] = [tuple(crossing) for crossing in traffic.crossings]
    traffic.reset()
    pool.peak = pool.used
    return reported
