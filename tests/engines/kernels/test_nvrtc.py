"""Every kernel compiles for every GPU generation: NVRTC comes as a wheel and needs neither a GPU nor a driver."""

from __future__ import annotations

import re

import pytest

from dfmst._engines.cuda import OPTIONS
from dfmst._engines.kernels import kernels, translation_units
from tests.support.gpu.nvrtc import WHEELS, compiled
from tests.support.gpu.ptx.machine import Program
from tests.support.gpu.ptx.program import parse

ARCHITECTURES = {"sm_70": 12, "sm_75": 13, "sm_80": 13, "sm_90": 13, "sm_100": 13, "sm_120": 13}
# What NVRTC 12.9 says whenever it compiles for Volta.
NOTICE = (
    "nvrtc: warning: Architectures prior to '<compute/sm>_75' are deprecated and may be removed in a future release"
)
# What the assembler says of each kernel.
KERNEL = re.compile(r"Function properties for (\w+)")
USAGE = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
MOST_REGISTERS = 80  # of 65,536 a multiprocessor, so that it holds three blocks of 256 threads
#: A kernel that needs more: its walks of the tree of points keep coordinates of any norm in registers.
MORE_REGISTERS = {"span_points": 96}
ONE_THREAD = "scan_edges"  # of its threads the first scans, and the others wait for nothing that it holds
#: Generations between others compile one type of each width: the others need as many registers there, or two fewer.
BETWEEN = {"sm_75", "sm_80", "sm_100"}


def compiles(unit: str, architecture: str) -> bool:
    """Whether a unit is compiled for a generation here."""
    signed = re.sub(r"_[uf](32|64)$", r"_i\1", unit)
    return architecture not in BETWEEN or signed == unit or signed not in translation_units()


CASES = [
    pytest.param(unit, architecture, id=f"{unit}-{architecture}")
    for architecture in ARCHITECTURES
    for unit in translation_units()
    if compiles(unit, architecture)
]


def functions_of(unit: str) -> set[str]:
    """The functions of a unit that CUDA runs."""
    on_device = (kernel.variants() for kernel in kernels().values() if not kernel.on_host)
    return {variant for variants in on_device for variant, name in variants.items() if name == unit}


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "architecture"), CASES)
def test_compiles_without_a_word(unit: str, architecture: str) -> None:
    # CuPy adds the architecture and -ftz to every compilation.
    options = (*OPTIONS, f"--gpu-architecture={architecture}", "-ftz=true", "--ptxas-options=-v")
    found = compiled(ARCHITECTURES[architecture], translation_units()[unit], options, "CUBIN", "PTX")
    assert found.forms, found.log
    said = [line for line in found.log.splitlines() if not line.startswith("ptxas info") and not USAGE.search(line)]
    assert "\n".join(said) in ("", NOTICE)  # no warnings either
    _check_usage(found.log)
    assert set(KERNEL.findall(found.log)) == functions_of(unit)  # none of those that run on the host alone
    # Every instruction is one that tests/ptx can run.
    for function in parse(found.forms["PTX"].decode()).values():
        Program(function)


def _check_usage(log: str) -> None:
    """No kernel spills registers or keeps a stack, and none takes so many registers that few threads are in flight."""
    names, usage = KERNEL.findall(log), USAGE.findall(log)
    registers = [int(count) for count in REGISTERS.findall(log)]
    assert len(names) == len(usage) == len(registers) > 0
    for name, (stack, *spilled), count in zip(names, usage, registers, strict=True):
        assert spilled == ["0", "0"], name
        if name != ONE_THREAD:
            assert stack == "0", name
            assert count <= MORE_REGISTERS.get(name, MOST_REGISTERS), name


@pytest.mark.slow
@pytest.mark.parametrize("major", WHEELS)
def test_an_error_is_seen(major: int) -> None:
    text = 'extern "C" __global__ void kernel(int* p) { *p = missing; }'
    found = compiled(major, text, ("--gpu-architecture=sm_75",))
    assert not found.forms
    assert '"missing" is undefined' in found.log
