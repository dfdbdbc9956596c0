"""CSV and TSV: separators, headers, quotes and missing values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dfmst.errors import FormatError
from dfmst.formats import open_edges, read_edges

TABLES = [
    ("1,2,3\n", {"source": [1], "target": [2], "weight": [3]}),
    ("1;2;0.5\n", {"source": [1], "target": [2], "weight": [0.5]}),
    ("1\t2\t3\n", {"source": [1], "target": [2], "weight": [3]}),
    ("1  2 3\n", {"source": [1], "target": [2], "weight": [3]}),
    ("1, 2, 3\n", {"source": [1], "target": [2], "weight": [3]}),
    ("1,2\n", {"source": [1], "target": [2]}),
    ("1,2,3,4,x\n", {"source": [1], "target": [2], "weight": [3], "column_4": [4], "column_5": ["x"]}),
    ("1,2,friend\n3,4,foe\n", {"source": [1, 3], "target": [2, 4], "column_3": ["friend", "foe"]}),
    ("ann,bob\nbob,cid\n", {"source": ["ann", "bob"], "target": ["bob", "cid"]}),
    ("New York,Los Angeles,9\nRome,Oslo,7\n", {"source": ["New York", "Rome"], "target": ["Los Angeles", "Oslo"]}),
    ("city,town\nRome,Bari\nBari,Pisa\n", {"city": ["Rome", "Bari"], "town": ["Bari", "Pisa"]}),
    ("from,to\nann,bob\n", {"from": ["ann"], "to": ["bob"]}),
    ("id, source , target,w\n7,1,2,0.5\n", {"id": [7], "source": [1], "target": [2], "w": [0.5]}),
    ("a,b,c\n1,2,3\n", {"a": [1], "b": [2], "c": [3]}),
    ("# note\n\na,b\n1,2\n", {"a": [1], "b": [2]}),
    ("\ufeffsource,target\r\n1,2\r\n", {"source": [1], "target": [2]}),
    (",source,target\n0,1,2\n", {"column_1": [0], "source": [1], "target": [2]}),
    ("source,target,weight\n", {"source": [], "target": [], "weight": []}),
]


@pytest.mark.parametrize(("text", "expected"), TABLES)
def test_columns_and_types(tmp_path: Path, text: str, expected: dict[str, list[Any]]) -> None:
    (tmp_path / "a.csv").write_text(text)
    columns = read_edges(tmp_path / "a.csv").to_pydict()
    assert {name: columns[name] for name in expected} == expected


def test_quotes_and_missing_values(tmp_path: Path) -> None:
    text = 'source,target,weight,note\n"a, b","c ""d""",1.5,"two\nlines"\ne,f,,\n"",g,2,x\n'
    (tmp_path / "a.csv").write_text(text)
    expected = {
        "source": ["a, b", "e", ""],
        "target": ['c "d"', "f", "g"],
        "weight": [1.5, None, 2.0],
        "note": ["two\nlines", None, "x"],
    }
    for block_bytes in (16, 1 << 20):
        assert open_edges(tmp_path / "a.csv", block_bytes=block_bytes).read_all().to_pydict() == expected


