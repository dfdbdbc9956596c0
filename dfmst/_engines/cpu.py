"""The CPU engine: kernels compiled at install time, called through ctypes; they release the GIL."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import numpy as np

from dfmst._common.machine import has_threads
from dfmst._common.types import Array
from dfmst._engines.kernels import HOME, TYPES, Kernel, bind
from dfmst._engines.scratch import shared_scratch
from dfmst.errors import EngineUnavailableError

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_SCALARS = {"u32": ctypes.c_uint32, "u64": ctypes.c_uint64}
_DIGIT_BITS = 10  # 1,024 counters stay in the first-level cache; 11-bit digits measured twice as slow
_SORT_BLOCK = 1 << 16
_UNGUARDED = nullcontext()


@cache
def library_path() -> str:
    """Return the library of kernels for this processor, or the one that ``DFMST_KERNELS`` names (sanitizer builds)."""
    override = os.environ.get("DFMST_KERNELS")
    if override:
        return override
    plain, newer = (os.path.join(HOME, f"_kernels{version}{_SUFFIX}") for version in ("", "_v3"))
    return newer if os.path.exists(newer) and _load(plain).supports_x86_64_v3() else plain


def _load(path: str) -> ctypes.CDLL:
    """Load a library whose kernels give back Python's lock, and end if the handler of a signal raises."""
    try:
        if sys.implementation.name != "cpython":
            return ctypes.CDLL(path)
        library, python = ctypes.PyDLL(path), ctypes.pythonapi
        functions = (python.PyEval_SaveThread, python.PyEval_RestoreThread, python.PyErr_CheckSignals)
        addresses = [ctypes.cast(function, ctypes.c_void_p) for function in functions]
        library.use_interpreter(*addresses, ctypes.c_uint64(threading.main_thread().ident or 0))
        return library
    except OSError as error:
        message = f"the compiled kernels cannot be loaded from {path}: {error}"
        hint = "install dfmst (pip install .), and run Python outside of its source folder, or as python -P"
        raise EngineUnavailableError(message, hint) from error


@cache
def _library() -> ctypes.CDLL:
    return _load(library_path())


_checked: dict[Any, Any] = {}  # key of a launch -> function, so that equal launches are checked once


def _function(variant: str, kernel: Kernel) -> Any:
    function = getattr(_library(), variant)
    if function.argtypes is None:
        types = [ctypes.c_void_p if p.pointer else _SCALARS[p.type] for p in kernel.parameters]
        function.argtypes, function.restype = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, *types], None
    return function


def default_threads() -> int:
    """Return the default number of threads: ``DFMST_NUM_THREADS``, else the processors of this process."""
    configured = os.environ.get("DFMST_NUM_THREADS")
    if configured:
        try:
            return max(1, int(configured))
        except ValueError:
            raise ValueError(f"DFMST_NUM_THREADS is {configured!r}; it must be a whole number") from None
    return processors()


def processors() -> int:
    """Return the number of processors that this process may use: its affinity, and its container's quota."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(known, quota()))) if has_threads() else 1


@cache
def quota(folder: str = "/sys/fs/cgroup") -> float:
    """Return the processors that a container's cgroup allows, rounded up; infinity without a limit."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):  # versions 2 and 1
        words: list[str] = []
        try:
            for name in names:
                with open(os.path.join(folder, name), encoding="ascii") as file:
                    words += file.read().split()
        except OSError:
            continue
        if words[0] not in ("max", "-1"):
            return math.ceil(int(words[0]) / int(words[1]))
    return math.inf


