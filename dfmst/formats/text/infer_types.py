"""Settle the column types of a text table before its first row is handed out.

A stream cannot change its schema half way, so the whole file is looked at first. That is cheap: a
block of digits and blanks needs no parsing, and a column at the top of its ladder no look at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from dfmst.formats.text.blocks import Block
from dfmst.formats.text.layout import Layout
from dfmst.formats.text.parse import misfit

__all__ = ["settle"]


def settle(blocks: Callable[[], Iterator[Block]], layout: Layout, path: Path) -> Layout:
    """Return the layout with the narrowest types that hold every row.

    Parameters
    ----------
    blocks
        Reads the file from its first row; called as often as types change.
    layout
        The columns, each with a ladder of types.
    path
        The file, for messages.
    """
    again = True
    while again and layout.open_fields:
        layout, again = _widen(blocks(), layout, path)
    return layout


def _widen(blocks: Iterator[Block], layout: Layout, path: Path) -> tuple[Layout, bool]:
    """Pass over the file once; also tell whether earlier blocks need another look at the new types."""
    again = False
    for index, block in enumerate(blocks):
        while layout.open_fields and (position := misfit(block, layout, path)) is not None:
            layout, again = layout.widened(position), again or index > 0
        if not layout.open_fields:
            break
    return layout, again
