"""Columns of text tables get their types by their roles: those that a caller names, and no others."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, strategies as st

from dfmst.errors import ColumnNotFoundError, FormatError, InvalidEdgesError
from dfmst.formats import open_edges, read_edges, write_edges
from tests.support.files import read_columns, refusal
from tests.support.lanes import examples

ENDS = {"source": "a", "target": "b"}
PAIRS = {"source": ["a", "b"], "target": ["c", "d"]}
KM: dict[str, Any] = {**ENDS, "weight": "km"}


CASES: list[tuple[str, dict[str, Any], dict[str, list[Any]]]] = [
    # Keys, groups and ids, in whatever place they are
    ("phone,name\n0170,Ann\n170,Bob\n", {"by": "phone"}, {"phone": ["0170", "170"]}),
    ("name,city,phone\nAnn,x,0170\nBob,y,170\n", {"by": "phone"}, {"phone": ["0170", "170"]}),
    ("a,b,grp\n1,2,07\n2,3,7\n", {**ENDS, "by": ["grp"]}, {"a": [1, 2], "b": [2, 3], "grp": ["07", "7"]}),
    ('a,b\n"1",2\n2,3\n', ENDS, {"a": ["1", "2"], "b": ["2", "3"]}),
    ("a,b\n+1,2\n2,3\n", ENDS, {"a": ["+1", "2"], "b": ["2", "3"]}),
    ("a,b\n1, 2\n3,4\n", ENDS, {"a": ["1", "3"], "b": [" 2", "4"]}),
    ("a,b\n1,-0\n-3,4\n", ENDS, {"a": ["1", "-3"], "b": ["-0", "4"]}),
    ("a,b\n1,-2\n0,-30\n", ENDS, {"a": [1, 0], "b": [-2, -30]}),
    ("a,b\n1,2\n,x\n", ENDS, {"a": ["1", None], "b": ["2", "x"]}),
    ("a,b\n1,NA\n3,4\n", ENDS, {"a": [1, 3], "b": [None, 4]}),
    ("a,b\nDE,NA\nNA,FR\n", ENDS, {"a": ["DE", "NA"], "b": ["NA", "FR"]}),
    # Words without quotes are missing if all other values have quotes, as R and databases write them
    ('a,b\n"DE",NA\n"NA","FR"\n', ENDS, {"a": ["DE", "NA"], "b": [None, "FR"]}),
    ('n,k\nx,"a"\nNA,NULL\nz,\\N\n\n"u",NA\nv,""\nw,"\\N"\n', {"by": "k"}, {"k": ["a", *[None] * 3, "", "\\N"]}),
    ('n,k\nx,"a"\ny,NA\nz,b\n', {"by": "k"}, {"k": ["a", "NA", "b"]}),
    ('n,k\n1,"a\nb"\n2,NULL\n', {"by": "k"}, {"k": ["a\nb", None]}),
    ('k\n"a"\n\nNA\n\n', {"by": "k"}, {"k": ["a", None]}),
    (f"a,b\n1,{'7' * 39}\n", ENDS, {"a": ["1"], "b": ["7" * 39]}),
    ("k\n1.0\n2\n", {"by": "k"}, {"k": ["1.0", "2"]}),
    ("a,b,c,d\n1,x,3,07\n", PAIRS, {"a": [1], "b": ["x"], "c": [3], "d": ["07"]}),
    ("a,b,zip\n1,2,3\n", {**ENDS, "text": ["a", "zip"]}, {"a": ["1"], "b": ["2"], "zip": ["3"]}),
    ("a,b,c\n1,\t2,\t3\n4,5\t,6\n", ENDS, {"a": ["1", "4"], "b": ["\t2", "5\t"], "c": ["\t3", "6"]}),
    ('a,b,c\n1," 2","\t3"\n4,5,6\n', ENDS, {"a": ["1", "4"], "b": [" 2", "5"], "c": ["\t3", "6"]}),
    # Usual names, if no end has a name
    ("from,to,w\n07,1,2.0\n", {"by": "from"}, {"from": ["07"], "to": [1], "w": [2.0]}),
    ("from,to,n\n07,1,2.0\n", {"weight": "n"}, {"from": ["07"], "to": ["1"], "n": [2.0]}),
    ("from,to,w\n1.0,1,2.0\n", {"text": ["from"]}, {"from": ["1.0"], "to": ["1"], "w": [2.0]}),
    ("from,to,w\n07,1,2.0\n", {"source": "from", "target": "to"}, {"w": ["2.0"]}),
    ("u,v,cost,km,dist\n1,2,x,5.0,2.0\n1,2,1,?,3\n", {}, {"cost": ["x", "1"], "km": ["5.0", "?"], "dist": [2.0, 3.0]}),
    ("u,v,cost,km\n1,2,1.0,1.50\n", {}, {"cost": [1.0], "km": [1.5]}),
    # Other signs of numbers
    ("a;b;1,5\nc;d;2\n", {"decimal": ","}, {"source": ["a", "c"], "target": ["b", "d"], "weight": [1.5, 2.0]}),
    ("u;v;w\n1;2;1.000,5\n", {"decimal": ",", "thousands": "."}, {"w": [1000.5]}),
    ("u v w\n1 2 1,5\n2 3 NA\n", {"decimal": ","}, {"w": [1.5, None]}),
    ("1,5;2,5\n,5;3\n", {"decimal": ",", "weight": "source"}, {"source": [1.5, 0.5], "target": ["2,5", "3"]}),
    ("x,5;y\n1,5;2\n", {}, {"x": [1], "5;y": ["5;2"]}),
    ("1 2 1,5\n2 3 2\n", {"decimal": ","}, {"source": [1, 2], "target": [2, 3], "weight": [1.5, 2.0]}),
    # Weights
    ("km,a,b\n1.50,x,y\n2,y,z\n", KM, {"km": [1.5, 2.0], "a": ["x", "y"], "b": ["y", "z"]}),
    ("from_id,from_name,to_id,to_name,km\n1,x,2,y,3\n", {"source": "from_id", "target": "to_id"}, {"to_id": [2]}),
    ('a,b,km\n1,2,"1.5"\n2,3,NA\n3,4,""\n4,5,007\n', KM, {"km": [1.5, None, None, 7.0]}),
    ("a b km\nx y 1\nNA z NA\n", KM, {"a": ["x", "NA"], "km": [1, None]}),
    ("a,b,km\n1,2,1\n2,3,  \n3,4, NA\n4,5, 2 \n", KM, {"km": [1, None, None, 2]}),
    ("a;b;km\n1;2;1.200,5\n", {**KM, "decimal": ",", "thousands": "."}, {"km": [1200.5]}),
    ('a,b,km\n1,2,"1,200"\n2,3,NA\n', {**KM, "thousands": ","}, {"km": [1200, None]}),
    (f"a;b;km\n1;2;{2**53 + 1},5\n", {**KM, "decimal": ","}, {"km": [Decimal(f"{2**53 + 1}.5")]}),
    # The other columns, as they stand
    ('a,b,c\n1,2,007\n1,2,"8"\n', ENDS, {"c": ["007", "8"]}),
    ("a,b,c\n1,2,4477.0\n1,2,1\n", ENDS, {"c": ["4477.0", "1"]}),
    ("a,b,c\n1,2, x\n1,2,1e3\n1,2,NA\n", ENDS, {"c": [" x", "1e3", "NA"]}),
    ("a,b,c\n1,2,7\n1,2,\n", ENDS, {"c": [7, None]}),
    ('a,b,c\n1,2,""\n1,2,\n', ENDS, {"c": ["", None]}),
    (f"a,b,c,n\n1,2,{'9' * 20},-1\n1,2,1e3,0.1\n1,2,1e3,03\n", ENDS, {"c": ["9" * 20, "1e3", "1e3"]}),
    ("a,b,c\n1,2,inf\n1,2,nan\n", ENDS, {"c": ["inf", "nan"]}),
    ("a,b,c\n1,2,0\x1f\n", ENDS, {"c": ["0\x1f"]}),
    ("a,b,c\n1,2,0.5\n1,2,2\n", ENDS, {"c": [0.5, 2.0]}),
    # Blanks around the separators of the first line are around all
    ('a, b, km\nx, "y, z", 1\n"y, z" , w,2\n', KM, {"a": ["x", "y, z"], "b": ["y, z", "w"], "km": [1, 2]}),
    ('x, "y\nz", 1\n', {}, {"source": ["x"], "target": ["y\nz"], "weight": [1]}),
    # Names
    ("# x, y\n#from,to\n1,2\n", {}, {"source": [1], "target": [2]}),
    ('"#1",2\n#2,3\n', {}, {"source": ["#1", "#2"], "target": ["2", "3"]}),
    ('a,b\n1,2\n"#2",3\n', {"source": "a", "target": "b"}, {"a": ["1", "#2"], "b": ["2", "3"]}),
    ("# x\n2019,2020\na,b\n", {"by": "2019"}, {"2019": ["a"], "2020": ["b"]}),
    ("email\nann@x\n", {"by": "email"}, {"email": ["ann@x"]}),
]


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize(("text", "roles", "expected"), CASES)
def test_types(text: str, roles: dict[str, Any], expected: dict[str, list[Any]], block_bytes: int) -> None:
    columns = read_columns(text, "t.csv", block_bytes=block_bytes, **roles)
    found, wanted = ([(type(word), word) for name in expected for word in table[name]] for table in (columns, expected))
    assert found == wanted


def test_a_note_counts_words_for_missing_keys() -> None:
    notes: list[str] = []
    read_columns('n,k,m\n1,NA,"x"\n2,b,NA\n3,NULL,NA\n', by=["k", "m"], format="csv", note=notes.append)
    assert [note.split(": ")[1] for note in notes] == ["2 values of 'k' are NA, NULL or \\N, texts like others"]


TWINS = "' y' and 'y' differ only in the blanks around them, in column 'a', row 1"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("a,b,km\nx, y,1\ny,z,2\n", KM, f"{TWINS}\nHint: remove the blanks next to the separators, or keep both"),
    ("a,b,km\ny,x,1\nz, y,2\n", KM, "' y' and 'y' differ only in the blanks around them, in column 'a', row 0"),
    ('a,b,km\nx, "y",1\ny,z,2\n', KM, "' \"y\"' and 'y' differ only in the blanks around them"),
    ('a,b,km\n1,2,"1,200"\n', KM, "separates thousands, read the file with thousands=','; if ',' is the decimal"),
    ('a,b,km\n1,2,"1,200.5"\n', KM, "if ',' separates thousands, read the file with thousands=','"),
    ("a;b;km\n1;2;1.200,5\n", KM, "if '.' separates thousands, read the file with thousands='.', decimal=','"),
    ("a;b;km\n1;2;1,5\n", KM, "line 2: not a number in column 3 (km), '1,5'"),
    ("1 2 1,5\n2 3 2,5\n", {}, "commas give 2 in the first row ('1 2 1', '5'); blanks give 3"),
    ("a;b;1,5\nc;d;2\n", {}, "Hint: if ',' is the decimal sign, read the file with decimal=','"),
    ("u v w\n1 2 1,5\n", {}, "Hint: if ',' is the decimal sign, read the file with decimal=','"),
    ("a;b;km\n1;2;1,5\n", KM, "Hint: if ',' is the decimal sign, read the file with decimal=','"),
    ("a;b;km\n1;2;1.5\n", {**KM, "decimal": ","}, "not a number in column 3 (km), '1.5'"),
    (f"a;b;km\n1;2;{'7' * 39}\n1;2;NA\n1;2;0,5\n", {**KM, "decimal": ","}, "line 2: a number beyond 38 digits"),
    ("a;b;km\n1;2;1,20\n", {**KM, "thousands": ","}, "not a number in column 3 (km), '1,20'"),
    ("a,b,km,n\n1,2,LH1,5\n", KM, "'km' must hold numbers, and holds 'LH1'\nHint: name a column of numbers, for"),
    ("a,b,km\n1,2,3\n2,3,far\n", KM, "line 3: not a number in column 3 (km), 'far'"),
    ("#1,#2,5\n#2,#3,6\n4,5,6\n", {}, "line 1: a comment, or a row whose first value begins with a mark: '#1,#2,5'"),
    ("from,to\na,b\nfrom,to\nc,d\n", {}, "row 1 repeats the header"),
    ("from,to\n1,2\n# 2,3\n4,5\n", {}, "line 3: a comment, or a row whose first value begins with a mark: '# 2,3'"),
    ("a,b\n1.0,2\nNA,3\n", ENDS, "column 1 (a) holds numbers that are not whole, '1.0'"),
    ("src,dst,cost,tag\n1,2,3,x\n", {"source": "source", "target": "target", "weight": "weight"}, "target='dst'"),
    ('"","from","to","cost"\n"1","a","b",5\n', {"source": "x", "target": "y", "weight": "weight"}, "weight='cost'"),
    ("a,b,tag\n1,2,x\n", {**ENDS, "weight": "weight"}, "Hint: name your columns with source=, target= and weight="),
]


@pytest.mark.parametrize(("text", "roles", "message"), REFUSED)
def test_refused(text: str, roles: dict[str, Any], message: str) -> None:
    assert message in refusal(text, "t.csv", **roles)


def test_blanks_of_twins_can_be_kept() -> None:
    groups = 'a,b,g\nx,y,""\ny,z," "\n'  # blanks alone are no value with blanks around it
    assert read_columns(groups, "t.csv", **ENDS, by="g")["g"] == ["", " "]
    assert "differ only in the blanks around them" in refusal('a,b\nx,""\ny," "\n', "t.csv", **ENDS)
    for roles in ({**KM, "text": ["a"]}, {}):  # without roles no column is named as an id
        assert read_columns("a,b,km\nx, y,1\ny,z,2\n", "t.csv", **roles)["b"] == [" y", "z"]


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize(
    ("text", "roles", "expected"),
    [
        ("1.0 2 5\n2 3 7\n", {"text": ["source"]}, {"source": ["1.0", "2"], "target": ["2", "3"], "weight": [5, 7]}),
        ("from to w\n1.0 2 5\n2 3 7\n", {"text": ["from"]}, {"from": ["1.0", "2"], "to": ["2", "3"], "w": [5, 7]}),
        ("a b km zip\n1 4 5 6\n4 5 6 01067\n", {}, {"source": [1, 4], "km": [5, 6], "zip": ["6", "01067"]}),
        ("a b km\na b 5\nb c 6\n", KM, {"a": ["a", "b"], "b": ["b", "c"], "km": [5, 6]}),
        ("1 4 5 1\n4 5 6 0.5\n", {"by": "column_4"}, {"weight": [5, 6], "column_4": ["1", "0.5"]}),
        ("1 4 5 1\n4 5 6 2\n", {"text": ["weight", "column_4"]}, {"weight": ["5", "6"], "column_4": ["1", "2"]}),
        ("1 4 5 1\n4 5 6 02\n", {"weight": "column_4"}, {"weight": [5, 6], "column_4": [1, 2]}),
    ],
)
def test_columns_between_blanks(
    text: str, roles: dict[str, Any], expected: dict[str, list[Any]], block_bytes: int
) -> None:
    columns = read_columns(text, block_bytes=block_bytes, **roles)
    assert {name: columns[name] for name in expected} == expected


def test_signs_of_numbers_belong_to_tables(tmp_path: Path) -> None:
    (tmp_path / "a.gr").write_text("a 1 2 4\n")
    with pytest.raises(FormatError, match="dimacs has one way to write numbers"):
        read_edges(tmp_path / "a.gr", decimal=",")
    with pytest.raises(ValueError, match="decimal and thousands are both ','"):
        read_edges(tmp_path / "a.gr", decimal=",", thousands=",")
    with pytest.raises(ColumnNotFoundError, match="has no column 'km'"):
        read_edges(tmp_path / "a.gr", weight="km")


def _with_pandas(table: pa.Table, path: Path) -> None:
    table.to_pandas(types_mapper=pd.ArrowDtype).to_csv(path, index=False)


def _with_polars(table: pa.Table, path: Path) -> None:
    pl.DataFrame(table).write_csv(path)


def _with_duckdb(table: pa.Table, path: Path) -> None:
    duckdb.from_arrow(table).write_csv(str(path))


def _with_python(table: pa.Table, path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(row.values() for row in table.to_pylist())


WRITERS = {
    "pandas": _with_pandas,
    "polars": _with_polars,
    "duckdb": _with_duckdb,
    "python": _with_python,
    "pyarrow": lambda table, path: pyarrow.csv.write_csv(table, path),
    "dfmst": write_edges,
}
words = st.one_of(
    st.sampled_from(
        ["0170", "170", " y", "y", "y ", '"', 'a"b', "x, y", "two\nlines", "1e5", "NA", "Köln", "-0", "+7"]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=4),
    st.integers(-(2**63), 2**63 - 1).map(str),
)
numbers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("writer", WRITERS)
@examples(60)
@given(data=st.data())
def test_files_of_other_libraries(data: st.DataObject, writer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is read by role is the table that was written, or an error says why not."""
    ids, weights = data.draw(st.sampled_from([(words, floats), (numbers, numbers)]))
    rows = data.draw(st.integers(1, 8))
    kinds = {"a": ids, "note": words, "km": weights, "b": ids}
    lists: dict[str, list[Any]] = {
        name: data.draw(st.lists(kind, min_size=rows, max_size=rows)) for name, kind in kinds.items()
    }
    path = tmp_path_factory.mktemp("files") / "t.csv"
    WRITERS[writer](pa.table(lists), path)
    try:
        found = open_edges(path, **KM, block_bytes=data.draw(st.sampled_from([16, 1 << 20]))).read_all()
    except InvalidEdgesError as error:
        reasons = ("differ only in the blanks", "that are not whole", "would round", "beyond")
        assert any(reason in str(error) for reason in reasons), error
        return
    if found.schema.field("a").type == pa.string():
        assert (found["a"].to_pylist(), found["b"].to_pylist()) == (lists["a"], lists["b"])
    else:  # NA is a missing id next to whole numbers
        ends = [[None if word == "NA" else str(word) for word in lists[name]] for name in "ab"]
        assert [[word if word is None else str(word) for word in found[name].to_pylist()] for name in "ab"] == ends
    assert [float(weight) for weight in found["km"].to_pylist()] == [float(weight) for weight in lists["km"]]
    assert found["note"].cast(pa.string()).to_pylist() == lists["note"]
