"""The CUDA engine: CuPy compiles the kernels at run time and caches them on disk.

All work runs on the default stream, which cuDF uses, too, so that no call waits for another stream. Work of a caller's
own stream is ordered with it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from tempfile import TemporaryFile
from traceback import clear_frames
from types import ModuleType
from typing import Any

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.cpu import CpuEngine
from dfmst._engines.kernels import TYPES, Kernel, bind, translation_units
from dfmst._engines.scratch import PooledModule, device_scratch, free_pool_bytes, rmm_pool, trim_device_scratch
from dfmst.errors import CapacityError, DeviceError, DfmstError, EngineUnavailableError

BLOCK = 256  # threads a block
_WAVES = 16  # blocks of a launch, as a multiple of those that run at once: more blocks balance the load
#: The missing amount, as CuPy and RMM name it.
_AMOUNT = re.compile(r"allocat\w* ([\d,.]+) (bytes|[KMGT]?i?B)\b")
#: The runtime's and the driver's names of a lack of memory: CuPy raises no MemoryError if an allocation does not pass
#: through a pool, as those of pinned memory and of a kernel's code.
_NO_MEMORY = re.compile(r"cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY")
_TOO_LARGE = "COOPERATIVE_LAUNCH_TOO_LARGE"

#: Compiler options of every kernel. Fused products and sums would differ from the floats of CPUs.
OPTIONS = ("--std=c++17", "--fmad=false")


@cache
def module_of(xp: ModuleType, name: str) -> Any:
    """Return a translation unit, which CuPy compiles when it is used."""
    return xp.RawModule(code=translation_units()[name], options=OPTIONS)


@cache
def function_of(xp: ModuleType, variant: str, kernel: Kernel) -> Any:
    """Return a kernel's function for one type."""
    if kernel.on_host:
        raise LookupError(f"kernel {kernel.name} is compiled for CPUs only")
    return module_of(xp, kernel.variants()[variant]).get_function(variant)


@cache
def attributes_of(xp: ModuleType, device: int) -> dict[str, int]:
    """Return the attributes of a device."""
    return dict(xp.cuda.Device(device).attributes)


@cache
def capability_of(xp: ModuleType, device: int) -> tuple[int, int]:
    """Return the compute capability of a device."""
    digits = xp.cuda.Device(device).compute_capability
    return int(digits[:-1]), int(digits[-1])


@cache
def resident_blocks(xp: ModuleType, variant: str, kernel: Kernel, device: int) -> int:
    """Return the number of blocks of a kernel that a device runs at once."""
    pointer = function_of(xp, variant, kernel).kernel.ptr
    blocks = xp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(pointer, BLOCK, 0)
    return int(blocks * attributes_of(xp, device)["MultiProcessorCount"])


@dataclass(slots=True)
class _Bound:
    """A kernel for arguments of known types."""

    function: Any
    types: list[type[np.generic] | None]  # of numbers; None: a column
    most_blocks: int
    options: dict[str, bool]


@cache
def bound_kernels(xp: ModuleType) -> dict[tuple[Any, ...], _Bound]:
    """Return the kernels that were launched, by name, device, and the types of the arguments."""
    return {}


@cache
def memory_of(xp: ModuleType, device: int) -> int:
    """Return the bytes of a device."""
    with xp.cuda.Device(device):
        return int(xp.cuda.runtime.memGetInfo()[1])


def faults_of(xp: ModuleType) -> tuple[type[Exception], ...]:
    """Return the exceptions that CuPy raises if the device, the driver or the compiler fails."""
    cuda = xp.cuda
    compilation = cuda.compiler.CompileException, cuda.nvrtc.NVRTCError
    return cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError, *compilation


_INSTALL = (
    "install dfmst with the extra for your driver (pip install 'dfmst[cu13]', or 'dfmst[cu12]'), or use engine='cpu'"
)
_DRIVER = "install NVIDIA's driver, or start the container with its GPUs, or use engine='cpu'"
_CACHE = "set CUPY_CACHE_DIR to a folder that can be written, or use engine='cpu'"
USE_CPU = "engine='cpu'", "--engine cpu"


