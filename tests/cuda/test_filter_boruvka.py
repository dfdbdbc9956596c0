"""Filter-Borůvka on the CUDA engine: its rows on large tables, and what it copies to the host."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine, CudaEngine
from dfmst._engines.cuda import attributes_of
from dfmst.algorithms import FilterBoruvka, FilterKruskal
from dfmst.algorithms.base import Trace
from tests.support.cases import LARGE, large, ordered_weights
from tests.support.gpu.packages import are_real, cupy
from tests.support.oracle import kruskal_rows
from tests.support.solving import forest_of

# No Hypothesis here: a machine with a GPU may lack it.
pytestmark = pytest.mark.usefixtures("device")


def path(order, dtype="float32", length=1 << 12):
    """A path of `length` edges."""
    first = np.arange(length, dtype=np.uint32)
    return first, first + np.uint32(1), ordered_weights(order, length, dtype)


@cache
def drawn(case):
    source, target, vertices = large(case)
    columns = (
        source.astype(np.uint32),
        target.astype(np.uint32),
        ordered_weights(case.weights, len(source), case.dtype),
    )
    source, target, weight = (column.tolist() for column in columns)
    expected = sorted(kruskal_rows(source, target, weight, case.maximum))
    return columns, vertices, expected


@pytest.mark.sampled(4)
@pytest.mark.parametrize("light", [None, 0.05, math.inf])
@pytest.mark.parametrize("case", LARGE, ids=repr)
def test_large_multigraphs(light, case):
    engine: Any = CudaEngine()
    columns, vertices, expected = drawn(case)
    table = EdgeTable(*map(engine.from_host, columns), vertices, case.maximum)
    for _ in range(5 if are_real() else 1):
        rows = FilterBoruvka(light).run(engine, table, Trace())
        assert isinstance(rows, engine.xp.ndarray)
        assert engine.to_host(rows).tolist() == expected


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("width", [100, 1 << 40])
def test_keys_outside_of_the_sample(width, maximum):
    """Records hold 32 bits of a key, as a distance in a sample's span, which lacks the least and the greatest keys."""
    rng, rows, vertices = np.random.default_rng(2), 3000, 400
    source, target = rng.integers(0, vertices, (2, rows), np.uint32)
    weight = rng.integers(0, 10, rows) * (width // 2)
    span = [(3 * width + offset) ^ 1 << 63 for offset in (0, width)]  # keys of int64
    engine = CudaEngine()
    columns = [engine.from_host(column) for column in (source, target, weight)]
    table = EdgeTable(columns[0], columns[1], columns[2], vertices, maximum, None, (span[0], span[1]))
    rows_found = engine.to_host(FilterBoruvka().run(engine, table, Trace()))
    assert rows_found.tolist() == sorted(kruskal_rows(source.tolist(), target.tolist(), weight.tolist(), maximum))


@pytest.mark.parametrize(
    ("light", "vertices", "group"),
    [(0.05, 10_000, 10_000), (2.0, 1500, 1500), (6.0, 1504, 8)],
    ids=["longer", "shorter", "several rounds"],
)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_single_rounds_of_two_lists(dtype, light, vertices, group, monkeypatch):
    """Launches are prepared for the lists and the side: of int64, only the lighter side has a narrow span.

    Light edges join groups of 8 vertices, so that the second list has room in the first one's and takes several rounds.
    """
    monkeypatch.setattr("dfmst.algorithms.filter_boruvka._TOGETHER", 0)
    rng, rows = np.random.default_rng(4), 40_000
    source, target = rng.integers(0, vertices, (2, rows), np.uint32)
    weight, heavy = rng.integers(0, 1 << 16, rows), rng.random(rows) > 0.3
    weight[heavy] += rng.integers(1, 4) << 48
    target = np.where(heavy & (rng.random(rows) < 0.1), target, source // group * group + target % group)
    weight = weight.astype(dtype)
    expected = sorted(kruskal_rows(source.tolist(), target.tolist(), weight.tolist()))
    found = forest_of(CudaEngine(), FilterBoruvka(light), source, target, weight, vertices)
    assert found.tolist() == expected


@pytest.mark.parametrize(("vertices", "lists"), [(500, 2), (2500, 1)], ids=["dense", "sparse"])
def test_two_lists_pay_earlier_in_dense_tables(monkeypatch, vertices, lists):
    monkeypatch.setattr("dfmst.algorithms.filter_boruvka._SMALL_DENSE", 1000)
    rng, trace = np.random.default_rng(6), Trace()
    engine: Any = CudaEngine()
    source, target = rng.integers(0, vertices, (2, 5000), np.uint32)
    table = EdgeTable(*map(engine.from_host, (source, target, rng.random(5000))), vertices)
    FilterBoruvka().run(engine, table, trace)
    assert len(trace.records) == lists


def boruvka_rounds(source, target, weight, vertices):
    """Rounds of Borůvka's algorithm, in which each component takes its lightest edge."""
    label, rounds = np.arange(vertices), 0
    while len(differ := np.flatnonzero(label[source] != label[target])):
        rounds += 1
        best = np.full(vertices, len(weight))
        rank = np.argsort(np.argsort(weight, kind="stable"))
        for ends in (source, target):
            np.minimum.at(best, label[ends[differ]], rank[differ])
        chosen = differ[np.isin(rank[differ], best)]
        graph = coo_array((np.ones(len(chosen)), (label[source[chosen]], label[target[chosen]])), (vertices, vertices))
        label = connected_components(graph, directed=False)[1][label]
    return rounds


@pytest.mark.parametrize("edges", [1500, 4000])
def test_rounds_are_boruvkas(edges):
    """Minima that are not cleared take more rounds for the same rows; few edges clear those of their ends only."""
    rng, vertices = np.random.default_rng(3), 1 << 14
    engine: Any = CudaEngine()
    source, target = rng.integers(0, 1200, (2, edges), np.uint32)
    weight, trace = rng.random(edges, np.float32), Trace()
    table = EdgeTable(*map(engine.from_host, (source, target, weight)), vertices)
    FilterBoruvka().run(engine, table, trace)
    assert [record["rounds"] for record in trace.records] == [boruvka_rounds(source, target, weight, vertices)]


def test_more_rows_than_one_sum_of_flags_holds():
    """The counts of 4,194,304 rows' flags are one sum of the highest level: see ``compact_flags``."""
    engine, rows, vertices = CudaEngine(), 4_300_000, 1 << 18
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, vertices, (2, rows), np.uint32)
    weight = rng.random(rows, np.float32)
    weight[-1000:] = -1.0  # the forest has rows in the last group
    table = EdgeTable(source, target, weight, vertices)
    expected = FilterKruskal().run(CpuEngine(), table, Trace())
    assert np.count_nonzero(expected >= 1 << 22) > 1000
    np.testing.assert_array_equal(forest_of(engine, FilterBoruvka(), source, target, weight, vertices), expected)


@pytest.mark.parametrize("order", ["ascending", "descending", "equal", "ruler"])
def test_long_paths(order):
    length = 1 << 16
    rows = forest_of(CudaEngine(), FilterBoruvka(), *path(order, length=length), length + 1)
    np.testing.assert_array_equal(rows, np.arange(length))


def _copies(order, dtype):
    engine, trace = CudaEngine(), Trace()
    source, target, weight = map(engine.from_host, path(order, dtype))
    table = EdgeTable(source, target, weight, len(weight) + 1)
    cupy.reset()
    FilterBoruvka().run(engine, table, trace)
    assert cupy.traffic.to_device == []
    return list(cupy.traffic.to_host), trace.records[0]["rounds"]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_the_host_reads_the_counters_once(dtype):
    few, many = _copies("ascending", dtype), _copies("ruler", dtype)
    assert (few[1], many[1]) == (1, 12)
    # 16 bytes tell all; of wide keys, the least and the greatest of a sample are read as well.
    assert few[0] == many[0] == [16] * (1 + (dtype == "int64"))


def test_a_long_list_is_looked_at_every_second_round(monkeypatch):
    monkeypatch.setattr("dfmst.algorithms.filter_boruvka._TOGETHER", 1000)
    few, many = _copies("ascending", "float32"), _copies("ruler", "float32")
    assert few[0] == [4, 4, 16]
    assert many[0] == [4, 4, 4, 16]  # lists of 4096 and 2048 edges, of 1024 and 512, then all that are left


@pytest.mark.parametrize("order", ["ascending", "ruler"])
def test_a_device_without_cooperative_launches_runs_single_rounds(order):
    cupy.cuda.cooperative[0] = False
    attributes_of.cache_clear()
    try:
        engine, trace = CudaEngine(), Trace()
        source, target, weight = map(engine.from_host, path(order))
        table = EdgeTable(source, target, weight, (1 << 12) + 1)
        cupy.cuda.launches.clear()
        rows = engine.to_host(FilterBoruvka().run(engine, table, trace))
        assert {launch[0] for launch in cupy.cuda.launches} >= {"join_records", "offer_records_f32"}
        assert "finish_records_f32" not in {launch[0] for launch in cupy.cuda.launches}
        np.testing.assert_array_equal(rows, np.arange(1 << 12))
        assert [record["chosen"] for record in trace.records] == [1 << 12]
    finally:
        cupy.cuda.cooperative[0] = True
        attributes_of.cache_clear()
