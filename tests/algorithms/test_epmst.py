"""What Kruskal and Prim share out between them; that the rows are right is tested with every algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._edges.edge_table import EdgeTable
from dfmst.algorithms import EPMST, Boruvka
from dfmst.algorithms.base import Trace
from dfmst.generate import erdos_renyi, exact_density, road_grid
from tests.support.cases import ENGINES
from tests.support.solving import traced


def edge_table(table, vertices):
    source, target = (table[name].to_numpy().astype(np.uint32) for name in ("source", "target"))
    return EdgeTable(source, target, table["weight"].to_numpy(), vertices)


TABLES = {
    "dense": edge_table(erdos_renyi(300, 60_000), 300),
    "sparse": edge_table(erdos_renyi(20_000, 50_000, weight="float32"), 20_000),
    "roads": edge_table(road_grid(150, 150), 22_500),
}


@pytest.mark.parametrize("sample", [None, 1e-9, 0.01, 0.2, 0.7, 1])
@pytest.mark.parametrize("name", TABLES)
def test_rows(name, sample):
    table = TABLES[name]
    expected = Boruvka().run(ENGINES[0], table, Trace())
    for engine in ENGINES:
        trace = Trace()
        np.testing.assert_array_equal(EPMST(sample).run(engine, table, trace), expected)
        assert len(trace.records) <= 2
        assert sum(record["chosen"] for record in trace.records) == len(expected)
        assert trace.records[-1]["components"] == table.vertices - len(expected)


@pytest.mark.parametrize("name", TABLES)
def test_the_sample_is_the_share_that_kruskal_solves(name):
    records = traced(EPMST(0.2), TABLES[name])[1]
    assert abs(records[0]["light"] / len(TABLES[name]) - 0.2) < 0.05


def test_a_dense_graph_is_pruned_before_prim():
    first, *rest = traced(EPMST(), TABLES["dense"])[1]
    assert first["light"] < 750  # n ln(n) / 4 is 428
    # A pair is left where an end is alone: the root of 300 vertices is 6 %, and a pair has two ends.
    assert sum(record["edges"] for record in rest) < 0.15 * 60_000


def test_all_edges_leave_nothing_to_prim():
    (record,) = traced(EPMST(1), TABLES["sparse"])[1]
    assert record["light"] == 50_000


def test_prim_finishes_a_sparse_graph_as_well():
    first, second = traced(EPMST(), TABLES["roads"])[1]
    assert abs(first["light"] / len(TABLES["roads"]) - 0.9) < 0.05
    assert 0 < second["chosen"] < 0.1 * 22_500


@pytest.mark.parametrize("density", [0.02, 0.2, 0.75])
def test_prim_finishes_the_graphs_of_table_7(density):
    table = edge_table(exact_density(2_000, density), 2_000)
    for seed in (None, 1):
        _, second = traced(EPMST(seed=seed), table)[1]
        assert 10 < second["chosen"] < 200  # the root of 2,000 is 45
        assert second["edges"] < 0.2 * len(table)


def test_a_random_sample():
    table = TABLES["sparse"]
    expected = Boruvka().run(ENGINES[0], table, Trace())
    light = []
    for seed in (1, 1, 2):
        rows, records = traced(EPMST(0.2, seed), table)
        np.testing.assert_array_equal(rows, expected)
        light.append(records[0]["light"])
    assert light[0] == light[1] != light[2]
    assert all(abs(count / len(table) - 0.2) < 0.05 for count in light)