def test_a_missing_vertex_is_null(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("source,target\n1,2\n,3\n")
    table = read_edges(tmp_path / "a.csv")
    assert table.to_pydict() == {"source": [1, None], "target": [2, 3]}
    assert table.schema.types == [pa.int64(), pa.int64()]


def test_tsv_keeps_blanks_and_empty_cells(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("source\ttarget\tnote\nNew York\tOslo\t\nRome\tBari\tx y\n")
    table = read_edges(tmp_path / "a.tsv")
    assert table["source"].to_pylist() == ["New York", "Rome"]
    assert table["note"].to_pylist() == [None, "x y"]


@pytest.mark.parametrize("block_bytes", [1, 16, 1 << 20])
def test_a_row_of_empty_cells_is_a_row(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "roads.tsv"
    path.write_text("source\ttarget\tkm\n\t\t\nRome\tBari\t3\n")
    table = open_edges(path, block_bytes=block_bytes).read_all()
    assert table.to_pydict() == {"source": [None, "Rome"], "target": [None, "Bari"], "km": [None, 3]}
    path.write_text("source\ttarget\tkm\n\t\nRome\tBari\t3\n")
    with pytest.raises(FormatError, match="line 2: too few columns: 2 instead of 3"):
        open_edges(path, block_bytes=block_bytes).read_all()


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('source,target\n1,"2\n' + "3,4\n" * 1000)
    for block_bytes in (64, 1 << 20):
        with pytest.raises(FormatError, match="line 2: unexpected end of data"):
            open_edges(tmp_path / "a.csv", block_bytes=block_bytes).read_all()


@pytest.mark.parametrize("block_bytes", [16, 64, 1 << 20])
def test_a_quote_within_a_word_is_a_letter(tmp_path: Path, block_bytes: int) -> None:
    (tmp_path / "a.csv").write_text('source,target,note\n1,2,5" pipe\n3,4,"two\nlines"\n' + "3,4,x\n" * 100)
    table = open_edges(tmp_path / "a.csv", block_bytes=block_bytes).read_all()
    assert table["note"].to_pylist() == ['5" pipe', "two\nlines", *["x"] * 100]


@pytest.mark.parametrize("block_bytes", [16, 64, 1 << 20])
def test_letters_behind_a_quoted_word(tmp_path: Path, block_bytes: int) -> None:
    # PyArrow takes the letters for a part of the word, and the rest of the file for that of the quote in line 3.
    (tmp_path / "a.csv").write_text('source,target,note\n1,2,"a" b"\n2,3,"two\nlines\n' + "3,4,x\n" * 10)
    with pytest.raises(FormatError, match="line 2: ',' expected after '\"'"):
        open_edges(tmp_path / "a.csv", block_bytes=block_bytes).read_all()


def test_a_value_of_many_letters(tmp_path: Path) -> None:
    """Python's own reader stops at 131,072; the quote that is a letter has the second text read row by row."""
    for text in ("1,{}\n", 'source,target,note\n1,"{}",5" pipe\n'):
        (tmp_path / "a.csv").write_text(text.format("x" * 200_000))
        assert read_edges(tmp_path / "a.csv")["target"].to_pylist() == ["x" * 200_000]


@pytest.mark.parametrize("block_bytes", [16, 1 << 20])
def test_blank_lines_among_the_rows_are_counted(tmp_path: Path, block_bytes: int) -> None:
    (tmp_path / "a.csv").write_text('\n# x\n\na,b\n1,2\n\n\n3,"two\n\nlines"\n\n5,6\n\n\n')
    notes: list[str] = []
    table = open_edges(tmp_path / "a.csv", block_bytes=block_bytes, note=notes.append).read_all()
    assert table.to_pydict() == {"a": [1, 3, 5], "b": ["2", "two\n\nlines", "6"]}
    assert notes == [f"{tmp_path / 'a.csv'}: skipped 3 comments or blank lines among the rows"]


def test_a_weight_that_is_no_number_is_a_column_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("source,target,weight\n1,2,heavy\n2,3,light\n")
    assert read_edges(tmp_path / "a.csv")["weight"].to_pylist() == ["heavy", "light"]


def test_the_format_can_be_forced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ann 1\n7 bob\n")
    assert read_edges(tmp_path / "a.txt", format="csv").to_pydict() == {"source": ["ann", "7"], "target": ["1", "bob"]}


def test_blanks_are_those_of_ascii(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source target km\nNew\u00a0York Salt\u2003Lake\x1fCity 5\n")
    assert read_edges(path).to_pydict() == {
        "source": ["New\u00a0York"],
        "target": ["Salt\u2003Lake\x1fCity"],
        "km": [5],
    }
    path.write_bytes(b"\x1f")
    with pytest.raises(FormatError, match="line 1: too few columns"):
        read_edges(path)


def test_blocks_that_pyarrow_gives_up(tmp_path, monkeypatch):
    """Under load PyArrow was seen to fail without a reason."""
    calls: list[object] = []

    def read_csv(*arguments: object) -> object:
        calls.append(arguments)
        raise pa.ArrowException("a chunk failed converting for an unknown reason")

    (tmp_path / "a.csv").write_text("source,target,weight\na,b,1\nb,c,0.5\n")
    monkeypatch.setattr("pyarrow.csv.read_csv", read_csv)
    assert read_edges(tmp_path / "a.csv").to_pydict() == {
        "source": ["a", "b"],
        "target": ["b", "c"],
        "weight": [1, 0.5],
    }
    assert calls
