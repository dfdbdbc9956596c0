"""Blocks of text tables as record batches: PyArrow reads every column as text, and :func:`typed` gives it its type.

A stream cannot change its schema, so :func:`read_rows` reads the whole file first. It keeps the batches of a short
file, which is then read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

import numpy as np
import pyarrow as pa
import pyarrow.csv

from dfmst._common.arguments import ANY_NUMBER, ANY_WHOLE, is_number, is_whole
from dfmst._common.deferred import call_arrow, pc
from dfmst._common.machine import has_threads
from dfmst.errors import FormatError
from dfmst.formats.text_reader import BYTE_ORDER_MARK, Block, opening_quotes
from dfmst.formats.text_rows import (
    EXACT,
    FLOAT_DIGITS,
    MISSING_TEXTS,
    Field,
    Layout,
    Quoted,
    exact_decimal,
    exact_real,
    parse_rows,
    split_rows,
)

MARK = "\0"  # stands before a value in quotes: no file of text holds this byte
WHITESPACE = " \t\n\r\f\v"
FRACTION = r"^(0|-?[1-9][0-9]*|-?[0-9]+\.[0-9]+)$"
MANY_DIGITS = rf"[1-9](\.?[0-9]){{{FLOAT_DIGITS}}}"
MARKED_NUMBER = rf"^[#%]{ANY_NUMBER.removeprefix('^')}"

#: A block as it stands in the file, and its rows.
Parsed = tuple[Block, pa.RecordBatch]
#: Columns as text by their positions.
Words = dict[int, pa.ChunkedArray]


def parse(block: Block, layout: Layout) -> pa.RecordBatch:
    """Parse one block of the file whose rows gave the layout its types."""
    block = layout.tidied(block)
    marked = any(field.quoted for field in layout.fields)  # no other type depends on quotes any more
    words = read_words(block, layout, [at for at, *_ in layout.named], marked)
    try:
        return _batch({name: typed(words[at], field, layout) for at, name, field in layout.named}, layout)
    except ValueError:
        return parse_rows(block, layout)


def _batch(columns: dict[str, pa.ChunkedArray], layout: Layout) -> pa.RecordBatch:
    table = pa.table(columns).select(layout.schema.names).combine_chunks()
    return next(iter(table.to_batches()), None) or pa.RecordBatch.from_pylist([], schema=layout.schema)


def read_words(block: Block, layout: Layout, wanted: Sequence[int], marked: bool = True) -> Words:
    """Return some columns of a tidy block as text.

    In a quoted layout, empty values without quotes are nulls, and with `marked`, values in quotes begin with a mark.
    """
    try:
        return _read_csv(block.data, layout, wanted, marked)
    except pa.ArrowInvalid:  # the row parser splits more rows than PyArrow, or raises a better error
        rows = [words for _, words in split_rows(block, layout)]
    if not layout.quoted:
        return {at: pa.chunked_array([[row[at] for row in rows]], pa.string()) for at in wanted}
    texts = [[MARK + word if isinstance(word, Quoted) else word or None for word in row] for row in rows]
    return {at: pa.chunked_array([[row[at] for row in texts]], pa.string()) for at in wanted}


def _read_csv(data: bytes, layout: Layout, wanted: Sequence[int], marked: bool) -> Words:
    if not data.strip(b"\n"):
        return {at: pa.chunked_array([], pa.string()) for at in wanted}
    quotes = opening_quotes(data, layout.separator.encode()) if layout.quoted else np.zeros(0, np.intp)
    if quotes is None or (len(quotes) and data.count(b'"') % 2):
        raise pa.ArrowInvalid("PyArrow reads a value behind a closed quote, and one that is never closed")
    if not has_threads():  # the row parser needs none
        raise pa.ArrowInvalid("PyArrow starts a thread to read text")
    if len(quotes) and marked:
        data = np.insert(np.frombuffer(data, np.uint8), quotes + 1, ord(MARK)).tobytes()
    if data.startswith(BYTE_ORDER_MARK):
        data = b"\n" + data  # PyArrow would drop it at the start of a block; inside a file it is text
    parsing = pyarrow.csv.ParseOptions(
        delimiter=layout.separator,
        quote_char='"' if layout.quoted else False,
        newlines_in_values=len(quotes) > 0,  # only if needed: it disables parallel parsing
    )
    # Skipped columns get unique names, which no column of the file can have.
    names = [field.name or f"\0{at}" for at, field in enumerate(layout.fields)]
    conversion = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=[names[at] for at in wanted],
        null_values=[""] if layout.quoted else [],
        strings_can_be_null=layout.quoted,
        quoted_strings_can_be_null=False,
    )
    try:
        reading = pyarrow.csv.ReadOptions(column_names=names)
        table = pyarrow.csv.read_csv(pa.BufferReader(data), reading, parsing, conversion)
    except pa.ArrowException as error:
        if type(error) is not pa.ArrowException:
            raise
        # "A chunk failed converting for an unknown reason", seen under load: the row parser reads the block again.
        raise pa.ArrowInvalid(str(error)) from error
    start = layout.marker + layout.separator.encode()
    if layout.marker and data.startswith(start) + data.count(b"\n" + start) != len(table):
        raise pa.ArrowInvalid("a row without the first word of all rows")
    return dict(zip(wanted, table.columns, strict=True))


def typed(words: pa.ChunkedArray, field: Field, layout: Layout) -> pa.ChunkedArray:
    """Return a column in the type of its field; raise ValueError if that does not hold each word as it is written."""
    kind = field.type
    if kind == pa.string():
        words = _without(words, MISSING_TEXTS) if field.quoted else words
        return _trimmed(words, MARK) if layout.quoted else words
    if field.kept:  # in quotes, a word is no number
        words = _without(words, (layout.missing,)) if field.named and layout.missing else words
    else:
        words = _plain_numbers(words, layout)
    if kind == pa.float64():
        return _same_floats(words) if field.kept else _floats(words)
    if pa.types.is_decimal(kind):
        return _decimals(words, kind, field.kept)
    values = _cast(words, kind) if field.kept else _signed(words, kind)
    zeros = call_arrow("filter", words, _match("starts_with", words, "0"))
    zeros = call_arrow("filter", zeros, _are_longer(zeros, pa.scalar(1)))
    if len(zeros) and (field.kept or not field.padded or _any("match_substring_regex", zeros, "x|X")):
        raise ValueError("a hexadecimal number, or zeros before the digits")
    if field.kept and _any("starts_with", words, "-0"):
        raise ValueError("a number that is written in another way")
    return values


def _plain_numbers(words: pa.ChunkedArray, layout: Layout) -> pa.ChunkedArray:
    """Return numbers as Arrow reads them, and nulls for missing ones."""
    if layout.quoted or not layout.spaced:
        words = _trimmed(words, MARK + WHITESPACE)
    words = _without(words, ("", layout.missing)) if layout.missing else words
    if layout.localized:
        if not _all_match(words, f"^{layout.number_pattern}$"):
            raise ValueError("another sign in a number")
        words = pc.replace_substring(words, layout.thousands, "") if layout.thousands else words
        words = pc.replace_substring(words, layout.decimal, ".")
    return words


def _same_floats(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers as floats that are written as the words are."""
    values = _cast(words, pa.float64())
    if not _all_match(words, FRACTION) or not _cast(values, pa.string()).equals(words):
        raise ValueError("a number that is written in another way")
    return values


