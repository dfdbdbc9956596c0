"""MatrixMarket: a banner, comments, one line of sizes, then an entry of the matrix in every row."""

from __future__ import annotations

import pyarrow as pa

from dfmst._common.number_patterns import read_count
from dfmst.errors import FormatError
from dfmst.formats.edge_lists import END_POINTS, HeaderCounts, stream_rows
from dfmst.formats.files import HEAD_BYTES, GraphFile, Line, problem
from dfmst.formats.text_reader import TextReader
from dfmst.formats.text_rows import REAL, WHOLE, Field, Layout

BANNER = "%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric"
WEIGHTS = {
    "pattern": (),
    "integer": (Field("weight", WHOLE),),
    "real": (Field("weight", REAL),),
    "double": (Field("weight", REAL),),
}
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def open_matrix_market(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a sparse matrix, one edge for every stored entry."""
    weight: tuple[Field, ...] = ()
    with TextReader(file, HEAD_BYTES) as reader:
        for line in reader.lines():
            if line.number == 1:
                weight = _read_banner(line, file)
            elif line.text and not line.text.startswith(b"%"):
                counts = _read_sizes(line, file)
                layout = Layout((*END_POINTS, *weight), comments=b"%")
                return stream_rows(file, layout, line.number, counts)
        raise problem(file.path, "no line of sizes", reader.line, "the file is cut: fetch it again")


def _read_banner(line: Line, file: GraphFile) -> tuple[Field, ...]:
    def refuse(message: str, hint: str = f"the banner reads: {BANNER}") -> FormatError:
        return problem(file.path, message, line, hint)

    words = line.text.decode("utf-8", errors="replace").split()
    if len(words) != 5 or words[0] != "%%MatrixMarket":
        raise refuse("not a MatrixMarket banner")
    thing, storage, field, symmetry = (word.lower() for word in words[1:])
    if thing != "matrix" or symmetry not in SYMMETRIES:
        raise refuse("an unknown kind of matrix")
    if storage != "coordinate":
        raise refuse(f"{storage} storage does not list the entries", hint="save the matrix in coordinate format")
    if field == "complex":
        raise refuse(
            "complex numbers have no order, so they cannot be weights", hint="save their absolute values as real"
        )
    if field not in WEIGHTS:
        raise refuse("an unknown kind of numbers")
    return WEIGHTS[field]


def _read_sizes(line: Line, file: GraphFile) -> HeaderCounts:
    sizes = [size for size in map(read_count, line.words) if size is not None]
    if len(sizes) != 3 or len(line.words) != 3:
        raise problem(file.path, "not a line of sizes", line, "it holds the numbers of rows, columns and entries")
    rows, columns, entries = sizes
    if rows != columns:
        raise problem(
            file.path,
            "a rectangular matrix: row 1 and column 1 are different vertices",
            line,
            "shift the column numbers by the number of rows and correct the sizes",
        )
    return HeaderCounts(rows=entries, lowest=1, highest=rows, line=line.number)
