"""Faults sown into what only CUDA compiles of portable.cuh: running the PTX finds each of them.

The CPU never sees that text, so that no other test could.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dfmst._engines import CpuEngine
from dfmst.algorithms import FilterBoruvka, Kruskal
from tests.support.gpu.ptx.faults import SCHEDULES, is_found, sown
from tests.support.gpu.ptx.modules import Card, real_ptx
from tests.support.solving import forest_of

pytestmark = pytest.mark.slow

#: Fault -> the right text, the wrong one, and the weights that show it.
FAULTS = {
    "three bits of a wish in place of four": ("template <u32 BITS = 4>", "template <u32 BITS = 3>", "float32"),
    "a place up to and with one's own lane": (
        "((1u << (threadIdx.x & 31)) - 1)",
        "((2u << (threadIdx.x & 31)) - 1)",
        "float32",
    ),
    "lane 0 leads, present or not": ("leader = __ffs(together) - 1;", "leader = 0;", "float32"),
    "every lane is thought to be present": ("together = __activemask()", "together = ~0u", "float32"),
    "a vote without one's own lane": (
        "__ballot_sync(together, wanted)",
        "__ballot_sync(together & ~(1u << (threadIdx.x & 31)), wanted)",
        "float32",
    ),
    "room for the leader alone": (
        "begin = atomicAdd(length, total);",
        "begin = atomicAdd(length, wanted);",
        "float32",
    ),
    "a minimum in two steps": ("{ atomicMin(p, value); }", "{ if (value < *p) *p = value; }", "float32"),
    "places that do not move on": ("next_place += __popc(asking);", "", "float32"),
    "a displaced record of equal leading bits is lost": ("if (word < seen) word = seen;", "", "tied"),
    "leading bits decide alone": ("if (leading != (u32)(seen >> 32)) return;", "return;", "tied"),
    "a minimum of one block's threads": ("{ atomicMin(p, value); }", "{ atomicMin_block(p, value); }", "float32"),
    "a swap of one block's threads": ("atomicCAS(p, expected, value)", "atomicCAS_block(p, expected, value)", "tied"),
    "a flag set in two steps": ("{ atomicOr(p, value); }", "{ *(volatile T*)p = *p | value; }", "float32"),
    # A lost join comes again in the next round. Between keys of equal leading bits, the lightest edge itself is lost.
    "a swap in two steps": (
        "{ return atomicCAS(p, expected, value); }",
        "{ T old = *(volatile T*)p; if (old == expected) *(volatile T*)p = value; return old; }",
        "tied",
    ),
    "a grid that strides by one block": (
        "threads_ = (u64)gridDim.x * blockDim.x;",
        "threads_ = blockDim.x;",
        "float32",
    ),
    # Shown by +0.0 in a row before -0.0.
    "two kinds of zero, f32": ("if (bits == 0x80000000u) bits = 0;", "", "float32"),
    # Shown by parallel edges of denormal weights: instructions of floats take these for zeros.
    "zero found by comparison": ("if (bits == 0x80000000u) bits = 0;", "if (weight == 0.0f) bits = 0;", "float32"),
    "two kinds of zero, f64": ("if (bits == 0x8000000000000000ull) bits = 0;", "", "float64"),
}


@cache
def graph(dtype):
    """Random edges, of which many are parallel and weigh +0.0 or, in later rows, -0.0; and the forest's rows.

    Of ``"tied"`` ones, integers, all leading bits but one are equal.
    """
    rng, tied = np.random.default_rng(3), dtype == "tied"
    dtype = "int64" if tied else dtype
    source, target = rng.integers(0, 300, (2, 1500)).astype(np.uint32)
    weight = (rng.random(1500) * 1e6).astype(dtype)
    source[750:790], target[750:790] = source[:40], target[:40]
    weight[:40] = 0
    weight[750:790] = -weight[:40]
    if np.dtype(dtype).kind == "f":  # parallel edges, the lightest last
        source[40:60], target[40:60] = 7, 8
        weight[40:60] = np.arange(20, 0, -1) * np.finfo(dtype).smallest_subnormal
    if tied:
        weight[-1] = 1 << 62
    columns = source, target, weight
    return columns, forest_of(CpuEngine(1), Kruskal(), *columns, 300)


def is_right(card, dtype):
    columns, expected = graph(dtype)
    with real_ptx(card) as engine:
        return np.array_equal(forest_of(engine, FilterBoruvka(), *columns, 300), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "tied"])
def test_the_text_itself_is_right(dtype):
    assert all(is_right(Card(seed=seed), dtype) for seed in SCHEDULES)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name, monkeypatch):
    right, wrong, dtype = FAULTS[name]
    if name == "a grid that strides by one block":  # only a round's own launches have a second block on this graph
        monkeypatch.setattr("dfmst.algorithms.filter_boruvka._TOGETHER", 0)
    assert is_found(lambda card: is_right(card, dtype), sown(right, wrong))
