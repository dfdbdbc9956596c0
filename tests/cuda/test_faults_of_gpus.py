"""Workers with a GPU each that are killed, short of memory, or beside workers without: the same rows, or one error."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("distributed")

import dask
import dask.dataframe as dd
from distributed import Client, LocalCluster

import dfmst
import dfmst.dask
from tests.support.dask_frames import STRATEGIES, random_frame
from tests.support.forked import Forked
from tests.support.gpu.standin import worker
from tests.support.gpu.workers import GpuWorkers

LIMIT = 64 << 20
DEVICES = ("0,1", "1,0")  # as dask-cuda sets CUDA_VISIBLE_DEVICES: each worker's own device is its first
KILLS = 2

pytestmark = pytest.mark.slow(seconds=20)


def slowly(frame: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.02)
    return frame


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, GpuWorkers]]:
    """A client, and two workers with a GPU each."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20}),
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs="CRITICAL") as cluster,
        Client(cluster) as client,
    ):
        workers = GpuWorkers(cluster.scheduler_address, tmp_path_factory.mktemp("workers"))
        try:
            for devices in DEVICES:
                workers.start_on_gpu(devices, LIMIT)
            client.wait_for_workers(2, timeout=120)
            yield client, workers
        finally:
            while workers.processes:
                workers.kill(0)


def forest_of(frame: pd.DataFrame, strategy: Any, **options: Any) -> Any:
    parts = dd.from_pandas(frame, npartitions=4, sort=False).map_partitions(slowly, meta=frame.iloc[:0])
    options = {**STRATEGIES[strategy], **options}
    return dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", strategy=strategy, **options)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_gpu_worker_killed_at_random_moments(gpus, strategy, tmp_path):
    client, workers = gpus
    frame = random_frame(30, vertices=400)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    begin = time.monotonic()
    pd.testing.assert_frame_equal(forest_of(frame, strategy).compute(), expected)
    duration = time.monotonic() - begin
    counts = list(client.run(worker.counts).values())
    assert sorted(count["ordinal"] for count in counts) == [0, 1]
    assert any(count["to_device"] for count in counts)  # Dask may give one worker all tasks
    generator = random.Random(strategy)
    for kill in range(KILLS):
        kept = tmp_path / str(kill)
        place = generator.randrange(2)
        devices = workers.devices[place]
        killer = threading.Timer(generator.uniform(0.05, 0.95) * duration, workers.kill, [place])
        killer.start()
        pd.testing.assert_frame_equal(forest_of(frame, strategy, checkpoint=kept).compute(), expected)
        killer.join()
        workers.start_on_gpu(devices, LIMIT)
        client.wait_for_workers(2, timeout=120)
        # What was kept is whole, and is what the next run goes on from.
        files = {path: path.stat().st_mtime_ns for path in kept.iterdir()}
        assert len(files) > 2
        pd.testing.assert_frame_equal(forest_of(frame, strategy, checkpoint=kept).compute(), expected)
        assert files == {path: path.stat().st_mtime_ns for path in kept.iterdir()}


def executed(dask_worker: Any) -> int:
    return int(dask_worker.state.executed_count)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_worker_without_a_gpu_beside_one_with(gpus, strategy):
    client, workers = gpus
    devices = workers.devices[0]
    workers.kill(0)
    workers.start()
    client.run(worker.counts, workers=workers_on_gpu(client))
    client.wait_for_workers(2, timeout=120)
    try:
        frame = random_frame(31, vertices=400)
        expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
        before = client.run(executed)
        (on_device,) = workers_on_gpu(client)
        # Which worker a task goes to is Dask's choice.
        moved = 0
        for _ in range(20):
            pd.testing.assert_frame_equal(forest_of(frame, strategy).compute(), expected)
            moved = client.run(worker.counts, workers=[on_device])[on_device]["to_device"]
            if moved:
                break
        assert moved
        assert all(count > before[address] for address, count in client.run(executed).items())
    finally:
        workers.kill(1)
        workers.start_on_gpu(devices, LIMIT)
        client.wait_for_workers(2, timeout=120)


