"""Kernels of the radix sort. `test_columnar.py` tests the sort that they make."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.support.columns import KEYS, LENGTHS, each_engine, quick, seeds

THIRTY_TWO = np.uint64(32)
LOW_HALF = np.uint64(2**32 - 1)


def draw_keys(rng, dtype, length):
    low, high = sorted(rng.integers(0, np.iinfo(dtype).max, 2, dtype, endpoint=True).tolist())
    return rng.integers(low, high, length, dtype, endpoint=True), low


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_pack_records(engine, dtype, seed, length):
    key, low = draw_keys(np.random.default_rng(seed), dtype, length)
    offset = key.astype(np.uint64) - np.uint64(low)
    shift = max(0, int(offset.max(initial=0)).bit_length() - 32)
    records = np.empty(length, np.uint64)
    engine.launch("pack_records", length, key, low, shift, records, grain=64)
    np.testing.assert_array_equal(records >> THIRTY_TWO, offset >> np.uint64(shift))
    np.testing.assert_array_equal(records & LOW_HALF, np.arange(length))


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_pack_halves(engine, dtype, seed, length):
    rng = np.random.default_rng(seed)
    key, low = draw_keys(rng, dtype, length)
    offset = key.astype(np.uint64) - np.uint64(low)
    records = np.empty(length, np.uint64)
    engine.launch("pack_low_half", length, key, low, records, grain=64)
    np.testing.assert_array_equal(records, offset << THIRTY_TWO | np.arange(length, dtype=np.uint64))
    place = rng.permutation(length).astype(np.uint64)
    engine.launch("pack_high_half", length, key, low, records[place], halves := np.empty_like(records), grain=64)
    np.testing.assert_array_equal(halves, offset[place] >> THIRTY_TWO << THIRTY_TWO | place)


@each_engine
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_unpack_records(engine, seed, length):
    records = np.random.default_rng(seed).integers(0, 2**64 - 1, length, np.uint64, endpoint=True)
    order = np.empty(length, np.uint32)
    engine.launch("unpack_records", length, records, order, grain=64)
    np.testing.assert_array_equal(order, records & LOW_HALF)


@each_engine
@given(
    seed=seeds,
    length=st.sampled_from(LENGTHS[1:]),
    block=st.sampled_from([1, 63, 64, 65, 10**5]),
    digit_bits=st.sampled_from([1, 3, 10]),
    shift=st.sampled_from([0, 32, 54]),
)
@quick
def test_digits(engine, seed, length, block, digit_bits, shift):
    # Payload-free records, so that a digit may lie anywhere.
    records = np.random.default_rng(seed).integers(0, 2**64 - 1, length, np.uint64, endpoint=True)
    digit = (records >> np.uint64(shift)) & np.uint64(2**digit_bits - 1)
    blocks = -(-length // block)
    counts = np.full((2**digit_bits, blocks), 99, np.uint64)
    engine.launch("count_digits", blocks, records, length, block, shift, digit_bits, counts, blocks, grain=1)
    expected = [np.bincount(digit[at * block : (at + 1) * block], minlength=2**digit_bits) for at in range(blocks)]
    np.testing.assert_array_equal(counts, np.transpose(expected))

    places = (np.cumsum(counts) - counts.ravel()).astype(np.uint64)
    placed = np.empty_like(records)
    engine.launch("scatter_digits", blocks, records, length, block, shift, digit_bits, places, blocks, placed, grain=1)
    np.testing.assert_array_equal(placed, records[np.argsort(digit, kind="stable")])


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(seed=seeds, length=st.sampled_from(LENGTHS), longest=st.sampled_from([1, 2, 3, 32]))
@quick
def test_order_runs(engine, dtype, seed, length, longest):
    rng = np.random.default_rng(seed)
    # Runs of 1 to longest + 1 keys, whose low bits are few enough to tie.
    leading = np.repeat(np.arange(length), rng.integers(1, longest + 2, length))[:length].astype(np.uint64)
    place = rng.permutation(length).astype(np.uint64)
    place = place[np.lexsort([place, leading])]
    key = np.empty(length, dtype)
    key[place] = (leading << np.uint64(8) | rng.integers(0, 5, length, np.uint64)).astype(dtype)
    records = leading << THIRTY_TWO | place
    expected = records[np.lexsort([place, key[place], leading])]
    run = leading.astype(np.int64)
    run_length = np.bincount(run)[run] if length else place
    keys_of_run = np.bincount(np.unique(np.column_stack([run, key[place]]), axis=0)[:, 0].astype(np.int64))
    too_long = (run_length > longest) & (keys_of_run[run] > 1) if length else np.zeros(0, bool)
    expected = np.where(too_long, records, expected)

    long_runs = np.zeros(1, np.uint32)
    engine.launch("order_runs", length, key, length, longest, records, long_runs, grain=1)
    np.testing.assert_array_equal(records, expected)
    assert bool(long_runs[0]) == bool(too_long.any())


@each_engine
def test_order_runs_beside_each_other(engine):
    # Runs as long as they may be, all upside down: neighbors move while their borders are read.
    longest, length = 32, 32 * 500
    leading = np.arange(length, dtype=np.uint64) // np.uint64(longest)
    records = leading << THIRTY_TWO | np.arange(length, dtype=np.uint64)
    key = leading << np.uint64(8) | (np.uint64(255) - np.arange(length, dtype=np.uint64) % np.uint64(longest))
    expected = records.reshape(-1, longest)[:, ::-1].ravel()
    long_runs = np.zeros(1, np.uint32)
    engine.launch("order_runs", length, key, length, longest, records, long_runs, grain=7)
    np.testing.assert_array_equal(records, expected)
    assert not long_runs[0]


@each_engine
@given(seed=seeds, length=st.sampled_from([1, 64, 1000]))
@quick
def test_gather_packed(engine, seed, length):
    rng = np.random.default_rng(seed)
    packed, order = rng.integers(0, 2**63, length, np.uint64), rng.permutation(length).astype(np.uint32)
    gathered = np.empty(length, np.uint64)
    engine.launch("gather_packed", length, packed, order, gathered, grain=64)
    np.testing.assert_array_equal(gathered, packed[order])


@each_engine
def test_a_long_run_of_equal_keys_needs_no_second_sort(engine):
    key = np.repeat(np.array([2.0**60, 7], np.float64).view(np.uint64), 500)
    records = (np.arange(1000, dtype=np.uint64) // np.uint64(500) << np.uint64(32)) | np.arange(1000, dtype=np.uint64)
    long_runs = np.zeros(1, np.uint32)
    before = records.copy()
    engine.launch("order_runs", 1000, key, 1000, 32, records, long_runs, grain=64)
    assert int(long_runs[0]) == 0
    np.testing.assert_array_equal(records, before)
    key[100] += np.uint64(1)
    engine.launch("order_runs", 1000, key, 1000, 32, records, long_runs, grain=64)
    assert int(long_runs[0]) == 1
