"""Engines: the memory of columns, and the launch of kernels."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dfmst._common.arguments import check_choice, whole_number
from dfmst._engines.base import Engine
from dfmst._engines.cpu import CpuEngine, processors
from dfmst._engines.scratch import free_pool_bytes, release_scratch, trim_device_scratch, with_freed_scratch

if TYPE_CHECKING:
    from dfmst._engines.cuda import CudaEngine, current_place

__all__ = [
    "CpuEngine",
    "CudaEngine",
    "Engine",
    "current_place",
    "free_pool_bytes",
    "host_engine",
    "processors",
    "release_memory",
    "select_engine",
    "with_freed_scratch",
]


def __getattr__(name: str) -> Any:
    if name not in ("CudaEngine", "current_place"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("dfmst._engines.cuda"), name)  # loaded for the first GPU only


_SERIAL_ROWS = 100_000  # below, a second thread takes more time than it saves


def select_engine(
    name: str = "auto", threads: int | None = None, *, on_device: bool = False, rows: int | None = None
) -> Engine:
    """Return the engine of that name, with at most as many threads as there are processors.

    Algorithms for more threads do more work, which only pays if that many run at once.
    """
    message = f"unknown engine {name!r}; known engines: 'auto', 'cpu', 'cuda'"
    check_choice(name, ("auto", "cpu", "cuda"), message)
    threads = None if threads is None else whole_number("threads", threads)
    if threads is not None and threads < 1:
        raise ValueError(f"threads is {threads}; it must be at least 1, or None for every processor")
    if name == "cuda" or (name == "auto" and on_device):
        from dfmst._engines.cuda import CudaEngine

        return CudaEngine()
    if threads is None and rows is not None and rows < _SERIAL_ROWS:
        threads = 1
    if threads is None:
        return CpuEngine()
    return _cpu_engine(threads if threads == 1 else min(threads, processors()))


_cpu_engine = lru_cache(CpuEngine)  # a new engine takes as long as a small launch


def host_engine(engine: Engine) -> Engine:
    """Return the engine if its columns are on the host, else a CPU engine."""
    return engine if engine.on_host else CpuEngine()


def release_memory() -> None:
    """Free the memory that dfmst reserves between calls, on the host and on the current GPU.

    This is up to 64 MiB on the host. On a GPU it is up to a sixteenth of its memory, if cuDF is imported and RMM has no
    pool.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.release_memory()
    """
    release_scratch()
    trim_device_scratch()
