"""``dfmst forest``: the right rows, in every form, and what is printed about them."""

from __future__ import annotations

import datetime
import io
import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest


def test_minimum(dfmst, roads, rows, picked):
    result = dfmst("forest", roads, "-o", "out.parquet")
    assert rows("out.parquet") == picked([1, 2, 4, 6])
    assert result.stdout == ""
    start = "minimum spanning forest: 4 of 9 rows, total weight 13, 2 components of 6 vertices, "
    assert result.stderr.startswith(start)
    assert result.stderr.endswith(" s -> out.parquet\n")
    assert result.stderr.count("\n") == 1  # no progress, which is for terminals
    assert "\r" not in result.stderr


def test_maximum(dfmst, roads, rows, picked):
    dfmst("forest", roads, "-o", "out.parquet", "--maximum")
    assert rows("out.parquet") == picked([0, 1, 5, 6])


def test_unweighted(dfmst, roads, rows, picked):
    result = dfmst("forest", roads, "-o", "out.parquet", "--unweighted", "--json")
    assert rows("out.parquet") == picked([0, 1, 2, 6])
    summary = json.loads(result.stdout)
    assert summary["kind"] == "spanning forest"
    assert summary["total_weight"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--unweighted", "-w", "weight"], "--unweighted and --weight cannot be combined."),
        (["--unweighted", "--maximum"], "--unweighted and --maximum cannot be combined."),
        (["--strategy", "merge"], "--strategy is for a cluster: give --workers, --scheduler or --gpus, too."),
        (["-o", "-", "--json"], "--json and -o - both write to standard output; name a file with -o, or leave it out."),
    ],
)
def test_options_that_exclude_each_other(dfmst, roads, options, message):
    assert dfmst("forest", roads, *options, code=2).stderr.endswith(f"Error: {message}\n")


def test_names_of_columns(dfmst, parquet, rows):
    parquet("roads.parquet", {"from": [1, 2, 1], "km": [3.5, 1.0, 2.0], "to": [2, 3, 3]})
    dfmst("forest", "roads.parquet", "-s", "from", "-t", "to", "-w", "km", "-o", "out.parquet")
    assert rows("out.parquet") == {"from": [2, 1], "km": [1.0, 2.0], "to": [3, 3]}


def test_json(dfmst, roads):
    result = dfmst("forest", roads, "-o", "out.csv", "--json", "--verify", "--threads", 1, "--algorithm", "boruvka")
    summary = json.loads(result.stdout)
    seconds = summary.pop("seconds")
    assert summary.pop("peak_memory") > 1_000_000
    assert summary == {
        "driver": "memory",
        "kind": "minimum spanning forest",
        "input": ["roads.parquet"],
        "output": "out.csv",
        "input_rows": 9,
        "dropped_rows": 0,
        "rows": 4,
        "vertices": 6,
        "components": 2,
        "total_weight": 13,
        "verified": True,
        "algorithm": "boruvka",
        "engine": "cpu",
        "threads": 1,
        "files": None,
        "bytes_moved": None,
        "memory_limit": None,
    }
    assert list(seconds) == ["import", "read", "prepare", "solve", "verify", "gather", "write", "total"]
    assert result.stderr == ""


def test_json_without_output_writes_no_rows(dfmst, roads):
    result = dfmst("forest", roads, "--json")
    summary = json.loads(result.stdout)
    assert (summary["output"], summary["rows"], summary["verified"]) == (None, 4, None)
    assert sorted(path.name for path in Path().iterdir()) == ["roads.parquet"]


@pytest.mark.parametrize("output", [[], ["-o", "-"]])
def test_standard_output_is_csv(dfmst, roads, output):
    result = dfmst("forest", roads, *output)
    expected = "source,target,weight,name\nb,c,2,bc\nc,d,2,cd\na,c,2,ac\nx,y,7,xy\n"
    assert result.stdout == expected


def test_standard_output_in_another_format(dfmst, roads, picked):
    result = dfmst("forest", roads, "--to", "parquet")
    assert pyarrow.parquet.read_table(io.BytesIO(result.stdout_bytes)).to_pydict() == picked([1, 2, 4, 6])


@pytest.mark.parametrize("suffix", ["arrow", "feather", "csv", "tsv", "parquet"])
def test_formats_follow_the_suffix(dfmst, roads, picked, suffix):
    dfmst("forest", roads, "-o", f"out.{suffix}")
    readers = {
        "csv": pyarrow.csv.read_csv,
        "tsv": lambda name: pyarrow.csv.read_csv(name, parse_options=pyarrow.csv.ParseOptions(delimiter="\t")),
        "parquet": pyarrow.parquet.read_table,
    }
    reader = readers.get(suffix, lambda name: pa.ipc.open_file(name).read_all())
    assert reader(f"out.{suffix}").to_pydict() == picked([1, 2, 4, 6])