def workers_on_gpu(client: Client) -> list[str]:
    reported = client.scheduler_info(n_workers=-1)["workers"].items()
    return [address for address, one in reported if one["resources"].get("GPU")]


def test_a_gpu_that_is_out_of_memory_is_named_and_what_was_done_is_kept(gpus, tmp_path):
    client, _ = gpus
    frame = random_frame(32, vertices=400)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    addresses = workers_on_gpu(client)
    # The buffer of a fold takes 2^16 rows of 24 bytes, and as much again while it is solved.
    small, caught, kept = addresses[0], None, tmp_path
    try:
        client.run(worker.set_limit, 100_000, workers=[small])
        # Which worker a task goes to is Dask's choice.
        for kept in (tmp_path / str(number) for number in range(20)):
            caught = error_of(forest_of(frame, "merge", checkpoint=kept))
            if caught is not None:
                break
    finally:
        client.run(worker.set_limit, LIMIT, workers=[small])
    assert re.search(f"worker {small}: .*memory.*\nHint: use GPUs with more memory", str(caught))
    pd.testing.assert_frame_equal(forest_of(frame, "merge", checkpoint=kept).compute(), expected)


def error_of(forest: Any) -> dfmst.CapacityError | None:
    try:
        forest.compute()
    except dfmst.CapacityError as error:
        return error
    return None


def test_a_lost_scheduler_is_named_and_the_next_run_goes_on(tmp_path):
    frame = random_frame(33, vertices=400).reset_index(drop=True)
    (tmp_path / "edges").mkdir()
    for number in range(40):
        frame.iloc[number * 50 : number * 50 + 50].to_parquet(tmp_path / "edges" / f"{number:02}.parquet")
    kept, out = tmp_path / "kept", tmp_path / "out"
    options: Any = {"source": "a", "target": "b", "weight": "w", "strategy": "merge", "checkpoint": kept}
    scheduler, address, workers = start_scheduler(tmp_path / "first")
    killer = threading.Thread(target=kill_after_a_file, args=(scheduler, kept))
    try:
        killer.start()
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
            pytest.raises(dfmst.ClusterError, match=f"lost the scheduler at {address}\nHint: start it again, and run"),
        ):
            dfmst.dask.forest_of_files(tmp_path / "edges", out, scheduler=address, **options)
    finally:
        killer.join()
        workers.kill(0)
    assert not out.exists()
    files = list(kept.glob("*.arrow"))
    assert files
    scheduler, address, workers = start_scheduler(tmp_path / "second")
    try:
        notes: list[str] = []
        dfmst.dask.forest_of_files(tmp_path / "edges", out, scheduler=address, on_checkpoint=notes.append, **options)
    finally:
        workers.kill(0)
        scheduler.kill()
        scheduler.wait(60)
    assert "continuing with" in notes[0]
    assert not any(path.exists() for path in files)  # a finished run removes its checkpoints
    rows = pd.concat([pd.read_parquet(path) for path in sorted(out.iterdir())], ignore_index=True)
    pd.testing.assert_frame_equal(rows, dfmst.minimum_spanning_forest(frame, "a", "b", "w").reset_index(drop=True))


def start_scheduler(folder: Path) -> tuple[Forked, str, GpuWorkers]:
    """Start a scheduler's process and a worker with a GPU."""
    folder.mkdir()
    file = folder / "scheduler.json"
    arguments = ["--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    scheduler = Forked("from distributed.cli.dask_scheduler import main; main()", arguments, folder)
    wait_until(lambda: file.exists() and file.read_text().endswith("}"))
    address = json.loads(file.read_text())["address"]
    (folder / "worker").mkdir()
    workers = GpuWorkers(address, folder / "worker")
    workers.start_on_gpu("0", LIMIT)
    return scheduler, address, workers


def kill_after_a_file(scheduler: Forked, folder: Path) -> None:
    """Kill it as soon as the result of a task is kept."""
    wait_until(lambda: any(folder.glob("*.arrow")))
    scheduler.kill()
    scheduler.wait(60)


def wait_until(done: Any) -> None:
    deadline = time.monotonic() + 120
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.002)
