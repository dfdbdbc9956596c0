"""Filter-Borůvka's threshold, worklists and rounds; its rows are checked with every algorithm's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.flags import flag_words
from dfmst.algorithms import FilterBoruvka, FilterKruskal
from dfmst.algorithms.base import Trace
from dfmst.algorithms.filter_boruvka import Side, Worklist
from dfmst.algorithms.solve import resolve
from tests.support.cases import ENGINES, LARGE, expected_rows, large_table, ordered_weights, table_of
from tests.support.columns import VERTICES, WEIGHTS, quick, seeds, unpack, weights

LAST = 2**64 - 1


class Watched:
    """An array module that counts the arrays it makes."""

    def __init__(self):
        self.made = 0

    def __getattr__(self, name):
        found = getattr(np, name)
        if name not in ("empty", "zeros", "full", "arange", "ones"):
            return found

        def make(*arguments, **options):
            self.made += 1
            return found(*arguments, **options)

        return make


class WatchedEngine(CpuEngine):
    """Lists its launches."""

    __slots__ = ("launches",)
    launches: list[str]

    def __init__(self):
        super().__init__(1, xp=Watched())
        object.__setattr__(self, "launches", [])

    def lasting(self):
        return self

    def launch(self, kernel, count, *arguments, grain=4096):
        self.launches.append(kernel)
        CpuEngine.launch(self, kernel, count, *arguments, grain=grain)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("light", [0.05, 1, 3])
@pytest.mark.parametrize("case", [case for case in LARGE if case.vertices == 3_000], ids=repr)
def test_the_light_edges_come_first(light, case):
    # Ties must split as well as distinct weights.
    trace, table = Trace(), large_table(case)[0]
    FilterBoruvka(light).run(ENGINES[0], table, trace)
    first, second = trace.records
    assert 0.3 * light < first["taken"] / table.vertices < 2 * light
    assert second["edges"] == len(table)
    assert second["taken"] < len(table) - first["taken"]


def test_dense_tables_are_split_by_themselves():
    draw, trace, edges, vertices = np.random.default_rng(1), Trace(), 5_000_000, 500_000
    columns = (*draw.integers(0, vertices, (2, edges), np.uint32), draw.random(edges, np.float32))
    table = EdgeTable(*columns, vertices)
    rows = FilterBoruvka().run(CpuEngine(), table, trace)
    np.testing.assert_array_equal(rows, FilterKruskal().run(CpuEngine(), table, Trace()))
    first, second = trace.records
    assert 0.7 < first["taken"] / vertices / (math.log(edges / vertices) / 2) < 1.3
    # 2 exp(-2c) of the heavy edges are left in theory, that is 20 %.
    assert second["taken"] < 0.25 * edges


@pytest.mark.parametrize("light", [0.3, 0.7, 1.5])
def test_neither_list_is_taken_twice(light):
    """The second list has the room that a sample of it asks for."""
    draw, edges, vertices = np.random.default_rng(4), 60_000, 10_000
    engine = WatchedEngine()
    columns = (*draw.integers(0, vertices, (2, edges)), draw.random(edges))
    rows = FilterBoruvka(light).run(engine, table_of(*columns, vertices), Trace())
    assert engine.launches.count("take_edges") == 2
    assert rows.tolist() == expected_rows(table_of(*columns, vertices))


@pytest.mark.parametrize("light", [None, 1])
def test_a_sparse_table_is_one_list(light):
    trace = Trace()
    table = large_table(LARGE[-1])[0]
    FilterBoruvka(light).run(ENGINES[0], table, trace)
    (record,) = trace.records
    assert record["taken"] == np.count_nonzero(table.source != table.target)


def test_no_second_reading_where_the_light_edges_span():
    trace, vertices = Trace(), 100
    draw = np.random.default_rng(3)
    table = table_of(*draw.integers(0, vertices, (2, 50_000)), draw.random(50_000), vertices)
    rows = FilterBoruvka(light=50).run(ENGINES[0], table, trace)
    assert len(rows) == vertices - 1
    assert len(trace.records) == 1


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_a_full_list_grows(engine):
    table, expected = large_table(LARGE[0])
    chosen = flag_words(engine, len(table))
    work = Worklist(engine, table, 10, chosen)
    work.take(Side(LAST, LAST, False, 0, 0))
    taken, _, joined = work.solve()
    assert taken == np.count_nonzero(table.source != table.target)
    assert joined == len(expected)
    np.testing.assert_array_equal(np.flatnonzero(unpack(chosen, len(table))), expected)


@pytest.mark.parametrize("vertex", VERTICES)
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(seed=seeds, low=st.integers(0, LAST), shift=st.integers(0, 63), maximum=st.booleans())
@quick
def test_any_spread_of_the_keys_gives_the_same_rows(vertex, dtype, seed, low, shift, maximum):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 20, (2, 200))
    table = table_of(source, target, weights(rng, dtype, 200), 20, vertex, maximum)
    middle = int(rng.integers(0, 2**64, dtype=np.uint64))
    key = middle >> (64 - 8 * table.weight.dtype.itemsize)
    for engine in ENGINES:
        chosen = flag_words(engine, len(table))
        work = Worklist(engine, table, 200, chosen)
        for above in (False, True):
            work.take(Side(key, 100, above, low, shift))
            work.solve()
            flatten(engine, work.parent)
        assert np.flatnonzero(unpack(chosen, len(table))).tolist() == expected_rows(table)


@pytest.mark.parametrize("step", [1, 2**20, 2**40])
@pytest.mark.parametrize("count", [64, 4096])
def test_keys_that_hardly_differ(step, count):
    # Far-off extremes leave no bits of the 32 for what tells the other edges apart.
    rng = np.random.default_rng(count)
    weight = rng.permutation(count) * step
    weight[:2] = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    source, target = rng.integers(0, 50, (2, count))
    table = table_of(source, target, weight, 50)
    for engine in ENGINES:
        assert FilterBoruvka().run(engine, table, Trace()).tolist() == expected_rows(table)


def _rounds(order):
    """Launches, arrays made, and rounds on a path of 4,096 edges."""
    length = 4096
    rank = np.arange(length)
    weight = ordered_weights(order, length, "float32")
    engine, trace = WatchedEngine(), Trace()
    FilterBoruvka().run(engine, table_of(rank, rank + 1, weight, length + 1), trace)
    return engine.launches, engine.xp.made, trace.records[0]["rounds"]


def test_all_rounds_are_one_launch_and_make_no_array():
    few, many = _rounds("ascending"), _rounds("ruler")
    assert few[2] == 1
    assert many[2] == 12
    assert many[:2] == few[:2]


def test_auto_follows_the_engine():
    class OnDevice(CpuEngine):
        __slots__ = ()

    assert resolve("auto", OnDevice(1, "cuda", on_host=False)) == FilterBoruvka()
    assert resolve("auto", CpuEngine(1)) == FilterKruskal()
