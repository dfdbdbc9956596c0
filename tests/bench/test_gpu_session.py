"""The whole GPU session, end to end, on the stand-in for CuPy: small graphs, made-up tools, every step."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dfmst._engines import CpuEngine, select_engine
from tests.support.gpu import standin

pytest.importorskip("pandas")

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
ON_STANDIN = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'support' / 'gpu' / 'on_standin.py'))}"

#: ncu: every option has a value, then comes the command.
PROFILER = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift 2; done
exec "$@"
"""
#: compute-sanitizer: the command is the same for every tool, and run for the first of them; the others print theirs.
SANITIZER = """#!/bin/sh
tool=$2
while [ "${1#--}" != "$1" ]; do shift 2; done
echo "command: $*"
test "$tool" = memcheck || exit 0
exec "$@"
"""
DRIVER = """#!/bin/sh
echo 600.1
"""
#: Checks what it reads, and prints as ECL-MST does.
SOLVER = f"""#!{sys.executable} -IS
import array, sys, time
words = array.array("i")
words.frombytes(open(sys.argv[1], "rb").read())
vertices, edges = words[:2]
begin, entries = words[2 : vertices + 3], words[vertices + 3 :]
target, weight = entries[:edges], entries[edges:]
assert len(weight) == edges and begin[0] == 0 and begin[-1] == edges and min(weight) >= 0
source = [vertex for vertex in range(vertices) for _ in range(begin[vertex], begin[vertex + 1])]
assert len(source) == edges and min(target) >= 0 and max(target) < vertices
assert sorted(zip(source, target, weight)) == sorted(zip(target, source, weight))
print("Dev+:  0.001500000 s")
print("all good")
"""


def program(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path, monkeypatch):
    folder = tmp_path / "tools"
    folder.mkdir()
    program(folder / "compute-sanitizer", SANITIZER)
    program(folder / "ncu", PROFILER)
    program(folder / "nvidia-smi", DRIVER)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DFMST_COMMIT", "abc1234")
    return folder


@pytest.mark.slow(seconds=40)
def test_the_whole_session(tools, tmp_path):
    folder, solver = tmp_path / "out", program(tools / "solver", SOLVER)
    tests = "tests/cuda/test_filter_boruvka.py::test_long_paths"
    command = [sys.executable, str(BENCH / "gpu_session.py"), str(folder), "--python", ON_STANDIN]
    command += ["--shrink", "12", "--tests", tests, "--ecl-mst", str(solver)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    logs = {path.stem: path.read_text(encoding="utf-8") for path in (folder / "logs").glob("*.log")}
    assert done.returncode == 0, (done.stdout, done.stderr, logs)
    reported = {one["name"]: one["status"] for one in json.loads((folder / "session.json").read_text(encoding="utf-8"))}
    assert reported.pop("dask-cuda") == reported.pop("cugraph") == "left out"
    with zipfile.ZipFile(tmp_path / "out.zip") as packed:
        assert {"session.json", "logs/rows.log", "results/standin-1/rows.json"} <= {*packed.namelist()}
        assert packed.namelist()[0] == "summary.txt"
        assert packed.read("summary.txt").startswith(b"11 of 13 steps measured all. The others:\n")
    checks = {"memcheck", "initcheck", "synccheck"}
    assert set(reported) == {"facts", "tests", "packages", "rows", "benchmark", *checks, "cudf", "stream", "profile"}
    assert set(reported.values()) == {"ok"}
    (sanitized,) = {re.sub(r"--seconds \d+", "", logs[check].splitlines()[0]) for check in checks}
    assert "gpu/rows --shrink 12 --no-pool" in sanitized
    assert re.search(r"\d+ passed", logs["tests"])
    assert not re.search(r"failed|skipped|error", logs["tests"])

    results = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (folder / "results").glob("standin-1/*")
    }
    assert set(results) == {"device", "rows", "gpu", "cudf", "stream"}
    assert results["stream"]["rows_are_the_hosts"]
    device = results["device"]
    assert (device["commit"], device["driver"], device["device"]) == ("abc1234", "600.1", "NVIDIA Standin 1")
    assert results["rows"]["complete"]
    assert all(reported["equal"] for reported in results["rows"]["rows"])
    assert results["gpu"]["not_begun"] == []
    for graph in results["gpu"]["graphs"].values():
        assert graph["ecl_mst"] == {"milliseconds": 1.5, "runs": [1.5] * 3, "agrees_with_its_kruskal": True}
        for ours in graph["weights"].values():
            assert ours["steps"]["take_edges"]["launches"] == len(ours["rounds"])
            assert ours["rows"] == sum(record["chosen"] for record in ours["rounds"])
    assert results["cudf"]["forest"] > 0
    ratios = results["gpu"]["times_faster_than_ecl_mst"]
    assert set(ratios) == {"float32", "float64", "int64", "all"}
    assert 0 < ratios["all"]["least"] <= ratios["all"]["geometric_mean"]


