"""``dfmst verify``: what a file must hold to pass, and what it says where it does not."""

from __future__ import annotations

import json

import pyarrow.parquet
import pytest


@pytest.fixture
def forest(roads, parquet):
    """Write some rows of the roads as a forest."""
    table = pyarrow.parquet.read_table(roads)
    return lambda rows: parquet("forest.parquet", table.take(rows))


def test_minimum(dfmst, roads, forest):
    forest([1, 2, 4, 6])
    result = dfmst("verify", roads, "forest.parquet")
    start = "forest.parquet is a minimum spanning forest of roads.parquet: 4 rows, total weight 13, 2 components, "
    assert result.stderr.startswith(start)
    assert result.stdout == ""


def test_maximum(dfmst, roads, forest):
    forest([0, 1, 5, 6])
    result = dfmst("verify", roads, "forest.parquet", "--maximum")
    assert result.stderr.startswith("forest.parquet is a maximum spanning forest of roads.parquet: 4 rows")
    dfmst("verify", roads, "forest.parquet", code=1)


def test_unweighted(dfmst, roads, forest):
    forest([0, 1, 2, 6])
    result = dfmst("verify", roads, "forest.parquet", "--unweighted")
    assert result.stderr.startswith("forest.parquet is a spanning forest of roads.parquet: 4 rows, 2 components, ")


@pytest.mark.parametrize(
    "rows",
    [[1, 2, 4], [1, 2, 4, 6, 6], [0, 1, 2, 6], [1, 2, 4, 5, 6], [1, 2, 4, 6, 8], []],
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
    assert set(summary.pop("seconds")) == {"read", "verify", "total"}
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
    assert result.stderr.startswith("Error: column 'km' not found; ")
