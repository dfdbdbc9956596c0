"""Blocks of text tables as record batches of the narrowest types that hold every row, parsed by PyArrow.

A stream cannot change its schema, so :func:`infer_types` reads the whole file first. Blocks of digits and blanks need
no parsing then, and columns that already have their widest type are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pyarrow as pa
import pyarrow.csv

from dfmst._common.deferred import call_arrow, pc
from dfmst._common.limits import has_threads
from dfmst._common.number_patterns import ANY_NUMBER, ANY_WHOLE, is_number, is_whole
from dfmst.errors import FormatError
from dfmst.formats.text_reader import BYTE_ORDER_MARK, Block, quotes_around
from dfmst.formats.text_rows import EXACT, WHOLE_DECIMAL, WHOLE_TYPES, Field, Layout, converts, parse_rows, split_rows


def parse(block: Block, layout: Layout) -> pa.RecordBatch:
    """Parse one block."""
    block = layout.tidied(block)
    try:
        table = parse_columns(block, layout, {name: field.type for _, name, field in layout.named})
    except pa.ArrowInvalid:
        return parse_rows(block, layout)
    start = layout.marker + layout.separator.encode()
    if layout.marker and block.data.startswith(start) + block.data.count(b"\n" + start) != len(table):
        return parse_rows(block, layout)
    batches = table.select(layout.schema.names).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=layout.schema)


def parse_columns(block: Block, layout: Layout, types: dict[str, pa.DataType]) -> pa.Table:
    """Parse the named columns by pyarrow."""
    if not block.data.strip(b"\n"):
        return pa.schema(list(types.items())).empty_table()
    if layout.quoted:
        around = quotes_around(block.data, layout.separator.encode())
        if around is None or (around and block.data.count(b'"') % 2):
            raise pa.ArrowInvalid("pyarrow reads a value behind a closed quote, and one that is never closed")
    # PyArrow reads 0x10 as 16; in an edge list it is a name or an error. A search for one byte is the fastest.
    hexadecimal = (b"x" in block.data and b"0x" in block.data) or (b"X" in block.data and b"0X" in block.data)
    suspects = {name: kind for name, kind in types.items() if hexadecimal and pa.types.is_integer(kind)}
    table = _read_csv(block.data, layout, types | dict.fromkeys(suspects, pa.string()))
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, kind in suspects.items():
        column = pc.utf8_trim_whitespace(columns[name])
        if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
            raise pa.ArrowInvalid("a hexadecimal number")
        columns[name] = column.cast(kind)
    table = pa.table(columns) if suspects else table
    _refuse_inexact(block, layout, table)
    return table


def _large_floats(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a mask of the floats that may be rounded whole numbers, or ``None`` if there is none."""
    if not pa.types.is_float64(column.type):
        return None
    limits = call_arrow("min_max", column).as_py()
    if limits["min"] is None or max(-limits["min"], limits["max"]) < EXACT:
        return None
    return pc.fill_null(pc.greater_equal(pc.abs(column), EXACT), False)


def _refuse_inexact(block: Block, layout: Layout, table: pa.Table) -> None:
    """Raise ArrowInvalid for 1.0 in a column of whole decimals, and for floats that round a whole number."""
    whole = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if kind == WHOLE_DECIMAL]
    large = {name: mask for name in table.column_names if (mask := _large_floats(table[name])) is not None}
    if not (whole or large):
        return
    words = _read_csv(block.data, layout, dict.fromkeys([*whole, *large], pa.string()))
    if not all(_all_match(words[name], ANY_WHOLE) for name in whole):
        raise pa.ArrowInvalid("a number that is not whole")
    rounded = (word for name, mask in large.items() for word in words[name].filter(mask).to_pylist())
    if not converts(rounded, pa.float64()):
        raise pa.ArrowInvalid("a number that a float would round")


def _read_csv(data: bytes, layout: Layout, types: dict[str, pa.DataType]) -> pa.Table:
    if data.startswith(BYTE_ORDER_MARK):
        data = b"\n" + data  # PyArrow would drop it at the start of a block; inside a file it is text
    # Skipped columns get unique names, which no column of the file can have.
    names = [field.name or f"\0{at}" for at, field in enumerate(layout.fields)]
    parsing = pyarrow.csv.ParseOptions(
        delimiter=layout.separator,
        quote_char='"' if layout.quoted else False,
        # Only if needed: it disables parallel parsing.
        newlines_in_values=layout.quoted and b'"' in data,
    )
    conversion = pyarrow.csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=[""] if layout.quoted else [],
        strings_can_be_null=layout.quoted,
        quoted_strings_can_be_null=False,
    )
    if not has_threads():  # the row parser needs none
        raise pa.ArrowInvalid("PyArrow starts a thread to read text")
    reading = pyarrow.csv.ReadOptions(column_names=names)
    try:
        return pyarrow.csv.read_csv(pa.BufferReader(data), reading, parsing, conversion)
    except pa.ArrowException as error:
        if type(error) is not pa.ArrowException:
            raise
        # "A chunk failed converting for an unknown reason", seen under load: the row parser reads the block again.
        raise pa.ArrowInvalid(str(error)) from error


