"""Sparse ids on workers with a GPU: numbered there where their dictionary fits, else by the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from tests.support.gpu.standin import cupy

pytest.importorskip("dask")

from dfmst._drive.cluster import groups as tasks
from dfmst._drive.cluster.groups import Group, fold
from dfmst._drive.cluster.partitions import Part
from dfmst._drive.cluster.tables import DeviceTable, column_values, host_table
from dfmst._drive.plan.formulas import DEVICE_SHARE
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CudaEngine

VERTICES, ROWS, PARTS = 100_000, 500_000, 8
PART = ROWS // PARTS


class Partition(Part):
    """A partition that can be read again."""

    name = "a partition"

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def read(self) -> pa.Table:
        return self.table


@pytest.fixture(scope="module")
def edges():
    """Partitions of sparse ids, and the positions of their forest's rows."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 1 << 62, VERTICES)[rng.integers(0, VERTICES, (2, ROWS))]
    weight = rng.random(ROWS)
    table = pa.table({"u": ends[0], "v": ends[1], "w": weight})
    parts = [Partition(table.slice(place * PART, PART)) for place in range(PARTS)]
    return parts, np.asarray(dfmst.arrays.forest_rows(ends[0], ends[1], weight))


@pytest.fixture
def limited(device, monkeypatch):
    """Tasks run as on a worker with a GPU, which has so many bytes a vertex."""
    monkeypatch.setattr(tasks, "worker_engine", CudaEngine)
    pool = cupy.get_default_memory_pool()

    def limit(size: int) -> Any:
        pool.set_limit(pool.used + size * VERTICES)
        pool.peak = pool.used
        cupy.traffic.reset()
        return pool

    return limit


def planned(size: int) -> dfmst.Plan:
    memory = int(size * VERTICES / DEVICE_SHARE) + 1
    return dfmst.plan(
        VERTICES, ROWS, gpus=2, gpu_memory_limit=memory, memory_limit="8GiB", id_bytes=8, strategy="merge"
    )


def ids_to_host() -> int:
    """Bytes that came to the host with ids to be numbered there."""
    return sum(size for to_host, size, _ in cupy.traffic.crossings if to_host)


@pytest.mark.parametrize(("size", "there"), [(330, True), (172, False)])
def test_the_host_numbers_ids_where_the_gpu_has_no_room_for_their_dictionary(edges, limited, size, there):
    parts, expected = edges
    pool = limited(size)
    before = pool.used
    forest = fold(Group(0, parts), None, EdgeColumns("u", "v", "w"))
    assert isinstance(forest, DeviceTable) == there
    assert (ids_to_host() == 0) == there
    plan = planned(size)
    assert plan.fits
    assert plan.peak_gpu_memory / 1.5 <= pool.peak - before <= plan.peak_gpu_memory
    row = column_values(host_table(forest), "row")
    np.testing.assert_array_equal((row >> np.uint64(32)) * PART + row.astype(np.uint32), expected)


@pytest.mark.parametrize(("size", "there"), [(330, True), (172, False)])
def test_a_merge_of_two_forests_fits_where_their_folds_do(edges, limited, size, there):
    parts, expected = edges
    pool = limited(size)
    before = pool.used
    groups = (Group(0, parts[: PARTS // 2]), Group(PARTS // 2, parts[PARTS // 2 :]))
    halves = [fold(group, None, EdgeColumns("u", "v", "w")) for group in groups]
    merged = tasks.merge(halves)
    assert isinstance(merged, DeviceTable) == there
    assert pool.peak - before <= planned(size).peak_gpu_memory
    row = column_values(host_table(merged), "row")
    np.testing.assert_array_equal((row >> np.uint64(32)) * PART + row.astype(np.uint32), expected)


def test_a_gpu_that_is_too_small_without_the_dictionary(edges, limited):
    limited(100)
    assert not planned(100).fits or planned(100).rounds
    with pytest.raises(dfmst.CapacityError, match="worker in this process: the GPU is out of memory"):
        fold(Group(0, edges[0]), None, EdgeColumns("u", "v", "w"))
    assert ids_to_host() == 0
