"""The narrowest column types that hold every row of a text table.

A stream cannot change its schema half way, so a pass over the whole file comes first. It is cheap: a block of digits
and blanks needs no parsing, and a column with its widest type no look at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from dfmst.errors import FormatError
from dfmst.formats.text.blocks import Block
from dfmst.formats.text.layout import Field, Layout
from dfmst.formats.text.number_patterns import ANY_NUMBER, ANY_WHOLE
from dfmst.formats.text.parse import parse_columns
from dfmst.formats.text.row_parser import convert_column, split_rows, tidy_block

__all__ = ["infer_types"]

PATTERNS = {pa.int64(): ANY_WHOLE, pa.uint64(): ANY_WHOLE, pa.float64(): ANY_NUMBER}
DIGITS_AND_SPACES = b"0123456789- \t\r\n"


def infer_types(blocks: Callable[[], Iterator[Block]], layout: Layout, path: Path) -> Layout:
    """Return the layout with the narrowest types that hold every row.

    Parameters
    ----------
    blocks
        Reads the file from its first row; called as often as types change.
    layout
        The columns, each with a ladder of types.
    path
        The file, for messages.

    Raises
    ------
    FormatError
        A line has too few or too many columns.
    """
    again = True
    while again and layout.open_fields:
        layout, again = _widen(blocks(), layout, path)
    return layout


def _widen(blocks: Iterator[Block], layout: Layout, path: Path) -> tuple[Layout, bool]:
    """Pass over the file once; also tell whether earlier blocks need another look at the new types."""
    again = False
    for index, block in enumerate(blocks):
        while layout.open_fields and (position := _column_to_widen(block, layout, path)) is not None:
            layout, again = layout.widened(position), again or index > 0
        if not layout.open_fields:
            break
    return layout, again


def _column_to_widen(block: Block, layout: Layout, path: Path) -> int | None:
    """Return the position of a column that needs a wider type than it has, or None."""
    if _only_whole_numbers(block, layout):
        return None
    block = tidy_block(block, layout)
    try:
        parse_columns(block, layout, {name: field.type for _, name, field in layout.open_fields})
    except pa.ArrowInvalid:
        return next((at for at, _, field in layout.open_fields if not _fits(block, layout, path, at, field)), None)
    return None


def _fits(block: Block, layout: Layout, path: Path, at: int, field: Field) -> bool:
    """Tell whether one column can take its type; the row parser decides where pyarrow does not read a number."""
    name = field.name or ""
    with suppress(pa.ArrowInvalid):
        parse_columns(block, layout, {name: field.type})
        return True
    with suppress(pa.ArrowInvalid):
        words = parse_columns(block, layout, {name: pa.string()})[name]
        if not pc.all(pc.match_substring_regex(words, PATTERNS[field.type])).as_py():
            return False
    rows = list(split_rows(block, layout, path))
    with suppress(FormatError):
        convert_column(rows, at, field, layout, path)
        return True
    return False


def _only_whole_numbers(block: Block, layout: Layout) -> bool:
    """Tell cheaply that no column can need more than int64 (a number beyond it is an error)."""
    if layout.quoted or any(field.end_point for _, _, field in layout.open_fields):
        return False
    return not block.data.translate(None, DIGITS_AND_SPACES + layout.marker)