def refuse_numeric_names(blocks: Callable[[], Iterator[Block]], layout: Layout) -> None:
    """Raise if vertices are read as text although a column of them holds only numbers: 1 and 1.0 would be two."""
    unclear = {at for at, _, field in layout.named if field.end_point and field.type == pa.string()}
    suspects: dict[int, FormatError] = {}
    for block in blocks() if unclear else ():
        for at in sorted(unclear):
            column = _words(layout.tidied(block), layout, {at: layout.fields[at]})[at]
            words = [word for word in column.unique().to_pylist() if word]
            if not all(map(is_number, words)):
                unclear.discard(at)
            elif at not in suspects and not converts(words, WHOLE_DECIMAL):
                suspects[at] = _refusal(block, layout, at)
        if not unclear:
            return
    for at in sorted(unclear & suspects.keys()):
        raise suspects[at]


def _refusal(block: Block, layout: Layout, at: int) -> FormatError:
    """Build the error for the first word of a column that is a number and no id."""
    rows = ((line, words[at]) for line, words in split_rows(block, layout) if words[at])
    line, word = next((line, word) for line, word in rows if not converts([word], WHOLE_DECIMAL))
    column = f"column {at + 1} ({layout.fields[at].name})"
    if is_whole(word):
        message, hint = f"a whole number beyond 38 digits in {column}", "put a letter before such ids: they are names"
    else:
        message = f"{column} holds numbers that are not whole, {word[:40]!r}; vertex ids must be integers or strings"
        hint = "write whole numbers without a fraction, 1 for 1.0 (pandas turns integer ids with gaps into floats)"
    return block.file.problem(message, line, hint)


DIGITS_AND_SPACES = b"0123456789- \t\n"


def infer_types(blocks: Callable[[], Iterator[Block]], layout: Layout) -> Layout:
    """Return the layout with the narrowest types that hold every row."""
    again = True
    while again and layout.open_fields:
        again = False  # earlier blocks are read again if a later one needs wider types
        for index, block in enumerate(blocks()):
            while layout.open_fields and (columns := _columns_to_widen(block, layout)):
                layout = layout.widened(columns)
                again = again or index > 0
            if not layout.open_fields:
                break
    refuse_numeric_names(blocks, layout)
    return layout


def _columns_to_widen(block: Block, layout: Layout) -> dict[int, int]:
    """Return the positions of the columns that need a wider type, and how many types further."""
    fields = {at: field for at, _, field in layout.open_fields}
    plain = not layout.quoted and not any(field.end_point for field in fields.values())
    # Digits and blanks only: int64 suffices for every column, since a larger number is an error.
    if plain and not block.data.translate(None, DIGITS_AND_SPACES + layout.marker):
        return {}
    block = layout.tidied(block)
    if _fit(block, layout, fields):
        return {}
    words = _words(block, layout, fields)
    steps = {at: step for at, field in fields.items() if (step := _steps_by_pattern(words[at], field))}
    others = {at: field for at, field in fields.items() if at not in steps}
    if not _fit(block, layout, others):
        for at, field in others.items():
            if not converts((word or "0" for word in words[at].unique().to_pylist()), field.type):
                steps[at] = 1
    return steps


def _fit(block: Block, layout: Layout, fields: dict[int, Field]) -> bool:
    with suppress(pa.ArrowInvalid):
        parse_columns(block, layout, {field.name or "": field.type for field in fields.values()})
        return True
    return not fields


def _words(block: Block, layout: Layout, fields: dict[int, Field]) -> dict[int, pa.ChunkedArray]:
    """Return columns as text, with nulls for empty words of a quoted layout."""
    try:
        table = parse_columns(block, layout, {field.name or "": pa.string() for field in fields.values()})
    except pa.ArrowInvalid:  # the row parser splits more rows than PyArrow, or raises a better error
        rows = [words for _, words in split_rows(block, layout)]
        return {at: pa.chunked_array([[words[at] or None for words in rows]], pa.string()) for at in fields}
    return dict(zip(fields, table.columns, strict=True))


def _steps_by_pattern(words: pa.ChunkedArray, field: Field) -> int:
    """Count the types of the ladder before the first that may hold words of this form, or before the last."""
    if not _all_match(words, ANY_NUMBER):
        suits = [kind == pa.string() for kind in field.ladder]
    elif field.type in WHOLE_TYPES and not _all_match(words, ANY_WHOLE):
        suits = [kind not in WHOLE_TYPES for kind in field.ladder]
    else:
        return 0
    return suits.index(True) if True in suits else len(suits) - 1


def _all_match(words: pa.ChunkedArray, pattern: str) -> bool:
    matches = call_arrow("match_substring_regex", words, options=("MatchSubstringOptions", pattern))
    return call_arrow("all", matches).as_py() is not False
