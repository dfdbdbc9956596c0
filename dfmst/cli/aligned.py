"""Tables on a terminal: columns as wide as their widest entry."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["aligned"]


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table whose columns are as wide as their widest entry."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for at, (entry, width) in enumerate(zip(row, widths, strict=True)):
            blank = " " * (width - _width(entry))
            cells.append(blank + entry if at in right else entry + blank)
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )
