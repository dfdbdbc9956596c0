"""The committed result of killed runs is complete; a new result of one case keeps the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def kills(bench) -> Any:
    return bench("limits.kills")


def test_the_result_has_every_case(kills):
    result = json.loads((ROOT / "bench" / "results" / "cpu" / "kills.json").read_text(encoding="utf-8"))
    assert set(result) == set(kills.CASES)
    for measured in result.values():
        assert len(measured["kills"]) == 10
        assert measured["rows_equal"]
        late = [kill["kept"] for kill in measured["kills"] if kill["done"] > 0.5]
        assert round(100 * min(late)) >= 50


def test_the_work_that_is_counted_is_in_the_package(kills):
    for place in kills.PLACES:
        holder, name = kills.holder_of(place)
        assert callable(getattr(holder, name))


def test_a_result_leaves_those_of_other_cases(kills, tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "describe", lambda *packages: {"date": "today"})
    path = tmp_path / "kills.json"
    cases = ("merge", "shuffle")
    for case in cases:
        kills.add_result(path, case, {"rows": 7})
    assert json.loads(path.read_text()) == {
        case: {"machine": {"date": "today"}, "rows": 7} for case in ("merge", "shuffle")
    }
