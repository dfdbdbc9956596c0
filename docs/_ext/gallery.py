"""The gallery: a build runs every example, and shows its picture, or the text that it prints, next to its code."""

from __future__ import annotations

import ast
import html
import io
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

__all__ = ["setup"]

#: Scripts that make data, not a result.
LEFT_OUT = {"build_cities"}
#: Scripts that need GPUs, Java, or libraries of hundreds of megabytes: a build shows their code only.
NOT_RUN = {"gpu_job", "ray_job", "spark_job"}
_WORDS = {"duckdb": "DuckDB", "gpu": "GPU", "llm": "LLM"}  # of titles
SIZE = (480, 300)  # of a thumbnail, pixels
_COLUMNS = (34, 46, 62)  # of text on a thumbnail
_SPACING = 1.5  # of its lines, in sizes of a letter
_WIDEST = 3.2  # ratio of sides above which a picture is cut


@dataclass(frozen=True, slots=True)
class Result:
    """Output of a script."""

    printed: str  # empty if it did not run
    picture: bytes | None = None


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
        command = [sys.executable, "-P", "-W", "ignore", str(script.resolve()), folder]
        environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
        )
        if done.returncode and "ModuleNotFoundError" in done.stderr:
            return Result("")
        if done.returncode:
            raise ExtensionError(f"{script.name} failed:\n{done.stderr}")
        pictures = sorted(Path(folder).glob("*.png"))
        return Result(done.stdout, pictures[0].read_bytes() if pictures else None)


def _draw_thumbnail(result: Result, script: Path, folder: Path) -> Path:
    """Write a small copy of the picture; of a script without one, a card with its output or its code."""
    for old in folder.glob(f"{script.stem}.thumbnail.*"):
        old.unlink()
    if result.picture:
        from PIL import Image, ImageOps

        image = Image.open(io.BytesIO(result.picture)).convert("RGB")
        wide = image.width > _WIDEST * image.height
        small = ImageOps.fit(image, SIZE) if wide else ImageOps.pad(image, SIZE, color="white")
        path = folder / f"{script.stem}.thumbnail.png"
        small.save(path, optimize=True)
        return path
    path = folder / f"{script.stem}.thumbnail.svg"
    path.write_text(text_card(result.printed or _main_of(script)), encoding="utf-8")
    return path


def _main_of(script: Path) -> str:
    """Return the text of the function `main`."""
    text = script.read_text(encoding="utf-8")
    main = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "main")
    return "\n".join(text.splitlines()[main.lineno - 1 : main.end_lineno])


def text_card(text: str) -> str:
    """Draw the first lines of a text as SVG, in the largest letters that show all of them."""
    width, height = SIZE
    columns, lines = next((pair for pair in map(partial(_wrapped, text), _COLUMNS) if pair[1]), (_COLUMNS[-1], []))
    letter = (width - 32) / columns / 0.602
    lines = lines or text.splitlines()[: int(height / letter / _SPACING)]
    spans = (
        f'<text x="16" y="{16 + letter * (0.8 + _SPACING * at):.1f}" xml:space="preserve">{html.escape(line)}</text>'
        for at, line in enumerate(lines)
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    style = f"<style>text{{font:{letter:.1f}px monospace;fill:#d7e3e3}}</style>"
    return f'{head}{style}<rect width="{width}" height="{height}" fill="#12302f"/>{"".join(spans)}</svg>\n'


def _wrapped(text: str, columns: int) -> tuple[int, list[str]]:
    """Return the lines of a text in a number of columns; none if they are too many, or a table would be broken."""
    wrap = TextWrapper(columns, subsequent_indent="  ").wrap
    lines = text.rstrip().splitlines()
    is_table = any("  " in line.strip() for line in lines) or not text.isascii()
    if is_table and max(map(len, lines)) > columns:
        return columns, []
    letter = (SIZE[0] - 32) / columns / 0.602
    wrapped = lines if is_table else [part for line in lines for part in wrap(line) or [""]]
    return columns, wrapped if len(wrapped) * letter * _SPACING <= SIZE[1] - 32 else []
