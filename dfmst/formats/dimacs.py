"""DIMACS graphs: ``c`` comments, one ``p`` line, ``a`` or ``e`` rows; also PACE, whose rows start without a letter."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from dfmst._common.number_patterns import read_count
from dfmst.formats.edge_lists import END_POINTS, HeaderCounts, check_width, more_columns, stream_rows
from dfmst.formats.files import ACCEPT, HEAD_BYTES, GraphFile, Line, problem
from dfmst.formats.text_reader import TextReader
from dfmst.formats.text_rows import NUMBER, Field, Layout

MARKERS = (b"a", b"e")


@dataclass(frozen=True, slots=True)
class Header:
    """Number of lines before the rows, the counts of the p line, and the words of the first row."""

    skip: int
    counts: HeaderCounts | None
    first: list[bytes]


def open_dimacs(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a DIMACS or PACE graph."""
    header = _read_header(file)
    check_width(len(header.first), header.skip + 1, file)
    marker = header.first[0] if header.first and header.first[0] in MARKERS else b""
    marks = (Field(None, ()),) if marker else ()
    columns = len(header.first) - len(marks)
    weight = (Field("weight", NUMBER),) if columns > 2 else ()
    fields = (*marks, *END_POINTS, *weight, *more_columns(len(marks) + 4, columns - 3))
    layout = Layout(fields, comments=b"c", marker=marker)
    return stream_rows(file, layout, header.skip, header.counts)


def _read_header(file: GraphFile) -> Header:
    counts, skip = None, 0
    with TextReader(file, HEAD_BYTES) as reader:
        for line in reader.lines():
            words = line.words
            if words and words[0] == b"p":
                counts = _read_counts(line, counts, file)
            elif words and not line.text.startswith(b"c"):
                _check_first(line, file)
                return Header(skip, counts, words)
            skip = line.number
    if counts is None:
        raise problem(file.path, "no p line and no row", max(skip, 1), "the file is empty: fetch it again")
    return Header(skip, counts, [])


def _read_counts(line: Line, earlier: HeaderCounts | None, file: GraphFile) -> HeaderCounts:
    if not file.check_counts:
        return HeaderCounts(line=line.number)
    hint = f"it reads: p sp VERTICES ROWS; correct it, {ACCEPT}"
    words = line.words
    vertices, rows = (read_count(word) for word in (*words[2:4], b"", b"")[:2])
    message = ""
    if vertices is None or rows is None:
        message = "a p line without its two counts"
    elif len(words) > 4:
        message = "a p line with more than its two counts"
    elif earlier is not None:
        message = f"a second p line, after that in line {earlier.line}"
    if message:
        raise problem(file.path, message, line, hint)
    return HeaderCounts(rows=rows, lowest=1, highest=vertices, line=line.number)


def _check_first(line: Line, file: GraphFile) -> None:
    words = line.words
    if words[0] in MARKERS and len(words) >= 3:
        return
    if len(words) >= 2 and words[0].isdigit():
        return
    raise problem(
        file.path,
        "neither a comment (c), a p line nor a row",
        line,
        "a row reads: a SOURCE TARGET WEIGHT; other formats are chosen with format=",
    )
