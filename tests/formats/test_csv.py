"""CSV and TSV: separators, headers, quotes and missing values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.support.files import read_columns

TABLES = [
    ("1,2,3\n", {"source": [1], "target": [2], "weight": [3]}),
    ("1;2;0.5\n", {"source": [1], "target": [2], "weight": [0.5]}),
    ("1\t2\t3\n", {"source": [1], "target": [2], "weight": [3]}),
    ("1  2 3\n", {"source": [1], "target": [2], "weight": [3]}),
    ("1, 2, 3\n", {"source": [1], "target": [2], "weight": [3]}),
    ("1,2,NA\n2,3,4\n", {"source": [1, 2], "target": [2, 3], "weight": [None, 4]}),
    ("a,b,NA\nb,c,0.5\n", {"source": ["a", "b"], "target": ["b", "c"], "weight": [None, 0.5]}),
    ("1;2;NA\n2;3;NA\n", {"source": [1, 2], "target": [2, 3], "weight": [None, None]}),
    ("source,target,weight\n1,2,NA\n2,3,4\n", {"source": [1, 2], "target": [2, 3], "weight": [None, 4]}),
    ("source\ttarget\tw\n1\t2\tNA\n2\t3\t\n3\t4\t5\n", {"source": [1, 2, 3], "w": [None, None, 5]}),
    ("source,target,weight\n1,2,\n2,3,heavy\n", {"source": [1, 2], "weight": [None, "heavy"]}),
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
def test_columns_and_types(text: str, expected: dict[str, list[Any]]) -> None:
    columns = read_columns(text, "a.csv")
    assert {name: columns[name] for name in expected} == expected


BLOCKS: list[tuple[str, str, dict[str, Any]]] = [
    (
        "a.csv",
        'source,target,weight,note\n"a, b","c ""d""",1.5,"two\nlines"\ne,f,,\n"",g,2,x\n',
        {"source": ["a, b", "e", ""], "target": ['c "d"', "f", "g"], "weight": [1.5, None, 2.0]}
        | {"note": ["two\nlines", None, "x"]},
    ),
    ("a.tsv", "\ufeffSEP=;\r\na;b;km\r\nx;y;1\r\n", {"a": ["x"], "b": ["y"], "km": [1]}),
    ("a.csv", "source,target\n1,2\n,3\n", {"source": [1, None], "target": [2, 3]}),
    (
        "a.tsv",
        "source\ttarget\tnote\nNew York\tOslo\t\nRome\tBari\tx y\n",
        {"source": ["New York", "Rome"], "target": ["Oslo", "Bari"], "note": [None, "x y"]},
    ),
    (
        "a.tsv",
        "source\ttarget\tkm\n\t\t\nRome\tBari\t3\n",
        {"source": [None, "Rome"], "target": [None, "Bari"], "km": [None, 3]},
    ),
    (
        "a.csv",
        'source,target,note\n1,2,5" pipe\n3,4,"two\nlines"\n' + "3,4,x\n" * 100,
        {"source": [1, *[3] * 101], "target": [2, *[4] * 101], "note": ['5" pipe', "two\nlines", *["x"] * 100]},
    ),
    # Python's own reader stops at 131,072 letters; the quote that is a letter has the second text read row by row.
    ("a.csv", f"1,{'x' * 200_000}\n", {"source": ["1"], "target": ["x" * 200_000]}),
    (
        "a.csv",
        f'source,target,note\n1,"{"x" * 200_000}",5" pipe\n',
        {"source": ["1"], "target": ["x" * 200_000], "note": ['5" pipe']},
    ),
    ("a.csv", "source,target,weight\n1,2,heavy\n", {"source": [1], "target": [2], "weight": ["heavy"]}),
    (
        "a.csv",
        "source target km\nNew\u00a0York Salt\u2003Lake\x1fCity 5\n",
        {"source": ["New\u00a0York"], "target": ["Salt\u2003Lake\x1fCity"], "km": [5]},
    ),
]


@pytest.mark.parametrize("block_bytes", [1, 16, 1 << 20])
@pytest.mark.parametrize(("name", "text", "expected"), BLOCKS, ids=lambda value: str(value)[:30])
def test_blocks_of_any_size(name: str, text: str, expected: dict[str, list[Any]], block_bytes: int) -> None:
    assert read_columns(text, name, block_bytes=block_bytes) == expected


@pytest.mark.parametrize("block_bytes", [16, 1 << 20])
def test_blank_lines_among_the_rows_are_counted(block_bytes: int) -> None:
    text, notes = '\n# x\n\na,b\n1,2\n\n\n3,"two\n\nlines"\n\n5,6\n\n\n', list[str]()
    table = read_columns(text, "a.csv", block_bytes=block_bytes, note=notes.append)
    assert table == {"a": [1, 3, 5], "b": ["2", "two\n\nlines", "6"]}
    assert notes[0].endswith("/a.csv: skipped 3 comments or blank lines among the rows")


def test_the_format_can_be_forced() -> None:
    assert read_columns("ann 1\n7 bob\n", format="csv") == {"source": ["ann", "7"], "target": ["1", "bob"]}


def test_blocks_that_pyarrow_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under load PyArrow was seen to fail without a reason."""
    calls: list[object] = []

    def read_csv(*arguments: object) -> object:
        calls.append(arguments)
        raise pa.ArrowException("a chunk failed converting for an unknown reason")

    monkeypatch.setattr("pyarrow.csv.read_csv", read_csv)
    found = read_columns("source,target,weight\na,b,1\nb,c,0.5\n", "a.csv")
    assert found == {"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 0.5]}
    assert calls
