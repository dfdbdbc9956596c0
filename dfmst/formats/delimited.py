"""CSV and TSV: any of four separators, with or without a header line."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

import pyarrow as pa

from dfmst.formats.csv_names import has_header, name_columns
from dfmst.formats.edge_list import check_width, stream_rows
from dfmst.formats.graph_file import HEAD_BYTES, GraphFile
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import TextReader, cut_outside_quotes
from dfmst.formats.text.header_counts import HeaderCounts, counts_of_comment
from dfmst.formats.text.layout import Layout

SEPARATORS = (",", "\t", ";")
SAMPLE_ROWS = 100


@dataclass(frozen=True, slots=True)
class CsvSample:
    """The first rows, how many lines come before them, how many the first row takes, and what a comment counts."""

    rows: list[list[str]]
    separator: str
    skip: int
    first_lines: int
    counts: HeaderCounts | None


def open_csv(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a table; its first rows say which separator it has and whether the first is a header."""
    return _open(file, None)


def open_tsv(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a table like ``open_csv``, separated by tabs."""
    return _open(file, "\t")


def find_separator(text: str) -> str:
    """Return the commonest separator of the first line, blanks where there is no other; quoted text does not count."""
    line = re.sub(r'"[^"]*"', '""', text).strip(" \r\n").partition("\n")[0]
    commonest = max(SEPARATORS, key=line.count)
    return commonest if commonest in line else " "


def _open(file: GraphFile, separator: str | None) -> pa.RecordBatchReader:
    sample = _read_sample(file, separator)
    header = has_header(sample.rows)
    first_line = sample.skip + 1
    if len(sample.rows[0]) < 2:
        raise problem(
            file.path,
            "too few columns: an edge needs two vertices",
            line=first_line,
            text=sample.rows[0][0],
            hint="separate the columns with commas, tabs, semicolons or blanks",
        )
    check_width(len(sample.rows[0]), first_line, file)
    fields = name_columns(sample.rows, header, file.path, first_line)
    spaced = sample.separator == " "
    layout = Layout(fields, sample.separator, spaced=spaced, quoted=not spaced)
    return stream_rows(file, layout, sample.skip + (sample.first_lines if header else 0), sample.counts)


def _read_sample(file: GraphFile, separator: str | None) -> CsvSample:
    skip, counts = _read_comments(file)
    with TextReader(file, HEAD_BYTES, quoted=True) as reader:
        reader.skip(skip)
        data = next(reader.blocks(cut_outside_quotes)).data
    text = data.decode("utf-8", errors="replace")
    separator = separator or find_separator(text)
    if separator == " ":
        # Bytes are split at the blanks of ASCII, as the rows will be; text would be at Unicode's as well.
        lines = (line.split() for line in data.split(b"\n", SAMPLE_ROWS)[:SAMPLE_ROWS])
        rows = [[word.decode("utf-8", errors="replace") for word in words] for words in lines if words]
        return CsvSample(rows, separator, skip, 1, counts)
    rows, first_lines = _read_quoted_rows(text, separator, skip, file)
    return CsvSample(rows, separator, skip, first_lines, counts)


def _read_comments(file: GraphFile) -> tuple[int, HeaderCounts | None]:
    """Return how many blank lines and comments come before the rows, and what one of them counts."""
    skip, counts = 0, None
    with TextReader(file, HEAD_BYTES, quoted=True) as reader:
        for block in reader.blocks():
            for line in block.data.removesuffix(b"\n").split(b"\n"):
                if line.strip() and not line.startswith((b"#", b"%")):
                    return skip, counts
                skip += 1
                counts = counts or counts_of_comment(line, skip)
    raise problem(file.path, "no row", line=max(1, skip), hint="the file holds no edges: fetch it again")


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
        line = skip + reader.line_num
        raise problem(file.path, str(error), line=line, hint="repair or remove the line") from error
    return rows, first_lines
