"""Blocks of text tables as record batches of the narrowest types that hold every row, parsed by PyArrow.

A stream cannot change its schema, so :func:`infer_types` reads the whole file first. Blocks of digits and blanks need
no parsing then, and columns that already have their widest type are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from dfmst._common.deferred import call_arrow, pc
from dfmst._common.number_patterns import ANY_NUMBER, ANY_WHOLE, is_number, is_whole
from dfmst.errors import FormatError
from dfmst.formats.files import Line, problem
from dfmst.formats.text_reader import BYTE_ORDER_MARK, Block
from dfmst.formats.text_rows import (
    WHOLE_DECIMAL,
    WHOLE_TYPES,
    Field,
    Layout,
    Row,
    convert_column,
    convert_word,
    exact_decimal,
    is_exact,
    large_floats,
    parse_rows,
    split_rows,
    tidy_block,
)


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
    # PyArrow reads 0x10 as 16; in an edge list it is a name or an error.
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
    """Raise ArrowInvalid for 1.0 in a column of whole decimals, as integer columns do."""
    whole = [name for name, kind in types.items() if kind == WHOLE_DECIMAL]
    if not whole:
        return
    words = _read_csv(block.data, layout, dict.fromkeys(whole, pa.string()))
    for name in whole:
        if pc.all(pc.match_substring_regex(words[name], ANY_WHOLE)).as_py() is False:
            raise pa.ArrowInvalid("a number that is not whole")


def _refuse_rounded(block: Block, layout: Layout, table: pa.Table) -> None:
    """Raise ArrowInvalid if a float differs from the number in the text; fractions may be rounded."""
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
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(data), pyarrow.csv.ReadOptions(column_names=names), parsing, conversion
        )
    except pa.ArrowException as error:
        if type(error) is not pa.ArrowException:
            raise
        # "A chunk failed converting for an unknown reason", seen under load: the row parser reads the block again.
        raise pa.ArrowInvalid(str(error)) from error


def refuse_numeric_names(blocks: Callable[[], Iterator[Block]], layout: Layout, path: Path) -> None:
    """Raise if vertices are read as text although a column of them holds only numbers: 1 and 1.0 would be two."""
    unclear = {at for at, _, field in layout.named if field.end_point and field.type == pa.string()}
    suspects: dict[int, tuple[Line, str]] = {}
    if not unclear:
        return
    for block in blocks():
        for at in sorted(unclear):
            words = _distinct_words(block, layout, at, path)
            if not all(map(is_number, words)):
                unclear.discard(at)
            elif at not in suspects and not all(map(_is_id, words)):
                suspects[at] = _first_suspect(block, layout, at, path)
        if not unclear:
            return
    if unclear & suspects.keys():
        at = min(unclear & suspects.keys())
        raise _refusal(layout, at, *suspects[at], path)


def _distinct_words(block: Block, layout: Layout, at: int, path: Path) -> list[str]:
    """Return the distinct words of a column, without empty ones."""
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
    return problem(path, message, line, hint)


DIGITS_AND_SPACES = b"0123456789- \t\n"


def infer_types(blocks: Callable[[], Iterator[Block]], layout: Layout, path: Path) -> Layout:
    """Return the layout with the narrowest types that hold every row."""
    again = True
    while again and layout.open_fields:
        layout, again = _widen(blocks(), layout, path)
    refuse_numeric_names(blocks, layout, path)
    return layout


def _widen(blocks: Iterator[Block], layout: Layout, path: Path) -> tuple[Layout, bool]:
    """Read the file once; also return whether earlier blocks must be read again with the new types."""
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
        # The row parser decides if PyArrow cannot read a number.
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
    """Return columns as text, or nothing if PyArrow cannot split the rows."""
    with suppress(pa.ArrowInvalid):
        table = parse_columns(block, layout, {field.name or "": pa.string() for field in fields.values()})
        return dict(zip(fields, table.columns, strict=True))
    return {}


def _steps_by_pattern(words: pa.ChunkedArray | None, field: Field) -> int:
    """Count the leading types that cannot hold words of this form."""
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
    """Count the types before the first one that suits, or before the last if none does."""
    ladder = field.ladder
    return next((at for at, kind in enumerate(ladder) if suits(kind)), len(ladder) - 1)


def _only_whole_numbers(block: Block, layout: Layout) -> bool:
    """Return whether a quick look shows that int64 suffices for every column (a larger number is an error)."""
    if layout.quoted or any(field.end_point for _, _, field in layout.open_fields):
        return False
    return not block.data.translate(None, DIGITS_AND_SPACES + layout.marker)
