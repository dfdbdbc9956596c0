"""Edge lists in text: rows checked against the counts of a header, and the formats that need no file of their own.

SNAP: two or more columns between blanks, ``#`` comments; ``# Nodes: N Edges: M`` promises M rows. A line of column
names, or one that holds only the number of vertices, may come first. ``.cedge`` and ``.ewg`` have fixed columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.number_patterns import is_number, is_whole, read_count
from dfmst.formats.files import ACCEPT, HEAD_BYTES, GraphFile, Line, problem
from dfmst.formats.text_columns import infer_types, parse
from dfmst.formats.text_reader import Block, TextReader, cut_at_newline, cut_outside_quotes
from dfmst.formats.text_rows import NUMBER, WHOLE, Field, Layout, line_of_row

# As SNAP writes it. Vertices without an edge may be among its nodes, so their number is not checked.
EDGES = re.compile(rb"[#%]\s*Nodes:\s*[0-9]+[\s,]+Edges:\s*([0-9]+)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HeaderCounts:
    """Counts from the header of a file; ``None`` if it has no such count."""

    rows: int | None = None
    lowest: int | None = None
    highest: int | None = None
    line: int = 1

    def check_block(self, block: Block, batch: pa.RecordBatch, before: int, layout: Layout, path: Path) -> None:
        """Raise FormatError if a block, after `before` rows, has too many rows or a vertex out of range."""
        if self.rows is not None and before + batch.num_rows > self.rows:
            line = line_of_row(block, layout, path, self.rows - before)
            raise problem(
                path,
                f"more rows than the {self.rows} that line {self.line} promises",
                line,
                f"correct the count or remove the extra rows, {ACCEPT}",
            )
        row = self._first_out_of_range(batch)
        if row is not None:
            line = line_of_row(block, layout, path, row)
            raise problem(
                path,
                f"a vertex outside the range {self.lowest} to {self.highest} of line {self.line}",
                line,
                f"correct the vertex or the count of vertices, {ACCEPT}",
            )

    def check_end(self, rows: int, last_line: int, path: Path) -> None:
        """Raise FormatError if the file has too few rows."""
        if self.rows is not None and rows < self.rows:
            raise problem(
                path,
                f"the file ends after {rows} rows; line {self.line} promises {self.rows}",
                last_line,
                f"the file is cut: fetch it again, {ACCEPT}",
            )

    def _first_out_of_range(self, batch: pa.RecordBatch) -> int | None:
        if self.lowest is None or self.highest is None or not batch.num_rows:
            return None
        rows = []
        for name in ("source", "target"):
            column = batch.column(name)
            limits = pc.min_max(column).as_py()
            if limits["min"] < self.lowest or limits["max"] > self.highest:
                outside = pc.or_(pc.less(column, self.lowest), pc.greater(column, self.highest))
                rows.append(pc.index(outside, True).as_py())
        return min(rows, default=None)


def counts_of_comment(text: bytes, line: int) -> HeaderCounts | None:
    """Read a comment such as ``# Nodes: 5242 Edges: 28980``; ``None`` for any other text."""
    edges = EDGES.match(text.strip())
    rows = read_count(edges[1]) if edges else None
    return None if rows is None else HeaderCounts(rows=rows, line=line)


MOST_COLUMNS = 100_000

END_POINTS = (Field("source", WHOLE, end_point=True), Field("target", WHOLE, end_point=True))


def check_width(columns: int, line: int, file: GraphFile) -> None:
    """Raise FormatError if the first row, in this line, has too many columns: each takes kilobytes in PyArrow."""
    if columns > MOST_COLUMNS:
        message = f"{columns:,} columns, more than the {MOST_COLUMNS:,} that are read"
        raise problem(file.path, message, line, "check that the file is a table of edges, a row an edge")


