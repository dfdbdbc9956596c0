"""Every text format, written here by hand and read back."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from dfmst.formats import open_edges
from tests.support.files import read, read_columns, refusal
from tests.support.lanes import examples

HUGE = 2**53 + 1
Row = tuple[Any, Any, Any]


def table_of(rows: list[Row], weighted: bool = True) -> dict[str, list[Any]]:
    columns = {"source": [row[0] for row in rows], "target": [row[1] for row in rows]}
    return columns | ({"weight": [row[2] for row in rows]} if weighted else {})


def lines(rows: list[Row], pattern: str) -> str:
    return "".join(pattern.format(*row) + "\n" for row in rows)


def dimacs(rows: list[Row]) -> str:
    return f"c made here\np sp {2**62} {len(rows)}\n" + lines(rows, "a {} {} {}")


def pace(rows: list[Row]) -> str:
    return f"p tw {2**62} {len(rows)}\n" + lines(rows, "{} {}")


def snap(rows: list[Row]) -> str:
    return "# FromNodeId\tToNodeId\n" + lines(rows, "{}\t{}\t{}")


def careless(rows: list[Row]) -> str:
    return ("7\t\n" + lines(rows, "{}\t{}\t")).replace("\n", "\r\n")


def ewg(rows: list[Row]) -> str:
    return f"{2**62 + 1}\n{len(rows)}\n" + lines(rows, "{} {} {}")


def konect(rows: list[Row]) -> str:
    return f"% sym weighted\n% {len(rows)} {2**62} {2**62}\n" + lines(rows, "{} {} \t{}")


def matrix(field: str, pattern: str) -> Callable[[list[Row]], str]:
    def write(rows: list[Row]) -> str:
        size = 2**62
        banner = f"%%MatrixMarket matrix coordinate {field} general"
        return f"{banner}\n% a comment\n\n{size} {size} {len(rows)}\n" + lines(rows, pattern)

    return write


def csv(rows: list[Row]) -> str:
    return "source,target,weight\n" + lines(rows, "{},{},{}")


quick = examples(40)
vertices = st.one_of(st.integers(1, 9), st.integers(HUGE, 2**62))
whole_rows = st.lists(st.tuples(vertices, vertices, st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=30)
reals = st.floats(allow_nan=False)
real_rows = st.lists(st.tuples(vertices, vertices, reals), min_size=1, max_size=30)
blocks = st.sampled_from([16, 64, 256, 1 << 20])

WEIGHTED = [
    pytest.param(dimacs, "edges.gr", id="dimacs"),
    pytest.param(snap, "edges.txt", id="snap"),
    pytest.param(ewg, "edges.txt", id="ewg"),
    pytest.param(konect, "out.edges", id="konect"),
    pytest.param(csv, "edges.csv", id="csv"),
]
UNWEIGHTED = [
    pytest.param(pace, "edges.gr", id="pace"),
    pytest.param(careless, "edges.txt", id="snap-careless"),
    pytest.param(matrix("pattern", "{} {}"), "edges.mtx", id="matrix-market"),
]


@pytest.mark.parametrize(("write", "name"), [*WEIGHTED, pytest.param(matrix("integer", "{} {} {}"), "m.mtx", id="mm")])
@quick
@given(rows=whole_rows, block_bytes=blocks)
def test_whole_weights(write: Callable[[list[Row]], str], name: str, rows: list[Row], block_bytes: int) -> None:
    table = read(write(rows), name, block_bytes=block_bytes)
    assert table.to_pydict() == table_of(rows)
    assert set(table.schema.types) == {pa.int64()}


@pytest.mark.parametrize(("write", "name"), [*WEIGHTED, pytest.param(matrix("real", "{} {} {}"), "m.mtx", id="mm")])
@quick
@given(rows=real_rows, block_bytes=blocks)
def test_real_weights(write: Callable[[list[Row]], str], name: str, rows: list[Row], block_bytes: int) -> None:
    table = read(write(rows), name, block_bytes=block_bytes)
    assert table.to_pydict() == table_of(rows)
    assert table.schema.types == [pa.int64(), pa.int64(), pa.float64()]


@pytest.mark.parametrize(("write", "name"), UNWEIGHTED)
@quick
@given(rows=whole_rows, block_bytes=blocks)
def test_without_weights(write: Callable[[list[Row]], str], name: str, rows: list[Row], block_bytes: int) -> None:
    assert read(write(rows), name, block_bytes=block_bytes).to_pydict() == table_of(rows, weighted=False)


@st.composite
def metis_graphs(draw: st.DrawFn) -> tuple[int, dict[tuple[int, int], int]]:
    count = draw(st.integers(1, 8))
    pairs = [(a, b) for a in range(1, count + 1) for b in range(a + 1, count + 1)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return count, {pair: draw(st.integers(1, 2**62)) for pair in chosen}


@quick
@given(graph=metis_graphs(), flags=st.tuples(*[st.booleans()] * 3), weights=st.integers(1, 3), block_bytes=blocks)
def test_metis(
    graph: tuple[int, dict[tuple[int, int], int]], flags: tuple[bool, bool, bool], weights: int, block_bytes: int
) -> None:
    count, edges = graph
    sizes, vertex_weights, edge_weights = flags
    text = f"% a comment\n{count} {len(edges)} {sizes:d}{vertex_weights:d}{edge_weights:d}"
    text += f" {weights}\n" if vertex_weights else "\n"
    expected = []
    for vertex in range(1, count + 1):
        text += "% another\n" * (vertex % 2) + " 7" * (sizes + weights * vertex_weights)
        for (a, b), weight in edges.items():
            if vertex in (a, b):
                other = a + b - vertex
                expected.append((vertex, other, weight))
                text += f" {other}" + f" {weight}" * edge_weights
        text += " \n"
    assert read(text, "g.graph", block_bytes=block_bytes).to_pydict() == table_of(expected, edge_weights)


@quick
@given(points=st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=1, max_size=12))
def test_tsplib(points: list[tuple[int, int]]) -> None:
    text = f"NAME: made\nTYPE: TSP\nDIMENSION: {len(points)}\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
    text += "".join(f"{at} {x} {y}.0\n" for at, (x, y) in enumerate(points, 1)) + "EOF\n"
    expected = [
        (a + 1, b + 1, int(((points[a][0] - points[b][0]) ** 2 + (points[a][1] - points[b][1]) ** 2) ** 0.5 + 0.5))
        for a in range(len(points))
        for b in range(a + 1, len(points))
    ]
    assert read(text, "p.tsp").to_pydict() == table_of(expected)


MATRIX = [[0, 7, 9, 4], [7, 0, 3, 8], [9, 3, 0, 6], [4, 8, 6, 0]]
HALVES = {
    "FULL_MATRIX": [(a, b) for a in range(4) for b in range(4)],
    "UPPER_ROW": [(a, b) for a in range(4) for b in range(a + 1, 4)],
    "LOWER_ROW": [(a, b) for a in range(4) for b in range(a)],
    "UPPER_DIAG_ROW": [(a, b) for a in range(4) for b in range(a, 4)],
    "LOWER_DIAG_ROW": [(a, b) for a in range(4) for b in range(a + 1)],
    "UPPER_COL": [(a, b) for b in range(4) for a in range(b)],
    "LOWER_COL": [(a, b) for b in range(4) for a in range(b + 1, 4)],
    "UPPER_DIAG_COL": [(a, b) for b in range(4) for a in range(b + 1)],
    "LOWER_DIAG_COL": [(a, b) for b in range(4) for a in range(b, 4)],
}


@pytest.mark.parametrize("order", HALVES)
@pytest.mark.parametrize("block_bytes", [8, 1 << 20])
def test_a_matrix_of_tsplib(order: str, block_bytes: int) -> None:
    text = f"TYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {order}\nEDGE_WEIGHT_SECTION\n"
    text += "\n".join(str(MATRIX[a][b]) for a, b in HALVES[order]) + "\nDISPLAY_DATA_SECTION\n1 0 0\nEOF\n"
    expected = [(a + 1, b + 1, MATRIX[a][b]) for a in range(4) for b in range(a + 1, 4)]
    assert read(text, "p.tsp", block_bytes=block_bytes).to_pydict() == table_of(expected)


def test_a_matrix_of_tsplib_that_is_not_symmetric() -> None:
    text = (
        "TYPE: ATSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n"
    )
    assert read(text + "0 5\n3 0\n", "p.tsp").to_pydict() == table_of([(1, 2, 5), (2, 1, 3)])


@pytest.mark.parametrize(
    ("kind", "points", "distances"),
    [
        ("GEO", "1 38.24 20.42\n2 39.57 26.15\n3 40.56 25.32\n", [509, 501, 126]),  # the first of ulysses16
        ("GEO", "1 -30.30 -10.0\n2 -30.30 -10.0\n3 30.30 170.0\n", [1, 20039, 20039]),
        ("ATT", "1 6734 1453\n2 2233 10\n3 5530 1424\n", [1495, 381, 1135]),  # the first of att48
    ],
)
def test_distances_of_tsplib(kind: str, points: str, distances: list[int]) -> None:
    text = f"DIMENSION: 3\nEDGE_WEIGHT_TYPE: {kind}\nNODE_COORD_SECTION\n{points}EOF\n"
    assert read(text, "p.tsp")["weight"].to_pylist() == distances


def test_tsplib_is_made_in_bounded_batches(tmp_path: Path) -> None:
    count = 2_000
    text = f"DIMENSION : {count}\nEDGE_WEIGHT_TYPE : CEIL_2D\nNODE_COORD_SECTION\n"
    (tmp_path / "p.tsp").write_text(text + "".join(f"{at} {at} 0\n" for at in range(count)))
    sizes = [batch.num_rows for batch in open_edges(tmp_path / "p.tsp")]
    assert sum(sizes) == count * (count - 1) // 2
    assert max(sizes) <= 1 << 18


OTHERS = [
    ("roads.cedge", "7 0 1 0.5\n8 1 2 1\n", table_of([(0, 1, 0.5), (1, 2, 1.0)]) | {"edge_id": [7, 8]}),
    ("out.mail", "% asym unweighted\n1 2 1 99\n", {"source": [1], "target": [2], "timestamp": [99]}),
    # A multigraph may have fewer rows than KONECT counts.
    ("out.mail", "% sym positive\n% 5 3 3\n1 2 3\n2 3 2\n", table_of([(1, 2, 3), (2, 3, 2)])),
    ("edges.gr", "a 1 2 3 4 5.5\n", table_of([(1, 2, 3)]) | {"column_5": [4], "column_6": [5.5]}),
    ("edges.txt", "1 2 3 4\n", table_of([(1, 2, 3)]) | {"column_4": [4]}),
    ("queens.col", "c x\n\np edge 3 2\ne 1 2\nc between\n\ne 2 3\nc last", {"source": [1, 2], "target": [2, 3]}),
    ("edges.txt", "# people\nann bob 1.5\nbob 3 2\n", table_of([("ann", "bob", 1.5), ("bob", "3", 2.0)])),
    (
        "a.mtx",
        f"%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 2 {2**64 - 1}\n",
        table_of([(1, 2, 2**64 - 1)]),
    ),
    ("edges.txt", "+1 2 +3\n2 -3 4\n", table_of([(1, 2, 3), (2, -3, 4)])),
    *(
        ("edges.txt", text, {"source": [1, 2], "target": [2, 3]})
        for text in (
            "col1 col2\n1 2\n2 3\n",
            "1 2\n2 3",
            " 1\t2 \n\n\n2   3\n",
            "\ufeff1 2\r\n2 3\r\n",
            "1 2\n# note\n% note\n2 3\n",
        )
    ),
]


@pytest.mark.parametrize(("name", "text", "expected"), OTHERS)
def test_what_is_read(name: str, text: str, expected: dict[str, list[Any]]) -> None:
    assert read_columns(text, name) == expected


TEXT_ROWS = [
    ("from to weight\na b 1\nb c 2\n", {"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 2]}),
    ("x y Dist\na b 1\n", {"source": ["a"], "target": ["b"], "weight": [1]}),
    ("x y year\n1 2 1999\n", {"source": [1], "target": [2], "year": [1999]}),
    ("a\tb\t{'weight': 1, 'x': 2}\n", {"source": ["a"], "target": ["b"], "weight": [1], "x": [2]}),
    ("from to year km\na b 1999 5\n", {"source": ["a"], "target": ["b"], "year": [1999], "km": [5]}),
    ("from to\na b\n", {"source": ["a"], "target": ["b"]}),
    ("ann bob nan\nbob cy 3\n", {"source": ["ann", "bob"], "target": ["bob", "cy"], "weight": [math.nan, 3.0]}),
    ("ann bob\nbob 3\n", {"source": ["ann", "bob"], "target": ["bob", "3"]}),
    ("a b 1\n#c %d 2\n# x\n%e f 3\n", table_of([("a", "b", 1), ("#c", "%d", 2), ("%e", "f", 3)])),
    ("a b\n\t#c   d \n# a note\n", {"source": ["a", "#c"], "target": ["b", "d"]}),
    ("# a note\n#c d 7\na b 1\n", {"source": ["#c", "a"], "target": ["d", "b"], "weight": [7, 1]}),
    ("#from to weight\na b 1\n", {"source": ["a"], "target": ["b"], "weight": [1]}),
    ("#from to\na b\n", {"source": ["a"], "target": ["b"]}),
    ("1 2 3 007 x\n", {"source": [1], "target": [2], "weight": [3], "column_4": ["007"], "column_5": ["x"]}),
    (
        "# NetworkX\na b {'weight': 5e-3, 'name': 'x y'}\n\na 07 {}\n",
        table_of([("a", "b", 0.005), ("a", "07", None)]) | {"name": ["x y", None]},
    ),
    ("1 2 {'weight': 3}\n", {"source": [1], "target": [2], "weight": [3]}),
    ("# a b {'weight': 3}\n#c d {}\ne f {}", {"source": ["#c", "e"], "target": ["d", "f"]}),
    ("from to weight\n#a b 1\nb c 2\n", {"source": ["#a", "b"], "target": ["b", "c"], "weight": [1, 2]}),
]


@pytest.mark.parametrize("block_bytes", [16, 1 << 20])
@pytest.mark.parametrize(("text", "expected"), TEXT_ROWS)
def test_headings_and_comments_among_text_ids(text: str, expected: dict[str, list[Any]], block_bytes: int) -> None:
    assert str(read(text, block_bytes=block_bytes).to_pydict()) == str(expected)


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"weight": "cost"}, {"source": ["07", "b"], "target": ["b", "c"], "cost": [3, 4]}),
        ({"source": "x", "target": "y"}, {"x": ["07", "b"], "y": ["b", "c"], "weight": [3, 4]}),
        ({"source": "y", "target": "cost"}, {"x": ["07", "b"], "y": ["b", "c"], "cost": ["3", "4"]}),
    ],
)
def test_columns_that_a_caller_names(roles: dict[str, str], expected: dict[str, list[Any]]) -> None:
    assert str(read_columns("x y cost\n07 b 3\nb c 4\n", **roles)) == str(expected)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("# a\n# b\n1 2\n3 4\n\n\n", 0),
        ("1 2\n#3 4\n\n3 4\n# end\n", 2),
        ("a b\n# of three\n#c d\n", 1),
        ("a 1 2\nc x\na 2 3", 1),
    ],
)
def test_what_is_skipped_among_the_rows_is_counted(text: str, count: int) -> None:
    notes: list[str] = []
    read(text, block_bytes=8, note=notes.append)
    reported = [note.rpartition("/")[2] for note in notes]
    assert reported == ([f"edges.txt: skipped {count} comments or blank lines among the rows"] if count else [])


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("words", ["#Stra\xdfe 2 3", "%\xdf\xff", "# Stra\xdfe", "#\xdf 2"])
@pytest.mark.parametrize(
    ("name", "head", "row"),
    [
        ("a.txt", "", "1 2 3\n"),
        ("a.gr", "c \xdf\np sp 2 1\n", "a 1 2 3\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n% \xdf\n2 2 1\n", "1 2 3\n"),
        ("out.a", "% sym weighted\n% \xdf\n", "1 2 3\n"),
        ("a.net", "% \xdf\n*Vertices 2\n*Edges\n", "1 2 3\n"),
        ("a.csv", "# \xdf\n", "1,2,3\n"),
        ("a.txt", "", "1 2 {'weight': 3}\n"),
    ],
)
def test_a_comment_may_hold_any_bytes(name: str, head: str, row: str, words: str, place: int) -> None:
    mark = {"a.gr": "c ", "a.csv": "# ", "a.mtx": "%", "out.a": "%", "a.net": "%"}.get(name, "")
    comment = f"{mark}{words}\n"
    if place and name == "a.csv":
        return  # no comment: a row of CSV may begin with a mark
    text = head + (row + comment if place else comment + row)
    assert read_columns(text.encode("latin-1"), name) == {"source": [1], "target": [2], "weight": [3]}


def test_a_row_of_text_before_rows_of_numbers_is_told() -> None:
    notes: list[str] = []
    assert read_columns("#eve 07\n# 3 4\n7 8\n", note=notes.append) == {"source": [7], "target": [8]}
    assert notes[0].endswith("/edges.txt: skipped 1 lines before the rows, such as '#eve 07'")


@pytest.mark.parametrize("letters", ["\u2028", "\x1c", "\xa0", "2\u2028", "2\x1c3"])
def test_only_ascii_blanks_separate_words(letters: str) -> None:
    assert refusal(f"3 2\n2 3\n{letters} 1\n1\n", "a.graph").startswith("a.graph, line 3: not a whole number")
    assert refusal(f"{letters}\n1 2\n", "a.txt").startswith("a.txt, line 1: too few columns")
