"""Results of the pages' code: a build runs the blocks of each page, and shows after each call what it returns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

__all__ = ["setup"]

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Blocks that install, benchmark, or need GPUs or a bucket are not run, and a page whose GPUs no build has: tests do.
LEFT_OUT = re.compile(r"\bpip install\b|\bbench[/ ]|^sphinx-build|^dfmst forest .* --gpus\b|s3://lake", re.MULTILINE)
WITHOUT_RESULTS = {"guides/gpus"}
_RUN = Path(__file__).with_name("run_page.py")
_RAW = "``````{raw} html\n%s\n``````\n"

Results = dict[int, str]  # HTML by the line of a page after which it is shown


def setup(app: Sphinx) -> dict[str, Any]:
    """Run the pages that are read, and add their results."""
    found: dict[str, Results] = {}
    app.connect("env-before-read-docs", lambda app, env, names: found.update(run_pages(Path(app.srcdir), names)))
    app.connect("source-read", lambda app, name, source: _add(source, found.get(name, {})))
    return {"parallel_read_safe": False}


def run_pages(docs: Path, names: list[str]) -> dict[str, Results]:
    """Return the results of pages, by name."""
    texts = {
        name: (docs / f"{name}.md").read_text(encoding="utf-8") for name in names if (docs / f"{name}.md").exists()
    }
    chosen = [name for name, text in texts.items() if BLOCK.search(text) and name not in WITHOUT_RESULTS]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(chosen, pool.map(lambda name: run_page(texts[name], name), chosen), strict=True))


def blocks(text: str) -> list[tuple[int, str, str]]:
    """Return line, language and text of every block that is run."""
    found = [(text.count("\n", 0, block.start(2)) + 1, block[1], block[2]) for block in BLOCK.finditer(text)]
    return [block for block in found if not LEFT_OUT.search(block[2])]


def run_page(text: str, name: str) -> Results:
    """Run the blocks of a page in order, in a process and a folder of their own.

    A page whose packages are not installed shows its code only; any other failure ends the build.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "blocks.json").write_text(json.dumps(blocks(text)), encoding="utf-8")
        (place / "page").mkdir()
        environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
        command = [
            sys.executable,
            "-P",
            "-W",
            "ignore",
            str(_RUN),
            str(place / "blocks.json"),
            str(place / "results.json"),
        ]
        done = subprocess.run(
            command,
            cwd=place / "page",
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        if done.returncode and "ModuleNotFoundError" in done.stderr:
            return {}
        if done.returncode:
            raise ExtensionError(f"{name} failed:\n{done.stdout}\n{done.stderr}")
        found = json.loads((place / "results.json").read_text(encoding="utf-8"))
        return {int(line): shown for line, shown in found.items()}


def _add(source: list[str], results: Results) -> None:
    """Write each result after its line: a block of code ends there, and goes on below."""
    lines, language = [], ""
    for number, line in enumerate(source[0].splitlines(), 1):
        language = line.removeprefix("```") if line.startswith("```") else language
        lines.append(line)
        if number in results:
            lines += ["```", "", _RAW % results[number], f"```{language}"]
    text = "\n".join([*lines, ""])
    source[0] = re.sub(r"^```(?:python|sh)\n\s*```$", "", text, flags=re.MULTILINE)
