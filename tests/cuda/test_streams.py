"""CUDA streams and devices: work is in order with the caller's stream and with cuDF's, uploads with their memory."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
import dfmst.stream
from dfmst._engines import CudaEngine, upload
from dfmst._fold.rows import Rows
from dfmst.errors import UnsupportedFrameError
from tests.support.gpu.packages import cudf, cupy

EDGES = {"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3.0, 1.0, 2.0]}


def frame():
    return cudf.DataFrame.from_arrow(pa.table(EDGES))


# ---- the caller's stream ------------------------------------------------------------------------------------------


def test_a_stream_that_does_not_wait_is_put_in_order(device):
    edges, stream = frame(), cupy.cuda.Stream(non_blocking=True)
    default = cupy.cuda.Stream.null
    with stream:
        forest = dfmst.minimum_spanning_forest(edges)
        assert cupy.cuda.get_current_stream() is stream
    assert forest["weight"].to_arrow().to_pylist() == [1.0, 2.0]
    # Each part of the call begins after the stream's work, and the stream goes on after it.
    assert cupy.cuda.waits
    assert set(cupy.cuda.waits[::2]) == {(default, stream)}
    assert set(cupy.cuda.waits[1::2]) == {(stream, default)}
    assert {stream for *_, stream in cupy.cuda.launches} == {default}


def test_a_stream_is_put_in_order_when_a_call_fails(device):
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        with pytest.raises(RuntimeError), CudaEngine().guard():
            raise RuntimeError
        assert cupy.cuda.get_current_stream() is stream
    assert cupy.cuda.waits == [(cupy.cuda.Stream.null, stream), (stream, cupy.cuda.Stream.null)]


@pytest.mark.parametrize(
    "stream", [cupy.cuda.Stream(), cupy.cuda.Stream.null, cupy.cuda.Stream.ptds], ids=["own", "default", "ptds"]
)
def test_a_generator_runs_on_the_callers_device_and_stream(device, stream):
    """A thread reads ahead; each thread of CUDA begins on device 0 and its default stream."""
    cupy.cuda.devices[0], seen = 2, []

    def frames():
        for _ in range(2):
            seen.append(
                (threading.current_thread().name, cupy.cuda.runtime.getDevice(), cupy.cuda.get_current_stream())
            )
            yield pa.table(EDGES)

    with cupy.cuda.Device(1), stream:
        dfmst.stream.minimum_spanning_forest(frames, engine="cuda")
    expected = cupy.cuda.Stream.null if stream is cupy.cuda.Stream.ptds else stream
    assert {place[1:] for place in seen if place[0] == "dfmst-reader"} == {(1, expected)}
    assert cupy.cuda.runtime.getDevice() == 0


@pytest.mark.parametrize("blocking", [True, False], ids=["a stream of the caller's", "the default stream"])
def test_other_streams_need_no_order(device, blocking):
    with cupy.cuda.Stream() if blocking else cupy.cuda.Stream.null as stream:
        dfmst.minimum_spanning_forest(frame())
        assert {launched for *_, launched in cupy.cuda.launches} == {stream}
    assert cupy.cuda.waits == []


# ---- uploads ------------------------------------------------------------------------------------------------------


def batches(lengths, begun=None):
    for number, length in enumerate(lengths):
        if begun is not None:
            begun.append(number)
        column = np.full(length, number, np.uint32)
        yield Rows(column, column + np.uint32(1), column.astype(np.float64), 0), number


@pytest.mark.parametrize("lengths", [(0,), (0, 5), (5, 0), (0, 0, 7, 0, 3), (3, 9, 0)], ids=str)
def test_batches_without_a_row(device, lengths):
    engine = CudaEngine()
    for (rows, number), length in zip(upload(cupy, batches(lengths)), lengths, strict=True):
        assert [engine.to_host(column).tolist() for column in rows[:2]] == [[number] * length, [number + 1] * length]
        assert engine.to_host(rows.weight).dtype == np.float64


def test_a_batch_is_copied_while_the_one_before_is_folded(device):
    begun: list[int] = []
    for number, (rows, companion) in enumerate(upload(cupy, batches((1000, 1001, 1002), begun))):
        assert companion == number
        assert len(begun) == min(number + 2, 3)
        assert [len(rows.weight), *(int(column[-1]) for column in rows[:2])] == [1000 + number, number, number + 1]
    assert len(begun) == 3


def test_pinned_memory_is_used_again_after_its_copy(device):
    """The host runs ahead: it asks for nothing of the batches before."""
    uploaded = [rows for rows, _ in upload(cupy, batches((7, 9, 8, 5, 9)))]
    assert [rows.source.tolist() for rows in uploaded] == [[0] * 7, [1] * 9, [2] * 8, [3] * 5, [4] * 9]


def test_an_upload_that_ends_early_waits_for_its_copies(device):
    uploaded: Any = upload(cupy, batches((10, 10, 10)))
    next(uploaded)
    copied = len(cupy.traffic.to_device)
    assert copied == 6  # two batches, the second one not received
    streams = {waiting for waiting, _ in cupy.cuda.waits} - {cupy.cuda.Stream.null}
    (stream,) = streams
    assert len(stream.queue) == 3
    uploaded.close()
    assert stream.queue == []


@pytest.mark.parametrize("first", [True, False], ids=["the first batch", "a later batch"])
def test_a_stream_whose_rows_are_all_dropped(device, tmp_path, monkeypatch, first):
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 1000)
    monkeypatch.setattr("dfmst._fold.budget.MOST", 2)
    rng = np.random.default_rng(0)
    weight = rng.random(4000)
    weight[: 1000 if first else 4000] = np.nan
    weight[2500:3000] = np.nan
    if not first:
        weight[:10] = 1.0
    table = pa.table({"source": rng.integers(0, 99, 4000), "target": rng.integers(0, 99, 4000), "weight": weight})
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet")
    forest = dfmst.stream.minimum_spanning_forest(tmp_path / "edges.parquet", invalid="drop", engine="cuda")
    assert forest.equals(dfmst.minimum_spanning_forest(table, invalid="drop"))


@pytest.mark.parametrize("rows", [0, 3], ids=["no row", "no valid row"])
def test_tables_without_a_valid_row(device, tmp_path, rows):
    table = pa.table({name: pa.array(values[:rows], pa.float64()) for name, values in EDGES.items()})
    table = pa.table({"source": [1] * rows, "target": [2] * rows, "weight": pa.array([None] * rows, pa.float64())})
    table = table.cast(pa.schema([("source", pa.int64()), ("target", pa.int64()), ("weight", pa.float64())]))
    edges = cudf.DataFrame.from_arrow(table)
    assert len(dfmst.minimum_spanning_forest(edges, invalid="drop")) == 0
    assert len(dfmst.minimum_spanning_forest(table, invalid="drop", engine="cuda")) == 0
    assert len(dfmst.connected_components(edges.take(cupy.arange(0)))) == 0
    assert len(dfmst.arrays.forest_rows(*[cupy.zeros(0, np.int64)] * 3)) == 0
    assert dfmst.verify(edges, dfmst.minimum_spanning_forest(edges, invalid="drop"), invalid="drop")
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet")
    assert dfmst.stream.minimum_spanning_forest(tmp_path, invalid="drop", engine="cuda").num_rows == 0


# ---- devices ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["CuPy", "another library", "cuDF", "cuDF's texts"])
@pytest.mark.parametrize("name", ["source", "target", "weight"])
def test_columns_on_another_device_are_refused(device, name, kind):
    """CuPy, and cuDF through it, would copy them in silence."""
    columns: dict[str, Any] = {}
    for column in ("source", "target", "weight"):
        with cupy.cuda.Device(int(column == name)):
            columns[column] = array = cupy.arange(5)
            if kind == "another library":
                interface = array.__cuda_array_interface__
                columns[column] = SimpleNamespace(array=array, __cuda_array_interface__=interface)
            if kind == "cuDF's texts" and column != "weight":
                columns[column] = cudf.Series.from_arrow(pa.array(list("abcde")))
            elif kind.startswith("cuDF"):
                columns[column] = cudf.Series.from_arrow(pa.array(range(5)))
    frame = cudf.DataFrame(columns) if kind.startswith("cuDF") else None
    with pytest.raises(UnsupportedFrameError, match=f"column '{name}' is on GPU 1, and GPU 0 is the current") as caught:
        dfmst.arrays.forest_rows(**columns) if frame is None else dfmst.minimum_spanning_forest(frame)
    assert "with cupy.cuda.Device(1)" in caught.value.hint


def test_kernels_are_loaded_on_each_device(device):
    edges = [np.array(EDGES[name]) for name in EDGES]
    for place in (0, 1, 0):
        with cupy.cuda.Device(place):
            rows: Any = dfmst.arrays.forest_rows(*map(cupy.asarray, edges))
            assert (rows.device.id, rows.tolist()) == (place, [1, 2])
