"""Memory for temporary columns that the calls of a process share.

To allocate a column takes longer than the first pass over it, as the system clears every page: a tenth to nearly half
of a call. So temporary columns are parts of one slab, the first that fits. Other columns are allocated as usual.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, cycle
from math import prod
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from dfmst._common.types import Array

SLAB = 64 << 20  # bytes; only those that were written take memory
_LEAST = 1 << 14  # bytes of a column below which an ordinary allocation takes less time
_LINE = 64  # bytes of a cache line, with which a column begins
_FILL = 1 << 15  # entries of an ascending column written at a time


class _Piece(weakref.ref[Array]):
    """A weak reference to a column, with its place. Views refer to the column, as its base is not an array."""

    __slots__ = ("begin", "end")
    begin: int
    end: int


class Scratch:
    """A slab of memory for columns; the memory of a column is free again after its last view."""

    def __init__(self, size: int = SLAB) -> None:
        self._size = size - size % _LINE
        self._lock = threading.Lock()
        self._slab: memoryview | None = None
        self._free = [(0, self._size)]  # ascending, with used memory between them
        self._used: dict[int, _Piece] = {}
        self._returned: deque[_Piece] = deque()  # Python may delete a column at any time, even in these methods

    def column(self, length: int, dtype: DTypeLike) -> Array:
        """Return a column of any content, shape ``(length,)``."""
        kind = np.dtype(dtype)
        size = -(-length * kind.itemsize // _LINE) * _LINE
        begin = self._cut(size) if _LEAST <= size <= self._size else None
        if begin is None:
            return np.empty(length, kind)
        column: Array = np.frombuffer(self._slab, kind, length, begin)  # type: ignore[arg-type]  # a cut reserves it
        piece = _Piece(column, self._returned.append)
        piece.begin, piece.end = begin, begin + size
        self._used[begin] = piece
        return column

    def used(self) -> int:
        """Return the bytes of the columns."""
        with self._lock:
            self._take_back()
            return self._size - sum(end - begin for begin, end in self._free)

    def _cut(self, size: int) -> int | None:
        """Reserve memory, and return its begin; ``None`` if no free part is long enough, or if the lock is taken."""
        # This thread itself may have the lock: a signal handler or a finalizer can run between any two steps.
        if not self._lock.acquire(blocking=False):
            return None
        try:
            self._take_back()
            for place, (begin, end) in enumerate(self._free):
                if end - begin >= size:
                    if self._slab is None:
                        slab = np.empty(self._size + _LINE, np.uint8)
                        pad = -slab.ctypes.data % _LINE
                        self._slab = slab.data[pad : pad + self._size]
                    self._free[place : place + 1] = [(begin + size, end)] if end - begin > size else []
                    return begin
            return None
        finally:
            self._lock.release()

    def _take_back(self) -> None:
        """Merge returned memory with adjacent free memory."""
        if not self._returned:
            return
        while self._returned:
            piece = self._returned.popleft()
            del self._used[piece.begin]
            self._free.append((piece.begin, piece.end))
        self._free.sort()
        joined = [self._free[0]]
        for begin, end in self._free[1:]:
            if begin == joined[-1][1]:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((begin, end))
        self._free = joined


class ScratchModule:
    """NumPy with functions that create columns in a scratch."""

    def __init__(self, scratch: Scratch) -> None:
        self._column = scratch.column

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of NumPy."""
        attribute = getattr(np, name)
        setattr(self, name, attribute)
        return attribute

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an array of any content."""
        return self._column(shape, dtype) if isinstance(shape, int) else self._column(prod(shape), dtype).reshape(shape)

    def empty_like(self, column: Array) -> Array:
        """Return an array of the same shape and type, of any content."""
        return self.empty(column.shape, column.dtype)

    def full(self, shape: int | tuple[int, ...], value: object, dtype: DTypeLike) -> Array:
        """Return an array of equal entries."""
        column = self.empty(shape, dtype)
        column.fill(value)
        return column

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an array of zeros."""
        return self.full(shape, 0, dtype)

    def arange(self, *bounds: Any, dtype: DTypeLike | None = None) -> Array:
        """Return ascending numbers; from 0, they are written block by block."""
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
    """Return the scratch of this process."""
    return _module


def release_scratch() -> None:
    """Free the slab after its last column; the next call reserves another slab."""
    global _module
    _module = ScratchModule(Scratch())


# In a forked process, the columns of the parent's threads would never be free.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=release_scratch)


_T = TypeVar("_T")
_Batch = TypeVar("_Batch")
_POOL_SHARE = 16  # the pool may have a sixteenth of a device's memory between calls


class PooledModule:
    """CuPy with functions that allocate memory in a pool; operators of arrays use CuPy's allocator."""

    def __init__(self, xp: Any) -> None:
        self.plain = xp
        self.pool = xp.cuda.MemoryPool()

    def __getattr__(self, name: str) -> Any:
        """Return a function that allocates in the pool, or any other attribute of CuPy."""
        attribute = getattr(self.plain, name)
        if isinstance(attribute, (FunctionType, BuiltinFunctionType)):
            attribute = partial(self._call, attribute)
        setattr(self, name, attribute)
        return attribute

    def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        with self.plain.cuda.using_allocator(self.pool.malloc):
            return function(*arguments, **options)


