"""What a header counts, and the check that the rows agree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.number_patterns import read_count
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import Block
from dfmst.formats.text.layout import Layout
from dfmst.formats.text.row_parser import line_of_row

ACCEPT = "or accept the rows that there are with counts='ignore'"
# As SNAP writes it. Vertices without an edge may be among its nodes, so they are not held to their number.
EDGES = re.compile(rb"[#%]\s*Nodes:\s*[0-9]+[\s,]+Edges:\s*([0-9]+)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HeaderCounts:
    """Numbers from the header of a file; None where it does not say."""

    rows: int | None = None
    lowest: int | None = None
    highest: int | None = None
    line: int = 1

    def check_block(self, block: Block, batch: pa.RecordBatch, before: int, layout: Layout, path: Path) -> None:
        """Raise FormatError where a block holds a row too many or a vertex out of range; `before` rows came earlier."""
        if self.rows is not None and before + batch.num_rows > self.rows:
            line = line_of_row(block, layout, path, self.rows - before)
            raise problem(
                path,
                f"more rows than the {self.rows} that line {self.line} promises",
                line=line.number,
                text=line.text,
                hint=f"correct the count or remove the extra rows, {ACCEPT}",
            )
        row = self._first_out_of_range(batch)
        if row is not None:
            line = line_of_row(block, layout, path, row)
            raise problem(
                path,
                f"a vertex outside the range {self.lowest} to {self.highest} of line {self.line}",
                line=line.number,
                text=line.text,
                hint=f"correct the vertex or the count of vertices, {ACCEPT}",
            )

    def check_end(self, rows: int, last_line: int, path: Path) -> None:
        """Raise FormatError where the file ends too early."""
        if self.rows is not None and rows < self.rows:
            raise problem(
                path,
                f"the file ends after {rows} rows; line {self.line} promises {self.rows}",
                line=last_line,
                hint=f"the file is cut: fetch it again, {ACCEPT}",
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
