"""Partitions of cuDF on workers with a GPU: their forests stay there, and positions come back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import pytest

import dfmst
from tests.support.gpu.packages import cudf, cupy
from tests.support.gpu.tasks import Partition, purposes, run_on_gpu

pytest.importorskip("dask")

from dfmst._drive.cluster import Resources, forest_tasks
from dfmst._drive.strategies import BASE
from dfmst._drive.tables import FrameParts
from dfmst._drive.tasks import gather_from
from dfmst._trees.request import Request

VERTICES, ROWS, PARTS = 6_000, 60_000, 4
IDS: dict[str, Any] = {
    "dense": lambda ends: ends.astype(np.int32),
    "sparse": lambda ends: ends * 10**12 - 7,
    "text": lambda ends: np.char.add("v", ends.astype(str)),
}


@pytest.fixture
def on_gpu(device, monkeypatch):
    """All tasks run as on a worker with a GPU, of which there are two."""
    run_on_gpu(monkeypatch, "tables", "tasks", "runs", "shuffle", "devices")
    monkeypatch.setattr("dfmst._drive.cluster.resources", lambda: Resources(2, 1 << 40))


def forest_of(table: pa.Table, strategy: Any, maximum: bool) -> tuple[list[int], Counter[str]]:
    """The forest's rows, and the bytes that came to the host to find them, by purpose."""
    size = ROWS // PARTS
    frames = [cudf.DataFrame.from_arrow(table.slice(place * size, size)) for place in range(PARTS)]
    parts: list[Any] = [Partition(frame) for frame in frames]
    memory = BASE + 60_000_000 if strategy == "shuffle" else None
    request = Request.of(
        "u", "v", "w", maximum=maximum, strategy=strategy, n_vertices=VERTICES // 4, memory_limit=memory
    )
    graph, rows, *_ = forest_tasks(FrameParts(parts, parts, {}, "cudf"), request)
    keys, columns = [], request.columns
    for first, count, chosen in rows:
        for place, number in enumerate(range(first, first + count)):
            keys.append(
                graph.add("gather", number, gather_from, parts[number], chosen, place, number, columns, None).key
            )
    cupy.traffic.reset()
    taken = dask.get(dict(graph), keys)
    reported = purposes(cupy.traffic.crossings)
    assert all(isinstance(frame, cudf.DataFrame) for frame in taken)
    return [row for frame in taken for row in frame["row"].to_arrow().to_pylist()], reported


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("strategy", ["merge", "shuffle"])
def test_rows_and_what_comes_to_the_host(on_gpu, strategy, ids):
    rng = np.random.default_rng(3)
    ends, weight = rng.integers(0, VERTICES, (2, ROWS)), rng.integers(0, 900, ROWS).astype(np.int16)
    source, target = map(IDS[ids], ends)
    table = pa.table({"u": source, "v": target, "w": weight, "row": np.arange(ROWS)})
    maximum = ids == "sparse"
    expected = dfmst.arrays.forest_rows(ends[0], ends[1], weight, maximum=maximum).tolist()
    rows, to_host = forest_of(table, strategy, maximum)
    assert rows == expected
    if ids == "text":
        return  # numbered on the host
    # Copies of a few entries are not counted.
    position = 8 if strategy == "shuffle" else 4
    assert 0.98 * position * len(expected) <= to_host.pop("positions") <= position * len(expected)
    # A shuffle's survey has the keys of every so many edges.
    assert to_host.total() <= (8 * PARTS * VERTICES // 10 if strategy == "shuffle" else 0)