def more_columns(first: int, count: int) -> tuple[Field, ...]:
    """Name the number columns after the known ones by their position, from ``first`` on."""
    return tuple(Field(f"column_{at}", NUMBER) for at in range(first, first + count))


def stream_rows(
    file: GraphFile, layout: Layout, skip: int = 0, counts: HeaderCounts | None = None
) -> pa.RecordBatchReader:
    """Stream the rows of a text table."""
    layout = infer_types(partial(_blocks, file, layout, skip), layout, file.path)
    checked = counts if counts is not None and file.check_counts else HeaderCounts()
    batches = _batches(file, layout, skip, checked)
    return pa.RecordBatchReader.from_batches(layout.schema, batches)


def _batches(file: GraphFile, layout: Layout, skip: int, counts: HeaderCounts) -> Iterator[pa.RecordBatch]:
    rows, last_line = 0, skip
    for block in _blocks(file, layout, skip):
        batch = parse(block, layout, file.path)
        counts.check_block(block, batch, rows, layout, file.path)
        rows += batch.num_rows
        last_line = block.line + block.data.count(b"\n") - block.data.endswith(b"\n")
        yield batch
    counts.check_end(rows, last_line, file.path)


def _blocks(file: GraphFile, layout: Layout, skip: int) -> Iterator[Block]:
    with TextReader(file, quoted=layout.quoted) as reader:
        reader.skip(skip)
        yield from reader.blocks(cut_outside_quotes if layout.quoted else cut_at_newline)


WEIGHT = Field("weight", NUMBER)


def open_cedge(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a road network in a ``.cedge`` file."""
    fields, order = (Field("edge_id", WHOLE), *END_POINTS, WEIGHT), ("source", "target", "weight", "edge_id")
    return stream_rows(file, Layout(fields, comments=b"#", order=order))


def open_ewg(file: GraphFile) -> pa.RecordBatchReader:
    """Stream an edge-weighted graph as algs4 writes it: two lines of counts, then the rows."""
    counts: list[int] = []
    with TextReader(file, HEAD_BYTES) as reader:
        for name, line in zip(("vertices", "edges"), reader.lines(), strict=False):
            count = read_count(line.text)
            if count is None:
                hint = "line 1 holds the number of vertices, line 2 that of edges"
                raise problem(file.path, f"not the number of {name}", line, hint)
            counts.append(count)
    if len(counts) < 2:
        message = f"no number of {'edges' if counts else 'vertices'}"
        raise problem(file.path, message, len(counts) + 1, "the file is cut: fetch it again")
    header = HeaderCounts(rows=counts[1], lowest=0, highest=counts[0] - 1, line=2)
    return stream_rows(file, Layout((*END_POINTS, WEIGHT)), 2, header)


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
            file.path, "too few columns: an edge needs two vertices", first, "choose another format with format="
        )
    check_width(columns, first.number, file)
    numbered = all(map(is_whole, _words(first)[:2]))
    ends = END_POINTS if numbered else tuple(Field(field.name, (pa.string(),), True) for field in END_POINTS)
    weight = (Field("weight", NUMBER),) if columns > 2 else ()
    layout = Layout((*ends, *weight, *more_columns(4, columns - 3)), comments=COMMENTS)
    return stream_rows(file, layout, skip, counts)


def _first_lines(file: GraphFile) -> tuple[tuple[Line, Line | None], HeaderCounts | None]:
    """Return the first two rows, and the counts of a comment before them."""
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
        raise problem(file.path, "no row", number, "the file holds no edges: fetch it again")
    return (rows[0], None), counts


def _is_heading(first: Line, second: Line) -> bool:
    """Return whether the first line is a number of vertices or a line of column names."""
    if len(first.words) == 1:
        return is_whole(_words(first)[0]) and len(second.words) > 1
    return not any(map(is_number, _words(first))) and any(map(is_number, _words(second)))


def _words(line: Line) -> list[str]:
    return line.text.decode("utf-8", errors="replace").split()
