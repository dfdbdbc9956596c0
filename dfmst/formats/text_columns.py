"""Blocks of text tables as record batches of the narrowest types that hold every row, parsed by PyArrow.

A stream cannot change its schema, so :func:`infer_types` reads the whole file first. Blocks of digits and blanks need
no parsing then, and columns that already have their widest type are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from dfmst._common.deferred import call_arrow, pc
from dfmst._common.machine import has_threads
from dfmst._common.number_patterns import ANY_NUMBER, ANY_WHOLE, is_number, is_whole
from dfmst.errors import FormatError
from dfmst.formats.text_reader import BYTE_ORDER_MARK, QUOTE, SPACE, Block, quotes_around
from dfmst.formats.text_rows import (
    EXACT,
    FLOAT_DIGITS,
    MISSING_TEXTS,
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

NEWLINE, TAB, MINUS, POINT, ZERO, EXPONENT = b"\n\t-.0e"
SAFE_DIGITS = 15
CANONICAL = r"^(0|-?[1-9][0-9]*)$"
FRACTION = r"^(0|-?[1-9][0-9]*|-?[0-9]+\.[0-9]+)$"
PIECE = 1 << 18  # bytes that fit in a processor's cache


def parse(block: Block, layout: Layout) -> pa.RecordBatch:
    """Parse one block of the file whose rows gave the layout its types."""
    block = layout.tidied(block)
    try:
        table = parse_columns(block, layout, {name: field.type for _, name, field in layout.named}, exact=True)
    except pa.ArrowInvalid:
        return parse_rows(block, layout)
    start = layout.marker + layout.separator.encode()
    if layout.marker and block.data.startswith(start) + block.data.count(b"\n" + start) != len(table):
        return parse_rows(block, layout)
    batches = table.select(layout.schema.names).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=layout.schema)


def parse_columns(block: Block, layout: Layout, types: dict[str, pa.DataType], *, exact: bool = False) -> pa.Table:
    """Parse the named columns by pyarrow; with `exact`, the types are known to hold every value."""
    if not block.data.strip(b"\n"):
        return pa.schema(list(types.items())).empty_table()
    if layout.quoted:
        around = quotes_around(block.data, layout.separator.encode())
        if around is None or (around and block.data.count(b'"') % 2):
            raise pa.ArrowInvalid("pyarrow reads a value behind a closed quote, and one that is never closed")
    suspects = _suspects(block.data, layout, types)
    table = _read_csv(block.data, layout, types | dict.fromkeys(suspects, pa.string()))
    columns = dict(zip(table.column_names, table.columns, strict=True))
    quoted = {name: types[name] for _, name, field in layout.named if field.quoted and name in types}
    if quoted:
        texts = _read_csv(block.data, layout, quoted, ("", *MISSING_TEXTS))
        columns |= dict(zip(texts.column_names, texts.columns, strict=True))
    for name, field in suspects.items():
        columns[name] = _cast(cleaned(columns[name], field, layout), types[name])
    table = pa.table(columns) if suspects or quoted else table
    decimals = {name: types[name] for name in types if pa.types.is_decimal(types[name]) and name not in suspects}
    if decimals:
        words = _read_csv(block.data, layout, dict.fromkeys(decimals, pa.string()))
        for name, kind in decimals.items():
            _refuse_long(words[name], kind)
    if not exact:
        _refuse_inexact(block, layout, table, suspects)
    return table


def _suspects(data: bytes, layout: Layout, types: dict[str, pa.DataType]) -> dict[str, Field]:
    """Return the columns of numbers that PyArrow cannot read as they are written."""
    # PyArrow reads 0x10 as 16; in an edge list it is a name or an error. A search for one byte is the fastest.
    hexadecimal = (b"x" in data and b"0x" in data) or (b"X" in data and b"0X" in data)
    numbers = {name: field for _, name, field in layout.named if types.get(name, pa.string()) != pa.string()}
    read = any(field.named for field in numbers.values())
    missing = read and bool(layout.missing) and layout.missing.encode() in data
    return {
        name: field
        for name, field in numbers.items()
        if (hexadecimal and pa.types.is_integer(types[name])) or (field.named and (missing or layout.localized))
    }


def cleaned(words: pa.ChunkedArray, field: Field, layout: Layout) -> pa.ChunkedArray:
    """Return numbers as PyArrow reads them, and nulls for the word of missing ones; raise ArrowInvalid for others."""
    words = words if field.kept else pc.ascii_trim_whitespace(words)
    words = _without_missing(words, layout, field)
    if layout.localized and field.named and not field.kept:
        if not _all_match(words, f"^{layout.number_pattern}$"):
            raise pa.ArrowInvalid("another sign in a number")
        words = pc.replace_substring(words, layout.thousands, "") if layout.thousands else words
        words = pc.replace_substring(words, layout.decimal, ".")
    elif pc.any(pc.match_substring(words, "x", ignore_case=True)).as_py():
        raise pa.ArrowInvalid("a hexadecimal number")
    return words


def _without_missing(words: pa.ChunkedArray, layout: Layout, field: Field) -> pa.ChunkedArray:
    """Return words with nulls for those that stand for no number."""
    if not field.named:
        return words
    missing = pa.array([layout.missing] if field.kept else ["", layout.missing])
    is_missing = call_arrow("is_in", words, options=("SetLookupOptions", missing))
    return call_arrow("if_else", is_missing, pa.scalar(None, pa.string()), words)


def _is_large(column: pa.ChunkedArray) -> bool:
    """Return whether a float may be a rounded whole number."""
    limits = call_arrow("min_max", column).as_py()
    return limits["min"] is not None and max(-limits["min"], limits["max"]) >= EXACT


def _has_long_numbers(data: bytes, *, whole: bool) -> bool:
    """Return whether a float may round a number: a fraction, or one with an exponent, of more digits than tell floats.

    With `whole`, also whether a number has as many digits before a point or without one as no float is sure to hold.
    """
    text, most = np.frombuffer(b"\n%b\n" % data, np.uint8), FLOAT_DIGITS + 1
    fractions = any(sign in data for sign in (b".", b"e", b"E"))
    for piece in (text[max(0, at - most - 1) : at + PIECE] for at in range(0, len(text), PIECE)):
        digit = piece - ZERO < 10
        part = digit | (piece == POINT)
        if whole and (_runs(digit, SAFE_DIGITS + 1)[1:] & ~part[: -SAFE_DIGITS - 1]).any():
            return True
        if not fractions:
            continue
        runs, digits = _runs(part, most + 1), _runs(digit, most)
        first = digit & (piece != ZERO)
        # From a first digit with a point behind it, from one behind a point or zeros; before a point or an exponent.
        within = first[: len(runs)] & ~(digits[:-1] & digit[most:])
        behind = digits[1:] & first[1 : len(digits)] & ~first[: len(runs)]
        ends = (piece[most:] | 32 == EXPONENT) | (piece[most:] == POINT)
        if (runs & (within | behind)).any() or (digits[:-1] & ends).any():
            return True
    return False


def _long_numbers(words: pa.ChunkedArray, floats: pa.ChunkedArray) -> list[str]:
    """Return the words of floats that may be rounded: large ones, and those of many digits."""
    many = call_arrow("match_substring_regex", words, options=("MatchSubstringOptions", r"[1-9](\.?[0-9]){17}"))
    large = pc.greater_equal(pc.abs(floats), EXACT)
    kept: list[str] = words.filter(pc.fill_null(pc.or_(many, large), False)).to_pylist()
    return kept


def _refuse_inexact(block: Block, layout: Layout, table: pa.Table, suspects: dict[str, Field]) -> None:
    """Raise ArrowInvalid for 1.0 in a column of whole decimals, and for floats that round a whole number."""
    whole = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if kind == WHOLE_DECIMAL]
    floats = [name for name in table.column_names if pa.types.is_float64(table[name].type)]
    long = bool(floats) and (layout.localized or _has_long_numbers(block.data, whole=False))
    floats = [name for name in floats if long or _is_large(table[name])]
    if not (whole or floats):
        return
    texts = _read_csv(block.data, layout, dict.fromkeys([*whole, *floats], pa.string()))
    words = {
        name: cleaned(texts[name], suspects[name], layout) if name in suspects else texts[name]
        for name in texts.column_names
    }
    if not all(_all_match(words[name], ANY_WHOLE) for name in whole):
        raise pa.ArrowInvalid("a number that is not whole")
    rounded = (word for name in floats for word in _long_numbers(words[name], table[name]))
    if not converts(rounded, pa.float64()):
        raise pa.ArrowInvalid("a number that a float would round")


def _read_csv(data: bytes, layout: Layout, types: dict[str, pa.DataType], missing: tuple[str, ...] = ("",)) -> pa.Table:
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
        null_values=missing if layout.quoted else [],
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
    """Raise if vertices are read as text although a column of them holds only numbers: 1 and 1.0 would be two.

    So would 4 and #4 in a row that may be a comment.
    """
    unclear = {at for at, _, field in layout.named if field.end_point and field.type == pa.string()}
    suspects: dict[int, FormatError] = {}
    plain, marked = False, None  # numbers in the first column; the error of a mark before one
    for block in blocks() if unclear else ():
        for at in sorted(unclear):
            column = _words(layout.tidied(block), layout, {at: layout.fields[at]})[at]
            words = [word for word in column.unique().to_pylist() if word and word != layout.missing]
            numbers = [word for word in words if is_number(word)]
            plain = plain or (at == 0 and bool(numbers))
            if len(numbers) < len(words):
                others = set(words).difference(numbers)
                if at > 0 or not all(word[0] in "#%" and is_number(word[1:].strip()) for word in others):
                    unclear.discard(at)
                marked = marked or (_mark(block, layout) if at in unclear else None)
            elif at not in suspects and not all(map(is_whole, words)):
                suspects[at] = _refusal(block, layout, at)
        if not unclear:
            return
    for at in sorted(unclear & suspects.keys()):
        raise suspects[at]
    if 0 in unclear and plain and marked is not None:
        raise marked


def _mark(block: Block, layout: Layout) -> FormatError | None:
    """Build the error for the first row that begins with a mark, without quotes."""
    for line, words in split_rows(block, layout):
        if words[0][:1] in ("#", "%") and not isinstance(words[0], Quoted):
            hint = f"remove the line, or keep the ids as text with text=[{layout.fields[0].name!r}]"
            return block.file.problem("a comment, or a row whose first value begins with a mark", line, hint)
    return None


def _refusal(block: Block, layout: Layout, at: int) -> FormatError:
    """Build the error for the first word of a column that is a number and no id."""
    rows = ((line, words[at]) for line, words in split_rows(block, layout))
    line, word = next((line, word) for line, word in rows if is_number(word) and not is_whole(word))
    name = layout.fields[at].name
    message = f"column {at + 1} ({name}) holds numbers that are not whole, {str(word)[:40]!r}; "
    hint = "write whole numbers without a fraction, 1 for 1.0 (pandas turns integer ids with gaps into floats), "
    hint += f"or keep them as text with text=[{name!r}]"
    return block.file.problem(f"{message}vertex ids must be integers or strings", line, hint)


DIGITS_AND_SPACES = b"0123456789- \t\n"


def infer_types(blocks: Callable[[], Iterator[Block]], layout: Layout) -> Layout:
    """Return the layout with the narrowest types that hold every row."""
    again, words = True, None
    while again and layout.open_fields:
        again, words = False, False  # earlier blocks are read again if a later one needs wider types
        for index, block in enumerate(blocks()):
            words = words or _has_missing_texts(block)
            while layout.open_fields and (columns := _columns_to_widen(block, layout)):
                layout = layout.widened(columns)
                again = again or index > 0
            if not layout.open_fields:
                words = None  # the rest was not looked at
                break
    refuse_numeric_names(blocks, layout)
    return _with_missing_texts(blocks, layout, words)


def _columns_to_widen(block: Block, layout: Layout) -> dict[int, int]:
    """Return the positions of the columns that need a wider type, and how many types further."""
    fields = {at: field for at, _, field in layout.open_fields}
    plain = not layout.quoted and not any(field.end_point or field.kept for field in fields.values())
    # Few digits and blanks only: the first type suffices for every column.
    floats = {field.type for field in fields.values()} == {pa.float64()}
    if plain:
        left = block.data.translate(None, DIGITS_AND_SPACES + b"." * floats + layout.marker)
        small = floats and not left.strip(b"e") and block.data.count(b"e-") == len(left)
        if (not left or small) and not _has_long_numbers(block.data, whole=True):
            return {}
    block = layout.tidied(block)
    signs = Signs.of(block.data, layout.separator) if any(field.kept for field in fields.values()) else Signs(False)
    if signs.plain:
        return {}
    if signs.quoted:
        quoted: npt.NDArray[np.bool_] = np.atleast_1d(_quoted(block, layout).any(axis=0))
        texts = {at: len(field.ladder) - 1 for at, field in fields.items() if field.kept and quoted[at]}
        if texts:
            return texts
    unsure = {at: field for at, field in fields.items() if field.kept and (signs.odd or field.type == pa.float64())}
    table = _fit(
        block, layout, {at: replace(field, ladder=TEXT) if at in unsure else field for at, field in fields.items()}
    )
    if table is not None:
        words = {at: _without_missing(table[field.name], layout, field) for at, field in unsure.items()}
        return {at: step for at, field in unsure.items() if (step := _steps_of_kept(words[at], field))}
    words = _words(block, layout, fields)
    count = {at: _steps_of_kept if field.kept else _steps_by_pattern for at, field in fields.items()}
    steps = {at: step for at, field in fields.items() if (step := count[at](words[at], field))}
    others = {at: field for at, field in fields.items() if at not in steps and not field.kept}
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


def _steps_of_kept(words: pa.ChunkedArray, field: Field) -> int:
    """Count the types before the first whose numbers would be written as the words are, or before text."""
    whole = field.type in WHOLE_TYPES and _all_match(words, CANONICAL)
    with suppress(pa.ArrowInvalid):
        if whole:
            _cast(words, field.type)
            return 0
        places = [at for at, kind in enumerate(field.ladder) if kind == pa.float64()]
        if places and _all_match(words, FRACTION):
            numbers = _cast(words, pa.float64())
            if call_arrow("cast", numbers, options=("CastOptions", pa.string())).equals(words):
                return places[0]
    return 1 if whole else len(field.ladder) - 1


def _cast(words: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast words; raise ArrowInvalid if a type does not hold one."""
    _refuse_long(words, kind)
    return call_arrow("cast", words, options=("CastOptions", kind))


