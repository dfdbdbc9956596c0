"""KONECT networks, ``out.*``: a ``%`` header that names kind and weights, then rows."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from dfmst._common.number_patterns import read_count
from dfmst.formats.edge_lists import END_POINTS, HeaderCounts, check_width, more_columns, stream_rows
from dfmst.formats.files import HEAD_BYTES, GraphFile, Line, problem
from dfmst.formats.text_reader import TextReader
from dfmst.formats.text_rows import NUMBER, Field, Layout

KINDS = (b"sym", b"asym")
WEIGHTS = frozenset(
    b"unweighted positive posweighted signed multisigned weighted multiweighted multiposweighted dynamic".split()
)
# With other kinds one row may be several edges, so the count of the header is not that of the rows.
ONE_ROW_AN_EDGE = (b"unweighted", b"posweighted", b"signed", b"weighted")


@dataclass(frozen=True, slots=True)
class Header:
    """Lines to skip, the kind of weights, the counts of the header, and the number of columns."""

    skip: int
    weights: bytes
    counts: HeaderCounts | None
    columns: int


def open_konect(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a KONECT network."""
    header = _read_header(file)
    check_width(header.columns, header.skip + 1, file)
    third = Field(None if header.weights == b"unweighted" else "weight", NUMBER)
    known = (*END_POINTS, third, Field("timestamp", NUMBER))
    layout = Layout((*known[: header.columns], *more_columns(5, header.columns - 4)), comments=b"%")
    return stream_rows(file, layout, header.skip, header.counts)


def _read_header(file: GraphFile) -> Header:
    weights, counts, skip, columns = b"", None, 0, 2
    with TextReader(file, HEAD_BYTES) as reader:
        for line in reader.lines():
            words = line.text.removeprefix(b"%").split()
            if line.number == 1:
                weights = _read_kind(line, file)
            elif not line.text.startswith(b"%") and words:
                columns = len(words)
                break
            elif line.number == 2 and words and None not in map(read_count, words):
                counts = _read_counts(words, weights)
            skip = line.number
    if columns < 2:
        raise problem(file.path, "too few columns", skip + 1, "an edge needs two vertices")
    return Header(skip, weights, counts, columns)


def _read_kind(line: Line, file: GraphFile) -> bytes:
    words = line.text.removeprefix(b"%").split()
    if words[:1] == [b"bip"]:
        raise problem(
            file.path,
            "a bipartite network: vertex 1 on the left is not vertex 1 on the right",
            line,
            "shift the ids of the right side, drop the header and read the file with format='snap'",
        )
    if not line.text.startswith(b"%") or len(words) < 2 or words[0] not in KINDS or words[1] not in WEIGHTS:
        raise problem(file.path, "not a KONECT header", line, "it reads, for example: % sym unweighted")
    return words[1]


def _read_counts(words: list[bytes], weights: bytes) -> HeaderCounts:
    edges, *sides = map(int, words)
    rows = edges if weights in ONE_ROW_AN_EDGE else None
    highest = max(sides, default=None)
    return HeaderCounts(rows=rows, lowest=None if highest is None else 1, highest=highest, line=2)
