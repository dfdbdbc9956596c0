"""``dfmst forest --workers`` and ``--scheduler``, ``dfmst plan``."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import dfmst
import dfmst.dask
from dfmst._drive.cluster import STANDSTILLS
from dfmst.cli import main
from dfmst.formats.atomic import atomic_directory
from tests.support.dask_frames import random_frame
from tests.support.stream_files import Stopped

COLUMNS = ("-s", "a", "-t", "b", "-w", "w")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Five files and, in a directory below, a sixth."""
    monkeypatch.chdir(tmp_path)
    table = pa.Table.from_pandas(random_frame(50), preserve_index=False)
    Path("edges/more").mkdir(parents=True)
    for number in range(5):
        pyarrow.parquet.write_table(table.slice(number * 350, 350), f"edges/part-{number}.parquet")
    pyarrow.parquet.write_table(table.slice(1750), "edges/more/last.parquet")
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dfmst")
    assert result.exit_code == code, result.stderr
    return result


def read(folder):
    files = sorted(Path(folder).rglob("*.parquet"))
    return pa.concat_tables([pyarrow.parquet.read_table(file) for file in files])


@pytest.fixture
def here() -> Iterator[Any]:
    """A client whose workers are threads of this process."""
    from distributed import Client, LocalCluster

    quiet: Any = {"dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **quiet) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_directory_in_directory_out(folder, client):
    address = client.scheduler.address
    for strategy in ("merge", "shuffle"):
        cluster = ("--scheduler", address, "--strategy", strategy)
        result = run("forest", "edges", *COLUMNS, "-o", strategy, *cluster, "--verify")
        assert "6 files" in result.stderr
        expected = dfmst.minimum_spanning_forest(read("edges"), "a", "b", "w")
        assert read(strategy).equals(expected)
        names = {str(file.relative_to(strategy)) for file in Path(strategy).rglob("*.parquet")}
        assert names == {"more/last.parquet", *(f"part-{number}.parquet" for number in range(5))}
    assert sorted(path.name for path in folder.iterdir()) == ["edges", "merge", "shuffle"]


@pytest.fixture
def stopped():
    """End a run with all its files written, before its directory appears."""

    def stop(output: str, **options: Any) -> None:
        @contextmanager
        def ending(target, token, note):
            with atomic_directory(target, token, note) as folder:
                yield folder
                shutil.copytree(folder, f"{folder}.kept")
                raise Stopped

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dfmst._drive.files.atomic_directory", ending)
            with pytest.raises(Stopped):
                dfmst.dask.forest_of_files("edges", output, "a", "b", "w", **options)

    return stop


def test_a_run_goes_on_with_what_a_killed_one_has_written_and_removes_its_checkpoints(folder, here, stopped):
    options: Any = {"strategy": "merge", "client": here, "checkpoint": "kept"}
    stopped("out", **options)
    (kept,) = Path().glob(".out.*.part.kept")
    part = kept.rename(kept.with_suffix(""))
    written = {path.name: path.stat().st_mtime_ns for path in part.rglob("*.parquet")}
    assert len(written) == 6
    (part / ".part-4.parquet.0.part").touch()
    (part / "part-0.parquet").unlink()
    (part / "part-1.parquet").write_bytes((part / "part-2.parquet").read_bytes())
    (first,) = Path("kept").glob("fold-*-1.arrow")
    first.rename(first.with_name(f".{first.name}.0123.part"))  # as a worker that is killed leaves it
    Path("kept/mine").touch()
    command = ("forest", "edges", *COLUMNS, "--scheduler", here.scheduler.address, "--strategy", "merge")
    words = "continuing with the results of an earlier run in kept: fold 1 of 2, merge 1 of 1\n"
    assert words in run(*command, "-o", "out", "--checkpoint", "kept").stderr
    assert not part.exists()
    assert read("out").equals(dfmst.minimum_spanning_forest(read("edges"), "a", "b", "w"))
    again = {path.name: path.stat().st_mtime_ns for path in Path("out").rglob("*") if path.is_file()}
    assert {name for name, time in again.items() if written[name] != time} == {"part-0.parquet", "part-1.parquet"}
    assert set(again) == set(written)
    assert [path.name for path in Path("kept").iterdir()] == ["mine"]


@pytest.mark.parametrize("strategy", ["auto", "merge"])
def test_auto_tries_a_shuffle_when_workers_end(folder, client, monkeypatch, strategy):
    from distributed import KilledWorker

    attempts, gather = [], type(client).gather

    async def ended() -> None:
        raise KilledWorker("dfmst-merge-0", None, 3)

    def ended_once(*arguments: Any, **options: Any) -> Any:
        attempts.append(arguments)
        return ended() if len(attempts) == 1 else gather(*arguments, **options)

    monkeypatch.setattr("distributed.Client.gather", ended_once)
    command = ("forest", "edges", *COLUMNS, "-o", "out", "--scheduler", client.scheduler.address)
    options = ("--strategy", strategy, "--checkpoint", "kept")
    result = run(*command, *options, code=0 if strategy == "auto" else 1)
    if strategy == "merge":
        assert re.search(
            r"workers ended 4 times during one task, the task dfmst-merge-0: they .* planned", result.stderr
        )
        return
    assert result.stderr.count("trying 'shuffle'") == 1
    assert "strategy 'merge' failed (workers ended 4 times during one task, " in result.stderr
    assert read("out").equals(dfmst.minimum_spanning_forest(read("edges"), "a", "b", "w"))
    assert not list(Path("kept").iterdir())


def test_workers_of_its_own(folder):
    program = (sys.executable, "-P", "-c", "if __name__ == '__main__': from dfmst.cli import main; main()")
    command = [*program, "forest", "edges", *COLUMNS, "-o", "out", "--workers", "2", "--json", "--maximum"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    summary = json.loads(done.stdout)
    assert (summary["input_rows"], summary["files"], summary["kind"]) == (2000, 6, "maximum spanning forest")
    assert read("out").equals(dfmst.maximum_spanning_forest(read("edges"), "a", "b", "w"))


def test_files_of_one_name_and_a_bar_of_tasks(folder, monkeypatch, capsys):
    from distributed import LocalCluster

    monkeypatch.setattr("distributed.LocalCluster", partial(LocalCluster, processes=False))
    Path("part-0.parquet").write_bytes(Path("edges/more/last.parquet").read_bytes())
    for strategy in ("merge", "shuffle"):
        options: Any = {"strategy": strategy, "workers": 2, "progress": True}
        forest = dfmst.dask.forest_of_files(
            ["edges/part-0.parquet", "part-0.parquet"], strategy, "a", "b", "w", **options
        )
        assert sorted(os.listdir(strategy)) == ["part-00000.parquet", "part-00001.parquet"]
        table = pa.concat_tables(map(pyarrow.parquet.read_table, ["edges/part-0.parquet", "part-0.parquet"]))
        assert forest.frame.equals(dfmst.minimum_spanning_forest(table, "a", "b", "w"))
        shown = re.findall(r"([0-9.]+) of ([0-9.]+)", capsys.readouterr().err)  # perhaps none, if the tasks end sooner
        assert all(float(done) <= float(total) == float(shown[0][1]) for done, total in shown)


def test_bad_input_names_the_file_and_leaves_nothing(folder, client):
    table = pyarrow.parquet.read_table("edges/part-3.parquet")
    weights = table["w"].to_numpy().copy()
    weights[7] = np.nan
    pyarrow.parquet.write_table(table.set_column(2, "w", pa.array(weights)), "edges/part-3.parquet")
    result = run("forest", "edges", *COLUMNS, "-o", "out", "--scheduler", client.scheduler.address, code=2)
    assert result.stderr.count("Error: ") == 1
    assert "part-3.parquet): column 'w' has 1 weight that is NaN or null, in row 7\n" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["edges"]


def test_a_full_disk_leaves_nothing_of_a_directory(folder, client):
    def fill_the_disk(full):
        """Let a worker find the disk full at one file, while it still writes others; or end that."""
        import pyarrow.parquet as module

        if not full:
            module.write_table = module.whole_write_table
            return

        def write(table, file):
            if "part-0" in file.name:
                time.sleep(0.3)
                raise OSError(28, "No space left on device")
            for number in range(500):
                Path(f"{file}.{number}").touch()
                time.sleep(0.002)

        module.whole_write_table, module.write_table = module.write_table, write

    client.run(fill_the_disk, True)
    try:
        for number in range(3):
            options = ["-o", f"out{number}", "--scheduler", client.scheduler.address]
            result = run("forest", "edges", *COLUMNS, *options, code=1)
            assert "no space left on device\nHint: free some space" in result.stderr
            assert "part-0.parquet" in result.stderr
            time.sleep(0.5)
            assert [path.name for path in folder.iterdir()] == ["edges"]
    finally:
        client.run(fill_the_disk, False)
    run("forest", "edges", *COLUMNS, "-o", "out", "--scheduler", client.scheduler.address)
    assert read("out").num_rows


def test_bytes_moved_are_those_that_the_workers_sent(tmp_path, client):
    """The edges of a shuffle wait in files, and of those Dask counts a sixteenth."""
    rng, edges = np.random.default_rng(8), tmp_path / "edges"
    edges.mkdir()
    for number in range(8):
        source, target = rng.integers(0, 20_000, (2, 40_000))
        table = pa.table({"source": source, "target": target, "weight": rng.random(40_000)})
        pyarrow.parquet.write_table(table, edges / f"{number}.parquet")
    written = dfmst.dask.forest_of_files(edges, tmp_path / "out", strategy="shuffle", client=client)
    planned = dfmst.plan(files=edges, strategy="shuffle", workers=2, memory_limit="3GiB")
    assert written.bytes_moved is not None
    # Dask may move all edges of such small groups, and its messages of control count as well.
    assert planned.bytes_moved / 4 < written.bytes_moved < 24 * 320_000


def changed(table: pa.Table, column: str, value: object) -> pa.Table:
    """Return rows of which the third has another value."""
    values = table.column(column).to_pylist()
    values[2] = value
    return table.set_column(
        table.schema.get_field_index(column), column, pa.array(values, table.schema.field(column).type)
    )


#: A change of a file with rows of a forest -> words of the violation.
CHANGES: dict[str, tuple[Any, str]] = {
    "weight": (
        lambda rows: changed(rows, "w", rows["w"][2].as_py() + 1),
        "not in the edge table: no other row of its file",
    ),
    "no weight": (lambda rows: changed(rows, "w", None), "not in the edge table: an end is missing, or its weight"),
    "other column": (
        lambda rows: changed(rows, "payload", -1),
        "not in the edge table: column 'payload' differs from row",
    ),
    "order": (lambda rows: rows.take(list(range(len(rows)))[::-1]), "not in the edge table: it comes after row"),
    "missing row": (lambda rows: rows.slice(1), "joins two trees of the forest"),
    "two of one row": (lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]), "not in the edge table: no other row"),
}


