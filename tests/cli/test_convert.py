"""``dfmst convert``."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

DIMACS = "c a triangle\np sp 3 3\na 1 2 4\na 2 3 5\na 1 3 6\n"
COLUMNS = {"source": [1, 2, 1], "target": [2, 3, 3], "weight": [4, 5, 6]}


def test_graph_format_to_parquet(dfmst, rows):
    Path("roads.gr.xz").write_bytes(lzma.compress(DIMACS.encode()))
    result = dfmst("convert", "roads.gr.xz", "-o", "out.parquet")
    assert rows("out.parquet") == COLUMNS
    assert result.stderr.startswith("3 rows, ")
    assert result.stderr.endswith(" s -> out.parquet\n")


def test_a_log_in_batches(dfmst, rows):
    log = [{"a": "x", "b": "y", "km": 2.5}, {"b": "7", "a": "x", "km": 1}, {"a": "7", "b": "y", "km": None}]
    Path("log.ndjson.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, log)).encode()))
    Path("log.json").write_text(json.dumps(log))
    for path, *options in (["log.ndjson.gz"], ["log.ndjson.gz", "--memory-limit", "1GiB"], ["log.json"]):
        dfmst("forest", path, *NAMED, "--invalid", "drop", *options, "-o", "out.parquet")
        assert rows("out.parquet") == {"a": ["x", "x"], "b": ["y", "7"], "km": [2.5, 1.0]}
    Path("log.json").write_text('{"a": 1, "b": "1", "km": 0}')
    error = dfmst("forest", "log.json", *NAMED, code=2).stderr
    assert "'b' holds a text, and 'a' holds a number in line 1\nHint: read them as text with --text a --text b" in error


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


def test_rows_pass_in_batches(dfmst, parquet, monkeypatch):
    """The table as a whole is never asked for."""
    parquet("in.parquet", {"source": range(600_000), "target": range(600_000)})
    sizes: list[int] = []

    def watch(rows, path, format_):
        sizes.extend(batch.num_rows for batch in rows)

    monkeypatch.setattr(sys.modules["dfmst.cli.tables"], "write_rows", watch)
    dfmst("convert", "in.parquet", "-o", "out.csv")
    assert sum(sizes) == 600_000
    assert len(sizes) > 1


PHONES = "name,city,phone\nAnn,x,0170\nBob,y,170\n"
ROADS = "km,a,b\n1.5,x,y\n2,y,z\n3,x,z\n"
NAMED = ("-s", "a", "-t", "b", "-w", "km")
EMAIL = ("linked-rows", "in.csv", "--on", "email", "--keep")
BY_ROLE = [
    (PHONES, ("linked-rows", "in.csv", "--on", "phone"), "name,city,phone,group\nAnn,x,0170,0\nBob,y,170,1\n"),
    ("score,email\n1.5,a\n2,a\n", (*EMAIL, "max:score"), "score,email,group\n2,"),
    ("id,email\n9,a\n10,a\n", (*EMAIL, "max:id"), "id,email,group\n10,a,0\n"),
    ("a,b,note\n07,8,9.50\n", ("convert", "in.csv"), "a,b,note\n07,8,9.50\n"),
    ('id,lat,"a,b"\n1,4.50,""\n2,5,\n', ("convert", "in.csv"), 'id,lat,"a,b"\n1,4.50,""\n2,5,\n'),
    ("a;b;km\nx;y;-0.0\ny;z;0.5\n", ("forest", "in.csv", *NAMED), "a,b,km\nx,y,-0.0\ny,z,0.5\n"),
    (ROADS, ("forest", "in.csv", *NAMED, "--verify"), "km,a,b\n1.5,x,y\n2,y,z\n"),
    ("a,b,km,grp\n1,2,3,07\n1,2,3,7\n", ("forest", "in.csv", *NAMED, "--by", "grp"), "1,2,3,07\n1,2,3,7\n"),
    ('a, b, km\nx, y, 1\n"x", "y", 2\n', ("forest", "in.csv", *NAMED), "a,b,km\nx,y,1\n"),
    ("a;b;km\nx;y;1.200,5\n", ("forest", "in.csv", *NAMED, "--decimal", ",", "--thousands", "."), "x,y,1200.5\n"),
    ('a,b,km\nx,y,"2,50"\n', ("convert", "in.csv", "in.csv", *NAMED, "--decimal", ","), "x,y,2.5\nx,y,2.5\n"),
    ("a,b,km\nx,y,NA\ny,z,1\n", ("forest", "in.csv", *NAMED, "--invalid", "drop"), "a,b,km\ny,z,1\n"),
    ("a,b\n1,2\n01,3\n", ("components", "in.csv", "-s", "a", "-t", "b"), "vertex,component\n01,01\n1,1\n2,1\n3,01\n"),
    ("a,b\n1,10\n", ("components", "in.csv", "-s", "a", "-t", "b", "--text", "a"), "vertex,component\n1,1\n10,1\n"),
    ("id,x\n01,0\n1,3\n", ("points-forest", "in.csv", "-c", "x", "--ids", "id"), "source,target,distance\n01,1,3\n"),
    ("a,b,yes\n1,2,true\n2,3,false\n", ("convert", "in.csv", "-s", "a", "-t", "b"), "a,b,yes\n1,2,true\n2,3,false\n"),
]


@pytest.mark.parametrize(("text", "arguments", "expected"), BY_ROLE)
def test_columns_by_role(dfmst, text, arguments, expected):
    Path("in.csv").write_text(text)
    assert expected in dfmst(*arguments).stdout


ODD_LINES = '"a",b,km,note\n"x",y,2.50,"1 ""2"""\n\ny,"z",1e3,"two\nlines"\nx,v,-0.0," q"\nv,u,+007,NA\nu,w,28.0,\n'


