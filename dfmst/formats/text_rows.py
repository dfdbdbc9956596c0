"""Layouts of text tables, and their rows parsed line by line, so that an error names the line and the word.

No number is rounded, as far as 17 digits show it, and no finite number becomes infinite.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from dfmst._common.arguments import is_number, is_whole
from dfmst.formats.files import Line
from dfmst.formats.text_reader import Block, tidy, trim, without_comments

WHOLE_DECIMAL = pa.decimal128(38, 0)
WHOLE_TYPES = (pa.int64(), pa.uint64(), WHOLE_DECIMAL)
# For columns of fractions and of whole numbers that a float would round.
DECIMALS = tuple(pa.decimal128(38, places) for places in (2, 6, 12, 18, 24, 30, 37))

# The types a column may take, narrowest first: the first one that holds every value in the file wins.
WHOLE = (pa.int64(),)
REAL = (pa.float64(), *DECIMALS)
NUMBER = (*WHOLE_TYPES, *REAL)
NAME = (*WHOLE_TYPES, pa.string())
ANY = (*NUMBER, pa.string())
AS_WRITTEN = (*WHOLE_TYPES, pa.float64(), pa.string())
TEXT = (pa.string(),)
#: Words for missing texts, as R and databases write them without quotes next to texts in quotes.
MISSING_TEXTS = ("NA", "NULL", r"\N")
#: A column of the lines of a CSV file, for its forest to have the same; the metadata names their separator.
LINE = "\x1fline of the file"


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a text table."""

    name: str | None  # None: the column is not in the result
    ladder: tuple[pa.DataType, ...]  # types from narrow to wide
    end_point: bool = False
    pair: int = 0  # end points of one pair have one type
    kept: bool = False  # a value that a number would rewrite makes the column text
    named: bool = True  # whether the column has a role, so that the word for missing values is none of its values
    quoted: bool = False  # whether all texts are in quotes, so that the words for missing values without are none
    padded: bool = True  # whether zeros may stand before the digits of a whole number

    @property
    def type(self) -> pa.DataType:
        """The narrowest type of the ladder."""
        return self.ladder[0]

    @property
    def is_open(self) -> bool:
        """Whether the column may still get a wider type."""
        return len(self.ladder) > 1

    @property
    def is_text_id(self) -> bool:
        """Whether the column has ids or keys that are texts because of the words in the file."""
        return self.type == pa.string() and (self.end_point or (self.kept and self.named))


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rows of a text table are written."""

    fields: tuple[Field, ...]
    separator: str = " "
    comments: bytes = b""  # letters that start a comment line
    words: int = 0  # a line of this many words is not a comment; 0: every line with its letters is one
    marker: bytes = b""  # first word of every row
    spaced: bool = True  # any blanks separate columns
    quoted: bool = False
    trimmed: bool = False  # blanks around the separators are not part of values
    missing: str = ""  # word for a missing number
    decimal: str = "."
    thousands: str = ""
    order: tuple[str, ...] = ()  # of the columns in the result; empty: that of the file

    @property
    def named(self) -> Iterator[tuple[int, str, Field]]:
        """Position, name and field of every column in the result, in the order of the file."""
        return ((at, field.name, field) for at, field in enumerate(self.fields) if field.name is not None)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the result."""
        fields = {name: pa.field(name, field.type) for _, name, field in self.named}
        return pa.schema([fields[name] for name in self.order or fields])

    @property
    def marks(self) -> bytes:
        """The bytes that stand before a quote that opens a value."""
        return self.separator.encode() + (b" \t\f\v" if self.spaced else b" " if self.trimmed else b"")

    def tidied(self, block: Block) -> Block:
        """Put nothing but one separator between the columns, and empty the comment lines."""
        separator, data = self.separator.encode(), block.data
        data = trim(data, separator) if self.trimmed else tidy(data, self.quoted) if self.spaced else data
        return replace(block, data=without_comments(data, self.comments, separator, self.words))

    def widened(self, steps: dict[int, int]) -> Layout:
        """Return the layout with wider types: `steps` further by position, the same for both columns of vertices."""
        ends: dict[int, int] = {}
        for at, step in steps.items():
            if (field := self.fields[at]).end_point:
                ends[field.pair] = max(step, ends.get(field.pair, 0))
        further = (
            ends.get(field.pair, 0) if field.end_point else steps.get(at, 0) for at, field in enumerate(self.fields)
        )
        fields = (replace(field, ladder=field.ladder[step:]) for field, step in zip(self.fields, further, strict=True))
        return replace(self, fields=tuple(fields))

    def is_missing(self, field: Field, word: str) -> bool:
        """Return whether a word stands for no value, in a layout with missing values."""
        if field.type == pa.string():
            return not isinstance(word, Quoted) and (not word or (field.quoted and word in MISSING_TEXTS))
        return not word or (field.named and (word if field.kept else word.strip(" ")) in ("", self.missing))

    @property
    def localized(self) -> bool:
        """Whether numbers are written with another decimal sign, or with a sign between thousands."""
        return self.decimal != "." or bool(self.thousands)

    def number(self, word: str) -> str:
        """Return a number as Python writes it; raise ValueError if its signs are not those of the layout."""
        if not self.localized:
            return word
        if not re.fullmatch(self.number_pattern, word, re.ASCII):
            raise ValueError("not a number")
        return word.replace(self.thousands, "").replace(self.decimal, ".") if self.thousands else word.replace(",", ".")

    @property
    def number_pattern(self) -> str:
        """Pattern of a number with the signs of the layout."""
        mark, point = re.escape(self.thousands), re.escape(self.decimal)
        whole = rf"[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+|[0-9]+" if mark else r"[0-9]+"
        fraction = rf"(?:{whole})(?:{point}[0-9]*)?|{point}[0-9]+"
        return rf"\s*[+-]?(?:(?:{fraction})(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity|nan))\s*"


