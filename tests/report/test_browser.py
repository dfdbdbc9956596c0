"""Pages in a headless browser: all is drawn, nothing is asked for, nothing sticks out, light and dark differ.

Chromium is used where it is installed (``chromium``, ``chromium-browser`` or ``google-chrome``); elsewhere these tests
skip. What can be said without a browser is in ``test_pages.py``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dfmst
from dfmst.generate import rmat
from tests.report.test_pages import ROADS, TOWNS, random_table
from tests.support.shared_data import SHARED

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (400, 1280, 1920)
#: Measures the page, and writes what it finds into its title. The pages themselves have no script.
MEASURE = """<script>
addEventListener("load", () => {
  document.querySelectorAll("details").forEach(one => one.open = true);
  const boxes = [...document.querySelectorAll("svg")].map(one => one.getBoundingClientRect());
  const lines = node => { const range = new Range(); range.selectNode(node); return range.getClientRects().length; };
  const names = [...document.querySelectorAll(".map:not(.plane):not(.region):not(.world) .name")].map(
    one => one.getBoundingClientRect()).filter(one => one.width);
  const meet = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2
    && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 2;
  const text = [...document.querySelectorAll(".card svg text")].map(one => one.getBoundingClientRect().height);
  document.body.innerHTML = JSON.stringify({
    wide: document.documentElement.scrollWidth, inner: innerWidth,
    empty: boxes.filter(one => one.width < 50 || one.height < 10).length, drawings: boxes.length,
    small: text.filter(height => height < 9).length,
    broken: [...document.querySelectorAll(".keys dd")].filter(one => lines(one.firstChild) > 1).length,
    covered: names.filter((one, at) => names.slice(at + 1).some(other => meet(one, other))).length,
    requests: performance.getEntriesByType("resource").length,
    back: getComputedStyle(document.body).backgroundColor, columns: [...document.querySelectorAll(".grid")].map(
      one => [one.children.length, getComputedStyle(one).gridTemplateColumns.split(" ").length]),
  });
});
</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    for name in NAMES:
        if shutil.which(name):
            return name
    pytest.skip(f"no headless browser: none of {', '.join(NAMES)} is installed")


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    long = pa.table({"source": ["x" * 400, "y" * 90], "target": ["東" * 200, "z z " * 90], "weight": [1e-9, 1e12]})
    made = {
        "map": dfmst.report(ROADS, "a", "b", "km", points=TOWNS, coordinates=("lon", "lat")),
        "layout": dfmst.report(random_table(9_000, 4_000), algorithm="mastiff"),
        "long": dfmst.report(long, title="t" * 300),
        "numbers": dfmst.report(pa.table({"source": [1, 2], "target": [2, 3], "weight": [10**15 // 7, 2**59]})),
        "rmat": dfmst.report(rmat(13, 8), algorithm="mastiff"),
        "empty": dfmst.report(pa.table({"source": pa.array([], pa.int64()), "target": [], "weight": []})),
    }
    roads = SHARED / "data" / "usa_road_d_ny.parquet"
    if roads.exists():
        made["new york"] = dfmst.report(dfmst.read_edges(roads), "src", "dst", "weight")
    saved = {name: page.save(folder / f"{name}.html") for name, page in made.items()}
    demo = [sys.executable, "-P", "-m", "dfmst", "demo"]
    subprocess.run(demo, cwd=folder, check=True, capture_output=True, timeout=120)
    return {**saved, "demo": folder / "cities.html"}


def measured(browser: str, pages: dict[str, Path], folder: Path, *options: str) -> dict[str, list[dict[str, Any]]]:
    """What the browser makes of each page in windows of all widths.

    The window of a headless browser has at least 500 pixels, so the pages stand in frames.
    """
    frames = []
    for name, page in pages.items():
        text = page.read_text(encoding="utf-8").replace("</head>", f"{MEASURE}</head>")
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
        styles = [f"width:{width}px;height:9000px;border:0" for width in WIDTHS]
        frames += [f'<iframe src="{name}.html" style="{style}"></iframe>' for style in styles]
    outer = """<script>addEventListener("load", () => setTimeout(() => {
      const frames = [...document.querySelectorAll("iframe")];
      const found = frames.map(one => JSON.parse(one.contentDocument.body.textContent));
      document.body.textContent = JSON.stringify(found); }, 50));</script>"""
    (folder / "outer.html").write_text(f"<!doctype html><body>{''.join(frames)}{outer}", encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command += ["--allow-file-access-from-files", "--virtual-time-budget=3000", "--window-size=2000,1000", *options]
    command += ["--dump-dom", f"file://{folder / 'outer.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"\[\{.*\}\]", unescape(done.stdout))
    assert found, done.stdout[-500:] + done.stderr[-500:]
    each = iter(json.loads(found[0]))
    return {name: [next(each) for _ in WIDTHS] for name in pages}


def test_every_page_at_every_width(browser, pages, tmp_path):
    drawn = {"map": 5, "layout": 6, "long": 4, "numbers": 3, "rmat": 7, "empty": 0, "new york": 4, "demo": 5}
    for name, each in measured(browser, pages, tmp_path).items():
        for seen, width, most in zip(each, WIDTHS, (1, 3, 4), strict=True):
            assert seen["inner"] == width
            assert seen["wide"] == width, name  # nothing sticks out
            assert seen["empty"] == 0
            assert seen["drawings"] >= drawn[name]
            assert (seen["small"], seen["broken"], seen["covered"]) == (0, 0, 0), (name, width, seen)
            assert seen["requests"] == 0
            for cards, columns in seen["columns"]:
                assert columns <= most
                assert cards % columns == 0  # no hole


def test_light_and_dark(browser, pages, tmp_path):
    shades: dict[str, list[int]] = {}
    for mode, value in (("light", 1), ("dark", 0)):
        option = f"--blink-settings=preferredColorScheme={value}"
        named = {name: page for name, page in pages.items() if name in ("new york", "rmat", "demo")}
        for each in measured(browser, named, tmp_path, option).values():
            shades.setdefault(mode, []).extend(int(word) for word in re.findall(r"\d+", each[0]["back"]))
    assert min(shades["light"]) > 240
    assert max(shades["dark"]) < 40
