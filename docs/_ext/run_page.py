"""Run the blocks of a page, and write the results of its calls as HTML: ``run_page.py BLOCKS.json RESULTS.json``."""

from __future__ import annotations

import ast
import base64
import contextlib
import html
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import __main__

ROWS, COLUMNS = 4, 9  # of a table that are shown
LINES = 14  # of a text
LONGEST = 900  # characters of a value
ADDRESS = re.compile(r" object at 0x[0-9a-f]+")
SHELL = f"dfmst() {{ '{sys.executable}' -P -m dfmst \"$@\"; }}\n"
OWN = re.compile(r"\bdfmst\.|\.mst\.")


def run_python(line: int, text: str) -> dict[int, str]:
    """Run a block that begins at a line of the page; return results by the lines after which they are shown."""
    results: dict[int, str] = {}
    last = 0
    for node in ast.parse("\n" * (line - 1) + text).body:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if isinstance(node, ast.Expr):
                value = eval(compile(ast.Expression(node.value), "page", "eval"), vars(__main__))
            else:
                exec(compile(ast.Module([node], []), "page", "exec"), vars(__main__))
                value = assigned(node)
        value = None if isinstance(value, int) and not OWN.search(ast.unparse(node)) else value
        if shown := as_text(printed.getvalue()) + render(value):
            if results.get(last) == shown:  # the same twice: once, below both calls
                del results[last]
            last = node.end_lineno or 0
            results[last] = shown
    results[max(results, default=0)] = results.get(max(results, default=0), "") + figures()
    return {line: f'<div class="result">{shown}</div>' for line, shown in results.items() if shown}


def assigned(node: ast.stmt) -> Any:
    """Return the value of an assignment, if a call of dfmst made it and it is a table."""
    if not isinstance(node, ast.Assign) or not OWN.search(ast.unparse(node.value)):
        return None
    value = eval(compile(ast.Expression(as_read(node.targets[0])), "page", "eval"), vars(__main__))
    first = value[0] if isinstance(value, tuple) and value else value
    return value if table_of(first) else None


def as_read(target: ast.expr) -> ast.expr:
    """Return the expression that reads the target of an assignment."""
    return ast.fix_missing_locations(ast.parse(ast.unparse(target), mode="eval").body)


def table_of(value: Any) -> tuple[list[str], list[Any], int] | None:
    """Return head, first rows and number of rows of a frame; ``None`` of anything else."""
    value = value.compute() if type(value).__module__.startswith("dask") and hasattr(value, "compute") else value
    value = value.collect() if hasattr(value, "collect") and hasattr(value, "lazy") else value
    value = value.to_frame() if hasattr(value, "to_frame") and hasattr(value, "name") else value
    if hasattr(value, "fetchall") and hasattr(value, "columns"):  # DuckDB
        rows = value.fetchall()
        return list(value.columns), rows[:ROWS], len(rows)
    if hasattr(value, "iloc"):
        numbered = value.index.name is None and list(value.index[:ROWS]) == list(range(len(value)))[:ROWS]
        first = value.head(ROWS)
        first = first if numbered else first.reset_index(names=[name or "" for name in value.index.names])
        return list(map(str, first.columns)), list(first.itertuples(index=False)), len(value)
    if hasattr(value, "rows") and hasattr(value, "columns"):  # polars
        return list(value.columns), value.head(ROWS).rows(), len(value)
    if hasattr(value, "column_names"):  # pyarrow
        rows = list(zip(*(column.to_pylist() for column in value.slice(0, ROWS).columns), strict=True))
        return list(value.column_names), rows, len(value)
    return None


def render(value: Any) -> str:
    """Return a value as HTML: a frame as a table, a report as a page, anything else as text."""
    if value is None:
        return ""
    if isinstance(value, tuple) and any(hasattr(part, "__len__") and not isinstance(part, str) for part in value):
        return "".join(map(render, value))
    if (table := table_of(value)) is not None:
        return as_table(*table)
    if isinstance(value, (str, Path)) and len(str(value)) < 200 and Path(value).exists():  # an output
        return as_page(Path(value).read_text(encoding="utf-8")) if Path(value).suffix == ".html" else ""
    if hasattr(value, "html") and hasattr(value, "save"):
        return as_page(value.html)
    text = ADDRESS.sub("", repr(value.to_pylist() if hasattr(value, "to_pylist") else value))
    return as_text(text) if len(text) < LONGEST else ""


def as_page(text: str) -> str:
    """Return a page in a frame of its own."""
    return f'<iframe sandbox="" loading="lazy" title="the page" srcdoc="{html.escape(text, quote=True)}"></iframe>'


def as_table(head: list[str], rows: list[Any], count: int) -> str:
    """Return a table, as many of its columns as fit."""
    cells = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell(entry))}</td>' for entry in row[:COLUMNS])}</tr>" for row in rows
    )
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head[:COLUMNS])
    more = f"<p>{count:,} rows</p>" if count > len(rows) else ""
    return f"<table><thead><tr>{names}</tr></thead><tbody>{cells}</tbody></table>{more}"


def cell(value: Any) -> str:
    """Return a value of a table as short text."""
    text = str(value)
    if isinstance(value, float):
        text = f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.5g}"
    return text if len(text) <= 40 else f"{text[:39]}…"


def as_text(text: str) -> str:
    """Return the first lines of a text; nothing if it has none."""
    lines = text.rstrip().splitlines()
    cut = [*lines[:LINES], "…"] if len(lines) > LINES else lines
    return f"<pre>{html.escape(chr(10).join(cut))}</pre>" if lines else ""


def figures() -> str:
    """Return the figures that are open in Matplotlib, and close them."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    shown = ""
    for number in pyplot.get_fignums() if pyplot else ():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, dpi=90, bbox_inches="tight")
        shown += f'<img alt="the figure" src="data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"/>'
        pyplot.close(number)
    return shown


def run_shell(line: int, text: str) -> dict[int, str]:
    """Run a block of the shell; return what it prints, after its last line."""
    done = subprocess.run(
        ["sh", "-euc", SHELL + text], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    shown = as_text(done.stdout)
    return {line + text.count("\n") - 1: f'<div class="result">{shown}</div>'} if shown else {}


def main() -> None:
    """Run all blocks."""
    results: dict[int, str] = {}
    for line, language, text in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        results |= (run_python if language == "python" else run_shell)(line, text)
    Path(sys.argv[2]).write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
