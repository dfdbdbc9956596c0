"""The data-parallel Borůvka: the rounds of Borůvka's algorithm, over neighbor lists. Rows: see test_rows.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines import CpuEngine
from dfmst._engines.primitives.edges import Edges, adjacency
from dfmst.algorithms import PMA, Boruvka, Vineet
from tests.support.columns import KEYS, each_engine, quick, seeds
from tests.support.paper_graphs import GRAPHS
from tests.support.solving import traced

NONE = 2**32 - 1


def records(algorithm, table):
    return traced(algorithm, table)[1]


@pytest.mark.parametrize("name", GRAPHS)
def test_the_rounds_are_those_of_boruvka(name):
    # Parallel edges or none: the lightest edges are the same.
    expected = [record["chosen"] for record in records(Boruvka(), GRAPHS[name])]
    for drop_parallel in (True, False):
        assert [record["chosen"] for record in records(Vineet(drop_parallel), GRAPHS[name])] == expected


@pytest.mark.parametrize("name", GRAPHS)
def test_parallel_edges_are_dropped(name):
    dropped, kept = (records(Vineet(drop_parallel), GRAPHS[name]) for drop_parallel in (True, False))
    assert sum(record["kept"] for record in dropped) < sum(record["kept"] for record in kept)


@pytest.mark.parametrize("name", GRAPHS)
def test_pma_of_two_joins_less_in_a_round(name):
    # Section 6.2 of Nobari et al. takes one for the other; a vertex that is taken up chooses no edge of its own.
    vineet, smallest = (records(algorithm, GRAPHS[name])[0] for algorithm in (Vineet(), PMA("min", 2)))
    assert vineet["vertices"] == smallest["vertices"]
    assert vineet["chosen"] > smallest["chosen"]


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(seed=seeds, vertices=st.integers(1, 40), edges=st.integers(0, 100))
@quick
def test_hook_lightest(engine, dtype, seed, vertices, edges):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, vertices, (2, edges), np.uint32)
    table = Edges(*ends, rng.integers(0, 5, edges).astype(dtype), rng.permutation(edges).astype(np.uint32))
    lists = adjacency(CpuEngine(1), table, vertices)
    parent, taken = np.arange(vertices, dtype=np.uint32), np.full(vertices, NONE, np.uint32)
    engine.launch("hook_lightest", vertices, lists.offset, lists.other, lists.key, parent, taken, grain=1)
    for vertex in range(vertices):
        own = [e for e in range(edges) if (ends[0, e] == vertex) != (ends[1, e] == vertex)]
        if not own:
            assert parent[vertex] == vertex
            assert taken[vertex] == NONE
            continue
        best = min(own, key=lambda e: (table.key[e], e))
        assert parent[vertex] == ends[0, best] ^ ends[1, best] ^ vertex
        assert lists.edge[taken[vertex]] == best
