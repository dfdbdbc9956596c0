"""Workers that die, a scheduler that is lost, bad input: the same rows, or one clear error."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import pickle
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin

import dfmst
import dfmst.dask
from dfmst import errors
from dfmst._drive.cluster import LASTING, STANDSTILLS, Resources
from dfmst._drive.graph import checkpointed, first_run
from dfmst._drive.tables import EDGE_TABLE, empty_table
from tests.support.dask_frames import STRATEGIES, forest_of, in_files, random_frame
from tests.support.forked import Forked
from tests.support.workers import Workers

#: Strategy -> the steps of a forest of files.
PHASES = {
    "merge": ["fold", "merge", "locate", "write"],
    "shuffle": ["distribute", "ids", "number", "name", "cut", "slice", "chosen-rows", "write"],
}
MOMENTS = ["early", "middle", "late"]
DEADLINE = 60.0  # seconds of a run
#: Begins the program of a worker that reads slowly.
SLOWLY = """
import time
from dfmst.formats import columnar
open_now = columnar.open_buffered
columnar.open_buffered = lambda *values, **named: time.sleep(0.3) or open_now(*values, **named)
"""


Act = Callable[[str], object]


class Phases(SchedulerPlugin):  # type: ignore[misc]
    """Calls `act` with a worker when the first task of a phase begins, or half of its tasks or all are done."""

    def __init__(self, scheduler: Any, moments: dict[str, str], act: Act, always: bool = False) -> None:
        self.scheduler, self.moments, self.act, self.always = scheduler, moments, act, always
        self.done: Counter[str] = Counter()
        self.reached: set[str] = set()
        self.workers: set[str] = set()  # that were given tasks

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        phase, task = phase_of(key), self.scheduler.tasks.get(key)
        if task is not None and finish == "processing":
            self.workers.add(task.processing_on.address)
        if phase not in self.moments or (phase in self.reached and not self.always) or task is None:
            return
        if finish == "memory" and start == "processing":
            self.done[phase] += 1
        tasks = sum(phase_of(each) == phase for each in self.scheduler.tasks)
        due = {"early": 0, "middle": -(-tasks // 2), "late": tasks}[self.moments[phase]]
        if finish == ("memory" if due else "processing") and self.done[phase] == due:
            self.reached.add(phase)
            worker = next(iter(task.who_has)) if due else task.processing_on
            threading.Thread(target=self.act, args=(worker.address,), daemon=True).start()


def phase_of(key: Any) -> str:
    """Return the name of a task: of its key, or of its number if it stays on the worker of its input."""
    if not isinstance(key, tuple):
        return ""
    name = str(key[0])
    return name.removeprefix("dfmst-").rpartition("-")[0] if name.startswith("dfmst-") else str(key[1][0])


class Faulty:
    """Two workers to kill, files, and runs on them."""

    def __init__(self, cluster: Any, client: Any, workers: Workers, folder: Path) -> None:
        self.cluster, self.client, self.workers, self.folder = cluster, client, workers, folder
        in_files(random_frame(30, vertices=400), folder / "edges", 12)
        self.runs = 0

    @property
    def addresses(self) -> list[str]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"])

    def kill(self, *addresses: str) -> None:
        """End workers at once, and start others."""
        with contextlib.suppress(Exception):  # they do not answer
            self.client.run(lambda: os.kill(os.getpid(), signal.SIGKILL), workers=list(addresses), on_error="ignore")
        for _ in addresses:
            self.workers.start()

    def retire(self, address: str) -> None:
        """Let a worker end in order, and start another."""
        self.client.retire_workers([address])
        self.workers.start()

    def restart(self, _: str) -> None:
        """Restart the cluster, whose workers do not come back by themselves."""
        self.client.restart(wait_for_workers=False)
        self.have(2)

    def have(self, count: int, *arguments: str, before: str = "") -> None:
        """Replace all workers by others."""
        while self.workers.processes:
            self.workers.kill(0)
        for _ in range(count):
            self.workers.start(before, *arguments)
        deadline = time.monotonic() + DEADLINE
        while len(self.addresses) != count and time.monotonic() < deadline:
            time.sleep(0.05)

    def forest(
        self,
        strategy: str,
        moments: dict[str, str],
        act: Act,
        edges: str = "edges",
        always: bool = False,
        **options: Any,
    ) -> Phases:
        """Find a forest while something happens to workers, within a minute, and compare its rows."""
        phases = Phases(self.cluster.scheduler, moments, act, always)
        self.cluster.scheduler.add_plugin(phases, name="phases")
        self.runs += 1
        inputs, output = self.folder / edges, self.folder / f"out-{self.runs}"
        chosen: dict[str, Any] = {
            "client": self.client,
            "strategy": strategy,
            **STRATEGIES.get(strategy, {}),
            **options,
        }
        try:
            with ThreadPool(1) as pool:
                columns = inputs, output, "a", "b", "w"
                # Annotations of Dask are those of a context.
                run = partial(copy_context().run, dfmst.dask.forest_of_files)
                pool.apply_async(run, columns, chosen).get(DEADLINE)
        finally:
            self.cluster.scheduler.remove_plugin("phases")
        expected = dfmst.minimum_spanning_forest(pyarrow.parquet.read_table(inputs), "a", "b", "w")
        assert pyarrow.parquet.read_table(output).equals(expected)
        assert phases.reached == set(moments)
        return phases


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    settings = {"distributed.scheduler.allowed-failures": 100}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL") as cluster,
        Client(cluster) as client,
    ):
        workers = Workers(cluster.scheduler_address, tmp_path_factory.mktemp("workers"))
        try:
            yield Faulty(cluster, client, workers, tmp_path_factory.mktemp("files"))
        finally:
            while workers.processes:
                workers.kill(0)


@pytest.fixture
def faulty(cluster: Faulty) -> Faulty:
    """Two new workers."""
    cluster.have(2)
    return cluster


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("strategy", PHASES)
def test_workers_killed_in_each_phase(strategy, faulty):
    """In each of three runs a worker dies in each phase: once early, once in the middle, once late."""
    for turn in range(3):
        moments = {phase: MOMENTS[(place + turn) % 3] for place, phase in enumerate(PHASES[strategy])}
        faulty.forest(strategy, moments, faulty.kill)
    assert sum(process.returncode is not None for process in faulty.workers.processes) >= len(PHASES[strategy])


@pytest.mark.slow
@pytest.mark.parametrize("strategy", PHASES)
@pytest.mark.parametrize("fault", ["retired", "all killed", "restarted"])
def test_results_that_are_lost_are_made_again(strategy, fault, faulty):
    first, *_, last_but_one, _ = PHASES[strategy]
    if fault == "retired":
        faulty.forest(strategy, {first: "late", last_but_one: "late"}, faulty.retire)
    elif fault == "all killed":
        faulty.forest(strategy, {last_but_one: "late"}, lambda _: faulty.kill(*faulty.addresses))
    else:
        with pytest.warns(UserWarning, match="the workers were restarted during the run: lost tasks run again"):
            faulty.forest(strategy, {last_but_one: "late"}, faulty.restart)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            "kill",
            r"workers ended 3 times during one task, partition \d .*: they were lost: they .*\nHint: they may lack",
        ),
        ("restart", "the workers were restarted, and their results are lost\nHint: run again"),
    ],
)
def test_a_fault_that_comes_again_and_again_is_one_error(fault, words, faulty, monkeypatch):
    monkeypatch.setattr(faulty.cluster.scheduler, "allowed_failures", 2)
    with warnings.catch_warnings(action="ignore"), pytest.raises(dfmst.ClusterError, match=words):
        faulty.forest("merge", {"fold": "early"}, getattr(faulty, fault), always=True)
    if fault == "kill":
        faulty.have(2, before=SLOWLY)  # a worker dies before its first task ends
        with pytest.warns(UserWarning, match="strategy 'merge' failed .workers ended 3 times .*: trying 'shuffle'"):
            faulty.forest("auto", {"fold": "early"}, faulty.kill, always=True)


@pytest.mark.slow
@pytest.mark.parametrize("adaptive", [False, True])
def test_a_worker_that_joins_late_is_used(adaptive, faulty):
    faulty.have(1, before=SLOWLY)
    if not adaptive:
        phases = faulty.forest("merge", {"fold": "early"}, lambda _: faulty.workers.start(SLOWLY))
        assert len(phases.workers) == 2
        return
    scaling = faulty.cluster.adapt(minimum=0, maximum=2, interval="100ms", wait_count=2, target_duration="100ms")
    try:
        faulty.forest("merge", {"fold": "early", "write": "middle"}, lambda _: None)
    finally:
        scaling.stop()
        faulty.cluster.scale(0)


@pytest.mark.slow
def test_a_client_that_is_killed_goes_on_with_its_checkpoints(faulty, tmp_path):
    faulty.have(2, before=SLOWLY)
    options = {"scheduler": faulty.client.scheduler.address, "strategy": "merge", "checkpoint": str(tmp_path / "kept")}
    inputs, output = str(faulty.folder / "edges"), str(tmp_path / "out")
    program = f"import dfmst.dask; dfmst.dask.forest_of_files({inputs!r}, {output!r}, 'a', 'b', 'w', **{options!r})"
    gone = Forked(program, [], tmp_path)
    phases = Phases(faulty.cluster.scheduler, {"locate": "late"}, lambda _: gone.kill())
    faulty.cluster.scheduler.add_plugin(phases, name="killer")
    gone.wait(DEADLINE)
    faulty.cluster.scheduler.remove_plugin("killer")
    said: list[str] = []
    faulty.forest("merge", {"write": "late"}, lambda _: None, checkpoint=tmp_path / "kept", on_checkpoint=said.append)
    assert "fold 2 of 2, merge 1 of 1" in said[0]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", PHASES)
def test_a_large_file_among_small_ones(strategy, cluster):
    """Workers once read it as a whole, Arrow kept the memory, and Dask paused them without end."""
    cluster.have(1, "--memory-limit", "400MB")
    draw = np.random.default_rng(1)
    for place in (0, 3, 6):
        lengths = [0, 1, 10, 0, 1_000, 20_000]
        folder = cluster.folder / f"large-{place}"
        if not folder.exists():
            folder.mkdir()
            lengths.insert(place, 600_000)
            for number, rows in enumerate(lengths):
                ends = draw.integers(0, 20_000, (2, rows)) * 10**12
                columns = {"a": ends[0], "b": ends[1], "w": draw.random(rows)}
                columns |= {f"payload {each}": draw.random(rows) for each in range(16)}
                pyarrow.parquet.write_table(pa.table(columns), folder / f"{number}.parquet")
        cluster.forest(strategy, {}, print, folder.name, memory_limit=None, n_vertices=None)


def fill(address: str, client: Any, kept: bool) -> None:
    """Let memory of a worker be in use, or in the pool that Arrow keeps."""

    def take() -> None:
        buffers = [pa.repeat(pa.scalar(1.0), 1 << 19) for _ in range(60)]
        pa.held = buffers if kept else None

    client.run(take, workers=[address])


@pytest.mark.slow
def test_workers_that_stay_paused_are_an_error_with_the_partition(cluster, monkeypatch):
    monkeypatch.setitem(STANDSTILLS, "paused workers", STANDSTILLS["paused workers"]._replace(patience=6))
    cluster.have(1, "--memory-limit", "400MB", before=SLOWLY)
    words = (
        r"worker tcp://\S+ stands still: Dask has paused it at \d+ MB of 400 MB, "
        r"and tasks wait for it \(\d+\), the first for partition \d+ \(.*\.parquet\)\nHint: use larger workers"
    )
    begin = time.monotonic()
    with pytest.raises(dfmst.CapacityError, match=words):
        cluster.forest("merge", {"write": "early"}, partial(fill, client=cluster.client, kept=True))
    assert time.monotonic() - begin < DEADLINE / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "words"),
    [
        (
            "none came",
            "the cluster has had no worker for 2 seconds; none has joined it\nHint: start workers, and run again",
        ),
        (
            "all were lost",
            r"no worker for 2 seconds; they were lost: they used up to \d+ MiB of 3,072 MiB, and \d+ MiB were",
        ),
        ("none has the resource", r"no worker may run partition 0 \(.*\): none has .*\nHint: start such workers"),
    ],
)
def test_a_run_without_a_worker_for_its_tasks_is_an_error(state, words, faulty, monkeypatch):
    for name in ("no worker", "no suitable worker"):
        monkeypatch.setitem(STANDSTILLS, name, STANDSTILLS[name]._replace(patience=2))
    faulty.have(0 if state == "none came" else 2, before=SLOWLY)
    wanted = {"resources": {"missing": 1}} if state == "none has the resource" else {}
    moments = {"fold": "early"} if state == "all were lost" else {}
    with dask.annotate(**wanted), pytest.raises(dfmst.ClusterError, match=words):
        faulty.forest("merge", moments, lambda _: faulty.have(0))
    if state == "none came":
        parts = dd.from_pandas(random_frame(1), npartitions=2)
        with faulty.client.as_current(), pytest.raises(dfmst.ClusterError, match=words):
            dfmst.dask.clusters(parts, "a", "b", "w", n_clusters=2)


#: Lets a step of a merge take more memory than a worker has.
HUNGRY = """
import time
from dfmst._drive import tasks
def fold_group(*_):
    taken = b"0" * 400_000_000
    time.sleep(60)
