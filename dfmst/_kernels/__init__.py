"""The kernels: one C++ source for the CPU and for CUDA, and what each of them takes.

The ``.cuh`` texts are the single source of truth: this module reads each kernel's
parameters from them, so that an engine can check every launch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["FAMILIES", "Kernel", "Parameter", "Source", "kernels", "sources"]

#: Kernel file -> its type parameter and the types it is compiled for (none: the file is compiled once).
FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "select": ("", ("",)),
    "kruskal": ("", ("",)),
    "adjacency": ("", ("",)),
    "statuses": ("", ("",)),
    "links": ("", ("",)),
    "generate": ("", ("",)),
    "worklist": ("", ("",)),
    "vertices": ("V", ("u32", "u64")),
    "weights": ("W", ("i32", "u32", "f32", "i64", "u64", "f64")),
    "filter_boruvka": ("W", ("i32", "u32", "f32", "i64", "u64", "f64")),
    "keys": ("K", ("u32", "u64")),
    "boruvka": ("K", ("u32", "u64")),
    "partial_prim": ("K", ("u32", "u64")),
    "mastiff": ("K", ("u32", "u64")),
    "strut": ("K", ("u32", "u64")),
    "certificate": ("K", ("u32", "u64")),
    "prim": ("K", ("u32", "u64")),
}

_KERNEL = re.compile(r"KERNEL\((\w+),\s*\((.*?)\)\)\s*\{", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel.

    Attributes
    ----------
    name
        As the kernel's text has it.
    type
        A C type (``u32``) or a type parameter (``V``).
    pointer
        A column; otherwise a number.
    written
        A column that the kernel may write to.
    """

    name: str
    type: str
    pointer: bool
    written: bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's name, its family (the file it stands in) and what it takes after ``count``."""

    name: str
    family: str
    type_parameter: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A self-contained CUDA translation unit and the options that select its types."""

    name: str
    text: str
    options: tuple[str, ...]


def _read(file: str) -> str:
    return (files(__name__) / file).read_text(encoding="utf-8")


def _parameter(text: str) -> Parameter:
    words = text.replace("*", " * ").split()
    constant, pointer = words[0] == "const", "*" in words
    return Parameter(name=words[-1], type=words[constant], pointer=pointer, written=pointer and not constant)


@cache
def kernels() -> dict[str, Kernel]:
    """Every kernel by name."""
    found = {}
    for family, (type_parameter, _) in FAMILIES.items():
        for name, parameters in _KERNEL.findall(_read(f"{family}.cuh")):
            parsed = tuple(_parameter(part) for part in parameters.split(","))
            found[name] = Kernel(name, family, type_parameter, parsed)
    return found


def sources() -> Iterator[Source]:
    """The CUDA translation units: every family for every type."""
    shim = _read("portable.cuh").replace("#pragma once", "")
    for family, (type_parameter, types) in FAMILIES.items():
        text = f"{shim}\n{_read(f'{family}.cuh')}"
        for type_ in types:
            yield Source(f"{family}_{type_}".rstrip("_"), text, macros(type_parameter, type_))


def macros(type_parameter: str, type_: str) -> tuple[str, ...]:
    """Compiler options that compile a family for one type."""
    if not type_parameter:
        return ("-DSUFFIX=",)
    width = ("-DKEY_BITS=" + type_[1:],) if type_parameter == "K" else ()
    return (f"-D{type_parameter}={type_}", f"-DSUFFIX=_{type_}", *width)
