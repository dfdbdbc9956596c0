"""The kernels: one C++ source for the CPU and for CUDA, the parameters of each kernel, and the check of a launch.

This module reads the names, parameters and types of the kernels from the ``.cuh`` files, so that an engine can check
every launch. A file whose first line is ``// Needs kd_tree.cuh`` is compiled after the text of that file.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import Array

HOME = os.path.dirname(__file__)  # of the .cuh files, and of the libraries compiled from them

_COMMON = ("portable.cuh", "common.cuh")  # compiled before every other file
_KERNEL = re.compile(
    r"^(HOST_KERNEL|KERNEL|STEPS)(?:_OF\((\w),\s*|\()(\w+),\s*\((.*?)\)\)\s*\{", re.DOTALL | re.MULTILINE
)
_NEEDS = r"(?m)^// Needs (\w+\.cuh)"
_TYPE = r"(?m)^#define UNIT_(\w)_(\w+) "


class Parameter(NamedTuple):
    """One parameter of a kernel."""

    name: str
    type: str  # a C type (``u32``), the kernel's type parameter (``V``), or ``Key<W>``: the keys of weights
    pointer: bool  # whether it is a column; otherwise it is a number
    written: bool  # whether it is a column that the kernel may write to


class Kernel(NamedTuple):
    """One kernel."""

    name: str
    file: str  # without its suffix
    type_parameter: str  # ``V``, ``W``, ``K``, or empty
    types: tuple[str, ...]  # the C types it is compiled for; empty without a type parameter
    parameters: tuple[Parameter, ...]  # after ``count``
    in_steps: bool = False  # whether its threads wait for each other, so that all must run at once
    on_host: bool = False  # whether CUDA does not compile it

    def variants(self) -> dict[str, str]:
        """Return the translation unit of each compiled function."""
        return {f"{self.name}_{type_}": f"{self.file}_{type_}" for type_ in self.types} or {self.name: self.file}


@cache
def _read(file: str) -> str:
    with open(os.path.join(HOME, file), "rb") as text:  # in text mode, reading all files takes twice as long
        return text.read().decode().replace("\r\n", "\n")


def _parameter(text: str) -> Parameter:
    words = text.replace("*", " * ").split()
    constant, pointer = words[0] == "const", "*" in words
    return Parameter(name=words[-1], type=words[constant], pointer=pointer, written=pointer and not constant)


@cache
def _types() -> dict[str, tuple[str, ...]]:
    """Return the types of each type parameter."""
    types: dict[str, tuple[str, ...]] = {"": ()}
    for parameter, type_ in re.findall(_TYPE, _read(_COMMON[0])):
        types[parameter] = (*types.get(parameter, ()), type_)
    return types


@cache
def _heads() -> dict[str, tuple[str, Any]]:
    """Return the file and the parts of the head of every kernel, by name."""
    files = sorted(file for file in os.listdir(HOME) if file.endswith(".cuh") and file not in _COMMON)
    return {head[2]: (file, head) for file in files for head in _KERNEL.findall(_read(file))}


@cache
def kernel_of(name: str) -> Kernel:
    """Return one kernel: a process runs few of them, and to read all parameters takes milliseconds."""
    file, (macro, type_parameter, _, listed) = _heads()[name]
    parameters = tuple(map(_parameter, listed.split(",")))
    kind = {"in_steps": macro == "STEPS", "on_host": macro == "HOST_KERNEL"}
    return Kernel(name, file.removesuffix(".cuh"), type_parameter, _types()[type_parameter], parameters, **kind)


@cache
def kernels() -> dict[str, Kernel]:
    """Return every kernel by name."""
    return {name: kernel_of(name) for name in _heads()}


@cache
def constants_of(file: str) -> dict[str, int]:
    """Return the values of the names in the enums of a text, which host and kernel share: places of counters, sizes."""
    values = {}
    for body in re.findall(r"(?ms)^enum \w* ?: u64 \{$(.*?)^\}", _read(f"{file}.cuh")):
        at = 0
        for name, value in re.findall(r"(?m)^ +(\w+)(?: = (\d+))?,?(?: |$)", body):
            values[name] = at = int(value or at)
            at += 1
    return values


@cache
def translation_units() -> dict[str, str]:
    """Return the CUDA text of each translation unit: one file for one type of its kernels, or without a type."""
    common = "".join(map(_read, _COMMON)).replace("#pragma once", "")
    compiled = [kernel for kernel in kernels().values() if not kernel.on_host]
    files = {unit: kernel.file for kernel in compiled for unit in kernel.variants().values()}
    units = {}
    for name, file in files.items():
        type_, text = name.removeprefix(file).removeprefix("_") or "none", _read(f"{file}.cuh")
        text = "".join(map(_read, re.findall(_NEEDS, text))) + text
        units[name] = f"#define TYPE {type_}\n{common}\ntypedef TYPE V, W, K;\n{text}"
    return units


#: C type of a kernel parameter -> NumPy dtype.
TYPES: dict[str, np.dtype[Any]] = {
    "u8": np.dtype(np.uint8),
    "i32": np.dtype(np.int32),
    "u32": np.dtype(np.uint32),
    "i64": np.dtype(np.int64),
    "u64": np.dtype(np.uint64),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
_NAMES = {dtype: name for name, dtype in TYPES.items()}
_KEY_TYPES = {4: "u32", 8: "u64"}


def bind(name: str, arguments: tuple[Array | int | None, ...]) -> tuple[str, Kernel]:
    """Check the arguments of a launch, and return the variant to run and the kernel."""
    kernel = kernel_of(name)
    if len(arguments) != len(kernel.parameters):
        raise TypeError(f"kernel {name} takes {len(kernel.parameters)} arguments, not {len(arguments)}")
    bound = ""
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        if not parameter.pointer:
            # Not a NumPy integer, whose address would be passed.
            if not isinstance(argument, int):
                raise TypeError(f"kernel {name}: {parameter.name} is a {type(argument).__name__}, not an int")
            continue
        if argument is None:
            continue
        actual = _check(name, parameter, argument)
        if parameter.type == kernel.type_parameter:
            if actual not in kernel.types:
                known = ", ".join(kernel.types)
                raise TypeError(f"kernel {name}: {parameter.name} is {actual}; it must be one of {known}")
            bound = expected = bound or actual
        elif parameter.type == "Key<W>":
            expected = _KEY_TYPES[TYPES[bound].itemsize] if bound else actual
        else:
            expected = parameter.type
        if actual != expected:
            raise TypeError(f"kernel {name}: {parameter.name} is {actual}, not {expected}")
    if not kernel.type_parameter:
        return name, kernel
    if not bound:
        raise TypeError(f"kernel {name}: None in place of every column of its type")
    return f"{name}_{bound}", kernel


def _check(kernel: str, parameter: Parameter, argument: Any) -> str:
    if isinstance(argument, int):
        raise TypeError(f"kernel {kernel}: {parameter.name} must be an array")
    if not argument.flags.c_contiguous:
        raise TypeError(f"kernel {kernel}: {parameter.name} is not contiguous")
    # Arrays of CuPy are always aligned and writeable, and lack these flags.
    if not getattr(argument.flags, "aligned", True):
        raise TypeError(f"kernel {kernel}: {parameter.name} is not aligned")
    if parameter.written and not getattr(argument.flags, "writeable", True):
        raise TypeError(f"kernel {kernel}: {parameter.name} is read-only, and the kernel writes to it")
    return _NAMES.get(argument.dtype) or str(argument.dtype)
