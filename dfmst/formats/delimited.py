"""Tables of text with any separator: CSV and TSV, and edge lists between blanks or tabs, as SNAP has them.

The separator is the one that gives all first rows the same number of values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce
from itertools import chain, islice, zip_longest

import pyarrow as pa

from dfmst._common.arguments import ANY_NUMBER, is_number, is_whole
from dfmst._common.deferred import call_arrow
from dfmst.errors import KNOWN_NAMES, FormatError
from dfmst.formats.edge_lists import (
    END_POINTS,
    WEIGHT,
    HeaderCounts,
    check_width,
    counts_of_comment,
    fields_of_row,
    stream_rows,
)
from dfmst.formats.files import HEAD_BYTES, SEPARATORS, GraphFile, Line, Roles
from dfmst.formats.node_files import has_dictionary, open_dictionary_rows
from dfmst.formats.text_reader import Block, TextReader, cut_outside_quotes, header_lines
from dfmst.formats.text_rows import (
    ANY,
    AS_WRITTEN,
    LINE,
    NAME,
    NUMBER,
    TEXT,
    Field,
    Layout,
    Quoted,
    Row,
    split_words,
)

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

    If none fits, the only one in the first row is taken: the reader names the row at fault. Several are an error.
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
    """Return the values of the first rows, without a number of vertices; wrong quotes make a last row of one value."""
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
        return Layout((), comments=comments or COMMENTS, quoted=True, missing=MISSING[1])
    first = re.sub(rb'"[^"]*"', b'""', data).lstrip(b"\n").partition(b"\n")[0]
    # A separator that always has a blank next to it: the blank is then no part of a value.
    alone = rb"(?<! )" + re.escape(mark.encode()) + rb"(?! )"
    trimmed = mark.encode() in first and not re.search(alone, first)
    return Layout((), mark, comments, spaced=False, quoted=True, trimmed=trimmed, missing=MISSING[1])


def first_rows(block: Block, layout: Layout) -> list[Row]:
    """Return the first rows; raise if each has one value more than a heading, as R writes the names of rows."""
    rows = list(islice(split_words(block, layout), SAMPLE_ROWS))
    for line, _ in rows:
        if b"--" in line.text and not line.text.strip(b"-=+:| \t"):
            hint = "keep the rows alone: sed '/^[-+=:| ]*$/d; /^([0-9]* rows*)$/d; s/^ *| *//; s/ *| *$//'"
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


def open_csv(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a table; its first rows show which separator it has and whether the first is a header."""
    skip, counts, marked, named = _read_comments(file)
    with TextReader(file, HEAD_BYTES, quoted=True) as reader:
        reader.skip(skip)
        block = next(reader.blocks(partial(cut_outside_quotes, separators=b",\t;|")))
    separator = file.roles.separator or named or find_separator(file, block.data)
    layout = layout_of(separator, block.data)
    rows = first_rows(block, layout)
    (line, first), *_ = rows
    roles, words = file.roles, [words for _, words in rows]
    if len(first) < 2 and (roles.ids or (roles.usual and not roles.named)):
        hint = "separate the columns with commas, tabs, semicolons, bars or blanks"
        raise file.problem("too few columns: an edge needs two vertices", line, hint)
    check_width(len(first), line.number, file)
    _refuse_marked_row(marked, len(first), layout.separator, file)
    header = not roles.named.isdisjoint(word.strip() for word in first) or has_header(words)
    names = name_columns(words, header, file, line.number)
    samples = dict(zip(names, zip_longest(*words[header:], fillvalue=""), strict=False))
    roles = _with_usual(roles, names, samples) if roles.usual else roles
    _check_roles(samples, names, roles, file)
    layout = replace(layout, fields=_fields(names, roles), words=len(first))
    layout = replace(layout, decimal=roles.decimal, thousands=roles.thousands)
    skip = line.number - 1 + (1 + "".join(first).count("\n") if header else 0)
    reader = stream_rows(file, layout, skip, counts)
    return _refusing_header(reader, file) if header else reader


_NAMED_SEPARATOR = re.compile(rb"sep=(.)", re.IGNORECASE).fullmatch


