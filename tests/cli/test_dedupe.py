"""``dfmst linked-rows``."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest

PEOPLE = {
    "email": ["ann@x", None, "ann@x", "bob@y", "ann@x"],
    "phone": [None, 5, 5, 6, None],
    "length": [1, 5, 3, 2, 4],
}


@pytest.fixture
def people(parquet):
    parquet("people.parquet", PEOPLE)
    return "people.parquet"


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "330MiB"]], ids=["memory", "stream"])
def test_rows_and_groups(dfmst, people, rows, limit, monkeypatch):
    import dfmst as library

    monkeypatch.setattr(library.stream, "fits", lambda *_: not limit)
    options = [people, "--on", "email", "--on", "phone", *limit, "-o", "out.parquet"]
    assert dfmst("linked-rows", *options).stderr.startswith("2 rows of 2 groups, linked by email, or by phone, ")
    assert rows("out.parquet") == {"email": ["ann@x", "bob@y"], "phone": [None, 6], "length": [1, 2], "group": [0, 3]}
    dfmst("linked-rows", *options, "--keep", "max:length")
    assert rows("out.parquet")["length"] == [5, 2]
    dfmst("linked-rows", *options, "--keep", "last")
    assert rows("out.parquet")["length"] == [2, 4]
    result = dfmst("linked-rows", *options, "--keep", "all", "--max-group", 2, "--json")
    summary = json.loads(result.stdout)
    assert (summary["input_rows"], summary["rows"], summary["groups"]) == (5, 5, 4)
    assert summary["ignored_values"] == {"email": 1, "phone": 0}
    assert "values that more than 2 rows have link nothing: 1 of email; one is in 3 rows" in result.stderr
    assert rows("out.parquet")["group"] == [0, 1, 1, 3, 4]
    together = dfmst("linked-rows", people, "--on", "email,phone", "--on", "length", "-o", "out.csv", *limit).stderr
    assert "linked by email and phone together, or by length, " in together
    assert pyarrow.csv.read_csv("out.csv")["group"].to_pylist() == [0, 1, 2, 3, 4]
    result = dfmst("linked-rows", people, "--on", "email", "--on", "phone", *limit)
    assert result.stdout == "email,phone,length,group\nann@x,,1,0\nbob@y,6,2,3\n"
    assert result.stderr.startswith("2 rows of 2 groups, ")


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "330MiB"]], ids=["memory", "stream"])
def test_blank_texts(dfmst, parquet, rows, limit):
    parquet("blank.parquet", {"email": ["", "a", "", " ", "a"]})
    for option, group in (([], [0, 1, 2, 3, 1]), (["--empty-links"], [0, 1, 0, 3, 1])):
        dfmst("linked-rows", "blank.parquet", "--on", "email", "--keep", "all", "-o", "out.parquet", *limit, *option)
        assert rows("out.parquet")["group"] == group
    parquet("blank.parquet", {"a": [1], "b": [1], "a,b": [1]})
    fault = dfmst("linked-rows", "blank.parquet", "--on", "a,b", *limit, code=2).stderr
    assert "--on a,b is a column of blank.parquet, and a key of its columns a, b\n" in fault


def test_keys_of_blanks_in_text_are_no_keys(dfmst, rows):
    Path("blank.csv").write_text('email,n\n"",1\na,2\n"",3\n" ",4\na,5\n')
    dfmst("linked-rows", "blank.csv", "--on", "email", "--keep", "all", "-o", "out.parquet")
    assert rows("out.parquet")["group"] == [0, 1, 2, 3, 1]


def test_faults(dfmst, people):
    assert (
        "write first, last, all, max:COLUMN or min:COLUMN"
        in dfmst("linked-rows", people, "--on", "email", "--keep", "newest", code=2).stderr
    )
    fault = dfmst("linked-rows", people, "--on", "emial", "-o", "out.parquet", code=2).stderr
    assert "did you mean 'email'? Else name the columns with --on" in fault
