"""Which separator a text table has: the one that all rows agree on, the one that is named, or an error."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from dfmst import stream
from dfmst.errors import DfmstError, FormatError
from tests.support.files import read_columns, refusal
from tests.support.lanes import examples

NAMED = {"source": "user", "target": "team", "weight": "days"}
READ: list[tuple[str, str, dict[str, Any], dict[str, list[Any]]]] = [
    # Tabs around values with blanks, under any name
    *(
        (name, "user\tteam\tdays\nAnna\tTeam 3\t40\nBo Li\tTeam 4\t3\n", NAMED, {"user": ["Anna", "Bo Li"]})
        for name in ("a.txt", "a.tab", "a.edges", "a", "a.tsv", "a.csv")
    ),
    ("a.txt", "user\tteam\tdays\nAnna\tTeam 3\t40\n", {}, {"source": ["Anna"], "target": ["Team 3"], "days": [40]}),
    ("a.txt", "Anna\tTeam 3\t\nBo\tTeam 5\t4\n", {}, {"target": ["Team 3", "Team 5"], "weight": [None, 4]}),
    ("a.txt", "# a note\nAnn\tBo\n# y\n\n#Cy\tDi E\n", {}, {"source": ["Ann", "#Cy"], "target": ["Bo", "Di E"]}),
    ("a.txt", "ann\tbob\t\ncy\tdi\t\n", {}, {"source": ["ann", "cy"], "target": ["bob", "di"]}),
    (
        "a.csv",
        'u v\nAnn Bo\n# a note\n#Cy "D i"\n',
        {"source": "u", "target": "v"},
        {"u": ["Ann", "#Cy"], "v": ["Bo", "D i"]},
    ),
    # Bars, and blanks next to another separator
    ("a.txt", "source|target|weight\nNew York|Bonn|1\n", {}, {"source": ["New York"], "weight": [1]}),
    ("a", "a|b|1\nb|c|2\n", {}, {"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 2]}),
    ("a.csv", "a|b|1\nb|c|2\n", {}, {"source": ["a", "b"], "weight": [1, 2]}),
    ("a.txt", "a, b, 1\nb, c, 2\n", {}, {"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 2]}),
    ("a.txt", "1 , 2 , 3\n2 , 3 , 4\n", {}, {"source": [1, 2], "target": [2, 3], "weight": [3, 4]}),
    ("a.dat", '1,"New York","A"\n2,"San Jose","B"\n', {}, {"source": ["1", "2"], "target": ["New York", "San Jose"]}),
    # Quotes around values between blanks, as R writes them
    ("a.txt", '"from" "to" "w"\n"New  York" "a ""b""" 3\n', {}, {"source": ["New  York"], "target": ['a "b"']}),
    ("a.txt", '"1" "a" 3\n"2" NA 4\n', {}, {"source": ["1", "2"], "target": ["a", None]}),
    ("a.txt", 'a  "b c"\n"x\ny"\td\n', {}, {"source": ["a", "x\ny"], "target": ["b c", "d"]}),
    # Separators that are named, by their sign or their name
    ("a.txt", "(0, 0) (1, 0)\n", {"sep": " ", "text": "weight"}, {"source": ["(0,"], "target": ["0)"]}),
    ("a.txt", "1,2 3,4\n", {"sep": "blank"}, {"source": ["1,2"], "target": ["3,4"]}),
    ("a.txt", "1,2 3,4\n", {"sep": ","}, {"source": ["1"], "target": ["2 3"], "weight": [4]}),
    ("a.txt", "a b\tc d\t1\n", {"sep": r"\t"}, {"source": ["a b"], "target": ["c d"], "weight": [1]}),
    ("a.tsv", "a;b\n", {"sep": "semicolon"}, {"source": ["a"], "target": ["b"]}),
    ("a.csv", "a;b,1;c\n", {"sep": "bar", "by": "source"}, {"source": ["a;b,1;c"]}),
    # In a file that is known as CSV, commas come first
    ("a.csv", "New York,Los Angeles,9\nSan Jose,San Diego,7\n", {}, {"source": ["New York", "San Jose"]}),
    ("a.csv", "a;x,b;y,1\nc;x,d;y,2\n", {}, {"source": ["a;x", "c;x"], "target": ["b;y", "d;y"]}),
    ("a.csv", "name\nAnn Lee\nBo Li\n", {"by": "name"}, {"name": ["Ann Lee", "Bo Li"]}),
]


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize(("name", "text", "options", "expected"), READ)
def test_read(name: str, text: str, options: dict[str, Any], expected: dict[str, Any], block_bytes: int) -> None:
    columns = read_columns(text, name, block_bytes=block_bytes, **options)
    assert {column: columns[column] for column in expected} == expected


