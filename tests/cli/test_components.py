"""``dfmst components``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst.stream  # noqa: F401 - before tests replace constants that its modules import


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
    assert result.stdout == "vertex,component\n3,3\n5,5\n7,5\n"  # a self-loop is a vertex
    assert result.stderr.startswith("2 components of 3 vertices, the largest of 2 vertices, ")


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


@pytest.fixture
def parts(monkeypatch) -> pa.Table:
    """Files part-*.parquet that a limit of 2 MB does not hold in memory; the table that they make."""
    monkeypatch.setattr("dfmst._fold.budget.FIXED", 0)
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 10_000)
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 60_000, (2, 50_000)), rng.integers(0, 500, 50_000)
    table = pa.table({"a": ends[0], "b": ends[1], "km": weight})
    for number in range(2):
        pyarrow.parquet.write_table(table.slice(number * 25_000, 25_000), f"part-{number}.parquet")
    return table


FILES = ("part-0.parquet", "part-1.parquet", "-s", "a", "-t", "b")


@pytest.mark.parametrize(
    ("limit", "words"), [("2MB", ["components"]), ("9MB", ["clusters", "-w", "km", "-d", "9", "-d", "40"])]
)
def test_within_a_limit(dfmst, parts, limit, words):
    if words[0] == "clusters":
        Path("part-2.parquet").symlink_to("part-1.parquet")  # more rows than the limit holds
    files = [*FILES, *(["part-2.parquet"] if words[0] == "clusters" else [])]
    whole = dfmst(*words, *files, "-o", "whole.parquet").stderr
    found = dfmst(*words, *files, "-o", "out.parquet", "--memory-limit", limit).stderr
    assert found.rpartition(", ")[0] == whole.rpartition(", ")[0]
    assert pyarrow.parquet.read_table("out.parquet").equals(pyarrow.parquet.read_table("whole.parquet"))
    one, other = (json.loads(dfmst(*words, *files, "--json", *more).stdout) for more in ([], ["--memory-limit", limit]))
    assert "fold" in other["seconds"]
    assert {**one, "seconds": 0} == {**other, "seconds": 0}


@pytest.mark.parametrize("words", [["components"], ["clusters", "-w", "km", "-k", "20000"]])
def test_a_checkpoint_is_taken_up_and_removed(dfmst, parts, words, monkeypatch):
    def interrupt(progress):
        def tell(done, total):
            if done > 30_000:
                raise KeyboardInterrupt

        return tell

    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
    options = [*words, *FILES, "-o", "out.parquet", "--checkpoint", "saved"]
    with monkeypatch.context() as patch:
        patch.setattr("dfmst.cli.console.Progress.bar", interrupt)
        stopped = dfmst(*options, code=130)
    assert "Interrupted: finished work is saved in saved: give the same command again to continue" in stopped.stderr
    assert os.listdir("saved") == ["fold.arrow"]
    assert not Path("out.parquet").exists()
    result = dfmst(*options)
    assert "continuing after 25,000 rows of an earlier run (saved)" in result.stderr
    assert os.listdir("saved") == []
    dfmst(*words, *FILES, "-o", "whole.parquet")
    assert pyarrow.parquet.read_table("out.parquet").equals(pyarrow.parquet.read_table("whole.parquet"))


def test_ids_on_disk(dfmst, parts, monkeypatch):
    monkeypatch.setattr("dfmst._fold.budget.HASHING", 0)
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 2_000)
    table = parts.select(["a", "b"]).to_pandas() * 10**12
    for number in range(2):
        half = pa.Table.from_pandas(table.iloc[number * 25_000 : (number + 1) * 25_000])
        pyarrow.parquet.write_table(half, f"part-{number}.parquet")
    limit = ("--memory-limit", "1MB")
    assert "vertices do not fit a memory limit" in dfmst("components", *FILES, *limit, code=1).stderr
    found = dfmst("components", *FILES, *limit, "--spill-dir", "spill", "-o", "out.parquet").stderr
    assert found.rpartition(", ")[0] == dfmst("components", *FILES, "-o", "whole.parquet").stderr.rpartition(", ")[0]
    assert pyarrow.parquet.read_table("out.parquet").equals(pyarrow.parquet.read_table("whole.parquet"))
    assert os.listdir("spill") == []
