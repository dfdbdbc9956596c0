"""Tables of edges in text: a layout and what the header counts become a stream of batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from dfmst.formats.graph_file import GraphFile
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import Block, TextReader, cut_at_newline, cut_outside_quotes
from dfmst.formats.text.header_counts import HeaderCounts
from dfmst.formats.text.infer_types import infer_types
from dfmst.formats.text.layout import NUMBER, WHOLE, Field, Layout
from dfmst.formats.text.parse import parse

MOST_COLUMNS = 100_000

END_POINTS = (Field("source", WHOLE, end_point=True), Field("target", WHOLE, end_point=True))


def check_width(columns: int, line: int, file: GraphFile) -> None:
    """Raise FormatError if the first row, in this line, has too many columns: each takes kilobytes in PyArrow."""
    if columns > MOST_COLUMNS:
        message = f"{columns:,} columns, more than the {MOST_COLUMNS:,} that are read"
        raise problem(file.path, message, line=line, hint="check that the file is a table of edges, a row an edge")


def more_columns(first: int, count: int) -> tuple[Field, ...]:
    """Name the number columns after the known ones by their position, from ``first`` on."""
    return tuple(Field(f"column_{at}", NUMBER) for at in range(first, first + count))


def stream_rows(
    file: GraphFile, layout: Layout, skip: int = 0, counts: HeaderCounts | None = None
) -> pa.RecordBatchReader:
    """Stream the rows of a text table."""
    layout = infer_types(partial(_blocks, file, layout, skip), layout, file.path)
    held = counts if counts is not None and file.check_counts else HeaderCounts()
    batches = _batches(file, layout, skip, held)
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