@pytest.mark.slow
def test_the_benchmark_of_a_filtered_graph(tmp_path):
    # Large enough for two lists; those of the session above are solved at once.
    command = [*shlex.split(ON_STANDIN), str(BENCH), "gpu/speed", "--graphs", "rmat22", "--shrink", "9", "--light", "2"]
    subprocess.run([*command, "-o", str(tmp_path)], check=True, capture_output=True)
    reported = json.loads((tmp_path / "standin-1" / "gpu.json").read_text(encoding="utf-8"))["graphs"]["rmat22"]
    for ours in reported["weights"].values():
        light, heavy = ours["rounds"]
        table = 8 * reported["edges"]  # the ends; each list reads a part of them, in whole sectors
        sectors = table * (1 - (1 - light["taken"] / reported["edges"]) ** 8) + table
        assert ours["steps"]["take_edges"]["launches"] == 2
        assert 0.5 * sectors < 1e9 * ours["steps"]["take_edges"]["gigabytes"] < 3 * sectors
        assert light["taken"] + heavy["taken"] < reported["edges"]


@pytest.mark.slow
def test_a_step_that_fails_or_hangs_does_not_end_the_session(bench, tmp_path):
    session = bench("gpu_session")
    steps = {
        "fails": session.Step("fails", 200, [sys.executable, "-c", "print('before'); raise SystemExit(3)"]),
        "hangs": session.Step("hangs", 3, ["sh", "-c", "echo begun; sleep 900 & wait"]),
        "absent": session.Step("absent", 200, ["true"], "no-such-tool"),
        "skipped": session.Step("skipped", 200, [sys.executable, "-c", "print('no library'); raise SystemExit(77)"]),
        "partly": session.Step("partly", 200, [sys.executable, "-c", "print('half'); raise SystemExit(75)"]),
    }
    begin = time.monotonic()
    found = {name: session.run(step, tmp_path / name, step.seconds) for name, step in steps.items()}
    assert time.monotonic() - begin < 600
    assert {name: (one.status, one.last_line) for name, one in found.items()} == {
        "fails": ("failed (3)", "before"),
        "hangs": ("out of time", "begun"),
        "absent": ("left out", "no-such-tool is not installed"),
        "skipped": ("left out", "no library"),
        "partly": ("in part", "half"),
    }
    assert "out of time" in session.summary(list(found.values()), 5).splitlines()[2]


def test_no_time_left(bench, tmp_path, capsys):
    session = bench("gpu_session")
    assert session.main([str(tmp_path), "--seconds", "1"]) == 1
    assert capsys.readouterr().out.count("not begun") == 2 * 13  # all are among those that lack something


def test_a_session_goes_on_where_it_was_cut(bench, tmp_path):
    """A step that ended is not run again, whatever came after it: no time, or a signal that killed the session."""
    session, options = bench("gpu_session"), SimpleNamespace(folder=tmp_path, seconds=100.0)
    command = [sys.executable, "-c", "import sys; open(sys.argv[1], 'a').write('.'); sys.exit(int(sys.argv[2]))"]
    codes = {"first": 0, "fails": 3, "long": 0, "last": 0}
    todo = [
        session.Step(name, 400.0 if name == "long" else 20.0, [*command, str(tmp_path / name), str(code)])
        for name, code in codes.items()
    ]
    killed = [*todo[:2], session.Step("long", 20.0, [str(tmp_path / "no such program")])]
    with pytest.raises(FileNotFoundError):
        session.run_all(killed, options)
    written = [one["name"] for one in json.loads((tmp_path / "session.json").read_text(encoding="utf-8"))]
    assert written == ["first", "fails"]
    assert zipfile.is_zipfile(f"{tmp_path}.zip")
    for seconds, long, runs in ((100.0, "not begun", 0), (600.0, "ok", 1)):
        options.seconds = seconds
        outcomes = session.run_all(todo, options)
        assert [one.status for one in outcomes] == ["ok", "failed (3)", long, "ok"]
        assert len((tmp_path / "last").read_text()) == len((tmp_path / "fails").read_text()) == 1
        assert (tmp_path / "long").exists() == bool(runs)