def _read_comments(file: GraphFile) -> tuple[int, HeaderCounts | None, list[Line], str]:
    """Return the number of blank lines and comments before the rows, the counts in the first that has any, and some.

    The last value is the separator that a first line for Excel, such as ``sep=;``, names.
    """
    skip, counts, comments, separator = 0, None, list[Line](), ""
    with TextReader(file, HEAD_BYTES, quoted=True) as reader:
        for block in reader.blocks():
            for line in block.data.removesuffix(b"\n").split(b"\n"):
                if not skip and (named := _NAMED_SEPARATOR(line)):
                    separator = named[1].decode("latin-1")
                    if separator not in SEPARATORS.values():
                        hint = "remove the line, and separate the columns with commas, tabs, semicolons or bars"
                        raise file.problem("a separator that is not read", Line(line, 1), hint)
                    skip = 1
                    continue
                if line.strip() and not line.startswith((b"#", b"%")):
                    return skip, counts, comments, separator
                skip += 1
                counts = counts or counts_of_comment(line, skip)
                comments += [Line(line, skip)] if line and len(comments) < SAMPLE_ROWS else []
    raise file.problem("no row", max(1, skip), "the file holds no edges: fetch it again")


def _refuse_marked_row(comments: list[Line], columns: int, separator: str, file: GraphFile) -> None:
    """Raise for a comment that may be a row: it has the rows' number of values, no blank, and no known names."""
    known = file.roles.named.union(*KNOWN_NAMES.values())
    for line in comments:
        words = line.text.decode("utf-8", errors="replace").split(separator)
        if len(words) == columns > 1 and words[0][1:2].strip("#% \t") and known.isdisjoint([words[0][1:], *words[1:]]):
            hint = "put a blank after the mark of a comment, or quotes around the first value of a row"
            raise file.problem("a comment, or a row whose first value begins with a mark", line, hint)


WITHOUT_HEADER = ("source", "target", "weight")
MISSING = ("", "NA")  # words for a missing number