_shared: PooledModule | None = None


def device_scratch(xp: ModuleType) -> Any:
    """Return the module for temporary columns: CuPy, or CuPy with a pool if each allocation asks the driver."""
    rmm, adapter = sys.modules.get("rmm"), sys.modules.get("rmm.allocators.cupy")
    if rmm is None or adapter is None or xp.cuda.get_allocator() != adapter.rmm_cupy_allocator:
        return xp
    if type(rmm.mr.get_current_device_resource()) is not rmm.mr.CudaMemoryResource:
        return xp
    global _shared
    if _shared is None or _shared.plain is not xp:
        _shared = PooledModule(xp)
    return _shared


def free_pool_bytes() -> int:
    """Return the free bytes of the pool on the current device."""
    return 0 if _shared is None else int(_shared.pool.free_bytes())


def rmm_pool() -> tuple[int, int | None]:
    """Return the bytes of RMM's pool, 0 without one, and the used ones, if an adaptor of RMM counts them.

    dask-cuda counts with ``rmm_track_allocations=True``.
    """
    rmm = sys.modules.get("rmm")
    resource = None if rmm is None else rmm.mr.get_current_device_resource()
    reserved, used = 0, None
    while resource is not None:
        counted = getattr(resource, "get_allocated_bytes", None)
        size = getattr(resource, "pool_size", None)
        used = int(counted()) if callable(counted) else used
        reserved = int(size()) if callable(size) else reserved
        resource = getattr(resource, "upstream_mr", None)
    return reserved, used


def with_freed_scratch(call: Callable[[], _T]) -> _T:
    """Call a function that allocates with the user's allocator, and again without the pool if memory is short."""
    try:
        return call()
    except MemoryError:
        if not free_pool_bytes():
            raise
    trim_device_scratch()
    return call()


def trim_device_scratch(memory: int = 0) -> None:
    """Free the unused memory of the pool if it exceeds a share of the device's `memory`, in bytes."""
    if _shared is not None and free_pool_bytes() > memory // _POOL_SHARE:
        _shared.pool.free_all_blocks()


_ALIGNMENT = 256  # bytes, of columns in pinned memory


def upload(xp: Any, batches: Iterable[tuple[_Batch, _T]]) -> Iterator[tuple[_Batch, _T]]:
    """Yield batches (named tuples of columns), and the companion of each, with their columns in the memory of a GPU.

    A batch is copied while the one before is used.
    """
    stream = xp.cuda.Stream(non_blocking=True)
    lanes = cycle([_Lane(xp, stream), _Lane(xp, stream)])
    sent: tuple[_Batch, Any, _T] | None = None

    def received(batch: _Batch, copied: Any, companion: _T) -> tuple[_Batch, _T]:
        xp.cuda.get_current_stream().wait_event(copied)
        return batch, companion

    try:
        for batch, companion in batches:
            before, sent = sent, (*next(lanes).send(batch), companion)
            if before is not None:
                yield received(*before)
        if sent is not None:
            yield received(*sent)
    finally:
        stream.synchronize()  # a copy that nobody received still reads the lanes and writes its columns


class _Lane:
    """A piece of pinned memory, out of which one batch after the other is copied."""

    def __init__(self, xp: Any, stream: Any) -> None:
        self._xp, self._stream = xp, stream
        self._pinned: Any = None
        self._size = 0
        self._copied: Any = None

    def send(self, batch: Any) -> tuple[Any, Any]:
        """Begin to copy a batch; return it, and the event of its copy."""
        if self._copied is not None:
            self._copied.synchronize()
        # An entry may be a number, and a column may be on the GPU already.
        columns = {name: column for name, column in batch._asdict().items() if isinstance(column, np.ndarray)}
        places = [0, *accumulate(-(-column.nbytes // _ALIGNMENT) * _ALIGNMENT for column in columns.values())]
        if places[-1] > self._size:
            self._size, self._pinned = places[-1], self._xp.cuda.alloc_pinned_memory(places[-1])
        moved = {name: self._xp.empty(len(column), column.dtype) for name, column in columns.items()}
        # Work on the current stream may still use memory that the allocator has handed out, or give it to us only when
        # that stream comes to it.
        self._stream.wait_event(self._xp.cuda.get_current_stream().record())
        for (name, column), place in zip(columns.items(), places, strict=False):
            if len(column):  # pinned memory may not exist yet
                staged = np.frombuffer(self._pinned, column.dtype, len(column), place)
                staged[:] = column
                moved[name].set(staged, stream=self._stream)
        self._copied = self._stream.record()
        return type(batch)(**{**batch._asdict(), **moved}), self._copied
