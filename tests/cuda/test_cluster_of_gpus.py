"""Workers with a GPU: their tasks run there, within its memory."""

from __future__ import annotations

import logging
import runpy
import site
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from tests.support.gpu import standin
from tests.support.gpu.packages import cudf, cupy
from tests.support.gpu.tasks import purposes, run_on_gpu

pytest.importorskip("distributed")

import dask
import dask.dataframe as dd
from click.testing import CliRunner

import dfmst.dask
from dfmst._drive import cluster, devices, tasks as groups
from dfmst._drive.cluster import forest_tasks, require_gpus, resources
from dfmst._drive.devices import spill
from dfmst._drive.parts import FileRows
from dfmst._drive.runs import GroupSizes, distribute
from dfmst._drive.strategies import BASE
from dfmst._drive.tables import FrameParts, read_partition
from dfmst._drive.tasks import Group
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine, CudaEngine
from dfmst._fold.fold import COMPACT, forest_positions
from dfmst._fold.rows import Rows
from dfmst._trees.request import Request
from dfmst.algorithms.solve import solve_table
from dfmst.cli import main
from tests.support.dask_frames import random_frame
from tests.support.workers import ROOT

VERTICES, ROWS, FILES = 80_000, 160_000, 2


def a_worker(**resources: float) -> Any:
    return SimpleNamespace(state=SimpleNamespace(total_resources=resources))