def test_changed_rows_of_a_forest_in_files_are_found_without_reading_them_here(folder, here):
    """The workers read the files twice and hold the linked forest; this process holds counts."""
    record = dfmst.dask.forest_of_files("edges", "out", "a", "b", "w", client=here, verify=True)
    file = Path("out/part-2.parquet")
    rows = pyarrow.parquet.read_table(file)
    for change, words in CHANGES.values():
        pyarrow.parquet.write_table(change(rows), file)
        certificate = record.verify()
        assert not certificate
        assert words in str(certificate)
    pyarrow.parquet.write_table(rows, file)
    assert record.verify()
    edges = pyarrow.parquet.read_table("edges/part-4.parquet")
    pyarrow.parquet.write_table(edges.slice(0, len(edges) - 1), "edges/part-4.parquet")
    assert not record.verify()


def test_a_directory_from_python(folder, client):
    for name, chosen in (("joined", {"scheduler": client.scheduler.address}), ("used", {"client": client}), ("", {})):
        output = Path(f"out{name}")
        record = dfmst.dask.forest_of_files("edges", output, "a", "b", "w", strategy="merge", **chosen)
        expected = dfmst.minimum_spanning_forest(read("edges"), "a", "b", "w")
        assert read(output).equals(expected)
        assert (record.source_rows, record.rows, record.files, record.algorithm) == (2000, len(expected), 6, "merge")
        assert record.frame.equals(expected)
        assert record.total_weight == dfmst.forest.total_weight(expected["w"])
        assert str(record.verify()) == str(dfmst.verify(read("edges"), expected, "a", "b", "w"))
        assert (record.vertices, record.components, record.dropped) == (None, None, 0)
        assert record.bytes_moved is not None
        assert record.bytes_moved > 1000
        assert record.peak_memory is not None
        assert record.peak_memory > 50e6
    assert client.status == "running"
    steps: list[str] = []
    options: Any = {"maximum": True, "scheduler": client.scheduler.address, "progress": steps.append}
    dfmst.dask.forest_of_files([*sorted(Path("edges").glob("*.parquet"))], "heavy", "a", "b", "w", **options)
    files = pa.concat_tables([pyarrow.parquet.read_table(f"edges/part-{number}.parquet") for number in range(5)])
    assert read("heavy").equals(dfmst.maximum_spanning_forest(files, "a", "b", "w"))
    assert steps == [f"connecting to {client.scheduler.address}", "finding the forest"]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"weight": "x"}, dfmst.ColumnNotFoundError, "has no column 'x'; its columns"),
        ({"inputs": "text.parquet"}, dfmst.FormatError, "text.parquet: not a Parquet file"),
        ({"workers": 2}, ValueError, "cannot be combined"),
        ({"invalid": "keep"}, ValueError, "must be 'raise' or 'drop'"),
        ({"output": "edges"}, dfmst.OutputError, "cannot write edges: it exists"),
        ({"output": "edges/forest"}, dfmst.OutputError, "edges/forest is inside the input directory edges"),
    ],
)
def test_wrong_arguments_from_python(folder, client, change, error, words):
    Path("text.parquet").write_text("a,b,w")
    arguments = {"inputs": "edges", "output": "out", "source": "a", "target": "b", "weight": "w", "client": client}
    with pytest.raises(error, match=words):
        dfmst.dask.forest_of_files(**{**arguments, **change})
    assert not Path("out").exists()


