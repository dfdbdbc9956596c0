"""Kernels of the filter on arrival: levels of vertices, of edges, and the edges that come before them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.support.columns import LENGTHS, VERTICES, WEIGHTS, each_engine, quick, seeds, unpack, weights as draw_weights


@each_engine
@given(seed=seeds, length=st.sampled_from(LENGTHS), levels=st.sampled_from([1, 2, 3, 254]))
@quick
def test_join_levels(engine, seed, length, levels):
    rng = np.random.default_rng(seed)
    tree, rank = rng.integers(0, 2, length).astype(np.uint64), rng.integers(0, 300, length).astype(np.uint64)
    last = np.sort(rng.integers(0, 300, levels)).astype(np.uint32)
    last[-1] = 2**32 - 1
    level = np.full(length, 99, np.uint8)
    engine.launch("join_levels", length, tree << np.uint64(32) | rank, 1, last, levels, level)
    np.testing.assert_array_equal(level, np.where(tree == 1, 1 + np.searchsorted(last, rank), 255))
    engine.launch("join_levels", length, tree << np.uint64(32) | rank, 2**32 - 1, last, levels, level)
    np.testing.assert_array_equal(level, 1 + np.searchsorted(last, rank))


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_latest_levels(engine, dtype, seed, length):
    rng = np.random.default_rng(seed)
    level = rng.integers(1, 256, 20).astype(np.uint8)
    source, target = rng.integers(0, 20, (2, length)).astype(dtype)
    latest = np.full(length, 99, np.uint8)
    engine.launch("latest_levels", length, source, target, level, None, latest)
    expected = np.where(source == target, 0, np.maximum(level[source], level[target]))
    np.testing.assert_array_equal(latest, expected)
    tree = rng.integers(0, 2, 20).astype(np.uint32)
    engine.launch("latest_levels", length, source, target, level, tree, latest)
    np.testing.assert_array_equal(latest, np.where(tree[source] == tree[target], expected, 255))


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_flag_unjoined(engine, dtype, maximum, ties, seed, length):
    rng = np.random.default_rng(seed)
    weight, most = draw_weights(rng, dtype, length), draw_weights(rng, dtype, 256)
    flip = 2 ** (8 * weight.dtype.itemsize) - 1 if maximum else 0
    limit = np.empty(256, np.uint32 if weight.dtype.itemsize == 4 else np.uint64)
    engine.launch("gather_keys", 256, most, flip, None, limit)
    latest = rng.integers(0, 256, length).astype(np.uint8)
    flags = np.full(-(-length // 64), 99, np.uint64)
    engine.launch("flag_unjoined", len(flags), weight, flip, length, latest, limit.astype(np.uint64), int(ties), flags)
    before = weight > most[latest] if maximum else weight < most[latest]
    expected = before | (latest == 255) | (ties & (weight == most[latest]))
    np.testing.assert_array_equal(unpack(flags, length), expected)
