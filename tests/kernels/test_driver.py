"""ThreadSanitizer's driver calls every kernel for every type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dfmst._kernels import FAMILIES, kernels

CI = Path(__file__).parents[2] / "ci"
PARTS = [CI / "tsan_driver.cpp", *sorted((CI / "tsan").glob("*.hpp"))]
TEXT = "\n".join(part.read_text(encoding="utf-8") for part in PARTS)
CALLS = set(re.findall(r"\blaunch_(\w+)\(", TEXT))
FUNCTIONS = set(re.findall(r"^    (\w+(?:<\w+>)?)\(graph\b", TEXT, re.MULTILINE))


@pytest.mark.parametrize("kernel", kernels())
def test_the_driver_launches(kernel):
    assert kernel in CALLS


@pytest.mark.parametrize("family", FAMILIES)
def test_the_driver_runs_a_family_for_every_type(family):
    type_parameter, types = FAMILIES[family]
    assert {f"{family}<{type_}>" if type_parameter else family for type_ in types} <= FUNCTIONS