def _refuse_long(words: pa.ChunkedArray, kind: pa.DataType) -> None:
    """Raise ArrowInvalid for a word of more digits than a decimal has, which Arrow would take for another number."""
    if pa.types.is_decimal(kind):
        whole = f"[0-9]{{0,{kind.precision - kind.scale}}}"
        if not _all_match(words, rf"^[+-]?{whole}(\.[0-9]{{0,{kind.scale}}})?$"):
            raise pa.ArrowInvalid("more digits than Arrow checks")


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
        if layout.missing and field.type != pa.string():
            with suppress(pa.ArrowInvalid):
                words[at] = cleaned(words[at], field, layout)
    return words


class Signs(NamedTuple):
    """What the bytes of a block say about its numbers."""

    plain: bool  # whether all values are whole numbers of at most 15 digits
    odd: bool = False  # whether a number may have a plus, a needless zero or blanks around it
    quoted: bool = False  # whether a number, or the word for a missing one, may be in quotes

    @classmethod
    def of(cls, data: bytes, separator: str) -> Self:
        """Look for the signs, with no regard to rows."""
        text, mark = np.frombuffer(b"\n%b\n" % data, np.uint8), ord(separator)
        plain, quoted, odd = True, False, b"+" in data or (b"-" in data and b"-0" in data)
        tab = TAB if mark != TAB else SPACE
        blanks, quotes = separator != " " and (b" " in data or tab in data), b'"' in data
        for start in range(0, len(text), PIECE):
            piece = text[max(0, start - SAFE_DIGITS) : start + PIECE]
            digit, end = piece - ZERO < 10, (piece == mark) | (piece == NEWLINE)
            before, within, zero = piece[:-2], digit[1:-1], piece[1:-1] == ZERO
            if not odd:
                odd = bool((zero & digit[2:] & ~digit[:-2] & (before != POINT)).any())
                if blanks and not odd:
                    blank = (piece == SPACE) | (piece == tab)
                    near = digit | blank | (piece == MINUS) | (piece == POINT)
                    between = (end[:-2] & near[2:]) | (near[:-2] & end[2:])
                    odd = bool((blank[1:-1] & between).any())
            if quotes and not quoted:
                within = within | np.isin(piece[1:-1], [MINUS, SPACE, tab, ord("N")])  # "NA" in quotes is a text
                quoted = bool(((before == QUOTE) & within).any())
            plain = plain and not odd and bool((digit | end).all()) and not _runs(digit, SAFE_DIGITS + 1).any()
        return cls(plain, odd, quoted)


