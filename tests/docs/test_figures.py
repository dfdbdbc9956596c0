"""Tables of figures in the pages are those that `python docs/figures.py` makes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "figures.py")
assert SPEC
assert SPEC.loader
figures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(figures)


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_tables_are_the_results(page):
    text = page.read_text(encoding="utf-8")
    assert figures.filled(text) == text, "run `python docs/figures.py`"


def test_every_table_is_in_a_page():
    texts = [page.read_text(encoding="utf-8") for page in figures.pages()]
    assert {name for text in texts for _, name, _ in figures.PLACE.findall(text)} == set(figures.TABLES)