def test_without_a_gpu_the_session_names_what_is_missing_and_stops(tmp_path):
    """The real command, in an environment without CuPy or without a device."""
    done = subprocess.run(
        [sys.executable, str(BENCH / "gpu_session.py"), "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert re.search(r"dfmst cannot use a GPU: engine='cuda' (needs|finds no)", done.stdout), done.stdout
    assert "No other step can run" in done.stdout
    assert [one["name"] for one in json.loads((tmp_path / "out" / "session.json").read_text())] == ["facts"]
    assert (tmp_path / "out.zip").exists()


def test_the_plan_runs_nothing(bench, tmp_path, capsys):
    assert bench("gpu_session").main([str(tmp_path / "out"), "--plan"]) == 0
    assert "13 steps, at most 17.5 minutes, in calls of 9.8:" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_only_files_with_tests_for_a_gpu_are_collected(bench):
    """Without Hypothesis, which the first tests of a stranger's run do not need."""
    session = bench("gpu_session")
    found = session.marked_tests()
    assert "tests/cuda/test_device.py" in found
    assert "tests/cuda/test_frames.py" in session.tests_of_packages()
    words = [*found, "-q", "--co", "-m", "", "-p", "no:hypothesispytest"]
    hide = "class Hide:\n def find_spec(self, name, *_):\n  if name.startswith('hypothesis.'): raise ImportError(name)"
    code = f"import sys, pytest\n{hide}\nsys.meta_path.insert(0, Hide())\nsys.exit(pytest.main({words!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert int(re.search(r"(\d+)(?:/\d+)? tests collected", done.stdout)[1]) > 100


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm4"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "rtx-3060-laptop"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("Tesla T4", "t4"),
        ("", "gpu"),
    ],
)
def test_every_card_has_a_folder_of_its_own(bench, name, short):
    assert bench("support.machine").short_name(name) == short


def test_an_algorithm_that_fails_does_not_stop_the_others(bench):
    """A failure is a record; without cuDF, `dataframe` is left out."""
    rows = bench("gpu.rows")
    with standin.installed():
        engine = select_engine("cuda")
        table = rows.fresh(engine, "erdos-renyi", 14, 3).table("float64")
        expected = rows.host_rows(engine, table)
        failing = SimpleNamespace(
            run=lambda *_: (_ for _ in ()).throw(MemoryError("out of memory allocating 64 bytes"))
        )
        record = rows.equal(engine, failing, table, expected)
        assert ("equal" in record, record["error"].partition(":")[0]) == (False, "CapacityError")
        assert rows.equal(engine, rows.REGISTRY["filter-boruvka"](), table, expected)["equal"]
    with standin.installed("cupy"):
        options = SimpleNamespace(shrink=14, seed=3, each=0.0)
        found = {one["algorithm"]: one for one in rows.others(engine, "erdos-renyi", options, (table, expected))}
    assert found.pop("dataframe")["left_out"] == "needs cudf"
    assert all(one["equal"] for one in found.values())