def _runs(mask: npt.NDArray[np.bool_], length: int) -> npt.NDArray[np.bool_]:
    """Return at which places `length` entries in a row are true."""
    run = 1
    while run < length:
        step = min(run, length - run)
        mask, run = mask[step:] & mask[:-step], run + step
    return mask


def _quoted(block: Block, layout: Layout) -> npt.NDArray[np.bool_]:
    """Return which values of each row are in quotes."""
    text, width = np.frombuffer(b"\n%b\n" % block.data.strip(b"\n"), np.uint8), len(layout.fields)
    around = quotes_around(block.data, layout.separator.encode())
    ends = np.flatnonzero((text == ord(layout.separator)) | (text == NEWLINE))
    ends = ends[np.searchsorted(np.flatnonzero(text == QUOTE), ends) % 2 == 0]
    rows, newlines = ends[:-1].reshape(-1, width) if len(ends) % width == 1 % width else None, text[ends] == NEWLINE
    if not around or rows is None or not newlines[::width].all() or newlines.sum() != len(rows) + 1:
        found = [[isinstance(word, Quoted) for word in words] for _, words in split_rows(block, layout)]
        return np.array(found, bool).reshape(-1, width)
    starts = text[rows + 1]
    marked: npt.NDArray[np.bool_] = starts[starts[:, 0] != NEWLINE] == QUOTE  # a blank line is no row of one column
    return marked


