"""The CPU engine: kernels compiled at install time, called through ctypes (which releases the GIL)."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import TYPES, bind
from dfmst._engines.kernels import HOME, Kernel
from dfmst._engines.scratch import shared_scratch
from dfmst.errors import EngineUnavailableError

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_SCALARS = {"u32": ctypes.c_uint32, "u64": ctypes.c_uint64}
_DIGIT_BITS = 10  # 1,024 counters stay in the first-level cache; 11-bit digits measured twice as slow
_SORT_BLOCK = 1 << 16
_UNGUARDED = nullcontext()


@cache
def library_path() -> Path:
    """The compiled kernels that suit this processor, or those that ``DFMST_KERNELS`` points to (sanitizer builds)."""
    override = os.environ.get("DFMST_KERNELS")
    if override:
        return Path(override)
    plain, newer = HOME / f"_kernels{_SUFFIX}", HOME / f"_kernels_v3{_SUFFIX}"
    return newer if newer.exists() and _load(plain).supports_x86_64_v3() else plain


def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        message = f"the compiled kernels cannot be loaded from {path}: {error}"
        hint = "install dfmst (pip install .) instead of importing it from its source folder"
        raise EngineUnavailableError(message, hint) from error


@cache
def _library() -> ctypes.CDLL:
    return _load(library_path())


_functions: dict[str, Any] = {}  # by variant: hashing a kernel's description costs as much as a small launch
_checked: dict[Any, Any] = {}  # by the description of a launch, so that it is checked once


def _function(variant: str, kernel: Kernel) -> Any:
    if variant in _functions:
        return _functions[variant]
    function = getattr(_library(), variant)
    types = [ctypes.c_void_p if p.pointer else _SCALARS[p.type] for p in kernel.parameters]
    function.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, *types]
    function.restype = None
    _functions[variant] = function
    return function


def default_threads() -> int:
    """Threads to use by default: ``DFMST_NUM_THREADS``, else the processors this process may run on."""
    configured = os.environ.get("DFMST_NUM_THREADS")
    if configured:
        try:
            return max(1, int(configured))
        except ValueError:
            message = f"DFMST_NUM_THREADS is {configured!r}; it must be a whole number"
            raise ValueError(message) from None
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class CpuEngine:
    """Runs kernels on the host's threads."""

    threads: int = field(default_factory=default_threads)
    name: str = "cpu"
    on_host: bool = True
    xp: Any = np
    in_steps: bool = True

    def launch(self, kernel: str, count: int, *arguments: Array | int | None, grain: int = 4096) -> None:
        """Run a kernel for every index below `count` (see :class:`dfmst._engines.base.Engine`)."""
        key, values = described(kernel, arguments)
        function = _checked.get(key)
        if function is None:
            function = _function(*bind(kernel, arguments))
            if key is not None:
                _checked[key] = function
        function(count, self.threads, grain, *values)

    def prepare(self, kernel: str, *arguments: Array | int | None) -> Callable[[int], None]:
        """Launch with these arguments later: a check costs little compared to a kernel on the host."""
        return lambda count: self.launch(kernel, count, *arguments)

    def launch_alone(self, kernel: str, *arguments: Array | int | None) -> None:
        """Run a sequential kernel (see :class:`dfmst._engines.base.Engine`)."""
        self.launch(kernel, 1, *arguments)

    def sort_records(self, records: Array, bits: int) -> Array:
        """Least-significant-digit radix sort over bits ``[32, 32 + bits)``: stable, and parallel over blocks."""
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
        """`most`: long stretches keep a thread's reads in order and its counts few."""
        return most

    def in_scratch(self) -> Self:
        """Columns come out of memory that this process keeps (see :mod:`dfmst._engines.scratch`)."""
        return type(self)(self.threads, xp=shared_scratch())

    def lasting(self) -> Self:
        """Columns are NumPy's own."""
        return self if self.xp is np else type(self)(self.threads)

    def from_host(self, column: Array) -> Array:
        """The column itself; one at an odd address, as another process may have sent it, is copied to an even one."""
        return column if column.flags.aligned else column.copy()

    def to_host(self, column: Array) -> Array:
        """The column itself."""
        return column

    def guard(self) -> AbstractContextManager[None]:
        """Do nothing: a host has no device faults."""
        return _UNGUARDED


_HEAD = object.__basicsize__  # bytes of an object before its own fields
_FIELDS = (ctypes.c_uint64 * 7).from_address  # data, dimensions, shape, strides, base, dtype, flags
_HALF = 0xFFFFFFFF  # flags take 32 bits
#: NumPy's own objects for these types: they are never freed, so no other dtype takes their place in memory.
_LASTING = frozenset(map(id, TYPES.values()))

Described: TypeAlias = tuple[tuple[Any, ...] | None, list[Any]]


def _documented(kernel: str, arguments: tuple[Any, ...]) -> Described:
    """Describe columns by NumPy's public attributes."""
    key: list[Any] = [kernel]
    values = []
    known = True
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            kind = id(argument.dtype)
            known &= type(argument) is np.ndarray and kind in _LASTING
            key += (kind, argument.flags.num)
            values.append(int(argument.__array_interface__["data"][0]))
        else:
            key.append(type(argument))
            values.append(argument)
    return tuple(key) if known else None, values


def _direct(kernel: str, arguments: tuple[Any, ...]) -> Described:
    """By the fields of NumPy's array object: a third of the time."""
    key: list[Any] = [kernel]
    values = []
    known, array, lasting = True, np.ndarray, _LASTING
    for argument in arguments:
        kind = type(argument)
        if kind is array:
            fields = _FIELDS(id(argument) + _HEAD)
            known &= fields[5] in lasting
            key += (fields[5], fields[6] & _HALF)
            values.append(fields[0])
        elif isinstance(argument, array):
            return _documented(kernel, arguments)
        else:
            key.append(kind)
            values.append(argument)
    return tuple(key) if known else None, values


def _fastest() -> Callable[[str, tuple[Any, ...]], Described]:
    """The faster way that works here: CPython keeps the fields of NumPy's stable binary interface."""
    if sys.implementation.name != "cpython" or sys.maxsize < 1 << 32:
        return _documented
    read_only = np.arange(8, dtype=np.float64)[::2]
    read_only.flags.writeable = False
    probe = ("", (np.arange(8, dtype=np.uint32)[3:], 1, read_only, None))
    return _direct if _direct(*probe) == _documented(*probe) else _documented


#: ``described(kernel, arguments)``: the key of a launch's checks, and the arguments with addresses in place of
#: columns. Launches of equal descriptions pass the same checks. ``None``: a column is of a kind that has none.
described = _fastest()
