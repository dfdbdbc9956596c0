"""What another worker sends may lie at an odd address: NumPy then calls it unaligned, and kernels refuse it."""

from __future__ import annotations

import site
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pytest

import dfmst.dask
from dfmst._drive.tables import travelling_ids, travelling_table
from dfmst._drive.tasks import merge
from dfmst._edges.vertices import id_columns
from tests.support.dask_frames import STRATEGIES, check, random_frame


def moved(frame: Any) -> memoryview:
    """Copy bytes to an odd address."""
    room = np.empty(memoryview(frame).nbytes + 1, np.uint8)[1:]
    room[:] = np.frombuffer(frame, np.uint8)
    return room.data


def receive_at_odd_addresses() -> None:
    """Let each buffer that this process receives lie at an odd address, as one does that follows odd many bytes."""
    from distributed.comm import tcp

    plain, apart = tcp.read_bytes_rw, tcp.unpack_frames

    async def read(stream: Any, size: int) -> memoryview:
        return moved(await plain(stream, size))

    def unpack(received: Any, **options: Any) -> Any:
        frames, missing = apart(received, **options)
        return [moved(frame) for frame in frames], missing

    tcp.read_bytes_rw, tcp.unpack_frames = read, unpack


@pytest.fixture(scope="module")
def workers():
    from distributed import Client, LocalCluster

    quiet: Any = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=3, memory_limit="2GiB", **quiet) as cluster, Client(cluster) as client:
        client.run(site.addsitedir, str(Path(__file__).parents[3]))  # the tests, behind the installed package
        client.run(receive_at_odd_addresses)
        yield client


@pytest.mark.parametrize("ids", ["dense", "sparse", "text"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows(workers, strategy, ids):
    frame = random_frame(5, ids=ids)
    check(frame, dd.from_pandas(frame, npartitions=7), strategy)


@pytest.mark.parametrize("ids", ["dense", "sparse", "text"])
def test_a_table(ids):
    frame = random_frame(5, ids=ids)
    ends = travelling_ids(id_columns(("a", frame.a.to_numpy()), ("b", pa.array(frame.b))))
    table = travelling_table(
        *ends, frame.w.to_numpy().view(np.uint64), np.arange(len(frame), dtype=np.uint64), "float64"
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    sent = pa.ipc.open_stream(pa.py_buffer(moved(sink.getvalue()))).read_all()
    assert not sent["row"].chunk(0).to_numpy().flags.aligned
    expected = dfmst.arrays.forest_rows(frame.a.to_numpy(), frame.b.to_numpy(), frame.w.to_numpy())
    assert merge([sent])["row"].to_pylist() == expected.tolist()
