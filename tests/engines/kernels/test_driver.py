"""ThreadSanitizer's driver knows every kernel and its type parameter; it fails if one has not run for a type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dfmst._engines.kernels import kernels

CI = Path(__file__).parents[2] / "sanitizers"
PARTS = [CI / "tsan_driver.cpp", *sorted((CI / "tsan").glob("*.hpp"))]
TEXT = "\n".join(part.read_text(encoding="utf-8") for part in PARTS)
CALLS = set(re.findall(r"\blaunch_(\w+)\(", TEXT))
DECLARED = {
    name: parameter
    for line in re.findall(r"^(?:PLAIN|OF_).*", TEXT, re.MULTILINE)
    for parameter, name in re.findall(r"(?:PLAIN|OF_([VWK]))\((\w+)\)", line)
}
TYPES = {
    parameter: tuple(re.findall(r"TYPED\(name, (\w+)\)", types))
    for parameter, types in re.findall(r"^#define OF_([VWK])\(name\) (?:\\\n)?(.*)", TEXT, re.MULTILINE)
}


def test_the_driver_declares_every_kernel_with_its_type_parameter():
    assert {kernel.name: kernel.type_parameter for kernel in kernels().values()} == DECLARED


@pytest.mark.parametrize("kernel", kernels())
def test_the_driver_launches(kernel):
    assert kernel in CALLS
    assert kernels()[kernel].types == TYPES.get(DECLARED[kernel], ())
