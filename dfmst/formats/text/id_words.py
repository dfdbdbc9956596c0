"""Vertices that are read as text must be names: of numbers, 1 and 1.0 would be two vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from dfmst._common.number_patterns import is_number, is_whole
from dfmst.errors import FormatError
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import Block, Line
from dfmst.formats.text.exact_numbers import exact_decimal
from dfmst.formats.text.layout import Layout
from dfmst.formats.text.parse import parse_columns
from dfmst.formats.text.row_parser import split_rows, tidy_block


def refuse_numeric_names(blocks: Callable[[], Iterator[Block]], layout: Layout, path: Path) -> None:
    """Raise where vertices are read as text although a column of them holds only numbers."""
    unclear = {at for at, _, field in layout.named if field.end_point and field.type == pa.string()}
    suspects: dict[int, tuple[Line, str]] = {}
    if not unclear:
        return
    for block in blocks():
        for at in sorted(unclear):
            words = _words(block, layout, at, path)
            if not all(map(is_number, words)):
                unclear.discard(at)
            elif at not in suspects and not all(map(_is_id, words)):
                suspects[at] = _first_suspect(block, layout, at, path)
        if not unclear:
            return
    if unclear & suspects.keys():
        at = min(unclear & suspects.keys())
        raise _refusal(layout, at, *suspects[at], path)


def _words(block: Block, layout: Layout, at: int, path: Path) -> list[str]:
    """Return the different words of a column that are not empty."""
    name = layout.fields[at].name or ""
    try:
        column = parse_columns(tidy_block(block, layout), layout, {name: pa.string()})[name]
    except pa.ArrowInvalid:
        return [words[at] for _, words in split_rows(block, layout, path) if words[at]]
    return [word for word in column.unique().to_pylist() if word]


def _is_id(word: str) -> bool:
    if not is_whole(word):
        return False
    try:
        exact_decimal(word, 0)
    except ValueError:
        return False
    return True


def _first_suspect(block: Block, layout: Layout, at: int, path: Path) -> tuple[Line, str]:
    rows = split_rows(block, layout, path)
    return next((line, words[at]) for line, words in rows if words[at] and not _is_id(words[at]))


def _refusal(layout: Layout, at: int, line: Line, word: str, path: Path) -> FormatError:
    column = f"column {at + 1} ({layout.fields[at].name})"
    if is_whole(word):
        message, hint = f"a whole number beyond 38 digits in {column}", "put a letter before such ids: they are names"
    else:
        message = f"{column} holds numbers that are not whole, {word[:40]!r}; vertex ids must be integers or strings"
        hint = "write whole numbers without a fraction, 1 for 1.0 (pandas turns integer ids with gaps into floats)"
    return problem(path, message, line=line.number, text=line.text, hint=hint)
