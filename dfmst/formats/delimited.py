"""CSV and TSV: any of four separators, with or without a header line."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from functools import partial

import pyarrow as pa

from dfmst._common.number_patterns import is_number
from dfmst.formats.edge_lists import HeaderCounts, check_width, counts_of_comment, stream_rows
from dfmst.formats.files import HEAD_BYTES, GraphFile, Line
from dfmst.formats.text_reader import TextReader, cut_outside_quotes
from dfmst.formats.text_rows import ANY, CSV_NUMBER, NAME, Field, Layout

SEPARATORS = (",", "\t", ";")
SAMPLE_ROWS = 100


def find_separator(text: str) -> str:
    """Return the most frequent separator of the first line outside quotes, or a blank if it has none."""
    line = re.sub(r'"[^"]*"', '""', text).strip(" \r\n").partition("\n")[0]
    commonest = max(SEPARATORS, key=line.count)
    return commonest if commonest in line else " "


def open_csv(file: GraphFile, separator: str | None = None) -> pa.RecordBatchReader:
    """Stream a table; its first rows show which separator it has and whether the first is a header."""
    skip, counts = _read_comments(file)
    with TextReader(file, HEAD_BYTES, quoted=True) as reader:
        reader.skip(skip)
        data = next(reader.blocks(partial(cut_outside_quotes, separators="".join(SEPARATORS).encode()))).data
    text = data.decode("utf-8", errors="replace")
    separator = separator or find_separator(text)
    if separator == " ":
        # Rows are split at ASCII blanks. Splitting text would also split at Unicode blanks.
        lines = (line.split() for line in data.split(b"\n", SAMPLE_ROWS)[:SAMPLE_ROWS])
        rows, first_lines = [[word.decode("utf-8", errors="replace") for word in words] for words in lines if words], 1
    else:
        rows, first_lines = _read_quoted_rows(text, separator, skip, file)
    columns = len(rows[0])
    if columns < 2:
        hint = "separate the columns with commas, tabs, semicolons or blanks"
        line = Line(rows[0][0].encode(), skip + 1)
        raise file.problem("too few columns: an edge needs two vertices", line, hint)
    check_width(columns, skip + 1, file)
    header = has_header(rows)
    fields, spaced = name_columns(rows, header, file, skip + 1), separator == " "
    layout = Layout(fields, separator, spaced=spaced, quoted=not spaced)
    return stream_rows(file, layout, skip + (first_lines if header else 0), counts)


open_tsv = partial(open_csv, separator="\t")


def _read_comments(file: GraphFile) -> tuple[int, HeaderCounts | None]:
    """Return the number of blank lines and comments before the rows, and the counts in the first that has any."""
    skip, counts = 0, None
    with TextReader(file, HEAD_BYTES, quoted=True) as reader:
        for block in reader.blocks():
            for line in block.data.removesuffix(b"\n").split(b"\n"):
                if line.strip() and not line.startswith((b"#", b"%")):
                    return skip, counts
                skip += 1
                counts = counts or counts_of_comment(line, skip)
    raise file.problem("no row", max(1, skip), "the file holds no edges: fetch it again")


def _read_quoted_rows(text: str, separator: str, skip: int, file: GraphFile) -> tuple[list[list[str]], int]:
    """Return the first rows, and how many lines the first one takes."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows: list[list[str]] = []
    first_lines = 0
    try:
        for row in reader:
            first_lines = first_lines or reader.line_num
            rows += [row] if row else []
            if len(rows) == SAMPLE_ROWS:
                break
    except csv.Error as error:
        raise file.problem(str(error), skip + reader.line_num, "repair or remove the line") from error
    return rows, first_lines


SOURCES = frozenset({"source", "src", "from", "u", "start", "tail", "left", "node1", "node_1", "fromnodeid"})
TARGETS = frozenset({"target", "dst", "to", "v", "end", "head", "right", "node2", "node_2", "tonodeid"})
WEIGHTS = frozenset({"weight", "weights", "w", "distance", "dist", "length", "cost"})
WITHOUT_HEADER = ("source", "target", "weight")


def has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names the columns.

    A row with a number is not a header. Otherwise it is one if it holds the usual names for end points, if some column
    below it has only numbers, or if neither of its first two words is a vertex of another row. A single row is a
    header if it has three words: an edge would have a number as its third.
    """
    first, rest = rows[0], rows[1:]
    if any(map(is_number, first)):
        return False
    if _position(first, SOURCES) is not None and _position(first, TARGETS) is not None:
        return True
    if not rest:
        return len(first) > 2
    numeric = (all(at < len(row) and is_number(row[at]) for row in rest) for at in range(len(first)))
    vertices = {word for row in rest for word in row[:2]}
    return any(numeric) or vertices.isdisjoint(first[:2])


def name_columns(rows: list[list[str]], header: bool, file: GraphFile, line: int) -> tuple[Field, ...]:
    """Return the columns; those of vertices and of the weight are marked."""
    first, example = rows[0], rows[header] if len(rows) > header else []
    if header:
        names = [name.strip() or f"column_{at}" for at, name in enumerate(first, 1)]
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice is not None:
            quoted = Line(",".join(first).encode(), line)
            raise file.problem(f"two columns named {twice!r}", quoted, "rename one of them")
    else:
        names = [f"column_{at}" for at in range(1, len(first) + 1)]
        known = 3 if len(first) > 2 and (is_number(first[2]) or not first[2]) else 2
        names[:known] = WITHOUT_HEADER[:known]
    source, target = _position(names, SOURCES), _position(names, TARGETS)
    ends = {0, 1} if source is None or target is None else {source, target}
    weight = next((at for at, name in enumerate(names) if name.lower() in WEIGHTS and at not in ends), None)
    if weight is not None and weight < len(example) and not (is_number(example[weight]) or not example[weight]):
        weight = None
    return tuple(
        Field(name, NAME, end_point=True) if at in ends else Field(name, CSV_NUMBER if at == weight else ANY)
        for at, name in enumerate(names)
    )


def _position(names: list[str], known: frozenset[str]) -> int | None:
    return next((at for at, name in enumerate(names) if name.strip().lower() in known), None)
