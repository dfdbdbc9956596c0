"""Text tables line by line: slow, but its errors name the line and the word.

It parses the blocks that pyarrow refuses: either the rows come out after all (a ``+1``), or the error says where the
file breaks its format.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from dfmst._common.number_patterns import is_number, is_whole
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import Block, Line, tidy
from dfmst.formats.text.exact_numbers import exact_decimal, exact_real
from dfmst.formats.text.layout import DECIMALS, WHOLE_DECIMAL, Field, Layout

Row = tuple[Line, list[str]]

LIMITS = {pa.int64(): (-(2**63), 2**63 - 1), pa.uint64(): (0, 2**64 - 1)}
REPAIR = "repair or remove the line"
NAMES_HINT = f"{REPAIR}; where vertices have names, read the file with format='csv'"


def tidy_block(block: Block, layout: Layout) -> Block:
    """Put single spaces between the columns and empty the comment lines, where the layout has blanks for separators."""
    return Block(tidy(block.data, layout.comments), block.line) if layout.spaced else block


def split_rows(block: Block, layout: Layout, path: Path) -> Iterator[Row]:
    """Yield the rows of a block, each with its line."""
    split = _split_quoted if layout.quoted else _split_plain
    for line, words in split(tidy_block(block, layout), layout, path):
        if layout.marker and words[0] != layout.marker.decode():
            expected = layout.marker.decode()
            raise problem(
                path, f"a line that does not start with {expected!r}", line=line.number, text=line.text, hint=REPAIR
            )
        if len(words) != len(layout.fields):
            few = "few" if len(words) < len(layout.fields) else "many"
            message = f"too {few} columns: {len(words)} where the others have {len(layout.fields)}"
            raise problem(path, message, line=line.number, text=line.text, hint=REPAIR)
        yield line, words


def _split_plain(block: Block, layout: Layout, path: Path) -> Iterator[Row]:
    for number, text in enumerate(block.data.split(b"\n"), block.line):
        if text:
            line = Line(text, number)
            yield line, _decode(line, path).split(layout.separator)


def _split_quoted(block: Block, layout: Layout, path: Path) -> Iterator[Row]:
    texts = block.data.split(b"\n")
    decoded = (_decode(Line(text, number), path) + "\n" for number, text in enumerate(texts, block.line))
    start = 0
    reader = csv.reader(decoded, delimiter=layout.separator, strict=True)
    try:
        for words in reader:
            if words:
                yield Line(texts[start], block.line + start), words
            start = reader.line_num
    except csv.Error as error:
        line = min(start, len(texts) - 1)
        raise problem(path, str(error), line=block.line + line, text=texts[line], hint=REPAIR) from error


def _decode(line: Line, path: Path) -> str:
    try:
        return line.text.decode()
    except UnicodeDecodeError as error:
        raise problem(
            path, "bytes that are not UTF-8", line=line.number, text=line.text, hint="save the file as UTF-8"
        ) from error


def _whole(word: str, kind: pa.DataType) -> int:
    if not is_whole(word):
        raise ValueError("not a whole number")
    # Twenty digits hold 2**64; longer ones would only cost time.
    value = int(word) if len(word.strip().lstrip("+-").lstrip("0")) <= 20 else 2**64
    lowest, highest = LIMITS[kind]
    if not lowest <= value <= highest:
        raise ValueError("a whole number beyond 64 bits")
    return value


def _real(word: str, kind: pa.DataType) -> float:
    if not is_number(word):
        raise ValueError("not a number")
    return exact_real(word)


def _decimal(word: str, kind: pa.DataType) -> Decimal:
    if not is_number(word):
        raise ValueError("not a number")
    if not kind.scale and not is_whole(word):
        raise ValueError("not a whole number")
    return exact_decimal(word, kind.scale)


def _text(word: str, kind: pa.DataType) -> str:
    return word


CONVERTERS: dict[pa.DataType, Callable[[str, pa.DataType], Any]] = {
    pa.int64(): _whole,
    pa.uint64(): _whole,
    pa.float64(): _real,
    pa.string(): _text,
    **dict.fromkeys((WHOLE_DECIMAL, *DECIMALS), _decimal),
}


def convert_word(word: str, kind: pa.DataType) -> Any:
    """Convert a word to a type; ValueError says why it is no value of that type."""
    return CONVERTERS[kind](word, kind)


def convert_column(rows: list[Row], position: int, field: Field, layout: Layout, path: Path) -> pa.Array:
    """Convert one column to its type."""
    converter = CONVERTERS[field.type]
    values: list[Any] = []
    for line, words in rows:
        word = words[position]
        try:
            values.append(None if layout.quoted and not word else converter(word, field.type))
        except ValueError as error:
            raise problem(
                path,
                f"{error} in column {position + 1} ({field.name}), {word[:40]!r}",
                line=line.number,
                text=line.text,
                hint=NAMES_HINT if field.end_point and not layout.quoted else REPAIR,
            ) from error
    return pa.array(values, field.type)


def parse_rows(block: Block, layout: Layout, path: Path) -> pa.RecordBatch:
    """Parse a block line by line."""
    rows = list(split_rows(block, layout, path))
    columns = {name: convert_column(rows, at, field, layout, path) for at, name, field in layout.named}
    schema = layout.schema
    return pa.record_batch([columns[name] for name in schema.names], schema=schema)


def line_of_row(block: Block, layout: Layout, path: Path, row: int) -> Line:
    """Return the line that holds the ``row``-th row of a block, counting from 0."""
    rows = split_rows(block, layout, path)
    return next(line for at, (line, _) in enumerate(rows) if at == row)
