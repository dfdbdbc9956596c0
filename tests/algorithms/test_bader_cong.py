"""What MST-BC is between: Prim for one tree, Borůvka for a tree at every vertex. Rows: see test_rows.py."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst.algorithms import BaderCong, Boruvka
from tests.support.cases import ENGINES
from tests.support.paper_graphs import GRAPHS
from tests.support.solving import traced

each_graph = pytest.mark.parametrize("name", GRAPHS)
each_engine = pytest.mark.parametrize("engine", ENGINES, ids="threads={0.threads}".format)


def run(algorithm, table, engine=ENGINES[0]):
    rows, records = traced(algorithm, table, engine)
    return rows.tolist(), records


@each_engine
@each_graph
def test_one_tree_is_prim(name, engine):
    _, (only,) = run(BaderCong(trees=1), GRAPHS[name], engine)
    assert only["conflicts"] == only["crossing"] == 0


@each_engine
@each_graph
def test_a_tree_for_every_vertex_is_boruvka(name, engine):
    rows, found = run(BaderCong(trees=10**9), GRAPHS[name], engine)
    expected, rounds = run(Boruvka(), GRAPHS[name], engine)
    assert rows == expected
    assert [r["chosen"] for r in found] == [r["chosen"] for r in rounds]
    assert [r["components"] for r in found] == [r["components"] for r in rounds]


@each_graph
def test_more_trees_join_less(name):
    rates = [run(BaderCong(trees), GRAPHS[name])[1][0]["reduction"] for trees in (1, 4, 64, 10**9)]
    assert rates == sorted(set(rates), reverse=True)


@each_graph
@pytest.mark.parametrize("trees", [4, 64])
def test_without_colours_trees_grow_further(name, trees):
    # Section 6.4 of Nobari et al.: "thus allowing the subtrees to grow a little bit further".
    coloured, free = (run(BaderCong(trees, colours), GRAPHS[name]) for colours in (True, False))
    assert free[0] == coloured[0]
    assert len(free[1]) < len(coloured[1])


@each_graph
def test_rounds(name):
    _, rounds = run(BaderCong(trees=16), GRAPHS[name])
    assert len(rounds) > 1
    assert rounds[0]["conflicts"] > 0
    assert all(r["kept"] == r["crossing"] for r in rounds)
    assert [number for number, r in enumerate(rounds, 1) if "seconds_sort" in r] == [1]


def test_trees_follow_the_threads():
    table = GRAPHS["Erdős–Rényi"]
    by_default, by_count = (run(algorithm, table, CpuEngine(1))[1] for algorithm in (BaderCong(), BaderCong(trees=4)))
    assert by_default[0]["reduction"] == by_count[0]["reduction"]
    at = np.arange(1_000, dtype=np.uint32)
    assert len(run(BaderCong(), EdgeTable(at[:-1], at[1:], at[1:], 1_000), CpuEngine(4))[1]) == 1


def test_conflicts():
    # Parts 0 to 2 and 3 to 5 of a path. The first tree takes up its three vertices and colours 3, so that neither 4
    # nor, as that has a colour of its own now, 5 can start a tree: two conflicts. Their lightest edges do the rest.
    at = np.arange(6, dtype=np.uint32)
    rows, (only,) = run(BaderCong(trees=2), EdgeTable(at[:-1], at[1:], np.array([1, 2, 3, 4, 5], np.int32), 6))
    assert rows == [0, 1, 2, 3, 4]
    assert (only["conflicts"], only["chosen"]) == (2, 5)