@pytest.fixture
def on_gpu(device, monkeypatch):
    """All tasks run as on a worker with a GPU."""
    run_on_gpu(monkeypatch, "tasks", "runs", "shuffle", "devices")
    return cupy.get_default_memory_pool()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    frame = random_frame(3, vertices=VERTICES, rows=ROWS).reset_index(drop=True)
    folder = tmp_path_factory.mktemp("edges")
    for number in range(FILES):
        frame.iloc[number * ROWS // FILES : (number + 1) * ROWS // FILES].to_parquet(folder / f"{number}.parquet")
    return folder, dfmst.minimum_spanning_forest(frame, "a", "b", "w").reset_index(drop=True)


@pytest.mark.simulated
def test_which_workers_have_a_gpu(device, monkeypatch):
    assert devices.device_engine(a_worker()) is None
    assert isinstance(devices.device_engine(a_worker(GPU=1)), CudaEngine)
    cupy.get_default_memory_pool().set_limit(1000 << 20)
    assert devices.worker_device_bytes(a_worker(GPU=1)) == 950 << 20
    assert devices.worker_device_bytes(a_worker()) == 0
    monkeypatch.setitem(sys.modules, "dask_cuda", object())
    assert isinstance(devices.device_engine(a_worker()), CudaEngine)
    cupy.cuda.devices[0] = 0
    assert devices.device_engine(a_worker(GPU=1)) is None
    assert devices.worker_engine().on_host  # no worker's process


@pytest.mark.simulated
def test_the_limit_of_a_pool_is_its_maximum(device):
    """A pool that begins small grows: dask-cuda knows up to which size, RMM only what it has by now."""
    pool = standin.rmm.mr.PoolMemoryResource(standin.rmm.mr.CudaMemoryResource(), 1 << 20)
    standin.rmm.mr.set_current_device_resource(pool)
    whole = int(0.95 * (1 << 34))
    assert devices.worker_device_bytes(a_worker(GPU=1)) == whole
    for most, expected in ((None, whole), (1000 << 20, 950 << 20)):
        worker = a_worker(GPU=1)
        worker.plugins = {"RMMSetup-1": SimpleNamespace(initial_pool_size=1 << 20, maximum_pool_size=most)}
        assert devices.worker_device_bytes(worker) == expected


@pytest.mark.simulated
def test_what_rmm_keeps_for_the_next_column_is_free(device):
    engine = CudaEngine()
    free = devices._free_bytes(engine)
    cuda_memory = standin.rmm.mr.CudaMemoryResource()
    pool = standin.rmm.mr.PoolMemoryResource(cuda_memory, 8 << 30)
    cupy.driver_memory.take(8 << 30)  # as RMM does when the pool begins
    try:
        standin.rmm.mr.set_current_device_resource(pool)
        assert devices._free_bytes(engine) == free
        tracked = standin.rmm.mr.TrackingResourceAdaptor(pool)
        tracked.used = 3 << 30
        standin.rmm.mr.set_current_device_resource(tracked)
        assert devices._free_bytes(engine) == free - (3 << 30)
        standin.rmm.mr.set_current_device_resource(cuda_memory)  # another process has it
        assert devices._free_bytes(engine) == cupy.cuda.runtime.memGetInfo()[0]
    finally:
        cupy.driver_memory.give(8 << 30)


@pytest.mark.simulated
def test_tasks_solve_in_the_scratch(device):
    """Next to cuDF, CuPy asks the driver for each column, unless temporary ones come out of a pool."""
    cupy.cuda.set_allocator(standin.rmm.allocators.cupy.rmm_cupy_allocator)
    engine, rng = CudaEngine(), np.random.default_rng(0)
    drawn = (*rng.integers(0, 999, (2, 9999), np.uint32), rng.random(9999))
    source, target, weight = (engine.from_host(column) for column in drawn)
    counts = []
    for _ in range(3):
        cupy.driver_memory.mallocs.clear()
        assert len(solve_table(engine, EdgeTable(source, target, weight, 999))) == 998
        counts.append(len(cupy.driver_memory.mallocs))
    assert counts[0] > counts[1] == counts[2] <= 4  # the forest's rows, and extremes of the keys


def test_a_shuffle_of_a_forest_of_twice_the_memory(on_gpu, files):
    folder, expected = files
    device_memory = 24 * len(expected) // 2
    on_gpu.set_limit(on_gpu.used + device_memory)
    before = on_gpu.peak = on_gpu.used
    options: Any = {"n_vertices": VERTICES, "memory_limit": BASE + 4_000_000}
    parts = dd.read_parquet(folder)
    cupy.traffic.reset()
    forest = dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", strategy="shuffle", **options)
    rows = forest.compute(scheduler="synchronous")
    assert on_gpu.peak - before <= device_memory
    pd.testing.assert_frame_equal(rows.reset_index(drop=True), expected)
    assert any(name == "unite_u32" for name, *_ in cupy.cuda.launches)


def test_what_choosing_takes(device):
    pool, engine, rng = cupy.get_default_memory_pool(), CudaEngine(), np.random.default_rng(0)
    count = 200_000
    ends = np.arange(2 * count, dtype=np.uint32)
    rng.shuffle(ends)
    columns: Any = (ends[:count], ends[count:], rng.random(count), np.arange(count, dtype=np.uint64))
    rows = Rows(*(engine.from_host(column) for column in columns))
    before = pool.peak = pool.used
    assert len(forest_positions(engine, rows, 0)) == count
    assert 80 <= (pool.peak - before) / count <= COMPACT


@pytest.mark.parametrize("strategy", ["merge", "shuffle"])
def test_edges_cross_once_and_only_positions_come_back(on_gpu, files, strategy):
    folder, expected = files
    parts = dd.read_parquet(folder)
    options: Any = {"n_vertices": VERTICES}
    if strategy == "shuffle":
        options["memory_limit"] = BASE + 80_000_000
    forest = dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", strategy=strategy, **options)
    cupy.reset()
    rows = forest.compute(scheduler="synchronous")
    pd.testing.assert_frame_equal(rows.reset_index(drop=True), expected)
    table = 24 * ROWS
    to_host = purposes(cupy.traffic.crossings)
    assert sum(cupy.traffic.to_device) <= table + 20_000
    assert to_host.pop("positions") == {"merge": 4, "shuffle": 8}[strategy] * len(expected)
    # A shuffle's survey has the keys of every so many edges.
    assert to_host.total() <= (8 * ROWS // 100 if strategy == "shuffle" else 0)


def test_out_of_memory_halves_what_a_task_holds(on_gpu, files, monkeypatch):
    engine, tried = CudaEngine(), []

    def task(rows: int) -> int:
        tried.append(rows)
        if rows > 300:
            raise MemoryError("out of memory allocating 64 bytes")
        return rows

    assert devices.run_on_device(engine, 1000, task) == 250
    assert tried == [1000, 500, 250]
    with pytest.raises(dfmst.CapacityError, match="worker in this process: the GPU is out of memory"):
        devices.run_on_device(engine, 1000, task, 400)
    folder, expected = files
    forest = dfmst.dask.minimum_spanning_forest(dd.read_parquet(folder), "a", "b", "w", strategy="merge")
    buffers: list[int] = []

    class Fold(groups.TableFold):
        def __init__(self, engine: Any, buffer: int, *options: Any) -> None:
            buffers.append(buffer)
            super().__init__(engine, buffer, *options)

    monkeypatch.setattr("dfmst._drive.tasks.TableFold", Fold)
    on_gpu.set_limit(on_gpu.used + 135 * VERTICES)
    rows = forest.compute(scheduler="synchronous")
    pd.testing.assert_frame_equal(rows.reset_index(drop=True), expected)
    # The second fold, and the merge, first let finished forests go to the host.
    assert buffers == [4, 2, *2 * [4, 4, 2]]
    assert purposes(cupy.traffic.crossings)["spilled"] > 0
    on_gpu.set_limit(on_gpu.used + 10 * VERTICES)
    with pytest.raises(dfmst.CapacityError, match="worker in this process: the GPU is out of memory"):
        forest.compute(scheduler="synchronous")


def test_a_group_is_folded_on_the_gpu_and_waits_there(on_gpu):
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 5_000, (2, 40_000)), rng.integers(0, 900, 40_000)
    table = pa.table({"u": ends[0], "v": ends[1], "w": weight})
    arguments: Any = (Group(0, [table]), table, EdgeColumns("u", "v", "w"))
    on_gpu.set_limit(on_gpu.used + (40 << 20))
    before = on_gpu.peak = on_gpu.used
    (run,) = distribute(*arguments, GroupSizes(100, 5_000, 1 << 40, 5_000)).runs
    assert on_gpu.peak - before <= 40 << 20
    assert 0 < on_gpu.used - before <= 24 * 5_000 + 4 * 512
    assert [run.on_host, spill() > 0, run.on_host] == [False, True, True]
    assert on_gpu.used == before
    rows = np.sort(run.part(0, len(run)).arrays[3]).astype(np.int64)
    expected: Any = dfmst.arrays.forest_rows(ends[0], ends[1], weight)
    np.testing.assert_array_equal(rows, expected)


@pytest.fixture(scope="module")
def gpu_workers():
    """Two worker processes with a GPU each."""
    from distributed import Client, LocalCluster

    quiet: Any = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with (
        LocalCluster(n_workers=2, resources={"GPU": 1}, memory_limit="3GiB", **quiet) as cluster,
        Client(cluster) as client,
    ):
        client.run(site.addsitedir, str(Path(__file__).parents[2]))  # the tests, behind the installed package
        yield client


def run_on(client: Any, limit: int, folder: Path, expected: Any, **options: Any) -> list[dict[str, Any]]:
    """Find the forest with so many bytes of a GPU a worker, compare its rows, and tell what each worker counted.

    A busy machine's scheduler may leave a worker out: the run is then made again.
    """
    from tests.support.gpu.standin import worker

    client.run(worker.install, limit)
    for _ in range(20):
        client.run(worker.counts)
        rows = dfmst.dask.minimum_spanning_forest(dd.read_parquet(folder), "a", "b", "w", **options).compute()
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), expected)
        shares = list(client.run(worker.counts).values())
        if all(share["to_device"] >= 24 * ROWS // FILES // 2 for share in shares):
            return shares
    pytest.fail("in twenty runs, a worker did less than half of its share")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["merge", "shuffle", "auto"])