def has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names the columns.

    A row with a number is not a header. Otherwise it is one if it holds the usual names for end points, if some column
    below it has only numbers, or if neither of its first two words is a vertex of another row. A single row is a
    header if it has three words: an edge would have a number as its third.
    """
    first, rest = rows[0], rows[1:]
    if any(map(begins_numbers, first)) or MISSING[1] in first[2:]:
        return False
    if None not in known_ends(first):
        return True
    if not rest:
        return len(first) > 2
    numeric = [all(at < len(row) and is_number(row[at]) for row in rest) for at in range(len(first))]
    vertices = {word for row in rest for word in row[:2]}
    if any(numbers and not name for name, numbers in zip(first[1:], numeric[1:], strict=True)):
        return any(numbers and name for name, numbers in zip(first, numeric, strict=True))
    return any(numeric) or vertices.isdisjoint(first[:2])


def name_columns(rows: list[list[str]], header: bool, file: GraphFile, line: int) -> list[str]:
    """Return the names of the columns."""
    first = rows[0]
    if not header:
        known = 3 if len(first) > 2 and (begins_numbers(first[2]) or first[2] in MISSING) else min(2, len(first))
        return [*WITHOUT_HEADER[:known], *(f"column_{at}" for at in range(known + 1, len(first) + 1))]
    names = [name.strip() or f"column_{at}" for at, name in enumerate(first, 1)]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        quoted = Line(",".join(first).encode(), line)
        raise file.problem(f"two columns named {twice!r}", quoted, "rename one of them")
    return names


def known_ends(names: list[str]) -> list[str | None]:
    """Return the columns with known names for the ends of edges."""
    ends = (KNOWN_NAMES["source"], KNOWN_NAMES["target"])
    return [next((name for name in names if name.strip().lower() in known), None) for known in ends]


#: Usual names of columns that are numbers if all their values are.
UNITS = ("km", "miles", "meters", "hours", "minutes", "seconds")


def _with_usual(roles: Roles, names: list[str], samples: dict[str, tuple[str, ...]]) -> Roles:
    """Return the roles, and those of other columns with usual names; a weight begins with a number."""
    ends = [name for name in known_ends(names) if name not in (None, *roles.keys, *roles.numbers)]
    free = [name for name in names if name not in roles.named.union(ends)] if not roles.numbers else []
    weights = [name for name in free if name.lower() in KNOWN_NAMES["weight"]]
    firsts = {name: next(filter(lambda word: word not in MISSING, samples.get(name, ())), "0") for name in weights}
    weights = [name for name in weights if begins_numbers(firsts[name])]
    others = (name for name in free if name.lower() in UNITS)
    return replace(
        roles,
        ids=(tuple(map(str, ends)),) if len(ends) == 2 else (),
        numbers=roles.numbers or tuple(weights[:1]),
        ordered=(*weights[1:], *others),
    )


def _fields(names: list[str], roles: Roles) -> tuple[Field, ...]:
    """Return the columns, each with the types for its role."""
    pairs = {name: pair for pair, ends in enumerate(roles.ids) for name in ends}
    texts = {other for name in roles.text for other in (name, *(roles.ids[pairs[name]] if name in pairs else ()))}
    return tuple(field_of_role(name, roles, pairs.get(name), name in texts) for name in names)


def field_of_role(name: str, roles: Roles, pair: int | None, is_text: bool) -> Field:
    """Return a column with the types for its role."""
    if is_text:
        return Field(name, TEXT)
    if pair is not None:
        return Field(name, NAME, end_point=True, pair=pair, kept=True)
    if name in roles.keys:
        return Field(name, NAME, kept=True)
    if name in roles.numbers:
        return Field(name, NUMBER)
    if name in roles.ordered or roles.others:
        return Field(name, ANY)
    return Field(name, AS_WRITTEN, kept=True, named=False)


#: Whether a word may be a number, perhaps with other signs.
_like_number = re.compile(rf"{ANY_NUMBER}|[-+0-9.,'_ eE]*[0-9][-+0-9.,'_ eE]*\Z", re.ASCII).match


def _check_roles(samples: dict[str, tuple[str, ...]], names: list[str], roles: Roles, file: GraphFile) -> None:
    """Raise if the file lacks a named column, or the first rows of one for numbers have none."""
    words = {name: [word for word in column if word not in MISSING] for name, column in samples.items()}
    numbers = [name for name, column in words.items() if column and all(map(is_number, column))]
    file.check_named({name: pa.int64() if name in numbers else pa.string() for name in names})
    for name in roles.numbers:
        column = words.get(name)
        if column and not any(map(_like_number, column)):
            others = sorted(set(numbers) - roles.named, key=lambda other: other.lower() not in KNOWN_NAMES["weight"])
            hint = "name a column of numbers" + (f", for example {others[0]!r}" if others else "")
            raise file.problem(f"column {name!r} must hold numbers, and holds {column[0][:40]!r}", hint=hint)


def _refusing_header(reader: pa.RecordBatchReader, file: GraphFile) -> pa.RecordBatchReader:
    """Stream the rows; refuse one that repeats the header, as joined files have it: all columns are then text."""

    def batches() -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in reader:
            same = (call_arrow("equal", batch.column(name), pa.scalar(name)) for name in names)
            repeats = reduce(partial(call_arrow, "and"), same)
            row = call_arrow("index", repeats, options=("IndexOptions", pa.scalar(True))).as_py()
            if row >= 0:
                message = f"row {rows + row} repeats the header"
                raise file.problem(message, hint="join files without their headers, or pass each of them")
            rows += batch.num_rows
            yield batch

    names = [name for name in reader.schema.names if name != LINE]
    is_text = all(reader.schema.field(name).type == pa.string() for name in names) and len(names) > 1
    return pa.RecordBatchReader.from_batches(reader.schema, batches()) if is_text else reader


def open_snap(file: GraphFile) -> pa.RecordBatchReader:
    """Stream an edge list between blanks or tabs. Lines that begin with ``#`` or ``%`` before the rows are comments.

    So are later ones, except rows of text ids: a line with the rows' number of words is a row.
    ``# Nodes: N Edges: M`` promises M rows. A line of column names, or one that holds only the number of vertices, may
    come first. A row may end in a dictionary of attributes, as NetworkX writes it.
    """
    if not (file.roles.usual or file.roles.ids):  # points or records
        return open_csv(file)
    comments, line, counts = _first_lines(file)
    if has_dictionary(line.text):
        return open_dictionary_rows(file)
    with TextReader(file, HEAD_BYTES) as reader:
        reader.skip(line.number - 1)
        block = next(reader.blocks())
    separator = find_separator(file, block.data, "\t ")
    layout = replace(layout_of(separator, b"", COMMENTS), missing=MISSING[1] if separator == "\t" else "")
    rows = first_rows(block, layout)
    skip, names = line.number - 1, list[str]()
    heading, words = rows[0], [words for _, words in rows]
    if len(rows) > 1 and (not file.roles.named.isdisjoint(words[0]) or is_vertex_count(words[0]) or _is_heading(words)):
        names, skip = words.pop(0), rows.pop(0)[0].number
        if any(names.index(name) > 1 for pair in file.roles.ids for name in pair if name in names):
            return open_csv(file)
        _check_heading(names, heading[0], file)
    if not {"source", "target", *names[:2]}.isdisjoint(file.roles.text):
        return open_csv(file)
    (first, ids), columns = (rows[0][0], words[0][:2]), len(words[0])
    if columns < 2:
        raise file.problem("too few columns: an edge needs two vertices", first, "choose another format with format=")
    if all(map(is_whole, ids)):
        hidden = [line for line in comments if _is_like_row(line, columns) and is_number(line.texts[1])]
        if hidden:
            shown = hidden[0].text.decode(errors="replace")
            file.note(f"{file.path}: skipped {len(hidden):,} lines before the rows, such as {shown!r}")
        strict = tuple(replace(field, padded=False) for field in END_POINTS)
        plain = replace(layout, fields=_snap_fields(strict, columns, names, first, file), quoted=False, missing="")
        return stream_rows(file, plain, skip, counts)
    ends = tuple(Field(field.name, (pa.string(),), True) for field in END_POINTS)
    if not names and (marked := [line for line in comments if _is_marked_row(line, columns, file)]):
        skip = marked[0].number - 1
    fields = _snap_fields(ends, columns, names, first, file)
    return stream_rows(file, replace(layout, fields=fields, words=columns), skip, counts)


def _snap_fields(
    ends: tuple[Field, ...], columns: int, names: list[str], line: Line, file: GraphFile
) -> tuple[Field, ...]:
    """Return the columns; names of a heading stay if a caller uses them, or if they name no end and no weight."""
    fields = list(fields_of_row((*ends, WEIGHT), columns, line.number, file))
    for at, name in enumerate(names if len(names) == columns else ()):
        if name in file.roles.named or (name and at > 1 and (columns > 3 or name.lower() not in KNOWN_NAMES["weight"])):
            fields[at] = replace(fields[at], name=name, ladder=fields[at].ladder if at < 2 else NUMBER)
    roles = file.roles
    numbers = {*(roles.numbers or ("weight",))} - {*roles.text}
    others = ((field, str(field.name)) for field in fields[2:])
    return (
        *fields[:2],
        *(field if name in numbers else field_of_role(name, roles, None, name in roles.text) for field, name in others),
    )


def _first_lines(file: GraphFile) -> tuple[list[Line], Line, HeaderCounts | None]:
    """Return the comments before the rows, the first row, and the counts of a comment."""
    comments: list[Line] = []
    number, counts = 1, None
    for line in header_lines(file):
        number = line.number
        if line.text and line.text[0] not in COMMENTS:
            return comments, line, counts
        counts = counts or counts_of_comment(line.text, number)
        comments += [line] if len(comments) < SAMPLE_ROWS else []
    hint = "lines that begin with # or % are comments: fetch it again, or remove marks"
    raise file.problem("no row", number, hint)


def _is_heading(rows: list[list[str]]) -> bool:
    """Return whether the first row is one of column names: neither numbers nor ids.

    Below them, ids or another column are numbers, or the names are usual.
    """
    first, *others = rows
    vertices = {word for row in others for word in row[:2]}
    if len(first) < 2 or any(map(is_number, first)) or not vertices.isdisjoint(first[:2]):
        return False
    numeric = [
        bool(name) and all(at < len(row) and is_number(row[at]) for row in others) for at, name in enumerate(first)
    ]
    return all(numeric[:2]) or any(numeric[2:]) or None not in known_ends(first)


def _check_heading(names: list[str], heading: Line, file: GraphFile) -> None:
    """Raise if a heading puts the ends in other places than the first two."""
    if len(set(names)) < len(names):
        raise file.problem("two columns of one name", heading, "rename one of them")
    if not {None, *names[:2]}.issuperset(known_ends(names)):
        hint = "read the columns by their names with format='csv'"
        raise file.problem("a heading whose ends are not the first two columns", heading, hint)


def _is_like_row(line: Line, columns: int) -> bool:
    """Return whether a comment has the words of a row, and a first word that is longer than its mark."""
    words = line.texts
    return len(words) == columns and len(words[0]) > 1 and (columns < 3 or is_number(words[2]) is not None)


def _is_marked_row(line: Line, columns: int, file: GraphFile) -> bool:
    """Return whether a line before rows of text ids is one of them although it begins as a comment does."""
    if not _is_like_row(line, columns) or columns > 2:
        return _is_like_row(line, columns)
    first, second = line.texts
    if None in known_ends([first[1:], second]):
        hint = "put a blank after the mark of a comment, and a row behind a row that has no mark"
        raise file.problem("a comment, or a row whose first id has a mark", line, hint)
    return False
