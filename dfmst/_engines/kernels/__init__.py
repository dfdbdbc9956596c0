"""The kernels: one C++ source for the CPU and for CUDA, and the parameters of each kernel.

This module reads the names, parameters and types of the kernels from the ``.cuh`` files, so that an engine can check
every launch. A file whose first line is ``// Needs kd_tree.cuh`` is compiled after the text of that file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HOME = Path(__file__).parent  # of the .cuh files, and of the libraries compiled from them

_COMMON = ("portable.cuh", "common.cuh")  # compiled before every other file
_KERNEL = re.compile(
    r"^(HOST_KERNEL|KERNEL|STEPS)(?:_OF\((\w),\s*|\()(\w+),\s*\((.*?)\)\)\s*\{", re.DOTALL | re.MULTILINE
)
_NEEDS = re.compile(r"^// Needs (\w+\.cuh)", re.MULTILINE)
_TYPE = re.compile(r"^#define UNIT_(\w)_(\w+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    type: str  # a C type (``u32``), the kernel's type parameter (``V``), or ``Key<W>``: the keys of weights
    pointer: bool  # whether it is a column; otherwise it is a number
    written: bool  # whether it is a column that the kernel may write to


@dataclass(frozen=True, slots=True)
class Kernel:
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
    return (HOME / file).read_text(encoding="utf-8")


def _parameter(text: str) -> Parameter:
    words = text.replace("*", " * ").split()
    constant, pointer = words[0] == "const", "*" in words
    return Parameter(name=words[-1], type=words[constant], pointer=pointer, written=pointer and not constant)


@cache
def _types() -> dict[str, tuple[str, ...]]:
    """Return the types of each type parameter."""
    types: dict[str, tuple[str, ...]] = {"": ()}
    for parameter, type_ in _TYPE.findall(_read(_COMMON[0])):
        types[parameter] = (*types.get(parameter, ()), type_)
    return types


@cache
def kernels() -> dict[str, Kernel]:
    """Return every kernel by name."""
    found = {}
    for file in sorted(path.name for path in HOME.glob("*.cuh") if path.name not in _COMMON):
        for macro, type_parameter, name, listed in _KERNEL.findall(_read(file)):
            parameters = tuple(map(_parameter, listed.split(",")))
            kind = {"in_steps": macro == "STEPS", "on_host": macro == "HOST_KERNEL"}
            types = _types()[type_parameter]
            found[name] = Kernel(name, file.removesuffix(".cuh"), type_parameter, types, parameters, **kind)
    return found


@cache
def translation_units() -> dict[str, str]:
    """Return the CUDA text of each translation unit: one file for one type of its kernels, or without a type."""
    common = "".join(map(_read, _COMMON)).replace("#pragma once", "")
    compiled = [kernel for kernel in kernels().values() if not kernel.on_host]
    files = {unit: kernel.file for kernel in compiled for unit in kernel.variants().values()}
    units = {}
    for name, file in files.items():
        type_, text = name.removeprefix(file).removeprefix("_") or "none", _read(f"{file}.cuh")
        text = "".join(map(_read, _NEEDS.findall(text))) + text
        units[name] = f"#define TYPE {type_}\n{common}\ntypedef TYPE V, W, K;\n{text}"
    return units
