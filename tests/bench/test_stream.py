"""The benchmark of streams runs, on a small graph, and its result file holds every figure."""

from __future__ import annotations

import json
import sys

import pytest

SMALL = ["--vertices", "2000", "--rows", "60000", "--files", "3"]


@pytest.fixture
def measured(bench, monkeypatch, tmp_path):
    """Runs a plan in this process; what it measures has processes of its own. What the result file says."""
    monkeypatch.delitem(sys.modules, "stream", raising=False)
    stream = bench("stream")

    def run(plan, *options):
        path = tmp_path / "stream.json"
        monkeypatch.setattr("sys.argv", ["stream.py", plan, *SMALL, *options, "-o", str(path)])
        stream.main()
        return json.loads(path.read_text())[plan]

    return run


@pytest.fixture
def here(measured, bench, monkeypatch):
    """What is measured runs in this process, too: test_speed has seen that each has one of its own."""
    monkeypatch.setattr("stream.measure", bench("support.runs").run_here)


def check(result, tmp_path, figures):
    assert result["rows"] == 60_000
    for name in figures:
        assert (result[name] if name != "sibling" else result[name]["stream"])["peak_mib"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["stream.json"]


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_large(measured, tmp_path):
    check(measured("large", "--limit", "300MiB", "--sibling-limit", "300MiB"), tmp_path, ["stream", "sibling"])


@pytest.mark.slow
def test_speed(measured, tmp_path):
    check(measured("speed", "--limit", "300MiB", "--repeat", "1"), tmp_path, ["scan", "stream", "scipy"])


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_ids(measured):
    result = measured("ids", "--limit", "400MiB", "--repeat", "1")
    for kind in ("dense", "sparse", "text"):
        for name in ("scan_in_order", "scan_and_hash", "stream", "in_memory"):
            assert result[kind][name]["processor_seconds"] >= 0
            assert result[kind][name]["m_rows_per_s"] > 0
