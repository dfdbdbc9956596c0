"""Arrays that NumPy cannot reach into."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from tests.support.gpu.standin.cupy.device import traffic
from tests.support.gpu.standin.cupy.memory import Memory
from tests.support.gpu.standin.cupy.placement import Device, places
from tests.support.gpu.standin.cupy.streams import get_current_stream

_SUPPORTED = "biufmM"


class Flags:
    """CuPy's flags: no ``writeable`` and no ``aligned``."""

    def __init__(self, host: np.ndarray) -> None:
        self.c_contiguous = host.flags.c_contiguous
        self.f_contiguous = host.flags.f_contiguous
        self.owndata = host.flags.owndata


class ndarray:
    """An array in the "device's" memory."""

    __array_priority__ = 100
    __array_ufunc__ = None  # NumPy's scalars give way to this class's operators; its ufuncs refuse
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: np.ndarray, memory: Memory) -> None:
        self._host = host
        self._memory = memory

    # ---- what it is

    dtype = property(lambda self: self._host.dtype)
    shape = property(lambda self: self._host.shape)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    T = property(lambda self: ndarray(self._host.T, self._memory))
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    flags = property(lambda self: Flags(self._host))
    device = property(lambda self: Device(self._memory.device))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        places[self._host.__array_interface__["data"][0]] = self._memory.device
        return {**self._host.__array_interface__, "version": 3}

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._memory.device

    def __len__(self) -> int:
        return len(self._host)

    def __repr__(self) -> str:
        return repr(self._host)

    def __str__(self) -> str:
        return str(self._down())

    # ---- to the host: explicitly, or a scalar at a time, which waits for the current stream

    def _down(self) -> np.ndarray:
        traffic.down(self.nbytes)
        get_current_stream().note()
        return self._host

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def get(self) -> np.ndarray:
        return self._down().copy()

    def set(self, arr: Any, stream: Any = None) -> None:
        if not isinstance(arr, np.ndarray) or arr.dtype != self.dtype or arr.shape != self.shape:
            raise TypeError("set() takes a NumPy array of the same shape and type")
        traffic.up(self.nbytes)
        if stream is None:
            self._host[...] = arr
            return
        host = self._host
        stream.write(self._memory, arr, lambda: host.__setitem__(..., arr))

    def item(self) -> Any:
        return self._down().item()

    def tolist(self) -> Any:
        return self._down().tolist()

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return operator.index(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __iter__(self) -> Any:
        raise TypeError("iterating over a GPU array copies it entry by entry")

    # ---- on the device

    def __getitem__(self, at: Any) -> ndarray:
        if isinstance(at, int) and self.ndim == 1:
            return ndarray(self._host[at : at + 1 or None].reshape(()), self._memory)  # a view, as CuPy's
        found = self._host[_index(at)]
        view = isinstance(found, np.ndarray) and found.size and np.may_share_memory(found, self._host)
        return ndarray(found, self._memory) if view else wrapped(np.asarray(found))

    def __setitem__(self, at: Any, value: Any) -> None:
        traffic.array_calls.append("setitem")
        self._host[_index(at)] = bare(value)

    def view(self, dtype: Any) -> ndarray:
        return ndarray(self._host.view(dtype), self._memory)

    def reshape(self, *shape: int) -> ndarray:
        return ndarray(self._host.reshape(*shape), self._memory)

    def astype(self, dtype: Any, copy: bool = True) -> ndarray:
        if not copy and self.dtype == dtype:
            return self
        return wrapped(self._host.astype(dtype))

    def copy(self) -> ndarray:
        return wrapped(self._host.copy())

    def fill(self, value: Any) -> None:
        traffic.array_calls.append("fill")
        self._host.fill(bare(value))

    def take(self, indices: ndarray) -> ndarray:
        return self[indices]

    def nonzero(self) -> tuple[ndarray, ...]:
        return tuple(wrapped(part) for part in self._host.nonzero())

    def argsort(self) -> ndarray:
        return wrapped(self._host.argsort(kind="stable"))

    def sum(self, dtype: Any = None) -> ndarray:
        return wrapped(np.asarray(self._host.sum(dtype=dtype)))


def _reduction(name: str) -> Any:
    return lambda self, axis=None: wrapped(np.asarray(getattr(self._host, name)(axis=axis)))


def _operator(name: str) -> Any:
    def apply(self: ndarray, *others: Any) -> Any:
        result = getattr(flushed(self._host), name)(*(flushed(bare(other)) for other in others))
        return result if result is NotImplemented else wrapped(flushed(np.asarray(result)))

    return apply


def flushed(values: Any) -> Any:
    """Numbers as CuPy's kernels take them and give them, which it compiles with -ftz=true: denormal float32 are 0."""
    if getattr(values, "dtype", None) != np.float32:
        return values
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.float32(0), values)


def _in_place(name: str) -> Any:
    def apply(self: ndarray, other: Any) -> ndarray:
        traffic.array_calls.append(name)
        getattr(self._host, name)(bare(other))
        return self

    return apply


for _name in ("min", "max", "mean", "any", "all", "argmin", "argmax"):
    setattr(ndarray, _name, _reduction(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "abs", "invert", "neg"):
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "and", "or", "xor", "lshift", "rshift"):
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(ndarray, f"__r{_name}__", _operator(f"__r{_name}__"))
    setattr(ndarray, f"__i{_name}__", _in_place(f"__i{_name}__"))


def wrapped(host: np.ndarray) -> ndarray:
    """The result of one of CuPy's kernels, in memory of its own."""
    traffic.array_calls.append(sys._getframe(1).f_code.co_name)
    return placed(host)


def placed(host: np.ndarray) -> ndarray:
    """An array of the device, in memory of its own."""
    if host.dtype.kind not in _SUPPORTED:
        raise ValueError(f"Unsupported dtype {host.dtype}")
    return ndarray(host, Memory(host.nbytes))


def received(host: np.ndarray) -> ndarray:
    """An array that is copied from the host, through pinned memory of its size."""
    traffic.up(host.nbytes)
    traffic.pinned.append(host.nbytes)
    return placed(host.copy())


def bare(value: Any, arrays_only: bool = False) -> Any:
    """What an operation works on; columns on the host are refused, as CuPy does."""
    if isinstance(value, ndarray):
        return value._host
    if arrays_only or isinstance(value, (np.ndarray, list, tuple)):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def _index(at: Any) -> Any:
    if isinstance(at, tuple):
        return tuple(_index(part) for part in at)
    if isinstance(at, (slice, int, np.integer, type(Ellipsis), type(None))):
        return at
    return bare(at, arrays_only=True)