def _floats(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers as floats that print as the same numbers."""
    values = _signed(words, pa.float64())
    size = call_arrow("abs", values)
    # Behind its zeros, a shorter word has few digits, or a point and few digits, or is beyond the exact numbers.
    most = (pa.scalar(FLOAT_DIGITS + more) for more in (0, 1))
    most_letters = call_arrow("if_else", call_arrow("less", size, pa.scalar(1.0)), *most)
    significant = call_arrow("ascii_ltrim", words, options=("TrimOptions", "+-0."))
    doubtful = call_arrow("filter", words, _are_longer(significant, most_letters))
    doubtful = call_arrow("filter", doubtful, _match("match_substring_regex", doubtful, MANY_DIGITS))
    unlike = call_arrow("or", call_arrow("greater_equal", size, pa.scalar(EXACT)), call_arrow("is_nan", values))
    for word in (*doubtful.to_pylist(), *call_arrow("filter", words, unlike).to_pylist()):
        if not is_number(word):  # nan(1)
            raise ValueError("not a number")
        exact_real(word)
    return values


def _decimals(words: pa.ChunkedArray, kind: pa.DataType, kept: bool) -> pa.ChunkedArray:
    """Return numbers as decimals; Arrow would take one of more digits for another number."""
    whole, fraction = kind.precision - kind.scale, rf"(\.[0-9]{{0,{kind.scale}}})?" if kind.scale else ""
    plain = rf"^(0|-?[1-9][0-9]{{0,{whole - 1}}})$" if kept else rf"^[+-]?[0-9]{{0,{whole}}}{fraction}$"
    if _all_match(words, plain):
        return _cast(words, kind)
    if kept or not _all_match(words, ANY_NUMBER if kind.scale else ANY_WHOLE):
        raise ValueError("not a number")
    numbers = [None if word is None else exact_decimal(word, kind.scale) for word in words.to_pylist()]
    return pa.chunked_array([numbers], kind)


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return call_arrow("cast", values, options=("CastOptions", kind))


def _signed(words: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast numbers, of which Arrow reads none with a plus."""
    try:
        return _cast(words, kind)
    except pa.ArrowInvalid:
        if not _any("starts_with", words, "+"):
            raise
        return _cast(pc.replace_substring_regex(words, r"^\+([^+0-]|0$|0[^xX])", r"\1"), kind)


def _trimmed(words: pa.ChunkedArray, letters: str) -> pa.ChunkedArray:
    return call_arrow("ascii_trim", words, options=("TrimOptions", letters))


def _without(words: pa.ChunkedArray, missing: Iterable[str]) -> pa.ChunkedArray:
    """Return words with nulls in place of some."""
    for word in missing:
        found = call_arrow("equal", words, pa.scalar(word))
        if call_arrow("any", found).as_py():
            words = call_arrow("if_else", found, pa.scalar(None, pa.string()), words)
    return words


def _are_longer(words: pa.ChunkedArray, length: object) -> pa.ChunkedArray:
    return call_arrow("greater", call_arrow("binary_length", words), length)


def _match(function: str, words: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    return call_arrow(function, words, options=("MatchSubstringOptions", pattern))


def _any(function: str, words: pa.ChunkedArray, pattern: str) -> bool:
    return call_arrow("any", _match(function, words, pattern)).as_py() is True


def _all_match(words: pa.ChunkedArray, pattern: str) -> bool:
    parts = (words.slice(0, 99), words)  # mostly the first words say it
    return all(call_arrow("all", _match("match_substring_regex", part, pattern)).as_py() is not False for part in parts)


def read_rows(
    blocks: Callable[[], Iterator[Block]], layout: Layout, most_bytes: int
) -> tuple[Layout, Iterator[Parsed]]:
    """Return the layout with the narrowest types that hold every row, and the rows.

    The rows of the first `most_bytes` are kept from the search for types. If a later block needs wider types, all are
    read again.
    """
    again, keep, parsed, ids = True, True, list[Parsed](), dict[int, _TextIds]()
    while again:
        again, keep, size, parsed, ids = False, True, 0, [], {}
        for index, block in enumerate(blocks()):
            size += len(block.data)
            keep = keep and size <= most_bytes
            wanted = [at for at, _, field in layout.named if keep or field.is_open or field.is_text_id]
            if not wanted:
                break
            if not keep and not any(layout.fields[at].is_text_id for at in wanted) and _is_plain(block.data, layout):
                continue
            narrow, words = layout.schema, read_words(layout.tidied(block), layout, wanted)
            layout, columns = _fit(words, layout)
            again = again or (index > 0 and layout.schema != narrow)
            keep = keep and len(columns) == len(words)  # the row parser names the word that no type holds
            parsed += [(block, _batch(columns, layout))] if keep else []
            for at in words:
                if layout.fields[at].is_text_id:
                    ids.setdefault(at, _TextIds(at, layout)).add(words[at], block)
    for column in ids.values():
        column.refuse_numbers()
    _refuse_twins(blocks, layout, ids)
    quoted = {at for at, column in ids.items() if column.are_quoted()}
    fields = tuple(replace(field, quoted=at in quoted) for at, field in enumerate(layout.fields))
    layout, parsed, keep = replace(layout, fields=fields), [] if quoted else parsed, keep and not quoted
    later = () if keep else ((block, parse(block, layout)) for block in islice(blocks(), len(parsed), None))
    return layout, chain((parsed.pop(0) for _ in range(len(parsed))), later)


def _is_plain(data: bytes, layout: Layout) -> bool:
    """Return whether all words are whole numbers of at most 15 digits, as all types of numbers hold them."""
    if data.translate(None, b"0123456789\n" + layout.marks + layout.marker):
        return False
    text = np.frombuffer(b"\n%b\n" % data, np.uint8)
    ends = np.flatnonzero(text - ord("0") > 9)
    digits = np.diff(ends) - 1
    return bool(digits.max() <= 15 and not (digits[text[ends[:-1] + 1] == ord("0")] > 1).any())


def _fit(words: Words, layout: Layout) -> tuple[Layout, dict[str, pa.ChunkedArray]]:
    """Return the layout with the narrowest types that hold the words, and the columns that a type holds."""
    columns: dict[str, pa.ChunkedArray] = {}
    while True:
        steps: dict[int, int] = {}
        for at, name, field in layout.named:
            if at not in words or (name in columns and columns[name].type == field.type):
                continue
            columns.pop(name, None)
            for steps[at], kind in enumerate(field.ladder):
                with suppress(ValueError):
                    columns[name] = typed(words[at], replace(field, ladder=(kind,)), layout)
                    break
        if not any(steps.values()):
            return layout, columns
        layout = layout.widened(steps)


class _TextIds:
    """What the words of a column of ids or keys say, if they are texts."""

    def __init__(self, at: int, layout: Layout) -> None:
        self.at, self.layout, self.field = at, layout, layout.fields[at]
        self.missing, self.quoted, self.others = 0, 0, 0  # counts of words: for missing values, in quotes, and others
        self.numeric = self.field.end_point  # whether all are numbers, or comments that begin with a number
        self.has_numbers = False
        self.between_blanks: set[str] = set()
        self.fraction: Block | None = None  # the first block of numbers that are not all whole
        self.mark: Block | None = None  # the first block with a mark of a comment before a number

    def add(self, words: pa.ChunkedArray, block: Block) -> None:
        """Look at the words of one more block."""
        self.block = block
        missing = call_arrow("is_in", words, options=("SetLookupOptions", pa.array(MISSING_TEXTS)))
        counts = [_count(missing), _count(_match("starts_with", words, MARK))]
        self.missing += counts[0]
        self.quoted += counts[1]
        self.others += len(words) - words.null_count - sum(counts)
        plain = _trimmed(words, MARK)
        if self.field.kept:
            blank = call_arrow("not_equal", plain, _trimmed(plain, " "))
            found = call_arrow("unique", call_arrow("filter", plain, blank)).to_pylist()
            # A group or a key of blanks alone has no value, as one that is empty.
            self.between_blanks.update(word for word in found if self.field.end_point or word.strip())
        if not self.numeric:
            return
        plain = _without(plain, ("", self.layout.missing))
        numbers = _match("match_substring_regex", plain, ANY_NUMBER)
        self.has_numbers |= call_arrow("any", numbers).as_py() is True
        if call_arrow("all", numbers).as_py() is not False:
            if self.fraction is None and not _all_match(plain, ANY_WHOLE):
                self.fraction = block
            return
        others = call_arrow("filter", plain, call_arrow("invert", numbers))
        self.numeric = self.at == 0 and _all_match(others, MARKED_NUMBER)
        self.mark = self.mark or block

    def refuse_numbers(self) -> None:
        """Raise if all words are numbers: 1 and 1.0 would be two vertices, and so would 4 and #4 in a comment."""
        if self.numeric and self.fraction is not None:
            raise self._refusal(self.fraction)
        if self.numeric and self.has_numbers and self.mark is not None:
            name = self.field.name
            for line, (word, *_) in split_rows(self.mark, self.layout):
                if word[:1] in ("#", "%") and not isinstance(word, Quoted):
                    hint = f"remove the line, or keep the ids as text with text=[{name!r}]"
                    message = "a comment, or a row whose first value begins with a mark"
                    raise self.mark.file.problem(message, line, hint)

    def _refusal(self, block: Block) -> FormatError:
        rows = ((line, words[self.at]) for line, words in split_rows(block, self.layout))
        line, word = next((line, word) for line, word in rows if is_number(word) and not is_whole(word))
        name = self.field.name
        message = f"column {self.at + 1} ({name}) holds numbers that are not whole, {str(word)[:40]!r}; "
        hint = "write whole numbers without a fraction, 1 for 1.0 (pandas turns integer ids with gaps into floats), "
        hint += f"or keep them as text with text=[{name!r}]"
        return block.file.problem(f"{message}vertex ids must be integers or strings", line, hint)

    def are_quoted(self) -> bool:
        """Return whether only words for missing values lack quotes; in other columns they are texts, with a note."""
        if self.missing and self.quoted and not self.others:
            return True
        if self.missing:
            file, said = self.block.file, f"{self.missing:,} values of {self.field.name!r} are NA, NULL or \\N"
            file.note(f"{file.path}: {said}, texts like others: leave missing ones empty")
        return False


def _refuse_twins(blocks: Callable[[], Iterator[Block]], layout: Layout, ids: dict[int, _TextIds]) -> None:
    """Raise if an id, key or group of text differs from another one only in the blanks around it."""
    groups: dict[str | int, list[int]] = {}
    for at, column in ids.items():
        groups.setdefault(f"pair {column.field.pair}" if column.field.end_point else at, []).append(at)
    for columns in groups.values():
        between = sorted(word for at in columns for word in ids[at].between_blanks)
        twins = {_unquoted(word.strip(" ")): word for word in between}
        rows = 0
        for block in blocks() if twins else ():
            for at, words in read_words(layout.tidied(block), layout, columns).items():
                plain = _trimmed(words, MARK)
                row = pc.index(pc.is_in(plain, pa.array(twins, pa.string())), True).as_py()
                if row >= 0:
                    word, names = plain[row].as_py(), sorted(str(layout.fields[at].name) for at in columns)
                    message = f"{block.file.path}: {twins[word]!r} and {word!r} differ only in the blanks around them"
                    hint = f"remove the blanks next to the separators, or keep both as they are with text={names}"
                    name = layout.fields[at].name
                    raise FormatError(f"{message}, in column {name!r}, row {rows + row}", hint, row=rows + row)
            rows += len(words)


def _unquoted(word: str) -> str:
    return word[1:-1].replace('""', '"') if len(word) > 1 and word[0] == word[-1] == '"' else word


def _count(mask: pa.ChunkedArray) -> int:
    return call_arrow("sum", mask).as_py() or 0
