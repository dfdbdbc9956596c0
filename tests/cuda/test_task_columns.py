"""Columns that wait on a GPU for other tasks: where they lie, how they travel, and when they go to the host."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest

from dfmst._drive.devices import TaskColumns, result_bytes, spill
from dfmst._drive.runs import DeviceRun, sorted_run
from dfmst._drive.tables import Columns, DeviceTable, host_table, task_result, travelling_table
from dfmst._drive.tasks import merge
from dfmst._engines import CpuEngine, CudaEngine
from dfmst._fold.rows import Rows
from dfmst.errors import InvalidEdgesError
from tests.support.gpu.packages import cupy
from tests.support.gpu.tasks import run_on_gpu

pytestmark = pytest.mark.usefixtures("device")


def on_device(*columns: Any) -> TaskColumns:
    return TaskColumns(CudaEngine(), *(CudaEngine().from_host(np.asarray(column)) for column in columns))


def device_table(source: Any, target: Any, key: Any, row: Any) -> DeviceTable:
    engine = CudaEngine()
    columns = (source, target, np.array(key, np.uint64), np.array(row, np.uint64))
    return task_result(
        engine, Columns(*(engine.from_host(np.asarray(column)) for column in columns)), {b"weights": b"int64"}
    )


def test_columns_stay_until_they_are_spilled():
    columns, engine = on_device(np.arange(500), np.ones(300, np.uint8)), CudaEngine()
    assert result_bytes() == 4300
    cupy.traffic.reset()
    first, second = columns.on(engine)
    assert not cupy.traffic.to_host
    assert not cupy.traffic.to_device
    assert spill() == 4300
    assert cupy.traffic.to_host == [4000, 300]
    assert (result_bytes(), columns.engine.on_host, spill()) == (0, True, 0)
    np.testing.assert_array_equal(columns.on(CpuEngine())[0], np.arange(500))
    assert cupy.traffic.to_host == [4000, 300]
    again = columns.on(engine)
    assert cupy.traffic.to_device == [4000, 300]
    assert bool((again[0] == first).all())
    assert bool((again[1] == second).all())


def test_columns_travel_as_those_of_the_host():
    columns = on_device(np.arange(500))
    cupy.traffic.reset()
    sent = pickle.dumps(columns)
    assert cupy.traffic.to_host == [4000]
    received = pickle.loads(sent)
    assert received.engine.on_host
    assert not cupy.traffic.to_device
    np.testing.assert_array_equal(received.on(CpuEngine())[0], np.arange(500))


@pytest.mark.parametrize("kind", [None, list, tuple, dict])
def test_from_gpu_to_gpu_nothing_crosses(kind):
    """Tables alone, and in a list or a dict."""
    protocol = pytest.importorskip("distributed.protocol")
    from dfmst._drive.devices import register_for_gpus

    register_for_gpus(DeviceTable)  # Dask may have been loaded since
    register_for_gpus(TaskColumns)
    tables = [device_table([1, 5], [5, 2**40], [7, 7], [0, 3]) for _ in range(2)]
    cupy.traffic.reset()
    value = tables[0] if kind is None else dict(enumerate(tables)) if kind is dict else kind(tables)
    header, frames = protocol.serialize(value, serializers=("cuda", "dask", "pickle"))
    if kind is None:
        assert header["serializer"] == "cuda"
        assert all(isinstance(frame, cupy.ndarray) and frame.dtype == np.uint8 for frame in frames)
    received = protocol.deserialize(header, frames)
    assert not cupy.traffic.to_host
    assert not cupy.traffic.to_device
    for table in [received] if kind is None else received.values() if kind is dict else received:
        assert host_table(table).equals(host_table(tables[0]))
        assert host_table(table).schema.metadata == {b"weights": b"int64"}
    # Over TCP, the columns go through the host, as a pickle; so they do when they are there.
    assert protocol.serialize(tables[0], serializers=("dask", "pickle"))[0]["serializer"] == "pickle"
    spill()
    assert protocol.serialize(tables[0], serializers=("cuda", "dask", "pickle"))[0]["serializer"] == "pickle"


def test_runs_wait_and_travel_with_their_index():
    engine = CudaEngine()
    rng = np.random.default_rng(0)
    columns = (*rng.integers(0, 99, (2, 500)).astype(np.uint32), rng.integers(0, 60, 500).astype(np.uint64))
    rows = Rows(*map(engine.from_host, (*columns, np.arange(500, dtype=np.uint64))))
    run = sorted_run(engine, rows, None, 16)
    expected = np.argsort(columns[2], kind="stable")
    assert isinstance(run, DeviceRun)
    cupy.traffic.reset()
    places = [run.place(key, after_equal=after) for key in (0, 7, 59) for after in (False, True)]
    assert not [crossing for crossing in cupy.traffic.crossings if crossing.size > 8 * 32]
    ascending = columns[2][expected]
    assert places == [int(np.searchsorted(ascending, key, side)) for key in (0, 7, 59) for side in ("left", "right")]
    sent = pickle.loads(pickle.dumps(run))
    assert (sent.on_host, run.on_host) == (True, False)
    spill()
    assert run.on_host
    for each in (run, sent):
        np.testing.assert_array_equal(each.index, ascending[::16])
        np.testing.assert_array_equal(each.part(3, 90).arrays[3], expected[3:90])
        assert [each.place(key, after_equal=after) for key in (0, 7, 59) for after in (False, True)] == places


def test_results_that_wait_take_a_share_of_the_gpu():
    pool = cupy.get_default_memory_pool()
    gc.collect()  # what other tests have left would otherwise be freed below, and make room
    pool.set_limit(pool.used + 100_000)
    ids = np.arange(250, dtype=np.uint32)  # 6,000 bytes a table, of 23,750
    tables = [device_table(ids, ids, np.arange(250), np.arange(250)) for _ in range(5)]
    assert [table.columns.engine.on_host for table in tables] == [False, False, False, True, True]


def test_tables_of_both_sides_are_merged_on_the_gpu(monkeypatch):
    run_on_gpu(monkeypatch, "tasks")
    here = device_table([0, 1], [1, 2], [5, 6], [0, 1])
    there = travelling_table([0, 2**40], [2, 0], np.array([4, 1], np.uint64), np.array([2, 3], np.uint64), "int64")
    merged = merge([here, there])
    assert isinstance(merged, DeviceTable)
    assert host_table(merged).to_pydict() == {
        "source": [0, 0, 2**40],
        "target": [1, 2, 0],
        "key": [5, 4, 1],
        "row": [0, 2, 3],
    }


def test_ids_that_no_integer_type_holds_are_refused(monkeypatch):
    run_on_gpu(monkeypatch, "tasks")
    low, high = np.array([-1, 2]), np.array([2**63 + 1, 2], np.uint64)
    with pytest.raises(InvalidEdgesError, match="below 0 and unsigned ids of 64 bits"):
        merge([device_table(ids, ids, [1, 2], row) for ids, row in ((low, [0, 1]), (high, [2, 3]))])
