"""The papers' figures at a tiny size: every one is measured, written and reported; no number is checked."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

TINY = 0.02


@pytest.fixture
def papers(bench):
    return bench("papers")


@pytest.fixture
def setting(papers, tmp_path):
    # No real graphs: the folder beside the repository may be absent, and they have only one size.
    return papers.Setting(size=TINY, repeat=1, data=tmp_path / "none", note=lambda _: None)


def names(papers):
    return [name for name, _ in papers.figures()]


def lay_out(figure, path, **_):
    """In place of ``savefig``: matplotlib places all that the figure shows, and paints nothing."""
    figure.get_layout_engine().execute(figure)
    Path(path).touch()


@pytest.mark.slow
def test_every_figure(papers, setting, tmp_path, monkeypatch):
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lay_out)  # test_only paints one
    monkeypatch.setattr(papers, "describe", lambda *_: {"processor": "a processor", "date": "today", "commit": None})
    papers.measure_all(setting, tmp_path)
    skipped = {"nobari2012_table1_roads"}  # the other tables of road networks have grids as well
    if importlib.import_module("paper_figures.knox_programs").COMPILER is None:
        programs = ("fig01_minimum", "fig02_one_queue", "fig04_parts", "fig05_sort", "fig07_updates")
        skipped |= {f"knox2025_{name}" for name in programs}
    expected = set(names(papers)) - skipped
    assert {path.stem for path in tmp_path.glob("*.parquet")} == expected
    assert {path.stem for path in tmp_path.glob("*.png")} == expected
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert all(f"{name}.png)" in text for name in expected)
    claims = [claim for path in tmp_path.glob("*.parquet") for claim in papers.read_account(path)["claims"]]
    assert len(claims) > 60
    assert all(claim["where"] and claim["text"] in text for claim in claims)
    for path in tmp_path.glob("*.parquet"):
        table = pq.read_table(path)
        assert table.column_names[3:] == ["value", "published", "published_high", "cited"]
        assert not table["value"].null_count
        # A published number always says where the paper gives it.
        assert table["published"].is_null().to_pylist() == table["cited"].is_null().to_pylist()


def test_only(papers, setting, tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "describe", lambda *_: {"processor": "a processor"})
    papers.measure_all(setting, tmp_path, "knox2025_fig06")
    assert [path.name for path in tmp_path.glob("*.parquet")] == ["knox2025_fig06_helpers.parquet"]
    assert (tmp_path / "knox2025_fig06_helpers.png").read_bytes().startswith(b"\x89PNG")


def test_published_tables_are_whole(papers):
    """Tables 7 to 9 agree with themselves: a speedup is the quotient of the seconds."""
    tables = importlib.import_module("paper_figures.vasconcellos")
    roads = [road.printed for road in tables.ROADS.values()]
    rows = [*roads, *(row for rows in tables.RANDOM.values() for row in rows)]
    assert len(rows) == 39
    for row in rows:
        assert row.faster == pytest.approx(row.epmst / row.seconds, rel=0.02)
    for other, own, faster in tables.TABLE10.values():
        assert faster == pytest.approx(other / own, rel=0.01)


def test_every_figure_of_the_papers_is_listed(papers):
    """None of a paper's figures and tables is left out; those that are measured have a file."""
    last = {
        "nobari2012": (8, 1),
        "koohi2022": (10, 3),
        "vasconcellos2018": (10, 10),
        "knox2025": (15, 0),
        "wang2011": (10, 2),
    }
    for paper, (_, module) in papers.PAPERS.items():
        listed: dict[str, set[int]] = {"Figure": set(), "Table": set()}
        for label in module.LISTED:
            kind, _, numbers = label.partition(" ")
            if kind == "Algorithm":
                continue
            numbers = numbers.replace("II", "2").replace("I", "1")
            found = [int(number) for number in re.findall(r"\d+", numbers)]
            listed[kind.removesuffix("s")] |= set(range(found[0], found[-1] + 1))
        figures, tables = last[paper]
        assert listed == {"Figure": set(range(1, figures + 1)), "Table": set(range(1, tables + 1))}, paper
        measured = {file for file in module.LISTED.values() if file.isidentifier()}
        assert measured == set(module.FIGURES)


def test_the_published_forms_are_measured(papers, setting):
    """The verdicts are of the search, the baselines and the queues that the papers describe."""
    sizes = papers.nobari.FIGURES["fig07_subtree"](setting)
    assert {row.series for row in sizes.rows} == {"MinPMA", "SortPMA", "MinPMA, heap", "SortPMA, heap"}
    assert {row.series for row in sizes.rows if row.published is not None} == {"MinPMA", "SortPMA"}
    density = papers.nobari.FIGURES["fig05_density"](setting)
    assert any(claim.where == "ours" and "Borůvka" in claim.text for claim in density.claims)
    assert "PMA beats our Borůvka from lists at" in density.ours
    assert {row.panel.rpartition("seconds ")[2] for row in density.rows if "seconds" in row.panel} == {
        "from lists",
        "from the edge table",
    }
    shared = [row for row in papers.knox.FIGURES["fig03_queues"](setting).rows if row.panel[0] == "%"]
    assert any(row.value == 100 for row in shared if "every list" in row.series and row.x == 2)


def test_names_are_distinct(papers):
    assert len(names(papers)) == len(set(names(papers))) > 15


def test_verdicts_follow_from_the_claims(papers):
    rules = importlib.import_module("paper_figures.rules")
    assert rules.falls([5, 3, 1])
    assert not rules.falls([5, 3, 3])  # the last bar must fall, too
    assert rules.rises([1, 2])
    assert not rules.rises([1, 2, 1.9])
    assert rules.within([1, 2], 1, 2)
    assert not rules.within([0.9], 1, 2)
    assert rules.steady([1, 1.2])
    assert not rules.steady([1, 1.3])
    assert rules.same_order({"a": 1, "b": 3, "c": 2}, {"a": 5, "b": 9, "c": 5})
    assert not rules.same_order({"a": 2, "b": 1}, {"a": 5, "b": 9})
    assert rules.fastest("a", {"a": [1, 2], "b": [1, 3]})
    assert not rules.fastest("a", {"a": [1, 4], "b": [1, 3]})
    claim = papers.knox.Claim
    figure = papers.knox.Figure("", "", "x", [], "", "", [], "", "")
    assert figure.tally == "no claim to test"
    reported = [
        claim("one", True, "section 1"),
        claim("other", False, "section 2", "reason"),
        claim("more", None, "ours"),
    ]
    assert papers.replace(figure, claims=reported).tally == "1 of 2 claims agree"
    assert [one.verdict for one in reported] == ["agrees", "**differs**: reason", "not tested"]
