"""Kernels in steps: threads of all blocks wait for each other behind each, and faults in how they do are found."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._engines.cuda import OPTIONS
from dfmst._engines.kernels import translation_units
from tests.support.gpu.ptx.faults import is_found, sown
from tests.support.gpu.ptx.machine import Launch, Program, run
from tests.support.gpu.ptx.memory import Memory
from tests.support.gpu.ptx.modules import Card, ptx_of
from tests.support.gpu.ptx.program import parse

pytestmark = pytest.mark.slow

LENGTH, ROUNDS, FAR = 500, 3, 77
#: Every entry is written from one of another block, back and forth.
KERNEL = """
STEPS_OF(K, shifted, (u32* met, u32* a, u32* b, u64 length, u32 rounds, u64 far)) {
  const Team team = TEAM;
  for (u32 round = 0; round < rounds; ++round) {
    team.each(length, [=](u64 i) { store(&b[i], load(&a[(i + far) % length]) + 1); });
    team.each(length, [=](u64 i) { store(&a[i], load(&b[(i + far) % length])); });
  }
}
"""
#: Fault -> the right text, and the wrong one.
FAULTS = {
    "nobody waits": ("while (!((before ^ load(met)) >> 31)) __nanosleep(20);", "(void)before;"),
    "one block goes on before the last has come": ("0x80000001u - gridDim.x", "0x80000002u - gridDim.x"),
    "all wait for one more block": ("0x80000001u - gridDim.x", "0x80000000u - gridDim.x"),
    "a block comes before its threads": ("__syncthreads();\n    if (threadIdx.x == 0) {", "if (threadIdx.x == 0) {"),
    "threads go on before their block": ("}\n    __syncthreads();\n  }", "}\n  }"),
    "every block waits for itself": ("atomicAdd(met, blockIdx.x ? 1u : 0x80000001u - gridDim.x)", "*met ^ 0x80000000u"),
}


def text():
    unit = next(unit for unit in translation_units().values() if unit.startswith("#define TYPE u32\n"))
    return unit.partition("typedef TYPE V, W, K;")[0] + "typedef TYPE K;\n" + KERNEL


def is_right(card, blocks=4, threads=64):
    """Whether two launches after each other, of grids of different sizes, come out right."""
    program = Program(parse(ptx_of(text(), OPTIONS, card))["shifted_u32"])
    met, b = np.zeros(1, np.uint32), np.zeros(LENGTH, np.uint32)
    a = np.arange(LENGTH, dtype=np.uint32)
    addresses = [int(column.__array_interface__["data"][0]) for column in (met, a, b)]
    for shape in ((blocks, threads), (blocks - 1, threads)):
        run(Launch(program, shape, [LENGTH, *addresses, LENGTH, ROUNDS, FAR], Memory([met, a, b])), card.rng)
    expected = (np.arange(LENGTH) + 4 * ROUNDS * FAR) % LENGTH + 2 * ROUNDS
    return np.array_equal(a, expected)


@pytest.mark.parametrize("architecture", ["compute_75", "compute_90"])
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_steps_are_one_after_the_other(architecture, seed):
    assert is_right(Card(architecture, seed=seed))
    assert is_right(Card(architecture, seed=seed), blocks=2, threads=256)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name):
    assert is_found(is_right, sown(*FAULTS[name]), (None, 1, 2, 3))