def test_several_inputs_and_a_directory_are_one_table(dfmst, parquet, roads, rows, picked):
    table = pyarrow.parquet.read_table(roads)
    Path("parts").mkdir()
    names = [parquet(f"parts/{start}.parquet", table.slice(start, 3)) for start in (0, 3, 6)]
    for inputs in (names, ["parts"]):
        dfmst("forest", *inputs, "-o", "out.parquet")
        assert rows("out.parquet") == picked([1, 2, 4, 6])


def test_schema_and_metadata_stay(dfmst, parquet):
    table = pa.table(
        {
            "source": pa.array(["a", "b", "a"]).dictionary_encode(),
            "target": pa.array(["b", "c", "c"]).dictionary_encode(),
            "weight": pa.array([3, 1, 2], pa.decimal128(9, 2)),
            "when": pa.array([1, 2, None], pa.timestamp("us", "UTC")),
            "tags": pa.array([["x"], [], None], pa.list_(pa.string())),
        }
    ).replace_schema_metadata({"attribution": "somebody"})
    parquet("roads.parquet", table)
    dfmst("forest", "roads.parquet", "-o", "out.parquet")
    found = pyarrow.parquet.read_table("out.parquet")
    metadata = dict(found.schema.metadata)
    assert json.loads(metadata.pop(b"dfmst"))["columns"] == ["source", "target", "weight"]  # dfmst update needs it
    expected = pyarrow.parquet.read_table("roads.parquet").schema
    assert found.schema.with_metadata(metadata).equals(expected, check_metadata=True)
    assert metadata == {b"attribution": b"somebody"}
    assert found.to_pydict() == table.slice(1).to_pydict()


@pytest.mark.parametrize("index", [pd.RangeIndex(3), pd.Index(["i", "j", "k"], name="label")])
def test_index_of_pandas_stays(dfmst, index):
    edges = pd.DataFrame({"source": [1, 2, 1], "target": [2, 3, 3], "weight": [3, 1, 2]}, index=index)
    edges.to_parquet("roads.parquet")
    dfmst("forest", "roads.parquet", "-o", "out.parquet")
    found = pd.read_parquet("out.parquet")
    expected = edges.iloc[[1, 2]]
    pd.testing.assert_frame_equal(found, expected.reset_index(drop=True) if index.name is None else expected)


def test_verify_fails_loudly(dfmst, roads, monkeypatch):
    from dfmst._trees.certificate import Violation

    violation = Violation("not-spanning", 3, "row 3 joins two trees")
    monkeypatch.setattr("dfmst._trees.certificate.certify_rows", lambda *_: violation)
    result = dfmst("forest", roads, "-o", "out.parquet", "--verify", code=1)
    message = "RuntimeError: the forest is wrong, which is a fault of dfmst: row 3 joins two trees"
    assert result.stderr.startswith(f"Error: {message}\n")
    assert not Path("out.parquet").exists()


def test_trace(dfmst, roads, rows):
    dfmst("forest", roads, "-o", "out.csv", "--trace", "trace.parquet", "--algorithm", "boruvka")
    trace = rows("trace.parquet")
    assert trace["round"][0] == 1
    assert sum(trace["chosen"]) == 4


def test_trace_of_nothing(dfmst, parquet):
    parquet("none.parquet", {"source": pa.array([], pa.int64()), "target": pa.array([], pa.int64()), "weight": []})
    dfmst("forest", "none.parquet", "--unweighted", "-o", "out.csv", "--trace", "trace.parquet")
    assert Path("trace.parquet").exists()


def test_invalid_rows_are_dropped_when_asked(dfmst, parquet, rows):
    columns = {"source": [1, None, 2, 1], "target": [2, 3, 3, 3], "weight": [1.0, 1.0, float("nan"), 5.0]}
    parquet("roads.parquet", columns)
    result = dfmst("forest", "roads.parquet", "-o", "out.parquet", "--invalid", "drop", "--verify")
    assert rows("out.parquet") == {"source": [1, 1], "target": [2, 3], "weight": [1.0, 5.0]}
    assert "2 of 4 rows, 2 invalid rows dropped, total weight 6.0, 1 component of 3 vertices" in result.stderr


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_no_rows(dfmst, parquet, suffix):
    empty = pa.table(
        {"source": pa.array([], pa.int64()), "target": pa.array([], pa.int64()), "weight": pa.array([], pa.float32())}
    )
    parquet("none.parquet", empty)
    result = dfmst("forest", "none.parquet", "-o", f"out.{suffix}", "--verify")
    assert "0 of 0 rows, total weight 0.0, 0 components of 0 vertices" in result.stderr
    assert Path(f"out.{suffix}").exists()
    if suffix == "parquet":
        assert pyarrow.parquet.read_table("out.parquet").equals(empty)


