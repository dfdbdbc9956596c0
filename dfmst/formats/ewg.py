"""Edge-weighted graphs as algs4 writes them: a line of V, a line of E, then ``v w weight``."""

from __future__ import annotations

import pyarrow as pa

from dfmst.formats.edge_list import END_POINTS, stream_rows
from dfmst.formats.problems import problem
from dfmst.formats.source import HEAD_BYTES, Source
from dfmst.formats.text.blocks import TextReader
from dfmst.formats.text.header_counts import Promise
from dfmst.formats.text.layout import NUMBER, Field, Layout

__all__ = ["open_ewg"]


def open_ewg(source: Source) -> pa.RecordBatchReader:
    """Stream an edge-weighted graph.

    Parameters
    ----------
    source
        The file.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source``, ``target`` (int64) and ``weight`` (int64 or float64).

    Raises
    ------
    FormatError
        Where the file breaks the format.
    """
    counts = []
    with TextReader(source, HEAD_BYTES) as reader:
        for name, line in zip(("vertices", "edges"), reader.lines(), strict=False):
            if not line.text.isdigit():
                raise problem(
                    source.path,
                    f"not the number of {name}",
                    line=line.number,
                    text=line.text,
                    hint="line 1 holds the number of vertices, line 2 that of edges",
                )
            counts.append(int(line.text))
    if len(counts) < 2:
        raise problem(source.path, "no number of edges", line=len(counts) + 1, hint="the file is cut: fetch it again")
    vertices, edges = counts
    promise = Promise(rows=edges, lowest=0, highest=vertices - 1, line=2)
    return stream_rows(source, Layout((*END_POINTS, Field("weight", NUMBER))), skip=2, promise=promise)
