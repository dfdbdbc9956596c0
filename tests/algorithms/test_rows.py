"""Every algorithm, on every engine, returns the rows that a plain Kruskal returns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.edge_table import ChecksFailed, DeferredChecks
from dfmst.algorithms import Dataframe, FilterKruskal
from dfmst.algorithms.base import Trace
from tests.support.cases import (
    ALGORITHMS,
    ENGINES,
    LARGE,
    ORDERS,
    SHAPES,
    algorithm_id,
    expected_rows,
    large_table,
    ordered_weights,
    table_of,
)
from tests.support.columns import VERTICES, WEIGHTS, quick, seeds, weights

#: Weights and ids of 32 and of 64 bits meet in every way, though not each type of one each of the other.
TYPES = list(zip(WEIGHTS, VERTICES * 3, strict=True))
LONG = ("ascending", "descending", "equal", "ruler", "distinct")
each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=algorithm_id)


def in_turn(algorithm, *places):
    """One thread or two for a case, so that any two of algorithm, engine and case meet: all three would say no more."""
    return [ENGINES[(ALGORITHMS.index(algorithm) + sum(places)) % 2]]


def check(algorithm, table, expected, engines=ENGINES):
    for engine in engines[:1] if isinstance(algorithm, Dataframe) else engines:  # joins know nothing of engines
        trace = Trace()
        rows = algorithm.run(engine, table, trace)
        assert rows.dtype == np.int64
        assert rows.tolist() == expected, engine
        assert sum(record["chosen"] for record in trace.records) == len(expected)
        if trace.records:
            assert trace.records[0]["edges"] == len(table)
            assert trace.records[-1]["components"] == table.vertices - len(expected)


@pytest.mark.sampled(4)
@each_algorithm
@pytest.mark.parametrize(("dtype", "vertex"), TYPES)
@given(seed=seeds, vertices=st.integers(1, 40), edges=st.integers(0, 130), maximum=st.booleans())
@quick
def test_small_multigraphs(algorithm, vertex, dtype, seed, vertices, edges, maximum):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, edges))
    table = table_of(source, target, weights(rng, dtype, edges), vertices, vertex, maximum)
    check(algorithm, table, expected_rows(table))


@pytest.mark.sampled(16)
@each_algorithm
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(algorithm, shape, order):
    graph = SHAPES[shape]
    # The dtype and the direction change with the case: all pairs would say no more.
    number = list(SHAPES).index(shape) + ORDERS.index(order)
    weight = ordered_weights(order, len(graph.source), WEIGHTS[number % len(WEIGHTS)])
    table = table_of(*graph[:2], weight, graph.vertices, VERTICES[number % 2], maximum=number % 3 == 0)
    check(algorithm, table, expected_rows(table), [ENGINES[0], ENGINES[1 + number // 2 % 2]])


@pytest.mark.sampled(24)
@each_algorithm
@pytest.mark.parametrize("case", LARGE, ids=repr)
def test_large_multigraphs(algorithm, case):
    table, expected = large_table(case)
    check(algorithm, table, expected, in_turn(algorithm, LARGE.index(case)))


@pytest.mark.sampled(16)
@each_algorithm
@pytest.mark.parametrize("order", LONG)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_paths(algorithm, order, dtype):
    # In ascending order, all of a path hooks up in one round of Borůvka: pointer jumping over 50,000 vertices.
    vertices = 50_001
    table = table_of(
        np.arange(vertices - 1), np.arange(1, vertices), ordered_weights(order, vertices - 1, dtype), vertices
    )
    check(algorithm, table, list(range(vertices - 1)), in_turn(algorithm, LONG.index(order), dtype == "float32"))


@pytest.mark.parametrize("light", [None, 0.05, 1])
@pytest.mark.parametrize("case", [case for case in LARGE if case.vertices == 3_000], ids=repr)
def test_filter_kruskal_takes_levels(light, case):
    # The large cases are worth nothing if one sort solves them: ties must split as well as distinct weights.
    trace = Trace()
    FilterKruskal(light).run(ENGINES[0], large_table(case)[0], trace)
    assert len(trace.records) >= 2
    assert trace.records[0]["light"] < 0.5 * trace.records[0]["edges"]
    assert trace.records[1]["edges"] < trace.records[0]["edges"] - trace.records[0]["light"]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_filter_kruskal_keeps_one_edge_of_each_pair_of_few_components(dtype):
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 300, (2, 200_000))
    weight = rng.integers(0, 1 << 20, 200_000)
    table = table_of(source, target, weight.astype(dtype), 300, "uint32")
    trace = Trace()
    rows = FilterKruskal(1).run(ENGINES[0], table, trace)
    assert rows.tolist() == expected_rows(table)
    first, second = trace.records[:2]
    assert second["light"] == second["edges"] <= first["components"] * (first["components"] - 1) // 2


def greatest_end(rows):
    """A clique, each edge as heavy as its greater end."""
    source, target = np.tril_indices(int((2 * rows) ** 0.5) + 1, -1)
    return source, target, source


def time(rows):
    """Every new vertex joins 20 earlier ones."""
    source = np.arange(20, rows + 20) // 20
    return source, (np.random.default_rng(2).random(rows) * source).astype(np.int64), source


def halves(rows):
    """Random edges between the halves of 2^13 vertices, of their halves, and so on; the greatest ones last."""
    rng = np.random.default_rng(3)
    half = 1 << rng.integers(0, 13, rows)
    low, ends = rng.integers(0, 1 << 13, rows), (rng.random((2, rows)) * half).astype(np.int64)
    low -= low % (2 * half)
    return low + ends[0], low + half + ends[1], half * (1 + rng.random(rows) / 2)


@pytest.mark.parametrize(("family", "passes"), [(greatest_end, 1.5), (time, 1.5), (halves, 6)])
@pytest.mark.parametrize("vertex", VERTICES)
def test_filter_kruskal_passes_over_few_edges_if_the_lightest_join_few_vertices(family, passes, vertex):
    source, target, weight = family(200_000)
    order, vertices = np.random.default_rng(1).permutation(len(source)), int(max(source.max(), target.max())) + 1
    table = table_of(source[order], target[order], weight[order].astype("float64"), vertices, vertex)
    trace = Trace()
    assert FilterKruskal().run(ENGINES[0], table, trace).tolist() == expected_rows(table)
    assert sum(record["edges"] for record in trace.records) <= passes * len(table)
    target = table.target.copy()
    target[-1] = vertices
    with pytest.raises(ChecksFailed):
        FilterKruskal().run(ENGINES[0], replace(table, target=target, deferred=DeferredChecks()), Trace())
