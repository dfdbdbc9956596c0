"""Where columns on the GPU come from: the user's allocator, or a pool for temporary ones where that keeps nothing."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst._engines import CudaEngine, select_engine
from dfmst._engines.cuda import memory_of
from dfmst._engines.scratch import PooledModule, device_scratch, free_pool_bytes
from dfmst.errors import CapacityError
from tests.support.gpu import standin
from tests.support.gpu.standin import cupy

pytestmark = pytest.mark.simulated

RMM = standin.rmm.allocators.cupy.rmm_cupy_allocator


def graph(rows=5000):
    rng = np.random.default_rng(0)
    return [cupy.asarray(column) for column in (*rng.integers(0, 500, (2, rows)), rng.random(rows))]


def mallocs(columns):
    cupy.driver_memory.mallocs.clear()
    rows: Any = dfmst.arrays.forest_rows(*columns)
    assert len(rows) == 499
    return len(cupy.driver_memory.mallocs)


# ---- too little of it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.9, 0.6, 0.3])
@pytest.mark.parametrize("place", ["gpu", "host", "forced"])
def test_a_table_for_which_memory_is_short_is_folded_in_slices(device, monkeypatch, place, share):
    """The limit is a share of what the whole table takes beyond its columns; from the host, with its columns."""
    monkeypatch.setattr("dfmst.algorithms.solve._LEAST_SLICE", 1 << 10)
    rng, pool, rows = np.random.default_rng(1), cupy.get_default_memory_pool(), 120_000
    columns = {name: rng.integers(0, 500, rows).astype(np.uint32) for name in ("source", "target")}
    table = pa.table({**columns, "weight": rng.integers(0, 99, rows), "keep": rng.random(rows) < 0.001})
    options: dict[str, Any] = {"keep": "keep"} if place == "forced" else {}
    expected = dfmst.forest.solve(table, **options)
    edges = standin.cudf.DataFrame.from_arrow(table) if place == "gpu" else table

    def solved() -> Any:
        return dfmst.forest.solve(edges, engine="cuda", **options)

    solved()
    gc.collect()
    pool.free_all_blocks()
    before = pool.peak = pool.used
    solved()
    gc.collect()
    pool.free_all_blocks()
    assert pool.used == before
    pool.set_limit(before + int(share * (pool.peak - before)))
    found = solved()
    assert found.rows == expected.rows
    assert found.engine == "cuda"
    assert pa.table(found.to_arrow()).equals(expected.to_arrow())
    if place != "gpu":
        pool.set_limit(0)  # nothing stays on the GPU
        assert (found.vertices, bool(found.verify())) == (expected.vertices, True)


def test_slices_that_keep_most_rows_do_not_help(device, monkeypatch):
    monkeypatch.setattr("dfmst.algorithms.solve._LEAST_SLICE", 1 << 10)
    ends = cupy.arange(1 << 17), cupy.arange(1, (1 << 17) + 1)
    pool = cupy.get_default_memory_pool()
    gc.collect()
    pool.free_all_blocks()
    pool.set_limit(pool.used + (3 << 20))
    with pytest.raises(CapacityError, match=r"the GPU is out of memory: .* more bytes were needed"):
        dfmst.arrays.forest_rows(*ends, None)


# ---- whose memory -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loaded", [True, False], ids=["rmm", "no rmm"])
def test_the_allocator_stays(device, monkeypatch, loaded):
    if not loaded:
        monkeypatch.delitem(sys.modules, "rmm")
    for chosen in (None, RMM, "the user's own"):
        if chosen is not None:
            cupy.cuda.set_allocator(chosen)
        before = cupy.cuda.get_allocator()
        select_engine("cuda")
        dfmst.arrays.forest_rows(*graph())
        assert cupy.cuda.get_allocator() == before


def test_only_memory_from_the_driver_gets_a_pool(device, monkeypatch):
    assert device_scratch(cupy) is cupy  # CuPy's own pool
    cupy.cuda.set_allocator("the user's own")
    assert device_scratch(cupy) is cupy
    cupy.cuda.set_allocator(RMM)
    assert isinstance(device_scratch(cupy), PooledModule)
    standin.rmm.mr.set_current_device_resource(standin.rmm.mr.PoolMemoryResource())
    assert device_scratch(cupy) is cupy
    monkeypatch.delitem(sys.modules, "rmm")
    assert device_scratch(cupy) is cupy


def test_temporary_columns_beside_cudf_come_out_of_a_pool(device):
    cupy.cuda.set_allocator(RMM)
    columns = graph()
    first, second = mallocs(columns), mallocs(columns)
    # What is left: the results of operators and reductions, and the forest's rows.
    assert second <= 8 < first
    assert mallocs(columns) == second


def test_results_lie_in_the_memory_of_the_user(device):
    cupy.cuda.set_allocator(RMM)
    rows = dfmst.arrays.forest_rows(*graph())
    before = cupy.driver_memory.used
    del rows
    assert cupy.driver_memory.used < before  # a pool would have kept it


def test_an_engine_for_temporary_columns_is_the_same_engine(device):
    cupy.cuda.set_allocator(RMM)
    engine = CudaEngine()
    scratch = engine.in_scratch()
    assert scratch.lasting() == engine
    assert scratch.in_scratch() == scratch
    parent = scratch.xp.arange(5, dtype=np.uint32)
    scratch.launch("flatten", 5, parent)
    assert isinstance(parent, engine.xp.ndarray)
    assert scratch.threads == engine.threads


# ---- how much, and when it goes -----------------------------------------------------------------------------------


def test_the_pool_is_given_back_on_demand(device):
    cupy.cuda.set_allocator(RMM)
    columns = graph()
    before = cupy.driver_memory.used
    mallocs(columns)
    assert free_pool_bytes() > 0
    dfmst.release_memory()
    assert free_pool_bytes() == 0
    assert cupy.driver_memory.used == before


def test_the_pool_keeps_a_share_of_the_device_at_most(device, monkeypatch):
    cupy.cuda.set_allocator(RMM)
    monkeypatch.setattr("dfmst._engines.cuda.memory_of", lambda xp, device: 16 * 1000)
    mallocs(graph())
    assert free_pool_bytes() <= 1000
    assert memory_of(cupy, 0) == 1 << 34


def test_out_of_memory_counts_what_pools_keep(device, monkeypatch):
    """dfmst's own pool, and RMM's if it counts what is used; but no more than the limit of CuPy's."""

    def said() -> str:
        with pytest.raises(CapacityError) as caught, engine.guard():
            raise MemoryError
        return caught.value.message.partition("; now ")[2]

    cupy.cuda.set_allocator(RMM)
    mallocs(graph())
    engine, size, total = CudaEngine(), 1 << 30, 1 << 34
    free = cupy.cuda.runtime.memGetInfo()[0] + free_pool_bytes()
    assert said() == f"{free:,} of {total:,} bytes are free"
    pool = standin.rmm.mr.PoolMemoryResource(initial_pool_size=size)
    cupy.cuda.taken[0] = size  # as RMM does when the pool begins
    standin.rmm.mr.set_current_device_resource(pool)
    alone = f"{free - size:,} of {total:,} bytes are free"
    assert said() == f"{alone}, next to RMM's pool of {size:,} bytes"
    standin.rmm.mr.set_current_device_resource(standin.rmm.mr.TrackingResourceAdaptor(pool))
    assert said() == f"{free:,} of {total:,} bytes are free"
    cupy.get_default_memory_pool().set_limit(cupy.get_default_memory_pool().used_bytes() + 5000)
    assert said() == f"5,000 of {total:,} bytes are free"


