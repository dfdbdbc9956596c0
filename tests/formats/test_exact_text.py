"""Text files hold what they say: every line end ends a line, no number is rounded, ids of floats are refused."""

from __future__ import annotations

from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dfmst
from dfmst.formats import read_edges, write_edges
from dfmst.formats.text_reader import LineEnds
from tests.support.files import read, read_columns

BLOCKS = [16, 1 << 20]
BIG = 2**53 + 1
POINTS = "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\nEOF\n"
GML = "graph [\n node [ id 1 ]\n node [ id 2 ]\n edge [ source 1 target 2 weight 5 ]\n]\n"
TEXTS = {
    "a.csv": "source,target,weight\n0,1,1.5\n1,2,2.5\n",
    "a.tsv": "source\ttarget\tweight\n0\t1\t1.5\n1\t2\t2.5\n",
    "b.csv": "0 1 1.5\n1 2 2.5\n",
    "a.txt": "# Nodes: 3 Edges: 2\n0 1 1.5\n1 2 2.5\n",
    "a.gr": "c x\np sp 2 1\na 1 2 5\n",
    "b.gr": "p tw 3 2\n1 2\n2 3\n",
    "a.mtx": "%%MatrixMarket matrix coordinate real general\n% x\n3 3 2\n1 2 0.5\n2 3 1\n",
    "out.a": "% sym weighted\n% 2 3 3\n1 2 5\n2 3 6\n",
    "a.graph": "2 1 1\n2 7\n1 7\n",
    "a.tsp": POINTS,
    "a.cedge": "0 1 2 0.5\n1 2 3 0.5\n",
    "ewg": "3\n2\n0 1 5\n1 2 7\n",
    "a.gml": GML,
    "a.json": '{"nodes": [{"id": 1}, {"id": 2}],\n "links": [{"source": 1,\n "target": 2}]}\n',
}


@pytest.mark.parametrize("block_bytes", BLOCKS)
@pytest.mark.parametrize("name", TEXTS)
def test_every_line_end_ends_a_line(name: str, block_bytes: int) -> None:
    text = TEXTS[name]
    expected = read(text, name)
    assert expected.num_rows
    ends = cycle(["\r", "\r\n", "\n"])
    mixed = "".join(line + next(ends) for line in text.splitlines())
    for other in (text.replace("\n", "\r"), text.replace("\n", "\r\n"), mixed):
        assert read(other, name, block_bytes=block_bytes).equals(expected)


@pytest.mark.parametrize("block_bytes", BLOCKS)
def test_carriage_returns_in_quotes_stay(block_bytes: int) -> None:
    table = read('source,target,note\r1,2,"a\rb"\r3,4,"c\r\nd"\r', "a.csv", block_bytes=block_bytes)
    assert table["note"].to_pylist() == ["a\rb", "c\r\nd"]


def test_line_ends_that_lie_between_two_pieces() -> None:
    ends = LineEnds()
    found = [ends.feed(b"1\r"), ends.feed(b"\r"), ends.feed(b"\n2\r"), ends.feed(b"", last=True)]
    assert found == [b"1", b"\n", b"\n2", b"\n"]


