"""Kernels as CuPy compiles them, and what a CUDA device is: asked for once a process."""

from __future__ import annotations

from functools import cache
from typing import Any

from dfmst._engines.kernels import Kernel, translation_units

BLOCK = 256  # threads a block

#: Compiler options of every kernel. Fused products and sums would make other floats than the CPU's.
OPTIONS = ("--std=c++17", "--fmad=false")


@cache
def _texts() -> dict[str, str]:
    return {unit.name: unit.text for unit in translation_units()}


@cache
def module_of(xp: Any, name: str) -> Any:
    """Return a translation unit, which CuPy compiles when it is used."""
    return xp.RawModule(code=_texts()[name], options=OPTIONS)


@cache
def function_of(xp: Any, variant: str, kernel: Kernel) -> Any:
    """Return a kernel's function for one type."""
    if kernel.on_host:
        raise LookupError(f"kernel {kernel.name} is compiled for CPUs alone")
    return module_of(xp, kernel.variants()[variant]).get_function(variant)


@cache
def threads_of(xp: Any, device: int) -> int:
    """Return how many threads a device holds at once."""
    attributes = xp.cuda.Device(device).attributes
    return int(attributes["MultiProcessorCount"] * attributes["MaxThreadsPerMultiProcessor"])


@cache
def resident_blocks(xp: Any, variant: str, kernel: Kernel, device: int) -> int:
    """Return the blocks of a kernel that a device holds at once."""
    pointer = function_of(xp, variant, kernel).kernel.ptr
    blocks = xp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(pointer, BLOCK, 0)
    return int(blocks * xp.cuda.Device(device).attributes["MultiProcessorCount"])


@cache
def is_cooperative(xp: Any, device: int) -> bool:
    """Whether a device launches grids whose threads wait for each other."""
    return bool(xp.cuda.Device(device).attributes.get("CooperativeLaunch", 0))


@cache
def memory_of(xp: Any, device: int) -> int:
    """Return the bytes of a device."""
    with xp.cuda.Device(device):
        return int(xp.cuda.runtime.memGetInfo()[1])


def faults_of(xp: Any) -> tuple[type[Exception], ...]:
    """Return what CuPy raises where the device, the driver or the compiler fails."""
    cuda = xp.cuda
    compilation = cuda.compiler.CompileException, cuda.nvrtc.NVRTCError
    return cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError, *compilation
