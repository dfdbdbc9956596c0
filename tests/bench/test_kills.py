"""The committed result of killed runs is complete; a new result of one case keeps the others."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("limits.kills")


def test_the_result_has_every_case(bench):
    result = json.loads((ROOT / "bench" / "results" / "cpu" / "kills.json").read_text(encoding="utf-8"))
    assert set(result) == set(bench.CASES)
    for measured in result.values():
        assert len(measured["kills"]) == 10
        assert measured["rows_equal"]
        late = [kill["kept"] for kill in measured["kills"] if kill["done"] > 0.5]
        assert round(100 * min(late)) >= 50


def test_the_work_that_is_counted_is_in_the_package(bench):
    for place in bench.PLACES:
        holder, name = bench.holder_of(place)
        assert callable(getattr(holder, name))


def test_a_result_leaves_those_of_other_cases(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "describe", lambda *packages: {"date": "today"})
    path = tmp_path / "kills.json"
    cases = ("merge", "shuffle")
    for case in cases:
        bench.add_result(path, case, {"rows": 7})
    assert json.loads(path.read_text()) == {
        case: {"machine": {"date": "today"}, "rows": 7} for case in ("merge", "shuffle")
    }
