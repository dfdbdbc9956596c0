"""Kernels over vertex columns, and the plain gathers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.support.columns import LENGTHS, VERTICES, each_engine, pack, quick, seeds, unpack

TOP = 2**32 - 1  # the largest vertex that a column of dense vertices can hold


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(LENGTHS), positioned=st.booleans())
@quick
def test_pack_ends(engine, dtype, seed, length, positioned):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, TOP, (2, length), dtype, endpoint=True)
    position = rng.permutation(length).astype(np.uint32) if positioned else None
    ends = np.empty(length, np.uint64)
    engine.launch("pack_ends", length, source, target, position, ends, grain=64)
    at = position if positioned else np.arange(length)
    np.testing.assert_array_equal(ends, source[at].astype(np.uint64) << np.uint64(32) | target[at])


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(LENGTHS), vertices=st.sampled_from([1, 2, 100]), excluding=st.booleans())
@quick
def test_flag_crossing(engine, dtype, seed, length, vertices, excluding):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, length), dtype)
    label = rng.integers(0, rng.integers(1, vertices + 1), vertices, np.uint32)
    excluded = rng.random(length) < 0.3
    flags = np.full(-(-length // 64), 99, np.uint64)
    arguments = (source, target, length, label, pack(excluded) if excluding else None, flags)
    engine.launch("flag_crossing", len(flags), *arguments, grain=1)
    expected = (label[source] != label[target]) & ~(excluded & excluding)
    np.testing.assert_array_equal(unpack(flags, length), expected)


def listed(outside):
    """Tables that list vertices for `flag_leaving`: see `crossing.py`."""
    tables = np.zeros(16, np.uint32)
    for vertex in outside.tolist():
        tables[vertex % 8] |= np.uint32(1 << vertex // 8 % 32)
        tables[8 + vertex // 64 % 8] |= np.uint32(1 << vertex // 512 % 32)
    return tables


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(
    seed=seeds, length=st.sampled_from(LENGTHS), vertices=st.sampled_from([1, 2, 100, 20_000]), excluding=st.booleans()
)
@quick
def test_flag_leaving(engine, dtype, seed, length, vertices, excluding):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, length), dtype)
    if rng.random() < 0.5:
        source.sort()  # words of one source, too
    inside = rng.random(vertices) < rng.choice([0, 0.5, 0.9, 0.999, 1])
    excluded = rng.random(length) < 0.3
    flags, aside = np.full((2, -(-length // 64)), 99, np.uint64)
    kept = ~(excluded & excluding)
    left_out = pack(excluded) if excluding else None
    few, each = listed(np.flatnonzero(~inside)), inside.view(np.uint8)
    known = vertices - int(inside[::-1].argmax()) if inside.any() else 0  # the vertices above are not listed
    below = np.flatnonzero(~inside[:known])
    listed_ones = listed(below) if len(below) else None
    for way in (
        *((None, gathers, None, 0) for gathers in (0, 1)),
        (each, 0, None, 0),
        *((bytes_, 0, few, vertices) for bytes_ in (None, each)),
        *((bytes_, 0, listed_ones, known) for bytes_ in (None, each)),
    ):
        arguments = (source, target, length, pack(inside), *way, left_out, flags, aside)
        engine.launch("flag_leaving", len(flags), *arguments, grain=1)
        np.testing.assert_array_equal(unpack(flags, length), ~(inside[source] & inside[target]) & kept)
        np.testing.assert_array_equal(unpack(aside, length), ~(inside[source] | inside[target]) & kept)


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_drop_joined(engine, dtype, seed, length):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 100, (2, length), dtype)
    label = rng.integers(0, 3, 100, np.uint32)
    before, aside = rng.random((2, length)) < 0.5
    flags = pack(before)
    engine.launch("drop_joined", len(flags), source, target, label, pack(aside), flags, grain=1)
    np.testing.assert_array_equal(unpack(flags, length), before & ~(aside & (label[source] == label[target])))


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(LENGTHS[1:]), vertices=st.sampled_from([1, 2, 100]), beyond=st.booleans())
@quick
def test_ids_outside(engine, dtype, seed, length, vertices, beyond):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, length), dtype)
    within = rng.random(vertices) < 0.7
    giant, inside = pack(within), within.view(np.uint8) if rng.random() < 0.5 else None
    excluded = pack(rng.random(length) < 0.3) if rng.random() < 0.5 else None
    expected, flags = np.empty((2, 2, -(-length // 64)), np.uint64)
    engine.launch(
        "flag_leaving", len(flags[0]), source, target, length, giant, None, 0, None, 0, excluded, *expected, grain=1
    )
    if beyond:
        top = int(np.iinfo(dtype).max)
        wrong = rng.choice(np.array([vertices, vertices + 1, top // 2, top // 2 + 1, top - 1, top], dtype))
        (source if rng.random() < 0.5 else target)[rng.integers(length)] = wrong
    found = np.zeros(2, np.uint32)
    engine.launch("find_outside", len(flags[0]), source, target, length, vertices, found[:1], grain=1)
    ways = (inside, int(rng.integers(2)), listed(np.flatnonzero(~within)), vertices)
    if rng.random() < 0.5:
        ways = (*ways[:2], None, 0)
    arguments = (source, target, length, giant, *ways, excluded, *flags, vertices, found[1:])
    engine.launch("flag_leaving_checked", len(flags[0]), *arguments, grain=1)
    assert found.tolist() == [beyond, beyond]
    if not beyond:
        np.testing.assert_array_equal(flags, expected)


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@pytest.mark.parametrize("vertices", [1, 5, 2**31])
def test_the_last_id_inside_and_the_first_outside(engine, dtype, vertices):
    found = np.zeros(1, np.uint32)
    for id_, outside in ((vertices - 1, 0), (vertices, 1)):
        column = np.full(1, id_, dtype)
        engine.launch("find_outside", 1, column, column, 1, vertices, found)
        assert found[0] == outside


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(LENGTHS), positioned=st.booleans(), labelled=st.booleans())
@quick
def test_gather_labels(engine, dtype, seed, length, positioned, labelled):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 500, (2, length), dtype)
    position = rng.integers(0, max(length, 1), length // 2, np.uint32) if positioned else None
    label = rng.permutation(500).astype(np.uint32) if labelled else None
    first, second = np.empty((2, length // 2 if positioned else length), np.uint32)
    engine.launch("gather_labels", len(first), source, target, position, label, first, second, grain=64)
    at = position if positioned else slice(None)
    for found, ends in ((first, source[at]), (second, target[at])):
        np.testing.assert_array_equal(found, label[ends] if labelled else ends)


@each_engine
@given(seed=seeds, length=st.sampled_from(LENGTHS), rows=st.booleans())
@quick
def test_gather_rows(engine, seed, length, rows):
    rng = np.random.default_rng(seed)
    row = rng.integers(0, TOP, length, np.uint32) if rows else None
    position = rng.integers(0, max(length, 1), length, np.uint32)
    gathered = np.empty(length, np.uint32)
    engine.launch("gather_rows", length, position, row, gathered, grain=64)
    np.testing.assert_array_equal(gathered, row[position] if rows else position)


@each_engine
@given(seed=seeds, length=st.sampled_from(LENGTHS), vertices=st.sampled_from([1, 2, 1000, 2**32]))
@quick
def test_pair_codes(engine, seed, length, vertices):
    source, target = np.random.default_rng(seed).integers(0, vertices, (2, length)).astype(np.uint32)
    code, swapped = np.empty((2, length), np.uint64)
    engine.launch("pair_codes", length, source, target, vertices, code, grain=64)
    engine.launch("pair_codes", length, target, source, vertices, swapped, grain=64)
    pairs = zip(source.tolist(), target.tolist(), strict=True)
    assert code.tolist() == [min(pair) * vertices + max(pair) for pair in pairs]
    np.testing.assert_array_equal(swapped, code)


@each_engine
@given(seed=seeds, length=st.sampled_from(LENGTHS[1:]))
@quick
def test_ranks(engine, seed, length):
    rng = np.random.default_rng(seed)
    roots = np.flatnonzero(rng.random(length) < 0.4).astype(np.uint32)
    roots = roots if len(roots) else np.zeros(1, np.uint32)
    rank = np.full(length, TOP, np.uint32)
    engine.launch("rank_roots", len(roots), roots, rank, grain=64)
    np.testing.assert_array_equal(rank[roots], np.arange(len(roots)))
    assert (np.delete(rank, roots) == TOP).all()
    parent = rng.choice(roots, length).astype(np.uint32)
    label = np.empty(length, np.uint32)
    engine.launch("gather_ranks", length, parent, rank, label, grain=64)
    np.testing.assert_array_equal(roots[label], parent)


@each_engine
@pytest.mark.parametrize("dtype", ["uint8", *VERTICES])
@given(seed=seeds, length=st.sampled_from(LENGTHS))
@quick
def test_gather_entries(engine, dtype, seed, length):
    rng = np.random.default_rng(seed)
    column = rng.integers(0, 2**31, length + 1).astype(dtype)
    rows = np.flatnonzero(rng.random(length + 1) < 0.5).astype(np.uint64)
    gathered = np.empty(len(rows), dtype)
    kernel = "gather_bytes" if dtype == "uint8" else "gather_entries"
    engine.launch(kernel, len(rows), column, rows, gathered, grain=64)
    np.testing.assert_array_equal(gathered, column[rows])
