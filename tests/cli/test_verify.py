"""``dfmst verify``: what a file must hold to pass, and what it says where it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest


@pytest.fixture
def forest(roads, parquet):
    """Write some rows of the roads as a forest."""
    table = pyarrow.parquet.read_table(roads)
    return lambda rows: parquet("forest.parquet", table.take(pa.array(rows, pa.int64())))


@pytest.mark.parametrize(
    ("rows", "options", "kind", "weight"),
    [
        ([1, 2, 4, 6], [], "minimum spanning", "total weight 13, "),
        ([0, 1, 5, 6], ["--maximum"], "maximum spanning", "total weight 22, "),
        ([0, 1, 2, 6], ["--unweighted"], "spanning", ""),
    ],
)
def test_a_forest(dfmst, roads, forest, rows, options, kind, weight):
    forest(rows)
    result = dfmst("verify", roads, "forest.parquet", *options)
    start = f"forest.parquet is a {kind} forest of roads.parquet: 4 rows, {weight}2 components, "
    assert result.stderr.startswith(start)
    assert result.stdout == ""


def test_weights_without_a_total(dfmst, parquet):
    days = pa.array([1, 2], pa.date32())
    file = parquet("days.parquet", pa.table({"source": [1, 2], "target": [2, 3], "weight": days}))
    result = dfmst("verify", file, file)
    assert result.stderr.startswith(f"{file} is a minimum spanning forest of {file}: 2 rows, 1 component, ")


@pytest.mark.parametrize("streamed", [False, True])
def test_a_file_says_its_columns(dfmst, parquet, monkeypatch, streamed):
    import dfmst as package

    monkeypatch.setattr("dfmst.stream.fits", lambda *arguments: not streamed)
    limit = ["--memory-limit", "1GiB"] if streamed else []
    columns = {
        "a": [0, 1, 0],
        "b": [1, 2, 2],
        "km": [3, 1, 2],
        "day": [1, 1, 2],
        "weight": [1, 2, 3],
        "built": [True, False, False],
    }
    table = pa.table({**columns, "built": [True, False, False]})
    edges = parquet("roads.parquet", table)
    for names in (("a", "b", "km"), ("a", "b", None), (["a"], ["b"], ["km", "day"]), (["a", "day"], ["b", "km"], "km")):
        for maximum in (False, True)[: 1 if names[2] is None else 2]:
            package.forest.solve(table, *names, maximum=maximum).write("forest.parquet")
            stderr = dfmst("verify", edges, "forest.parquet", *limit).stderr
            kind = "spanning" if names[2] is None else "maximum spanning" if maximum else "minimum spanning"
            assert stderr.startswith(f"forest.parquet is a {kind} forest of roads.parquet: ")
            new = dfmst("update", "forest.parquet", edges, "-o", "later.parquet").stderr
            assert new.startswith(f"{'maximum' if maximum else 'minimum'} spanning forest: ")
    for conditions in ({"by": "day"}, {"by": ["day", "weight"]}, {"keep": "built"}, {"drop": "built"}):
        package.forest.solve(table, "a", "b", "km", **conditions).write("forest.parquet")
        assert "is a minimum spanning forest" in dfmst("verify", edges, "forest.parquet", *limit).stderr
    package.forest.solve(table, "a", "b", "km").write("forest.parquet")
    code = 2 if streamed else 1  # a stream compares the record
    assert "forest.parquet" in dfmst("verify", edges, "forest.parquet", "-w", "weight", *limit, code=code).stderr


@pytest.mark.parametrize(
    "rows",
    [[1, 2, 4], [1, 2, 4, 6, 6], [0, 1, 5, 6], [1, 2, 4, 5, 6], [1, 2, 4, 6, 8], []],
    ids=["not spanning", "a row twice", "not lightest", "a cycle", "a self-loop", "nothing"],
)
def test_violations(dfmst, roads, forest, rows):
    forest(rows)
    result = dfmst("verify", roads, "forest.parquet", code=1)
    assert result.stderr.startswith("forest.parquet is wrong: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    as_json = dfmst("verify", roads, "forest.parquet", "--json", code=1)
    summary = json.loads(as_json.stdout)
    assert summary["ok"] is False
    assert f"forest.parquet is wrong: {summary['first_violation']}\n" == result.stderr == as_json.stderr


def test_json(dfmst, roads, forest):
    forest([1, 2, 4, 6])
    summary = json.loads(dfmst("verify", roads, "forest.parquet", "--json").stdout)
    assert set(summary.pop("seconds")) == {"import", "read", "verify", "total"}
    assert summary == {
        "edges": "roads.parquet",
        "forest": "forest.parquet",
        "ok": True,
        "rows": 4,
        "components": 2,
        "total_weight": 13,
        "first_violation": None,
    }


def test_across_formats(dfmst, roads):
    dfmst("forest", roads, "-o", "forest.tsv")
    dfmst("verify", roads, "forest.tsv")


@pytest.mark.parametrize("missing", [0, 1])
def test_missing_file(dfmst, roads, missing):
    names = ["roads.parquet", "roads.parquet"]
    names[missing] = "none.parquet"
    result = dfmst("verify", *names, code=2)
    message = "none.parquet: no such file or directory"
    assert result.stderr == f"Error: {message}\nHint: check the name, and the directory you are in\n"


def test_missing_column(dfmst, roads):
    result = dfmst("verify", roads, roads, "-w", "km", code=2)
    columns = "'source', 'target', 'weight', 'name'"
    message = f"roads.parquet has no column 'km'; its columns: {columns}"
    hint = "name your columns, for example -w weight; --unweighted if all weights are equal"
    assert result.stderr == f"Error: {message}\nHint: {hint}\n"


def test_missing_column_of_the_forest(dfmst, roads, parquet):
    parquet("forest.parquet", {"source": ["a"], "target": ["b"]})
    result = dfmst("verify", roads, "forest.parquet", code=2)
    assert result.stderr.startswith("Error: forest.parquet has no column 'weight'; its columns: 'source', 'target'\n")


def test_texts_of_digits_come_back_as_texts(dfmst, parquet):
    parquet("e.parquet", {"source": ["1", "2"], "target": ["2", "3"], "weight": [1.5, 2.0], "zip": ["7", "8.5"]})
    dfmst("forest", "e.parquet", "-o", "f.csv")
    assert "is a minimum spanning forest" in dfmst("verify", "e.parquet", "f.csv").stderr


@pytest.mark.parametrize("name", ["weight", "x"])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("uint32", pa.array([3, 1, 2])),
        ("float32", pa.array([0.7, 0.1, 0.3])),
        ("double", pa.array([3.5, 1.0, 2.0])),
        ("time32[s]", pa.array([7_261, 3_600, 3_661], pa.int32())),
        ("time64[us]", pa.array([7_200_000_000, 3_600_000_000, 3_600_000_005])),
        ("date32", pa.array([4, 1, 2], pa.int32())),
        ("timestamp[ns]", pa.array([4, 1, 2])),
        ("duration[ms]", pa.array([4, 1, 2])),
        ("bool", pa.array([True, False, True])),
    ],
)
def test_text_forgets_types(dfmst, parquet, name, kind, values):
    columns = {"source": pa.array([1, 2, 1], pa.uint32()), "target": pa.array([2, 3, 3], pa.uint32())}
    parquet("edges.parquet", {**columns, "weight": [3.5, 1.0, 2.0], name: values.cast(kind)})
    dfmst("forest", "edges.parquet", "-o", "forest.csv")
    dfmst("verify", "edges.parquet", "forest.csv")


def test_types_that_differ_for_good(dfmst, roads):
    Path("forest.csv").write_text("source,target,weight\nb,c,2.5\n")
    result = dfmst("verify", roads, "forest.csv", code=2)
    assert result.stderr.startswith("Error: column 'weight' holds int64 weights in the edges and double weights ")


def test_invalid_rows(dfmst, parquet):
    parquet("edges.parquet", {"source": [1, None, 2], "target": [2, 3, 3], "weight": [1.0, 1.0, 2.0]})
    dfmst("forest", "edges.parquet", "-o", "forest.parquet", "--invalid", "drop")
    dfmst("verify", "edges.parquet", "forest.parquet", code=2)
    dfmst("verify", "edges.parquet", "forest.parquet", "--invalid", "drop")
