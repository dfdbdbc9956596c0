"""Checks of the real CuPy on this folder's driver, run by tests/cuda/test_real_cupy.py in a process of their own."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
import dfmst.stream
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import select_engine
from dfmst._engines.cuda import bound_kernels
from dfmst.algorithms import FilterBoruvka
from dfmst.algorithms.base import Trace
from dfmst.errors import CapacityError, UnsupportedFrameError
from tests.support.gpu.driver import redirect
from tests.support.gpu.driver.plugin import GPUS, MEMORY, driver

cupy: Any = pytest.importorskip("cupy")


@pytest.fixture(autouse=True)
def whole_device():
    """Devices with all their memory, and all their blocks, after each test."""
    yield
    driver.fake_limits(ctypes.c_int(GPUS), ctypes.c_size_t(MEMORY))
    driver.fake_grant(ctypes.c_uint(2 * 768))
    bound_kernels.cache_clear()


def columns(rows: int = 3000, vertices: int = 400) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return *rng.integers(0, vertices, (2, rows)), rng.random(rows)


def test_a_call_is_few_launches_and_rows_are_the_cpus():
    edges = columns()
    expected = dfmst.arrays.forest_rows(*edges)
    moved = [cupy.asarray(column) for column in edges]
    dfmst.arrays.forest_rows(*moved)
    redirect.launches.clear()
    found: Any = dfmst.arrays.forest_rows(*moved)
    assert found.get().tolist() == expected.tolist()
    assert [name for name, _, _, together, _ in redirect.launches if together] == [
        "finish_records_f64",
        "compact_flags_u64",
    ]
    assert len(redirect.launches) <= 9  # a survey, keys and their span, and four of the worklist


@pytest.mark.parametrize("allocator", ["raw", "pool"])
def test_out_of_memory_is_a_capacity_error(allocator):
    """A raw allocator's error is no MemoryError in CuPy."""
    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(cupy.cuda.memory._malloc if allocator == "raw" else before)
    engine, edges = select_engine("cuda"), columns(100_000, 50_000)
    moved = [engine.from_host(column) for column in edges]
    driver.fake_limits(ctypes.c_int(GPUS), ctypes.c_size_t(driver.fake_used() + 100_000))
    try:
        with pytest.raises(CapacityError, match="the GPU is out of memory"):
            dfmst.arrays.forest_rows(*moved)
    finally:
        cupy.cuda.set_allocator(before)
        driver.fake_limits(ctypes.c_int(GPUS), ctypes.c_size_t(MEMORY))
    assert len(dfmst.arrays.forest_rows(*moved)) > 0


def test_a_green_context_gets_a_smaller_grid():
    engine, edges = select_engine("cuda"), columns()
    source, target, weight = edges
    moved = [engine.from_host(column.astype(np.uint32)) for column in (source, target)]
    table = EdgeTable(moved[0], moved[1], engine.from_host(weight.astype(np.float32)), 400)

    def solved() -> Any:
        rows: Any = FilterBoruvka().run(engine, table, Trace())
        return rows.get().tolist()

    expected = solved()
    bound_kernels.cache_clear()
    driver.fake_grant(ctypes.c_uint(300))
    redirect.launches.clear()
    assert solved() == expected
    assert [blocks for name, blocks, *_ in redirect.launches if name == "finish_records_f32"] == [1]


def test_a_generator_runs_on_the_callers_device():
    seen: list[int] = []

    def frames() -> Any:
        seen.append(cupy.cuda.runtime.getDevice())
        yield pa.table(dict(zip(("source", "target", "weight"), columns(), strict=True)))

    with cupy.cuda.Device(1):
        forest: Any = dfmst.stream.minimum_spanning_forest(frames, engine="cuda")
    assert set(seen) == {1}
    assert forest.num_rows == len(dfmst.arrays.forest_rows(*columns()))


def test_kernels_are_loaded_on_each_device_and_columns_of_others_refused():
    edges = columns()
    expected = dfmst.arrays.forest_rows(*edges).tolist()
    for place in (0, 1, 0):
        with cupy.cuda.Device(place):
            moved = [cupy.asarray(column) for column in edges]
            found: Any = dfmst.arrays.forest_rows(*moved)
            assert found.get().tolist() == expected
        interfaces = [SimpleNamespace(__cuda_array_interface__=each.__cuda_array_interface__) for each in moved]
        for arrays in (moved, interfaces):
            message = f"column 'source' is on GPU {place}, and GPU {1 - place} is the current one"
            with cupy.cuda.Device(1 - place), pytest.raises(UnsupportedFrameError, match=message):
                dfmst.arrays.forest_rows(*arrays)


@pytest.mark.parametrize("kind", ["non-blocking", "ptds", "external"])
def test_streams(kind):
    stream = {
        "non-blocking": lambda: cupy.cuda.Stream(non_blocking=True),
        "ptds": lambda: cupy.cuda.Stream.ptds,
        "external": lambda: cupy.cuda.Stream.from_external(cupy.cuda.Stream(non_blocking=True)),
    }[kind]()
    edges = columns()
    with stream:
        found: Any = dfmst.arrays.forest_rows(*map(cupy.asarray, edges))
    assert found.get().tolist() == dfmst.arrays.forest_rows(*edges).tolist()


@pytest.mark.parametrize("flush", [True, False])
def test_denormal_weights_keep_their_order(flush):
    """CuPy's own kernels flush denormals to zero; kernels of dfmst compare bits."""
    weight = np.array([3, 1, 2], np.uint32).view(np.float32)  # denormals, if they are kept
    weight = weight if flush else weight + np.float32(1)
    edges = np.array([0, 1, 0]), np.array([1, 2, 2]), weight
    found: Any = dfmst.arrays.forest_rows(*map(cupy.asarray, edges))
    assert found.get().tolist() == dfmst.arrays.forest_rows(*edges).tolist()
