"""The Python table of kernels and the compiled library agree."""

from __future__ import annotations

import ctypes

import pytest

from dfmst._engines.cpu import library_path
from dfmst._kernels import FAMILIES, Kernel, Parameter, kernels, sources

VARIANTS = [
    f"{kernel.name}_{type_}".rstrip("_") for kernel in kernels().values() for type_ in FAMILIES[kernel.family][1]
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_compiled(variant):
    assert hasattr(ctypes.CDLL(str(library_path())), variant)


def test_parameters_are_read_from_the_text():
    assert kernels()["gather_keys"] == Kernel(
        name="gather_keys",
        family="weights",
        type_parameter="W",
        parameters=(
            Parameter("weight", "W", pointer=True, written=False),
            Parameter("flip", "u64", pointer=False, written=False),
            Parameter("position", "u32", pointer=True, written=False),
            Parameter("key", "K", pointer=True, written=True),
        ),
    )


def test_every_type_is_known():
    known = {"u8", "i32", "u32", "i64", "u64", "f32", "f64", "V", "W", "K"}
    for kernel in kernels().values():
        for parameter in kernel.parameters:
            assert parameter.type in known, (kernel.name, parameter)
            assert parameter.pointer or parameter.type in ("u32", "u64"), (kernel.name, parameter)


def test_sources_hold_every_kernel_once_a_variant():
    seen = []
    for source in sources():
        assert "#pragma once" not in source.text
        family = source.name.rsplit("_", 1)[0] if source.name not in FAMILIES else source.name
        seen += [(kernel.name, source.options) for kernel in kernels().values() if kernel.family == family]
    assert len(seen) == len(set(seen)) == len(VARIANTS)
