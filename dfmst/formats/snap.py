"""Edge lists between blanks or tabs: SNAP text, and rows with attributes as NetworkX writes them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from dfmst._common.number_patterns import is_number, is_whole
from dfmst.errors import KNOWN_NAMES
from dfmst.formats.delimited import field_of_role, known_ends, open_csv
from dfmst.formats.edge_lists import (
    END_POINTS,
    WEIGHT,
    HeaderCounts,
    counts_of_comment,
    fields_of_row,
    stream_rows,
)
from dfmst.formats.files import HEAD_BYTES, GraphFile, Line
from dfmst.formats.node_files import has_dictionary, open_dictionary_rows
from dfmst.formats.separators import COMMENTS, SAMPLE_ROWS, find_separator, first_rows, is_vertex_count, layout_of
from dfmst.formats.text_reader import TextReader, header_lines
from dfmst.formats.text_rows import NUMBER, Field


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
    layout = replace(layout_of(separator, b"", COMMENTS), missing="NA" if separator == "\t" else "")
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
        plain = replace(layout, fields=_snap_fields(END_POINTS, columns, names, first, file), quoted=False, missing="")
        return stream_rows(file, plain, skip, counts, padded=False)
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
