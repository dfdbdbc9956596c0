"""Edges between components: by labels alone, or by one bit a vertex for the giant component."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines import CpuEngine
from dfmst._engines.primitives import contract as crossing
from dfmst._engines.primitives.contract import crossing_flags, giant_component, take_crossing
from dfmst._engines.primitives.edges import Edges
from tests.support.columns import LENGTHS, VERTICES, each_engine, pack, quick, seeds, unpack


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@pytest.mark.parametrize("share", [0, 0.3, 0.6, 0.95, 1])
@given(seed=seeds, length=st.sampled_from(LENGTHS), excluding=st.booleans(), looking=st.booleans())
@quick
def test_flags(engine, dtype, share, seed, length, excluding, looking):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 50, (2, length), dtype)
    label = np.where(rng.random(50) < share, 7, rng.integers(0, 4, 50)).astype(np.uint32)
    excluded = rng.random(length) < 0.3
    outside = np.zeros(1, np.uint32) if looking else None
    flags = crossing_flags(engine, source, target, label, pack(excluded) if excluding else None, outside)
    expected = (label[source] != label[target]) & ~(excluded & excluding)
    np.testing.assert_array_equal(unpack(flags, length), expected)
    assert not looking or not outside[0]
    if engine.on_host:
        row = np.arange(7, length + 7, dtype=np.uint32)
        edges = Edges(source, target, rng.random(length, np.float32), row)
        taken = take_crossing(engine, edges, label, pack(excluded & excluding), 0, outside)
        np.testing.assert_array_equal(taken.row, row[expected])
        np.testing.assert_array_equal([taken.source, taken.target], [label[source[expected]], label[target[expected]]])
        np.testing.assert_array_equal(taken.key, edges.key[expected].view(np.uint32) | np.uint32(1 << 31))
        assert not looking or not outside[0]


@pytest.mark.parametrize("dtype", VERTICES)
@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("looking", [False, True])
def test_edges_are_taken_again_if_they_need_more_room(monkeypatch, dtype, threads, looking):
    """A sample expects none: all edges between components are at its end."""
    for name, value in {"_gathers": {}, "_LONG": 1 << 10, "_TRIAL": 32, "_FEW_EDGES": 0, "_DEVIATIONS": 0}.items():
        monkeypatch.setattr(crossing, name, value)
    length = 200_000
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 40_000, (2, length), dtype)
    label = np.zeros(50_000, np.uint32)
    label[40_000:] = np.arange(10_000)
    source[-150:] = 45_000
    excluded = rng.random(length) < 0.3
    expected = np.flatnonzero((label[source] != label[target]) & ~excluded)
    outside = np.zeros(1, np.uint32) if looking else None
    launches = []
    launch = CpuEngine.launch

    def listen(engine, kernel, *arguments, **options):
        launches.append(kernel)
        launch(engine, kernel, *arguments, **options)

    monkeypatch.setattr(CpuEngine, "launch", listen)
    edges = Edges(source, target, rng.random(length), None)
    taken = take_crossing(CpuEngine(threads), edges, label, pack(excluded), 0, outside)
    assert launches.count("take_crossing") == 8  # six trials, one with too little room, and one more
    np.testing.assert_array_equal(taken.row, expected)
    np.testing.assert_array_equal([taken.source, taken.target], [label[source[expected]], label[target[expected]]])
    assert outside is None or not outside[0]


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
@pytest.mark.parametrize("giant", [False, True])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("beyond", [50, 2**31, 2**32 - 1])
def test_an_end_outside(engine, dtype, giant, side, beyond):
    ends = np.random.default_rng(0).integers(0, 50, (2, 5000), dtype)
    ends[side][4321] = beyond
    label = np.zeros(50, np.uint32) if giant else np.arange(50, dtype=np.uint32)
    outside = np.zeros(1, np.uint32)
    crossing_flags(engine, *ends, label, None, outside)
    assert outside[0]
    if engine.on_host:
        outside[0] = 0
        take_crossing(engine, Edges(*ends, np.zeros(5000), None), label, np.zeros(79, np.uint64), 0, outside)
        assert outside[0]


@each_engine
@pytest.mark.parametrize("dtype", VERTICES)
def test_the_giant_component_is_that_of_most_edges(engine, dtype):
    label = np.array([0, 1, 1, 3, 4, 5, 6, 7], np.uint32)
    often = np.array([1, 2, 2, 9, 1], dtype)  # 9 is no vertex
    giant = giant_component(engine, often, label)
    assert giant == 1
    assert giant_component(engine, np.arange(8, dtype=dtype), label) is None
    assert giant_component(engine, often[:0], label) is None
    # To flag all vertices for a few edges would take longer than their labels.
    many = np.ones(16 * len(often) + 1, np.uint32)
    assert giant_component(engine, often, many[1:]) is not None
    assert giant_component(engine, often, many) is None


@pytest.mark.parametrize("dtype", VERTICES)
@pytest.mark.parametrize("looking", [False, True])
def test_gathers_are_tried_once_on_a_long_column(monkeypatch, dtype, looking):
    monkeypatch.setattr(crossing, "_gathers", {})
    monkeypatch.setattr(crossing, "BYTE_VERTICES", 10)
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 50, (2, (crossing._LONG << 6) + 7), dtype)
    label = np.where(rng.random(50) < 0.9, 7, np.arange(50)).astype(np.uint32)
    expected = pack(label[source] != label[target])
    for _ in range(2):
        outside = np.zeros(1, np.uint32) if looking else None
        np.testing.assert_array_equal(crossing_flags(CpuEngine(2), source, target, label, None, outside), expected)
        assert list(crossing._gathers) == [np.dtype(dtype).itemsize]
    crossing_flags(CpuEngine(2), source[:6400], target[:6400], label)
    for gathers in (0, 1):
        monkeypatch.setattr(crossing, "_gathers", {np.dtype(dtype).itemsize: gathers})
        np.testing.assert_array_equal(crossing_flags(CpuEngine(2), source, target, label), expected)


@pytest.mark.parametrize("dtype", VERTICES)
@pytest.mark.parametrize("apart", [0, 1, 30, 300])
@pytest.mark.parametrize("spare", [0, 2_500])
@pytest.mark.parametrize("looking", [False, True])
def test_few_vertices_outside_are_listed(monkeypatch, dtype, apart, spare, looking):
    """Spare vertices, which no row has, are in no list; a row that has one of them is looked at on its own."""
    monkeypatch.setattr(crossing, "_MANY", 1)
    asked = []
    launch = CpuEngine.launch

    def listen(engine, kernel, *arguments, **options):
        asked.append((kernel, *arguments))
        launch(engine, kernel, *arguments, **options)

    monkeypatch.setattr(CpuEngine, "launch", listen)
    rng = np.random.default_rng(apart)
    source, target = rng.integers(0, 20_000, (2, 30_000), dtype)
    label = np.zeros(20_000, np.uint32)
    label[rng.choice(19_999, apart, replace=False)] = 7
    label = np.append(label, np.arange(8, 8 + spare, dtype=np.uint32))
    for beyond in (False, True):
        if beyond and spare:
            target[7] = len(label) - 1
        outside = np.zeros(1, np.uint32) if looking else None
        flags = crossing_flags(CpuEngine(2), source, target, label, None, outside)
        np.testing.assert_array_equal(unpack(flags, 30_000), label[source] != label[target])
        ((tables, known),) = (a[8:10] for a in asked if a[0].startswith("flag_leaving"))
        assert (tables is None) == (apart in (0, 300))
        assert known == (0 if apart == 300 else 20_000)
        assert outside is None or not outside[0]
        asked.clear()
