"""Words of 64 flags: counting, listing, setting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.support.columns import LENGTHS, VERTICES, each_engine, pack, parents, quick, seeds, unpack

BLOCKS = [1, 2, 3, 1024]


def draw_mask(rng, length):
    return rng.random(length) < rng.choice([0.0, 0.01, 0.5, 1.0])


@each_engine
@given(seed=seeds, length=st.sampled_from(LENGTHS), block=st.sampled_from(BLOCKS))
@quick
def test_count_flags(engine, seed, length, block):
    mask = draw_mask(np.random.default_rng(seed), length)
    flags = pack(mask)
    blocks = -(-len(flags) // block)
    counts = np.full(blocks + 1, 99, np.uint64)
    engine.launch("count_flags", blocks, flags, len(flags), block, counts, grain=1)
    rows = block * 64
    expected = [0, *(mask[at * rows : (at + 1) * rows].sum() for at in range(blocks))]
    np.testing.assert_array_equal(counts, expected if blocks else [99])


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(LENGTHS), block=st.sampled_from(BLOCKS))
@quick
def test_list_flags(engine, dtype, seed, length, block):
    mask = draw_mask(np.random.default_rng(seed), length)
    flags = pack(mask)
    blocks = -(-len(flags) // block)
    before = [mask[: at * block * 64].sum() for at in range(blocks + 1)]
    positions = np.full(mask.sum(), 99, dtype)
    engine.launch("list_flags", blocks, flags, len(flags), block, np.array(before, np.uint64), positions, grain=1)
    np.testing.assert_array_equal(positions, np.flatnonzero(mask))


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@pytest.mark.parametrize("length", [1, 64, 1023, 1025, 70_001, 300_000, 2 * 64 * 16 * 64 * 64 + 5])
def test_compact_flags(engine, dtype, length):
    """All levels of the sums: the last length has more groups than two sums of the highest level, and flags behind."""
    mask = np.random.default_rng(length).random(length) < (0.5 if length < 10**6 else 0.001)
    mask[-1] = True
    flags = pack(mask)
    groups = -(-len(flags) // 16)
    parts = -(-groups // 64)
    sums = np.full(groups + parts + -(-parts // 64), 99, np.uint64)
    positions = np.full(mask.sum(), 99, dtype)
    engine.launch("compact_flags", groups, np.zeros(1, np.uint32), flags, len(flags), sums, positions, grain=3)
    np.testing.assert_array_equal(positions, np.flatnonzero(mask))


@each_engine
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_set_flags(engine, seed, length):
    rng = np.random.default_rng(seed)
    already, mask = draw_mask(rng, length), draw_mask(rng, length)
    flags = pack(already)
    positions = rng.permutation(np.flatnonzero(mask)).astype(np.uint32)
    engine.launch("set_flags", len(positions), positions, flags, grain=1)
    np.testing.assert_array_equal(unpack(flags, length), already | mask)


@each_engine
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("shape", ["up", "trees", "star", "roots"])
def test_flag_roots(engine, length, shape):
    parent = parents(np.random.default_rng(length), shape, length)
    flags = np.full(-(-length // 64), 99, np.uint64)
    engine.launch("flag_roots", len(flags), parent, length, flags, grain=1)
    np.testing.assert_array_equal(unpack(flags, length), parent == np.arange(length))


@each_engine
def test_flags_of_one_word_are_set_together(engine):
    # Every launch index sets a bit of the same word: a lost update would leave a hole.
    positions = np.tile(np.arange(64, dtype=np.uint32), 200)
    for _ in range(20):
        flags = np.zeros(1, np.uint64)
        engine.launch("set_flags", len(positions), positions, flags, grain=16)
        assert int(flags[0]) == 2**64 - 1
