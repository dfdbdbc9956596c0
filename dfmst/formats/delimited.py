"""CSV and TSV, and other text with names of columns: any separator, with or without a header line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import call_arrow, pc
from dfmst._common.number_patterns import ANY_NUMBER, is_number
from dfmst.errors import KNOWN_NAMES, FormatError
from dfmst.formats.edge_lists import HeaderCounts, check_width, counts_of_comment, stream_rows
from dfmst.formats.files import HEAD_BYTES, SEPARATORS, GraphFile, Line, Roles
from dfmst.formats.separators import SAMPLE_ROWS, begins_numbers, find_separator, first_rows, layout_of
from dfmst.formats.text_reader import SPACE, TextReader, cut_outside_quotes
from dfmst.formats.text_rows import ANY, AS_WRITTEN, LINE, NAME, NUMBER, TEXT, Field, Layout


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
    reader = _refusing_twins(partial(stream_rows, file, skip=skip, counts=counts), layout, file)
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
    file.check_named(names, numbers)
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
            columns = [call_arrow("equal", batch.column(name), pa.scalar(name)) for name in names[:2]]
            if call_arrow("any", call_arrow("and_kleene", *columns)).as_py():
                for row in np.flatnonzero(call_arrow("and_kleene", *columns).fill_null(False)).tolist():
                    if [batch.column(name)[row].as_py() for name in names] == names:
                        message = f"row {rows + row} repeats the header"
                        raise file.problem(message, hint="join files without their headers, or pass each of them")
            rows += batch.num_rows
            yield batch

    names = [name for name in reader.schema.names if name != LINE]
    is_text = all(reader.schema.field(name).type == pa.string() for name in names) and len(names) > 1
    return pa.RecordBatchReader.from_batches(reader.schema, batches()) if is_text else reader


def _refusing_twins(
    stream: Callable[[Layout], pa.RecordBatchReader], layout: Layout, file: GraphFile
) -> pa.RecordBatchReader:
    """Stream the rows; refuse an id, key or group of text that differs from another one only in blanks around it."""
    reader = stream(layout)
    texts = [
        (name, field)
        for _, name, field in layout.named
        if field.kept and field.named and reader.schema.field(name).type == pa.string()
    ]

    def batches() -> Iterator[pa.RecordBatch]:
        found: dict[int | str, set[str]] = {}
        for batch in reader:
            for name, field in texts:
                blank = _between_blanks(batch.column(name))
                # A group or a key of blanks alone has no value, as one that is empty.
                if blank := blank if field.end_point else list(filter(str.strip, blank)):
                    found.setdefault(field.pair if field.end_point else name, set()).update(blank)
            yield batch
        for key, words in found.items():
            columns = {name for name, field in texts if key == (field.pair if field.end_point else name)}
            _refuse_twin(words, columns, stream, layout, file)

    return pa.RecordBatchReader.from_batches(reader.schema, batches()) if layout.quoted and texts else reader


def _between_blanks(words: pa.Array) -> list[str]:
    """Return the texts that begin or end with a blank."""
    _, offsets, data = words.buffers()
    if data is None:
        return []
    ends = np.frombuffer(offsets, np.int32)[words.offset : words.offset + len(words) + 1]
    text = np.append(np.frombuffer(data, np.uint8), np.uint8(0))
    blank = ((text[ends[:-1]] == SPACE) | (text[ends[1:] - 1] == SPACE)) & (ends[1:] > ends[:-1])
    return words.filter(pa.array(blank)).unique().to_pylist() if blank.any() else []


def _refuse_twin(
    words: set[str],
    columns: set[str],
    stream: Callable[[Layout], pa.RecordBatchReader],
    layout: Layout,
    file: GraphFile,
) -> None:
    """Read columns again, and raise if they hold one of the words without its blanks."""
    twins = {_unquoted(word.strip(" ")): word for word in words}
    fields = (Field(field.name if field.name in columns else None, TEXT) for field in layout.fields)
    rows = 0
    for batch in stream(replace(layout, fields=tuple(fields))):
        for name in columns:
            at = pc.index(pc.is_in(batch.column(name), pa.array(twins, pa.string())), True).as_py()
            if at >= 0:
                word = batch.column(name)[at].as_py()
                message = f"{file.path}: {twins[word]!r} and {word!r} differ only in the blanks around them"
                hint = f"remove the blanks next to the separators, or keep both as they are with text={sorted(columns)}"
                raise FormatError(f"{message}, in column {name!r}, row {rows + at}", hint, row=rows + at)
        rows += batch.num_rows


def _unquoted(word: str) -> str:
    return word[1:-1].replace('""', '"') if len(word) > 1 and word[0] == word[-1] == '"' else word