R = "line 2: too many columns: 4 instead of 3"
BOTH = "several separators give all rows the same number of values: "
REFUSED = [
    # A heading with a name fewer than the rows have values, as R writes the names of rows
    ("a.txt", "from to score\n1 9606 10090 5\n2 9606 7 6\n", {}, R),
    ("a.txt", "from\tto\tscore\n1\t9606\t10090\t5\n", {}, R),
    ("a", '"from" "to" "score"\n"1" "x y" "z" 5\n', {}, R),
    ("a.csv", "from,to,score\n1,9606,10090,5\n", {}, R),
    ("a.tsv", "from\tto\tscore\n1\t9606\t10090\t5\n", {}, R),
    ("a.txt", "from|to|score\nr1|a|b|5\n", {"sep": "|"}, R),
    # Lines between the rows of tables that are drawn
    ("a.md", "| source | target |\n|--------|-------:|\n| a | b |\n", {}, "line 2: a line of a drawn table, not a row"),
    ("a.txt", "+----+---+\n| a | b |\n+----+---+\n", {}, "line 1: a line of a drawn table, not a row"),
    ("a.csv", "source|target\n------|------\na|b\n", {}, "line 2: a line of a drawn table, not a row"),
    # Two separators fit
    ("a.txt", "(0, 0) (1, 0)\n(0, 1) (1, 1)\n", {}, f"{BOTH}commas give 3 in the first row ('(0', '0) (1', '0)')"),
    (
        "a.txt",
        "1,2 3,4\n",
        {},
        "name it: sep=',' or sep=' '; if ',' is the decimal sign, read the file with decimal=','",
    ),
    ("a.txt", "New York,Bonn\nSan Jose,Rome\n", {}, "blanks give 2 in the first row ('New', 'York,Bonn')"),
    ("a.txt", "Ann B\tx\nCy D\ty\n", {}, "name it: sep='tab' or sep=' '"),
    ("a.csv", "a;b;1,5\nc;d;2,5\n", {}, f"{BOTH}commas give 2"),
    ("a.csv", "(0, 1)\tb\t2\n", {}, f"{BOTH}commas give 2"),
    ("a.csv", "from city;to city\nb 1;1 7\nz c;1 2\n", {}, f"{BOTH}semicolons give 2"),
    ("a.csv", 'x\t"a,b"\n', {}, f"{BOTH}commas give 2"),
    # None fits, and the first row has two
    ("a.txt", "a b,c\nd,e,f\n", {}, "no separator gives all rows the same number of values: commas give 2"),
    ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n", {"sep": ","}, "one way to separate values"),
]


@pytest.mark.parametrize(("name", "text", "options", "message"), REFUSED)
def test_refused(name: str, text: str, options: dict[str, Any], message: str) -> None:
    assert message in refusal(text, name, **options)


def test_a_stream_of_parquet_asks_for_no_separator(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann B\tx\nCy D\ty\n")
    with pytest.raises(FormatError, match=r"not a Parquet file(?s:.*)convert other formats with dfmst convert"):
        stream.minimum_spanning_forest(tmp_path / "a.txt")


def test_an_unknown_separator() -> None:
    with pytest.raises(ValueError, match=r"sep must be one of .*'tab'.*, not ':'"):
        read_columns("a:b\n", sep=":")


def _quoted(rows: list[list[Any]], sep: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=sep, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _joined(rows: list[list[Any]], sep: str) -> str:
    return "".join(sep.join(map(str, row)) + "\n" for row in rows)


pieces = st.sampled_from(
    ["a", "New York", "x", "7", "12", "1.5", ",", ", ", "\t", ";", "|", " ", '"', "(", ")", "(0, 1)", "b\n"]
)
names = (
    st.lists(pieces, min_size=1, max_size=3)
    .map("".join)
    .filter(lambda name: name.strip(" \n\t") == name.rstrip(",;|") and name)
)
weights = st.sampled_from([0, 3, 0.5, 12.25])
headings = st.sampled_from([None, ["source", "target", "weight"], ["from city", "to city", "km"], ["a", "b", "c"]])
files = st.sampled_from(["t.csv", "t.tsv", "t.txt", "t.tab", "t.edges", "t", "standard-input"])


@examples(600)
@given(st.lists(st.tuples(names, names, weights), min_size=1, max_size=5), headings, files, st.sampled_from(",\t;| "))
def test_written_with_any_separator(rows: list[Any], heading: list[str] | None, name: str, sep: str) -> None:
    """What is read is what was written, or an error: never another table."""
    table = [heading, *rows] if heading else rows
    assume(sep != " " or "\t" not in "".join(name for row in rows for name in row[:2]))  # a tab is a blank
    plain = not any(mark in str(value) for row in table for value in row for mark in (sep, '"', "\n"))
    for text in (_quoted(table, sep), *([_joined(table, sep)] if plain else [])):
        for options in ({}, {"sep": sep}):
            options |= dict(zip(("source", "target", "weight"), heading or (), strict=False))
            try:
                columns = [*read_columns(text, name, **options).values()]
            except DfmstError as error:
                assert name in str(error)
                continue
            found = [(str(source), str(target), weight) for source, target, weight in zip(*columns, strict=True)]
            assert found == rows, (name, text)