@pytest.mark.parametrize(
    ("records", "code", "said"),
    [
        ([{"equal": True}] * 2, 75, "2 compared, 0 differ, 0 failed, 0 left out"),
        ([{"equal": False}, {"left_out": "needs cudf"}], 1, "1 compared, 1 differ, 0 failed, 1 left out"),
        ([{"equal": True}, {"error": "CapacityError: ..."}], 1, "1 compared, 0 differ, 1 failed, 0 left out"),
    ],
)
def test_errors_are_not_counted_as_differences(bench, tmp_path, monkeypatch, capsys, records, code, said):
    rows = bench("gpu.rows")
    all_runs = len(rows.GRAPHS) * (len(rows.DTYPES) + len(rows.REGISTRY) - 1)
    monkeypatch.setattr(rows, "check", lambda *_: iter(records))
    monkeypatch.setattr(rows, "describe_device", lambda xp: {"folder": "standin"})
    monkeypatch.setattr(sys, "argv", ["rows", "-o", str(tmp_path), "--seed", "5"])
    with standin.installed():
        assert rows.main() == code
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"{said}, {all_runs - len(records)} not begun or not finished; seed: 5"


def test_a_step_that_is_asked_to_end_says_how_far_it_came(bench):
    def records():
        yield 1
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
        yield 2

    gpu = bench("gpu")
    assert list(gpu.in_time(records(), 60)) == [1]
    assert list(gpu.in_time(iter([1, 2]), 60)) == [1, 2]
    assert list(gpu.in_time(iter([1, 2]), 0)) == []


def test_each_step_takes_less_than_eight_minutes(bench, tmp_path):
    session = bench("gpu_session")
    steps = session.steps(session.arguments([str(tmp_path), "--ecl-mst", "solver"]))
    assert max(step.seconds for step in steps) < 480
    scripts = [word for step in steps for word in step.command if word.startswith("gpu/")]
    assert all((BENCH / word).with_suffix(".py").exists() for word in scripts)
    assert len(scripts) == 11


@pytest.mark.slow
def test_a_large_graph_is_not_waited_for(bench, tmp_path):
    ecl = bench("gpu.ecl")
    slow = program(tmp_path / "slow", SOLVER.replace('print("all', 'time.sleep(900)\nprint("all'))
    graph = bench("gpu.graphs").generate(CpuEngine(1), "dense-10k-10m", 12)
    ecl.write(CpuEngine(1), graph, tmp_path / "graph.egr")
    begin = time.monotonic()
    reported = ecl.measure(slow, tmp_path / "graph.egr", ecl._CHECKED + 1, 2, 600.0)
    assert reported == {"milliseconds": 1.5, "runs": [1.5, 1.5], "agrees_with_its_kruskal": None}
    assert time.monotonic() - begin < 600


def test_a_program_that_prints_no_time(bench, tmp_path):
    assert "error" in bench("gpu.ecl").measure(program(tmp_path / "mute", "#!/bin/sh\n"), tmp_path, 1, 3, 30.0)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_weights_of_every_width_have_one_order(bench, dtype):
    graph = bench("gpu.graphs").generate(CpuEngine(1), "rmat22", 12)
    order = np.argsort(graph.drawn, kind="stable")
    narrow = graph.weights(dtype)
    assert narrow.dtype == dtype
    assert (np.diff(narrow[order]) >= 0).all()
    assert (narrow >= 0).all()


def test_the_pipeline_by_pandas(bench):
    pandas = importlib.import_module("pandas")
    importlib.import_module("dfmst.pandas")
    reported = bench("gpu.cudf_pipeline").measure(pandas, 8, 2)
    assert reported["edges"] == 2048
    assert set(reported["seconds"]) == {"read_parquet", "mst.minimum", "to_parquet"}


@pytest.mark.slow
def test_the_dask_check_by_pandas(bench):
    distributed = pytest.importorskip("distributed")
    pandas = importlib.import_module("pandas")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
    assert bench("gpu.workers").check(cluster, pandas, 2000, 4)


def test_times_begin_when_the_device_has_nothing_left_to_do(bench):
    timing, order = bench("gpu.timing"), []

    def step(name):
        return lambda *_: order.append(name)

    stream = SimpleNamespace(synchronize=step("wait"))
    event = SimpleNamespace(record=step("event"), synchronize=step("wait"))
    cuda = SimpleNamespace(
        Event=lambda: event, get_current_stream=lambda: stream, get_elapsed_time=lambda *_: float(len(order))
    )
    times = timing.milliseconds(SimpleNamespace(cuda=cuda), step("run"), 2, 1, SimpleNamespace(fill=step("flush")))
    assert order == ["flush", "wait", "event", "run", "event", "wait"] * 3
    assert times.device == [12.0, 18.0]
    assert len(times.wall) == 2