def test_without_dask_the_error_says_what_to_install(folder):
    program = "import sys; sys.modules['dask'] = None; from dfmst.cli import main; main()"
    command = [sys.executable, "-P", "-c", program, "forest", "edges", *COLUMNS, "-o", "out", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (1, "Error: a cluster needs Dask\nHint: pip install 'dfmst[dask]'\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--workers", 2], 2, "--workers needs a directory to write to"),
        (["--workers", 2, "-o", "out", "--trace", "t.csv"], 2, "--workers and --trace cannot be combined."),
        (["--workers", 2, "--scheduler", "tcp://x:1", "-o", "out"], 2, "cannot be combined"),
        (["--workers", 2, "-o", "edges"], 2, "cannot write edges: it exists"),
        (["--workers", 2, "-o", "no/out"], 2, "the directory no does not exist"),
        (["--scheduler", "tcp://127.0.0.1:1", "-o", "out"], 1, "Error: there is no scheduler at tcp://127.0.0.1:1"),
    ],
)
def test_wrong_commands(folder, arguments, code, words):
    assert words in run("forest", "edges", *COLUMNS, *arguments, code=code).stderr
    assert not Path("out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "lost the scheduler at {}"),
        (signal.SIGSTOP, "the scheduler at {} has not answered for 2 seconds"),
    ],
)
def test_scheduler_that_is_lost(folder, monkeypatch, number, words):
    patient = STANDSTILLS["silent scheduler"]._replace(patience=2)
    monkeypatch.setitem(STANDSTILLS, "silent scheduler", patient)
    monkeypatch.setattr("dfmst._drive.cluster._ANSWER", 1.0)
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "dask", "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", "where.json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not Path("where.json").exists() or not Path("where.json").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address = json.loads(Path("where.json").read_text())["address"]
        # No worker ever comes, so that the run waits.
        killer = threading.Timer(2, scheduler.send_signal, (number,))
        killer.start()
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            result = run("forest", "edges", *COLUMNS, "-o", "out", "--scheduler", address, code=1)
        killer.join()
    finally:
        scheduler.kill()
        scheduler.wait(60)
    assert f"Error: {words.format(address)}" in result.stderr
    assert sorted(path.name for path in folder.iterdir() if path.name != "where.json") == ["edges"]


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupt_is_one_line_that_says_what_is_kept(folder, kept):
    program = (
        "if __name__ == '__main__':\n"
        "    import dfmst.dask, dfmst._drive.files as room, os, signal, threading\n"
        "    built = room.forest_tasks\n"
        "    def build(*arguments):\n"
        "        threading.Timer(1, os.killpg, (0, signal.SIGINT)).start()\n"  # as a terminal does: to all processes
        "        graph = built(*arguments)\n"
        "        graph.graph.update({key: (room_of_tasks.sleep, 60) for key in graph.graph})\n"
        "        return graph\n"
        "    import time as room_of_tasks\n"
        "    room.forest_tasks = build\n"
        "    from dfmst.cli import main; main()\n"
    )
    command = [sys.executable, "-P", "-c", program, "forest", "edges", *COLUMNS, "-o", "out", "--workers", "2"]
    command += ["--checkpoint", "kept"] if kept else []
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, start_new_session=True)
    words = "finished work is saved in kept" if kept else "nothing is saved (--checkpoint DIR"
    assert done.returncode == 130
    assert done.stderr.startswith(f"Interrupted: {words}")
    assert done.stderr.count("\n") == 1
    assert not Path("out").exists()


