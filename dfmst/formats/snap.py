"""Edge lists in plain text, as SNAP gives them: two or more columns between blanks, ``#`` comments.

A comment ``# Nodes: N Edges: M`` promises M rows.

Copies that were handled without care are read too: CRLF line ends, a header line of column names,
a first line that holds only the number of vertices.
"""

from __future__ import annotations

import pyarrow as pa

from dfmst._common.number_patterns import is_number, is_whole
from dfmst.formats.edge_list import END_POINTS, check_width, more_columns, stream_rows
from dfmst.formats.graph_file import HEAD_BYTES, GraphFile
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import Line, TextReader
from dfmst.formats.text.header_counts import HeaderCounts, counts_of_comment
from dfmst.formats.text.layout import NUMBER, Field, Layout

COMMENTS = b"#%"


def open_snap(file: GraphFile) -> pa.RecordBatchReader:
    """Stream an edge list in plain text."""
    (first, second), counts = _first_lines(file)
    skip = first.number - 1
    if second is not None and _is_heading(first, second):
        first, skip = second, second.number - 1
    columns = len(first.words)
    if columns < 2:
        raise problem(
            file.path,
            "too few columns: an edge needs two vertices",
            line=first.number,
            text=first.text,
            hint="choose another format with format=",
        )
    check_width(columns, first.number, file)
    numbered = all(map(is_whole, _words(first)[:2]))
    ends = END_POINTS if numbered else tuple(Field(field.name, (pa.string(),), True) for field in END_POINTS)
    weight = (Field("weight", NUMBER),) if columns > 2 else ()
    layout = Layout((*ends, *weight, *more_columns(4, columns - 3)), comments=COMMENTS)
    return stream_rows(file, layout, skip, counts)


def _first_lines(file: GraphFile) -> tuple[tuple[Line, Line | None], HeaderCounts | None]:
    """Return the first two lines that are neither blank nor comments, and what a comment before them counts."""
    rows: list[Line] = []
    number, counts = 1, None
    with TextReader(file, HEAD_BYTES) as reader:
        for line in reader.lines():
            number = line.number
            if line.text and line.text[0] not in COMMENTS:
                rows.append(line)
            elif not rows:
                counts = counts or counts_of_comment(line.text, number)
            if len(rows) == 2:
                return (rows[0], rows[1]), counts
    if not rows:
        raise problem(file.path, "no row", line=number, hint="the file holds no edges: fetch it again")
    return (rows[0], None), counts


def _is_heading(first: Line, second: Line) -> bool:
    """Tell whether the first line is a count of vertices or names of columns rather than an edge."""
    if len(first.words) == 1:
        return is_whole(_words(first)[0]) and len(second.words) > 1
    return not any(map(is_number, _words(first))) and any(map(is_number, _words(second)))


def _words(line: Line) -> list[str]:
    return line.text.decode("utf-8", errors="replace").split()