NUMBERS = [
    (["18446744073709551615", "1"], pa.uint64(), [2**64 - 1, 1]),
    (["18446744073709551616", "-1"], pa.decimal128(38, 0), [2**64, -1]),
    ([str(BIG), "0.5"], pa.decimal128(38, 2), [BIG, Decimal("0.5")]),
    (["0.5", str(BIG)], pa.decimal128(38, 2), [Decimal("0.5"), BIG]),
    ([f"{BIG}.125", "1e3"], pa.decimal128(38, 6), [Decimal(f"{BIG}.125"), 1000]),
    ([str(2**60), "0.5"], pa.float64(), [2.0**60, 0.5]),
    (["1e300", "1"], pa.float64(), [1e300, 1.0]),
    (["inf", "-Infinity", "0.5"], pa.float64(), [float("inf"), float("-inf"), 0.5]),
    # Fractions: a float holds 17 digits, and more if it prints as them
    (["0.1234567890123456789", "1"], pa.decimal128(38, 24), [Decimal("0.1234567890123456789"), 1]),
    (["0.5", "12345.12345678901234"], pa.decimal128(38, 18), [Decimal("0.5"), Decimal("12345.12345678901234")]),
    ([f"0.{'3' * 37}", "-2"], pa.decimal128(38, 37), [Decimal(f"0.{'3' * 37}"), -2]),
    ([f"{1e-5 / 3:.18e}", f"{0.1:.34f}", "1.5" + 40 * "0"], pa.float64(), None),
    (["0.30000000000000004", "0.00012345678901234567"], pa.float64(), None),
]
FILES = {
    "a.csv": ("source,target,weight", "{},{},{}"),
    "a.txt": ("# roads", "{} {} {}"),
    "b.txt": ("a\tb\t0", "{0}x\t{1}x\t{2}"),
    "a.gr": ("c roads", "a {} {} {}"),
    "a.mtx": ("%%MatrixMarket matrix coordinate real general\n9 9 {rows}", "{} {} {}"),
    "out.a": ("% sym weighted", "{} {} {}"),
    "ewg": ("9\n{rows}", "{} {} {}"),
}


@pytest.mark.parametrize("block_bytes", BLOCKS)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("words", "kind", "values"), NUMBERS)
def test_numbers_are_not_rounded(
    words: list[str], kind: pa.DataType, values: list[Any] | None, name: str, block_bytes: int
) -> None:
    head, row = FILES[name]
    rows = "".join(f"{row.format(at + 1, at + 2, word)}\n" for at, word in enumerate(words))
    weights = read(f"{head.format(rows=len(words))}\n{rows}", name, block_bytes=block_bytes)["weight"]
    found = weights.to_pylist()[1 if name == "b.txt" else 0 :]
    assert found == (list(map(float, words)) if values is None else values)
    assert weights.type == kind or name == "a.mtx"  # its header says real


@pytest.mark.parametrize("block_bytes", BLOCKS)
def test_numbers_beside_names_are_names(block_bytes: int) -> None:
    table = read_columns(f"source,target\n1.0,2\nRome,{2**70}\n1,Bari\n", "a.csv", block_bytes=block_bytes)
    assert table == {"source": ["1.0", "Rome", "1"], "target": ["2", str(2**70), "Bari"]}


def test_signs_and_several_files_round_nothing(tmp_path: Path) -> None:
    digits = "123456789012345678"
    found = read(f"a;b;km\n1;2;0,{digits}\n2;3;1.000,5\n", "a.csv", weight="km", decimal=",", thousands=".")
    assert found["km"].to_pylist() == [Decimal(f"0.{digits}"), Decimal("1000.5")]
    words = ["1.5", f"0.{digits}", str(2**64 - 1), "7", "0.1"]
    for at, word in enumerate(words):
        (tmp_path / f"{at}.csv").write_text(f"a,b,km\n1,2,{word}\n")
    for order in (words, words[::-1]):
        files = [tmp_path / f"{words.index(word)}.csv" for word in order]
        assert read_edges(files, weight="km")["km"].to_pylist() == list(map(Decimal, order))


def test_unsigned_weights_go_through_csv(tmp_path: Path) -> None:
    weights = pa.array([2**64 - 1, 2**64 - 2, 2**64 - 3], pa.uint64())
    edges = pa.table({"source": [1, 2, 1], "target": [2, 3, 3], "weight": weights})
    write_edges(edges, tmp_path / "u.csv")
    table = read_edges(tmp_path / "u.csv")
    assert table.schema.field("weight").type == pa.uint64()
    forest = dfmst.minimum_spanning_forest(table, "source", "target", "weight")
    assert forest.equals(dfmst.minimum_spanning_forest(edges, "source", "target", "weight"))


def test_forests_of_decimal_ids_and_weights() -> None:
    table = read(f"-1,{2**64},{BIG}\n{2**64},5,{BIG - 1}\n5,-1,0.5\n", "a.csv")
    forest = dfmst.minimum_spanning_forest(table, "source", "target", "weight")
    assert forest["weight"].to_pylist() == [BIG - 1, Decimal("0.5")]
