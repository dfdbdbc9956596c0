"""Memory that the calls of a process share: temporary columns of one call reuse that of the call before.

A fresh column costs more than the first pass over it: the system hands out its pages one by one, each cleared, and
takes them back when the column goes (a tenth to nearly half of a call's time). So temporary columns come out of one
slab, first fit, lowest address first. A column that does not fit is allocated as usual.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import wraps
from math import prod
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dfmst._common.types import Array

SLAB = 64 << 20  # bytes that a process keeps at most; only those that were ever written take memory
_LEAST = 1 << 14  # bytes below which an ordinary allocation costs less
_LINE = 64  # a column begins with a cache line
_FILL = 1 << 15  # entries of an ascending column written at a time


class _Piece(weakref.ref[Array]):
    """Watches a column, and remembers its place. Views of a column hold it: its base is not an array."""

    __slots__ = ("begin", "end")
    begin: int
    end: int


class Scratch:
    """A slab from which columns are cut, and to which they return when the last view of them goes."""

    def __init__(self, size: int = SLAB) -> None:
        self._size = size - size % _LINE
        self._lock = threading.Lock()
        self._slab: memoryview | None = None
        self._free = [(0, self._size)]  # ascending, none touching the next
        self._held: dict[int, _Piece] = {}
        self._returned: deque[_Piece] = deque()  # a column may go at any time, inside these methods too

    def column(self, length: int, dtype: DTypeLike) -> Array:
        """A column of any content, shape ``(length,)``."""
        kind = np.dtype(dtype)
        size = -(-length * kind.itemsize // _LINE) * _LINE
        begin = self._cut(size) if _LEAST <= size <= self._size else None
        if begin is None:
            return np.empty(length, kind)
        column: Array = np.frombuffer(self._slab, kind, length, begin)  # type: ignore[arg-type]  # a cut reserves it
        piece = _Piece(column, self._returned.append)
        piece.begin, piece.end = begin, begin + size
        self._held[begin] = piece
        return column

    def used(self) -> int:
        """Bytes that columns take."""
        with self._lock:
            self._take_back()
            return self._size - sum(end - begin for begin, end in self._free)

    def _cut(self, size: int) -> int | None:
        """Take free memory, and return its begin; ``None`` if none is long enough, or if another call holds the lock.

        That call may be further up in this thread: a signal handler or a finalizer runs between any two steps.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            self._take_back()
            for place, (begin, end) in enumerate(self._free):
                if end - begin >= size:
                    if self._slab is None:
                        self._slab = _reserve(self._size)
                    self._free[place : place + 1] = [(begin + size, end)] if end - begin > size else []
                    return begin
            return None
        finally:
            self._lock.release()

    def _take_back(self) -> None:
        """Join returned memory with adjacent free memory."""
        if not self._returned:
            return
        while self._returned:
            piece = self._returned.popleft()
            del self._held[piece.begin]
            self._free.append((piece.begin, piece.end))
        self._free.sort()
        joined = [self._free[0]]
        for begin, end in self._free[1:]:
            if begin == joined[-1][1]:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((begin, end))
        self._free = joined


def _reserve(size: int) -> memoryview:
    slab = np.empty(size + _LINE, np.uint8)
    pad = -slab.ctypes.data % _LINE
    return slab.data[pad : pad + size]


class ScratchModule:
    """NumPy whose new columns are cut from a scratch."""

    def __init__(self, scratch: Scratch) -> None:
        self._column = scratch.column

    def __getattr__(self, name: str) -> Any:
        """Anything else is NumPy's own."""
        attribute = getattr(np, name)
        setattr(self, name, attribute)
        return attribute

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """A column, or several, of any content."""
        return self._column(shape, dtype) if isinstance(shape, int) else self._column(prod(shape), dtype).reshape(shape)

    def empty_like(self, column: Array) -> Array:
        """Columns of the same shape and type, of any content."""
        return self.empty(column.shape, column.dtype)

    def full(self, shape: int | tuple[int, ...], value: Any, dtype: DTypeLike) -> Array:
        """Columns of equal entries."""
        column = self.empty(shape, dtype)
        column.fill(value)
        return column

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """Columns of zeros."""
        return self.full(shape, 0, dtype)

    def arange(self, *bounds: Any, dtype: DTypeLike | None = None) -> Array:
        """Ascending numbers; columns that begin with 0 are written block by block."""
        if len(bounds) > 1 or dtype is None:
            return np.arange(*bounds, dtype=dtype)
        column = self._column(bounds[0], dtype)
        block = np.arange(min(_FILL, bounds[0]), dtype=dtype)
        for begin in range(0, bounds[0], _FILL):
            part = column[begin : begin + _FILL]
            np.add(block[: len(part)], column.dtype.type(begin), out=part)
        return column


_module = ScratchModule(Scratch())


def shared_scratch() -> ScratchModule:
    """The scratch of this process."""
    return _module


def release_scratch() -> None:
    """Give the slab back as soon as no column uses it; the next call reserves another."""
    global _module
    _module = ScratchModule(Scratch())


# A forked process has the columns of its parent's threads, which nobody there will return.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=release_scratch)


_KEPT_SHARE = 16  # of a device's memory, the part that the pool may keep between calls: one sixteenth


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
    """The module for temporary columns: CuPy itself if its allocator keeps memory, else one with a pool."""
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
