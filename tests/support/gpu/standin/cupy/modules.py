"""Compiled modules: a launch runs the same kernel of the CPU's library."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst._engines.cpu import _function
from dfmst._engines.kernels import TYPES, Kernel, kernels, translation_units
from tests.support.gpu.standin.cupy import cuda, placement
from tests.support.gpu.standin.cupy.ndarray import ndarray

REQUIRED = ("--std=c++17", "--fmad=false")
_GRAIN = 5  # a few indices at a time, so that threads meet on small graphs as well
_THREADS = 2
_KEYS = {"i32": "u32", "u32": "u32", "f32": "u32", "i64": "u64", "u64": "u64", "f64": "u64"}


class RawKernel:
    """A kernel for one type."""

    def __init__(self, name: str, kernel: Kernel, type_: str) -> None:
        self.name = name
        self._kernel = kernel
        self._type = type_

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]) -> None:
        self._launch(grid, block, args, cooperative=False)

    @property
    def kernel(self) -> Function:
        return Function(self)

    def _launch(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], *, cooperative: bool
    ) -> None:
        _check_shape(grid, block)
        if cooperative != self._kernel.in_steps and (cooperative or grid[0] > 1):
            raise AssertionError(f"{self.name}: blocks that wait for each other need a cooperative launch, others none")
        if cooperative:
            _check_resident(grid, block)
        count, *arguments = args
        if type(count) is not np.uint64:
            raise TypeError(f"{self.name}: the count is a {type(count).__name__}")
        if len(arguments) != len(self._kernel.parameters):
            raise TypeError(f"{self.name} takes {len(self._kernel.parameters)} arguments, not {len(arguments)}")
        values = [self._value(*pair) for pair in zip(self._kernel.parameters, arguments, strict=True)]
        if cuda.faults.launch:
            raise cuda.driver.CUDADriverError(cuda.faults.launch)
        cuda.launches.append((self.name, int(count), grid[0] * block[0], cuda.get_current_stream()))
        self.run((grid[0], block[0]), int(count), values, [argument for argument in arguments if _is_column(argument)])

    def run(self, shape: tuple[int, int], count: int, values: list[int | None], columns: list[ndarray]) -> None:
        """Run all indices; `values` are numbers and the addresses of the columns."""
        _function(self.name, self._kernel)(count, _THREADS, _GRAIN, *values)

    def _value(self, parameter: Any, argument: Any) -> int | None:
        expected = self._expected(parameter.type)
        if not parameter.pointer:
            if type(argument) is not expected.type:
                raise TypeError(f"{self.name}: {parameter.name} is a {type(argument).__name__}, not a {expected}")
            return int(argument)
        if argument is None:
            return None
        if not isinstance(argument, ndarray) or argument.dtype != expected or not argument.flags.c_contiguous:
            raise TypeError(f"{self.name}: {parameter.name} is not a contiguous array of {expected} on the device")
        if argument.device.id != placement.current():
            raise AssertionError(f"{self.name}: {parameter.name} is on another device")
        return int(argument._host.__array_interface__["data"][0])

    def _expected(self, type_: str) -> np.dtype[Any]:
        if type_ == self._kernel.type_parameter:
            type_ = self._type
        elif type_ == "Key<W>":
            type_ = _KEYS[self._type]
        return TYPES[type_]


class Function:
    """A kernel on the device that was the current one when it was loaded."""

    ptr = 1

    def __init__(self, kernel: RawKernel) -> None:
        self._kernel, self._device = kernel, placement.current()

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: tuple[Any, ...],
        enable_cooperative_groups: bool = False,
    ) -> None:
        if self._device != placement.current():
            raise cuda.driver.CUDADriverError("CUDA_ERROR_INVALID_HANDLE: invalid resource handle")
        self._kernel._launch(grid, block, args, cooperative=enable_cooperative_groups)


class RawModule:
    """One of the package's translation units; no other text is known."""

    kernel_class: type[RawKernel] = RawKernel

    def __init__(self, *, code: str, options: Any = ()) -> None:
        names = [name for name, text in translation_units().items() if text == code]
        if not isinstance(options, tuple) or not names:
            raise ValueError("not a translation unit of dfmst")
        if {*options} != {*REQUIRED}:
            raise cuda.compiler.CompileException(f"other options than expected: {options}")
        self._unit = names[0]

    def get_function(self, name: str) -> RawKernel:
        for kernel in kernels().values():
            if kernel.variants().get(name) == self._unit and not kernel.on_host:
                if cuda.faults.compile:
                    raise cuda.compiler.CompileException(cuda.faults.compile)
                return self.kernel_class(name, kernel, name.removeprefix(f"{kernel.name}_"))
        raise cuda.driver.CUDADriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")


def _is_column(argument: Any) -> bool:
    return isinstance(argument, ndarray)


def _check_shape(grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    attributes = cuda.Device().attributes
    fits = 1 <= grid[0] <= attributes["MaxGridDimX"] and 1 <= block[0] <= attributes["MaxThreadsPerBlock"]
    if not fits or len(grid) != 1 or len(block) != 1:
        raise cuda.driver.CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")


def _check_resident(grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    """CuPy makes a grid smaller that the device cannot hold at once, and warns."""
    attributes = cuda.Device().attributes
    most = cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(1, block[0], 0) * attributes["MultiProcessorCount"]
    if not attributes["CooperativeLaunch"] or grid[0] > min(most, cuda.granted[0] or most):
        raise cuda.driver.CUDADriverError(
            "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: too many blocks in cooperative launch"
        )