@pytest.mark.parametrize("names", [("source", "target", "weight"), ("a", "b", "km")])
def test_csv_with_a_header_alone(dfmst, names):
    Path("none.csv").write_text(",".join(names) + "\n")
    dfmst("forest", "none.csv", "-s", names[0], "-t", names[1], "-w", names[2], "-o", "out.csv")
    assert Path("out.csv").read_text() == ",".join(names) + "\n"


def test_self_loops_alone(dfmst, parquet, rows):
    parquet("loops.parquet", {"source": [5, 9], "target": [5, 9], "weight": [1, 2]})
    result = dfmst("forest", "loops.parquet", "-o", "out.parquet", "--verify")
    assert rows("out.parquet") == {"source": [], "target": [], "weight": []}
    assert "0 of 2 rows, total weight 0, 2 components of 2 vertices" in result.stderr


@pytest.mark.parametrize(
    ("weights", "total"),
    [
        (pa.array([2**63 - 1] * 3), 3 * (2**63 - 1)),
        (pa.array([-(2**63)] * 3), -3 * 2**63),
        (pa.array([2**64 - 1] * 3, pa.uint64()), 3 * (2**64 - 1)),
        (pa.array([0.1, 0.2, 0.3]), 0.6),
        (pa.array([1e308] * 3), "Infinity"),
        (pa.array([-1.0, float("inf"), 2.0]), "Infinity"),
        (pa.array([float("-inf"), float("inf"), 2.0]), "NaN"),
        (pa.array([True, False, True]), 2),
        (pa.array([Decimal("0.10"), Decimal("0.20"), Decimal("9.99")]), "10.29"),
        (pa.array([datetime.timedelta(seconds=s) for s in (1, 2, 3)], pa.duration("ms")), "6.0 s"),
    ],
    ids=str,
)
def test_total_weight_is_exact(dfmst, parquet, weights, total):
    parquet("path.parquet", {"source": [0, 1, 2], "target": [1, 2, 3], "weight": weights})
    result = dfmst("forest", "path.parquet", "--json")

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    assert json.loads(result.stdout, parse_constant=refuse)["total_weight"] == total


@pytest.mark.parametrize(
    ("name", "columns", "rows", "total"),
    [
        ("data/usa_road_d_ny.parquet", ["-s", "src", "-t", "dst"], 264_345, 261_159_288),
        ("formats/rome99.gr.gz", [], 3_352, 1_186_386),
    ],
)
def test_golden_totals(dfmst, shared, name, columns, rows, total):
    summary = json.loads(dfmst("forest", shared / name, *columns, "--json", "--verify").stdout)
    assert (summary["rows"], summary["total_weight"], summary["verified"]) == (rows, total, True)


def test_conditions(dfmst, parquet, rows):
    edges = {"source": [1, 2, 1, 1, 2], "target": [2, 3, 3, 2, 3], "weight": [3, 1, 2, 5, 4]}
    parquet("in.parquet", {**edges, "day": [0, 0, 0, 1, 1], "built": [True, False, False, False, False]})
    dfmst("forest", "in.parquet", "--by", "day", "--keep", "built", "-o", "out.parquet", "--verify")
    assert rows("out.parquet")["weight"] == [3, 1, 5, 4]
    dfmst("verify", "in.parquet", "out.parquet", "--by", "day", "--keep", "built")
    assert "is not a row" not in dfmst("verify", "in.parquet", "out.parquet", "--by", "day", code=1).stderr
    dfmst("forest", "in.parquet", "--drop", "built", "-o", "out.parquet")
    assert rows("out.parquet")["weight"] == [1, 2]
    assert "did you mean --by day" in dfmst("forest", "in.parquet", "--by", "dya", code=2).stderr.lower()
    stream = ("--checkpoint", "kept", "--by", "day", "--keep", "built")
    dfmst("forest", "in.parquet", *stream, "-o", "streamed.parquet", "--verify")
    assert rows("streamed.parquet")["weight"] == [3, 1, 5, 4]
