"""``--memory-limit``, ``--checkpoint`` and ``dfmst update``: the same rows as in memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst as library


@pytest.fixture
def parts(monkeypatch) -> pa.Table:
    """Files part-*.parquet that a limit of 16 MB does not hold in memory; the table that they make."""
    monkeypatch.setattr("dfmst._fold.budget.FIXED", 0)
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 10_000)
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 5_000, (2, 300_000)), rng.integers(0, 500, 300_000)
    table = pa.table({"a": ends[0], "b": ends[1], "km": weight, "name": [f"road {row}" for row in range(300_000)]})
    for number in range(3):
        part = table.slice(number * 100_000, 100_000)
        pyarrow.parquet.write_table(part, f"part-{number}.parquet", row_group_size=30_000)
    return table


FILES = ("part-0.parquet", "part-1.parquet", "part-2.parquet", "-s", "a", "-t", "b", "-w", "km")
LIMIT = ("--memory-limit", "16MB")


def in_a_directory() -> tuple[str, ...]:
    """Move the files to parts/; return the options that name their columns."""
    Path("parts").mkdir()
    for name in FILES[:3]:
        Path(name).rename(f"parts/{name}")
    return FILES[3:]


@pytest.mark.parametrize("order", [[], ["--maximum"], ["--unweighted"]])
def test_the_rows_and_the_summary_of_a_run_in_memory(dfmst, parts, order):
    files = [name for name in FILES if "--unweighted" not in order or name not in ("-w", "km")]
    whole = json.loads(dfmst("forest", *files, *order, "-o", "whole.parquet", "--json", "--verify").stdout)
    found = json.loads(dfmst("forest", *files, *order, *LIMIT, "-o", "out.parquet", "--json", "--verify").stdout)
    assert (whole["driver"], found["driver"], found["memory_limit"]) == ("memory", "stream", 16_000_000)
    differing = {name for name in whole if whole[name] != found[name]}
    assert differing - {"peak_memory"} == {"output", "seconds", "driver", "memory_limit"}
    one, other = (pyarrow.parquet.read_table(name) for name in ("whole.parquet", "out.parquet"))
    assert one.equals(other)
    assert json.loads(one.schema.metadata[b"dfmst"]) == json.loads(other.schema.metadata[b"dfmst"])


def test_a_limit_that_the_rows_fit(dfmst, parts):
    summary = json.loads(dfmst("forest", *FILES, "--memory-limit", "1GiB", "--json").stdout)
    assert summary["driver"] == "memory"
    assert summary["algorithm"] == "filter-kruskal"


def test_a_directory_and_a_sentence(dfmst, parts):
    result = dfmst("forest", "parts", *in_a_directory(), *LIMIT, "-o", "out.csv")
    assert result.stderr.startswith("minimum spanning forest: 4,999 of 300,000 rows, total weight ")
    expected = library.minimum_spanning_forest(parts, "a", "b", "km")
    assert library.read_edges("out.csv").to_pydict() == expected.to_pydict()


def test_a_checkpoint_is_taken_up_and_removed(dfmst, parts, monkeypatch):
    class Stop(Exception):
        pass

    def stop(progress):
        def tell(done, total):
            if done > 150_000:
                raise Stop

        return tell

    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
    with monkeypatch.context() as patch:
        patch.setattr("dfmst.cli.console.Progress.bar", stop)
        dfmst("forest", *FILES, *LIMIT, "-o", "out.parquet", "--checkpoint", "saved", code=1)
    assert os.listdir("saved") == ["fold.arrow"]
    assert not Path("out.parquet").exists()
    dfmst("forest", *FILES, *LIMIT, "--maximum", "-o", "out.parquet", "--checkpoint", "saved", code=2)
    dfmst("forest", *FILES, *LIMIT, "-o", "out.parquet", "--checkpoint", "saved")
    assert os.listdir("saved") == []
    expected = library.minimum_spanning_forest(parts, "a", "b", "km")
    assert pyarrow.parquet.read_table("out.parquet").equals(expected)


def test_what_cannot_be_streamed(dfmst, parts):
    library.formats.write_edges(parts, "edges.csv")
    for more in (["forest", "--checkpoint", "saved"], ["linked-rows", "--on", "a"]):
        columns = FILES[3:] if more[0] == "forest" else []
        result = dfmst(more[0], "edges.csv", *columns, *LIMIT, *more[1:], code=2)
        assert "Error: edges.csv is csv: only Parquet " in result.stderr
        assert "dfmst convert edges.csv" in result.stderr
    assert "--trace needs the rows in memory" in dfmst("forest", *FILES, *LIMIT, "--trace", "t.csv", code=2).stderr
    assert "--memory-limit much" in dfmst("forest", *FILES, "--memory-limit", "much", code=2).stderr
    assert "write '2GiB'" in dfmst("forest", *FILES, "--memory-limit", "4", code=2).stderr
    result = dfmst("forest", *FILES, "--memory-limit", "100kB", code=1)
    assert "5,000 vertices do not fit a memory limit" in result.stderr
    assert ", or let rows go to disk: --spill-dir\n" in result.stderr


@pytest.fixture
def poor(parts, monkeypatch) -> pa.Table:
    """The table of `parts` on a machine with 40 MB of free memory."""
    monkeypatch.setattr("dfmst._fold.budget._LEAST_LIMIT", 0)
    monkeypatch.setattr("dfmst.cli.drivers._SMALL", 0)
    monkeypatch.setattr("dfmst._drive.sources.FIXED", 0)
    monkeypatch.setattr("dfmst._fold.budget.free_memory", lambda: 40_000_000)
    return parts


NOTE = "takes more than a quarter of the free memory (10 MiB): reading it in batches (--memory-limit auto)"


@pytest.mark.parametrize("name", ["edges.parquet", "edges.csv", "edges.csv.gz", "edges.arrow"])
def test_large_files_are_streamed_without_being_asked(dfmst, poor, name):
    library.formats.write_edges(poor, name)
    for command in (["forest"], ["components"], ["clusters", "-k", "3"]):
        columns = FILES[3:] if command[0] != "components" else FILES[3:7]
        words = [command[0], name, *columns, *command[1:]]
        result = dfmst(*words, "-o", "out.parquet", "--json")
        whole = dfmst(*words, "-o", "whole.parquet", "--json", "--memory-limit", "1GiB")
        assert (result.stderr, whole.stderr) == (f"{name} {NOTE}\n", "")
        assert pyarrow.parquet.read_table("out.parquet").equals(pyarrow.parquet.read_table("whole.parquet"))
        assert json.loads(result.stdout)["note"] in result.stderr
        assert "note" not in json.loads(whole.stdout)


def test_records_and_forests_in_batches_without_being_asked(dfmst, poor, monkeypatch):
    monkeypatch.setattr("dfmst._drive.linked.HASHING", 0)
    monkeypatch.setattr("dfmst._drive.linked.FIXED", 0)
    library.formats.write_edges(poor, "edges.parquet")
    assert NOTE in dfmst("linked-rows", "edges.parquet", "--on", "a", "-o", "once.parquet").stderr
    assert NOTE in dfmst("forest", "edges.parquet", *FILES[3:], "-o", "forest.parquet").stderr
    assert NOTE in dfmst("verify", "edges.parquet", "forest.parquet", *FILES[3:]).stderr
    library.formats.write_edges(library.read_edges("forest.parquet"), "forest.csv")  # does not say its rows
    assert NOTE not in dfmst("verify", "edges.parquet", "forest.csv", *FILES[3:]).stderr
    assert NOTE not in dfmst("forest", "edges.parquet", *FILES[3:], "--trace", "trace.csv", "-o", "out.csv").stderr


def test_a_quarter_that_is_too_little(dfmst, poor, monkeypatch):
    monkeypatch.setattr("dfmst._fold.budget.RUN_FIXED", 0)
    for free, words in ((800_000, "three times as much"), (80_000_000, "all rows in memory")):
        monkeypatch.setattr("dfmst._fold.budget.free_memory", lambda free=free: free)
        more = [] if free < 10**6 else ["--by", "name"]  # two vertices for each row
        result = dfmst("forest", *FILES, *more, "-o", "out.parquet", "--json")
        assert "vertices do not fit a memory limit of " in result.stderr
        assert f": trying {words}\n" in result.stderr
        assert json.loads(result.stdout)["driver"] == ("memory" if more else "stream")
        assert more or pyarrow.parquet.read_table("out.parquet").equals(
            library.minimum_spanning_forest(poor, "a", "b", "km")
        )


def test_errors_of_text_in_batches_name_the_file(dfmst, poor):
    library.formats.write_edges(poor, "edges.csv")
    with Path("edges.csv").open("a") as file:
        file.write("1,2,nan,x\n")
    assert dfmst("forest", "edges.csv", *FILES[3:], code=2).stderr.splitlines()[1].startswith("Error: edges.csv: ")


def test_rows_on_disk(dfmst, parts, monkeypatch):
    monkeypatch.setattr("dfmst._fold.budget.RUN_FIXED", 0)
    limit = ("--memory-limit", "200kB")
    assert "--spill-dir" in dfmst("forest", *FILES, *limit, code=1).stderr
    dfmst("forest", *FILES, *limit, "--spill-dir", "spill", "-o", "out.parquet")
    expected = library.minimum_spanning_forest(parts, "a", "b", "km")
    assert pyarrow.parquet.read_table("out.parquet").equals(expected)
    assert os.listdir("spill") == []
    result = dfmst("forest", *FILES, "--spill-dir", "spill", "--workers", "2", "-o", "out", code=2)
    assert "--spill-dir cannot be combined" in result.stderr


def test_verify_within_a_limit(dfmst, parts):
    dfmst("forest", *FILES, "-o", "out.parquet")
    columns = in_a_directory()
    whole = json.loads(dfmst("verify", "parts", "out.parquet", *columns, "--json").stdout)
    found = json.loads(dfmst("verify", "parts", "out.parquet", *columns, *LIMIT, "--json").stdout)
    assert {**whole, "seconds": 0} == {**found, "seconds": 0}
    assert found["ok"]


def test_verify_refuses_within_a_limit(dfmst, parts):
    dfmst("forest", *FILES, "-o", "out.parquet")
    columns = in_a_directory()
    forest = pyarrow.parquet.read_table("out.parquet")
    changed = forest.set_column(3, "name", pa.array(["another", *forest["name"].to_pylist()[1:]]))
    pyarrow.parquet.write_table(changed, "changed.parquet")
    result = dfmst("verify", "parts", "changed.parquet", *columns, *LIMIT, code=1)
    assert "row 0 of the forest is not in the edge table: column 'name' differs from row" in result.stderr
    pyarrow.parquet.write_table(forest.replace_schema_metadata(None), "plain.parquet")
    result = dfmst("verify", "parts", "plain.parquet", *columns, *LIMIT, code=2)
    assert "does not say which rows it holds" in result.stderr
    result = dfmst("verify", "parts", "out.parquet", *columns, "--maximum", *LIMIT, code=2)
    assert "is a minimum spanning forest, not a maximum one" in result.stderr
    Path("parts/part-2.parquet").unlink()
    result = dfmst("verify", "parts", "out.parquet", *columns, *LIMIT, code=1)
    assert "which has 200,000 rows" in result.stderr


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "700kB"]])
@pytest.mark.parametrize("order", [[], ["--maximum"]])
def test_update(dfmst, parts, order, limit):
    columns = FILES[3:]
    dfmst("forest", FILES[0], *columns, *order, "-o", "out.parquet")
    dfmst("update", "out.parquet", FILES[1], "-o", "out.parquet")
    summary = json.loads(dfmst("update", "out.parquet", FILES[2], "-o", "again.parquet", "--json", *limit).stdout)
    unwritten = json.loads(dfmst("update", "out.parquet", FILES[2], "--json", *limit).stdout)
    assert {**unwritten, "output": summary["output"], "seconds": summary["seconds"]} == summary
    dfmst("forest", *FILES, *order, "-o", "whole.parquet")
    one, other = (pyarrow.parquet.read_table(name) for name in ("whole.parquet", "again.parquet"))
    assert one.equals(other)
    assert one.schema.metadata == other.schema.metadata
    assert (summary["all_rows"], summary["rows"]) == (300_000, one.num_rows)


def test_update_says_what_is_wrong(dfmst, parts):
    result = dfmst("update", "part-0.parquet", "part-1.parquet", "-o", "out.parquet", code=2)
    assert "part-0.parquet does not say how it was made" in result.stderr
    dfmst("forest", *FILES, "-o", "forest.parquet")
    pyarrow.parquet.write_table(parts.drop_columns("name"), "other.parquet")
    result = dfmst("update", "forest.parquet", "other.parquet", "-o", "out.parquet", code=2)
    assert "other.parquet has other columns than forest.parquet" in result.stderr
    assert not Path("out.parquet").exists()
