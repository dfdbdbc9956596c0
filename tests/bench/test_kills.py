"""What the pages say of killed runs is what was measured; a case's result leaves the others."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"


@pytest.fixture
def bench(monkeypatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("limits.kills")


def test_the_pages_show_the_result(bench):
    result = json.loads((ROOT / "bench" / "results" / "cpu" / "kills.json").read_text(encoding="utf-8"))
    assert set(result) == set(bench.CASES)
    least = {}
    for case, measured in result.items():
        assert len(measured["kills"]) == 10
        assert measured["rows_equal"]
        late = [kill["kept"] for kill in measured["kills"] if kill["done"] > 0.5]
        least[case] = round(100 * min(late))
        assert least[case] >= 50
    words = "at least {merge} % (`merge`), {two-pass} % (`two-pass`) and {shuffle} % (`shuffle`)".format(**least)
    assert words in (GUIDES / "clusters.md").read_text(encoding="utf-8"), words
    dense, sparse, text = (least[f"stream:{kind}"] for kind in ("dense", "sparse", "text"))
    words = f"at least {dense}, {sparse} and {text} %"
    assert words in (GUIDES / "larger-than-memory.md").read_text(encoding="utf-8"), words


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
