"""Tables of edges in text: from a header that is understood to a stream of batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from dfmst.formats.source import Source
from dfmst.formats.text.blocks import Block, TextReader, cut_at_newline, cut_outside_quotes
from dfmst.formats.text.header_counts import Promise
from dfmst.formats.text.infer_types import settle
from dfmst.formats.text.layout import NUMBER, WHOLE, Field, Layout
from dfmst.formats.text.parse import parse

__all__ = ["END_POINTS", "more_columns", "stream_rows"]

END_POINTS = (Field("source", WHOLE, end_point=True), Field("target", WHOLE, end_point=True))


def more_columns(first: int, count: int) -> tuple[Field, ...]:
    """Name the number columns after the known ones by their position, from ``first`` on."""
    return tuple(Field(f"column_{at}", NUMBER) for at in range(first, first + count))


def stream_rows(source: Source, layout: Layout, skip: int = 0, promise: Promise | None = None) -> pa.RecordBatchReader:
    """Stream the rows of a text table.

    Parameters
    ----------
    source
        The file.
    layout
        Its columns.
    skip
        How many lines the header takes.
    promise
        What the header says about the rows.

    Returns
    -------
    pyarrow.RecordBatchReader
        One batch for every block of text.

    Raises
    ------
    FormatError
        Where the file breaks its format; while the types settle or while batches are read.
    """
    layout = settle(partial(_blocks, source, layout, skip), layout, source.path)
    batches = _batches(source, layout, skip, promise or Promise())
    return pa.RecordBatchReader.from_batches(layout.schema, batches)


def _batches(source: Source, layout: Layout, skip: int, promise: Promise) -> Iterator[pa.RecordBatch]:
    seen, last_line = 0, skip
    for block in _blocks(source, layout, skip):
        batch = parse(block, layout, source.path)
        promise.check_block(block, batch, seen, layout, source.path)
        seen += batch.num_rows
        last_line = block.line + block.data.count(b"\n") - block.data.endswith(b"\n")
        yield batch
    promise.check_end(seen, last_line, source.path)


def _blocks(source: Source, layout: Layout, skip: int) -> Iterator[Block]:
    with TextReader(source) as reader:
        reader.skip(skip)
        yield from reader.blocks(cut_outside_quotes if layout.quoted else cut_at_newline)
