"""Work that one thread does in one launch if there is little of it: few vertices, few components, few buckets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines.primitives.contract import contract, join_pairs, lightest_flagged, listed_pairs, number_sets
from dfmst._engines.primitives.edges import Edges, gather_keys, gather_leading_bits
from dfmst._engines.primitives.flags import flag_words
from tests.support.columns import (
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


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("ids", VERTICES)
@given(seed=seeds, length=st.sampled_from(LENGTHS), labels=st.sampled_from([1, 2, 20]))
@quick
def test_lightest_flagged(engine, dtype, ids, seed, length, labels):
    rng = np.random.default_rng(seed)
    weight, label = weights(rng, dtype, length), rng.integers(0, labels, 50).astype(np.uint32)
    source, target = rng.integers(0, 50, (2, length)).astype(ids)
    flagged, flip = rng.random(length) < rng.choice([0.01, 1.0]), int(rng.choice([0, 2 ** (8 * weight.itemsize) - 1]))
    key = np.empty(length, f"uint{weight.itemsize * 8}")
    engine.launch("gather_keys", length, weight, flip, None, key)
    lightest: dict[tuple[int, int], int] = {}
    for row in np.argsort(key, kind="stable"):
        if flagged[row]:
            lightest.setdefault(tuple(sorted((label[source[row]], label[target[row]]))), row)
    edges = Edges(source, target, weight, None)
    best = lightest_flagged(engine, edges, flip, pack(flagged), label, labels)
    found = listed_pairs(engine, best)
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, sorted(lightest.values()))
    row = rng.permutation(length).astype(np.uint32) if length % 2 else None
    rows, parent = [], np.arange(labels)
    for (a, b), at in lightest.items():  # in ascending order
        if parent[a] != parent[b]:
            parent[parent == parent[b]] = parent[a]
            rows.append(at if row is None else row[at])
    chosen = flag_words(engine, length)
    assert join_pairs(engine, Edges(source, target, weight, row), flip, best, labels, chosen) == (
        len(lightest),
        len(rows),
    )
    assert np.flatnonzero(unpack(chosen, length)).tolist() == sorted(rows)


@each_engine
@pytest.mark.parametrize("shape", ["up", "down", "trees", "shuffled", "star", "none"])
@pytest.mark.parametrize("vertices", [1, 2, 1000, (1 << 15) + 1])
def test_number_sets(engine, shape, vertices):
    parent = parents(np.random.default_rng(1), shape, vertices)
    expected = roots_of(parent)
    numbered = number_sets(engine, parent)
    np.testing.assert_array_equal(parent, expected)
    assert (numbered is None) == (vertices > 1 << 15)
    for label, sets in filter(None, [numbered, contract(engine, parent)]):
        np.testing.assert_array_equal(label, np.unique(expected, return_inverse=True)[1])
        assert sets == len(np.unique(expected))


@each_engine
@pytest.mark.parametrize(("buckets", "blocks"), [(1, 1), (8, 1), (1, 5), (1024, 3)])
def test_place_buckets(engine, buckets, blocks):
    counts = np.random.default_rng(buckets).integers(0, 9, buckets * blocks).astype(np.uint64)
    places, starts = counts.copy(), np.empty(buckets + 1, np.uint64)
    engine.launch_alone("place_buckets", places, buckets, blocks, starts)
    np.testing.assert_array_equal(places, np.cumsum(counts) - counts)
    np.testing.assert_array_equal(starts, [*places[::blocks], counts.sum()])


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("length", [1, 4097, 300_000])
@pytest.mark.parametrize("some", [False, True])
def test_leading_bits_are_gathered(engine, dtype, length, some):
    rng = np.random.default_rng(length)
    weight, flip = weights(rng, dtype, length), 2 ** (8 * np.dtype(dtype).itemsize) - 1
    position = np.flatnonzero(rng.random(length) < 0.9).astype(np.uint32) if some and length > 1 else None
    key = gather_keys(engine, weight, position, flip)
    leading, bits, (words, *_) = gather_leading_bits(engine, weight, position, flip, 27)
    assert int(leading.max()) >> bits == 0
    if words is None:  # the leading bits are all of the keys
        ranks = [np.unique(column, return_inverse=True)[1] for column in (leading, key)]
        np.testing.assert_array_equal(ranks[0], ranks[1])
    else:
        assert key.dtype == np.uint64
        assert np.all(np.diff(leading[np.argsort(key)].astype(np.int64)) >= 0)
