"""Blocks of text tables as record batches of the narrowest types that hold every row, parsed by PyArrow.

A stream cannot change its schema, so :func:`infer_types` reads the whole file first. Blocks of digits and blanks need
no parsing then, and columns that already have their widest type are skipped.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from dfmst._common.deferred import call_arrow, pc
from dfmst._common.number_patterns import ANY_NUMBER, ANY_WHOLE, is_number, is_whole
from dfmst.errors import FormatError
from dfmst.formats.text_reader import BYTE_ORDER_MARK, QUOTE, SPACE, Block, quotes_around
from dfmst.formats.text_rows import (
    EXACT,
    TEXT,
    WHOLE_DECIMAL,
    WHOLE_TYPES,
    Field,
    Layout,
    Quoted,
    converts,
    parse_rows,
    split_rows,
)

NEWLINE, ZERO = ord("\n"), ord("0")
SAFE_DIGITS = 15


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
    suspects = _suspects(block.data, layout, types)
    table = _read_csv(block.data, layout, types | dict.fromkeys(suspects, pa.string()))
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, field in suspects.items():
        columns[name] = cleaned(columns[name], field, layout).cast(types[name])
    table = pa.table(columns) if suspects else table
    _refuse_inexact(block, layout, table, suspects)
    return table


def _suspects(data: bytes, layout: Layout, types: dict[str, pa.DataType]) -> dict[str, Field]:
    """Return the columns of numbers that PyArrow cannot read as they are written."""
    # PyArrow reads 0x10 as 16; in an edge list it is a name or an error. A search for one byte is the fastest.
    hexadecimal = (b"x" in data and b"0x" in data) or (b"X" in data and b"0X" in data)
    missing = bool(layout.missing) and layout.missing.encode() in data
    return {
        name: field
        for _, name, field in layout.named
        if (kind := types.get(name, pa.string())) != pa.string()
        and ((hexadecimal and pa.types.is_integer(kind)) or (field.named and (missing or layout.localized)))
    }


def cleaned(words: pa.ChunkedArray, field: Field, layout: Layout) -> pa.ChunkedArray:
    """Return numbers as PyArrow reads them, and nulls for the word of missing ones; raise ArrowInvalid for others."""
    words = pc.utf8_trim_whitespace(words)
    if layout.quoted and field.named:
        words = pc.if_else(pc.is_in(words, pa.array(["", layout.missing])), pa.scalar(None, pa.string()), words)
    if layout.localized and field.named and not field.kept:
        if not _all_match(words, f"^{layout.number_pattern}$"):
            raise pa.ArrowInvalid("another sign in a number")
        words = pc.replace_substring(words, layout.thousands, "") if layout.thousands else words
        words = pc.replace_substring(words, layout.decimal, ".")
    elif pc.any(pc.match_substring(words, "x", ignore_case=True)).as_py():
        raise pa.ArrowInvalid("a hexadecimal number")
    return words


def _large_floats(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a mask of the floats that may be rounded whole numbers, or ``None`` if there is none."""
    if not pa.types.is_float64(column.type):
        return None
    limits = call_arrow("min_max", column).as_py()
    if limits["min"] is None or max(-limits["min"], limits["max"]) < EXACT:
        return None
    return pc.fill_null(pc.greater_equal(pc.abs(column), EXACT), False)


def _refuse_inexact(block: Block, layout: Layout, table: pa.Table, suspects: dict[str, Field]) -> None:
    """Raise ArrowInvalid for 1.0 in a column of whole decimals, and for floats that round a whole number."""
    whole = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if kind == WHOLE_DECIMAL]
    large = {name: mask for name in table.column_names if (mask := _large_floats(table[name])) is not None}
    if not (whole or large):
        return
    texts = _read_csv(block.data, layout, dict.fromkeys([*whole, *large], pa.string()))
    words = {
        name: cleaned(texts[name], suspects[name], layout) if name in suspects else texts[name]
        for name in texts.column_names
    }
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
            words = [word for word in column.unique().to_pylist() if word and word != layout.missing]
            if not all(map(is_number, words)):
                unclear.discard(at)
            elif at not in suspects and not all(map(is_whole, words)):
                suspects[at] = _refusal(block, layout, at)
        if not unclear:
            return
    for at in sorted(unclear & suspects.keys()):
        raise suspects[at]


def _refusal(block: Block, layout: Layout, at: int) -> FormatError:
    """Build the error for the first word of a column that is a number and no id."""
    rows = ((line, words[at]) for line, words in split_rows(block, layout))
    line, word = next((line, word) for line, word in rows if is_number(word) and not is_whole(word))
    name = layout.fields[at].name
    message = f"column {at + 1} ({name}) holds numbers that are not whole, {str(word)[:40]!r}; "
    hint = "write whole numbers without a fraction, 1 for 1.0 (pandas turns integer ids with gaps into floats), "
    option = f"or keep them as text with text=[{name!r}]", f"or keep them as text with --text {shlex.quote(str(name))}"
    return block.file.problem(f"{message}vertex ids must be integers or strings", line, hint + option[0], option)


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
    kept = [at for at, field in fields.items() if field.kept]
    cells = Cells.of(block, layout) if kept else None
    if cells is not None and cells.plain:
        return {}
    odd = _odd_by_row(block, layout, kept) if cells is None and kept else cells.odd(kept) if cells else set()
    if odd:
        return {at: len(fields[at].ladder) - 1 for at in odd}
    table = _fit(block, layout, fields)
    if table is not None:
        rewritten = _rewritten(table, block, layout, fields)
        return {at: len(fields[at].ladder) - 1 for at in rewritten}
    words = _words(block, layout, fields)
    steps = {at: step for at, field in fields.items() if (step := _steps_by_pattern(words[at], field))}
    others = {at: field for at, field in fields.items() if at not in steps}
    if _fit(block, layout, others) is None:
        for at, field in others.items():
            if not converts((word or "0" for word in words[at].unique().to_pylist()), field.type):
                steps[at] = 1
    return steps