def test_plan(folder):
    size = ("plan", "--n-vertices", 2_000_000, "--n-edges", 96_000_000, "--partitions", 48, "--memory-limit", "3GiB")
    text = run(*size).stdout
    assert text.startswith("merge: fits (a forest of all vertices fits one worker")
    assert "moved between workers" not in text  # peaks and time only
    assert "56 MB  24 · sent + (W - 1)" in run(*size, "--details").stdout
    size = ("plan", "--n-vertices", 10**7, "--n-edges", 10**8, "--partitions", 99, "--memory-limit", "1GB")
    text = run(*size, "--strategy", "shuffle", "--disk-limit", "1GB", code=1).stdout
    assert "of disk\n" in text
    small = ("--n-vertices", 10**8, "--n-edges", 10**9, "--memory-limit", "1GB")
    for strategy, fix in (
        ("stream", "raise --memory-limit, or plan --strategy spill"),
        ("merge", "take more or larger"),
    ):
        assert f"it does not fit: {fix}" in run("plan", *small, "--strategy", strategy, code=1).stderr
    assert run(*size, "--strategy", "components").stdout.split("\n")[2] == "1 process of 1 GB"
    for asked in (size, ("forest", "edges", "-o", "out", "--workers", 2)):
        refused = run(*asked, "--strategy", "two-pass", code=2).stderr
        assert "'two-pass' was removed: merge is faster. Give --strategy merge." in refused
    assert "spill is one process" in run(*size, "--strategy", "spill", "--workers", 2, code=2).stderr
    found = json.loads(run("plan", "edges", "-s", "a", "-t", "b", "--json").stdout)
    assert (found["n_edges"], found["partitions"], found["n_vertices"]) == (2000, 6, 300)
    assert "give --n-vertices and --n-edges" in run("plan", code=2).stderr
    assert "--memory-limit much" in run("plan", "edges", "-s", "a", "-t", "b", "--memory-limit", "much", code=2).stderr
    Path("other").mkdir()
    pyarrow.parquet.write_table(pa.table({"a": ["x"], "b": ["y"]}), "other/text.parquet")
    assert json.loads(run("plan", "other", "-s", "a", "-t", "b", "--json").stdout)["n_vertices"] == 2
    text = run("plan", "edges", "-s", "a", "-t", "b", "--strategy", "shuffle", "--memory-limit", "1GiB").stdout
    assert text.startswith("shuffle, in 8 slices: fits (as asked)")
    unknown = run("plan", "edges", "-s", "a", "-t", "c", code=2).stderr
    assert (
        "has no column 'c'; its columns: 'a', 'b', 'w', 'payload'\nHint: name your columns, for example -t b" in unknown
    )
    Path("other/text.parquet").write_text("a,b")
    assert "text.parquet: not a Parquet file" in run("plan", "other", code=2).stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs the signals of a terminal")
@pytest.mark.parametrize("delay", [0.0, 0.7])  # seconds after the workers' processes have begun to load
def test_an_interrupt_is_one_line(folder, delay):
    program = "from dfmst.cli import main; main(prog_name='dfmst')"
    command = [sys.executable, "-P", "-c", program, "forest", "edges", *COLUMNS, "-o", "out", "--workers", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(psutil.Process(process.pid).children(recursive=True)) < 3:  # one is multiprocessing's own
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors == b"Interrupted: nothing is saved (--checkpoint DIR saves finished work)\n"
    assert process.returncode == 130
    assert os.listdir() == ["edges"]
