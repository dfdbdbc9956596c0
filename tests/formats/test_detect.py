"""Which format a file is taken for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dfmst.formats import FORMATS, detect_format

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
    ("a", '<?xml version="1.0"?><graphml/>', "graphml"),
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


def test_the_import_is_light() -> None:
    code = "import sys, dfmst.formats; print({'pandas', 'polars', 'dask', 'networkx'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
