"""Text formats that have one set of columns: what their first lines count, and the layout of their rows."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from dfmst._common.number_patterns import read_count
from dfmst.formats.edge_list import END_POINTS, stream_rows
from dfmst.formats.graph_file import HEAD_BYTES, GraphFile
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import TextReader
from dfmst.formats.text.header_counts import HeaderCounts
from dfmst.formats.text.layout import NUMBER, WHOLE, Field, Layout

WEIGHT = Field("weight", NUMBER)


@dataclass(frozen=True, slots=True)
class FixedColumns:
    """A format."""

    layout: Layout
    counted: tuple[str, ...] = ()

    def open(self, file: GraphFile) -> pa.RecordBatchReader:
        """Stream a file of the format."""
        counts = self._read_counts(file)
        header = HeaderCounts()
        if counts:
            header = HeaderCounts(rows=counts["edges"], lowest=0, highest=counts["vertices"] - 1, line=len(counts))
        return stream_rows(file, self.layout, len(counts), header)

    def _read_counts(self, file: GraphFile) -> dict[str, int]:
        counts: dict[str, int] = {}
        with TextReader(file, HEAD_BYTES) as reader:
            for name, line in zip(self.counted, reader.lines(), strict=False):
                count = read_count(line.text)
                if count is None:
                    hint = "line 1 holds the number of vertices, line 2 that of edges"
                    message = f"not the number of {name}"
                    raise problem(file.path, message, line=line.number, text=line.text, hint=hint)
                counts[name] = count
        if len(counts) < len(self.counted):
            message, hint = f"no number of {self.counted[len(counts)]}", "the file is cut: fetch it again"
            raise problem(file.path, message, line=len(counts) + 1, hint=hint)
        return counts


# Road networks in .cedge files.
open_cedge = FixedColumns(
    Layout(
        (Field("edge_id", WHOLE), *END_POINTS, WEIGHT),
        comments=b"#",
        order=("source", "target", "weight", "edge_id"),
    )
).open
# Edge-weighted graphs as algs4 writes them.
open_ewg = FixedColumns(Layout((*END_POINTS, WEIGHT)), counted=("vertices", "edges")).open
