"""``dfmst convert``."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

DIMACS = "c a triangle\np sp 3 3\na 1 2 4\na 2 3 5\na 1 3 6\n"
COLUMNS = {"source": [1, 2, 1], "target": [2, 3, 3], "weight": [4, 5, 6]}


def test_graph_format_to_parquet(dfmst, rows):
    Path("roads.gr.xz").write_bytes(lzma.compress(DIMACS.encode()))
    result = dfmst("convert", "roads.gr.xz", "-o", "out.parquet")
    assert rows("out.parquet") == COLUMNS
    assert result.stderr.startswith("3 rows, ")
    assert result.stderr.endswith(" s -> out.parquet\n")


def test_there_and_back(dfmst, roads, rows):
    before = rows(roads)
    for start, end in (("roads.parquet", "a.arrow"), ("a.arrow", "b.csv"), ("b.csv", "c.tsv"), ("c.tsv", "d.parquet")):
        dfmst("convert", start, "-o", end)
    assert rows("d.parquet") == before


def test_formats_by_name(dfmst):
    Path("roads.txt").write_text(DIMACS)
    dfmst("convert", "roads.txt", "--from", "dimacs", "--to", "arrow", "-o", "out.bin")
    assert pa.ipc.open_file("out.bin").read_all().to_pydict() == COLUMNS


def test_standard_output(dfmst):
    Path("roads.gr").write_text(DIMACS)
    result = dfmst("convert", "roads.gr", "--to", "tsv")
    assert result.stdout == "source\ttarget\tweight\n1\t2\t4\n2\t3\t5\n1\t3\t6\n"
    assert result.stderr.startswith("3 rows, ")


def test_json(dfmst):
    Path("roads.gr").write_text(DIMACS)
    summary = json.loads(dfmst("convert", "roads.gr", "roads.gr", "-o", "out.csv", "--json").stdout)
    assert summary.pop("seconds")["total"] >= 0
    assert summary == {
        "input": ["roads.gr", "roads.gr"],
        "output": "out.csv",
        "rows": 6,
        "columns": {"source": "int64", "target": "int64", "weight": "int64"},
    }


def test_metadata_stays_and_later_files_may_hold_nulls(dfmst, parquet):
    schema = pa.schema([pa.field("source", pa.int64(), nullable=False), pa.field("target", pa.int64())])
    first = pa.table({"source": [1], "target": [2]}, schema=schema).replace_schema_metadata({"units": "km"})
    parquet("first.parquet", first)
    parquet("second.parquet", {"source": pa.array([None], pa.int64()), "target": [3]})
    dfmst("convert", "first.parquet", "-o", "one.parquet")
    assert pyarrow.parquet.read_table("one.parquet").schema.equals(first.schema, check_metadata=True)
    dfmst("convert", "first.parquet", "second.parquet", "-o", "two.parquet")
    table = pyarrow.parquet.read_table("two.parquet")
    assert table.to_pydict() == {"source": [1, None], "target": [2, 3]}
    assert table.schema.metadata == {b"units": b"km"}


def test_rows_pass_in_batches(dfmst, parquet, monkeypatch):
    """The table as a whole is never asked for."""
    parquet("in.parquet", {"source": range(600_000), "target": range(600_000)})
    sizes: list[int] = []

    def watch(rows, path, format_):
        sizes.extend(batch.num_rows for batch in rows)

    monkeypatch.setattr(sys.modules["dfmst.cli.convert"], "write_rows", watch)
    dfmst("convert", "in.parquet", "-o", "out.csv")
    assert sum(sizes) == 600_000
    assert len(sizes) > 1
