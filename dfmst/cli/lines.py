"""Lines of a text file: an error about a row of the table names the line that the row stands on."""

from __future__ import annotations

import re
from pathlib import Path

import click

__all__ = ["remember_rows", "with_line"]

#: Where the file that was read and its rows stand in the context's ``meta``.
_READ = "dfmst.read"
_TEXT = (".csv", ".tsv")
_BLOCK = 1 << 20


def remember_rows(paths: tuple[Path, ...] | list[Path], rows: int) -> None:
    """Note that one file was read, and how many rows it has."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and len(paths) == 1 and paths[0].suffix in _TEXT:
        ctx.meta[_READ] = paths[0], rows


def with_line(ctx: click.Context, message: str) -> str:
    """Add to a message about a row the line of the file, where every row is one line."""
    row = re.search(r"\brow ([\d,]*\d)", message)
    read = ctx.meta.get(_READ)
    if row is None or read is None:
        return message
    path, rows = read
    try:
        lines = _count_lines(path)
    except OSError:
        return message
    if lines != rows + 1:  # blank lines, or values of several lines, or no header
        return message
    return f"{message} ({path}, line {int(row[1].replace(',', '')) + 2:,})"


def _count_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")