@pytest.mark.parametrize("command", ["forest", "convert"])
@pytest.mark.parametrize(
    "options", [(), ("--memory-limit", "300MiB", "--spill-dir", "spill"), ("in.csv",), ("more.csv",)]
)
def test_lines_of_csv_are_lines_of_the_input(dfmst, command, options):
    if command == "convert" and "--memory-limit" in options:
        options = ("-o", "-")
    Path("in.csv").write_bytes(ODD_LINES.replace("\n", "\r\n").encode())
    Path("more.csv").write_text("b,a,km,note\nw,t,1.0,\n")  # in another order: written anew
    found = dfmst(command, "in.csv", *options, *NAMED).stdout
    expected = "a,b,km,note\n" + ODD_LINES.partition("\n")[2].replace("\n\n", "\n")
    again = expected.partition("\n")[2] if command == "convert" and options == ("in.csv",) else ""
    assert found == expected + again + ("t,w,1,\n" if options == ("more.csv",) else "")


@pytest.mark.parametrize("forest", ["f.csv", "f.tsv", "f.parquet"])
def test_a_named_separator_is_that_of_the_edges(dfmst, forest):
    Path("in.txt").write_text("1,2 3,4 5\n3,4 9,9 6\n")
    dfmst("forest", "in.txt", "--sep", " ", "-o", forest)
    assert "is a minimum spanning forest" in dfmst("verify", "in.txt", forest, "--sep", " ").stderr
    if forest == "f.parquet":
        assert '"1,2","3,4",5\n' in dfmst("update", forest, "in.txt", "--sep", " ").stdout
        assert dfmst("convert", forest, "in.txt", "--sep", " ").stdout.count("\n") == 5


def test_types_of_named_columns(dfmst):
    Path("in.csv").write_text("from_id,name,fare\n1,2,3.0\n")
    for options, types in (
        ((), ["int64", "int64", "string"]),
        (("-w", "fare", "--text", "name"), ["int64", "string", "double"]),
    ):
        summary = json.loads(dfmst("convert", "in.csv", "-o", "out.parquet", "--json", *options).stdout)
        assert list(summary["columns"].values()) == types


def test_new_rows_get_the_types_of_the_old_ones(dfmst):
    Path("old.csv").write_text("a,b,km,zip\n1,2,1.5,x\n")
    Path("new.csv").write_text("a,b,km,zip\n2,3,2,7\n")
    dfmst("forest", "old.csv", *NAMED, "-o", "old.parquet")
    assert dfmst("update", "old.parquet", "new.csv").stdout == "a,b,km,zip\n1,2,1.5,x\n2,3,2,7\n"
    Path("new.csv").write_text("a,b,km,zip\n02,3,2,7\n")
    assert "'a' is Int64 in forest and String in new_edges" in dfmst("update", "old.parquet", "new.csv", code=2).stderr


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="this system has no /dev/stdin")
def test_pipes():
    command = [sys.executable, "-m", "dfmst", "forest", *NAMED]
    log = "".join(json.dumps({"km": km, "a": a, "b": b}) + "\n" for km, a, b in ((1.5, "x", "y"), (2, "y", "z")))
    for path, text in (("/dev/stdin", ROADS), ("-", ROADS), ("/dev/fd/0", ROADS), ("-", log)):
        run = subprocess.run([*command, path], input=text, capture_output=True, text=True, check=True)
        assert run.stdout == "km,a,b\n1.5,x,y\n2,y,z\n", path
    Path("in.csv").write_text(ROADS)
    os.mkfifo("pipe")
    writer = subprocess.Popen(["cp", "in.csv", "pipe"])
    run = subprocess.run([*command, "pipe"], capture_output=True, text=True, check=True)
    assert (run.stdout, writer.wait()) == ("km,a,b\n1.5,x,y\n2,y,z\n", 0)
