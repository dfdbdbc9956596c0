"""Whatever ends a run, the output is whole or absent."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pty", reason="signals and pipes are those of POSIX")

#: Runs in the process under test: it says that the output is about to be renamed, and waits there.
AT_THE_RENAME = """
import pathlib, time
def wait(self, target):
    pathlib.Path('ready').touch()
    while True:
        time.sleep(0.05)  # one long sleep could begin just after the signal came
pathlib.Path.replace = wait
"""

AT_THE_READER = """
import pathlib, time
import dfmst.formats
def wait(*arguments, **options):
    pathlib.Path('ready').touch()
    while True:
        time.sleep(0.05)  # one long sleep could begin just after the signal came
dfmst.formats.open_table = wait
"""

#: Says that a kernel of Prim's algorithm begins, and when it has ended.
IN_A_KERNEL = """
import pathlib
from dfmst._engines.cpu import CpuEngine
launch = CpuEngine.launch
def noted(self, kernel, *arguments, **options):
    if kernel == 'grow_trees':
        pathlib.Path('ready').touch()
    launch(self, kernel, *arguments, **options)
    if kernel == 'grow_trees':
        pathlib.Path('ended').touch()
CpuEngine.launch = noted
"""


def wait_for(path: str) -> None:
    deadline = time.monotonic() + 60
    while not Path(path).exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def parts() -> list[str]:
    return [name for name in os.listdir() if name.endswith(".part")]


@pytest.fixture
def random_edges(parquet) -> Path:
    generator = np.random.default_rng(1)
    columns = {name: generator.integers(0, 50_000, 300_000) for name in ("source", "target", "weight")}
    return parquet("edges.parquet", columns)


@pytest.mark.slow
def test_killed_at_any_moment(fork, random_edges):
    fork("--version").wait(60)  # the first one waits for the imports
    begin = time.monotonic()
    assert fork("forest", random_edges, "-o", "whole.csv").wait(60) == 0
    duration = time.monotonic() - begin
    whole = Path("whole.csv").read_bytes()
    generator = random.Random(1)
    seen = set()
    for _ in range(8):
        begin = time.monotonic()
        process = fork("forest", random_edges, "-o", "out.csv")
        try:
            process.communicate(timeout=generator.uniform(0.1, 1.1) * duration)
            duration = time.monotonic() - begin  # the machine had less to do than before: sooner the next time
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate(timeout=60)
        seen.add(process.returncode)
        assert not Path("out.csv").exists() or Path("out.csv").read_bytes() == whole
        Path("out.csv").unlink(missing_ok=True)
    assert -signal.SIGKILL in seen


@pytest.mark.slow
@pytest.mark.parametrize("older", ["", "older"])
def test_killed_before_the_rename(fork, roads, older):
    if older:
        Path("out.csv").write_text(older)
    process = fork("forest", roads, "-o", "out.csv", before=AT_THE_RENAME)
    wait_for("ready")
    process.kill()
    process.communicate(timeout=60)
    assert (Path("out.csv").read_text() if Path("out.csv").exists() else "") == older
    assert [name.startswith(".out.csv.") for name in parts()] == [True]
    # What the killed run left does not disturb the next, which removes it.
    assert fork("forest", roads, "-o", "out.csv").wait(60) == 0
    assert Path("out.csv").read_text() != older
    assert parts() == []


@pytest.mark.slow
@pytest.mark.parametrize("before", [AT_THE_READER, AT_THE_RENAME], ids=["reading", "writing"])
@pytest.mark.parametrize(
    ("command", "number", "status"),
    [("forest", signal.SIGINT, 130), ("components", signal.SIGTERM, 143), ("convert", signal.SIGHUP, 129)],
)
def test_interrupted_while_it_reads_or_writes(fork, roads, command, number, status, before):
    process = fork(command, roads, "-o", "out.csv", before=before)
    wait_for("ready")
    process.send_signal(number)
    output, text = process.communicate(timeout=60)
    assert (process.returncode, output, text) == (status, b"", b"")
    assert sorted(os.listdir()) == ["ready", "roads.parquet"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_in_a_kernel_of_seconds(fork, parquet, number, status):
    generator = np.random.default_rng(1)
    ends = {name: generator.integers(0, 750_000, 3_000_000) for name in ("source", "target")}
    edges = parquet("edges.parquet", {**ends, "weight": generator.random(3_000_000)})
    process = fork("forest", edges, "--algorithm", "prim", "-o", "out.csv", before=IN_A_KERNEL)
    wait_for("ready")
    process.send_signal(number)
    output, text = process.communicate(timeout=60)
    assert (process.returncode, output, text) == (status, b"", b"")
    assert sorted(os.listdir()) == ["edges.parquet", "ready"]


def test_output_replaces_an_older_file(dfmst, roads, rows, picked):
    Path("out.parquet").write_text("older")
    dfmst("forest", roads, "-o", "out.parquet")
    assert rows("out.parquet") == picked([1, 2, 4, 6])


def test_device_is_not_replaced(dfmst, roads):
    os.mkfifo("out.csv")
    reading = os.open("out.csv", os.O_RDONLY | os.O_NONBLOCK)
    dfmst("forest", roads, "-o", "out.csv")
    assert os.read(reading, 1 << 16).startswith(b"source,target")
    os.close(reading)
    assert Path("out.csv").is_fifo()
