"""Engines: an array module with the memory of columns, and one way to run a kernel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from dfmst._common.arguments import check_choice, whole_number
from dfmst._common.types import Array
from dfmst._engines.cpu import CpuEngine, processors
from dfmst._engines.scratch import free_pool_bytes, release_scratch, trim_device_scratch, upload, with_freed_scratch

if TYPE_CHECKING:
    from dfmst._engines.cuda import CudaEngine, current_place

# Names of other modules; those of CUDA are loaded for the first GPU only.
__all__ = ["CpuEngine", "CudaEngine", "current_place", "free_pool_bytes", "processors", "upload", "with_freed_scratch"]


class Engine(Protocol):
    """Runs kernels over columns in its own memory."""

    @property
    def name(self) -> str:
        """``"cpu"`` or ``"cuda"``."""

    @property
    def on_host(self) -> bool:
        """Whether columns are in the host's memory."""

    @property
    def xp(self) -> Any:
        """The array module: NumPy or CuPy."""

    @property
    def threads(self) -> int:
        """Number of threads that a kernel may run on at once."""

    @property
    def ends_long_launches(self) -> bool:
        """Whether the driver ends a launch that takes seconds."""

    @property
    def in_steps(self) -> bool:
        """Whether kernels run whose threads wait for each other (see ``kernels/portable.cuh``)."""

    def launch(self, kernel: str, count: int, *arguments: Array | int | None, grain: int = 4096) -> None:
        """Run a kernel for every index below `count`.

        Pointer parameters take arrays (``None`` is a null pointer), the others integers. The types of the arrays select
        the variant of the kernel. `grain` is the number of consecutive indices that one thread takes at a time.
        """

    def prepare(self, kernel: str, *arguments: Array | int | None) -> Callable[[int], None]:
        """Check the arguments once, and return a function of the count that launches the kernel."""

    def launch_alone(self, kernel: str, *arguments: Array | int | None) -> None:
        """Run a kernel that does all work at index 0; the CUDA engine runs it on the host."""

    def sort_records(self, records: Array, bits: int) -> Array:
        """Sort 64-bit records stably by bits ``[32, 32 + bits)``; may reuse `records`."""

    def stretch(self, most: int) -> int:
        """Return the entries that one index of a blockwise kernel processes, at most `most`."""

    def in_scratch(self) -> Engine:
        """Return the engine for temporary columns, whose memory is reused."""

    def lasting(self) -> Engine:
        """Return the engine for columns that outlive a call."""

    def from_host(self, column: Array) -> Array:
        """Return a column in the engine's memory, copied from the host or from an odd address."""

    def to_host(self, column: Array) -> Array:
        """Return a column on the host, as NumPy; a column on the host is not copied."""

    def guard(self) -> AbstractContextManager[None]:
        """Context manager: raise errors of dfmst for faults of the device."""


def __getattr__(name: str) -> Any:
    if name not in ("CudaEngine", "current_place"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("dfmst._engines.cuda"), name)


_SERIAL_ROWS = 100_000  # below, a second thread takes more time than it saves


def select_engine(
    name: str = "auto", threads: int | None = None, *, on_device: bool = False, rows: int | None = None
) -> Engine:
    """Return the engine of that name, with at most as many threads as there are processors.

    Algorithms for more threads do more work, which only pays if that many run at once.
    """
    if type(name) is not str or name != "auto":  # others may not compare
        check_choice(name, ("auto", "cpu", "cuda"), f"unknown engine {name!r}; known engines: 'auto', 'cpu', 'cuda'")
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
