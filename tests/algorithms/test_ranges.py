"""Local contraction in ranges of vertices: what it chooses, what it puts off, and when it is taken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import flag_words
from dfmst.algorithms import Boruvka, FilterKruskal
from dfmst.algorithms._shared_steps import Level
from dfmst.algorithms.base import Trace
from dfmst.algorithms.filter_kruskal import contract_ranges, range_width
from tests.support.cases import ENGINES
from tests.support.columns import unpack
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

VERTICES = 300

WEIGHTS = {
    "any": lambda rng, length: rng.integers(0, 1 << 32, length, np.uint64).astype(np.uint32),
    "equal": lambda rng, length: np.zeros(length, np.uint32),
    "few": lambda rng, length: rng.integers(0, 4, length).astype(np.uint32),
    "wide": lambda rng, length: rng.integers(0, 1 << 62, length).astype(np.uint64),
    "wide, equal leading bits": lambda rng, length: np.where(
        rng.random(length) < 0.01, 1 << 60, rng.integers(0, 50, length)
    ).astype(np.uint64),
    "real": lambda rng, length: rng.normal(size=length),
    "whole, as floats": lambda rng, length: rng.integers(-500, 500, length).astype(np.float64),
    "a few not whole": lambda rng, length: np.where(rng.random(length) < 0.001, 1 / 3, rng.integers(-500, 500, length)),
    "single, as double": lambda rng, length: rng.normal(size=length).astype(np.float32).astype(np.float64),
}


def near(seed, length, reach):
    """Edges between near vertices, self-loops and both directions among them; each tenth joins any two."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, VERTICES, length)
    target = np.clip(source + rng.integers(-reach, reach, length, endpoint=True), 0, VERTICES - 1)
    target = np.where(rng.random(length) < 0.1, rng.integers(0, VERTICES, length), target)
    half = length // 2
    source[half : 2 * half], target[half : 2 * half] = target[:half].copy(), source[:half].copy()
    return rng, source.astype(np.uint32), target.astype(np.uint32)


def contract(engine, edges, flip, vertices, width, chosen):
    trace = Trace()
    trace.round(vertices=vertices, edges=len(edges))
    return contract_ranges(Level(engine, edges, flip, vertices, chosen, trace), width)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", WEIGHTS)
@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.sampled_from([2, 64, 700, 3_000]),
    reach=st.sampled_from([1, 5, 40]),
    width=st.integers(2, 7),
    maximum=st.booleans(),
)
@examples(8)
def test_rows_are_those_of_the_forest(engine, kind, seed, length, reach, width, maximum):
    rng, source, target = near(seed, length, reach)
    weight = WEIGHTS[kind](rng, length)
    if kind != "real":
        weight[length // 2 : length // 2 * 2] = weight[: length // 2]
    table = EdgeTable(source, target, weight, VERTICES, maximum)
    chosen = flag_words(engine, length)
    edges, left = contract(engine, table.edges(), table.flip, VERTICES, width, chosen)
    inside = np.flatnonzero(unpack(chosen, length))
    expected = kruskal_rows(source.tolist(), target.tolist(), weight.tolist(), maximum)
    assert set(inside) <= set(expected)
    assert left == VERTICES - len(inside)
    assert np.all(np.diff(edges.row.astype(np.int64)) > 0)
    assert max(edges.source.max(initial=0), edges.target.max(initial=0)) < left
    rest = edges.row[kruskal_rows(edges.source.tolist(), edges.target.tolist(), edges.key.tolist())]
    assert sorted([*inside, *rest]) == sorted(expected)


def test_a_second_contraction_keeps_rows():
    rng, source, target = near(5, 3_000, 9)
    weight = rng.random(3_000).astype(np.float32)
    table, engine, chosen = EdgeTable(source, target, weight, VERTICES), CpuEngine(2), flag_words(CpuEngine(1), 3_000)
    edges, left = contract(engine, table.edges(), table.flip, VERTICES, 4, chosen)
    again, last = contract(engine, edges, 0, left, 6, chosen)
    assert last < left
    rest = again.row[kruskal_rows(again.source.tolist(), again.target.tolist(), again.key.tolist())]
    rows = sorted([*np.flatnonzero(unpack(chosen, 3_000)), *rest])
    assert rows == sorted(kruskal_rows(source.tolist(), target.tolist(), weight.tolist()))


def grid(side, cut=0.0):
    """Edges of a grid, its vertices numbered row by row; a share `cut` of them joins any two vertices."""
    rng = np.random.default_rng(side)
    number = np.arange(side * side, dtype=np.uint32).reshape(side, side)
    source = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    target = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    far = rng.random(len(target)) < cut
    target[far] = rng.integers(0, side * side, far.sum(), np.uint32)
    return source, target, rng.random(len(source))


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2, 3, 4, 7, 16])
def test_a_large_grid_on_any_number_of_threads(threads, dtype, maximum):
    """Keys of the few weights near 0 are beyond the window of 32 bits that a sample of random floats makes."""
    source, target, weight = (column[np.random.default_rng(1).permutation(156_240)] for column in grid(280))
    table = EdgeTable(source, target, weight.astype(dtype), 280 * 280 + 1, maximum)
    trace = Trace()
    rows = FilterKruskal().run(CpuEngine(threads), table, trace)
    np.testing.assert_array_equal(rows, Boruvka().run(CpuEngine(2), table, Trace()))
    assert ("cut" in trace.records[0]) == (threads < 16)  # on more, ranges would be too narrow


