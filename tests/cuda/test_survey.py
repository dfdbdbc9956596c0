"""How often a call launches, reads and allocates; one kernel checks a frame of cuDF, in the words of the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dfmst
from dfmst._engines import CudaEngine
from dfmst.algorithms import FilterBoruvka
from dfmst.errors import InvalidEdgesError
from dfmst.generate import rmat, road_grid
from tests.support.gpu.packages import cudf, cupy
from tests.support.solving import forest_of

pytestmark = pytest.mark.usefixtures("device")


def frame(dtype="float32", ids="int32", scale=1):
    table = road_grid(60, 60, 0.7)
    ends = (table[end].to_numpy().astype(ids) * np.dtype(ids).type(scale) for end in ("source", "target"))
    weight = (np.random.default_rng(0).random(table.num_rows) * 1e6 - 5e5).astype(dtype)
    return dict(zip("abw", (*ends, weight), strict=True))


def on_device(columns):
    made = cudf.DataFrame({name: cupy.asarray(column) for name, column in columns.items()})
    cupy.reset()
    return made


@pytest.mark.parametrize("ids", ["int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("maximum", [False, True])
def test_a_call_is_five_launches_and_two_reads(dtype, ids, maximum):
    columns = frame(dtype, ids)
    make = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    edges = on_device(columns)
    forest = make(edges, "a", "b", "w")
    assert len(cupy.cuda.launches) == 5
    assert cupy.traffic.to_host == [32, 16]
    assert cupy.traffic.array_calls.count("isnan") == 0
    expected = dfmst.arrays.forest_rows(*columns.values(), maximum=maximum)
    assert forest["w"].to_arrow().to_pylist() == columns["w"][expected].tolist()
    arrays = [cupy.asarray(column) for column in columns.values()]
    cupy.reset()
    rows: Any = dfmst.arrays.forest_rows(*arrays, maximum=maximum)
    assert cupy.traffic.to_host == [32, 16]
    assert rows.get().tolist() == expected.tolist()


@pytest.mark.parametrize("place", [0, 17, -1])
def test_a_nan_is_refused_as_on_the_host(place):
    columns = frame()
    columns["w"][place] = np.nan
    with pytest.raises(InvalidEdgesError) as there:
        dfmst.minimum_spanning_forest(on_device(columns), "a", "b", "w")
    with pytest.raises(InvalidEdgesError) as here:
        dfmst.arrays.forest_rows(*columns.values())
    assert "1 weight that is NaN or null" in str(there.value)
    assert str(place % len(columns["w"])) in str(there.value)
    assert str(place % len(columns["w"])) in str(here.value)


def test_dropped_rows_count_for_nothing():
    """A row that is left out has the only large id: the others are dense."""
    columns = frame()
    columns["a"][5], columns["w"][5] = 1 << 30, np.nan
    forest = dfmst.minimum_spanning_forest(on_device(columns), "a", "b", "w", invalid="drop")
    assert "unique" not in cupy.traffic.array_calls
    assert 1 << 30 not in forest["a"].to_arrow().to_pylist()


# ---- a table of arrays --------------------------------------------------------------------------------------------

#: Launches, array calls of CuPy, reads to the host: whatever the graph, since all rounds are one launch.
BUDGET = (4, 0, 1)


def graph(name):
    if name == "star":
        return np.zeros(4000, np.uint32), np.arange(1, 4001, dtype=np.uint32), 4001
    table, vertices = (road_grid(300, 300, 0.7), 90_000) if name == "grid" else (rmat(12, 8), 1 << 12)
    return *(table[end].to_numpy().astype(np.uint32) for end in ("source", "target")), vertices


@pytest.mark.parametrize("name", ["grid", "rmat", "star"])
def test_budgets(name):
    source, target, vertices = graph(name)
    weight = np.random.default_rng(0).random(len(source), np.float32)
    engine = CudaEngine()
    cupy.reset()
    forest_of(engine, FilterBoruvka(), source, target, weight, vertices)
    reads = len(cupy.traffic.to_host) - 1  # the forest's rows are the test's own
    spent = len(cupy.cuda.launches), len(cupy.traffic.array_calls), reads
    assert all(one <= most for one, most in zip(spent, BUDGET, strict=True)), spent
    # Minima, two lists, parents, flags, counters; then sums and the rows.
    assert len(cupy.driver_memory.mallocs) - 3 <= 8
