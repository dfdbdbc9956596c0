"""Workers that die, a scheduler that is lost, bad input: the same rows, or one clear error."""

from __future__ import annotations

import importlib
import pickle
import random
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster

import dfmst
import dfmst.dask
from dfmst import errors
from dfmst._drive.cluster.client import Resources
from dfmst._drive.cluster.graph import EDGE_TABLE, checkpointed, first_run
from dfmst._drive.cluster.tables import empty_table
from tests.support.dask_frames import STRATEGIES, forest_of, in_files, random_frame
from tests.support.workers import Workers


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Workers]]:
    """A client, and two workers to kill."""
    settings = {"distributed.scheduler.allowed-failures": 20}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs="CRITICAL") as cluster,
        Client(cluster) as client,
    ):
        workers = Workers(cluster.scheduler_address, tmp_path_factory.mktemp("workers"))
        try:
            workers.start()
            workers.start()
            yield client, workers
        finally:
            while workers.processes:
                workers.kill(0)


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_worker_killed_at_ten_random_moments(mortal, strategy):
    client, workers = mortal
    client.wait_for_workers(2, timeout=60)

    def slowly(frame: pd.DataFrame) -> pd.DataFrame:  # not of this module, which the workers cannot import
        time.sleep(0.02)
        return frame

    frame = random_frame(30, vertices=400)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    parts = dd.from_pandas(frame, npartitions=4, sort=False).map_partitions(slowly, meta=frame.iloc[:0])
    forest = dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", strategy=strategy, **STRATEGIES[strategy])
    begin = time.monotonic()
    pd.testing.assert_frame_equal(forest.compute(), expected)
    duration = time.monotonic() - begin
    generator = random.Random(strategy)
    for _ in range(10):
        client.wait_for_workers(2, timeout=60)
        killer = threading.Timer(generator.uniform(0.05, 0.95) * duration, workers.kill, [generator.randrange(2)])
        killer.start()
        pd.testing.assert_frame_equal(forest.compute(), expected)
        killer.join()
        workers.start()


def test_bad_input_is_our_error_once_with_the_partition_named(client):
    frame = random_frame(31)
    frame.iloc[1234, frame.columns.get_loc("w")] = np.nan
    forest = dd.from_pandas(frame, npartitions=4, sort=False).mst.minimum("a", "b", "w")
    with pytest.raises(dfmst.InvalidEdgesError) as caught:
        forest.compute()
    assert str(caught.value).startswith("partition 2: column 'w' has 1 weight that is NaN or null, in row 234\nHint: ")
    assert str(caught.value).count("Hint") == 1
    assert caught.value.__cause__ is None


def halves_of_types(first: pa.DataType, second: pa.DataType) -> list[pd.DataFrame]:
    """Two halves of a frame, with ids of these types."""
    frame, halves = random_frame(32), []
    for part, kind in ((frame[:1000], first), (frame[1000:], second)):
        ids = {}
        for name in ("a", "b"):
            number = pa.array(part[name].astype("int32"))
            number = number.cast({pa.date64(): pa.date32(), pa.time32("ms"): pa.time32("s")}.get(kind, pa.int32()))
            ids[name] = pd.Series(number.cast(kind), part.index, pd.ArrowDtype(kind))
        halves.append(part.assign(**ids))
    return halves


def forest_of_halves(halves: list[pd.DataFrame], strategy: Any) -> pd.DataFrame:
    parts = dd.from_delayed([dask.delayed(half) for half in halves], meta=halves[0].iloc[:0], verify_meta=False)
    return forest_of(parts, strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("first", "second"), [(pa.date32(), pa.date64()), (pa.time32("s"), pa.time32("ms")), (pa.date32(), pa.date32())]
)
def test_ids_of_types_with_a_common_one(strategy, first, second):
    halves = halves_of_types(first, second)
    expected = dfmst.minimum_spanning_forest(random_frame(32), "a", "b", "w")
    assert forest_of_halves(halves, strategy)["payload"].tolist() == expected["payload"].tolist()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("first", "second"), [(pa.int64(), pa.date64()), (pa.date64(), pa.time32("s")), (pa.int64(), pa.string())]
)
def test_ids_of_types_without_a_common_one(strategy, first, second):
    with pytest.raises(dfmst.InvalidEdgesError, match="ids of different types in two partitions"):
        forest_of_halves(halves_of_types(first, second), strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("first", [np.float32, np.int64])
def test_weights_that_the_first_type_does_not_hold_are_an_error(strategy, first):
    frame = random_frame(32)
    parts = [frame[:1000].astype({"w": first}), frame[1000:].assign(w=0.1)]
    with pytest.raises(dfmst.InvalidEdgesError, match="weights have different types: float"):
        forest_of_halves(parts, strategy)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long floats have 64 bits")
def test_weights_of_more_than_64_bits():
    """In memory they have ranks, which differ between partitions."""
    frame = pd.DataFrame({"a": [1, 2, 1], "b": [2, 3, 3], "w": np.array([3, 1, 2], np.longdouble) / 8})
    parts = dd.from_pandas(frame, npartitions=2, sort=False)
    with pytest.raises(dfmst.InvalidEdgesError, match=r"column 'w' holds float\d+ values that are not 64-bit numbers"):
        dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w").compute(scheduler="synchronous")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"weight": "x"}, dfmst.ColumnNotFoundError, "column 'x' not found"),
        ({"invalid": "keep"}, ValueError, "must be 'raise' or 'drop'"),
        ({"strategy": "fast"}, ValueError, "unknown strategy 'fast'"),
        ({"split_every": 1}, ValueError, "split_every is 1"),
        ({"checkpoint": "/proc/nowhere"}, dfmst.OutputError, "cannot use /proc/nowhere"),
    ],
)
def test_wrong_options(change, error, words):
    parts = dd.from_pandas(random_frame(33), npartitions=2)
    with pytest.raises(error, match=words):
        dfmst.dask.minimum_spanning_forest(parts, **{"source": "a", "target": "b", "weight": "w", **change})


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name.endswith("Error")])
def test_errors_survive_a_pickle(name):
    importlib.import_module("tblib.pickling_support").install()  # as distributed does, at some time
    option = "engine='cpu'", "--engine cpu"
    made = getattr(errors, name)("what is wrong", "what to do", row=7, option=option)
    error = pickle.loads(pickle.dumps(made))
    assert (type(error).__name__, error.message, error.hint) == (name, "what is wrong", "what to do")
    assert (error.row, error.option) == (7, option)
    assert str(error) == "what is wrong\nHint: what to do"


