"""The CPU engine as a guest in other people's processes: their threads, forks and exits."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dfmst._engines import CpuEngine, select_engine
from dfmst._engines.cpu import default_threads, quota
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import DfmstError, EngineUnavailableError
from tests.support.columns import parents, roots_of

#: What a child process runs first: a kernel on four threads, and whether it was right.
PRELUDE = """
import os, sys
import numpy as np
from dfmst._engines import CpuEngine
from dfmst._engines.primitives.sort import sort_order

def works(seed):
    key = np.random.default_rng(seed).integers(0, 2**64 - 1, 200_000, np.uint64)
    return np.array_equal(sort_order(CpuEngine(4), key), np.argsort(key, kind="stable"))

"""


def python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a new process; a deadlock fails after five minutes, and takes forked children along."""
    command = [sys.executable, "-c", PRELUDE + script]
    with subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail("the script is still running after five minutes")
    return subprocess.CompletedProcess(command, process.returncode, *output)


def test_callers_at_once():
    # One of them gets the pool, the others work alone; all are right, and all come back.
    begin = threading.Barrier(6)

    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        engine = CpuEngine(4)
        begin.wait()
        for _ in range(30):
            key = rng.integers(0, 2**64 - 1, 20_000, np.uint64)
            parent = parents(rng, "shuffled", 20_000)
            expected = roots_of(parent)
            flatten(engine, parent)
            if not np.array_equal(parent, expected):
                return False
            if not np.array_equal(sort_order(engine, key), np.argsort(key, kind="stable")):
                return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


def test_more_threads_than_chunks():
    label = np.empty(3, np.uint32)
    CpuEngine(64).launch(
        "gather_ranks", 3, np.arange(3, dtype=np.uint32), np.arange(3, dtype=np.uint32), label, grain=1
    )
    assert label.tolist() == [0, 1, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_no_more_threads_than_chunks():
    result = python(
        """
column = np.zeros(5000, np.uint32)
CpuEngine(64).launch("flatten", 5000, column)
print(len(os.listdir("/proc/self/task")))
""",
        OPENBLAS_NUM_THREADS="1",
    )
    # The caller and one worker (two chunks), and one more for whatever else is in the process.
    assert int(result.stdout) <= 3, result


@pytest.mark.parametrize("grain", [0, 1, 2**63])
def test_any_grain(grain):
    parent = parents(np.random.default_rng(0), "down", 10_000)
    CpuEngine(4).launch("halve_paths", len(parent), parent, grain=grain)
    CpuEngine(4).launch("flatten", len(parent), parent, grain=grain)
    assert not parent.any()


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_children_of_a_fork_start_workers_of_their_own():
    result = python("""
assert works(0)
for seed in range(1, 4):
    child = os.fork()
    if not child:
        os._exit(0 if works(seed) and works(seed + 10) else 1)
    assert works(seed + 20)
    assert os.waitpid(child, 0)[1] == 0
print("ok")
""")
    assert (result.returncode, result.stdout) == (0, "ok\n"), result


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer's allocator stays locked")
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_fork_while_another_thread_is_at_work():
    # The child gets a copy of a pool that is busy and perhaps locked. (The first call also imports what NumPy loads
    # late: a fork beside an import leaves the child waiting for Python's lock, not for ours.)
    result = python("""
import threading
assert works(0)
stop = threading.Event()
def keep_busy():
    while not stop.is_set():
        works(0)
thread = threading.Thread(target=keep_busy)
thread.start()
for seed in range(10):
    child = os.fork()
    if not child:
        os._exit(0 if works(seed) else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
print("ok")
""")
    assert (result.returncode, result.stdout) == (0, "ok\n"), result


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "os._exit(0)"])
def test_exit_while_workers_are_idle(ending):
    result = python(f"assert works(0)\n{ending}\n")
    assert (result.returncode, result.stderr) == (0, ""), result


def test_exit_while_a_daemon_thread_is_at_work():
    result = python("""
import threading, time
def keep_busy():
    while True:
        works(0)
threading.Thread(target=keep_busy, daemon=True).start()
time.sleep(0.2)
""")
    assert (result.returncode, result.stderr) == (0, ""), result


@pytest.mark.parametrize(("configured", "threads"), [("1", 1), ("3", 3), (" 2 ", 2), ("0", 1), ("-4", 1)])
def test_threads_of_the_environment(monkeypatch, configured, threads):
    monkeypatch.setenv("DFMST_NUM_THREADS", configured)
    assert default_threads() == CpuEngine().threads == select_engine().threads == threads


def test_threads_by_default(monkeypatch):
    monkeypatch.setattr("dfmst._engines.cpu.quota", lambda: 16)
    for configured in (None, ""):
        monkeypatch.delenv("DFMST_NUM_THREADS", raising=False)
        if configured is not None:
            monkeypatch.setenv("DFMST_NUM_THREADS", configured)
        monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
        assert default_threads() == 3
        monkeypatch.delattr("os.sched_getaffinity")
        monkeypatch.setattr("os.cpu_count", lambda: None)
        assert default_threads() == 1
        monkeypatch.setattr("os.cpu_count", lambda: 64)
        assert default_threads() == 16


@pytest.mark.parametrize(
    ("files", "processors"),
    [
        ({}, math.inf),
        ({"cpu.max": "max 100000\n"}, math.inf),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "5000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
    ],
)
def test_quota_of_a_container(tmp_path, files, processors):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert quota(str(tmp_path)) == processors


@pytest.mark.parametrize(("threads", "used"), [(1, 1), (2, 2), (3, 3), (4, 3), (16, 3)])
def test_no_more_threads_than_processors(monkeypatch, threads, used):
    monkeypatch.setattr("dfmst._engines.processors", lambda: 3)
    assert select_engine("cpu", threads).threads == used


def test_threads_of_the_environment_are_no_number(monkeypatch):
    monkeypatch.setenv("DFMST_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="DFMST_NUM_THREADS is 'many'; it must be a whole number"):
        default_threads()


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_select_engine(name):
    engine = select_engine(name, 1)
    assert (engine.name, engine.threads, engine.xp) == ("cpu", 1, np)


@pytest.mark.parametrize("threads", [0, -1])
def test_select_engine_refuses_less_than_one_thread(threads):
    with pytest.raises(ValueError, match=f"threads is {threads}; it must be at least 1"):
        select_engine("cpu", threads)


def test_select_engine_refuses_other_names():
    with pytest.raises(ValueError, match="unknown engine 'gpu'; known engines: 'auto', 'cpu', 'cuda'"):
        select_engine("gpu")


def test_missing_library_is_named():
    result = python(
        """
from dfmst.errors import EngineUnavailableError
try:
    works(0)
except EngineUnavailableError as error:
    print(error)
""",
        DFMST_KERNELS="/nowhere/kernels.so",
    )
    assert "the compiled kernels cannot be loaded from /nowhere/kernels.so" in result.stdout, result
    assert "Hint: install dfmst" in result.stdout


def test_engine_errors_are_import_errors():
    assert issubclass(EngineUnavailableError, ImportError)
    assert issubclass(EngineUnavailableError, DfmstError)
