"""Bytes over the bus: what `plan` says of a merge, next to what is counted."""

from __future__ import annotations

import pickle
from typing import Any

import dask
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst import generate
from tests.support.gpu.standin import cupy
from tests.support.gpu.tasks import run_on_gpu

pytest.importorskip("dask")

from dfmst._drive.build import forest_graph
from dfmst._drive.client import Resources
from dfmst._drive.parts import FileRows
from dfmst._drive.tables import FrameParts
from dfmst._drive.tasks import merge
from dfmst._trees.request import Request

VERTICES, ROWS, WORKERS = 8_000, 160_000, 3
ID_BYTES = {"dense": 4, "sparse": 8, "text": 8 + 8}


def merged_by_one(tables: list[Any], *options: Any) -> Any:
    """Merge forests, all but the first of other workers, which send them by TCP."""
    return merge([tables[0], *(pickle.loads(pickle.dumps(table)) for table in tables[1:])], *options)


@pytest.fixture(scope="module", params=ID_BYTES)
def files(request, tmp_path_factory):
    """Files of a graph, with ids of each kind."""
    folder = tmp_path_factory.mktemp(request.param)
    table = generate.erdos_renyi(VERTICES, ROWS, seed=1)
    ends = [table.column(place).to_numpy() for place in (0, 1)]
    if request.param == "sparse":
        ends = [column * 10**12 for column in ends]
    columns: list[Any] = [pa.array(column) for column in ends]
    if request.param == "text":
        columns = [pa.array([f"v{end:07}" for end in column.tolist()]) for column in ends]
    table = pa.table({"source": columns[0], "target": columns[1], "weight": table.column("weight")})
    paths = [str(folder / f"{number}.parquet") for number in range(2 * WORKERS)]
    for number, path in enumerate(paths):
        size = ROWS // len(paths) + 1
        pyarrow.parquet.write_table(table.slice(number * size, size), path)
    return request.param, paths


def test_bytes_over_the_bus_are_what_plan_says(device, monkeypatch, files):
    kind, paths = files
    run_on_gpu(monkeypatch, "tasks")
    monkeypatch.setattr("dfmst._drive.tasks.merge", merged_by_one)
    monkeypatch.setattr("dfmst._drive.build.resources", lambda: Resources(WORKERS, 1 << 40))
    request = Request.of(strategy="merge", n_vertices=VERTICES)
    parts: list[Any] = [FileRows(path, list(request.columns.names)) for path in paths]
    forest = forest_graph(FrameParts(parts, parts, {}, "bus"), request)
    cupy.traffic.reset()
    chosen = dask.get(dict(forest.graph), [each.rows.key for each in forest.rows])
    assert sum(len(each.position) for portion in chosen for each in portion) == VERTICES - 1
    counted = sum(cupy.traffic.to_device) + sum(cupy.traffic.to_host)
    size: Any = {"partitions": len(paths), "gpus": WORKERS, "gpu_memory_limit": "8GB", "id_bytes": ID_BYTES[kind]}
    planned = dfmst.plan(VERTICES, ROWS, strategy="merge", **size)
    assert not planned.rounds
    assert 1 / 1.3 <= counted / planned.bytes_over_bus <= 1.3
