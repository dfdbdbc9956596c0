"""``dfmst components``."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet
import pytest


def test_labels(dfmst, roads, rows):
    result = dfmst("components", roads, "-o", "out.parquet")
    expected = {"vertex": ["a", "b", "c", "d", "x", "y"], "component": ["a", "a", "a", "a", "x", "x"]}
    assert rows("out.parquet") == expected
    assert result.stderr.startswith("2 components of 6 vertices, the largest of 4 vertices, ")
    assert result.stdout == ""


def test_json(dfmst, roads):
    summary = json.loads(dfmst("components", roads, "-o", "out.csv", "--json").stdout)
    assert set(summary.pop("seconds")) == {"import", "read", "solve", "write", "total"}
    assert summary == {
        "input": ["roads.parquet"],
        "output": "out.csv",
        "input_rows": 9,
        "vertices": 6,
        "components": 2,
        "largest": 4,
    }


def test_standard_output(dfmst, parquet):
    parquet("in.parquet", {"a": [7, 3], "b": [5, 3]})
    result = dfmst("components", "in.parquet", "-s", "a", "-t", "b")
    assert result.stdout == '"vertex","component"\n3,3\n5,5\n7,5\n'


def test_self_loops_are_vertices(dfmst, parquet, rows):
    parquet("loops.parquet", {"source": [9, 5], "target": [9, 5]})
    result = dfmst("components", "loops.parquet", "-o", "out.parquet")
    assert rows("out.parquet") == {"vertex": [5, 9], "component": [5, 9]}
    assert result.stderr.startswith("2 components of 2 vertices, the largest of 1 vertex, ")


@pytest.mark.parametrize("type_", [pa.int64(), pa.string()])
def test_no_rows(dfmst, parquet, type_):
    parquet("none.parquet", {"source": pa.array([], type_), "target": pa.array([], type_)})
    result = dfmst("components", "none.parquet", "-o", "out.parquet")
    assert result.stderr.startswith("0 components of 0 vertices, ")
    table = pyarrow.parquet.read_table("out.parquet")
    assert table.schema == pa.schema([("vertex", type_), ("component", type_)])
    assert table.num_rows == 0


def test_invalid_rows(dfmst, parquet, rows):
    parquet("in.parquet", {"source": [1, None], "target": [2, 8]})
    dfmst("components", "in.parquet", "-o", "out.parquet", code=2)
    dfmst("components", "in.parquet", "-o", "out.parquet", "--invalid", "drop")
    assert rows("out.parquet") == {"vertex": [1, 2], "component": [1, 1]}
