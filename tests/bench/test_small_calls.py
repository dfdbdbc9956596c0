"""The benchmark of small calls measures ours and the peer on every table."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("polars")
pytest.importorskip("scipy")


def test_every_call_has_its_time(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "bench"))
    bench = importlib.import_module("small_calls")
    monkeypatch.setattr(bench, "ROWS", (10, 50))
    measured = bench.calls(2)
    assert set(measured) == {"10 rows", "50 rows"}
    for times in measured.values():
        assert {"arrays", "CSR matrix", "polars frame, texts", "SciPy, arrays"} < set(times)
        assert min(times.values()) > 0
    measured = bench.in_a_loop(2)
    assert {len(times) for times in measured.values()} == {9}
