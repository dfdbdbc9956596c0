"""Files that break their format: the error names the file, the line and the text."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats import read_edges
from tests.support.files import refusal

BANNER = "%%MatrixMarket matrix coordinate"
HEAD = "EDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n"
POINTS = "NAME: x\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
EXPLICIT = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {}\nEDGE_WEIGHT_SECTION\n"

FORCED = {".ewg": "ewg"}
CASES = [
    # DIMACS and PACE
    ("a.gr", "p sp 3 2\na 1 2 4\na 2 x 5\n", "line 3: not a whole number in column 3 (target), 'x': 'a 2 x 5'"),
    ("a.gr", "p sp 3 2\na 1 2 4\na 2 3\n", "line 3: too few columns: 3 instead of 4: 'a 2 3'"),
    ("a.gr", "p sp 3 2\na 1 2 4\na 2 3 1 9\n", "line 3: too many columns: 5 instead of 4: 'a 2 3 1 9'"),
    ("a.gr", "p sp 3 2\na 1 2 4\nb 2 3 1\n", "line 3: a line that does not start with 'a': 'b 2 3 1'"),
    ("a.gr", "p sp 3 1\na 1 2 4\na 2 3 4\n", "line 3: more rows than the 1 that line 1 promises: 'a 2 3 4'"),
    ("a.gr", "p sp 3 2\na 1 2 4\nc x\na 2 4 4\n", "line 4: a vertex outside the range 1 to 3 of line 1: 'a 2 4 4'"),
    ("a.gr", "p sp 3 2\na 1 2 4\na 0 2 4\n", "line 3: a vertex outside the range 1 to 3 of line 1: 'a 0 2 4'"),
    ("a.gr", "p sp 3 2\na 1 2 4\na 2 3 heavy\n", "line 3: not a number in column 4 (weight), 'heavy': 'a 2 3 heavy'"),
    ("a.gr", "c nothing\n", "line 1: no p line and no row"),
    ("a.gr", "p sp 3 1\n\n", "line 2: the file ends after 0 rows; line 1 promises 1"),
    ("a.gr", "hello\n", "line 1: neither a comment (c), a p line nor a row: 'hello'"),
    ("a.gr", "p tw 3 1\n1 2\n\n2 3\n", "line 4: more rows than the 1 that line 1 promises: '2 3'"),
    ("a.gr", f"a 1 {2**63} 4\n", f"line 1: a whole number beyond 64 bits in column 3 (target), '{2**63}'"),
    *(
        (f"a.{kind}", f"p {kind} 3 1\na 1 2 4\n", f"line 1: a problem of the kind '{kind}'")
        for kind in ("min", "max", "cnf")
    ),
    # Pajek
    ("a.txt", "*Vertices\n", "line 1: *Vertices without a count: '*Vertices'"),
    ("a.txt", "*Vertices 2\n1 a\n1 b\n", "line 3: a vertex given twice: '1 b'"),
    ("a.txt", "*Vertices 2\n*Edges\n1 3\n", "line 3: a vertex outside the range 1 to 2 of *Vertices: '1 3'"),
    ("a.txt", "*Vertices 2\n*Edges\n1\n", "line 3: too few columns: an edge needs two vertices: '1'"),
    ("a.txt", "*Vertices 2\n*Edges\n1 b\n", "line 3: 'b' is not the number of a vertex: '1 b'"),
    ("a.txt", "*Vertices 2\n*Edges\n1 2 far\n", "line 3: a row whose weight or names of values are unclear: '1 2 far'"),
    ("a.txt", "*Vertices 2\n*Edges\n1 2 1 c\n", "line 3: a row whose weight or names of values are unclear"),
    ("a.txt", "*Vertices 2\n*Edges\n1 2 1 weight 2\n", "line 3: two values of one name"),
    ("a.txt", "*Vertices 2\n*Matrix\n0 1\n", "line 2: a section that is not read: '*Matrix'\nHint: list the edges"),
    ("a.txt", "*Vertex 2\n*Edges\n1 2 [1-3\n", "line 3: a row whose weight or names of values are unclear"),
    ("a.txt", "a b {'w': 1}\n# x\nK\xf6 b {'w': 1}\n".encode("latin-1"), "line 3: bytes that are not UTF-8"),
    ("a.txt", "*Vertices 2\n*Vertices 2\n", "line 2: a second network: '*Vertices 2'"),
    ("a.txt", '*Vertices 2\n1 "a\n', "line 2: quotes within a word, or that do not close: '1 \"a'"),
    ("a.txt", "*Network x\n*Edges\n1 2\n", "line 3: a vertex outside the range 1 to None of *Vertices: '1 2'"),
    # Plain text
    ("a.txt", "1 2 0.05\n3 10 007\n30 07 1\n", "line 3: zeros before the digits of an id, '07': a number, or a name"),
    ("a.txt", "#ann bob\ncy dan\n", "line 1: a comment, or a row whose first id has a mark: '#ann bob'"),
    ("a.txt", "ann bob NA\nbob cy 3\n", "line 1: not a number in column 3 (weight), 'NA': 'ann bob NA'"),
    ("a.txt", "id from to\n1 2 3\n", "line 1: a heading whose ends are not the first two columns: 'id from to'"),
    ("a.txt", "from to km km\n1 2 3 4\n", "line 1: two columns of one name: 'from to km km'"),
    ("a.txt", "ann bob {'w': 1}\nbob {'w': 1}\n", 'line 2: not two ids and a dictionary of attributes: "bob {'),
    ("a.txt", "ann bob {'weight': open('x')}\n", "line 1: not two ids and a dictionary of attributes"),
    ("a.txt", "1 2\n3\n", "line 2: too few columns: 1 instead of 2: '3'"),
    ("a.txt", "1\n", "line 1: too few columns: an edge needs two vertices: '1'"),
    ("a.txt", "# only\n# comments\n", "line 2: no row"),
    ("a.txt", "1 2 0.5\n2 3 x\n", "line 2: not a number in column 3 (weight), 'x': '2 3 x'"),
    ("a.txt", "1 2\n1.5 3\n", "line 2: not a whole number in column 1 (source), '1.5': '1.5 3'"),
    ("a.txt", "1 2\n\n1_0 3\n", "line 3: not a whole number in column 1 (source), '1_0': '1_0 3'"),
    # EWG
    ("a.txt", "3\n1\n0 3 5\n", "line 3: a vertex outside the range 0 to 2 of line 2: '0 3 5'"),
    ("a.ewg", "3\nx\n", "line 2: not the number of edges: 'x'"),
    ("a.ewg", "3\n", "line 2: no number of edges"),
    # MatrixMarket
    ("a.mtx", "1 2 3\n", "line 1: not a MatrixMarket banner: '1 2 3'"),
    ("a.mtx", f"{BANNER} complex general\n", "line 1: complex numbers have no order, so they cannot be weights"),
    ("a.mtx", "%%MatrixMarket matrix array real general\n", "line 1: array storage does not list the entries"),
    ("a.mtx", f"{BANNER} real skew-symmetric\n", "line 1: a skew-symmetric matrix has every edge with two weights"),
    ("a.mtx", f"{BANNER} real lopsided\n", "line 1: an unknown kind of matrix"),
    ("a.mtx", f"{BANNER} odd general\n", "line 1: an unknown kind of numbers"),
    ("a.mtx", f"{BANNER} real general\n% x\n", "line 3: no line of sizes"),
    ("a.mtx", f"{BANNER} real general\n3 3\n", "line 2: not a line of sizes: '3 3'"),
    ("a.mtx", f"{BANNER} real general\n3 4 1\n", "line 2: a rectangular matrix: row 1 and column 1 are different"),
    ("a.mtx", f"{BANNER} integer general\n3 3 1\n1 2 0.5\n", "line 3: not a whole number in column 3 (weight), '0.5'"),
    ("a.mtx", f"{BANNER} pattern general\n3 3 1\n1 2 1\n", "line 3: too many columns: 3 instead of 2"),
    ("a.mtx", f"{BANNER} pattern general\n3 3 1\n0 2\n", "line 3: a vertex outside the range 1 to 3 of line 2"),
    # KONECT
    ("out.a", "% bip weighted\n1 1 2\n", "line 1: a bipartite network: vertex 1 on the left is not vertex 1"),
    ("out.a", "% sym heavy\n1 2\n", "line 1: not a KONECT header: '% sym heavy'"),
    ("out.a", "% sym weighted\n% 1 3 3\n1 4 5\n", "line 3: a vertex outside the range 1 to 3 of line 2"),
    ("out.a", "% sym unweighted\n1\n", "line 2: too few columns"),
    # METIS
    ("a.graph", "2 x\n", "line 1: not a METIS header: '2 x'"),
    ("a.graph", "2 1 200\n", "line 1: not a METIS header"),
    ("a.graph", "2 1\n% c\n2\n1\n2\n", "line 5: more lines than the header promises vertices: '2'"),
    ("a.graph", "2 1\n2\n1\n\n1\n1 2\n", "line 5: more lines than the header promises vertices: '1'"),
    ("a.graph", "2 1\n2\n0x1\n", "line 3: not a whole number, '0x1'"),
    ("a.graph", "2 1\n2\nx\n", "line 3: not a whole number, 'x': 'x'"),
    ("a.graph", "2 1 1\n2 7\n1\n", "line 3: a neighbor without a weight: '1'"),
    ("a.graph", "2 1 10\n9 2\n\n", "line 3: too few numbers"),
    ("a.graph", "% only\n", "line 1: no header"),
    ("a.graph", "3 2 1\n2 7 3 9\n1 9\n1 7\n", "line 4: an edge whose two entries have unequal weights"),
    # TSPLIB
    ("a.tsp", POINTS + "1 0 0\n2 0\n", "line 6: not a point: '2 0'"),
    ("a.tsp", POINTS + "1 0 0\n1 0 1\n", "line 6: a number given twice: '1 0 1'"),
    ("a.tsp", POINTS.replace("EUC_2D", "XRAY1"), "line 3: an unknown EDGE_WEIGHT_TYPE: 'XRAY1'"),
    ("a.tsp", EXPLICIT.format("UPPER_ROW") + "1 2\n", "line 5: 2 weights, and DIMENSION in line 1 promises 3"),
    ("a.tsp", EXPLICIT.format("UPPER_ROW") + "1 2 3 4\nEOF\n", "line 6: 4 weights, and DIMENSION in line 1 promises 3"),
    ("a.tsp", EXPLICIT.format("LOWER_ROW") + "1\n2 x\n", "line 6: not a whole number, 'x': '2 x'"),
    ("a.tsp", EXPLICIT.format("FUNCTION"), "line 3: an unknown EDGE_WEIGHT_FORMAT: 'FUNCTION'"),
    ("a.tsp", "NAME: x\n", "line 1: no NODE_COORD_SECTION"),
    # CSV
    ("a.csv", "source,target\n1,2\n1\n", "line 3: too few columns: 1 instead of 2: '1'"),
    ("a.csv", "source,target\n1,2\n1,2,3\n", "line 3: too many columns: 3 instead of 2: '1,2,3'"),
    ("a.csv", "1,2,3\n1,2,x\n", "line 2: not a number in column 3 (weight), 'x': '1,2,x'"),
    ("a.csv", "a,a,b\n1,2,3\n", "line 1: two columns named 'a': 'a,a,b'"),
    ("a.csv", "sep=/\na/b\n1/2\n", "line 1: a separator that is not read: 'sep=/'"),
    ("a.csv", "source\n1\n", "line 1: too few columns: an edge needs two vertices: 'source'"),
    ("a.csv", '"x\ny",b\n1,2\n1\n', "line 4: too few columns"),
    # Quotes that do not close, and numbers that no type holds
    ("a.tsv", "source\ttarget\tkm\n\t\nRome\tBari\t3\n", "line 2: too few columns: 2 instead of 3"),
    ("a.csv", 'source,target\n1,"2\n' + "3,4\n" * 1000, "line 2: unexpected end of data"),
    # PyArrow takes the letters for a part of the word, and the rest of the file for that of the quote in line 3.
    ("a.csv", 'source,target,note\n1,2,"a" b"\n2,3,"two\nlines\n' + "3,4,x\n" * 10, "line 2: ',' expected after '\"'"),
    ("a.csv", "\x1f", "line 1: too few columns"),
    ("a.csv", f"1,2,0.5\n2,3,{'9' * 39}\n", "line 2: a number beyond 38 digits"),
    ("a.csv", f"1,2,inf\n2,3,{2**53 + 1}\n", "line 1: not a finite number, in a column of numbers that a 64-bit float"),
    ("a.csv", "1,2,0.5\n2,3,1e400\n", "line 2: a number beyond 38 digits"),
    # Arrow takes a number of more digits than a decimal has for another one
    ("a.csv", f"1,2,0.5\n2,3,{'7' * 37}\n", "line 2: a number beyond 38 digits"),
    ("a.csv", f"1,2,0.{'3' * 24}\n2,3,{2**64 - 1}\n", "line 2: a number beyond 38 digits"),
    ("a.csv", f"1,2,1\n2,3,1e{'9' * 30}\n", "line 2: a number beyond 38 digits"),
    ("a.txt", f"1 2 0.5\n2 3 0.{'3' * 38}\n", "line 2: a number beyond 38 digits, and one that a 64-bit float would"),
    ("a.txt", "1 2 0.5\n2 3 1e400\n", "line 2: a number beyond 38 digits"),
    ("a.mtx", f"{BANNER} real general\n3 3 1\n1 2 -1e400\n", "line 3: a number beyond 38 digits"),
    ("a.csv", "source,target\r1,2\r3\r", "line 3: too few columns"),
    # Ids that are floats
    ("a.csv", "1.0,2\n1,3\n", "line 1: column 1 (source) holds numbers that are not whole, '1.0'; vertex ids must be"),
    ("a.csv", "source,target\n1,2\n2,0.5\n", "line 3: column 2 (target) holds numbers that are not whole, '0.5'"),
    ("a.csv", "source,target\n1,Rome\n2.5,Bari\n", "line 3: column 1 (source) holds numbers that are not whole"),
    ("a.csv", "source,target\n1,2\n,1e3\n", "line 3: column 2 (target) holds numbers that are not whole, '1e3'"),
    ("a.csv", f"{2**64},-1\n1.0,3\n", "line 2: column 1 (source) holds numbers that are not whole, '1.0'"),
    ("a.txt", "1.0 2 5\n1 3 5\n", "line 1: column 1 (source) holds numbers that are not whole, '1.0'"),
    # Counts and numbers that no count has
    ("a.mtx", f"{BANNER} pattern general\n3 3 {'9' * 5000}\n1 2\n", "line 2: not a line of sizes"),
    ("a.graph", f"3 {'9' * 5000}\n2\n", "line 1: not a METIS header"),
    ("a.graph", f"2 1 10 {2**64}\n2\n1\n", "line 1: not a METIS header"),
    ("a.graph", f"2 1\n2\n{'9' * 5000}\n", "line 3: a whole number beyond 64 bits"),
    ("a.tsp", f"DIMENSION: {'9' * 5000}\n{HEAD}", "line 1: no DIMENSION"),
    ("a.tsp", f"DIMENSION: 3\n{HEAD}{'9' * 5000} 0 0\n", "line 6: not a point"),
    ("a.tsp", f"DIMENSION: 3\n{HEAD}{2**63} 0 0\n", "line 6: not a point"),
    ("a.tsp", f"DIMENSION: 3\n{HEAD}3 1e400 0\n", "line 6: not a point"),
    ("a.tsp", f"DIMENSION: 3\n{HEAD}3 nan 0\n", "line 6: not a point"),
    # Cedge
    ("a.cedge", "0 1 2\n", "line 1: too few columns: 3 instead of 4: '0 1 2'"),
]


@pytest.mark.parametrize("block_bytes", [1, 16, 1 << 20])
@pytest.mark.parametrize(("name", "text", "message"), CASES, ids=lambda value: str(value)[:30])
def test_message(name: str, text: str, message: str, block_bytes: int) -> None:
    error = refusal(text, name, format=FORCED.get(Path(name).suffix), block_bytes=block_bytes)
    assert error.startswith(f"{name}, {message}")
    assert "\nHint: " in error
    assert "not whole" not in message or "pandas turns integer ids with gaps into floats" in error


TEXTS = ["a.gr", "a.txt", "a.csv", "a.mtx", "a.graph", "a.json", "a.tsp", "a.gml", "a.graphml"]
ROWS = "".join(f"{at} {at + 1}\n" for at in range(7_654))
ZIP = b"PK\x03\x04rest"
NO_TEXT: list[tuple[str, str | bytes, str]] = [
    *((name, text, ", line 1: the file is empty") for name in TEXTS for text in ("", "\n \n")),
    *((name, "", ", line 1: the file is empty") for name in ("a.parquet", "a.arrow", "a")),
    *((name, b"1 2\n" + bytes(range(256)), ", line 2: a zero byte, so this is not text") for name in TEXTS),
    ("a.csv", "source,target\nRom,Köln\n".encode("latin-1"), ", line 2: bytes that are not UTF-8"),
    ("a.csv", "source,target\n".encode("utf-16"), ": text in UTF-16\nHint: save the file as UTF-8"),
    ("a.txt", ZIP, ": a zip archive\nHint: unpack it first"),
    *((name, "<!DOCTYPE html>\n<body>404</body>", ": a page of HTML\n") for name in ("a.txt", "a.csv", "a.gr")),
    ("a.xlsx", ZIP, ": a workbook, not a table of text\nHint: save its sheet as CSV, in UTF-8"),
    ("a.txt", f"# note\n{ROWS}7654 oops\n{ROWS}", ", line 7656: not a whole number in column 2"),
    (
        "a.txt",
        "1 2\n1 " + "x" * 10_000,
        f", line 2: not a whole number in column 2 (target), '{'x' * 40}': '1 {'x' * 55}...'",
    ),
    ("a.txt", b"1 2\n1 3\n1 4\n1 5\n\xef\xbb\xbf2 20\n3 4\n", ", line 5: not a whole number"),
]


@pytest.mark.parametrize("block_bytes", [16, 1000, 1 << 20])
@pytest.mark.parametrize(("name", "text", "message"), NO_TEXT, ids=lambda value: str(value)[:20])
def test_what_is_no_text(name: str, text: str | bytes, message: str, block_bytes: int) -> None:
    assert refusal(text, name, block_bytes=block_bytes).startswith(name + message)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such graph file"):
        read_edges(tmp_path / "none.gr")


def test_an_unknown_format(tmp_path: Path) -> None:
    (tmp_path / "a.gr").write_text("a 1 2 3\n")
    with pytest.raises(FormatError, match="the format 'doc' is unknown\nHint: these are known: arrow, cedge, csv, dim"):
        read_edges(tmp_path / "a.gr", format="doc")
    with pytest.raises(FormatError, match="did you mean 'dimacs'"):
        read_edges(tmp_path / "a.gr", "dimac")


def test_the_first_unknown_argument_is_named() -> None:
    unknown: dict[str, object] = {"sorce": "a", "zzz": 1, "aaa": 2}
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'sorce'; did you mean 'source'\?$"):
        read_edges("a.gr", **unknown)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.gr")
    with pytest.raises(FormatError, match="neither a file nor a directory\nHint: write the stream to a file first"):
        read_edges(tmp_path / "a.gr")


def test_errors_are_value_errors() -> None:
    assert issubclass(FormatError, InvalidEdgesError)
    assert issubclass(FormatError, ValueError)


def test_a_damaged_name_in_an_arrow_stream() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema({"source": pa.int64(), "target": pa.int64()})):
        pass
    damaged = sink.getvalue().to_pybytes().replace(b"source", b"\xff\xfeurce")
    assert "not an Arrow file or stream, or a damaged one" in refusal(damaged, "edges.arrows")


def test_a_damaged_length_in_an_arrow_stream() -> None:
    table, sink = pa.table({"source": [1] * 9, "target": [2] * 9}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    length = (2 * 9 * 8).to_bytes(8, "little")  # of the columns
    assert content.count(length) == 1
    damaged = content.replace(length, (1 << 60).to_bytes(8, "little"))
    assert "it asks for more memory than there is" in refusal(damaged, "edges.arrows")


def test_long_lines_are_shortened() -> None:
    assert len(refusal("1 2\n1 " + "x" * 10_000, "a.txt").partition("\n")[0]) < 250