def _fit(block: Block, layout: Layout, fields: dict[int, Field]) -> pa.Table | None:
    """Return the columns in their types, or ``None`` if a value has none of them."""
    with suppress(pa.ArrowInvalid):
        return parse_columns(block, layout, {field.name or "": field.type for field in fields.values()})
    return None


def _rewritten(table: pa.Table, block: Block, layout: Layout, fields: dict[int, Field]) -> list[int]:
    """Return the columns of floats without a role that would be written in another way than they are read."""
    floats = {at: field for at, field in fields.items() if field.kept and field.type == pa.float64()}
    words = _words(block, layout, {at: replace(field, ladder=TEXT) for at, field in floats.items()}) if floats else {}
    written = {at: table[field.name].cast(pa.string()) for at, field in floats.items()}
    return [at for at in floats if not written[at].equals(words[at])]


def _words(block: Block, layout: Layout, fields: dict[int, Field]) -> dict[int, pa.ChunkedArray]:
    """Return columns as text; words for no value are nulls in a quoted layout."""
    try:
        table = parse_columns(block, layout, {field.name or "": pa.string() for field in fields.values()})
        words = dict(zip(fields, table.columns, strict=True))
    except pa.ArrowInvalid:  # the row parser splits more rows than PyArrow, or raises a better error
        rows = [words for _, words in split_rows(block, layout)]
        words = {
            at: pa.chunked_array(
                [[None if layout.is_missing(field, row[at]) else row[at] for row in rows]], pa.string()
            )
            for at, field in fields.items()
        }
    for at, field in fields.items():
        if layout.quoted and field.type != pa.string():
            with suppress(pa.ArrowInvalid):
                words[at] = cleaned(words[at], field, layout)
    return words


@dataclass(frozen=True, slots=True)
class Cells:
    """The bytes of a block, and where the values of its rows begin and end, a column each."""

    text: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, block: Block, layout: Layout) -> Self | None:
        """Find the values; ``None`` if a row has another number of them, as a blank line has."""
        separator, width = ord(layout.separator), len(layout.fields)
        around = quotes_around(block.data, layout.separator.encode()) if layout.quoted else False
        text = np.frombuffer(b"\n%b\n\n\n" % block.data.strip(b"\n"), np.uint8)
        ends = np.flatnonzero((text[:-2] == separator) | (text[:-2] == NEWLINE))
        if around:
            ends = ends[np.searchsorted(np.flatnonzero(text == QUOTE), ends) % 2 == 0]
        newlines = text[ends] == NEWLINE
        if around is None or len(ends) % width != 1 % width or np.count_nonzero(newlines) != len(ends) // width + 1:
            return None
        if not newlines[::width].all():
            return None
        return cls(text, ends[:-1].reshape(-1, width) + 1, ends[1:].reshape(-1, width))

    @property
    def plain(self) -> bool:
        """Whether all values are whole numbers of at most 15 digits, which every type of numbers holds."""
        lengths = self.ends - self.starts
        digits = np.count_nonzero(self.text - ZERO < 10)
        leading = (self.text[self.starts] == ZERO) & (lengths > 1)
        return digits == lengths.sum() and lengths.max(initial=0) <= SAFE_DIGITS and not leading.any()

    def odd(self, columns: Sequence[int]) -> set[int]:
        """Return those of the columns with a value in quotes, between blanks, with a plus, or with a needless zero."""
        starts, ends = self.starts[:, columns], self.ends[:, columns]
        first, second, third = self.text[starts], self.text[starts + 1], self.text[starts + 2]
        zero = (first == ZERO) & (second - ZERO < 10)
        minus = (first == ord("-")) & (second == ZERO) & (third != ord("."))
        blank = ((first <= SPACE) | (self.text[ends - 1] <= SPACE)) & (ends > starts)
        wrong = (zero | minus | blank | (first == QUOTE) | (first == ord("+"))).any(axis=0)
        return {at for at, is_odd in zip(columns, wrong.tolist(), strict=True) if is_odd}


ODD = re.compile(r"[\s+].*|.*\s|-?0[0-9].*|-0", re.DOTALL)


def _odd_by_row(block: Block, layout: Layout, columns: Sequence[int]) -> set[int]:
    """Return the columns as :meth:`Cells.odd` does, row by row."""
    rows = [words for _, words in split_rows(block, layout)]
    return {at for at in columns if any(isinstance(row[at], Quoted) or ODD.fullmatch(row[at]) for row in rows)}


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