def load_cupy() -> Any:
    """Return CuPy, or raise an error if it cannot use a device."""
    try:
        xp = import_module("cupy")
    except ImportError as error:
        raise _unavailable(f"needs CuPy: {error}") from error
    except OSError as error:  # CuPy makes its folder of compiled kernels, in the home by default
        raise _unavailable(f"needs CuPy, which cannot be imported: {error}", _CACHE) from error
    except Exception as error:  # of libraries that do not fit each other
        raise _unavailable(f"needs CuPy, which cannot be imported: {type(error).__name__}: {error}") from error
    try:
        devices = xp.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy has an error class for no driver, an old driver, and so on
        raise _unavailable(f"finds no CUDA device: {error}", _driver_hint(xp)) from error
    if not devices:
        raise _unavailable("finds no CUDA device", "use engine='cpu', or another machine")
    try:
        version = xp.cuda.nvrtc.getVersion()
    except Exception as error:  # CuPy's wheel does not contain CUDA's toolkit
        raise _unavailable(f"needs NVRTC, CUDA's compiler: {error}") from error
    _check_capability(xp, least=(7, 5) if version >= (13, 0) else (7, 0))
    _do_without_cache(os.environ.get("CUPY_CACHE_DIR") or os.path.expanduser("~/.cupy/kernel_cache"))
    return xp


def _driver_hint(xp: ModuleType) -> str:
    """Return the hint if no device is found: CUDA says for no driver and for an old one that it is insufficient."""
    try:
        version = int(xp.cuda.runtime.driverGetVersion())
    except Exception:  # as for the number of devices
        version = 0
    if not version:
        return _DRIVER
    return f"the driver is of CUDA {version // 1000}.{version % 1000 // 10}: {_INSTALL}"


@cache
def _do_without_cache(folder: str) -> None:
    """Let CuPy keep its kernels in memory if it cannot write the folder of them, which would fail at each kernel."""
    if not os.path.isdir(folder):
        return
    try:
        TemporaryFile(dir=folder).close()
    except OSError:
        os.environ["CUPY_CACHE_IN_MEMORY"] = "1"


def _check_capability(xp: ModuleType, least: tuple[int, int]) -> None:
    """Raise for a GPU that lacks an instruction of the kernels (``nanosleep``), or that NVRTC does not compile for."""
    capability = capability_of(xp, int(xp.cuda.runtime.getDevice()))
    if capability < least:
        found, needed = (".".join(map(str, each)) for each in (capability, least))
        hint = "use engine='cpu', or a GPU of the Turing generation or later (Volta with the extra 'cu12')"
        raise _unavailable(f"needs a GPU of compute capability {needed}; the current one has {found}", hint)


def _unavailable(reason: str, hint: str = _INSTALL) -> EngineUnavailableError:
    return EngineUnavailableError(f"engine='cuda' {reason}", hint, option=USE_CPU)


@contextmanager
def default_stream(xp: ModuleType) -> Iterator[None]:
    """Context manager: work on the default stream, in order with the work of the caller's stream."""
    stream, default = xp.cuda.get_current_stream(), xp.cuda.Stream.null
    if not stream.is_non_blocking:  # such streams are in order with the default stream by themselves
        yield
        return
    default.wait_event(stream.record())
    try:
        with default:
            yield
    finally:
        stream.wait_event(default.record())


def current_place() -> Callable[[], AbstractContextManager[object]]:
    """Return a function that makes the device and the stream of this thread current in another one.

    Without CuPy or a device, it does nothing. CuPy begins each thread on device 0 and its default stream.
    """
    xp = sys.modules.get("cupy")
    if xp is None:
        return nullcontext
    try:
        device = int(xp.cuda.runtime.getDevice())
        stream = xp.cuda.get_current_stream()
    except Exception:  # a missing driver, or one that is too old: CuPy has an error class for each
        return nullcontext
    if stream == xp.cuda.Stream.ptds:  # another stream in each thread, all of which the default stream waits for
        stream = xp.cuda.Stream.null

    def place() -> AbstractContextManager[object]:
        stack = ExitStack()
        stack.enter_context(xp.cuda.Device(device))
        stack.enter_context(stream)
        return stack

    return place


