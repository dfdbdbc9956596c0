"""What Nobari et al. (2012) say of PMA, on small graphs of the kinds they measure. Rows: see test_rows.py."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst.algorithms import PMA, BaderCong, Boruvka
from dfmst.algorithms.base import Trace
from tests.support.cases import ENGINES
from tests.support.oracle import kruskal_rows
from tests.support.paper_graphs import GRAPHS, erdos_renyi
from tests.support.solving import counts, traced

each_graph = pytest.mark.parametrize("name", GRAPHS)
each_engine = pytest.mark.parametrize("engine", ENGINES, ids="threads={0.threads}".format)


@cache
def forest(name):
    table = GRAPHS[name]
    return sorted(kruskal_rows(table.source.tolist(), table.target.tolist(), table.weight.tolist()))


def records(algorithm, table, engine=ENGINES[0]):
    return traced(algorithm, table, engine)[1]


def path(*weights):
    at = np.arange(len(weights) + 1, dtype=np.uint32)
    return EdgeTable(at[:-1], at[1:], np.array(weights, np.int32), len(at))


@pytest.mark.sampled(8)
@each_engine
@each_graph
@pytest.mark.parametrize("max_subtree", [2, 10, None, 10**9])
def test_ways_agree(name, max_subtree, engine):
    for lightest in ("min", "sort", "hybrid"):
        for drop_parallel in (True, False):
            scanning = drop_parallel and max_subtree != 10**9
            algorithm = PMA(lightest, max_subtree, drop_parallel, "scan" if scanning else "heap")
            assert algorithm.run(engine, GRAPHS[name], Trace()).tolist() == forest(name), algorithm


@each_graph
@pytest.mark.parametrize("lightest", ["min", "sort"])
def test_the_published_search_grows_the_same_subtrees(name, lightest):
    # On one thread nothing depends on timing: every count of every round is the same.
    heap, scan = (records(PMA(lightest, 40, search=search), GRAPHS[name]) for search in ("heap", "scan"))
    assert counts(heap) == counts(scan)


@each_engine
@each_graph
def test_reduction_rises_with_the_subtrees(name, engine):
    rates = [records(PMA("sort", span), GRAPHS[name], engine)[0]["reduction"] for span in (2, 4, 10, 100)]
    assert rates == sorted(set(rates))
    assert rates[0] > 0.5  # section 4.4: each round at least halves the vertices
    assert rates[2] > 0.9  # full subtrees alone would join nine of ten; where threads meet moves this by a thousandth


@each_engine
@each_graph
def test_reduction_is_above_the_other_algorithms(name, engine):
    # Figure 8: PMA (γ = 100) > PMA (γ = 10) > Bader and Cong, Borůvka.
    table = GRAPHS[name]
    boruvka = records(Boruvka(), table, engine)[0]["chosen"]
    conservative = records(BaderCong(trees=64), table, engine)[0]
    longest, usual = (records(PMA("hybrid", span), table, engine)[0] for span in (100, 10))
    assert longest["chosen"] > usual["chosen"] > max(conservative["chosen"], boruvka)
    assert conservative["vertices"] == usual["vertices"]


@pytest.mark.parametrize("max_subtree", [10, 100])
def test_reduction_rises_with_density_until_subtrees_are_full(max_subtree):
    rates = [records(PMA("min", max_subtree), erdos_renyi(2_000, degree))[0]["reduction"] for degree in (1, 2, 4)]
    assert rates == sorted(set(rates))
    assert records(PMA("min", max_subtree), erdos_renyi(2_000, 60))[0]["reduction"] > 0.96


@each_graph
def test_rounds(name):
    rounds = records(PMA("hybrid", 4), GRAPHS[name])
    assert all(r["reduction"] >= 0.5 for r in rounds)
    assert len(rounds) <= np.log2(GRAPHS[name].vertices)
    assert all(later["edges"] == r["kept"] <= r["crossing"] < r["edges"] for r, later in pairwise(rounds))
    assert all(r["reduction"] == r["chosen"] / r["vertices"] for r in rounds)
    assert rounds[-1]["crossing"] == rounds[-1]["kept"] == 0
    assert {"seconds_lists", "seconds_grow", "seconds_jump", "seconds_unify", "seconds_parallel"} < set(rounds[0])
    assert [number for number, r in enumerate(rounds, 1) if "seconds_sort" in r] == [2]


def test_parallel_edges():
    # Figure 4(b): what is dropped grows with the density, and nothing is where it is not asked for.
    dropped = []
    for degree in (4, 16, 64):
        first = records(PMA("sort", 4), erdos_renyi(2_000, degree))[0]
        dropped.append(1 - first["kept"] / first["crossing"])
    assert dropped == sorted(dropped)
    assert dropped[-1] > 0.5
    kept = records(PMA("sort", 4, drop_parallel=False), erdos_renyi(2_000, 64))
    assert all(r["kept"] == r["crossing"] for r in kept)


def test_conflicts():
    # 0 takes up 1; 2 meets it, and 3 meets 2: two conflicts, and yet the whole path in one round.
    (first,) = records(PMA(max_subtree=2), path(2, 1, 3))
    assert (first["conflicts"], first["chosen"], first["reduction"]) == (2, 3, 0.75)
    # 0 takes up 1, 2 takes up 3: full subtrees do not look at what they touch.
    first, second = records(PMA(max_subtree=2), path(1, 3, 2))
    assert (first["conflicts"], first["chosen"], second["chosen"]) == (0, 2, 1)
    assert sum(r["conflicts"] for r in records(PMA(max_subtree=4), path(1, 3, 2))) == 0


def test_subtrees_follow_the_degree():
    # A star's average degree is below two: eight vertices a subtree. The start vertex takes up the hub and six more.
    leaves = np.arange(1, 101, dtype=np.uint32)
    star = EdgeTable(np.zeros_like(leaves), leaves, leaves.astype(np.int32), 101)
    (first,) = records(PMA(), star)
    assert (first["conflicts"], first["chosen"]) == (93, 100)
    # In a clique of 50 it is 49: one subtree holds it all.
    clique = np.array([(a, b) for a in range(50) for b in range(a)], np.uint32).T.copy()
    (first,) = records(PMA(), EdgeTable(*clique, np.arange(1225, dtype=np.int32), 50))
    assert (first["conflicts"], first["chosen"]) == (0, 49)


def test_concurrent_instances_do_not_change_the_forest():
    table = erdos_renyi(60_000, 6)
    expected = Boruvka().run(ENGINES[0], table, Trace()).tolist()
    for threads in (2, 4):
        for algorithm in (PMA("min", 30), PMA("sort", 2), BaderCong(trees=50), BaderCong(trees=5_000)):
            assert algorithm.run(CpuEngine(threads), table, Trace()).tolist() == expected


def test_loops_and_isolated_vertices_leave_first():
    at = np.array([3, 3, 5, 5], np.uint32)
    (first,) = records(PMA(), EdgeTable(at, np.array([3, 9, 3, 5], np.uint32), np.ones(4, np.float32), 20))
    assert (first["vertices"], first["edges"], first["chosen"], first["components"]) == (3, 4, 2, 18)
