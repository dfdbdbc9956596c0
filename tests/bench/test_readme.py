"""The page of the benchmarks names every script and every result file."""

from __future__ import annotations

from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"


def test_the_page_is_complete():
    page = (BENCH / "README.md").read_text(encoding="utf-8")
    scripts = [path for path in BENCH.rglob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8")]
    helpers = {BENCH / "__main__.py", *(BENCH / "support").glob("*.py")}
    for path in set(scripts) - helpers:
        name = path.name if path.parent == BENCH else path.stem
        assert f"| `{name}` |" in page, path
    for path in (BENCH / "results" / "cpu").glob("*.json"):
        assert f"`{path.name}`" in page or path.stem == "points", path
