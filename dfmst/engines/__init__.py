"""Engines: where columns live and kernels run."""

from __future__ import annotations

from dfmst.engines.base import Engine
from dfmst.engines.cpu import CpuEngine
from dfmst.errors import EngineUnavailableError

__all__ = ["CpuEngine", "Engine", "select_engine"]


def select_engine(name: str = "auto", threads: int | None = None) -> Engine:
    """Return the engine of that name.

    Parameters
    ----------
    name
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    threads
        Threads a kernel may use on the CPU; ``None`` takes every processor of this process.

    Raises
    ------
    ValueError
        Another name, or fewer than one thread.
    EngineUnavailableError
        The engine cannot run here.
    """
    if threads is not None and threads < 1:
        message = f"threads is {threads}; it must be at least 1, or None for every processor"
        raise ValueError(message)
    if name in ("auto", "cpu"):
        return CpuEngine() if threads is None else CpuEngine(threads)
    if name == "cuda":
        raise EngineUnavailableError(
            "engine='cuda' is not part of this version of dfmst",
            "use engine='cpu' (or 'auto'); the CUDA engine is the next milestone",
        )
    message = f"unknown engine {name!r}; known engines: 'auto', 'cpu', 'cuda'"
    raise ValueError(message)
