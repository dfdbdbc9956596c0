"""Kernels over weights: the key is the order."""

from __future__ import annotations

import ctypes
import platform
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from dfmst._engines import CpuEngine
from tests.support.columns import KEYS, LENGTHS, WEIGHTS, each_engine, pack, quick, seeds, unpack, weights

SERIAL = CpuEngine(1)


def keys_of(engine, weight, flip=0, position=None, grain=64):
    length = len(weight) if position is None else len(position)
    key = np.empty(length, f"uint{weight.dtype.itemsize * 8}")
    engine.launch("gather_keys", length, weight, flip, position, key, grain=grain)
    return key


def all_ones(weight):
    return 2 ** (8 * weight.dtype.itemsize) - 1


@pytest.mark.parametrize("dtype", WEIGHTS)
@given(data=st.data())
@quick
def test_key_keeps_the_order(dtype, data):
    kind = np.dtype(dtype)
    weight = data.draw(hnp.arrays(kind, st.integers(0, 80), elements=hnp.from_dtype(kind, allow_nan=False)))
    # Equal weights, -0.0 and +0.0 among them, have one rank: the same ranks mean the same order and the same ties.
    ranks = np.unique(weight, return_inverse=True)[1]
    key = keys_of(SERIAL, weight)
    np.testing.assert_array_equal(np.unique(key, return_inverse=True)[1], ranks)
    np.testing.assert_array_equal(keys_of(SERIAL, weight, all_ones(weight)), ~key)


def ladder(dtype):
    """Weights in ascending order, both extremes and both zeros among them."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        least, info = np.finfo(kind).smallest_subnormal, np.finfo(kind)
        steps = [-np.inf, info.min, -1, -info.tiny, -2 * least, -least, -0.0, 0, least, 2 * least, info.tiny, 1]
        return np.array([*steps, info.max, np.inf], kind)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return np.array(sorted({low, low + 1, 0, 1, high // 2, high // 2 + 1, high - 1, high}), kind)


@pytest.mark.parametrize("dtype", WEIGHTS)
def test_key_of_extreme_weights(dtype):
    weight = ladder(dtype)
    key = keys_of(SERIAL, weight)
    np.testing.assert_array_equal(key[:-1] < key[1:], weight[:-1] < weight[1:])
    assert (key[:-1] <= key[1:]).all()
    if weight.dtype.kind != "f":
        assert (int(key[0]), int(key[-1])) == (0, all_ones(key))


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="sets the x86 control word through glibc"
)
def test_key_ignores_flush_to_zero():
    libm = ctypes.CDLL("libm.so.6")
    saved, flushing = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
    weight = np.array([0, 1], np.uint64).view(np.float64)
    key = np.empty(2, np.uint64)
    libm.fegetenv(saved)
    control = int.from_bytes(saved.raw[28:32], "little") | 0x8040  # flush to zero, denormals are zeros
    flushing.raw = saved.raw[:28] + control.to_bytes(4, "little")
    libm.fesetenv(flushing)
    try:
        SERIAL.launch("gather_keys", 2, weight, 0, None, key)
    finally:
        libm.fesetenv(saved)
    assert key[0] < key[1]


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("length", LENGTHS)
def test_gather_keys(engine, dtype, length):
    rng = np.random.default_rng(length)
    weight = weights(rng, dtype, length)
    key = keys_of(engine, weight)
    np.testing.assert_array_equal(np.argsort(key, kind="stable"), np.argsort(weight, kind="stable"))
    position = rng.permutation(length).astype(np.uint32)[: length // 2]
    np.testing.assert_array_equal(keys_of(engine, weight, position=position), key[position])
    np.testing.assert_array_equal(keys_of(engine, weight, all_ones(weight), position), ~key[position])


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(seed=seeds, length=st.sampled_from(LENGTHS[1:]), flip=st.booleans(), missing=st.booleans())
@quick
def test_flag_light(engine, dtype, seed, length, flip, missing):
    rng = np.random.default_rng(seed)
    weight = weights(rng, dtype, length)
    mask = all_ones(weight) if flip else 0
    key = keys_of(SERIAL, weight, mask)
    at = int(rng.integers(length))
    flags = np.full(-(-length // 64), rng.integers(2**63), np.uint64)
    engine.launch("flag_light", len(flags), weight, mask, length, int(key[at]), at, flags, grain=1)
    expected = (key < key[at]) | ((key == key[at]) & (np.arange(length) <= at))
    np.testing.assert_array_equal(unpack(flags, length), expected)
    missing = missing and np.dtype(dtype).kind == "f"
    if missing:
        weight[rng.integers(length)] = rng.choice([np.nan, -np.nan])
    found, checked = np.zeros(1, np.uint32), np.empty_like(flags)
    arguments = (weight, mask, length, int(key[at]), at, checked, found)
    engine.launch("flag_light_checked", len(flags), *arguments, grain=1)
    assert found[0] == missing
    if not missing:
        np.testing.assert_array_equal(checked, flags)


@pytest.mark.parametrize("dtype", WEIGHTS)
def test_flag_light_at_extreme_keys(dtype):
    steps = ladder(dtype)
    weight = np.resize(steps, 200)  # whole words before and after a position in the second one
    for mask in (0, all_ones(weight)):
        key, flags = keys_of(SERIAL, weight, mask), np.empty(4, np.uint64)
        for at in range(64, 64 + len(steps)):
            SERIAL.launch("flag_light", 4, weight, mask, 200, int(key[at]), at, flags)
            expected = (key < key[at]) | ((key == key[at]) & (np.arange(200) <= at))
            np.testing.assert_array_equal(unpack(flags, 200), expected)


@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize("at", [0, 1, 62, 63, 64, 126, 127, 128])
def test_flag_light_splits_a_tie_at_any_position(dtype, at):
    weight = np.full(129, 7, dtype)
    flags = np.empty(3, np.uint64)
    SERIAL.launch("flag_light", 3, weight, 0, 129, 7, at, flags)
    np.testing.assert_array_equal(flags, pack(np.arange(129) <= at))


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(seed=seeds, rows=st.sampled_from(LENGTHS), stride=st.sampled_from([1, 2]), apart=st.sampled_from([1, 3, 1000]))
@quick
def test_survey_edges(engine, dtype, seed, rows, stride, apart):
    rng = np.random.default_rng(seed)
    weight = weights(rng, dtype, rows)
    ends = rng.integers(0, 1 << 32 * stride, (2, rows), np.uint64).astype(f"u{4 * stride}")
    notes, count = np.zeros(4, np.uint64), -(-rows // 8)
    lost = bool(rng.integers(2)) and weight.dtype.kind == "f" and rows > 0
    if lost:
        weight[rng.integers(rows)] = np.nan
    key = keys_of(SERIAL, weight)[np.arange(rows) % max(1, count) % apart == 0]
    columns = (*(end.view(np.uint32) for end in ends), stride, weight, rows, apart, notes)
    engine.launch("survey_edges", count, *columns, grain=1)
    assert notes[0] == (ends.max() if rows else 0)
    assert notes[1] == lost
    if len(key):
        assert notes[2] == key.max()
        assert notes[3] == (~key).max()
