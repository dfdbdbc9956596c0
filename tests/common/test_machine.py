"""A machine without memory, threads or open files: what is free, the words for what is not, and bars of rows."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst import formats
from dfmst._common import machine
from dfmst.errors import CapacityError, FormatError, machine_fault


@pytest.mark.parametrize("version", [1, 2])
def test_the_memory_that_control_groups_leave(tmp_path, version):
    root = tmp_path / ("memory" if version == 1 else "")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if version == 1 else ("memory.max", "memory.current")
    word = "total_" if version == 1 else ""
    for folder, limit, taken in (("", 900, 100), ("a", 500, 200), ("a/b", "max" if version == 2 else 10**18, 50)):
        place = root / folder
        place.mkdir(parents=True, exist_ok=True)
        for name, value in zip(names, (limit, taken), strict=True):
            (place / name).write_text(f"{value}\n")
        (place / "memory.stat").write_text(f"cache 1\n{word}active_file 7\n{word}inactive_file 20\n")
    found = list(machine._free_in_groups(str(root), "/a/b"))
    assert found[:2] == [827, 327]
    assert len(found) == (3 if version == 1 else 2)  # "max" is no limit
    assert list(machine._free_in_groups(str(root), "/of/a/host")) == [827]


def test_the_memory_that_is_free(monkeypatch):
    resource = pytest.importorskip("resource")
    free = machine.free_memory()
    assert free is not None
    monkeypatch.setattr(resource, "getrlimit", lambda which: (0, 0))
    assert machine.free_memory() == 0
    monkeypatch.setattr("builtins.open", lambda *_, **__: (_ for _ in ()).throw(FileNotFoundError()))
    monkeypatch.setattr(machine, "machine_memory", lambda: 123)
    assert machine.free_memory() == 123
    monkeypatch.setattr(machine, "machine_memory", lambda: None)
    assert machine.free_memory() is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "out of memory"),
        (
            pa.ArrowMemoryError("malloc of size 8000000 failed"),
            "out of memory: 8,000,000 more bytes were needed at once",
        ),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out of memory"),
        (OSError(errno.EMFILE, "Too many open files", "e.csv"), "too many files are open"),
        (pa.ArrowException("Failed to open: Too many open files"), "too many files are open"),
        (RuntimeError("can't start new thread"), "no thread can be started"),
        (pa.ArrowException("Unknown error: Failed to launch worker thread"), "no thread can be started"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "no thread can be started"),
        (OSError(errno.EIO, "Input/output error"), None),
        (FormatError("damaged"), None),
        (ValueError("strange"), None),
    ],
)
def test_faults_of_the_machine(error, words):
    found = machine_fault(error)
    assert (None if found is None else found.message.partition(";")[0]) == words


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow"])
def test_a_lack_of_memory_is_no_damage(tmp_path, monkeypatch, name):
    path = tmp_path / name
    formats.write_edges(pa.table({"source": [1], "target": [2], "weight": [3]}), path)

    def fail(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 67108864 failed")

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", fail)
    monkeypatch.setattr("dfmst.formats.columnar._open_arrow", fail)
    with pytest.raises(CapacityError, match=r"^out of memory: 67,108,864 more bytes"):
        formats.read_edges(path)
    if name == "e.parquet":
        with pytest.raises(CapacityError, match=r"^out of memory: 67,108,864 more bytes"):
            dfmst.stream.minimum_spanning_forest(path)


@pytest.mark.parametrize("name", ["e.parquet", "e.csv", "e.csv.gz", "e.arrow", "folder"])
def test_files_that_memory_does_not_hold(tmp_path, monkeypatch, name):
    table = pa.table({column: np.zeros(200_000, np.int64) for column in ("source", "target", "weight")})
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    formats.write_edges(table, path / "e.parquet" if name == "folder" else path)
    monkeypatch.setattr("dfmst.formats.read.free_memory", lambda: 4_000_000)
    read: list[Any] = []
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", lambda *path, **_: map(read.append, path))
    with pytest.raises(
        CapacityError, match=r"rows take [\d,]+ bytes in memory, and 4,000,000 bytes are free"
    ) as caught:
        formats.read_edges(path)
    assert read == []
    assert "dfmst.stream.minimum_spanning_forest(" in caught.value.hint
    monkeypatch.undo()
    assert formats.read_edges(path).num_rows == 200_000
    assert dfmst.stream.fits(path, "512MiB")


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow"])
def test_dictionaries_count(tmp_path, monkeypatch, name):
    words = pa.array([f"a text of a category {number:07}" for number in range(50_000)])
    ends = pa.array(np.arange(50_000, dtype=np.int32))
    tags = pa.DictionaryArray.from_arrays(ends, words)
    path = tmp_path / name
    formats.write_edges(pa.table({"source": tags, "target": tags, "weight": np.zeros(50_000)}), path)
    assert not dfmst.stream.fits(path, (256 << 20) + 50_000 * (16 + 40))  # indices, weights and solving alone
    monkeypatch.setattr("dfmst.formats.read.size_in_memory", lambda path: (0, 0))
    monkeypatch.setattr("dfmst.formats.read.free_memory", lambda: 2 * 50_000 * 20)
    with pytest.raises(CapacityError, match="50,000 rows take"):
        formats.read_edges(path)


def test_a_long_dictionary_is_not_gathered_with_few_rows(tmp_path):
    rows = 40_000
    words = pa.array([f"a text of a category {number:07}" for number in range(rows)])
    ends = np.arange(rows) % 100
    tags = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows, dtype=np.int32)), words)
    table = pa.table({"source": ends, "target": (ends + 1) % 100, "weight": np.arange(rows), "tag": tags})
    formats.write_edges(table, tmp_path / "e.parquet")
    found = dfmst.stream.minimum_spanning_forest(tmp_path / "e.parquet")
    assert found.to_pydict() == dfmst.minimum_spanning_forest(table).to_pydict()
    assert found.schema.field("tag").type == tags.type
    assert sum(len(chunk.dictionary) for chunk in found["tag"].chunks) == 99


PRELOADED = """
#include <errno.h>
#include <pthread.h>
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) { return EAGAIN; }
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler on Linux")
def test_without_threads_everything_runs_on_one(tmp_path):
    source, library = tmp_path / "few.c", tmp_path / "few.so"
    source.write_text(PRELOADED)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    draw = np.random.default_rng(0)
    ends = draw.integers(0, 5_000, (2, 20_000))
    table = pa.table({"source": ends[0], "target": ends[1], "weight": draw.integers(0, 99, 20_000)})
    expected = dfmst.minimum_spanning_forest(table)
    commands = [["forest"], ["forest", "--memory-limit", "290MiB"], ["convert"], ["linked-rows", "--on", "source"]]
    for name in ("e.parquet", "e.csv", "e.arrow"):
        formats.write_edges(table, tmp_path / name)
        for first, *more in commands:
            command = [sys.executable, "-m", "dfmst", first, name, *more, "-o", "out.parquet"]
            (tmp_path / "out.parquet").unlink(missing_ok=True)
            if more[:1] == ["--memory-limit"] and name == "e.arrow":
                continue
            run = subprocess.run(
                command, cwd=tmp_path, env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, text=True
            )
            assert run.returncode == 0, run.stderr
            found = pyarrow.parquet.read_table(tmp_path / "out.parquet").select(table.column_names)
            if first != "linked-rows":
                assert found.to_pydict() == (table if first == "convert" else expected).to_pydict()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize(
    ("limit", "command", "words"),
    [
        ("-v 300000", "forest long.parquet -o out.parquet", "out of memory"),
        ("-v 700000", "forest long.parquet -o out.parquet", ""),
        ("-v 2000000", "linkage long.parquet -o out.parquet", " rows take "),
        ("-v 2000000", "forest long.parquet -o out.parquet", ""),
    ],
)
def test_limits_of_the_shell(tmp_path, limit, command, words):
    rows = 30_000_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, np.int8)), pa.array([7])).dictionary_decode()
    piece = pa.table(dict.fromkeys(("source", "target", "weight"), column))
    with pyarrow.parquet.ParquetWriter(tmp_path / "long.parquet", piece.schema) as writer:
        for _ in range(rows // len(piece)):
            writer.write_table(piece)
    assert Path(tmp_path / "long.parquet").stat().st_size < 1 << 20
    shell = f"ulimit {limit}; exec {sys.executable} -m dfmst {command}"
    run = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == (1 if words else 0), run.stderr
    assert words in run.stderr
    assert "damaged" not in run.stderr
    assert "Traceback" not in run.stderr


def _no_file(*_, **__):
    raise FileNotFoundError


def test_memory_without_the_files_of_linux(monkeypatch):
    resource = pytest.importorskip("resource")
    exact = machine.peak_memory()
    monkeypatch.setattr("builtins.open", _no_file)
    assert machine.memory_now() == 0
    peak = machine.peak_memory()
    assert exact is not None
    assert peak is not None
    assert exact >> 1 <= peak <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (sys.platform != "darwin") * 10
    monkeypatch.delattr(os, "sysconf")
    assert machine.machine_memory() is None


def test_a_system_without_resource_usage(monkeypatch):
    monkeypatch.setattr("builtins.open", _no_file)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert machine.peak_memory() is None


@pytest.mark.parametrize("used", [0, 3 << 20])
def test_a_bar_learns_the_number_of_rows(capsys, monkeypatch, used):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(machine, "memory_now", lambda: used)
    bar = machine.RowBar("folding \x1b]0;", limit=8 << 20)
    bar(10)
    for done in (20, 40):
        bar(done, 40)
        assert (bar._bar.n, bar._bar.total) == (done, 40)
        assert bar._bar.postfix == (f"{used >> 20} of 8 MiB" if used else None)
    bar.close()
    assert r"folding \x1b]0; 10.0 rows" in capsys.readouterr().err


def test_a_bar_without_rows_draws_nothing(capsys):
    with machine.showing(True, "folding"):
        pass
    assert capsys.readouterr().err == ""


def test_progress_that_is_no_function():
    with pytest.raises(TypeError, match="progress is a int; it must be True, or a function"), machine.showing(1, "x"):
        pass
