"""A file is held to what its header counts, unless ``counts="ignore"`` says otherwise."""

from __future__ import annotations

import pytest

from tests.support.files import read, refusal

BANNER = "%%MatrixMarket matrix coordinate pattern general\n"
POINTS = "EDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n"
GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed" parse.{}="9">'
    '<node id="1"/><node id="2"/><edge source="1" target="2"/></graph></graphml>'
)
CASES = [
    ("a.txt", "# Nodes: 3 Edges: 9\n1 2\n2 3\n", "line 3: the file ends after 2 rows; line 1 promises 9", 2),
    ("a.txt", "# roads\n# Nodes: 3\tEdges: 1\n1 2\n2 3\n", "line 4: more rows than the 1 that line 2 promises", 2),
    ("a.csv", "# Nodes: 3 Edges: 9\nsource,target\n1,2\n", "line 3: the file ends after 1 rows; line 1 promises 9", 1),
    ("a.gr", "p sp 3 9\na 1 2 4\n", "line 2: the file ends after 1 rows; line 1 promises 9", 1),
    ("a.gr", "p sp 3 1\np sp 3 1\na 1 2 4\n", "line 2: a second p line, after that in line 1", 1),
    ("a.gr", "p sp 3 1 7\na 1 2 4\n", "line 1: a p line with more than its two counts: 'p sp 3 1 7'", 1),
    ("a.gr", "p sp 3\na 1 2 4\n", "line 1: a p line without its two counts: 'p sp 3'", 1),
    ("a.gr", f"p sp 3 {'9' * 5000}\na 1 2 4\n", "line 1: a p line without its two counts", 1),
    ("a.gr", "p sp 3 1\na 1 4 4\n", "line 2: a vertex outside the range 1 to 3", 1),
    ("ewg", "3\n2\n0 1 5\n", "line 3: the file ends after 1 rows; line 2 promises 2", 1),
    ("a.mtx", f"{BANNER}3 3 2\n1 2\n", "line 3: the file ends after 1 rows; line 2 promises 2", 1),
    ("out.a", "% sym unweighted\n% 2 3 3\n1 2\n", "line 3: the file ends after 1 rows; line 2 promises 2", 1),
    ("a.graph", "3 2\n2\n1\n", "line 3: the file ends after 2 of 3 vertices with 2 entries", 2),
    ("a.graph", "2 1\n2\n3\n", "line 3: a neighbor outside the range 1 to 2", 2),
    ("a.tsp", f"DIMENSION: 9\n{POINTS}", "line 5: 2 points; line 1 promises 9", 1),
    ("a.tsp", POINTS, "line 1: no DIMENSION", 1),
    ("a.graphml", GRAPHML.format("edges"), "broken GraphML (1 edges; parse.edges promises 9)", 1),
    ("a.graphml", GRAPHML.format("nodes"), "broken GraphML (2 nodes; parse.nodes promises 9)", 1),
]


@pytest.mark.parametrize("block_bytes", [4, 1 << 20])
@pytest.mark.parametrize(("name", "text", "message", "rows"), CASES)
def test_counts_that_do_not_hold(name: str, text: str, message: str, rows: int, block_bytes: int) -> None:
    error = refusal(text, name, block_bytes=block_bytes)
    assert message in error
    assert "counts='ignore'" in error or "no DIMENSION" in message
    assert read(text, name, block_bytes=block_bytes, counts="ignore").num_rows == rows


def test_a_header_that_konect_does_not_count() -> None:
    assert read(f"% sym unweighted\n% {'9' * 5000} 3 3\n1 2\n", "out.a").num_rows == 1


def test_an_unknown_choice() -> None:
    with pytest.raises(ValueError, match="counts must be 'check' or 'ignore', not 'hold'"):
        read("1 2\n", counts="hold")
