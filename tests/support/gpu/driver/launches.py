"""Runs launches of the real CuPy: as PTX on the interpreter, or a kernel of dfmst in the CPU's library."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from dfmst._engines.base import TYPES
from dfmst._engines.cpu import _function
from dfmst._engines.kernels import Kernel, kernels
from tests.support.gpu.driver import redirect
from tests.support.gpu.ptx.machine import Launch, Program, run
from tests.support.gpu.ptx.memory import Memory
from tests.support.gpu.ptx.program import parse
from tests.support.gpu.ptx.values import TYPES as PTX_TYPES

_THREADS, _GRAIN = 2, 64


@cache
def _variants() -> dict[str, Kernel]:
    return {variant: kernel for kernel in kernels().values() for variant in kernel.variants()}


def is_dfmst(name: str) -> bool:
    """Whether a kernel is one of dfmst's."""
    return name in _variants()


def on_cpu(name: str, module: int, grid: Any, block: Any, shared: int, parameters: Any) -> None:
    """Run a kernel of dfmst in the CPU's library."""
    kernel = _variants()[name]
    count = ctypes.cast(parameters[0], ctypes.POINTER(ctypes.c_uint64))[0]
    values: list[Any] = []
    for number, parameter in enumerate(kernel.parameters, 1):
        size = 8 if parameter.pointer else TYPES[parameter.type].itemsize
        value = int.from_bytes(ctypes.string_at(parameters[number], size), "little")
        if parameter.pointer:
            _check(value, f"{name}: {parameter.name}")
        values.append(value or (None if parameter.pointer else 0))
    _function(name, kernel)(count, _THREADS, _GRAIN, *values)


def _check(pointer: int, name: str) -> None:
    """A pointer must lie in an allocation, or right behind one: that of an empty view."""
    if pointer and not any(begin <= pointer <= begin + size for begin, size in redirect.allocations.items()):
        raise AssertionError(f"{name} points outside of the device: {pointer:#x}")


@cache
def _programs(module: int) -> dict[str, Any]:
    return parse(redirect.modules[module].decode())


@cache
def _program(module: int, name: str) -> Program:
    return Program(_programs(module)[name])


def as_ptx(name: str, module: int, grid: Any, block: Any, shared: int, parameters: Any) -> None:
    """Run any kernel on the interpreter."""
    program = _program(module, name)
    sizes = redirect.modules[module].decode()
    values = [
        ctypes.string_at(parameters[number], _size(sizes, parameter, kind))
        for number, (parameter, kind) in enumerate(program.function.parameters)
    ]
    octets = ((ctypes.c_ubyte * size).from_address(begin) for begin, size in redirect.allocations.items())
    memory = Memory(np.ctypeslib.as_array(each) for each in octets)
    run(Launch(program, (grid[0], block[0]), values, memory))


def _size(text: str, parameter: str, kind: str) -> int:
    """Bytes of a parameter; structures are arrays of bytes."""
    begin = text.index(f" {parameter}") + 1 + len(parameter)
    length = text[begin + 1 : text.index("]", begin)] if text[begin] == "[" else "1"
    return PTX_TYPES[kind].itemsize * int(length)


def install(dfmst_as_ptx: bool = False) -> None:
    """Let launches run here, and CuPy's sorts, which are compiled code of a GPU, on NumPy."""
    redirect.handlers |= {"dfmst": as_ptx if dfmst_as_ptx else on_cpu, "cupy": as_ptx}
    from cupy.cuda import thrust

    def column(pointer: int, length: int, dtype: Any) -> np.ndarray:
        kind = np.dtype(dtype)
        octets = (ctypes.c_ubyte * max(1, length * kind.itemsize)).from_address(pointer)
        return np.ctypeslib.as_array(octets)[: length * kind.itemsize].view(kind)

    def sort(dtype: Any, data: int, keys: int, shape: Any) -> None:
        (length,) = shape
        values = column(data, length, dtype)
        values[:] = np.sort(values, kind="stable")

    def argsort(dtype: Any, places: int, data: int, keys: int, shape: Any) -> None:
        (length,) = shape
        values = column(data, length, dtype)
        order = np.argsort(values, kind="stable")
        column(places, length, np.int64)[:], values[:] = order, values[order]

    def lexsort(dtype: Any, places: int, keys: int, columns: int, length: int) -> None:
        column(places, length, np.int64)[:] = np.lexsort(column(keys, columns * length, dtype).reshape(columns, length))

    thrust.sort, thrust.argsort, thrust.lexsort = sort, argsort, lexsort