def test_columns_of_the_host_are_not_staged_in_pinned_memory(device):
    engine = CudaEngine()
    columns = [np.arange(20_000), np.arange(40_000)[::2]]
    for column in columns:
        moved: Any = engine.from_host(column)
        np.testing.assert_array_equal(engine.to_host(moved), column)
        assert engine.to_host(column) is column
        assert engine.from_host(moved) is moved
    assert cupy.traffic.pinned == []
    assert cupy.traffic.to_device == [160_000] * 2


# ---- next to cuDF -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spilling", [True, False])
def test_columns_that_cudf_may_spill_are_copied(device, monkeypatch, spilling):
    """A buffer of which CuPy has seen the address stays on the GPU for good."""
    monkeypatch.setitem(standin.cudf.options, "spill", spilling)
    table = pa.table({"a": [0, 1, 0, 0], "b": [1, 2, 2, 3], "w": [3.0, 1.0, 2.0, None]})
    frame = standin.cudf.DataFrame.from_arrow(table)
    forest = dfmst.minimum_spanning_forest(frame, "a", "b", "w", invalid="drop")
    assert forest["w"].to_arrow().to_pylist() == [1.0, 2.0]
    exposed = [frame[name]._column.exposed for name in frame.columns]
    assert exposed == [not spilling] * 3


def test_rows_are_taken_again_without_the_pool(device, monkeypatch):
    """The pool of temporary columns keeps memory that cuDF asks the driver for."""
    cupy.cuda.set_allocator(RMM)
    mallocs(graph())
    held, calls, take = free_pool_bytes(), [], standin.cudf.DataFrame.take
    assert held

    def short(frame, rows):
        calls.append(free_pool_bytes())
        if calls[-1]:
            raise MemoryError("std::bad_alloc: out_of_memory: CUDA error")
        return take(frame, rows)

    monkeypatch.setattr(standin.cudf.DataFrame, "take", short)
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.integers(0, 99, 999), "b": rng.integers(0, 99, 999), "w": rng.random(999)})
    forest = dfmst.minimum_spanning_forest(standin.cudf.DataFrame.from_arrow(table), "a", "b", "w")
    assert len(forest) == 98
    assert calls[0] > 0 == calls[-1]
    assert len(calls) == 2

    def never(frame, rows):
        raise MemoryError("std::bad_alloc: out_of_memory: CUDA error")

    monkeypatch.setattr(standin.cudf.DataFrame, "take", never)
    with pytest.raises(CapacityError, match="the GPU is out of memory"):
        dfmst.minimum_spanning_forest(standin.cudf.DataFrame.from_arrow(table), "a", "b", "w")
