"""The kernels: one C++ source for the CPU and for CUDA, and the parameters of each kernel.

The ``.cuh`` texts are the single source of truth: this module reads from them which kernels there are, their
parameters, and the types that each is compiled for, so that an engine can check every launch. A file whose first line
says ``// Needs kd_tree.cuh`` is compiled behind that file's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HOME = Path(__file__).parent  # of the texts, and of the libraries compiled from them

_COMMON = ("portable.cuh", "common.cuh")  # they precede every other text
_KERNEL = re.compile(
    r"^(HOST_KERNEL|KERNEL|STEPS)(?:_OF\((\w),\s*|\()(\w+),\s*\((.*?)\)\)\s*\{", re.DOTALL | re.MULTILINE
)
_NEEDS = re.compile(r"^// Needs (\w+\.cuh)", re.MULTILINE)
_TYPE = re.compile(r"^#define UNIT_(\w)_(\w+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel."""

    name: str  # as in the kernel's text
    type: str  # a C type (``u32``), the kernel's type parameter (``V``), or ``Key<W>``: the keys of weights
    pointer: bool  # whether it is a column; otherwise it is a number
    written: bool  # whether it is a column that the kernel may write to


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel."""

    name: str  # as in the kernel's text
    file: str  # the file that holds it, without its suffix
    type_parameter: str  # ``V``, ``W``, ``K``, or empty
    types: tuple[str, ...]  # the C types it is compiled for; empty without a type parameter
    parameters: tuple[Parameter, ...]  # its parameters after ``count``
    in_steps: bool = False  # whether its threads wait for each other, so that all of them must be in flight at once
    on_host: bool = False  # whether CPUs alone run it: CUDA compiles nothing of it

    def variants(self) -> dict[str, str]:
        """Name of each compiled function -> the translation unit that holds it."""
        return {f"{self.name}_{type_}": f"{self.file}_{type_}" for type_ in self.types} or {self.name: self.file}


@dataclass(frozen=True, slots=True)
class TranslationUnit:
    """A self-contained CUDA text: the kernels of one file for one type, or those without a type parameter."""

    name: str
    text: str


@cache
def _read(file: str) -> str:
    return (HOME / file).read_text(encoding="utf-8")


def _files() -> list[str]:
    """The files of kernels, without their suffixes."""
    names = sorted(file.name for file in HOME.iterdir())
    return [name.removesuffix(".cuh") for name in names if name.endswith(".cuh") and name not in _COMMON]


def _parameter(text: str) -> Parameter:
    words = text.replace("*", " * ").split()
    constant, pointer = words[0] == "const", "*" in words
    return Parameter(name=words[-1], type=words[constant], pointer=pointer, written=pointer and not constant)


@cache
def _types() -> dict[str, tuple[str, ...]]:
    """The types that each type parameter stands for."""
    types: dict[str, tuple[str, ...]] = {"": ()}
    for parameter, type_ in _TYPE.findall(_read(_COMMON[0])):
        types[parameter] = (*types.get(parameter, ()), type_)
    return types


def _kernels_in(file: str, text: str) -> Iterator[Kernel]:
    """The kernels of a file."""
    for macro, of, name, parameters in _KERNEL.findall(text):
        yield Kernel(
            name,
            file,
            of,
            _types()[of],
            tuple(map(_parameter, parameters.split(","))),
            in_steps=macro == "STEPS",
            on_host=macro == "HOST_KERNEL",
        )


@cache
def kernels() -> dict[str, Kernel]:
    """Every kernel by name."""
    return {kernel.name: kernel for file in _files() for kernel in _kernels_in(file, _read(f"{file}.cuh"))}


@cache
def kernel_of_name(name: str) -> Kernel:
    """One kernel: to read its file alone takes a tenth of the time."""
    for file in _files():
        text = _read(f"{file}.cuh")
        if f"{name}, (" in text:
            for kernel in _kernels_in(file, text):
                if kernel.name == name:
                    return kernel
    raise KeyError(name)


def translation_units() -> Iterator[TranslationUnit]:
    """The CUDA translation units: each file once for every type of those of its kernels that CUDA runs."""
    common = "".join(map(_read, _COMMON)).replace("#pragma once", "")
    compiled = [kernel for kernel in kernels().values() if not kernel.on_host]
    names = {unit: kernel.file for kernel in compiled for unit in kernel.variants().values()}
    for name, file in names.items():
        type_, text = name.removeprefix(file).removeprefix("_") or "none", _read(f"{file}.cuh")
        text = "".join(map(_read, _NEEDS.findall(text))) + text
        yield TranslationUnit(name, f"#define TYPE {type_}\n{common}\ntypedef TYPE V, W, K;\n{text}")
