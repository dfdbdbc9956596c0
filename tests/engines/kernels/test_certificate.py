"""Kernels of the certificate: linked trees, path maxima, the checks, and the join of a forest with its table."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.support.columns import COUNTS, KEYS, VERTICES, each_engine, pack, quick, seeds, unpack

NONE = 2**64 - 1
NO_ROW = 2**32 - 1
#: Edge i hangs vertex i + 1 below an earlier one: on the first, on the last, on any, or on that half the size.
SHAPES = {
    "star": lambda _, i: 0,
    "path": lambda _, i: i,
    "random": lambda rng, i: rng.integers(0, i + 1),
    "binary": lambda _, i: i // 2,
}


def forest(rng: np.random.Generator, shape: str, vertices: int) -> np.ndarray:
    """Ends of a forest's edges in random order, one in five left out; shape (edges, 2)."""
    parent = [SHAPES[shape](rng, i) for i in range(vertices - 1)]
    ends = rng.permutation(vertices)[np.array([parent, range(1, vertices)], np.int64).reshape(2, -1)].T
    return rng.permuted(rng.permutation(ends[rng.random(len(ends)) < 0.8]), axis=1)


def linked(engine, ends: np.ndarray, vertices: int) -> tuple[np.ndarray, np.ndarray, int]:
    parent, size = np.arange(vertices, dtype=np.uint32), np.ones(vertices, np.uint32)
    link, cycle = np.full(vertices, NONE, np.uint64), np.full(1, NONE, np.uint64)
    packed = ends[:, 0].astype(np.uint64) << np.uint64(32) | ends[:, 1].astype(np.uint64)
    engine.launch("link_trees", 1, packed, len(packed), parent, size, link, cycle, vertices, None, None, None, None)
    top = np.empty_like(link)
    engine.launch("climb", vertices, link, top, grain=1)
    return link, top, int(cycle[0])


@each_engine
@pytest.mark.parametrize("shape", SHAPES)
@given(seed=seeds, vertices=st.sampled_from([1, 2, 3, 64, 130]))
@quick
def test_links_remember_path_maxima(engine, shape, seed, vertices):
    rng = np.random.default_rng(seed)
    ends = forest(rng, shape, vertices)
    link, top, cycle = linked(engine, ends, vertices)
    assert cycle == NONE
    graph = nx.Graph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from((u, v, {"rank": rank}) for rank, (u, v) in enumerate(ends.tolist()))
    for vertex in range(vertices):
        steps, last, at = 0, 0, vertex
        while link[at] != NONE:
            steps, last, at = steps + 1, int(link[at]) >> 32, int(link[at]) & NO_ROW
        assert steps <= math.log2(len(nx.node_connected_component(graph, vertex)))
        assert int(top[vertex]) == at << 32 | last

    source, target = rng.integers(0, vertices, (2, 50)).astype(np.uint32)
    heaviest = np.zeros(50, np.uint32)
    engine.launch("path_maxima", 50, source, target, top, link, heaviest, grain=1)
    for u, v, found in zip(source.tolist(), target.tolist(), heaviest.tolist(), strict=True):
        path = nx.shortest_path(graph, u, v) if nx.has_path(graph, u, v) else []
        ranks = [graph.edges[pair]["rank"] for pair in itertools.pairwise(path)]
        assert found == max(ranks, default=NO_ROW)


@each_engine
@given(seed=seeds, vertices=st.sampled_from([2, 3, 130]))
@quick
def test_the_first_cycle_is_found(engine, seed, vertices):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, vertices, (2 * vertices, 2))
    sets = nx.utils.UnionFind()
    cyclic = (rank for rank, (u, v) in enumerate(ends.tolist()) if sets[u] == sets[v] or sets.union(u, v))
    assert linked(engine, ends, vertices)[2] == next(cyclic)


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(seed=seeds, length=st.sampled_from(COUNTS))
@quick
def test_rank_edges_trusts_no_order(engine, dtype, seed, length):
    rng = np.random.default_rng(seed)
    key = rng.integers(0, 5, length).astype(dtype)
    row = np.arange(length, dtype=np.uint32) * 3
    right = np.argsort(key, kind="stable").astype(np.uint32)

    def is_wrong(order: np.ndarray) -> bool:
        wrong = np.zeros(1, np.uint32)
        arguments = (order, length, key, row, ranked_key, ranked_row, wrong)
        engine.launch("rank_edges", length, *arguments, grain=1)
        return bool(wrong[0])

    ranked_key, ranked_row = np.empty_like(key), np.empty_like(row)
    assert not is_wrong(right)
    np.testing.assert_array_equal(ranked_key, key[right])
    np.testing.assert_array_equal(ranked_row, row[right])
    if length > 1:
        at = int(rng.integers(length - 1))
        for entry in (right[at + 1], length, NO_ROW):  # twice the same, then out of range
            broken = right.copy()
            broken[at] = entry
            assert is_wrong(broken)
        broken = right.copy()
        broken[[at, at + 1]] = broken[[at + 1, at]]
        assert is_wrong(broken)


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(COUNTS))
@quick
def test_flag_doubtful(engine, dtype, seed, length):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 20, (2, length), dtype)
    giant, light, excluded = (rng.random(size) < 0.5 for size in (20, length, length))
    flags = np.full(-(-length // 64), 99, np.uint64)
    arguments = (source, target, length, pack(giant), pack(light), pack(excluded), flags)
    engine.launch("flag_doubtful", len(flags), *arguments, grain=1)
    expected = (light | ~(giant[source] & giant[target])) & ~excluded
    np.testing.assert_array_equal(unpack(flags, length), expected)


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.sampled_from(COUNTS), bits=st.sampled_from([6, 12, 20]))
@quick
def test_no_marked_pair_is_missed(engine, dtype, seed, length, bits):
    source, target = np.random.default_rng(seed).integers(0, 2**32 - 1, (2, length), dtype)
    marked, flags = np.zeros(1 << bits - 6, np.uint64), np.full(-(-length // 64), 99, np.uint64)
    part = length // 3
    engine.launch("mark_pairs", part, source[:part], target[:part], 64 - bits, marked, grain=1)
    engine.launch("flag_marked_pairs", len(flags), target, source, length, 64 - bits, marked, flags, grain=1)
    found = unpack(flags, length)
    assert found[:part].all()
    if bits == 20:
        assert found[part:].mean() < 0.05 if length else True


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(seed=seeds, length=st.sampled_from(COUNTS), pairs=st.sampled_from([1, 10, 1000]))
@quick
def test_match_edges(engine, dtype, seed, length, pairs):
    rng = np.random.default_rng(seed)
    claimed = length // 2
    code, key = rng.integers(0, pairs, length).astype(np.uint64), rng.integers(0, 3, length).astype(dtype)
    order = np.argsort(code, kind="stable").astype(np.uint32)
    matched = np.full(claimed, NO_ROW, np.uint32)
    engine.launch("match_edges", length, code, order, length, claimed, key, matched, grain=1)
    for edge in range(claimed):
        like = np.flatnonzero((code[claimed:] == code[edge]) & (key[claimed:] == key[edge]))
        first = like[0] if len(like) else NO_ROW
        assert matched[edge] == (NO_ROW - 1 if code[edge] in code[:edge] else first)
