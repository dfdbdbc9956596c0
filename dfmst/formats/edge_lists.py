"""Edge lists in text, a row an edge: DIMACS, KONECT, MatrixMarket, .cedge and .ewg.

Rows are checked against the counts of the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import read_count
from dfmst.formats.files import ACCEPT, GraphFile, Line
from dfmst.formats.text_columns import Parsed, read_rows
from dfmst.formats.text_reader import (
    Block,
    TextReader,
    cut_outside_quotes,
    header_lines,
    newlines_in_quotes,
    record_lines,
)
from dfmst.formats.text_rows import LINE, NUMBER, REAL, WHOLE, Field, Layout, split_rows

# As SNAP writes it. Vertices without an edge may be among its nodes, so their number is not checked.
EDGES = re.compile(rb"[#%]\s*Nodes:\s*[0-9]+[\s,]+Edges:\s*([0-9]+)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HeaderCounts:
    """Counts from the header of a file; ``None`` if it has no such count."""

    rows: int | None = None
    lowest: int | None = None
    highest: int | None = None
    line: int = 1

    def check_block(self, block: Block, batch: pa.RecordBatch, before: int, layout: Layout) -> None:
        """Raise FormatError if a block, after `before` rows, has too many rows or a vertex out of range."""
        row, message, hint = None, "", ""
        if self.rows is not None and before + batch.num_rows > self.rows:
            row = self.rows - before
            message = f"more rows than the {self.rows} that line {self.line} promises"
            hint = "correct the count or remove the extra rows"
        elif self.highest is not None and batch.num_rows:
            ends = np.array([batch.column("source"), batch.column("target")])
            if ends.min() < self.lowest or ends.max() > self.highest:
                row = int(((ends < self.lowest) | (ends > self.highest)).any(axis=0).argmax())
            message = f"a vertex outside the range {self.lowest} to {self.highest} of line {self.line}"
            hint = "correct the vertex or the count of vertices"
        if row is not None:
            line = next(line for at, (line, _) in enumerate(split_rows(block, layout)) if at == row)
            raise block.file.problem(message, line, f"{hint}, {ACCEPT}")


def counts_of_comment(text: bytes, line: int) -> HeaderCounts | None:
    """Read a comment such as ``# Nodes: 5242 Edges: 28980``; ``None`` for any other text."""
    edges = EDGES.match(text.strip())
    rows = read_count(edges[1]) if edges else None
    return None if rows is None else HeaderCounts(rows=rows, line=line)


MOST_COLUMNS = 100_000
END_POINTS = (Field("source", WHOLE, end_point=True), Field("target", WHOLE, end_point=True))
WEIGHT = Field("weight", NUMBER)


def check_width(columns: int, line: int, file: GraphFile) -> None:
    """Raise FormatError if the first row, in this line, has too many columns: each takes kilobytes in PyArrow."""
    if columns > MOST_COLUMNS:
        message = f"{columns:,} columns, more than the {MOST_COLUMNS:,} that are read"
        raise file.problem(message, line, "check that the file is a table of edges, a row an edge")


def fields_of_row(known: tuple[Field, ...], columns: int, line: int, file: GraphFile) -> tuple[Field, ...]:
    """Return the columns of a row: the known ones, then numbers that are named by their position."""
    check_width(columns, line, file)
    return (*known[:columns], *(Field(f"column_{at}", NUMBER) for at in range(len(known) + 1, columns + 1)))


def stream_rows(
    file: GraphFile, layout: Layout, skip: int = 0, counts: HeaderCounts | None = None
) -> pa.RecordBatchReader:
    """Stream the rows of a text table."""
    kinds = dict(file.least)
    least = {at: kind for at, name, field in layout.named if (kind := kinds.get(name)) in field.ladder}
    layout = layout.widened({at: layout.fields[at].ladder.index(kind) for at, kind in least.items()})
    most_bytes = 0 if file.several else KEPT_BLOCKS * file.block_bytes
    layout, rows = read_rows(partial(_blocks, file, layout, skip), layout, most_bytes)
    schema = layout.schema
    if file.lines:
        schema = schema.append(pa.field(LINE, pa.large_string(), metadata={b"separator": file.lines.encode()}))
    checked = counts if counts is not None and file.check_counts else HeaderCounts()
    return pa.RecordBatchReader.from_batches(schema, _batches(file, layout, skip, checked, rows))


#: Blocks of text whose rows are kept from the search for types.
KEPT_BLOCKS = 3