def _has_missing_texts(block: Block) -> bool:
    # A search for one byte is many times faster than for two.
    return any(word[:1] in block.data and word in block.data for word in (b"NA", b"NULL", rb"\N"))


def _with_missing_texts(blocks: Callable[[], Iterator[Block]], layout: Layout, words: bool | None) -> Layout:
    """Return the layout with the columns of ids and keys in which only words for missing values lack quotes.

    In other columns such words are texts, which a note counts. `words`: whether the file holds any, if that is known.
    """
    named = {at: name for at, name, field in layout.named if (field.kept and field.named) or field.end_point}
    texts = {at: name for at, name in named.items() if layout.fields[at].type == pa.string()}
    if not (layout.quoted and texts and words is not False and any(map(_has_missing_texts, blocks()))):
        return layout
    bare, plain, full = Counter[int](), Counter[int](), Counter[int]()
    for block in map(layout.tidied, blocks()):
        columns = _words(block, layout, {at: layout.fields[at] for at in texts})
        quoted = _quoted(block, layout) if b'"' in block.data else None
        for at in texts:
            missing = call_arrow("is_in", columns[at], options=("SetLookupOptions", pa.array(MISSING_TEXTS)))
            is_word, in_quotes = np.asarray(missing), quoted[:, at] if quoted is not None else np.False_
            bare[at] += int((is_word & ~in_quotes).sum())
            plain[at] += int((np.asarray(columns[at].is_valid()) & ~is_word & ~in_quotes).sum())
            full[at] += int(np.sum(in_quotes))
    quoted_texts = [at for at in texts if bare[at] and full[at] and not plain[at]]
    for at in texts.keys() - {*quoted_texts}:
        if bare[at]:
            said = f"{bare[at]:,} values of {texts[at]!r} are NA, NULL or \\N, texts like others"
            block.file.note(f"{block.file.path}: {said}: leave missing ones empty")
    fields = (replace(field, quoted=at in quoted_texts) for at, field in enumerate(layout.fields))
    return replace(layout, fields=tuple(fields))


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
