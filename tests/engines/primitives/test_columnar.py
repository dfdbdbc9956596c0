"""Columnar steps against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines.primitives.contract import (
    contract,
    contract_edges,
    count_roots,
    drop_parallel,
    flag_lightest,
    flatten,
)
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_leading_bits
from dfmst._engines.primitives.flags import compact, exclusive_sum, flag_words, numbered, ones
from dfmst._engines.primitives.sort import sort_order
from tests.support.columns import (
    KEYS,
    LENGTHS,
    VERTICES,
    WEIGHTS,
    each_engine,
    pack,
    parents,
    quick,
    roots_of,
    seeds,
    unpack,
    weights,
)

BLOCK = 1024 * 64  # rows that `compact` counts at a time
SORT_BLOCK = 1 << 16  # records that a block of the radix sort counts


@each_engine
@pytest.mark.parametrize("length", [*LENGTHS, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 65])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
@pytest.mark.parametrize("dtype", VERTICES)
def test_compact(engine, length, share, dtype):
    mask = np.random.default_rng(length).random(length) < share
    positions = compact(engine, pack(mask), np.dtype(dtype).type)
    assert positions.dtype == dtype
    np.testing.assert_array_equal(positions, np.flatnonzero(mask))


@each_engine
@pytest.mark.parametrize("length", LENGTHS)
def test_flag_words(engine, length):
    flags = flag_words(engine, length)
    assert flags.dtype == np.uint64
    assert not unpack(flags, length).any()


@each_engine
@pytest.mark.parametrize("words", [1, 1 << 13, (1 << 13) + 1, 50_000])
def test_flag_words_are_cleared_where_others_lay(engine, words):
    engine = engine.in_scratch()
    before = engine.xp.full(words, 2**64 - 1, np.uint64)
    at = before.__array_interface__["data"]
    del before
    flags = flag_words(engine, 64 * words)
    assert words < 1 << 13 or flags.__array_interface__["data"] == at
    assert not flags.any()


@each_engine
@given(counts=st.lists(st.integers(0, 2**40), max_size=50))
@quick
def test_exclusive_sum(engine, counts):
    before, total = exclusive_sum(engine, np.array(counts, np.uint64))
    assert total == sum(counts)
    assert before.tolist() == [sum(counts[:at]) for at in range(len(counts))]


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(
    seed=seeds,
    length=st.sampled_from([*LENGTHS, SORT_BLOCK - 1, SORT_BLOCK, SORT_BLOCK + 1]),
    low=st.integers(0, 2**31),
    spread=st.integers(0, 64),
)
@quick
def test_sort_order(engine, dtype, seed, length, low, spread):
    # Every spread of the keys: all equal, mass ties, one digit, several, more than 32 bits.
    bits = np.iinfo(dtype).bits
    rng = np.random.default_rng(seed)
    top = min(2**bits - 1, low + 2**spread - 1)
    key = rng.integers(low, top, length, dtype, endpoint=True)
    order = sort_order(engine, key)
    assert order.dtype == np.uint32
    np.testing.assert_array_equal(order, np.argsort(key, kind="stable"))


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_sort_order_of_weights(engine, dtype, seed, length):
    weight = weights(np.random.default_rng(seed), dtype, length)
    key = np.empty(length, f"uint{weight.dtype.itemsize * 8}")
    engine.launch("gather_keys", length, weight, 0, None, key)
    np.testing.assert_array_equal(sort_order(engine, key), np.argsort(weight, kind="stable"))


@each_engine
@pytest.mark.parametrize("run", [2, 31, 32, 33, 1000])
@pytest.mark.parametrize("ties", [1, 5, 2**20])
def test_sort_order_of_long_keys_with_equal_leading_bits(engine, run, ties):
    # Runs within and beyond what the insertion sort takes, their low bits in falling and in random order.
    rng = np.random.default_rng(run)
    length = 8000
    leading = rng.permutation(np.arange(length, dtype=np.uint64) // np.uint64(run)) << np.uint64(40)
    for low in (np.arange(length, 0, -1) % ties, rng.integers(0, ties, length)):
        key = leading | low.astype(np.uint64)
        key[0] |= np.uint64(1 << 63)  # the whole width counts
        np.testing.assert_array_equal(sort_order(engine, key), np.argsort(key, kind="stable"))


@each_engine
@given(seed=seeds, length=st.sampled_from([*LENGTHS, SORT_BLOCK + 1]), bits=st.integers(0, 32))
@quick
def test_sort_records(engine, seed, length, bits):
    rng = np.random.default_rng(seed)
    leading = rng.integers(0, 2**bits, length, np.uint64)
    records = leading << np.uint64(32) | rng.integers(0, 2**32, length, np.uint64)
    expected = records[np.argsort(leading, kind="stable")]
    np.testing.assert_array_equal(engine.sort_records(records.copy(), bits), expected)


@each_engine
@pytest.mark.parametrize("shape", ["up", "down", "tree", "trees", "roots", "shuffled", "star"])
@pytest.mark.parametrize("vertices", [*LENGTHS, 30_000])
def test_flatten_and_contract(engine, shape, vertices):
    parent = parents(np.random.default_rng(vertices), shape, vertices)
    expected = roots_of(parent)
    flatten(engine, parent)
    np.testing.assert_array_equal(parent, expected)
    roots, rank = np.unique(expected, return_inverse=True)
    label, count = contract(engine, parent)
    assert label.dtype == np.uint32
    assert count == count_roots(engine, parent) == len(roots)
    np.testing.assert_array_equal(label, rank)


@each_engine
@given(seed=seeds, vertices=st.sampled_from(LENGTHS))
@quick
def test_contract_some_roots(engine, seed, vertices):
    rng = np.random.default_rng(seed)
    parent = roots_of(parents(rng, "trees", vertices))
    numbered = np.unique(parent)
    numbered = numbered[rng.random(len(numbered)) < 0.5]
    label, count = contract(engine, parent, pack(np.isin(np.arange(vertices), numbered)))
    assert count == len(numbered)
    below = np.isin(parent, numbered)
    np.testing.assert_array_equal(label[below], np.searchsorted(numbered, parent[below]))


@each_engine
@pytest.mark.parametrize("vertex", VERTICES)
@given(
    seed=seeds,
    vertices=st.sampled_from(LENGTHS[1:]),
    length=st.sampled_from(LENGTHS),
    flipped=st.booleans(),
    drop_isolated=st.booleans(),
)
@quick
def test_contract_edges(engine, vertex, seed, vertices, length, flipped, drop_isolated):
    rng = np.random.default_rng(seed)
    parent = roots_of(parents(rng, "trees", vertices))
    source, target = rng.integers(0, vertices, (2, length), vertex)
    weight = weights(rng, "uint32", length)
    edges, count = contract_edges(
        engine, Edges(source, target, weight, None), parent, 2**32 - 1 if flipped else 0, drop_isolated
    )
    crossing = np.flatnonzero(parent[source] != parent[target])
    ends = [parent[source[crossing]], parent[target[crossing]]]
    numbered = np.unique(ends if drop_isolated else parent)
    assert count == len(numbered)
    np.testing.assert_array_equal(edges.row, crossing)
    np.testing.assert_array_equal(numbered[edges.source], ends[0])
    np.testing.assert_array_equal(numbered[edges.target], ends[1])
    np.testing.assert_array_equal(edges.key, ~weight[crossing] if flipped else weight[crossing])


@each_engine
@pytest.mark.parametrize("vertex", VERTICES)
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(seed=seeds, length=st.sampled_from(LENGTHS), some=st.booleans(), labelled=st.booleans(), rows=st.booleans())
@quick
def test_gather_edges(engine, vertex, dtype, seed, length, some, labelled, rows):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 99, (2, length), vertex)
    weight = weights(rng, dtype, length)
    row = rng.permutation(length).astype(np.uint32) if rows else None
    positions = np.flatnonzero(rng.random(length) < 0.5).astype(np.uint32) if some else None
    label = rng.permutation(99).astype(np.uint32) if labelled else None
    edges = Edges(source, target, weight, row)
    flip = 2 ** (8 * weight.dtype.itemsize) - 1
    found, flipped = (gather_edges(engine, edges, positions, label, mask) for mask in (0, flip))

    at = np.arange(length) if positions is None else positions
    assert len(found) == len(at)
    assert found.source.dtype == found.target.dtype == np.uint32
    np.testing.assert_array_equal(found.source, label[source[at]] if labelled else source[at])
    np.testing.assert_array_equal(found.target, label[target[at]] if labelled else target[at])
    np.testing.assert_array_equal(np.argsort(found.key, kind="stable"), np.argsort(weight[at], kind="stable"))
    np.testing.assert_array_equal(flipped.key, ~found.key)
    if not some and not rows:
        assert found.row is None
    else:
        np.testing.assert_array_equal(found.row, row[at] if rows else at)


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(
    seed=seeds,
    length=st.sampled_from(LENGTHS),
    vertices=st.sampled_from([1, 2, 20, 2**32]),
    keys=st.sampled_from([1, 9]),
)
@quick
def test_drop_parallel(engine, dtype, seed, length, vertices, keys):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, length)).astype(np.uint32)
    key = rng.integers(0, keys, length, dtype)
    edges = Edges(source, target, key, None)
    kept = unpack(flag_lightest(engine, edges, vertices), length)
    lightest: dict[tuple[int, int], int] = {}
    for row in np.argsort(key, kind="stable").tolist():
        lightest.setdefault((min(source[row], target[row]), max(source[row], target[row])), row)
    assert np.flatnonzero(kept).tolist() == sorted(lightest.values())
    left = drop_parallel(engine, edges, vertices)
    np.testing.assert_array_equal(left.row, sorted(lightest.values()))
    np.testing.assert_array_equal(left.key, key[left.row])


@each_engine
@pytest.mark.parametrize("length", [0, 1, 100, (1 << 14) + 1, 70_001])
def test_fills(engine, length):
    np.testing.assert_array_equal(numbered(engine, length), np.arange(length, dtype=np.uint32))
    np.testing.assert_array_equal(ones(engine, length), np.full(length, 2**32 - 1, np.uint32))


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize("length", [1, 4096, 4097, 20_000])
def test_leading_bits_begin_with_the_least_key(engine, dtype, length):
    key = np.random.default_rng(length).integers(1000, 1 << 30, length, dtype)
    column, bits, (weights, *_) = gather_leading_bits(engine, key, None, 0, 32)
    np.testing.assert_array_equal(column - column.min(), key - key.min())
    assert bits <= int(key.max() - key.min()).bit_length() + 1
    assert int(column.max()) >> bits == 0
    assert weights is None
