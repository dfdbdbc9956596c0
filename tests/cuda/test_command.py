"""``dfmst forest --engine cuda``: Parquet in and out by cuDF, other formats by way of the host."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dfmst.cli import main
from tests.support.gpu.packages import are_real, cudf, cupy

ROADS = pa.table(
    {
        "source": ["a", "b", "c", "d", "a", "b", "x", "a", "c"],
        "target": ["b", "c", "d", "a", "c", "d", "y", "b", "c"],
        "weight": [4, 2, 2, 3, 2, 9, 7, 4, 0],
        "name": ["ab", "bc", "cd", "da", "ac", "bd", "xy", "ab again", "cc"],
    }
)


@pytest.fixture(autouse=True)
def _own_directory(with_cudf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(ROADS, "roads.parquet")


def forest(*arguments, code=0):
    result = CliRunner().invoke(main, ["forest", *map(str, arguments)], prog_name="dfmst")
    assert result.exit_code == code, (result.stderr, result.exception)
    return result


@pytest.fixture
def read(monkeypatch):
    """Files that cuDF was asked to read."""
    files: list[Any] = []
    read_parquet = cudf.read_parquet

    def recorded(paths):
        files.extend(paths)
        return read_parquet(paths)

    monkeypatch.setattr("cudf.read_parquet", recorded)
    return files


def test_parquet_is_read_and_written_by_cudf(read):
    options = ("--engine", "cuda", "--verify", "--trace", "t.parquet", "--json")
    reported = forest("roads.parquet", "-o", "forest.parquet", *options)
    assert read == ["roads.parquet"]
    summary = json.loads(reported.stdout)
    assert summary["engine"] == "cuda"
    assert summary["algorithm"] != "filter-kruskal"
    assert (summary["rows"], summary["vertices"], summary["components"], summary["total_weight"]) == (4, 6, 2, 13)
    forest("roads.parquet", "-o", "expected.parquet")
    assert pq.read_table("forest.parquet").equals(pq.read_table("expected.parquet"))
    assert pq.read_table("t.parquet")["edges"].to_pylist()[0] == 9
    assert sorted(path.name for path in Path().iterdir() if path.name.startswith(".")) == []


def test_several_files_are_one_table(read):
    pq.write_table(ROADS.slice(4), "more.parquet")
    pq.write_table(ROADS.slice(0, 4), "some.parquet")
    forest("some.parquet", "more.parquet", "-o", "forest.parquet", "--engine", "cuda")
    assert read == ["some.parquet", "more.parquet"]
    forest("roads.parquet", "-o", "expected.parquet")
    assert pq.read_table("forest.parquet").equals(pq.read_table("expected.parquet"))


def test_labels_of_pandas_stay_columns(read):
    frame = ROADS.to_pandas().set_index(pd.Index(range(10, 19)))
    frame.to_parquet("labelled.parquet", index=True)
    pq.write_table(pq.read_table("labelled.parquet"), "labelled.parquet")
    forest("labelled.parquet", "-o", "forest.parquet", "--engine", "cuda")
    assert pq.read_table("forest.parquet")["__index_level_0__"].to_pylist() == [11, 12, 14, 16]


def test_other_outputs_come_from_the_host(read):
    forest("roads.parquet", "-o", "forest.csv", "--engine", "cuda")
    assert read == ["roads.parquet"]
    forest("roads.parquet", "-o", "expected.csv")
    assert Path("forest.csv").read_text() == Path("expected.csv").read_text()
    assert forest("roads.parquet", "-o", "-", "--engine", "cuda").stdout == Path("expected.csv").read_text()


def test_other_inputs_are_read_on_the_host_and_moved(read):
    forest("roads.parquet", "-o", "expected.csv")
    forest("expected.csv", "-o", "again.csv", "--engine", "cuda")
    assert read == []
    assert Path("again.csv").read_text() == Path("expected.csv").read_text()
    Path("folder").mkdir()
    pq.write_table(ROADS, "folder/part.parquet")
    forest("folder", "-o", "folder.csv", "--engine", "cuda")
    assert read == []


def test_without_cudf_the_host_reads_and_columns_move(monkeypatch):
    monkeypatch.setitem(sys.modules, "cudf", None)
    monkeypatch.delitem(sys.modules, "dfmst.cudf", raising=False)
    cupy.traffic.reset()
    forest("roads.parquet", "-o", "forest.parquet", "--engine", "cuda")
    assert len(cupy.traffic.columns(9 * 4)) >= 3 or are_real()  # nobody counts there
    forest("roads.parquet", "-o", "expected.parquet")
    assert pq.read_table("forest.parquet").equals(pq.read_table("expected.parquet"))


def test_a_stream_within_a_limit_of_the_device(read):
    forest("roads.parquet", "-o", "expected.parquet")
    options = ("--engine", "cuda", "--memory-limit", "400MiB", "--checkpoint", "saved", "--verify", "--json")
    summary = json.loads(forest("roads.parquet", "-o", "forest.parquet", *options).stdout)
    assert (summary["engine"], summary["driver"], summary["rows"]) == ("cuda", "stream", 4)
    assert read == []
    assert pq.read_table("forest.parquet").equals(pq.read_table("expected.parquet"))


@pytest.mark.parametrize(
    ("limits", "driver", "memory"),
    [
        (["--gpu-memory-limit", "1GiB"], "memory", None),
        (["--gpu-memory-limit", "200MiB"], "stream", 2 << 30),
        (["--gpu-memory-limit", "200MiB", "--memory-limit", "1GiB"], "stream", 1 << 30),
    ],
)
def test_the_limit_of_the_device_is_its_own(read, monkeypatch, limits, driver, memory):
    """Files that exceed the GPU's limit are streamed; the host has a limit of its own."""
    monkeypatch.setattr("dfmst._fold.budget.free_memory", lambda: 8 << 30)
    result = forest("roads.parquet", "-o", "out.parquet", "--engine", "cuda", *limits, "--json")
    summary = json.loads(result.stdout)
    assert (summary["driver"], summary["rows"], summary["memory_limit"]) == (driver, 4, memory)


