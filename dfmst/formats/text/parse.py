"""Blocks of a text table to record batches, by pyarrow's CSV parser."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dfmst.errors import FormatError
from dfmst.formats.text.blocks import Block
from dfmst.formats.text.layout import Field, Layout
from dfmst.formats.text.number_patterns import ANY_NUMBER, ANY_WHOLE
from dfmst.formats.text.row_parser import convert, neat, parse_carefully, rows_of

__all__ = ["misfit", "parse"]

PATTERNS = {pa.int64(): ANY_WHOLE, pa.uint64(): ANY_WHOLE, pa.float64(): ANY_NUMBER}
DIGITS_AND_SPACES = b"0123456789- \t\r\n"


def parse(block: Block, layout: Layout, path: Path) -> pa.RecordBatch:
    """Parse one block.

    Parameters
    ----------
    block
        Whole lines.
    layout
        The columns and their types.
    path
        The file, for messages.

    Returns
    -------
    pyarrow.RecordBatch
        One row for every line that is not blank, with the schema of the layout.

    Raises
    ------
    FormatError
        At the first line that breaks the format.
    """
    types = {name: field.type for _, name, field in layout.named}
    block = neat(block, layout)
    try:
        table = _parse_fast(block, layout, types)
    except pa.ArrowInvalid:
        return parse_carefully(block, layout, path)
    if layout.marker and _marked_lines(block, layout) != len(table):
        return parse_carefully(block, layout, path)
    batches = table.select(layout.schema.names).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=layout.schema)


def misfit(block: Block, layout: Layout, path: Path) -> int | None:
    """Return the position of a column that needs a wider type than it has, or None.

    Raises
    ------
    FormatError
        Where a line has too few or too many columns.
    """
    if _only_whole_numbers(block, layout):
        return None
    block = neat(block, layout)
    try:
        _parse_fast(block, layout, {name: field.type for _, name, field in layout.open_fields})
    except pa.ArrowInvalid:
        return next((at for at, _, field in layout.open_fields if not _fits(block, layout, path, at, field)), None)
    return None


def _fits(block: Block, layout: Layout, path: Path, at: int, field: Field) -> bool:
    """Tell whether one column can take its type; the odd ways to write a number are left to the careful parser."""
    name = field.name or ""
    with suppress(pa.ArrowInvalid):
        _parse_fast(block, layout, {name: field.type})
        return True
    with suppress(pa.ArrowInvalid):
        words = _parse_fast(block, layout, {name: pa.string()})[name]
        if not pc.all(pc.match_substring_regex(words, PATTERNS[field.type])).as_py():
            return False
    rows = list(rows_of(block, layout, path))
    with suppress(FormatError):
        convert(rows, at, field, layout, path)
        return True
    return False


def _only_whole_numbers(block: Block, layout: Layout) -> bool:
    """Tell cheaply that no column can need more than int64 (a number beyond it is an error)."""
    if layout.quoted or any(field.end_point for _, _, field in layout.open_fields):
        return False
    return not block.data.translate(None, DIGITS_AND_SPACES + layout.marker)


def _marked_lines(block: Block, layout: Layout) -> int:
    start = layout.marker + layout.separator.encode()
    return block.data.startswith(start) + block.data.count(b"\n" + start)


def _parse_fast(block: Block, layout: Layout, types: dict[str, pa.DataType]) -> pa.Table:
    """Parse the named columns; raise ArrowInvalid where anything is out of the ordinary."""
    if not block.data.strip():
        return pa.schema(list(types.items())).empty_table()
    if layout.quoted and block.data.count(b'"') % 2:
        raise pa.ArrowInvalid("pyarrow would take the rest of the block for the value of a quote that is never closed")
    # pyarrow reads 0x10 as 16; in an edge list it is a name or a mistake.
    suspects = _whole_columns(types) if _has_hexadecimal(block.data) else {}
    table = _read_csv(block.data, layout, types | dict.fromkeys(suspects, pa.string()))
    for name, kind in suspects.items():
        column = pc.utf8_trim_whitespace(table[name])
        if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
            raise pa.ArrowInvalid("a hexadecimal number")
        table = table.set_column(table.column_names.index(name), name, column.cast(kind))
    return table


def _has_hexadecimal(data: bytes) -> bool:
    return (b"x" in data and b"0x" in data) or (b"X" in data and b"0X" in data)


def _whole_columns(types: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    return {name: kind for name, kind in types.items() if pa.types.is_integer(kind)}


def _read_csv(data: bytes, layout: Layout, types: dict[str, pa.DataType]) -> pa.Table:
    return pyarrow.csv.read_csv(
        pa.BufferReader(data),
        # The file's names may hold anything, also duplicates of our own: number the skipped columns.
        read_options=pyarrow.csv.ReadOptions(
            column_names=[field.name or f"\0{at}" for at, field in enumerate(layout.fields)]
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=layout.separator,
            quote_char='"' if layout.quoted else False,
            # Only where it is needed: it takes the parallelism away.
            newlines_in_values=layout.quoted and b'"' in data,
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[""] if layout.quoted else [],
            strings_can_be_null=layout.quoted,
            quoted_strings_can_be_null=False,
        ),
    )
