"""Streams on the CUDA engine: the same rows, through pinned memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst.errors import CapacityError
from tests.support.gpu.packages import cudf, cupy


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("text", [False, True])
def test_the_rows_of_a_run_on_the_host(device, tmp_path, monkeypatch, maximum, text):
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 3_000)
    monkeypatch.setattr("dfmst._fold.budget.MOST", 2)
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 2_000, (2, 40_000)), rng.integers(0, 90, 40_000)
    ids = [column.astype(str) if text else column for column in ends]
    table = pa.table({"source": ids[0], "target": ids[1], "weight": weight, "name": weight.astype(str)})
    for number in range(4):
        pyarrow.parquet.write_table(table.slice(number * 10_000, 10_000), tmp_path / f"part-{number}.parquet")
    where: Any = {"gpu_memory_limit": "1GiB", "engine": "cuda"}
    if maximum:
        assert dfmst.stream.maximum_spanning_forest(tmp_path, **where).equals(dfmst.maximum_spanning_forest(table))
    else:
        assert dfmst.stream.minimum_spanning_forest(tmp_path, **where).equals(dfmst.minimum_spanning_forest(table))


@pytest.mark.parametrize("batch", range(6))
def test_a_dictionary_from_any_batch_on(device, tmp_path, monkeypatch, batch):
    """The batch that is in flight then is folded before the buffer changes."""
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 2_000)
    monkeypatch.setattr("dfmst._fold.budget.MOST", 2)
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 1_000, (2, 12_000)), rng.integers(0, 90, 12_000)
    ends[0, batch * 2_000 + 5 :: 3] += 10**12
    table = pa.table({"source": ends[0], "target": ends[1], "weight": weight})
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet", write_statistics=False)
    forest = dfmst.stream.fold(tmp_path, gpu_memory_limit="1GiB", engine="cuda")
    assert forest.frame.equals(dfmst.minimum_spanning_forest(table))
    assert forest.verify()


# ---- what crosses the bus, and what the device holds --------------------------------------------------------------

ROWS, VERTICES = 200_000, 5_000


def edges(sparse, seed=0):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, VERTICES, (2, ROWS))
    if sparse:
        ends = rng.integers(-(10**15), 10**15, VERTICES)[ends]
    return pa.table({"source": ends[0], "target": ends[1], "weight": rng.random(ROWS)})


def crossings(forest):
    """Bytes of all that may cross but edges and ids: the forest at the end, its links at each solve, looks at it."""
    solves = sum(name == "join_levels" for name, *_ in cupy.cuda.launches)
    rows = forest.rows if isinstance(forest, dfmst.forest.Forest) else len(forest)
    return 24 * rows + 32 * VERTICES * solves + 16_000


@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_crosses_once_and_the_forest_comes_back(device, tmp_path, sparse):
    table = edges(sparse)
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet", row_group_size=30_000)
    cupy.reset()
    forest = dfmst.stream.fold(tmp_path / "edges.parquet", gpu_memory_limit="1GiB", engine="cuda")
    sent, back = sum(cupy.traffic.to_device), sum(cupy.traffic.to_host)
    assert 24 * ROWS <= sent <= 24 * ROWS + crossings(forest)
    assert back <= crossings(forest) + 8 * VERTICES * sparse
    assert forest.frame.equals(dfmst.minimum_spanning_forest(table))


@pytest.mark.parametrize("sparse", [False, True])
def test_frames_of_cudf_stay_on_the_device(device, sparse):
    table = edges(sparse).append_column("name", pa.array(np.arange(ROWS) % 7))
    frames = [cudf.DataFrame.from_arrow(table.slice(begin, 70_000)) for begin in range(0, ROWS, 70_000)]
    cupy.reset()
    found = dfmst.stream.minimum_spanning_forest(lambda: iter(frames), gpu_memory_limit="1GiB", engine="cuda")
    assert sum(cupy.traffic.to_device) <= crossings(found)
    assert sum(cupy.traffic.to_host) <= crossings(found) + 8 * VERTICES * sparse
    assert isinstance(found, cudf.DataFrame)
    expected = dfmst.minimum_spanning_forest(table)
    assert found.to_arrow(preserve_index=False).equals(expected)
    # A list shows where the rows lie before it is read.
    assert dfmst.stream.fold(frames, gpu_memory_limit="1GiB").engine == "cuda"
    for engine in ("cpu", "auto"):
        with pytest.raises(dfmst.UnsupportedFrameError, match="frame 0 of edges is on a GPU") as refused:
            dfmst.stream.fold(lambda: iter(frames), gpu_memory_limit="1GiB", engine=engine)
        assert "engine='cuda'" in str(refused.value)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_limit_is_of_the_device(device, tmp_path, sparse):
    table = edges(sparse)
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet", row_group_size=30_000)
    pool = cupy.get_default_memory_pool()
    limit, before = (96 + 32 * sparse << 20) + 180 * VERTICES + (1 + 4 * sparse << 20), pool.used
    pool.peak = before
    forest = dfmst.stream.fold(tmp_path / "edges.parquet", gpu_memory_limit=limit, engine="cuda")
    assert pool.peak - before <= limit
    assert forest.frame.equals(dfmst.minimum_spanning_forest(table))
    with pytest.raises(CapacityError, match=r"32,768 MiB is more than the GPU has, 16,384 MiB"):
        dfmst.stream.fold(tmp_path / "edges.parquet", gpu_memory_limit="32GiB", engine="cuda")
    # Fewer bytes a vertex: rows become runs on the host, if they fit its own limit.
    small: Any = {"gpu_memory_limit": (96 + 32 * sparse << 20) + 500_000, "engine": "cuda"}
    assert dfmst.stream.fold(tmp_path / "edges.parquet", **small).frame.equals(forest.frame)
    with pytest.raises(CapacityError, match="memory limit"):
        dfmst.stream.fold(tmp_path / "edges.parquet", memory_limit=small["gpu_memory_limit"], **small)


def test_a_checkpoint_goes_on_on_the_other_engine(device, tmp_path, monkeypatch):
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 40_000)
    monkeypatch.setattr("dfmst._fold.checkpoint.SavePace.due", lambda self, done: True)
    table, folder = edges(sparse=True), tmp_path / "saved"
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet", row_group_size=30_000)

    def stop(event, rows):
        if event == "saved" and rows > ROWS // 2:
            raise KeyboardInterrupt

    options: Any = {"gpu_memory_limit": "1GiB", "checkpoint": folder}
    for first, second in (("cuda", "cpu"), ("cpu", "cuda")):
        with pytest.raises(KeyboardInterrupt):
            dfmst.stream.fold(tmp_path / "edges.parquet", engine=first, on_checkpoint=stop, **options)
        resumed: list[int] = []

        def note(_: str, rows: int, to: list[int] = resumed) -> None:
            to.append(rows)

        forest = dfmst.stream.fold(tmp_path / "edges.parquet", engine=second, on_checkpoint=note, **options)
        assert resumed[0] > ROWS // 2
        assert forest.frame.equals(dfmst.minimum_spanning_forest(table))


# ---- components and clusters --------------------------------------------------------------------------------------

KINDS = {"dense": 1, "sparse": 10**13, "text": None}


def draw(kind: str) -> pa.Table:
    rng = np.random.default_rng(7)
    source, target = rng.integers(0, 900, (2, 2_000))
    factor = KINDS[kind]
    ids = [pa.array([str(v) for v in c]) if factor is None else pa.array(c * factor) for c in (source, target)]
    return pa.table([*ids, pa.array(rng.integers(0, 9, 2_000))], ["source", "target", "weight"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on_gpu", [False, True])
def test_components_and_clusters(device, monkeypatch, kind, on_gpu):
    monkeypatch.setattr("dfmst._fold.fold._LEAST", 16)
    monkeypatch.setattr("dfmst._fold.fold.SetsFold.piece", 300)
    table = draw(kind)
    frames = [table.slice(at, 500) for at in range(0, 2_000, 500)]
    given = [cudf.DataFrame.from_arrow(frame) for frame in frames] if on_gpu else frames
    found = dfmst.stream.connected_components(given, engine="cuda")
    whole = dfmst.connected_components(table)
    cut, expected = dfmst.stream.clusters(given, n_clusters=40, engine="cuda"), dfmst.clusters(table, n_clusters=40)
    if on_gpu:
        assert type(found) is type(cut) is cudf.DataFrame
        found, cut = found.to_arrow(preserve_index=False), cut.to_arrow(preserve_index=False)
    assert found.to_pydict() == whole.to_pydict()
    assert cut.to_pydict() == expected.to_pydict()