tasks.fold_group = fold_group
"""


@pytest.mark.slow(seconds=30)
def test_workers_that_are_killed_for_lack_of_memory(tmp_path):
    in_files(random_frame(30, vertices=400), tmp_path / "edges", 4)
    options = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "500MB", "preload": HUNGRY}
    killed = r"Dask killed \d+ for lack of memory: they used up to \d+ MB of 500 MB, and \d+ MB were planned"
    with (
        dask.config.set({**LASTING, "distributed.scheduler.allowed-failures": 3}),
        LocalCluster(dashboard_address=":0", silence_logs="CRITICAL", **options) as cluster,
        Client(cluster) as client,
    ):
        forest = partial(
            dfmst.dask.forest_of_files, tmp_path / "edges", source="a", target="b", weight="w", client=client
        )
        with pytest.warns(UserWarning, match=rf"'merge' failed \(.*{killed}\): trying 'shuffle' with 3\d\d MB"):
            assert forest(tmp_path / "out").rows == 399
        with pytest.raises(
            dfmst.ClusterError, match=f"workers ended 4 times during one task, partition 0 .*: {killed}"
        ):
            forest(tmp_path / "other", strategy="merge")


@pytest.mark.slow
def test_paused_workers_release_memory_and_go_on(cluster):
    cluster.have(1, "--memory-limit", "400MB")
    (address,) = cluster.addresses
    fill(address, cluster.client, kept=False)
    deadline = time.monotonic() + DEADLINE
    while cluster.client.scheduler_info()["workers"][address]["status"] != "paused":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    cluster.forest("merge", {"write": "late"}, lambda _: None)


def test_bad_input_is_our_error_once_with_the_partition_named(client):
    frame = random_frame(31)
    frame.iloc[1234, frame.columns.get_loc("w")] = np.nan
    forest = dd.from_pandas(frame, npartitions=4, sort=False).mst.minimum("a", "b", "w")
    with pytest.raises(dfmst.InvalidEdgesError) as caught:
        forest.compute()
    assert str(caught.value).startswith("partition 2: column 'w' has 1 weight that is NaN or null, in row 234\nHint: ")
    assert str(caught.value).count("Hint") == 1
    assert caught.value.__cause__ is None


#: Name -> columns of the second half of a frame, which do not compare with those of the first, and the error.
UNLIKE: dict[str, tuple[dict[str, Any], str]] = {
    "integers and dates": (dict.fromkeys("ab", "timestamp[s][pyarrow]"), "ids of different types in two partitions"),
    "integers and texts": (dict.fromkeys("ab", "string[pyarrow]"), "ids of different types in two partitions"),
    "wide and narrow floats": (
        {"w": "float32[pyarrow]"},
        "column 'w' holds double weights that (float|int64), its type in the frame, does not",
    ),
    "integers and floats": (
        {"w": "int64[pyarrow]"},
        "column 'w' holds double weights that (float|int64), its type in the frame, does not",
    ),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kinds", UNLIKE)
def test_values_that_do_not_compare_are_an_error(strategy, kinds):
    types, words = UNLIKE[kinds]
    frame = random_frame(32).astype({"w": float})
    halves = [frame[:1000].assign(w=1.0).astype(types), frame[1000:].assign(w=0.1)]
    parts = dd.from_delayed([dask.delayed(half) for half in halves], meta=halves[0].iloc[:0], verify_meta=False)
    with pytest.raises(dfmst.InvalidEdgesError, match=words):
        forest_of(parts, strategy)


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
        ({"strategy": "two-pass"}, ValueError, "removed: merge is faster\nHint: pass strategy='merge'"),
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


def test_checkpoints_are_good_for_workers_of_any_number_and_memory(tmp_path, monkeypatch):
    frame = random_frame(36).reset_index(drop=True)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    in_files(frame, tmp_path / "edges", 8)
    written = []
    for workers, memory in ((2, 30), (1, 31), (5, 30)):
        monkeypatch.setattr("dfmst._drive.cluster.resources", lambda workers=workers: Resources(workers, 1 << 30))
        options: dict[str, Any] = {"checkpoint": tmp_path / "kept", "memory_limit": 1 << memory}
        pd.testing.assert_frame_equal(forest_of(dd.read_parquet(tmp_path / "edges"), "merge", **options), expected)
        written.append({path.name: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()})
    assert len(written[0]) > 2
    assert not any(name.endswith(".part") for name in written[0])
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
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_checkpoint_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, write, number):
    monkeypatch.setattr("os.replace", mock.Mock(side_effect=OSError(number, os.strerror(number))))
    with pytest.raises(dfmst.OutputError, match=f"cannot write .*{tmp_path.name}.*: {os.strerror(number).lower()}"):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_persisted_frame_that_only_its_forest_refers_to(client, tmp_path):
    frame = random_frame(37)
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    held = dfmst.dask.minimum_spanning_forest(parts.persist(), "a", "b", "w", checkpoint=tmp_path)
    assert [type(node).__name__ for node in held.__dask_graph__().values()].count("Future") == 3
    pd.testing.assert_frame_equal(held.compute(), dfmst.minimum_spanning_forest(frame, "a", "b", "w"))


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
        FutureCancelledError("key", "scheduler-restart"): "the workers were restarted, and their results are lost",
        killed: "workers ended 4 times during one task, fold: they .*\nHint: they may lack memory",
    }
    parts = dd.from_pandas(random_frame(1), npartitions=2)
    for error, message in reported.items():
        monkeypatch.setattr("distributed.Client.gather", mock.AsyncMock(side_effect=error))
        with pytest.raises(dfmst.ClusterError, match=message):
            calls[call](parts)
