"""``dfmst demo``, and the data that it shows."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from dfmst.cli.console import aligned
from dfmst.cli.options import demo_path
from tests.report.page import check_page, text_of


def test_demo(dfmst):
    result = dfmst("demo")
    lines = result.stdout.splitlines()
    assert lines[0] == "The world's cities, linked by a minimum spanning forest"
    facts = dict(line.split(maxsplit=2)[:2] for line in lines[1:7])
    assert list(facts) == ["cities", "links", "forest", "length", "trees", "verified"]
    assert facts["verified"] == "yes"
    number = {name: float(value.replace(",", "")) for name, value in facts.items() if name != "verified"}
    assert number["cities"] == number["forest"] + number["trees"]
    assert result.stderr == ""
    assert max(map(len, lines[:15])) <= 100
    note = dfmst("forest", demo_path("demo:cities"), "-w", "km", "-o", "out.parquet").stderr
    assert f"total weight {facts['length']}, " in note


def test_commands_that_it_names_work(dfmst, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["dfmst"])
    text = dfmst("demo").stdout
    commands = [shlex.split(line) for line in text.splitlines() if line.startswith("  dfmst ")]
    assert len(commands) == 5
    for command in commands:
        dfmst(*command[1:])


def test_the_map_of_the_forest(dfmst, monkeypatch):
    text = dfmst("demo").stdout
    assert Path("cities.html").resolve().as_uri() in text
    page = check_page(Path("cities.html").read_text(encoding="utf-8"))
    assert "The forest on the map 33,995 links in 11 trees" in text_of(page, "picture")
    assert "GeoNames" in "".join(page.itertext())
    dfmst("demo")  # a page of ours is written anew
    Path("cities.html").write_text("mine")
    assert "not written: cities.html exists" in dfmst("demo").stdout
    assert Path("cities.html").read_text() == "mine"
    Path("cities.html").unlink()
    Path("cities.html").mkdir()
    monkeypatch.setattr(sys, "argv", ["/lib/dfmst/__main__.py"])
    text = dfmst("demo").stdout
    assert "not written: cities.html is a directory" in text
    assert "  python -m dfmst forest demo:cities" in text


def test_terminal_without_the_letters(start):
    process = start("demo", env={"PYTHONIOENCODING": "ascii"})
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.isascii()


def test_missing_data(dfmst, monkeypatch):
    monkeypatch.setattr("pathlib.Path.is_file", lambda _: False)
    result = dfmst("demo", code=2)
    assert result.stderr.startswith("Error: the demo data is missing: ")
    assert result.stderr.endswith("\nHint: install dfmst again\n")


@pytest.mark.parametrize("text", ["東京", "Se\u0301", "ab"])
def test_aligned_by_what_a_terminal_shows(text):
    width = {"東京": 4, "Se\u0301": 2, "ab": 2}[text]
    lines = aligned([(text, "1"), ("wider", "22")], right=(1,))
    assert lines == [text + " " * (5 - width) + "   1", "wider  22"]
