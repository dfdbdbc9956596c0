"""The Python table of kernels and the compiled library agree."""

from __future__ import annotations

import ctypes

import pytest

from dfmst._engines.cpu import library_path
from dfmst._engines.kernels import Kernel, Parameter, kernels, translation_units

VARIANTS = {variant: unit for kernel in kernels().values() for variant, unit in kernel.variants().items()}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_compiled(variant):
    assert hasattr(ctypes.CDLL(str(library_path())), variant)


def test_parameters_are_read_from_the_text():
    assert kernels()["gather_keys"] == Kernel(
        name="gather_keys",
        file="columns",
        type_parameter="W",
        types=("i32", "u32", "f32", "i64", "u64", "f64"),
        parameters=(
            Parameter("weight", "W", pointer=True, written=False),
            Parameter("flip", "u64", pointer=False, written=False),
            Parameter("position", "u32", pointer=True, written=False),
            Parameter("key", "Key<W>", pointer=True, written=True),
        ),
    )


def test_every_type_is_known():
    known = {"u8", "i32", "u32", "i64", "u64", "f32", "f64"}
    for kernel in kernels().values():
        own = {"": set(), "W": {"W", "Key<W>"}}.get(kernel.type_parameter, {kernel.type_parameter})
        assert bool(kernel.types) == bool(kernel.type_parameter), kernel
        for parameter in kernel.parameters:
            assert parameter.type in known | own, (kernel.name, parameter)
            assert parameter.pointer or parameter.type in ("u32", "u64"), (kernel.name, parameter)


def test_translation_units_hold_every_kernel_once_a_variant():
    units = translation_units()
    assert len(units) == len(set(units.values()))
    on_device = [kernel for kernel in kernels().values() if not kernel.on_host]
    assert set(units) == {unit for kernel in on_device for unit in kernel.variants().values()}
    for kernel in on_device:
        for variant, unit in kernel.variants().items():
            text = units[unit]
            assert "#pragma once" not in text
            macro = "STEPS" if kernel.in_steps else "KERNEL"
            head = f"{macro}_OF({kernel.type_parameter}, " if kernel.types else f"{macro}("
            assert text.count(f"{head}{kernel.name}, (") == 1
            type_ = variant.removeprefix(kernel.name).removeprefix("_")
            assert text.startswith(f"#define TYPE {type_ or 'none'}\n")
