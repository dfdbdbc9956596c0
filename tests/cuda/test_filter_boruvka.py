"""Filter-Borůvka on the CUDA engine: its rows on large tables, and what it copies to the host."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from dfmst._columns.edge_table import EdgeTable
from dfmst._engines import CudaEngine, select_engine
from dfmst.algorithms import FilterBoruvka
from dfmst.algorithms.trace import Trace
from tests.support.cases import LARGE, large, ordered_weights
from tests.support.oracle import kruskal_rows
from tests.support.standin import cupy

# No Hypothesis here: a machine with a GPU may lack it.
on_both = pytest.mark.parametrize("where", ["standin", pytest.param("gpu", marks=pytest.mark.gpu)])


def engine_at(where):
    return CudaEngine(cupy) if where == "standin" else select_engine("cuda")


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
@on_both
@pytest.mark.parametrize("light", [None, 0.05, math.inf])
@pytest.mark.parametrize("case", LARGE, ids=repr)
def test_large_multigraphs(where, light, case):
    engine = engine_at(where)
    columns, vertices, expected = drawn(case)
    table = EdgeTable(*map(engine.from_host, columns), vertices, case.maximum)
    for _ in range(1 if where == "standin" else 5):
        rows = FilterBoruvka(light).run(engine, table, Trace())
        assert isinstance(rows, engine.xp.ndarray)
        assert engine.to_host(rows).tolist() == expected


@on_both
@pytest.mark.parametrize("order", ["ascending", "descending", "equal", "ruler"])
def test_long_paths(where, order):
    engine, length = engine_at(where), 1 << 16
    first = np.arange(length, dtype=np.uint32)
    columns = (first, first + np.uint32(1), ordered_weights(order, length, "float32"))
    rows = FilterBoruvka().run(engine, EdgeTable(*map(engine.from_host, columns), length + 1), Trace())
    np.testing.assert_array_equal(engine.to_host(rows), np.arange(length))


def _copies(order, dtype):
    engine, trace, length = CudaEngine(cupy), Trace(), 1 << 12
    first = np.arange(length, dtype=np.uint32)
    columns = (first, first + np.uint32(1), ordered_weights(order, length, dtype))
    source, target, weight = map(engine.from_host, columns)
    table = EdgeTable(source, target, weight, length + 1)
    cupy.reset()
    FilterBoruvka().run(engine, table, trace)
    assert cupy.traffic.to_device == []
    return list(cupy.traffic.to_host), trace.records[0]["rounds"]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_the_host_reads_four_counters_every_fourth_round(dtype):
    few, many = _copies("ascending", dtype), _copies("ruler", dtype)
    assert (few[1], many[1]) == (1, 12)
    # 4 rounds are begun either way, and 16 bytes tell whether any edge is left.
    assert sorted(many[0]) == sorted(few[0] + [16] * 2)
    # Beside these: the edges taken, the rows found, and the least and greatest of a sample of wide keys.
    assert sorted(few[0]) == sorted([4, 8, 16] + [16] * (dtype == "int64"))


def test_a_long_list_is_looked_at_every_second_round(monkeypatch):
    monkeypatch.setattr("dfmst.algorithms._steps.worklist._SHORT", 1000)
    few, many = _copies("ascending", "float32"), _copies("ruler", "float32")
    # Lists of 4096 and 2048 edges, of 1024 and 512, then 8 rounds with short ones.
    assert sorted(many[0]) == sorted(few[0] + [16] * 3)
