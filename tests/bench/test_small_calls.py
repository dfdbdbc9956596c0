"""The benchmark of small calls measures ours and the peer on every table."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("polars")
pytest.importorskip("scipy")


def test_every_call_has_its_time(bench, monkeypatch):
    small_calls = bench("small_calls")
    monkeypatch.setattr(small_calls, "ROWS", (10, 50))
    measured = small_calls.calls(2)
    assert set(measured) == {"10 rows", "50 rows"}
    for times in measured.values():
        assert {"arrays", "CSR matrix", "polars frame, texts", "SciPy, arrays"} < set(times)
        assert min(times.values()) > 0
    measured = small_calls.in_a_loop(2)
    assert {len(times) for times in measured.values()} == {9}
