"""Disjoint sets, Kruskal's scan and Borůvka's steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines import CpuEngine
from tests.support.columns import (
    COUNTS,
    KEYS,
    LENGTHS,
    VERTICES,
    component_labels,
    each_engine,
    pack,
    parents,
    quick,
    roots_of,
    seeds,
    unpack,
)
from tests.support.oracle import kruskal_rows

SHAPES = ["up", "down", "tree", "trees", "shuffled", "star"]
NONE = np.uint64(2**64 - 1)


@each_engine
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_flatten_in_two_launches(engine, shape, length):
    parent = parents(np.random.default_rng(length), shape, length)
    expected = roots_of(parent)
    engine.launch("halve_paths", length, parent, grain=64)
    np.testing.assert_array_equal(roots_of(parent), expected)
    engine.launch("flatten", length, parent, grain=64)
    np.testing.assert_array_equal(parent, expected)


@each_engine
@pytest.mark.parametrize("shape", ["up", "trees", "shuffled"])
@pytest.mark.parametrize("grain", [1, 50, 4096])
@pytest.mark.parametrize(("kernels", "repeats"), [(("halve_paths", "flatten"), 10), (("compress_looking",), 30)])
def test_roots_are_exact_while_walks_meet(engine, shape, grain, kernels, repeats):
    # A late store of one walk put an older ancestor back, in one launch of ten: Mastiff found other rows, or no end.
    rng = np.random.default_rng(1)
    for _ in range(repeats):
        parent = parents(rng, shape, 20_000)
        expected = roots_of(parent)
        for kernel in kernels:
            exempt = (np.zeros(len(parent), np.uint8),) if kernel == "compress_looking" else ()
            engine.launch(kernel, len(parent), *exempt, parent, grain=grain)
        np.testing.assert_array_equal(parent, expected)


@each_engine
@pytest.mark.parametrize("shape", SHAPES)
def test_halving_leaves_short_paths(engine, shape):
    # `flatten` alone would walk a long path from every vertex, in quadratic time.
    parent = parents(np.random.default_rng(2), shape, 50_000)
    engine.launch("halve_paths", len(parent), parent, grain=64)
    steps = 0
    while not np.array_equal(parent, parent[parent]):
        parent = parent[parent]
        steps += 1
    assert steps <= 6  # paths of up to 2 ** 6 vertices


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, vertices=st.sampled_from([1, 2, 64, 300]), edges=st.sampled_from(COUNTS), positioned=st.booleans())
@quick
def test_unite(engine, dtype, seed, vertices, edges, positioned):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, edges), dtype)
    position = np.flatnonzero(rng.random(edges) < 0.5).astype(np.uint32) if positioned else None
    parent = np.arange(vertices, dtype=np.uint32)
    engine.launch("unite", edges if position is None else len(position), source, target, position, parent, grain=1)
    at = slice(None) if position is None else position
    np.testing.assert_array_equal(roots_of(parent), component_labels(vertices, source[at], target[at]))


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
def test_unite_under_contention(engine, dtype):
    rng = np.random.default_rng(3)
    vertices = 5000
    path = rng.permutation(vertices).astype(dtype)
    for _ in range(10):
        parent = np.arange(vertices, dtype=np.uint32)
        at = rng.permutation(vertices - 1)
        engine.launch("unite", vertices - 1, path[:-1][at], path[1:][at], None, parent, grain=3)
        assert not roots_of(parent).any()


def draw_graph(rng, vertices, edges, ties):
    """Edges as a Kruskal scan sees them: in ascending order, self-loops and parallel edges among them."""
    source, target = rng.integers(0, vertices, (2, edges), np.uint32)
    return source, target, np.sort(rng.integers(0, ties, edges, np.uint32))


@given(seed=seeds, vertices=st.sampled_from([1, 2, 10, 64, 300]), edges=st.sampled_from([*COUNTS, 128, 129, 1000]))
@quick
@each_engine
def test_scan_edges(engine, seed, vertices, edges):
    rng = np.random.default_rng(seed)
    # Some vertices are joined before, as on a later level.
    parent = component_labels(vertices, *rng.integers(0, vertices, (2, vertices // 4)))
    source, target, _ = draw_graph(rng, vertices, edges, 1)
    expected = kruskal_rows(parent[source].tolist(), parent[target].tolist(), None)
    joined = component_labels(vertices, np.append(parent, source), np.append(np.arange(vertices), target))
    most = len(np.unique(parent)) - 1
    chosen, count = np.full(min(edges, most), 99, np.uint32), np.zeros(1, np.uint64)
    ends = source.astype(np.uint64) << np.uint64(32) | target
    engine.launch("scan_edges", 1, ends, 0, edges, edges, most, None, None, parent, chosen, count)
    assert chosen[: int(count[0])].tolist() == expected
    np.testing.assert_array_equal(roots_of(parent), joined)


def test_scan_stops_when_all_is_joined():
    # The bound is met in the first block; the edges behind it, which would join more, are not looked at.
    ends = np.arange(1, 200, dtype=np.uint64)
    parent = np.arange(200, dtype=np.uint32)
    chosen, count = np.full(199, 999, np.uint32), np.zeros(1, np.uint64)
    bounds = (0, len(ends), len(ends), 64)
    CpuEngine(1).launch("scan_edges", 1, ends, *bounds, None, None, parent, chosen, count)
    assert chosen[:64].tolist() == list(range(64))
    assert int(count[0]) == 64
    assert (chosen[64:] == 999).all()


@given(seed=seeds, vertices=st.sampled_from([2, 10, 64, 300]), edges=st.sampled_from([1, 64, 65, 300, 1000]))
@quick
@each_engine
def test_helpers_exclude_what_lies_inside_a_component(engine, seed, vertices, edges):
    rng = np.random.default_rng(seed)
    label = component_labels(vertices, *rng.integers(0, vertices, (2, vertices // 2)))
    parent = label.copy()
    source, target, _ = draw_graph(rng, vertices, edges, 1)
    ends = source.astype(np.uint64) << np.uint64(32) | target
    most = len(np.unique(label)) - 1
    chosen, count = np.full(min(edges, most), 99, np.uint32), np.zeros(1, np.uint64)
    excluded = np.zeros(-(-edges // 64), np.uint64)
    middle = int(rng.integers(0, len(excluded) + 1)) * 64
    middle, words = min(middle, edges), max(0, len(excluded) - middle // 64)
    arguments = (most, label, excluded, parent, chosen, count)
    engine.launch("scan_edges", 1 + words, ends, 0, middle, edges, *arguments, grain=1)
    inside = label[source] == label[target]
    np.testing.assert_array_equal(unpack(excluded, edges)[middle:], inside[middle:])
    assert not unpack(excluded, edges)[:middle].any()
    # The scan continues over the rest, and passes over excluded edges even if they could be joined.
    if middle < edges:
        spared = rng.random(edges) < 0.2
        excluded |= pack(spared & (np.arange(edges) >= middle))
        engine.launch("scan_edges", 1, ends, middle, edges, edges, *arguments)
    else:
        spared = np.zeros(edges, bool)
    seen = np.flatnonzero((np.arange(edges) < middle) | ~spared)
    expected = kruskal_rows(label[source[seen]].tolist(), label[target[seen]].tolist(), None)
    assert chosen[: int(count[0])].tolist() == seen[expected].tolist()


@each_engine
@given(
    seed=seeds, length=st.sampled_from(LENGTHS[1:]), ordered=st.booleans(), positioned=st.booleans(), rows=st.booleans()
)
@quick
def test_flag_chosen(engine, seed, length, ordered, positioned, rows):
    rng = np.random.default_rng(seed)
    order = rng.permutation(length).astype(np.uint32) if ordered else None
    position = rng.permutation(length).astype(np.uint32) if positioned else None
    row = rng.permutation(length).astype(np.uint32) if rows else None
    chosen = rng.permutation(length).astype(np.uint32)[: length // 2]
    flags = np.zeros(-(-length // 64), np.uint64)
    engine.launch("flag_chosen", len(chosen), chosen, order, position, row, flags, grain=8)
    at = order[chosen] if ordered else chosen
    at = position[at] if positioned else at
    at = row[at] if rows else at
    np.testing.assert_array_equal(unpack(flags, length), np.isin(np.arange(length), at))


def lightest_at_each_vertex(vertices, source, target, key):
    """Position of the lightest crossing edge at each vertex, or -1."""
    best = np.full(vertices, -1)
    for edge in np.lexsort([np.arange(len(key)), key])[::-1]:
        if source[edge] != target[edge]:
            best[source[edge]] = best[target[edge]] = edge
    return best


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(
    seed=seeds,
    vertices=st.sampled_from([1, 2, 5, 300]),
    edges=st.sampled_from(COUNTS),
    keys=st.sampled_from([1, 3, None]),
    rows=st.booleans(),
)
@quick
def test_lightest_edges_and_hook(engine, dtype, seed, vertices, edges, keys, rows):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, edges), np.uint32)
    top = np.iinfo(dtype).max  # the largest key must not be taken for "none"
    key = top - rng.integers(0, keys or top, edges, dtype)
    parent = parents(rng, rng.choice(["trees", "roots"]), vertices)
    root = roots_of(parent)
    expected = lightest_at_each_vertex(vertices, root[source], root[target], key)

    first, second = source.copy(), target.copy()
    best = np.full(vertices, NONE)
    engine.launch("lightest_edges", edges, first, second, key, parent, best, grain=1)
    np.testing.assert_array_equal(first, root[source])
    np.testing.assert_array_equal(second, root[target])
    np.testing.assert_array_equal(roots_of(parent), root)
    np.testing.assert_array_equal(best != NONE, expected >= 0)
    found = best[best != NONE]
    np.testing.assert_array_equal(found & np.uint64(2**32 - 1), expected[expected >= 0])
    if dtype == "uint32":
        np.testing.assert_array_equal(found >> np.uint64(32), key[expected[expected >= 0]])

    row = rng.permutation(edges).astype(np.uint32) if rows else None
    flags = np.zeros(-(-edges // 64), np.uint64)
    engine.launch("hook", vertices, first, second, best, row, parent, flags, grain=1)
    chosen = np.unique(expected[expected >= 0])
    flagged = row[chosen] if rows else chosen
    np.testing.assert_array_equal(unpack(flags, edges), np.isin(np.arange(edges), flagged))
    # Every chosen edge joins two components, and nothing else does: no cycle, no loss.
    joined = component_labels(vertices, np.append(root, source[chosen]), np.append(np.arange(vertices), target[chosen]))
    after = roots_of(parent)
    assert len(np.unique(after)) == len(np.unique(root)) - len(chosen)
    np.testing.assert_array_equal(joined[after], joined)
    # Of two roots that chose the same edge, the smaller stays.
    for edge in chosen.tolist():
        low, high = sorted((int(first[edge]), int(second[edge])))
        if expected[low] == expected[high] == edge:
            assert (parent[low], parent[high]) == (low, low)


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
def test_lightest_edge_of_a_hub(engine, dtype):
    # Every edge fights for the same word; among equal keys the first position wins.
    edges = 20_000
    rng = np.random.default_rng(4)
    for lowest in (0, edges // 2, edges - 1):
        source = np.zeros(edges, np.uint32)
        target = np.arange(1, edges + 1, dtype=np.uint32)
        key = rng.integers(5, 9, edges).astype(dtype)
        key[lowest:] = 4
        parent = np.arange(edges + 1, dtype=np.uint32)
        best = np.full(edges + 1, NONE)
        engine.launch("lightest_edges", edges, source, target, key, parent, best, grain=16)
        assert int(best[0]) & (2**32 - 1) == lowest
        np.testing.assert_array_equal(best[1:] & np.uint64(2**32 - 1), np.arange(edges))


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
def test_two_edges_reach_a_vertex_at_once(engine, dtype):
    # Neighboring indices, which two threads take at a time: a swap that gave up if it was beaten to it would lose
    # the lighter edge now and then.
    pairs = 20_000
    source = np.repeat(np.arange(pairs, dtype=np.uint32), 2)
    target = np.repeat(np.arange(pairs, 2 * pairs, dtype=np.uint32), 2)
    parent = np.arange(2 * pairs, dtype=np.uint32)
    for round_ in range(20):
        key = np.random.default_rng(round_).integers(0, 3, 2 * pairs).astype(dtype)
        best = np.full(2 * pairs, NONE)
        engine.launch("lightest_edges", len(key), source, target, key, parent, best, grain=1)
        lighter = np.arange(0, 2 * pairs, 2) + (key[1::2] < key[::2])
        np.testing.assert_array_equal(best & np.uint64(2**32 - 1), np.tile(lighter, 2))


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(
    seed=seeds, length=st.sampled_from(LENGTHS), codes=st.sampled_from([1, 2, 50, 2**40]), keys=st.sampled_from([1, 9])
)
@quick
def test_flag_lightest_in_runs(engine, dtype, seed, length, codes, keys):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, codes, length, np.uint64)
    key = np.iinfo(dtype).max - rng.integers(0, keys, length, dtype)
    order = np.argsort(code, kind="stable").astype(np.uint32)
    flags = np.zeros(-(-length // 64), np.uint64)
    engine.launch("flag_lightest_in_runs", length, code, order, length, key, flags, grain=8)
    by_code = np.lexsort([np.arange(length), key, code])
    first = np.append([True], code[by_code][1:] != code[by_code][:-1])[:length]
    np.testing.assert_array_equal(flags, pack(np.isin(np.arange(length), by_code[first])))
