"""Terms print what they evaluate, and a plan prints as a table."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

import dfmst
from dfmst._fold.budget import Term, distinct, least, most

N, W = Term(7, "n"), Term(2, "W")
GRAPH: dict[str, Any] = {"n_vertices": 8_410_000, "n_edges": 90_000_000, "partitions": 48}
PLANS = [
    dfmst.plan(**GRAPH, strategy=strategy, id_bytes=id_bytes, memory_limit=memory, **workers)
    for strategy in ("merge", "shuffle", "labels")
    for id_bytes in (4, 8, 25)
    for memory in ("600MB", "16GiB")
    for workers in ({"workers": 1}, {"workers": 5}, {"gpus": 3, "gpu_memory_limit": "4GB"})
]
PLANS += [
    dfmst.plan(**GRAPH, strategy=strategy, id_bytes=id_bytes, memory_limit=memory)
    for strategy in ("stream", "spill")
    for id_bytes in (4, 25)
    for memory in ("600MB", "16GiB")
]


@pytest.mark.parametrize(
    ("term", "text", "value"),
    [
        (2 * N + 3, "2 · n + 3", 17),
        (2 * (N + 3), "2 · (n + 3)", 20),
        (N - (W - 1), "n - (W - 1)", 6),
        (N / (W * 2), "n / (W · 2)", 1.75),
        (N / W * 2, "n / W · 2", 7),
        ((N + 1) / W, "(n + 1) / W", 4),
        (4 / W, "4 / W", 2),
        (0 * N + W, "W", 2),
        (1 * N + 0, "n", 7),
        (230_000_000 + N, "230 MB + n", 230_000_007),
        (least(N, W, 3), "min(n, W, 3)", 2),
        (most(N, W) * W, "max(n, W) · W", 14),
        (least(N, N), "n", 7),
        (0.5 * (N + W).named("g") + W, "0.5 · g + W", 6.5),
        (0 * N / W, "0", 0),
        (distinct(N, 2 * W), "n · (1 - exp(-1 · 2 · W / n))", 7 * (1 - math.exp(-4 / 7))),
    ],
)
def test_a_term_prints_what_it_evaluates(term: Term, text: str, value: float) -> None:
    assert (str(term), term.value) == (text, value)


def test_a_named_term_is_a_part_with_its_own_parts() -> None:
    term = (3 * (N / W).named("f", "rows")).named("reading") + 1
    assert {name: (part.text, part.unit) for name, part in term.parts.items()} == {
        "reading": ("3 · f", ""),
        "f": ("n / W", "rows"),
    }


def evaluate(term: Term, names: dict[str, float]) -> float:
    """The value of the text, with the values of the parts' texts."""
    text = re.sub(r"(\d[\d,]*) MB", lambda match: f"({match[1].replace(',', '')} * 10 ** 6)", term.text)
    values = {name: evaluate(part, names) for name, part in term.parts.items()} | names
    for name in sorted((name for name in values if " " in name), key=len, reverse=True):
        text = text.replace(name, str(values[name]))
    known: dict[str, object] = {"min": min, "max": max, "exp": math.exp, **values}
    return float(eval(text.replace("·", "*").replace("^", "**"), known))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.strategy)
def test_each_formula_of_a_plan_prints_what_it_evaluates(plan: dfmst.Plan) -> None:
    names = {"n": plan.n_vertices, "m": plan.n_edges, "P": plan.partitions, "W": plan.workers, "M": plan.memory_limit}
    for quantity, term in plan.formulas.items():
        assert getattr(plan, quantity) == (term.value if term.unit == "s" else int(term.value))
        for one in (term, *term.parts.values()):
            assert evaluate(one, {**names, "limit": plan.gpu_memory_limit}) == pytest.approx(one.value, rel=0.03)


class Cells(HTMLParser):
    """Text of a table's cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def test_the_tables() -> None:
    plan = dfmst.plan(**GRAPH, gpus=3, gpu_memory_limit="4GB", id_bytes=8, strategy="shuffle", details=True)
    lines = repr(plan).splitlines()
    assert lines[0] == "shuffle, in 8 slices: fits (as asked)"
    assert "each with a GPU of 4 GB" in lines[2]
    page = plan._repr_html_()
    assert "shuffle, in 8 slices: fits (as asked)<br>" in page
    rows = zip(*[iter(Cells(page).cells)] * 3, strict=True)
    for line, row in zip(lines[5:], rows, strict=True):
        assert re.split(r"  +", line.strip(), maxsplit=2) == [cell for cell in map(str.strip, row) if cell]
    assert sum("limit " in line and "GB" in line for line in lines) == 2


def test_a_plan_below_the_limit_does_not_fit_without_memory_for_its_tasks() -> None:
    plan = dfmst.plan(**GRAPH, memory_limit="2100MB", strategy="merge")
    assert plan.usable_memory < plan.peak_memory < plan.memory_limit
    assert "merge: does not fit (as asked)" in repr(plan)
    assert "  2.01 GB  of 1.82 GB\n" in repr(plan)
    assert "2.1 GB  1.82 GB for tasks" in repr(replace(plan, details=True))
    assert dfmst.plan(**GRAPH, memory_limit="2100MB", strategy="stream").usable_memory == 2_100_000_000


def test_the_page_of_a_notebook_is_escaped() -> None:
    plan = dfmst.Plan(1, 1, 1, 1, 1, "<b>", "a & b", 1, 0, True, 1, 0, {"peak_memory": Term(1, "<i>")}, details=True)
    page = plan._repr_html_()
    assert "&lt;b&gt;" in page
    assert "a &amp; b" in page
    assert "<td>&lt;i&gt;</td>" in page


@pytest.mark.parametrize(
    ("graph", "strategy", "reason"),
    [
        ({"n_vertices": 10**6, "n_edges": 2 * 10**6}, "merge", "a forest of all vertices fits one worker"),
        ({"n_vertices": 10**9, "n_edges": 10**10}, "shuffle", "no strategy fits"),
        ({"n_vertices": 10**8, "n_edges": 10**9, "partitions": 1000}, "shuffle", "fits no worker"),
    ],
)
def test_auto_gives_its_reason(graph: dict[str, Any], strategy: str, reason: str) -> None:
    plan = dfmst.plan(**graph, workers=2, memory_limit="3GiB")
    assert plan.strategy == strategy
    assert reason in plan.reason
    assert dfmst.plan(**graph, workers=2, memory_limit="3GiB", strategy=strategy).reason == "as asked"


def test_a_plan_as_json() -> None:
    plan = dfmst.plan(**GRAPH, workers=2)
    found = json.loads(json.dumps(plan.to_dict()))
    assert found["formulas"]["peak_memory"] == plan.formulas["peak_memory"].text
    assert {**found, "formulas": plan.formulas} == {name: getattr(plan, name) for name in found}
