"""A CuPy over the host's memory: only what dfmst uses, and as strict as CuPy is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy import bool_, float32, float64, int8, int32, int64, uint8, uint32, uint64

from tests.support.gpu.standin.cupy import cuda
from tests.support.gpu.standin.cupy.cuda import reset
from tests.support.gpu.standin.cupy.device import driver_memory, traffic
from tests.support.gpu.standin.cupy.memory import get_default_memory_pool
from tests.support.gpu.standin.cupy.modules import RawModule
from tests.support.gpu.standin.cupy.ndarray import bare, flushed, ndarray, placed, received, wrapped

__all__ = [
    "RawModule",
    "add",
    "append",
    "arange",
    "argsort",
    "array",
    "asarray",
    "ascontiguousarray",
    "asnumpy",
    "bincount",
    "bool_",
    "concatenate",
    "count_nonzero",
    "cuda",
    "cumsum",
    "diff",
    "driver_memory",
    "empty",
    "empty_like",
    "flatnonzero",
    "float32",
    "float64",
    "fmod",
    "frexp",
    "full",
    "get_default_memory_pool",
    "int8",
    "int32",
    "int64",
    "isfinite",
    "isnan",
    "ldexp",
    "lexsort",
    "maximum",
    "minimum",
    "ndarray",
    "ones",
    "ones_like",
    "reset",
    "searchsorted",
    "sort",
    "sqrt",
    "stack",
    "traffic",
    "uint8",
    "uint32",
    "uint64",
    "unique",
    "where",
    "zeros",
]

__version__ = "14.2.0"


# ---- made on the device -------------------------------------------------------------------------------------------


def empty(shape: Any, dtype: Any = float) -> ndarray:
    """What was in memory before: nothing that anybody should read."""
    made = np.empty(shape, dtype)
    made.view(np.uint8).fill(0xA5) if made.size else None
    return placed(made)


def zeros(shape: Any, dtype: Any = float) -> ndarray:
    return wrapped(np.zeros(shape, dtype))


def ones(shape: Any, dtype: Any = float) -> ndarray:
    return wrapped(np.ones(shape, dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> ndarray:
    return wrapped(np.full(shape, bare(fill_value), dtype))


def arange(*bounds: int, dtype: Any = None) -> ndarray:
    return wrapped(np.arange(*bounds, dtype=dtype))


def empty_like(prototype: ndarray) -> ndarray:
    return empty(prototype.shape, prototype.dtype)


def ones_like(a: ndarray) -> ndarray:
    return ones(a.shape, a.dtype)


# ---- between host and device --------------------------------------------------------------------------------------


def asarray(a: Any, dtype: Any = None) -> ndarray:
    """Copy what is on the host or on another device to the current one."""
    if not isinstance(a, ndarray) and hasattr(a, "__cuda_array_interface__"):  # of another library
        a = wrapped(np.asarray(SimpleNamespace(__array_interface__=a.__cuda_array_interface__)))
    if isinstance(a, ndarray):
        if a.device.id != cuda.Device().id:
            a = a.copy()
        return a if dtype is None or a.dtype == dtype else a.astype(dtype)
    if isinstance(a, list) and any(isinstance(entry, ndarray) for entry in a):
        raise NotImplementedError("the stand-in makes no array of arrays")
    return received(np.asarray(a, dtype))


def array(obj: Any, dtype: Any = None) -> ndarray:
    return asarray(obj, dtype).copy()


def asnumpy(a: Any) -> np.ndarray:
    return a.get() if isinstance(a, ndarray) else np.asarray(a)


# ---- computed on the device ---------------------------------------------------------------------------------------


def ascontiguousarray(a: ndarray) -> ndarray:
    return a if a.flags.c_contiguous else a.copy()


def concatenate(tup: Any) -> ndarray:
    return wrapped(np.concatenate([bare(part, arrays_only=True) for part in tup]))


def stack(tup: Any) -> ndarray:
    return wrapped(np.stack([bare(part, arrays_only=True) for part in tup]))


def append(arr: ndarray, values: Any) -> ndarray:
    return wrapped(np.append(bare(arr, arrays_only=True), bare(values)))


def diff(a: ndarray) -> ndarray:
    return wrapped(np.diff(bare(a, arrays_only=True)))


def cumsum(a: ndarray, dtype: Any = None, out: ndarray | None = None) -> ndarray:
    return _into(out, np.cumsum(bare(a, arrays_only=True), dtype=dtype))


def unique(ar: ndarray, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    options: Any = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    columns = np.unique(bare(ar, arrays_only=True), **options)
    return tuple(wrapped(column) for column in columns) if isinstance(columns, tuple) else wrapped(columns)


def add(x1: ndarray, x2: Any, out: ndarray | None = None) -> ndarray:
    return _into(out, np.add(flushed(bare(x1, arrays_only=True)), flushed(bare(x2))))


def minimum(x1: ndarray, x2: Any, out: ndarray | None = None) -> ndarray:
    return _into(out, np.minimum(flushed(bare(x1, arrays_only=True)), flushed(bare(x2))))


def maximum(x1: ndarray, x2: Any, out: ndarray | None = None) -> ndarray:
    return _into(out, np.maximum(flushed(bare(x1, arrays_only=True)), flushed(bare(x2))))


def _into(out: ndarray | None, result: np.ndarray) -> ndarray:
    if out is None:
        return wrapped(result)
    bare(out)[...] = result
    return out


def sort(a: ndarray) -> ndarray:
    return wrapped(np.sort(bare(a, arrays_only=True), kind="stable"))


def argsort(a: ndarray) -> ndarray:
    return wrapped(np.argsort(bare(a, arrays_only=True), kind="stable"))


def lexsort(keys: ndarray) -> ndarray:
    if not isinstance(keys, ndarray):
        raise TypeError("cupy.lexsort takes a (k, N) array, not a tuple of columns")
    return wrapped(np.lexsort(bare(keys)))


def searchsorted(a: ndarray, v: ndarray, side: Literal["left", "right"] = "left") -> ndarray:
    return wrapped(np.searchsorted(bare(a, arrays_only=True), bare(v, arrays_only=True), side))


def where(condition: ndarray, x: Any, y: Any) -> ndarray:
    return wrapped(np.where(bare(condition, arrays_only=True), bare(x), bare(y)))


def flatnonzero(a: ndarray) -> ndarray:
    return a.nonzero()[0]


def count_nonzero(a: ndarray) -> ndarray:
    return wrapped(np.asarray(np.count_nonzero(bare(a, arrays_only=True))))


def isnan(a: ndarray) -> ndarray:
    return wrapped(np.isnan(bare(a, arrays_only=True)))


def sqrt(x: ndarray) -> ndarray:
    return wrapped(np.sqrt(bare(x, arrays_only=True)))


def fmod(x1: ndarray, x2: Any) -> ndarray:
    return wrapped(np.fmod(bare(x1, arrays_only=True), bare(x2)))


def frexp(x: ndarray) -> tuple[ndarray, ...]:
    return tuple(wrapped(part) for part in np.frexp(bare(x, arrays_only=True)))


def ldexp(x1: ndarray, x2: ndarray, out: ndarray | None = None) -> ndarray:
    return _into(out, np.ldexp(bare(x1, arrays_only=True), bare(x2, arrays_only=True)))


def isfinite(a: ndarray) -> ndarray:
    return wrapped(np.isfinite(bare(a, arrays_only=True)))


def bincount(x: ndarray, weights: ndarray | None = None, minlength: int | None = None) -> ndarray:
    counted = None if weights is None else bare(weights, arrays_only=True)
    return wrapped(np.bincount(bare(x, arrays_only=True), counted, minlength or 0))