def _batches(
    file: GraphFile, layout: Layout, skip: int, counts: HeaderCounts, parsed: Iterator[Parsed]
) -> Iterator[pa.RecordBatch]:
    rows, last_line, last_row = 0, skip, skip
    for block, batch in parsed:
        counts.check_block(block, batch, rows, layout)
        rows += batch.num_rows
        last_line = block.last_line
        last_row = last_line - block.blank_end if batch.num_rows else last_row
        if layout.quoted and last_line - block.line + 1 > batch.num_rows:
            skip += newlines_in_quotes(block.data)
        if file.lines:
            same = file.lines == layout.separator and not layout.comments and not layout.trimmed
            lines = record_lines(block, layout.marks) if same else pa.nulls(batch.num_rows, pa.large_string())
            batch = batch.append_column(pa.field(LINE, pa.large_string()), lines)
        yield batch
    if last_row > skip + rows:
        file.note(f"{file.path}: skipped {last_row - skip - rows:,} comments or blank lines among the rows")
    if counts.rows is not None and rows < counts.rows:
        message = f"the file ends after {rows} rows; line {counts.line} promises {counts.rows}"
        raise file.problem(message, last_line, f"the file is cut: fetch it again, {ACCEPT}")


def _blocks(file: GraphFile, layout: Layout, skip: int) -> Iterator[Block]:
    with TextReader(file, quoted=layout.quoted) as reader:
        reader.skip(skip)
        outside = partial(cut_outside_quotes, separators=layout.marks)
        yield from reader.blocks(outside) if layout.quoted else reader.blocks()


