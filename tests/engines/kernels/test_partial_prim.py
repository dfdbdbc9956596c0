"""Subtrees that meet others, at moments that only threads would otherwise bring about."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines import CpuEngine
from dfmst._engines.primitives.edges import Edges, adjacency
from tests.support.columns import KEYS, LENGTHS, VERTICES, each_engine, pack, quick, seeds, unpack

NONE = np.iinfo(np.uint32).max


def grow(kernel, edges, span, rule, tree, parent):
    """Run one instance over all vertices; the chosen positions and the conflicts."""
    lists = adjacency(CpuEngine(1), edges, len(tree), by_weight=True)
    taken, conflicts = np.full(len(tree), NONE, np.uint32), np.zeros(1, np.uint64)
    heap = np.empty(len(tree), edges.key.dtype), np.empty(len(tree), np.uint64)
    CpuEngine(1).launch(kernel, 1, *lists, len(tree), span, *rule, tree, parent, *heap, taken, conflicts)
    return sorted(lists.edge[taken[taken != NONE]].tolist()), int(conflicts[0])


def triangle(dtype):
    return Edges(np.array([0, 1, 0], np.uint32), np.array([1, 2, 2], np.uint32), np.array([1, 2, 3], dtype), None)


@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize("scan", [0, 1])
def test_a_subtree_that_hooked_onto_us_is_not_us(dtype, ordered, scan):
    # 1 has just hooked onto 0. If 0 then took 1 for its own, it would choose the edge of weight 3 to 2: a wrong one.
    tree, parent = np.array([NONE, 1, NONE], np.uint32), np.array([0, 0, 2], np.uint32)
    assert grow("grow_subtrees", triangle(dtype), 3, (ordered, scan), tree, parent) == ([0, 1], 2)
    assert tree.tolist() == [0, 1, 2]
    assert parent.tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", KEYS)
def test_a_neighbor_of_another_colour_stops_a_tree(dtype):
    path = Edges(np.arange(3, dtype=np.uint32), np.arange(1, 4, dtype=np.uint32), np.array([1, 2, 3], dtype), None)
    colour = np.array([NONE, NONE, NONE, 3], np.uint32)
    tree, parent = np.full(4, NONE, np.uint32), np.arange(4, dtype=np.uint32)
    # 0 takes up 1 and colours 2, but cannot take it up: 3 is next to it.
    assert grow("grow_apart", path, 4, (1, colour), tree, parent) == ([0], 1)
    assert (tree.tolist(), parent.tolist()) == ([0, 0, NONE, NONE], [0, 0, 2, 3])
    assert colour.tolist() == [0, 0, 0, 3]


@pytest.mark.parametrize("dtype", KEYS)
def test_without_colours_a_tree_stops_at_the_other_tree_itself(dtype):
    path = Edges(np.arange(3, dtype=np.uint32), np.arange(1, 4, dtype=np.uint32), np.array([1, 2, 3], dtype), None)
    taken = np.array([NONE, NONE, NONE, 3], np.uint32)
    tree, parent = np.full(4, NONE, np.uint32), np.arange(4, dtype=np.uint32)
    # As above, but 2 is taken up: only 3 belongs to another.
    assert grow("grow_apart", path, 4, (0, taken), tree, parent) == ([0, 1], 1)
    assert (tree.tolist(), parent.tolist()) == ([0, 0, 0, NONE], [0, 0, 0, 3])
    assert taken.tolist() == [0, 0, 0, 3]


@each_engine
@pytest.mark.parametrize("length", LENGTHS)
def test_break_cycles(engine, length):
    rng = np.random.default_rng(length)
    parent = rng.integers(0, length or 1, length, dtype=np.uint32)
    pairs = rng.permutation(length)[: length // 4 * 2].reshape(-1, 2)
    parent[pairs[:, 0]], parent[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    at = np.arange(length)
    expected = np.where((parent[parent] == at) & (at < parent), at, parent)
    engine.launch("break_cycles", length, parent, grain=1)
    assert parent.tolist() == expected.tolist()


@each_engine
def test_hook_unvisited(engine):
    lists = adjacency(CpuEngine(1), triangle(np.uint32), 5, by_weight=True)
    taken, parent = np.full(5, NONE, np.uint32), np.arange(5, dtype=np.uint32)
    tree = np.array([0, NONE, NONE, NONE, NONE], np.uint32)
    engine.launch("hook_unvisited", 5, lists.offset, lists.other, tree, parent, taken, grain=1)
    assert parent.tolist() == [0, 0, 1, 3, 4]  # 3 and 4 have no edge
    assert lists.edge[taken[1:3]].tolist() == [0, 1]
    assert (taken[[0, 3, 4]] == NONE).all()


@each_engine
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("renamed", [False, True])
def test_flag_taken(engine, length, renamed):
    rng = np.random.default_rng(length)
    edge, row = (rng.permutation(500).astype(np.uint32) for _ in range(2))
    taken = np.where(rng.random(length) < 0.5, NONE, rng.integers(0, 500, length)).astype(np.uint32)
    flags = np.zeros(8, np.uint64)
    engine.launch("flag_taken", length, taken, edge, row if renamed else None, flags, grain=1)
    rows = edge[taken[taken != NONE]]
    assert np.flatnonzero(unpack(flags, 512)).tolist() == np.unique(row[rows] if renamed else rows).tolist()


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.integers(0, 300), vertices=st.integers(1, 200), some=st.booleans())
@quick
def test_mark_labels(engine, dtype, seed, length, vertices, some):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, vertices, (2, length)).astype(dtype)
    label = rng.permutation(vertices).astype(np.uint32) if some else np.arange(vertices)
    position = np.flatnonzero(rng.random(length) < (0.5 if some else 1)).astype(np.uint32)
    marked, flags = np.zeros(vertices, np.uint8), pack(np.zeros(vertices, bool))
    engine.launch(
        "mark_vertices", len(position), *ends, *((position, label) if some else (None, None)), marked, grain=1
    )
    assert np.flatnonzero(marked).tolist() == np.unique(label[ends[:, position].astype(int)]).tolist()
    engine.launch("flag_marked", len(flags), marked, vertices, flags, grain=1)
    assert unpack(flags, vertices).tolist() == marked.astype(bool).tolist()
