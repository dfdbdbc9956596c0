"""Every algorithm over the CUDA engine returns the oracle's rows: on the stand-in for CuPy, and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CudaEngine
from dfmst.algorithms import EPMST, Prim
from dfmst.algorithms.base import Trace
from tests.support.cases import ALGORITHMS, ORDERS, SHAPES, algorithm_id, ordered_weights
from tests.support.columns import VERTICES, WEIGHTS, seeds, weights
from tests.support.gpu.standin import cupy
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

ENGINE = CudaEngine(cupy)
pytestmark = pytest.mark.usefixtures("shared_device")  # the steps of "dataframe" run in cuDF

few = examples(6)

each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=algorithm_id)


def table_of(engine, source, target, weight, vertices, vertex="uint32", maximum=False):
    """An edge table on the device, and its forest's rows by the oracle."""
    columns = (np.ascontiguousarray(source, vertex), np.ascontiguousarray(target, vertex), weight)
    host = [column.tolist() for column in columns]
    expected = sorted(kruskal_rows(host[0], host[1], host[2], maximum))
    source, target, weight = (engine.from_host(column) for column in columns)
    return EdgeTable(source, target, weight, vertices, maximum), expected


def check(engine, algorithm, table, expected):
    before = [engine.to_host(column) for column in (table.source, table.target, table.weight)]
    trace = Trace()
    rows = algorithm.run(engine, table, trace)
    assert isinstance(rows, engine.xp.ndarray)
    assert rows.dtype == np.int64
    assert engine.to_host(rows).tolist() == expected
    assert sum(record["chosen"] for record in trace.records) == len(expected)
    for column, unchanged in zip((table.source, table.target, table.weight), before, strict=True):
        np.testing.assert_array_equal(engine.to_host(column), unchanged)


@pytest.mark.sampled(4)
@each_algorithm
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(
    seed=seeds,
    vertices=st.integers(1, 40),
    edges=st.integers(0, 130),
    vertex=st.sampled_from(VERTICES),
    maximum=st.booleans(),
)
@few
def test_small_multigraphs(algorithm, dtype, seed, vertices, edges, vertex, maximum):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, edges))
    check(ENGINE, algorithm, *table_of(ENGINE, source, target, weights(rng, dtype, edges), vertices, vertex, maximum))


@pytest.mark.sampled(6)
@each_algorithm
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(algorithm, shape):
    graph = SHAPES[shape]
    if isinstance(algorithm, (Prim, EPMST)) and graph.vertices > 10_000:
        pytest.skip("Prim's reduction takes a round a vertex")
    # The order, the dtype and the direction change with the case: the CPU's suite runs them all.
    number = list(SHAPES).index(shape) + ALGORITHMS.index(algorithm)
    weight = ordered_weights(ORDERS[number % len(ORDERS)], len(graph.source), WEIGHTS[number % len(WEIGHTS)])
    table = table_of(ENGINE, *graph[:2], weight, graph.vertices, VERTICES[number % 2], maximum=number % 3 == 0)
    check(ENGINE, algorithm, *table)