@dataclass(frozen=True, slots=True)
class CpuEngine:
    """Runs kernels on the host's threads."""

    threads: int = field(default_factory=default_threads)
    name: str = "cpu"
    on_host: bool = True
    xp: Any = np
    in_steps: bool = True
    ends_long_launches: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without a module, and so with columns of NumPy."""
        return CpuEngine, (self.threads,)

    def launch(self, kernel: str, count: int, *arguments: Array | int | None, grain: int = 4096) -> None:
        """Run a kernel for every index below `count` (see :class:`dfmst._engines.Engine`)."""
        key, values = described(kernel, arguments)
        function = _checked.get(key)
        if function is None:
            function = _function(*bind(kernel, arguments))
            if key is not None:
                _checked[key] = function
        function(count, self.threads, grain, *values)

    def prepare(self, kernel: str, *arguments: Array | int | None) -> Callable[[int], None]:
        """Return a function that launches the kernel: a check takes little time compared to a kernel on the host."""
        return lambda count: self.launch(kernel, count, *arguments)

    def launch_alone(self, kernel: str, *arguments: Array | int | None) -> None:
        """Run a sequential kernel (see :class:`dfmst._engines.Engine`)."""
        self.launch(kernel, 1, *arguments)

    def sort_records(self, records: Array, bits: int) -> Array:
        """Sort records stably by bits ``[32, 32 + bits)``: a radix sort from the lowest digit, parallel over blocks."""
        passes = -(-bits // _DIGIT_BITS) if len(records) else 0
        blocks = -(-len(records) // _SORT_BLOCK)
        other = self.xp.empty_like(records) if passes else records
        for number in range(passes):
            begin, end = bits * number // passes, bits * (number + 1) // passes
            digit = (32 + begin, end - begin)
            counts = self.xp.empty((1 << digit[1]) * blocks, np.uint64)
            self.launch("count_digits", blocks, records, len(records), _SORT_BLOCK, *digit, counts, blocks, grain=1)
            places = self.xp.empty_like(counts)
            np.cumsum(counts[:-1], out=places[1:])
            places[0] = 0
            arguments = (records, len(records), _SORT_BLOCK, *digit, places, blocks, other)
            self.launch("scatter_digits", blocks, *arguments, grain=1)
            records, other = other, records
        return records

    def stretch(self, most: int) -> int:
        """Return `most`, so that a thread reads in order and writes few counts."""
        return most

    def in_scratch(self) -> Self:
        """Return the engine with columns in reused memory (see :mod:`dfmst._engines.scratch`)."""
        return type(self)(self.threads, xp=shared_scratch())

    def lasting(self) -> Self:
        """Return the engine with columns of NumPy."""
        return self if self.xp is np else type(self)(self.threads)

    def from_host(self, column: Array) -> Array:
        """Return the column; a column at an odd address, which another process may have sent, is copied."""
        return column if column.flags.aligned else column.copy()

    def to_host(self, column: Array) -> Array:
        """Return the column."""
        return column

    def guard(self) -> AbstractContextManager[None]:
        """Do nothing."""
        return _UNGUARDED


_HEAD = object.__basicsize__  # bytes of an object before its own fields
_FIELDS = (ctypes.c_uint64 * 7).from_address  # data, dimensions, shape, strides, base, dtype, flags
_HALF = 0xFFFFFFFF  # flags take 32 bits
#: NumPy never frees its own objects of these types, so that their addresses identify them.
_LASTING = frozenset(map(id, TYPES.values()))


def has_known_fields() -> bool:
    """Whether arrays have the fields of NumPy's stable binary interface in memory."""
    if sys.implementation.name != "cpython" or sys.maxsize < 1 << 32:
        return False
    column = np.arange(8, dtype=np.float64)[2::2]
    column.flags.writeable = False
    fields = _FIELDS(id(column) + _HEAD)
    return (fields[0], fields[5], fields[6] & _HALF) == (column.ctypes.data, id(column.dtype), column.flags.num)


_KNOWN_FIELDS = has_known_fields()


def described(kernel: str, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...] | None, list[Any]]:
    """Return a key of a launch and its arguments, with the addresses of columns.

    Launches of one key pass the same checks; it is ``None`` if a column is of an unusual type. The fields of arrays are
    read from memory: with NumPy's public attributes, calls on 10 rows take a third longer (``bench/small_calls.py``).
    """
    key: list[Any] = [kernel]
    values = []
    known, array, lasting = _KNOWN_FIELDS, np.ndarray, _LASTING
    for argument in arguments:
        kind = type(argument)
        if kind is array and known:
            fields = _FIELDS(id(argument) + _HEAD)
            known = fields[5] in lasting
            key += (fields[5], fields[6] & _HALF)
            values.append(fields[0])
        elif isinstance(argument, array):
            known = False
            values.append(argument.ctypes.data)
        else:
            key.append(kind)
            values.append(argument)
    return tuple(key) if known else None, values
