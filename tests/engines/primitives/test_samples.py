"""Samples of a table: where they lie, what a rank of them is, and which label most have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines.primitives.contract import giant_component
from dfmst._engines.primitives.edges import sample_keys, spread_position, spread_positions
from dfmst.algorithms._shared_steps import sampled_threshold
from tests.support.columns import KEYS, VERTICES, WEIGHTS, each_engine, quick, seeds, weights


@pytest.mark.parametrize(("length", "size"), [(1, 1), (100, 7), (2**32 - 1, 1000), (2**32 - 1, 200_000), (300, 300)])
def test_a_position_lies_in_each_stretch(length, size):
    position = spread_positions(np, length, size).astype(np.int64)
    assert (np.diff(position) > 0).all()
    begin = np.arange(size) * length // size
    assert (position >= begin).all()
    assert (position <= begin + length // size).all()
    assert position[-1] < length
    for number in (0, size // 2, size - 1):
        assert spread_position(number, length, size) == position[number]


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(seed=seeds, size=st.sampled_from([1, 2, 300, 8192]))
@quick
def test_sampled_keys_are_those_of_the_positions(engine, dtype, seed, size):
    weight = weights(np.random.default_rng(seed), dtype, 10_000)
    key = np.empty(len(weight), f"uint{weight.dtype.itemsize * 8}")
    flip = 2 ** (8 * weight.dtype.itemsize) - 1
    engine.launch("gather_keys", len(weight), weight, flip, None, key)
    sampled = sample_keys(engine, weight, size, flip)
    np.testing.assert_array_equal(sampled, key[spread_positions(np, len(weight), size)])


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("order", ["random", "ascending", "descending", "equal", "ties"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.4])
def test_the_threshold_has_its_rank_in_the_sample(engine, dtype, seed, order, share):
    rng = np.random.default_rng(0)
    key = rng.integers(0, np.iinfo(dtype).max, 40_000, dtype, endpoint=True)
    if order == "ties":
        key %= 7
    elif order == "equal":
        key[:] = np.iinfo(dtype).max
    elif order != "random":
        key.sort()
    key = np.ascontiguousarray(key[::-1]) if order == "descending" else key
    nothing = np.zeros(len(key), np.uint32)
    table = EdgeTable(nothing, nothing, key, 1)
    share = max(share, 1 / len(key))
    least, position, lowest, highest = sampled_threshold(engine, table.edges(), 0, share, seed)
    size = min(max(int(np.ceil(64 / share)), 1024), len(key) // 8)
    drawn = spread_positions(np, len(key), size)
    if seed is not None:
        drawn = np.sort(np.random.default_rng(seed).integers(0, len(key), size))
    expected = drawn[np.argsort(key[drawn], kind="stable")[int(size * share)]]
    assert (least, position) == (key[expected], expected)
    assert (lowest, highest) == (key[drawn].min(), key[drawn].max())


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@pytest.mark.parametrize("often", [0.2, 0.45, 0.55, 1.0])
def test_the_giant_component_has_more_than_half_of_the_sample(engine, dtype, often):
    rng = np.random.default_rng(0)
    label = np.arange(1000, dtype=np.uint32)
    source = rng.integers(0, 1000, 5000).astype(dtype)
    drawn = spread_positions(np, len(source), 256)
    source[drawn[rng.permutation(256)[: int(256 * often)]]] = 77
    assert giant_component(engine, source, label) == (77 if often > 0.5 else None)
