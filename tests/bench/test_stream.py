"""The benchmark of streams runs, on a small graph, and its result file holds every figure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
SMALL = ["--vertices", "2000", "--rows", "60000", "--files", "3", "--limit", "300MiB"]


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "figures"), [("speed", "scan stream scipy"), ("large", "stream sibling")])
def test_plan(tmp_path, plan, figures):
    more = ["--repeat", "1"] if plan == "speed" else ["--sibling-limit", "300MiB"]
    command = [sys.executable, "-P", BENCH / "stream.py", plan, *SMALL, *more, "-o", tmp_path / "stream.json"]
    done = subprocess.run(command, env={"PYTHONPATH": str(BENCH)}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "stream.json").read_text())[plan]
    assert result["rows"] == 60_000
    for name in figures.split():
        assert (result[name] if name != "sibling" else result[name]["stream"])["peak_mib"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["stream.json"]


@pytest.mark.slow
def test_ids(tmp_path):
    command = [
        sys.executable,
        "-P",
        BENCH / "stream.py",
        "ids",
        *SMALL,
        "--repeat",
        "1",
        "-o",
        tmp_path / "stream.json",
    ]
    command[command.index("300MiB")] = "400MiB"
    done = subprocess.run(command, env={"PYTHONPATH": str(BENCH)}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "stream.json").read_text())["ids"]
    for kind in ("dense", "sparse", "text"):
        for name in ("scan_in_order", "scan_and_hash", "stream", "in_memory"):
            assert result[kind][name]["processor_seconds"] >= 0
            assert result[kind][name]["m_rows_per_s"] > 0
