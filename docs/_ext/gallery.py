"""The gallery: a build runs every example, and shows its picture, and the text that it prints, next to its code.

The picture of a script that draws none is that of its forest, as a report has it.
"""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

__all__ = ["setup"]

#: Scripts that make data, not a result.
LEFT_OUT = {"build_cities"}
#: Scripts that need GPUs, Java, or libraries of hundreds of megabytes: a build shows their code only.
NOT_RUN = {"gpu_job", "ray_job", "spark_job"}
JOB = Path(__file__).parents[1] / "_static" / "job.svg"  # edges in parts, and their forest
_RUN = Path(__file__).with_name("run_example.py")
_WORDS = {"duckdb": "DuckDB", "gpu": "GPU", "llm": "LLM"}  # of titles
SIZE = (480, 300)  # of a thumbnail, pixels
_WIDEST = 3.2  # ratio of sides above which a picture is cut


@dataclass(frozen=True, slots=True)
class Result:
    """Output of a script."""

    printed: str  # empty if it did not run
    picture: bytes | None = None
    drawing: str = ""  # SVG of its forest, if it wrote no picture


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", lambda app: write_gallery(Path(app.srcdir)))
    return {"parallel_read_safe": True}


def write_gallery(docs: Path) -> None:
    """Write a page and a thumbnail for each script, and the cards of the index."""
    folder = docs / "examples" / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    scripts = [path for path in sorted((docs.parent / "examples").glob("*.py")) if path.stem not in LEFT_OUT]
    with ThreadPoolExecutor(2) as pool:
        cards = list(pool.map(lambda script: _write_page(script, folder), scripts))
    (folder / "cards.txt").write_text("\n\n".join(cards) + "\n", encoding="utf-8")


def _write_page(script: Path, folder: Path) -> str:
    """Write the files of a script, unless they are newer than the script; return its card."""
    name = script.stem
    words = " ".join(_WORDS.get(word, word) for word in name.split("_"))
    title = words[0].upper() + words[1:]
    about = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").strip()
    page = folder / f"{name}.md"
    thumbnail = next((path for path in folder.glob(f"{name}.thumbnail.*")), None)
    if not page.exists() or thumbnail is None or page.stat().st_mtime < script.stat().st_mtime:
        result = Result("") if name in NOT_RUN else run(script)
        thumbnail = _draw_thumbnail(result, script, folder)
        shown = []
        if result.picture:
            (folder / f"{name}.png").write_bytes(result.picture)
            shown += [f"![{title}]({name}.png)", ""]
        elif result.drawing:
            shown += [f"![The forest]({thumbnail.name})", ""]
        if result.printed:
            shown += ["It prints:", "", "```text", result.printed.rstrip(), "```", ""]
        code = ["```{literalinclude} " + os.path.relpath(script, folder), ":language: python", "```", ""]
        page.write_text("\n".join([f"# {title}", "", about, "", *shown, *code]), encoding="utf-8")
    return f"[![{title}](pages/{thumbnail.name})\n{title}](pages/{name}.md)\n{about.partition(chr(10) * 2)[0]}"


def run(script: Path) -> Result:
    """Run a script in an empty folder; return what it prints, and its picture if it writes one.

    A script whose library is not installed is not run; any other failure ends the build.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-P", "-W", "ignore", str(_RUN), str(script.resolve()), folder]
        environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
        )
        if done.returncode and "ModuleNotFoundError" in done.stderr:
            return Result("")
        if done.returncode:
            raise ExtensionError(f"{script.name} failed:\n{done.stderr}")
        pictures = sorted(Path(folder).glob("*.png"))
        drawing = Path(folder) / "forest.svg"
        return Result(
            done.stdout,
            pictures[0].read_bytes() if pictures else None,
            drawing.read_text(encoding="utf-8") if drawing.exists() else "",
        )


def _draw_thumbnail(result: Result, script: Path, folder: Path) -> Path:
    """Write a small copy of the picture; of a script that does not run, the picture of a job."""
    for old in folder.glob(f"{script.stem}.thumbnail.*"):
        old.unlink()
    path = folder / f"{script.stem}.thumbnail.{'png' if result.picture else 'svg'}"
    if result.picture:
        from PIL import Image, ImageOps

        image = Image.open(io.BytesIO(result.picture)).convert("RGB")
        wide = image.width > _WIDEST * image.height
        small = ImageOps.fit(image, SIZE) if wide else ImageOps.pad(image, SIZE, color="white")
        small.save(path, optimize=True)
    else:
        path.write_text(result.drawing or JOB.read_text(encoding="utf-8"), encoding="utf-8")
    return path
