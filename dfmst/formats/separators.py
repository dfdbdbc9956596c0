"""Which separator a text table has: the one that gives all its first rows the same number of values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, islice

from dfmst._common.number_patterns import ANY_NUMBER, is_number, is_whole
from dfmst.errors import FormatError
from dfmst.formats.files import HEAD_BYTES, SEPARATORS, GraphFile
from dfmst.formats.text_reader import Block
from dfmst.formats.text_rows import Layout, Quoted, Row, split_words

COMMENTS = b"#%"
SAMPLE_ROWS = 100
#: Values of the first rows, by separator.
Readings = dict[str, list[list[str]]]
_NAMES = {mark: name for name, mark in SEPARATORS.items()}
#: Whether a column may be one of numbers by its first value, perhaps with other signs.
_GROUPED = r"\s*[-+]?(?:[0-9]*,[0-9]+|[0-9]{1,3}(?:[,.'_ \u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?)\s*\Z"
begins_numbers = re.compile(rf"{ANY_NUMBER}|{_GROUPED}", re.ASCII).match


def find_separator(file: GraphFile, data: bytes, among: str = "".join(_NAMES)) -> str:
    """Return the one separator that gives all rows of a sample the same number of values, more than one.

    If none fits, the only one in the first row is taken: the reader names the row at fault.

    Raises
    ------
    FormatError
        Several separators fit, or none fits and the first row has several.
    """
    if file.roles.separator:
        return file.roles.separator
    known = file.separator
    samples = {mark: rows for mark in among if (rows := _sample(file, data, mark))}
    fits = {mark: rows for mark, rows in samples.items() if len({*map(len, rows)}) == 1 < len(rows[0])}
    if file.roles.decimal == "," and any(map(_has_decimals, fits.values())):
        fits.pop(",", None)
    _leave_out_blanks(fits)
    if known and not _has_letter_quotes(fits.get(known, [])):
        # Other separators are letters, unless they make a column of weights; blanks may make one of parts of names.
        likely = {mark: rows for mark, rows in fits.items() if mark == known or _may_be_weights(rows)}
        fits = likely if likely and (known in fits or " " not in likely) else fits
    if len(fits) > 1:
        raise _unclear("several separators give all rows the same number of values", fits, file)
    first = fits or {mark: rows for mark, rows in samples.items() if len(rows[0]) > 1}
    _leave_out_blanks(first)
    if known in first or known == "\t":
        return known
    if len(first) > 1:
        raise _unclear("no separator gives all rows the same number of values", first, file)
    return next(iter(first), known or " ")


def _sample(file: GraphFile, data: bytes, mark: str) -> list[list[str]]:
    """Return the values of the first rows, without a number of vertices before them.

    A row whose quotes are wrong is the last, and has one value.
    """
    text = data.decode("utf-8", errors="replace").encode()
    layout = layout_of(mark, text, COMMENTS if mark == "\t" and not file.separator else b"")
    rows: list[list[str]] = []
    try:
        for _, words in islice(split_words(Block(text, 1, file), layout), SAMPLE_ROWS):
            rows.append(words)
    except FormatError:
        rows += [[""]] if rows and len(data) < HEAD_BYTES else []  # more bytes may close the quotes
    return rows[1:] if len(rows) > 1 and mark in "\t " and is_vertex_count(rows[0]) else rows


def is_vertex_count(words: list[str]) -> bool:
    """Return whether a row is nothing but a number, as that of vertices before the rows."""
    return is_whole(words[0]) is not None and not any(words[1:])


def layout_of(mark: str, data: bytes, comments: bytes = b"") -> Layout:
    """Return how rows with a separator are written, by the first of them; quotes enclose values."""
    if mark == " ":
        return Layout((), comments=comments or COMMENTS, quoted=True, missing="NA")
    first = re.sub(rb'"[^"]*"', b'""', data).lstrip(b"\n").partition(b"\n")[0]
    # A separator that always has a blank next to it: the blank is then no part of a value.
    alone = rb"(?<! )" + re.escape(mark.encode()) + rb"(?! )"
    trimmed = mark.encode() in first and not re.search(alone, first)
    return Layout((), mark, comments, spaced=False, quoted=True, trimmed=trimmed, missing="NA")


def first_rows(block: Block, layout: Layout) -> list[Row]:
    """Return the first rows; raise if each has one value more than a heading, as R writes the names of rows."""
    rows = list(islice(split_words(block, layout), SAMPLE_ROWS))
    for line, _ in rows:
        if b"--" in line.text and not line.text.strip(b"-=+:| \t"):
            hint = "keep the rows alone, for example by sed '/^[-+=:| ]*$/d; s/^ *| *//; s/ *| *$//'"
            raise block.file.problem("a line of a drawn table, not a row", line, hint)
    (_, heading), *others = rows
    more, names = {len(words) - len(heading) for _, words in others}, not any(map(is_number, heading))
    if more == {1} and names and len(heading) > 1:
        message = f"too many columns: {len(heading) + 1} instead of {len(heading)}"
        hint = "if each row begins with its name, as R writes it, give that column a name in the heading, too"
        raise block.file.problem(message, others[0][0], hint)
    return rows


def _has_decimals(rows: list[list[str]]) -> bool:
    """Return whether values hold commas, and all of those may be numbers."""
    words = [word for row in rows for word in row if "," in word]
    return bool(words) and all(map(begins_numbers, words))


def _may_be_weights(rows: list[list[str]]) -> bool:
    """Return whether a column after the ends holds numbers, below a heading."""
    return any(all(map(begins_numbers, column)) for column in list(zip(*(rows[1:] or rows), strict=True))[2:])


def _has_letter_quotes(rows: list[list[str]]) -> bool:
    """Return whether a quote is a letter of a value."""
    return any('"' in word and not isinstance(word, Quoted) for row in rows for word in row)


def _leave_out_blanks(fits: Readings) -> None:
    """Leave out blanks if they stand only in quotes or next to another separator, as in ``1, 2``."""
    if _has_letter_quotes(fits.get(" ", [])) and not all(map(_has_letter_quotes, fits.values())):
        del fits[" "]
    for mark in [mark for mark in fits if mark != " "] if " " in fits else ():
        values = [[word.strip(" ") for word in row] for row in fits[mark] if any(row)]
        full = [[word for word in row if word] for row in values] if not any(row[-1] for row in values) else values
        words = fits.get(" ", [[""]])
        if mark != "\t" and all(map(is_number, chain(*values))):
            words = [[number for word in row if (number := word.strip(mark))] for row in words]
        else:
            words = [[*(word.removesuffix(mark.strip()) for word in row[:-1]), row[-1]] for row in words]
        if full == words:
            # Numbers may have tabs or blanks between them; tabs at the ends of all lines separate nothing.
            del fits[mark if mark == "\t" and (full != values or all(map(is_whole, full[-1][:2]))) else " "]


def _unclear(message: str, readings: Mapping[str, list[list[str]]], file: GraphFile) -> FormatError:
    """Build the error for rows that may be read in several ways."""
    shown = []
    for mark, (first, *others) in readings.items():
        words = ", ".join(f"{word[:20]!r}" for word in first[:4]) + ", ..." * (len(first) > 4)
        other = next((f", and {len(row)} in a later row" for row in others if len(row) != len(first)), "")
        shown.append(f"{_NAMES[mark]}s give {len(first)} in the first row{other} ({words})")
    signs = ["'tab'" if mark == "\t" else repr(mark) for mark in readings]
    hint = "name it: " + " or ".join(f"sep={sign}" for sign in signs)
    if any(map(_has_decimals, readings.values())):
        hint += "; if ',' is the decimal sign, read the file with decimal=','"
    return file.problem(f"{message}: {'; '.join(shown)}", hint=hint)