def test_a_limit_of_the_device_needs_one():
    asked = ("roads.parquet", "-o", "out.parquet", "--gpu-memory-limit", "32GiB")
    assert "is more than the GPU has" in forest(*asked, "--engine", "cuda", "--checkpoint", "saved", code=1).stderr
    assert "--gpu-memory-limit needs --engine cuda" in forest(*asked, code=2).stderr
    assert "--gpu-memory-limit needs --gpus" in forest(*asked, "--workers", 2, code=2).stderr
    assert not Path("out.parquet").exists()


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (lambda: None, ["absent.parquet"], "absent.parquet: no such file"),
        (lambda: None, ["roads.parquet", "-w", "km"], "roads.parquet has no column 'km'"),
        (
            lambda: pq.write_table(ROADS.drop_columns("name"), "fewer.parquet"),
            ["roads.parquet", "fewer.parquet"],
            "fewer.parquet has other columns than roads.parquet",
        ),
        (lambda: Path("broken.parquet").write_bytes(b"PAR1 and no more"), ["broken.parquet"], "broken.parquet"),
    ],
)
def test_bad_input_is_named(make, arguments, message):
    make()
    reported = forest(*arguments, "-o", "forest.parquet", "--engine", "cuda", code=2)
    assert message in reported.stderr
    assert not Path("forest.parquet").exists()


def test_what_cudf_cannot_read(monkeypatch):
    def refuse(paths):
        raise RuntimeError("CUDF failure: unsupported encoding")

    monkeypatch.setattr("cudf.read_parquet", refuse)
    reported = forest("roads.parquet", "-o", "forest.parquet", "--engine", "cuda", code=2)
    assert "cuDF cannot read roads.parquet: CUDF failure: unsupported encoding" in reported.stderr
    assert "--engine cpu" in reported.stderr


def test_out_of_memory(monkeypatch):
    pool = cupy.get_default_memory_pool()
    pool.set_limit(pool.used_bytes() + 64)
    reported = forest("roads.parquet", "-o", "forest.parquet", "--engine", "cuda", code=1)
    assert "the GPU is out of memory" in reported.stderr
    assert not Path("forest.parquet").exists()

    def fail(paths):
        raise MemoryError("std::bad_alloc: failed to allocate 64 bytes")

    monkeypatch.setattr("cudf.read_parquet", fail)
    reported = forest("roads.parquet", "-o", "forest.parquet", "--engine", "cuda", code=1)
    assert "the GPU is out of memory: 64 more bytes" in reported.stderr


def test_without_a_device():
    cupy.cuda.devices[0] = 0
    reported = forest("roads.parquet", "-o", "forest.parquet", "--engine", "cuda", code=1)
    assert "finds no CUDA device" in reported.stderr


def test_a_failing_device():
    cupy.cuda.faults.launch = "CUDA_ERROR_LAUNCH_FAILED"
    reported = forest("roads.parquet", "-o", "forest.parquet", "--engine", "cuda", code=1)
    assert "failed on the GPU: CUDA_ERROR_LAUNCH_FAILED" in reported.stderr
    assert not Path("forest.parquet").exists()