@dataclass(frozen=True, slots=True)
class CudaEngine:
    """Runs kernels on the current CUDA device."""

    xp: Any = field(default_factory=load_cupy)
    synchronous: bool = field(default_factory=lambda: os.environ.get("DFMST_CUDA_SYNC", "0") not in ("", "0"))
    name: str = "cuda"
    on_host: bool = False

    @property
    def threads(self) -> int:
        """Number of threads that the device runs at once."""
        attributes = attributes_of(self._cupy, self._device)
        return attributes["MultiProcessorCount"] * attributes["MaxThreadsPerMultiProcessor"]

    @property
    def ends_long_launches(self) -> bool:
        """Whether the driver ends a launch that takes seconds: on a device that drives a display, and under Windows."""
        return bool(attributes_of(self._cupy, self._device).get("KernelExecTimeout", 0))

    @property
    def in_steps(self) -> bool:
        """Whether the device runs kernels whose threads wait for each other."""
        return bool(attributes_of(self._cupy, self._device).get("CooperativeLaunch", 0))

    @property
    def _device(self) -> int:
        return int(self.xp.cuda.runtime.getDevice())

    def launch(self, kernel: str, count: int, *arguments: Array | int | None, grain: int = 4096) -> None:
        """Run a kernel for every index below `count` (see :class:`dfmst._engines.Engine`); `grain` is ignored."""
        self._run(kernel, *self._bound(kernel, arguments), count)

    def prepare(self, kernel: str, *arguments: Array | int | None) -> Callable[[int], None]:
        """Check the arguments once for many launches: the check takes longer than a small kernel."""
        bound, values = self._bound(kernel, arguments)
        return lambda count: self._run(kernel, bound, values, count)

    def _bound(self, kernel: str, arguments: tuple[Any, ...]) -> tuple[_Bound, list[Any]]:
        """Return the kernel for these arguments, and the arguments as CuPy takes them."""
        xp = self._cupy
        array, known = xp.ndarray, bound_kernels(xp)
        key: list[Any] = [kernel, xp.cuda.runtime.getDevice()]
        for argument in arguments:
            kind: Any = type(argument)
            key += (argument.dtype, argument.flags.c_contiguous) if kind is array else (kind, None)
        bound = known.get(tuple(key))
        if bound is None:
            bound = self._bind(kernel, arguments)
            if not any(isinstance(part, type) and issubclass(part, array) for part in key):
                known[tuple(key)] = bound
        # CuPy passes a Python integer as 64 bits.
        return bound, [each if as_ is None else as_(each) for as_, each in zip(bound.types, arguments, strict=True)]

    def _bind(self, kernel: str, arguments: tuple[Array | int | None, ...]) -> _Bound:
        variant, signature = bind(kernel, arguments)
        types: list[type[np.generic] | None] = []
        for parameter, argument in zip(signature.parameters, arguments, strict=True):
            if parameter.pointer and argument is not None and not isinstance(argument, self.xp.ndarray):
                kind = f"a {type(argument).__name__} on the host, not a CuPy array"
                raise TypeError(f"kernel {kernel}: {parameter.name} is {kind}")
            types.append(None if parameter.pointer else TYPES[parameter.type].type)
        try:
            function = function_of(self._cupy, variant, signature).kernel  # loads the code
            if not signature.in_steps:
                return _Bound(function, types, max(1, self.threads // BLOCK) * _WAVES, {})
            if not self.in_steps:  # the threads of one block may always wait for each other
                return _Bound(function, types, 1, {})
            most_blocks = resident_blocks(self._cupy, variant, signature, self._device)
            return _Bound(function, types, most_blocks, {"enable_cooperative_groups": True})
        except faults_of(self.xp) as error:
            raise self._fault(kernel, error) from error

    def _run(self, kernel: str, bound: _Bound, values: list[object], count: int) -> None:
        """Launch a kernel; a grid that must run at once gets smaller until the device holds it."""
        blocks = min(-(-count // BLOCK), bound.most_blocks)
        while blocks:
            try:
                bound.function((blocks,), (BLOCK,), (np.uint64(count), *values), **bound.options)
                if self.synchronous:
                    self.xp.cuda.get_current_stream().synchronize()
                return
            except faults_of(self.xp) as error:
                if _TOO_LARGE not in str(error) or blocks == 1:
                    raise self._fault(kernel, error) from error
                # A green context, or the server of MPS, grants fewer multiprocessors than the device has.
                blocks = bound.most_blocks = blocks // 2

    def _fault(self, kernel: str, error: Exception) -> DfmstError:
        if _NO_MEMORY.search(str(error)):
            return self._out_of_memory(error)
        hint = "use engine='cpu', and please report this with the message above"
        return DeviceError(f"kernel {kernel} failed on the GPU: {error}", hint, option=USE_CPU)

    def launch_alone(self, kernel: str, *arguments: Array | int | None) -> None:
        """Run a sequential kernel on the host, with copies of its columns: one thread of a GPU takes far longer."""
        _, signature = bind(kernel, arguments)
        columns: list[Any] = list(arguments)
        copies = [each if each is None or isinstance(each, int) else self.to_host(each) for each in columns]
        CpuEngine(1).launch_alone(kernel, *copies)
        for parameter, column, copy in zip(signature.parameters, columns, copies, strict=True):
            if parameter.written and column is not None:
                column.set(copy)

    def sort_records(self, records: Array, bits: int) -> Array:
        """Sort records stably by bits ``[32, 32 + bits)``, with CuPy's radix sort of the leading halves."""
        if not bits or not len(records):
            return records
        # All machines with a GPU are little-endian: the second word of a record is its leading half.
        leading = self.xp.ascontiguousarray(records.view(np.uint32)[1::2])
        ordered: Array = records[self.xp.argsort(leading)]
        return ordered

    def stretch(self, most: int) -> int:
        """Return 1: threads are many, and neighbors read adjacent entries."""
        return 1

    def in_scratch(self) -> CudaEngine:
        """Return the engine with columns in reused memory (see :mod:`dfmst._engines.scratch`)."""
        return self._with(device_scratch(self._cupy))

    def lasting(self) -> CudaEngine:
        """Return the engine with columns in the memory of CuPy's allocator."""
        return self._with(self._cupy)

    def _with(self, xp: ModuleType) -> CudaEngine:
        return self if xp is self.xp else replace(self, xp=xp)

    @property
    def _cupy(self) -> Any:
        return self.xp.plain if isinstance(self.xp, PooledModule) else self.xp

    def from_host(self, column: Array) -> Array:
        """Copy a NumPy column to the device; not with ``cupy.asarray``, which allocates as much pinned memory."""
        moved: Array = column
        if not isinstance(column, self.xp.ndarray):
            moved = self.xp.empty(column.shape, column.dtype)
            moved.set(np.ascontiguousarray(column))  # type: ignore[attr-defined]
        return moved

    def to_host(self, column: Array) -> Array:
        """Copy a column to the host, as NumPy."""
        moved: Array = self.xp.asnumpy(column)
        return moved

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Context manager: raise errors of dfmst for faults of the device, in order with the caller's stream."""
        try:
            with default_stream(self._cupy):
                yield
        except DfmstError:
            raise
        except MemoryError as error:
            raise self._out_of_memory(error) from error
        except faults_of(self.xp) as error:
            if _NO_MEMORY.search(str(error)):
                raise self._out_of_memory(error) from error
            hint = "set DFMST_CUDA_SYNC=1 to learn which kernel it was, and please report it; engine='cpu' does without"
            raise DeviceError(f"the GPU failed: {error}", hint, option=USE_CPU) from error
        else:
            trim_device_scratch(memory_of(self._cupy, self._device))

    def _out_of_memory(self, error: Exception) -> CapacityError:
        if error.__traceback__ is not None:  # its frames hold columns; the guard's own makes a cycle
            error.__traceback__ = error.__traceback__.tb_next
            clear_frames(error.__traceback__)
        free, total = self.xp.cuda.runtime.memGetInfo()
        pool, (reserved, used) = self.xp.get_default_memory_pool(), rmm_pool()
        free += pool.free_bytes() + free_pool_bytes() + (0 if used is None else reserved - used)
        free = min(free, (pool.get_limit() or total) - pool.used_bytes())
        found = _AMOUNT.search(str(error))
        scale = 1 << 10 * "BKMGT".index(found[2][0].upper()) if found else 0
        needed = f"{round(scale * float(found[1].replace(',', ''))):,} more bytes" if found else "more bytes"
        message = f"the GPU is out of memory: {needed} were needed at once; now {free:,} of {total:,} bytes are free"
        if used is None and reserved:
            message += f", next to RMM's pool of {reserved:,} bytes"
        hint = "fold the table in parts with dfmst.stream, spread it over a Dask cluster, or use engine='cpu'"
        return CapacityError(message, hint, option=USE_CPU)