@pytest.mark.parametrize("strategy", ["merge", "two-pass"])
def test_checkpoints_are_read_again(strategy, tmp_path):
    frame = random_frame(35)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    reads = []

    def read(number: int) -> pd.DataFrame:
        reads.append(number)
        return frame.iloc[number * 500 : number * 500 + 500]

    def forest(memory: int) -> pd.DataFrame:
        parts = dd.from_map(read, range(4), meta=frame.iloc[:0])
        return forest_of(parts, strategy, checkpoint=tmp_path, memory_limit=memory)

    pd.testing.assert_frame_equal(forest(1 << 30), expected)
    first = len(reads)
    reads.clear()
    # Other workers may be at hand when a run goes on: how much memory they have is not what was found.
    pd.testing.assert_frame_equal(forest(1 << 31), expected)
    assert len(reads) < first
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files
    assert not any(name.endswith(".part") for name in files)


@pytest.mark.parametrize("strategy", ["merge", "two-pass"])
def test_checkpoints_are_good_for_any_number_of_workers(strategy, tmp_path, monkeypatch):
    frame = random_frame(36).reset_index(drop=True)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    in_files(frame, tmp_path / "edges", 8)
    written = []
    for workers in (2, 1, 5):
        monkeypatch.setattr("dfmst._drive.cluster.build.resources", lambda workers=workers: Resources(workers, 1 << 30))
        forest = forest_of(dd.read_parquet(tmp_path / "edges"), strategy, checkpoint=tmp_path / "kept")
        pd.testing.assert_frame_equal(forest, expected)
        written.append({path.name: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()})
    assert len(written[0]) > 2
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize("content", ["", "no number", "0"])
def test_a_damaged_note_of_the_workers_is_written_anew(content, tmp_path):
    (tmp_path / "workers-token").write_text(content)
    first = first_run(str(tmp_path), "token", 3)
    assert first.workers == 3
    assert first_run(str(tmp_path), "token", 4) == first  # ids keep their tasks


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: first_run(str(folder), "token", 3),
        lambda folder: checkpointed(str(folder / "a.arrow"), EDGE_TABLE, empty_table),
    ],
    ids=["note of the workers", "result"],
)
def test_a_checkpoint_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, write):
    monkeypatch.setattr("os.replace", mock.Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(dfmst.OutputError, match=r"(?i)no space left"):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["verify", "clusters", "plan"])
def test_a_call_that_computes_names_what_was_lost(client, monkeypatch, call):
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    calls: dict[str, Any] = {
        "verify": lambda parts: dfmst.dask.verify(parts, parts, "a", "b", "w"),
        "clusters": lambda parts: dfmst.dask.clusters(parts, "a", "b", "w", n_clusters=2),
        "plan": lambda parts: dfmst.dask.plan(parts, "a", "b"),
    }
    killed = KilledWorker("fold", SimpleNamespace(address="tcp://a:1"), 3)
    address = client.scheduler.address
    reported = {
        FutureCancelledError("key", "lost"): f"lost the scheduler at {address}\nHint: start it again",
        killed: "the workers ended several times during one task\nHint: they may lack memory",
    }
    parts = dd.from_pandas(random_frame(1), npartitions=2)
    for error, message in reported.items():
        monkeypatch.setattr("dfmst._drive.cluster.client.dask.compute", mock.Mock(side_effect=error))
        with pytest.raises(dfmst.ClusterError, match=message):
            calls[call](parts)
