"""The table of NetworkX's times is that of the committed result."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_pages_show_the_result(monkeypatch):
    pytest.importorskip("networkx")
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    bench = importlib.import_module("networkx_backend")
    result = json.loads((ROOT / "bench" / "results" / "cpu" / "networkx.json").read_text(encoding="utf-8"))
    assert list(result["milliseconds"]) == ["100", "1000", "10000", "100000", "1000000"]
    page = (ROOT / "docs" / "guides" / "coming-from.md").read_text(encoding="utf-8")
    assert bench.table(result) in page
    assert bench.short_table(result) in (ROOT / "README.md").read_text(encoding="utf-8")