def test_two_workers_let_edges_cross_once(gpu_workers, files, strategy):
    folder, expected = files
    options: Any = {"n_vertices": VERTICES, "strategy": strategy}
    if strategy == "shuffle":
        options["memory_limit"] = BASE + 80_000_000
    shares = run_on(gpu_workers, 300 * VERTICES, folder, expected, **options)
    to_host = sum((purposes(share["crossings"]) for share in shares), Counter())
    forest = 24 * len(expected)
    assert to_host.pop("positions") == {"shuffle": 8}.get(strategy, 4) * len(expected)
    # TCP takes what goes to the other worker through the host: a forest; a shuffle's edges, as pieces, and its states.
    most: float = 2 * forest + 8 * 4.125 * VERTICES if strategy == "shuffle" else forest
    sent = to_host.pop("sent", 0)
    assert 0 < sent <= most
    assert to_host.total() <= (8 * ROWS // 100 if strategy == "shuffle" else 0)
    masks = 3 * ROWS // 8  # a bit for each entry of three columns that cuDF decodes
    # The rest are flags of components, and cuts of pieces that a busy worker leaves to the other.
    assert sum(share["to_device"] for share in shares) <= 24 * ROWS + masks + sent + 40_000
    assert all(share["peak"] <= 292 * VERTICES for share in shares)
    assert all(share["used"] == 0 for share in shares)


@pytest.mark.slow
def test_auto_finds_a_forest_of_five_times_the_memory_of_two_workers_gpus(gpu_workers, files):
    folder, expected = files
    limit = 24 * len(expected) // 5
    shares = run_on(gpu_workers, limit, folder, expected)
    assert resources().device == int(0.95 * limit)
    assert all(share["peak"] <= limit for share in shares)
    assert all(share["used"] == 0 for share in shares)


# ---- Parquet ------------------------------------------------------------------------------------------------------


def write_edges(folder: Path, table: pa.Table, files: int = 3) -> list[str]:
    paths = [str(folder / f"{number}.parquet") for number in range(files)]
    size = table.num_rows // files + 1
    for number, path in enumerate(paths):
        pyarrow.parquet.write_table(table.slice(number * size, size), path, row_group_size=700)
    return paths


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("strategy", ["merge", "shuffle"])
def test_cudf_decodes_files_on_workers_that_have_it(on_gpu, monkeypatch, tmp_path, strategy, sparse):
    rng = np.random.default_rng(1)
    ends, weight = rng.integers(0, 900, (2, 6000)), rng.integers(0, 50, 6000).astype(np.int16)
    expected = dfmst.arrays.forest_rows(ends[0], ends[1], weight).tolist()
    ids = ends * 10**12 - 5 if sparse else ends
    table = pa.table({"a": ids[0], "b": ids[1], "w": weight, "row": np.arange(6000)})
    paths, decoded = write_edges(tmp_path, table), []

    def read_parquet(path: str, columns: Any = None, row_groups: Any = None) -> Any:
        decoded.append((path, columns))
        return standin_read(path, columns, row_groups)

    standin_read = cudf.read_parquet
    monkeypatch.setattr("cudf.read_parquet", read_parquet)
    run_on_gpu(monkeypatch, "tables")
    parts: list[Any] = [FileRows(Path(path), ["a", "b", "w"]) for path in paths]
    request = Request.of("a", "b", "w", strategy=strategy, n_vertices=900, memory_limit=BASE + 80_000_000)
    forest = forest_tasks(FrameParts(parts, parts, {}, f"files {sparse}"), request)
    chosen = dask.get(dict(forest.graph), [each.rows.key for each in forest.rows])
    size = 6000 // 3 + 1
    found = [
        number * size + row
        for number, rows in enumerate(each for portion in chosen for each in portion)
        for row in rows.position
    ]
    assert found == expected
    assert {path for path, _ in decoded} == {*paths}
    assert all(names == ["a", "b", "w"] for _, names in decoded)
    assert len(decoded) == sum(pyarrow.parquet.ParquetFile(path).num_row_groups for path in paths)


@pytest.mark.usefixtures("with_cudf")
@pytest.mark.parametrize("wrong", ["null", "nan"])
def test_a_row_that_cudf_has_decoded_is_named_in_its_file(on_gpu, monkeypatch, tmp_path, wrong):
    run_on_gpu(monkeypatch, "tables")
    ids, weight = list(range(2000)), [float(row) for row in range(2000)]
    if wrong == "null":
        ids[1500] = None  # type: ignore[call-overload]
    else:
        weight[1500] = float("nan")
    (path,) = write_edges(tmp_path, pa.table({"a": ids, "b": [0] * 2000, "w": weight}), 1)
    with pytest.raises(dfmst.InvalidEdgesError, match=r"partition 0.*1500|1500.*partition 0"):
        list(read_partition(CpuEngine(1), FileRows(Path(path), ["a", "b", "w"]), 0, EdgeColumns("a", "b", "w")))


@pytest.mark.usefixtures("with_cudf")
@pytest.mark.parametrize("kind", ["texts", "decimals", "too large"])
def test_other_files_are_decoded_on_the_host(on_gpu, monkeypatch, tmp_path, kind):
    run_on_gpu(monkeypatch, "tables")
    monkeypatch.delattr("cudf.read_parquet")
    ids: Any = [str(number) for number in range(2000)] if kind == "texts" else list(range(2000))
    weight: Any = pa.array([1] * 2000, pa.decimal128(9, 2)) if kind == "decimals" else [1] * 2000
    (path,) = write_edges(tmp_path, pa.table({"a": ids, "b": ids[::-1], "w": weight}), 1)
    if kind == "too large":
        on_gpu.set_limit(on_gpu.used + 50_000)
    tables = list(read_partition(CpuEngine(1), FileRows(Path(path), ["a", "b", "w"]), 0, EdgeColumns("a", "b", "w")))
    assert sum(table.num_rows for table in tables) == 2000


# ---- one command --------------------------------------------------------------------------------------------------


def command(*arguments: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dfmst")
    assert result.exit_code == code, (result.stderr, result.exception)
    return result


@pytest.fixture
def cards(device, tmp_path, monkeypatch) -> Any:
    """A function that says how many bytes other programs have on each of two GPUs, as each new process sees them."""

    def taken(*sizes: int) -> None:
        text = f"import sys; sys.path.append({ROOT!r})\nfrom tests.support.gpu.standin import worker, cupy\n"
        text += f"worker.install(0)\ncupy.cuda.devices[0] = 2\ncupy.cuda.taken.update(enumerate({sizes}))\n"
        (tmp_path / "sitecustomize.py").write_text(text)

    taken()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return taken


@pytest.fixture
def dask_cuda(cards, monkeypatch) -> list[dict[str, Any]]:
    """What clusters of dask-cuda were started with; their workers have a stand-in for a GPU each."""
    from distributed import Client, LocalCluster

    from tests.support.gpu.standin import worker

    started: list[dict[str, Any]] = []

    def local_cuda_cluster(**options: Any) -> Any:
        started.append(options)
        plain: Any = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
        cluster = LocalCluster(n_workers=options.get("n_workers", 1), resources={"GPU": 1}, **plain)
        with Client(cluster, set_as_default=False) as client:
            client.run(site.addsitedir, str(Path(__file__).parents[2]))
            client.run(worker.install, options.get("rmm_pool_size", 1 << 30))
        return cluster

    monkeypatch.setitem(sys.modules, "dask_cuda", SimpleNamespace(LocalCUDACluster=local_cuda_cluster))
    return started


@pytest.mark.slow
def test_a_command_starts_workers_with_a_gpu_each(dask_cuda, files, tmp_path):
    folder, expected = files
    options = ["-s", "a", "-t", "b", "-w", "w", "--workers", "1", "--gpus", "--gpu-memory-limit", "8GiB"]
    command("forest", folder, "-o", tmp_path / "out", *options)
    assert (dask_cuda[0]["n_workers"], dask_cuda[0]["rmm_pool_size"]) == (1, 8 << 30)
    assert dask_cuda[0]["device_memory_limit"] < 8 << 30
    written = pd.concat([pd.read_parquet(path) for path in sorted((tmp_path / "out").rglob("*.parquet"))])
    pd.testing.assert_frame_equal(written.reset_index(drop=True), expected)


@pytest.mark.slow
def test_the_example_runs_from_end_to_end(dask_cuda, tmp_path, capsys):
    script = Path(__file__).parents[2] / "examples" / "gpu_job.py"
    written = runpy.run_path(str(script))["main"](tmp_path, 2)
    assert dask_cuda == [{"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "n_workers": 2}]
    assert (written.source_rows, written.rows) == (800_000, 49_999)
    assert "the forest is minimal: True" in capsys.readouterr().out


def test_a_type_is_registered_after_those_that_waited_for_dask(monkeypatch):
    waiting, late = type("Waiting", (), {}), type("Late", (), {})
    monkeypatch.setattr(devices, "_unregistered", [waiting])
    assert devices.register_for_gpus(late) is late
    assert devices._unregistered == []


@pytest.fixture
def started(monkeypatch) -> list[dict[str, Any]]:
    """Options of clusters of dask-cuda, none of which starts a worker."""
    found: list[dict[str, Any]] = []
    local = SimpleNamespace(LocalCUDACluster=lambda **options: found.append(options))
    monkeypatch.setitem(sys.modules, "dask_cuda", local)
    return found


@pytest.mark.parametrize("ucx", [True, False])
@pytest.mark.parametrize("memory", [None, 8 << 30])
def test_workers_send_from_gpu_to_gpu_if_they_can(cards, started, monkeypatch, ucx, memory):
    monkeypatch.setattr("dfmst._drive.cluster.has_ucx", lambda: ucx)
    cluster._local_gpus(2, memory)
    (options,) = started
    assert options.get("protocol") == ("ucx" if ucx else None)
    # A pool without a maximum grows beyond the limit; UCX without a pool maps each column anew.
    assert options.get("rmm_maximum_pool_size") == memory
    assert options.get("rmm_pool_size") == (memory or (0.5 if ucx else None))
    assert options.get("rmm_allocator_external_lib_list") == (["cupy"] if ucx or memory else None)


@pytest.mark.parametrize("memory", [None, 8 << 30])
def test_a_pool_that_does_not_fit_a_gpu_is_refused_before_a_worker_starts(cards, started, monkeypatch, memory):
    """RMM takes the whole pool as a worker starts, which would only say that its nanny failed."""
    pool = 8 << 30  # without a limit: half of the stand-in's memory
    monkeypatch.setattr("dfmst._drive.cluster.has_ucx", lambda: True)
    cards(0, (16 << 30) - pool + 1)
    message = f"GPU 1 has {pool - 1:,} of {1 << 34:,} bytes free, and the pool of its worker takes {pool:,}"
    with pytest.raises(dfmst.CapacityError, match=message) as caught:
        cluster._local_gpus(None, memory)
    assert started == []
    assert f"gpu_memory_limit='{(pool - 1) >> 20}MiB'" in caught.value.hint
    cluster._local_gpus(1, memory)  # not on that GPU
    assert len(started) == 1


def test_gpus_that_no_new_process_can_use_are_named(cards, started, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['cupy'] = None")
    with pytest.raises(dfmst.DeviceError, match=r"a process of a worker cannot use the GPUs: .*cupy"):
        cluster._local_gpus(1, 8 << 30)
    assert started == []


@pytest.mark.parametrize(
    ("address", "name"), [("tcp://10.0.0.1:1", "tcp"), ("ucxx://10.0.0.1:1", "ucx"), ("ucx://a:1", "ucx")]
)
def test_the_protocol_is_named(address, name):
    assert cluster.protocol_of(SimpleNamespace(scheduler=SimpleNamespace(address=address))) == name


def test_a_command_says_what_is_missing(device, files, tmp_path, monkeypatch):
    options = ("forest", files[0], "-s", "a", "-t", "b", "-w", "w", "-o", tmp_path / "out")
    monkeypatch.setitem(sys.modules, "dask_cuda", None)
    reported = command(*options, "--gpus", code=1)
    assert "workers with a GPU need dask-cuda" in reported.stderr
    assert "pip install 'dfmst[cu13]'" in reported.stderr
    cupy.cuda.devices[0] = 0
    assert "finds no CUDA device" in command(*options, "--workers", 2, "--gpus", code=1).stderr
    assert (
        "--gpu-memory-limit much: write it as"
        in command(*options, "--gpus", "--gpu-memory-limit", "much", code=2).stderr
    )
    with pytest.raises(ValueError, match="gpu_memory_limit is for GPU workers"):
        dfmst.dask.forest_of_files(files[0], tmp_path / "out", "a", "b", "w", workers=2, gpu_memory_limit="8GiB")
    assert not (tmp_path / "out").exists()


def test_a_cluster_without_a_gpu_is_refused():
    with pytest.raises(dfmst.DfmstError, match="no worker of the cluster works on a GPU"):
        require_gpus(SimpleNamespace(run=lambda function, **_: {"tcp://a:1": 0, "tcp://b:1": 0}))
    require_gpus(SimpleNamespace(run=lambda function, **_: {"tcp://a:1": 0, "tcp://b:1": 1 << 30}))
