"""Memory for temporary columns on a GPU, where the process has no allocator that keeps any.

cuDF gives CuPy the memory of RMM, and RMM asks the driver for every column unless the user has chosen a pool. The
driver waits for the device each time. So temporary columns then come out of a pool of dfmst's own, and only results
out of RMM's memory. Any other allocator is the user's choice and serves for all columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import BuiltinFunctionType, FunctionType
from typing import Any

_KEPT_SHARE = 16  # of a device's memory, the part that the pool may keep between calls: one in so many


class PooledModule:
    """CuPy whose functions take memory from a pool; operators of arrays still take it from CuPy's allocator."""

    def __init__(self, xp: Any) -> None:
        self.plain = xp
        self.pool = xp.cuda.MemoryPool()

    def __getattr__(self, name: str) -> Any:
        """A function with the pool's memory; anything else is CuPy's own."""
        attribute = getattr(self.plain, name)
        if isinstance(attribute, (FunctionType, BuiltinFunctionType)):
            attribute = self._pooled(attribute)
        setattr(self, name, attribute)
        return attribute

    def _pooled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            with self.plain.cuda.using_allocator(self.pool.malloc):
                return function(*arguments, **options)

        return call


_shared: PooledModule | None = None


def device_scratch(xp: Any) -> Any:
    """The module for temporary columns: CuPy itself where its allocator keeps memory, else one with a pool."""
    if not _asks_the_driver(xp):
        return xp
    global _shared
    if _shared is None or _shared.plain is not xp:
        _shared = PooledModule(xp)
    return _shared


def trim_device_scratch(memory: int) -> None:
    """Give the pool's free memory back if it is more than a share of the device's `memory`, in bytes."""
    if _shared is not None and _shared.pool.free_bytes() > memory // _KEPT_SHARE:
        _shared.pool.free_all_blocks()


def kept_bytes() -> int:
    """Bytes of the current device that the pool keeps and nobody uses."""
    return 0 if _shared is None else int(_shared.pool.free_bytes())


def release_device_scratch() -> None:
    """Give all of the pool's free memory back to the driver."""
    if _shared is not None:
        _shared.pool.free_all_blocks()


def _asks_the_driver(xp: Any) -> bool:
    """Whether CuPy's memory is RMM's, and RMM's is the driver's."""
    rmm = sys.modules.get("rmm")
    adapter = sys.modules.get("rmm.allocators.cupy")
    if rmm is None or adapter is None or xp.cuda.get_allocator() != adapter.rmm_cupy_allocator:
        return False
    return type(rmm.mr.get_current_device_resource()) is rmm.mr.CudaMemoryResource