def open_cedge(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a road network in a ``.cedge`` file, whose columns are fixed."""
    fields, order = (Field("edge_id", WHOLE), *END_POINTS, WEIGHT), ("source", "target", "weight", "edge_id")
    return stream_rows(file, Layout(fields, comments=b"#", order=order))


def open_ewg(file: GraphFile) -> pa.RecordBatchReader:
    """Stream an edge-weighted graph as algs4 writes it: two lines of counts, then the rows."""
    counts: list[int] = []
    for name, line in zip(("vertices", "edges"), header_lines(file), strict=False):
        count = read_count(line.text)
        if count is None:
            hint = "line 1 holds the number of vertices, line 2 that of edges"
            raise file.problem(f"not the number of {name}", line, hint)
        counts.append(count)
    if len(counts) < 2:
        message = f"no number of {'edges' if counts else 'vertices'}"
        raise file.problem(message, len(counts) + 1, "the file is cut: fetch it again")
    header = HeaderCounts(rows=counts[1], lowest=0, highest=counts[0] - 1, line=2)
    return stream_rows(file, Layout((*END_POINTS, WEIGHT)), 2, header)


MARKERS = (b"a", b"e")


def open_dimacs(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a DIMACS graph: ``c`` comments, a ``p`` line, ``a`` or ``e`` rows; or PACE: rows without a letter."""
    counts, skip, first = None, 0, list[bytes]()
    for line in header_lines(file):
        words = line.words
        if words and words[0] == b"p":
            counts = _dimacs_counts(line, counts, file)
        elif words and not line.text.startswith(b"c"):
            first = words
            if len(words) < (3 if words[0] in MARKERS else 2) or not (words[0] in MARKERS or words[0].isdigit()):
                hint = "a row reads: a SOURCE TARGET WEIGHT; other formats are chosen with format="
                raise file.problem("neither a comment (c), a p line nor a row", line, hint)
            break
        skip = line.number
    if counts is None and not first:
        raise file.problem("no p line and no row", max(skip, 1), "the file is empty: fetch it again")
    marked = first[:1] if first and first[0] in MARKERS else []
    known = (*(Field(None, ()) for _ in marked), *END_POINTS, WEIGHT)
    fields = fields_of_row(known, max(len(first), 2), skip + 1, file)
    return stream_rows(file, Layout(fields, comments=b"c", marker=b"".join(marked)), skip, counts)


#: Kinds of problems whose rows are edges, with or without a weight.
DIMACS_KINDS = frozenset(b"sp edge edges col tw td tww ds cep vc fvs".split())


def _dimacs_counts(line: Line, earlier: HeaderCounts | None, file: GraphFile) -> HeaderCounts:
    words = line.words
    if len(words) > 1 and words[1] not in DIMACS_KINDS:
        # Of a flow, the third number is a capacity or a bound; of other kinds, rows may not be edges.
        kind = words[1][:20].decode(errors="replace")
        hint = "write 'p sp' in its place if rows read: a SOURCE TARGET WEIGHT"
        raise file.problem(f"a problem of the kind {kind!r}, whose rows are not edges with a weight", line, hint)
    if not file.check_counts:
        return HeaderCounts(line=line.number)
    vertices, rows = (read_count(word) for word in (*words[2:4], b"", b"")[:2])
    message = ""
    if vertices is None or rows is None:
        message = "a p line without its two counts"
    elif len(words) > 4:
        message = "a p line with more than its two counts"
    elif earlier is not None:
        message = f"a second p line, after that in line {earlier.line}"
    if message:
        raise file.problem(message, line, f"it reads: p sp VERTICES ROWS; correct it, {ACCEPT}")
    return HeaderCounts(rows=rows, lowest=1, highest=vertices, line=line.number)


KONECT_KINDS = (b"sym", b"asym")
KONECT_WEIGHTS = frozenset(
    b"unweighted positive posweighted signed multisigned weighted multiweighted multiposweighted dynamic".split()
)
# With other kinds one row may be several edges, so the count of the header is not that of the rows.
ONE_ROW_AN_EDGE = (b"unweighted", b"posweighted", b"signed", b"weighted")


def open_konect(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a KONECT network: ``% sym unweighted``, then a comment with counts, then the rows."""
    weights, counts, skip, columns = b"", None, 0, 2
    for line in header_lines(file):
        words = line.text.removeprefix(b"%").split()
        if line.number == 1:
            weights = _konect_weights(line, words, file)
        elif not line.text.startswith(b"%") and words:
            columns = len(words)
            break
        elif line.number == 2 and words and None not in map(read_count, words):
            edges, *sides = map(int, words)
            rows = edges if weights in ONE_ROW_AN_EDGE else None
            counts = HeaderCounts(rows, 1 if sides else None, max(sides, default=None), line=2)
        skip = line.number
    if columns < 2:
        raise file.problem("too few columns", skip + 1, "an edge needs two vertices")
    third = Field(None if weights == b"unweighted" else "weight", NUMBER)
    fields = fields_of_row((*END_POINTS, third, Field("timestamp", NUMBER)), columns, skip + 1, file)
    return stream_rows(file, Layout(fields, comments=b"%"), skip, counts)


def _konect_weights(line: Line, words: list[bytes], file: GraphFile) -> bytes:
    """Return the kind of weights that the words of the first line name."""
    if words[:1] == [b"bip"]:
        hint = "shift the ids of the right side, drop the header and read the file with format='snap'"
        raise file.problem("a bipartite network: vertex 1 on the left is not vertex 1 on the right", line, hint)
    if not (line.text.startswith(b"%") and len(words) >= 2 and words[0] in KONECT_KINDS and words[1] in KONECT_WEIGHTS):
        raise file.problem("not a KONECT header", line, "it reads, for example: % sym unweighted")
    return words[1]


BANNER = "%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|hermitian"
MATRIX_WEIGHTS = {
    "pattern": (),
    "integer": (Field("weight", WHOLE),),
    "unsigned-integer": (Field("weight", (pa.uint64(),)),),
    "real": (Field("weight", REAL),),
    "double": (Field("weight", REAL),),
}
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def open_matrix_market(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a sparse matrix in the MatrixMarket format, one edge for every stored entry."""
    weight: tuple[Field, ...] = ()
    for line in header_lines(file):
        if line.number == 1:
            weight = _read_banner(line, file)
        elif line.text and not line.text.startswith(b"%"):
            layout = Layout((*END_POINTS, *weight), comments=b"%")
            return stream_rows(file, layout, line.number, _read_sizes(line, file))
    raise file.problem("no line of sizes", line.number + 1, "the file is cut: fetch it again")


def _read_banner(line: Line, file: GraphFile) -> tuple[Field, ...]:
    refuse = partial(file.problem, line=line, hint=f"the banner reads: {BANNER}")
    words = line.texts
    if len(words) != 5 or words[0] != "%%MatrixMarket":
        raise refuse("not a MatrixMarket banner")
    thing, storage, field, symmetry = (word.lower() for word in words[1:])
    if thing != "matrix" or symmetry not in SYMMETRIES:
        raise refuse("an unknown kind of matrix")
    if storage != "coordinate":
        hint = "save it as a sparse matrix: scipy.io.mmwrite(path, scipy.sparse.coo_array(matrix))"
        raise refuse(f"{storage} storage does not list the entries", hint=hint)
    if field == "complex":
        hint = "save their absolute values as real"
        raise refuse("complex numbers have no order, so they cannot be weights", hint=hint)
    if field not in MATRIX_WEIGHTS:
        raise refuse("an unknown kind of numbers")
    if symmetry == "skew-symmetric" and field != "pattern":
        hint = f"dfmst.from_sparse(scipy.io.mmread({str(file.path)!r})) has both; or save absolute values"
        raise refuse("a skew-symmetric matrix has every edge with two weights, of both signs", hint=hint)
    return MATRIX_WEIGHTS[field]


def _read_sizes(line: Line, file: GraphFile) -> HeaderCounts:
    sizes = [size for size in map(read_count, line.words) if size is not None]
    if len(sizes) != 3 or len(line.words) != 3:
        raise file.problem("not a line of sizes", line, "it holds the numbers of rows, columns and entries")
    rows, columns, entries = sizes
    if rows != columns:
        hint = "shift the column numbers by the number of rows and correct the sizes"
        raise file.problem("a rectangular matrix: row 1 and column 1 are different vertices", line, hint)
    return HeaderCounts(rows=entries, lowest=1, highest=rows, line=line.number)