DIGITS = 38
#: Floats up to here hold every whole number.
EXACT = 2.0**53
FLOAT_DIGITS = 17  # that tell each float from all others
_MOST_DIGITS = 800  # a float has at most 767 that are not zeros


def exact_real(word: str) -> float:
    """Read a number as a float, which must print as the same number; those of up to 17 digits and a fraction do."""
    value = float(word)
    if math.isnan(value) or (abs(value) < EXACT and len(word) <= FLOAT_DIGITS):
        return value
    if abs(value) < EXACT:
        number = Decimal(word.strip())
        digits = min(len(number.as_tuple().digits), _MOST_DIGITS)
        if digits > FLOAT_DIGITS and Decimal(f"{value:.{digits - 1}e}") != number:
            raise ValueError("a number that a 64-bit float would round")
    elif math.isinf(value):
        if "i" not in word.lower():
            raise ValueError("a number beyond 64-bit floats")
    elif "e" not in word.lower() and Decimal(word.strip()) != Decimal(value):
        raise ValueError("a number that a 64-bit float would round")
    return value


def exact_decimal(word: str, places: int) -> Decimal:
    """Read a number as a decimal of 38 digits, `places` of them after the point."""
    try:
        value = Decimal(word.strip())
    except InvalidOperation:  # an exponent of many digits
        raise ValueError("a number beyond 38 digits") from None
    if not value.is_finite():
        raise ValueError("not a finite number, in a column of numbers that a 64-bit float would round,")
    if not value:
        return Decimal(0)
    _, digits, exponent = value.as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    highest = len(significant) + int(exponent)  # digits before the point
    if highest - len(significant.rstrip("0")) < -places or highest > DIGITS - places:
        raise ValueError(f"a number beyond {DIGITS} digits, and one that a 64-bit float would round,")
    return value


Row = tuple[Line, list[str]]

LIMITS = {pa.int64(): (-(2**63), 2**63 - 1), pa.uint64(): (0, 2**64 - 1)}
REPAIR = "repair or remove the line"
NAMES_HINT = f"{REPAIR}; if vertices have names, read the file with format='csv'"


def split_words(block: Block, layout: Layout) -> Iterator[Row]:
    """Yield the rows of a block, each with its line and any number of words."""
    block = layout.tidied(block)
    if layout.quoted:
        yield from _split_quoted(block, layout)
        return
    lines = (Line(text, number) for number, text in enumerate(block.data.split(b"\n"), block.line))
    yield from ((line, line.decoded(block.file).split(layout.separator)) for line in lines if line.text)


def split_rows(block: Block, layout: Layout) -> Iterator[Row]:
    """Yield the rows of a block, each with its line."""
    marker = layout.marker.decode()
    for line, words in split_words(block, layout):
        if marker and words[0] != marker:
            raise block.file.problem(f"a line that does not start with {marker!r}", line, REPAIR)
        if len(words) != len(layout.fields):
            few = "few" if len(words) < len(layout.fields) else "many"
            raise block.file.problem(f"too {few} columns: {len(words)} instead of {len(layout.fields)}", line, REPAIR)
        yield line, words


class Quoted(str):
    """A value that stands in quotes."""

    __slots__ = ()


