"""Blocks of a text table to record batches, by pyarrow's CSV parser."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from dfmst._common.deferred import pc
from dfmst._common.number_patterns import ANY_WHOLE
from dfmst.formats.text.blocks import BYTE_ORDER_MARK, Block
from dfmst.formats.text.exact_numbers import is_exact, large_floats
from dfmst.formats.text.layout import WHOLE_DECIMAL, Layout
from dfmst.formats.text.row_parser import parse_rows, tidy_block


def parse(block: Block, layout: Layout, path: Path) -> pa.RecordBatch:
    """Parse one block."""
    types = {name: field.type for _, name, field in layout.named}
    block = tidy_block(block, layout)
    try:
        table = parse_columns(block, layout, types)
    except pa.ArrowInvalid:
        return parse_rows(block, layout, path)
    if layout.marker and _marked_lines(block, layout) != len(table):
        return parse_rows(block, layout, path)
    batches = table.select(layout.schema.names).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=layout.schema)


def _marked_lines(block: Block, layout: Layout) -> int:
    start = layout.marker + layout.separator.encode()
    return block.data.startswith(start) + block.data.count(b"\n" + start)


def parse_columns(block: Block, layout: Layout, types: dict[str, pa.DataType]) -> pa.Table:
    """Parse the named columns by pyarrow."""
    if not block.data.strip():
        return pa.schema(list(types.items())).empty_table()
    if layout.quoted and block.data.count(b'"') % 2:
        raise pa.ArrowInvalid("pyarrow would take the rest of the block for the value of a quote that is never closed")
    # pyarrow reads 0x10 as 16; in an edge list it is a name or a mistake.
    suspects = _whole_columns(types) if _has_hexadecimal(block.data) else {}
    table = _read_csv(block.data, layout, types | dict.fromkeys(suspects, pa.string()))
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, kind in suspects.items():
        column = pc.utf8_trim_whitespace(columns[name])
        if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
            raise pa.ArrowInvalid("a hexadecimal number")
        columns[name] = column.cast(kind)
    table = pa.table(columns) if suspects else table
    _refuse_rounded(block, layout, table)
    _refuse_fractions(block, layout, types)
    return table


def _refuse_fractions(block: Block, layout: Layout, types: dict[str, pa.DataType]) -> None:
    """Raise ArrowInvalid where 1.0 stands among whole numbers that only a decimal holds: no integer type reads it."""
    whole = [name for name, kind in types.items() if kind == WHOLE_DECIMAL]
    if not whole:
        return
    words = _read_csv(block.data, layout, dict.fromkeys(whole, pa.string()))
    for name in whole:
        if pc.all(pc.match_substring_regex(words[name], ANY_WHOLE)).as_py() is False:
            raise pa.ArrowInvalid("a number that is not whole")


def _refuse_rounded(block: Block, layout: Layout, table: pa.Table) -> None:
    """Raise ArrowInvalid where a float is not the number in the text; below 2**53 only fractions can be rounded."""
    large = {name: mask for name in table.column_names if (mask := large_floats(table[name])) is not None}
    if not large:
        return
    words = _read_csv(block.data, layout, dict.fromkeys(large, pa.string()))
    for name, mask in large.items():
        if not all(map(is_exact, words[name].filter(mask).to_pylist())):
            raise pa.ArrowInvalid("a number that a float would round")


def _has_hexadecimal(data: bytes) -> bool:
    return (b"x" in data and b"0x" in data) or (b"X" in data and b"0X" in data)


def _whole_columns(types: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    return {name: kind for name, kind in types.items() if pa.types.is_integer(kind)}


def _read_csv(data: bytes, layout: Layout, types: dict[str, pa.DataType]) -> pa.Table:
    if data.startswith(BYTE_ORDER_MARK):
        data = b"\n" + data  # one within a file is text, which PyArrow would drop at the start of a block
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