def test_ranges_are_left_where_every_vertex_waits_for_a_cut_edge():
    """The lightest edge of each vertex leads to the other half: no range can contract anything."""
    vertices = 70_000
    vertex = np.arange(vertices, dtype=np.uint32)
    half = vertex[: vertices // 2]
    source = np.concatenate([half, *(vertex[:-step] for step in (1, 2, 3))])
    target = np.concatenate([half + np.uint32(vertices // 2), *(vertex[step:] for step in (1, 2, 3))])
    mixed = np.random.default_rng(0).permutation(len(source))
    weight = np.where(np.arange(len(source)) < len(half), 0, 1 + np.arange(len(source))).astype(np.uint32)
    table, trace = EdgeTable(source[mixed], target[mixed], weight[mixed], vertices), Trace()
    rows = FilterKruskal().run(CpuEngine(2), table, trace)
    assert [("cut" in record) for record in trace.records][:2] == [True, False]
    assert trace.records[0]["chosen"] == 0
    np.testing.assert_array_equal(rows, Boruvka().run(CpuEngine(2), table, Trace()))


def width_of(source, target, vertices, threads, *, engine=None):
    edges = Edges(source, target, np.zeros(len(source), np.uint32), None)
    return range_width(engine or CpuEngine(threads), edges, vertices)


def test_when_it_is_taken():
    source, target, _ = grid(280)
    vertices = 280 * 280
    assert [width_of(source, target, vertices, threads) for threads in (1, 2, 4, 7)] == [15, 14, 13, 12]
    assert width_of(source, target, vertices, 16) is None  # ranges would be too narrow
    assert width_of(source, target, 1 << 22, 1) == 15
    assert width_of(source, target, 1 << 24, 1) == 17  # kernels count no more than 255 ranges
    assert width_of(source, target, vertices // 2, 2) is None  # caches hold all vertices
    assert width_of(np.tile(source, 3), np.tile(target, 3), vertices, 4) is None  # levels sort fewer edges
    mixed = np.random.default_rng(0).permutation(vertices).astype(np.uint32)
    assert width_of(mixed[source], mixed[target], vertices, 2) is None  # ids without locality
    scattered, ends, _ = grid(280, cut=0.3)
    assert width_of(scattered, ends, vertices, 2) is None


@pytest.mark.parametrize("type", [np.uint32, np.uint64])
@pytest.mark.parametrize("name", ["falling", "rising", "equal", "greatest"])
def test_long_paths_in_ranges_of_more_than_two_bytes(name, type):
    """A path whose weights fall or rise joins in one round, along a chain as long as its range."""
    vertices = 200_000
    edge = np.arange(vertices - 1, dtype=np.uint32)
    weight = {
        "falling": edge[::-1].astype(type) << type(8 * type().itemsize - 20),
        "rising": edge.astype(type),
        "equal": np.zeros(len(edge), type),
        "greatest": np.full(len(edge), np.iinfo(type).max, type),
    }[name]
    for width in (12, 17):
        table, chosen = EdgeTable(edge, edge + 1, weight, vertices), flag_words(CpuEngine(1), len(edge))
        edges, left = contract(CpuEngine(2), table.edges(), table.flip, vertices, width, chosen)
        assert left == vertices - len(np.flatnonzero(unpack(chosen, len(edge))))
        assert len(edges) == left - 1
        assert left <= 4 * (vertices >> width) + 4 or name in ("equal", "greatest")
