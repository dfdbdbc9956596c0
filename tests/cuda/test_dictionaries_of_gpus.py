"""Sparse ids on workers with a GPU: numbered there where their dictionary fits, else by the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from tests.support.gpu.packages import cupy
from tests.support.gpu.tasks import Partition, run_on_gpu

pytest.importorskip("dask")

from dfmst._drive import tasks
from dfmst._drive.strategies import DEVICE_SHARE
from dfmst._drive.tables import DeviceTable, column_values, host_table
from dfmst._drive.tasks import Group, fold_group
from dfmst._edges.read import EdgeColumns

VERTICES, ROWS, PARTS = 100_000, 500_000, 8
PART = ROWS // PARTS


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
    run_on_gpu(monkeypatch, "tasks")
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


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(("size", "there"), [(330, True), (172, False)])
def test_the_host_numbers_ids_where_the_gpu_has_no_room_for_their_dictionary(edges, limited, size, there, count):
    """A forest of all partitions, and one of each half, which are merged."""
    parts, expected = edges
    pool = limited(size)
    before, length = pool.used, PARTS // count
    groups = [Group(begin, parts[begin : begin + length]) for begin in range(0, PARTS, length)]
    forests = [fold_group(group, None, EdgeColumns("u", "v", "w")) for group in groups]
    if count == 1:
        assert (ids_to_host() == 0) == there
    forest = forests[0] if count == 1 else tasks.merge(forests)
    assert isinstance(forest, DeviceTable) == there
    plan = planned(size)
    assert plan.fits
    assert pool.peak - before <= plan.peak_gpu_memory
    assert count == 2 or plan.peak_gpu_memory / 1.5 <= pool.peak - before
    row = column_values(host_table(forest), "row")
    np.testing.assert_array_equal((row >> np.uint64(32)) * PART + row.astype(np.uint32), expected)


def test_a_gpu_that_is_too_small_without_the_dictionary(edges, limited):
    limited(100)
    assert not planned(100).fits or planned(100).rounds
    with pytest.raises(dfmst.CapacityError, match="worker in this process: the GPU is out of memory"):
        fold_group(Group(0, edges[0]), None, EdgeColumns("u", "v", "w"))
    assert ids_to_host() == 0
