"""Which format a file is taken for."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import pickle
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy
import polars
import pyarrow as pa
import pyarrow.orc
import pytest
import scipy.sparse

from dfmst import stream
from dfmst.errors import FormatError
from dfmst.formats import FORMATS, detect, detect_format, read_edges

CASES = [
    ("a.gr", "p sp 2 1\na 1 2 3\n", "dimacs"),
    ("a.gr", "1 2\n", "dimacs"),
    ("a.gr.gz", "c x\nc\n\np tw 2 1\n1 2\n", "dimacs"),
    ("a.txt", "c x\np sp 2 1\na 1 2 3\n", "dimacs"),
    ("a.txt", "a 1 2 3\n", "dimacs"),
    ("a.txt", "c d\na b\n", "snap"),
    ("a.txt", "# x\n1\t2\n", "snap"),
    ("a.txt", "5242\t\r\n1\t2\r\n", "snap"),
    ("a.txt", "8\n16\n4 5 35\n", "ewg"),
    ("a.txt", "1,2,3\n", "csv"),
    ("a", "1;2\n", "csv"),
    ("a", "%%MatrixMarket matrix coordinate pattern general\n", "matrix-market"),
    ("a.mtx.xz", "junk", "matrix-market"),
    ("out.a", "% sym unweighted\n1 2\n", "konect"),
    ("out.a", "% a comment\n1 2\n", "snap"),
    ("a.graph", "% c\n2 1\n2\n1\n", "metis"),
    ("a.graph", "p edge 2 1\ne 1 2\n", "dimacs"),
    ("a.col", "c x\np col 2 1\ne 1 2\n", "dimacs"),
    ("a", "NAME : a\nTYPE : TSP\n", "tsplib"),
    ("a", "Creator me\ngraph [\n", "gml"),
    ("a", "graph\n[\n", "gml"),
    ("a", '{"nodes": []}', "json"),
    ("a.json", '{\n"nodes": []}', "json"),
    ("a", '[{"source": 1}]', "json"),
    ("a.json", '{"source": 1}\n\n{"source": 2}\n', "ndjson"),
    ("a.txt", '\ufeff{"source": 1}', "ndjson"),
    ("a", '<?xml version="1.0"?><graphml/>', "graphml"),
    ("a.net", "% c\n*Vertices 2\n", "pajek"),
    ("a", "\n*network x\n*vertices 2\n", "pajek"),
    ("a", "*vertex 2\n", "pajek"),
    ("a.txt", "ORC1 RAD51\nOBJ ORC\n", "snap"),
    ("a.txt", "a b {'x': 1, 'y': 2, 'z': 3}\n", "snap"),
    ("a.txt", "# friends\n1 2\n2 3\n", "snap"),
    ("a.txt", "# from to\n1 2\n# x\n3 4\n", "snap"),
    ("a.txt", "# 3\n1 2 3 4\n", "snap"),
    ("a.txt", "# friends\n\n# of\nann bob\n", "snap"),
    ("a.txt", "# a\n# b\n# GMT\nann bob\n", "snap"),
    ("a", "# a\nCreator x\n# b\ngraph [\n", "gml"),
    ("a.txt", "c x\np sp 2 1\n#\na 1 2 3\n", "dimacs"),
    ("a.txt", "1 2\n# of\n2 3\n", "snap"),
    ("a.csv", "8\n16\n4 5 35\n", "csv"),
    ("A.TSV", "1\t2\n", "tsv"),
    ("a.cedge", "0 1 2 0.5\n", "cedge"),
    ("a", "PAR1", "parquet"),
]


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_format(tmp_path: Path, name: str, text: str, expected: str) -> None:
    (tmp_path / name).write_text(text)
    assert detect_format(tmp_path / name) == expected
    assert expected in FORMATS


def saved(write: Callable[..., Any], *values: Any, **named: Any) -> bytes:
    """Return what NumPy or SciPy write to a file."""
    file = io.BytesIO()
    write(file, *values, **named)
    return file.getvalue()


REFUSED = [
    ("GEXF", "<?xml version='1.0'?>\n<!-- > -->\n<gexf>", "networkx.read_gexf("),
    ("DOT", "graph { a -- b; b -- c }", "networkx.nx_pydot.read_dot("),
    ("DOT", '// roads\n/* { */ strict digraph "x"\n{', "networkx.nx_pydot.read_dot("),
    ("LGL", "# a\nb 1\nc 2\n# b\nc 3\n", "igraph.Graph.Read_Lgl("),
    ("LGL", "# a\n\nb 1.5\nc 2\n\n# b\nc 3\n", "igraph.Graph.Read_Lgl("),
    ("LGL", "# a\nb\n# c\nd\n", "igraph.Graph.Read_Lgl("),
    ("LGL", "# ann\nbob 5\neve 3\n", "igraph.Graph.Read_Lgl("),
    ("LGL", "# 0\n1 5\n2 3e-1\n", "igraph.Graph.Read_Lgl("),
    ("LEDA", "LEDA.GRAPH\nstring\n", "networkx.read_leda("),
    ("UCINET DL", "dl n=4 format=edgelist1\ndata:\n1 2\n", "igraph.Graph.Read_DL("),
    ("UCINET DL", "DL\nN = 4\n", "igraph.Graph.Read_DL("),
    ("sparse6", ">>sparse6<<:BcN\n", "networkx.read_sparse6("),
    ("sparse6", ":BcN\n", "networkx.read_sparse6("),
    ("graph6", ">>graph6<<Bw\n", "networkx.read_graph6("),
    ("adjacency list", "#x.py\n# GMT Thu Nov 26 14:28:00 2026\n# \n1 2 3\n2 3 1\n", "networkx.read_adjlist("),
    ("adjacency list", "#x.py\n# GMT Thu\n# \n1 1\n2 {}\n2 0\n", "networkx.read_multiline_adjlist"),
    ("SteinLib", "33D32945 STP File, STP Format Version 1.0\n", "grep -i"),
    ("SteinLib", "\nSECTION Graph\nNodes 2\n", "grep -i"),
    ("GDF", "nodedef>name VARCHAR\ns1\n", "'edgedef>'"),
    ("VNA", "*Node data\nid name\n", "'*tie data'"),
    ("DuckDB", "\x01z8b?F5#DUCK\x40\0\0\0\0\0\0\0", "base.table(NAME).to_arrow_reader()"),
    ("LEMON", "@nodes\nlabel\n1\n", "@arcs"),
    ("TGF", "1 10\n2 20\n#\n1 2\n", "the rows after '#'"),
    ("Newick", "(a:1,b:2);\n", "its branches"),
]


@pytest.mark.parametrize("read", [read_edges, stream.minimum_spanning_forest])
@pytest.mark.parametrize(("name", "text", "call"), REFUSED)
def test_a_format_that_is_not_read(tmp_path: Path, name: str, text: str, call: str, read: Any) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(FormatError) as error:
        read(path)
    assert error.value.message == f"{path}: {name} files are not read, and by its first lines this is one"
    assert call in error.value.hint
    assert "name that one with format=" in error.value.hint


TABLE = pa.table({"source": [1, 2], "target": [2, 3], "weight": [0.5, 7.0]})
FRAME = TABLE.to_pandas()
MATRIX = scipy.sparse.csr_array((FRAME.weight, (FRAME.source, FRAME.target)), shape=(4, 4))


def write_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as base:
        FRAME.to_sql("edges", base, index=False)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "ORC": lambda path: pyarrow.orc.write_table(TABLE, path),
    "Stata": lambda path: FRAME.to_stata(path, write_index=False),
    "Avro": lambda path: polars.from_arrow(TABLE).write_avro(path),
    "SQLite": write_sqlite,
    "NumPy": lambda path: path.write_bytes(saved(numpy.save, TABLE.to_pandas().to_records(index=False))),
    "NPZ": lambda path: path.write_bytes(saved(numpy.savez, **FRAME)),
    "pickle": FRAME.to_pickle,
}
HEADS = {
    "HDF5": b"\x89HDF\r\n\x1a\n\0\0",
    "RDS": gzip.compress(b"X\n\0\0\0\x03\0\x04\x03\x01"),
    "RData": bz2.compress(b"RDX3\nX\n\0\0\0\x03"),
    "Stata": b"s\x02\x01\0\x03\0",
    "SPSS": b"$FL2@(#) SPSS DATA FILE",
    "SAS": bytes(12) + b"\xc2\xea\x81\x60",
    "Excel 97": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "pickle": pickle.dumps([1], 2),
    "NPZ": saved(scipy.sparse.save_npz, MATRIX),
}


@pytest.mark.parametrize("name", ["a.csv", "a", "a.parquet"])
@pytest.mark.parametrize("kind", [*WRITERS, *(f"{kind} head" for kind in HEADS)])
def test_a_binary_format_is_named_with_the_call_that_converts_it(tmp_path, kind, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, kind, is_head = Path(name), kind.removesuffix(" head"), kind.endswith(" head")
    path.write_bytes(HEADS[kind]) if is_head else WRITERS[kind](path)
    for read in (stream.minimum_spanning_forest, read_edges):
        with pytest.raises(FormatError, match=f"^{name}: {kind} files are not read, and by its first lines") as error:
            read(path)
        assert ".parquet')" in error.value.hint or "'edges.csv'" in error.value.hint
    if not is_head:
        with pytest.raises(FormatError) as error:
            read_edges(path)
        call = error.value.hint.partition("; ")[0].replace("NAME", "edges")
        with warnings.catch_warnings():  # the calls leave it to Python to close files
            warnings.simplefilter("ignore", ResourceWarning)
            exec(call, {module: sys.modules[module] for module in ("numpy", "pandas", "polars", "pyarrow", "sqlite3")})
            gc.collect()
        found = read_edges("edges.parquet")
        assert found.select(TABLE.column_names).cast(TABLE.schema).equals(TABLE)


@pytest.mark.parametrize("format", [*detect.REFUSED, *detect.UNSURE], ids=lambda format: format.name)
def test_a_suffix_that_is_not_read(tmp_path: Path, format: detect.Refused) -> None:
    for suffix in format.suffixes:
        path = tmp_path / f"a{suffix}"
        path.write_text("1 2 3\n")
        with pytest.raises(FormatError, match=f"by its suffix {suffix} this is one"):
            read_edges(path)
        assert read_edges(path, "snap").num_rows == 1


def test_the_guide_names_every_format() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "files.md"
    assert [name for name in FORMATS if f"`{name}`" not in guide.read_text()] == []


def test_the_import_is_light() -> None:
    code = "import sys, dfmst.formats; print({'pandas', 'polars', 'dask', 'networkx'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
