"""Both forms of Prim's algorithm; that the rows are right is tested with every algorithm as well."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst.algorithms import Prim
from dfmst.algorithms.base import Trace
from tests.support.cases import ENGINES, ORDERS, SHAPES, ordered_weights
from tests.support.columns import KEYS, VERTICES, WEIGHTS, each_engine, quick, seeds, weights
from tests.support.oracle import kruskal_rows

FORMS = [
    Prim("reduction"),
    Prim("reduction", lanes=1, lists="columns"),
    Prim("reduction", lanes=7),
    Prim("reduction", lanes=1000),
    Prim("queues", queues=1),
    Prim("queues", queues=2, hub=1),
    Prim("queues", queues=5, hub=3),
]
each_form = pytest.mark.parametrize("form", FORMS, ids=repr)
NONE = 2**64 - 1
LAUNCHING = CpuEngine(1, on_host=False)  # three launches a round, as on a GPU


def check(form, table):
    columns = (table.source.tolist(), table.target.tolist(), table.weight.tolist())
    expected = sorted(kruskal_rows(*columns, maximum=table.maximum))
    for engine in (*ENGINES, LAUNCHING):
        trace = Trace()
        assert form.run(engine, table, trace).tolist() == expected
        assert len(trace.records) == min(1, len(table))
        for record in trace.records:
            assert record["chosen"] == len(expected)
            assert record["components"] == table.vertices - len(expected)


@pytest.mark.sampled(4)
@each_form
@pytest.mark.parametrize("vertex", VERTICES)
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(seed=seeds, vertices=st.integers(1, 40), edges=st.integers(0, 130), maximum=st.booleans())
@quick
def test_small_multigraphs(form, vertex, dtype, seed, vertices, edges, maximum):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, edges)).astype(vertex)
    check(form, EdgeTable(source, target, weights(rng, dtype, edges), vertices, maximum))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", [FORMS[0], FORMS[2], FORMS[-1]], ids=repr)
@pytest.mark.parametrize("order", ["equal", "ties", "distinct"])
@pytest.mark.parametrize("shape", [name for name, graph in SHAPES.items() if graph.vertices < 1000])
def test_shapes(form, shape, order):
    graph = SHAPES[shape]
    number = list(SHAPES).index(shape) + ORDERS.index(order)
    weight = ordered_weights(order, len(graph.source), WEIGHTS[number % len(WEIGHTS)])
    check(form, EdgeTable(graph.source.astype(np.uint32), graph.target.astype(np.uint32), weight, graph.vertices))


@each_engine
@pytest.mark.parametrize("dtype", KEYS)
@given(seed=seeds, length=st.sampled_from([1, 2, 3, 63, 64, 300]), groups=st.sampled_from([1, 2, 7, 128]))
@quick
def test_reduction_carries_the_index(engine, dtype, seed, length, groups):
    # Any length, two launches: section IV of Wang et al.
    rng = np.random.default_rng(seed)
    front = int(rng.integers(0, length))
    key = rng.integers(0, 5, 400).astype(dtype)
    edge = rng.permutation(400)[:length].astype(np.uint64)
    lightest = key[edge].astype(np.uint64) << np.uint64(32) | edge if dtype == "uint32" else edge.copy()
    lightest[rng.random(length) < rng.choice([0.0, 0.5, 1.0])] = NONE
    value, index = np.empty(groups, np.uint64), np.empty(groups, np.uint32)
    engine.launch("least_of_groups", 32 * groups, lightest, front, length, groups, key, value, index, grain=1)
    np.testing.assert_array_equal(value[value != NONE], lightest[index[value != NONE]])
    assert (index >= front).all()

    candidates = [at for at in range(front, length) if lightest[at] != NONE]
    best = min(candidates, key=lambda at: (key[edge[at]], edge[at]), default=front)
    before = lightest.copy()
    vertex, place = (np.arange(length, dtype=np.uint32) for _ in range(2))
    chosen, state = np.full(1, 999, np.uint32), np.zeros(3, np.uint64)
    engine.launch("join_lightest", 32, value, index, groups, front, key, lightest, vertex, place, chosen, state)
    assert state.tolist() == [bool(candidates), best, not candidates]
    assert int(chosen[0]) == (int(edge[best]) if candidates else 999)
    assert vertex[front] == best
    np.testing.assert_array_equal(place[vertex], np.arange(length))
    np.testing.assert_array_equal(lightest[front + 1 :], before[vertex][front + 1 :])


def dense(vertices):
    source, target = np.triu_indices(vertices, 1)
    weight = np.random.default_rng(vertices).random(len(source), np.float32)
    return EdgeTable(source.astype(np.uint32), target.astype(np.uint32), weight, vertices)


def edges_with_a_hub(vertices):
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, vertices, (2, 3 * vertices), np.uint32)
    source[::3] = 0
    return EdgeTable(source, target, rng.random(len(source), np.float32), vertices)


def test_hubs_are_shared_out_among_the_queues():
    trace = Trace()
    Prim("queues", queues=3, hub=50).run(ENGINES[1], dense(60), trace)
    record = trace.records[0]
    assert (record["queues"], record["hubs"], record["shared"]) == (3, 60, 60 * 59)
    assert record["seconds_offer"] > 0


@pytest.mark.parametrize(("threads", "hubs"), [(1, 0), (2, 1), (3, 0)])
def test_the_hub_follows_the_threads(threads, hubs):
    # 4,096 neighbors for each thread: 10,000 are worth two threads, and not three.
    leaves = np.arange(1, 10_001, dtype=np.uint32)
    star = EdgeTable(np.zeros_like(leaves), leaves, leaves[::-1].astype(np.int32), 10_001)
    trace = Trace()
    assert Prim("queues").run(CpuEngine(threads), star, trace).tolist() == list(range(10_000))
    record = trace.records[0]
    assert (record["queues"], record["hubs"], record["shared"]) == (1 + hubs, hubs, 10_000 * hubs)


def test_without_a_hub_one_queue_does():
    trace = Trace()
    Prim("queues", queues=3, hub=60).run(ENGINES[1], dense(60), trace)
    assert [trace.records[0][name] for name in ("queues", "hubs", "shared")] == [1, 0, 0]


@pytest.mark.parametrize(("engine", "lanes"), [(ENGINES[0], 1), (CpuEngine(3), 3), (LAUNCHING, 14)], ids=str)
def test_one_record_whatever_the_size(engine, lanes):
    trace = Trace()
    Prim("reduction").run(engine, dense(200), trace)
    assert len(trace.records) == 1
    assert all(trace.records[0][f"seconds_{step}"] > 0 for step in ("adjacency", "reduce", "join", "relax"))
    assert trace.records[0]["lanes"] == lanes


@pytest.mark.parametrize(("threads", "vertices"), [(2, 9_000), (4, 17_000)])
def test_a_reduction_of_many_candidates_is_shared_out(threads, vertices):
    # At first each thread takes a share of 4,096 candidates, and of the hub's neighbors as well; some are over.
    table = edges_with_a_hub(vertices)
    expected = Prim("queues").run(ENGINES[0], table, Trace()).tolist()
    assert Prim("reduction").run(CpuEngine(threads), table, Trace()).tolist() == expected
