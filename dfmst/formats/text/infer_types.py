"""The narrowest column types that hold every row of a text table.

A stream cannot change its schema half way, so a pass over the whole file comes first. It is cheap: a block of digits
and blanks needs no parsing, and a column with its widest type no look at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from dfmst._common.deferred import call_arrow
from dfmst._common.number_patterns import ANY_NUMBER, ANY_WHOLE
from dfmst.errors import FormatError
from dfmst.formats.text.blocks import Block
from dfmst.formats.text.id_words import refuse_numeric_names
from dfmst.formats.text.layout import WHOLE_TYPES, Field, Layout
from dfmst.formats.text.parse import parse_columns
from dfmst.formats.text.row_parser import Row, convert_column, convert_word, split_rows, tidy_block

DIGITS_AND_SPACES = b"0123456789- \t\n"


def infer_types(blocks: Callable[[], Iterator[Block]], layout: Layout, path: Path) -> Layout:
    """Return the layout with the narrowest types that hold every row."""
    again = True
    while again and layout.open_fields:
        layout, again = _widen(blocks(), layout, path)
    refuse_numeric_names(blocks, layout, path)
    return layout


def _widen(blocks: Iterator[Block], layout: Layout, path: Path) -> tuple[Layout, bool]:
    """Pass over the file once; also tell whether earlier blocks need another look at the new types."""
    again = False
    for index, block in enumerate(blocks):
        while layout.open_fields and (columns := _columns_to_widen(block, layout, path)):
            layout = layout.widened(columns)
            again = again or index > 0
        if not layout.open_fields:
            break
    return layout, again


def _columns_to_widen(block: Block, layout: Layout, path: Path) -> dict[int, int]:
    """Return the positions of the columns that need a wider type, and how many types further."""
    if _only_whole_numbers(block, layout):
        return {}
    block = tidy_block(block, layout)
    fields = {at: field for at, _, field in layout.open_fields}
    if _fit(block, layout, fields):
        return {}
    words = _words(block, layout, fields)
    steps = {at: step for at, field in fields.items() if (step := _steps_by_pattern(words.get(at), field))}
    others = {at: field for at, field in fields.items() if at not in steps}
    if not _fit(block, layout, others):
        # The row parser decides where pyarrow does not read a number.
        rows = list(split_rows(block, layout, path)) if len(words) < len(fields) else []
        for at, field in others.items():
            if not (_holds(words[at], field) if at in words else _converts(rows, at, field, layout, path)):
                steps[at] = 1
    return steps


def _fit(block: Block, layout: Layout, fields: dict[int, Field]) -> bool:
    with suppress(pa.ArrowInvalid):
        parse_columns(block, layout, {field.name or "": field.type for field in fields.values()})
        return True
    return not fields


def _converts(rows: list[Row], at: int, field: Field, layout: Layout, path: Path) -> bool:
    with suppress(FormatError):
        convert_column(rows, at, field, layout, path)
        return True
    return False


def _words(block: Block, layout: Layout, fields: dict[int, Field]) -> dict[int, pa.ChunkedArray]:
    """Return columns as text; none where pyarrow does not split the rows."""
    with suppress(pa.ArrowInvalid):
        table = parse_columns(block, layout, {field.name or "": pa.string() for field in fields.values()})
        return dict(zip(fields, table.columns, strict=True))
    return {}


def _steps_by_pattern(words: pa.ChunkedArray | None, field: Field) -> int:
    """Count the types that cannot hold words of such a form."""
    if words is None:
        return 0
    if not _all_match(words, ANY_NUMBER):
        return _steps_to(field, lambda kind: kind == pa.string())
    if field.type in WHOLE_TYPES and not _all_match(words, ANY_WHOLE):
        return _steps_to(field, lambda kind: kind not in WHOLE_TYPES)
    return 0


def _holds(words: pa.ChunkedArray, field: Field) -> bool:
    with suppress(ValueError):
        for word in words.unique().to_pylist():
            convert_word(word or "0", field.type)
        return True
    return False


def _all_match(words: pa.ChunkedArray, pattern: str) -> bool:
    matches = call_arrow("match_substring_regex", words, options=("MatchSubstringOptions", pattern))
    return call_arrow("all", matches).as_py() is not False


def _steps_to(field: Field, suits: Callable[[pa.DataType], bool]) -> int:
    """Count the types before the first one that suits; where none does, before the last."""
    ladder = field.ladder
    return next((at for at, kind in enumerate(ladder) if suits(kind)), len(ladder) - 1)


def _only_whole_numbers(block: Block, layout: Layout) -> bool:
    """Tell cheaply that no column can need more than int64 (a number beyond it is an error)."""
    if layout.quoted or any(field.end_point for _, _, field in layout.open_fields):
        return False
    return not block.data.translate(None, DIGITS_AND_SPACES + layout.marker)