def _split_quoted(block: Block, layout: Layout) -> Iterator[Row]:
    mark = re.escape(layout.separator)
    # Quotes enclose a value that starts with one; elsewhere they are letters.
    value = re.compile(rf'(?:"((?:[^"]++|"")*+)("?)|([^{mark}\n]*+))({mark}|\n|\Z|)')
    texts = block.data.split(b"\n")
    try:
        text = block.data.decode().removesuffix("\n")
    except UnicodeDecodeError:  # names the line
        text = "\n".join(Line(one, number).decoded(block.file) for number, one in enumerate(texts, block.line))
    words, place, row, line = list[str](), 0, 0, 0  # `row`: line of the row's first value
    while place <= len(text):
        found = value.match(text, place)
        assert found is not None
        enclosed, closed, letters, end = found.groups()
        if enclosed is not None and not (closed and (end or found.end() == len(text))):
            reason = f"{layout.separator!r} expected after '\"'" if closed else "unexpected end of data"
            raise block.file.problem(reason, Line(texts[row], block.line + row), REPAIR)
        words.append(letters if enclosed is None else Quoted(enclosed.replace('""', '"')))
        line += 0 if enclosed is None else enclosed.count("\n")
        place = found.end()
        if end != layout.separator:
            if words != [""] or isinstance(words[0], Quoted):
                yield Line(texts[row], block.line + row), words
            words, row, line = [], line + 1, line + 1
            place += not end


def convert_text(word: str, kind: pa.DataType) -> int | float | Decimal | str:
    """Return a word as a value of a type; the ValueError says why it is none."""
    if kind == pa.string():
        return word
    if pa.types.is_integer(kind) or (kind == WHOLE_DECIMAL and is_number(word)):
        if not is_whole(word):
            raise ValueError("not a whole number")
    elif not is_number(word):
        raise ValueError("not a number")
    if not pa.types.is_integer(kind):
        return exact_real(word) if kind == pa.float64() else exact_decimal(word, kind.scale)
    # 2**64 has twenty digits; reading more takes quadratic time.
    value = int(word) if len(word.strip().lstrip("+-").lstrip("0")) <= 20 else 2**64
    lowest, highest = LIMITS[kind]
    if not lowest <= value <= highest:
        raise ValueError("a whole number beyond 64 bits")
    return value


def parse_rows(block: Block, layout: Layout) -> pa.RecordBatch:
    """Parse a block line by line."""
    rows = list(split_rows(block, layout))
    columns = {name: _convert_column(rows, at, field, layout, block) for at, name, field in layout.named}
    schema = layout.schema
    return pa.record_batch([columns[name] for name in schema.names], schema=schema)


def _convert_column(rows: list[Row], position: int, field: Field, layout: Layout, block: Block) -> pa.Array:
    localized = layout.localized and not field.kept and field.type != pa.string()
    values: list[Any] = []
    for line, words in rows:
        word = words[position]
        if not field.padded and word[:1] == "0" and word[1:2].isdigit():
            message = f"zeros before the digits of an id, {word[:40]!r}: a number, or a name"
            raise block.file.problem(message, line, "read names with format='csv'; remove such zeros of numbers")
        try:
            if (layout.missing or field.quoted) and layout.is_missing(field, word):
                values.append(None)
            else:
                values.append(convert_text(layout.number(word) if localized else str(word), field.type))
        except ValueError as error:
            message = f"{error} in column {position + 1} ({field.name}), {word[:40]!r}"
            hint = _hint_for_number(word) if layout.missing else NAMES_HINT if field.end_point else REPAIR
            raise block.file.problem(message, line, hint) from error
    return pa.array(values, field.type)


_GROUPED = re.compile(r"\s*[+-]?[0-9]{1,3}(?:([,. '_\u00a0\u202f])[0-9]{3})(?:\1[0-9]{3})*(?:([.,])[0-9]*)?\s*")
_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")


def _hint_for_number(word: str) -> str:
    """Return the fix for a value that is not a number."""
    hints = []
    if (grouped := _GROUPED.fullmatch(word)) and grouped[1] != grouped[2]:
        decimal = ", decimal=','" if grouped[2] == "," or grouped[1] == "." else ""
        hints.append(f"if {grouped[1]!r} separates thousands, read the file with thousands={grouped[1]!r}{decimal}")
    elif grouped or not _COMMA.fullmatch(word):
        hints.append(f"{REPAIR}, leave a missing number empty, or name a column of numbers")
    if _COMMA.fullmatch(word):
        hints.append("if ',' is the decimal sign, read the file with decimal=','")
    return "; ".join(hints)
