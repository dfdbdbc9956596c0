"""Rows go to disk where their vertices do not fit the limit; the forest is the same, and the disk is left clean."""

from __future__ import annotations

import errno
import gc
import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst import stream
from dfmst._common.directories import SpillDirectory, disk_errors
from dfmst._engines import CpuEngine
from dfmst._fold.budget import RUN_FIXED, Budget, RunBudget
from dfmst._fold.fold import LevelMarks, RunFold, SliceKruskal
from dfmst._fold.rows import MemoryRun, Order, RowBuffer, Rows, Run, write_sorted
from dfmst.errors import CapacityError, DfmstError, OutputError
from tests.fold.test_folding import short_pieces
from tests.support.oracle import kruskal_rows
from tests.support.stream_files import Stopped, edges, stop_after, tight, write_parts

ENGINE = CpuEngine(threads=2)


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_short_buffer_is_solved_in_few_steps(monkeypatch, tmp_path, on_disk):
    """In slices of a grain, or every span of every run in steps of its own, the least limit took ten times as long."""
    rng, vertices, launches = np.random.default_rng(0), 60_000, list[str]()
    launch = CpuEngine.launch

    def counted(engine: CpuEngine, kernel: str, *arguments: Any, **options: Any) -> None:
        launches.append(kernel)
        assert len(launches) < 20_000
        launch(engine, kernel, *arguments, **options)

    monkeypatch.setattr(CpuEngine, "launch", counted)
    directory = SpillDirectory(tmp_path) if on_disk else None
    least = RUN_FIXED + vertices * RunBudget(0, 8, in_memory=not on_disk).vertex
    room = RunBudget(least, 8, in_memory=not on_disk)
    fold = RunFold(ENGINE, directory, room, vertices, np.dtype(np.float64))
    for begin in range(0, 180_000, 60_000):
        ends, weight = rng.integers(0, vertices, (2, 60_000)).astype(np.uint32), rng.random(60_000)
        fold.add(Rows(*ends, weight, np.arange(begin, begin + 60_000, dtype=np.uint64)))
    assert len(fold.ascending()) > 0.9 * vertices
    solves = launches.count("flatten")
    assert solves < launches.count("gather_labels") < 16 * solves
    assert launches.count("flag_equal") <= solves


def test_rows_that_cannot_enter_are_not_written(monkeypatch, tmp_path):
    short_pieces(monkeypatch, 64, 2_000)
    written = 0
    rng = np.random.default_rng(0)
    vertices, rows = 1_000, 50_000
    source, target = rng.integers(0, vertices, (2, rows)).astype(np.uint32)
    directory = SpillDirectory(tmp_path)
    fold = RunFold(ENGINE, directory, RunBudget(100_000, 8), vertices, np.float64)
    weight = rng.random(rows)
    for begin in range(0, rows, 1_000):
        fold.add(Rows(source, target, weight, 0).part(begin, begin + 1_000))
        written = max(written, sum(path.stat().st_size for path in directory.path.iterdir()))
    assert written < 24 * 16 * vertices < 24 * rows
    assert len(fold.forest()) == vertices - 1


@pytest.mark.parametrize("name", [None, lambda vertex: vertex * 10**12, lambda vertex: f"vertex {vertex}"])
@pytest.mark.parametrize("maximum", [False, True])
def test_a_stream_beyond_its_limit(monkeypatch, tmp_path, name, maximum):
    tight(monkeypatch, 700, fixed=0)
    short_pieces(monkeypatch, 64, 2_000)
    table = edges(3_000, 9_000, ties=50, name=name)
    parts = write_parts(tmp_path / "parts", table, 3, 1_000)
    limit = 60_000 if name is None else 260_000 if name(1) == "vertex 1" else 180_000
    find = stream.maximum_spanning_forest if maximum else stream.minimum_spanning_forest
    with pytest.raises(CapacityError):
        find(parts, memory_limit=limit)
    if name is None:
        with pytest.raises(CapacityError, match="spill_dir"):
            find(parts, memory_limit=limit)
    spill = tmp_path / "spill"
    forest = find(parts, memory_limit=limit, spill_dir=spill)
    whole = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    assert forest.equals(whole(table))
    output = find(parts, memory_limit=limit, spill_dir=spill, output=tmp_path / "forest.parquet")
    assert pyarrow.parquet.read_table(output).equals(forest)
    assert stream.verify(parts, output, maximum=maximum)
    assert os.listdir(spill) == []


@pytest.mark.parametrize("name", [None, lambda vertex: vertex * 10**12, lambda vertex: f"vertex {vertex}"])
@pytest.mark.parametrize(("known", "maximum"), [(True, False), (False, True)])
def test_runs_in_memory_take_a_third(monkeypatch, tmp_path, name, known, maximum):
    tight(monkeypatch, 700)
    short_pieces(monkeypatch, 64, 2_000)
    table = edges(3_000, 30_000, ties=50, name=name)
    ids = 0 if name is None and known else 27 if name is None or name(1) == 10**12 else 60
    limit = Budget(0, 8, ids, store="memory").needed(3_000) - (1 << 20) + 4_096
    assert limit < Budget(0, 8, ids).needed(3_000) - (1 << 20)
    frames = [table.slice(begin, 1_000) for begin in range(0, 30_000, 1_000)]
    edge_table = write_parts(tmp_path / "parts", table, 3, 1_000) if known else frames
    find = stream.maximum_spanning_forest if maximum else stream.minimum_spanning_forest
    whole = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    assert find(edge_table, memory_limit=limit).equals(whole(table))
    if known:
        with pytest.raises(CapacityError, match=r"raise the (memory )?limit"):  # a checkpoint needs rows in order
            find(edge_table, memory_limit=limit, checkpoint=tmp_path / "kept")


@pytest.mark.parametrize("name", [lambda vertex: vertex * 10**12, lambda vertex: f"vertex {vertex}"])
def test_the_limit_that_a_hint_names_is_enough(monkeypatch, tmp_path, name):
    """It counted the vertices so far, so that each run asked for a little more; and `spill_dir` asked for most."""
    tight(monkeypatch, 5_000, fixed=600_000)  # ids alone need more than the limit
    monkeypatch.setattr("dfmst._fold.budget.RUN_FIXED", 0)
    table = edges(30_000, 60_000, name=name)
    parts = write_parts(tmp_path / "parts", table, 1, 60_000)
    named = []
    for spill in (None, tmp_path / "spill"):
        with pytest.raises(CapacityError) as caught:
            stream.minimum_spanning_forest(parts, memory_limit="1MB", spill_dir=spill)
        named.append(int(re.findall(r"raise the limit to (\d+) MB or more", caught.value.hint)[0]))
        forest = stream.minimum_spanning_forest(parts, memory_limit=f"{named[-1]}MB", spill_dir=spill)
        assert forest.equals(dfmst.minimum_spanning_forest(table))
    assert named[1] < named[0]


def test_frames_that_turn_out_too_large(monkeypatch, tmp_path):
    tight(monkeypatch, 700)
    short_pieces(monkeypatch, 64, 2_000)
    rows = edges(3_000, 9_000)
    frames = [rows.slice(begin, 1_000) for begin in range(0, 9_000, 1_000)]
    # The first are few vertices, which fit.
    frames.insert(0, edges(100, 500, seed=1))
    expected = dfmst.minimum_spanning_forest(pa.concat_tables(frames))
    assert stream.minimum_spanning_forest(frames, memory_limit=100_000, spill_dir=tmp_path).equals(expected)
    # Later ones have ids that are not dense.
    frames.append(pa.table({"source": [10**12, 5], "target": [5, 7], "weight": [0.5, 0.1], "payload": [1, 2]}))
    expected = dfmst.minimum_spanning_forest(pa.concat_tables(frames))
    assert stream.minimum_spanning_forest(frames, memory_limit=500_000, spill_dir=tmp_path).equals(expected)


@pytest.mark.parametrize("scanned", [False, True])
def test_a_slice_of_many_runs_may_be_longer_than_the_buffer(scanned):
    """No slice can be shorter than a grain of each run: the buffer grows, and nothing is written beyond it."""
    rng, order, vertices = np.random.default_rng(0), Order("weight", 0), 300
    ends, weight = rng.integers(0, vertices, (2, 1_600)).astype(np.uint32), rng.integers(0, 500, 1_600)
    runs = [MemoryRun(ENGINE, order, weight.dtype, 32) for _ in range(16)]
    for number, run in enumerate(runs):
        span = slice(100 * number, 100 * number + 100)
        rows = Rows(ends[0, span], ends[1, span], weight[span], np.arange(span.start, span.stop, dtype=np.uint64))
        write_sorted(ENGINE, run, order, rows)
    state = (np.arange(vertices, dtype=np.uint32), vertices) if scanned else None
    kruskal = SliceKruskal(ENGINE, vertices, 40, weight.dtype, 0, state)
    chosen = [rows.arrays[3][positions] for rows, positions in kruskal.solve_runs(runs, 5)]
    assert sorted(np.concatenate(chosen)) == sorted(kruskal_rows(*ends.tolist(), weight.tolist()))


def test_half_of_the_vertices_are_no_giant_component():
    """The other half may be joined next: an edge between the halves would then be dropped."""
    marks = LevelMarks(ENGINE, 8)
    for parent in ([0, 1, 2, 3, 4, 4, 4, 4], [0, 0, 0, 0, 4, 4, 4, 4]):
        marks.mark(np.array(parent, np.uint32), 5)
    assert marks.filter() is None


def test_a_full_buffer_takes_nothing_more():
    buffer = RowBuffer(ENGINE, 3, np.int32)
    ends = np.zeros(4, np.uint32)
    with pytest.raises(ValueError, match="4 rows for a buffer with room for 3"):
        buffer.append(Rows(ends, ends, ends.view(np.int32), 0), None)


def test_what_a_forest_on_disk_tells(monkeypatch, tmp_path):
    tight(monkeypatch, 700)
    short_pieces(monkeypatch, 64, 2_000)
    table = edges(3_000, 4_000)
    loops = pa.table({"source": [3_000], "target": [3_000], "weight": [1.0], "payload": [0]})
    parts = write_parts(tmp_path / "parts", pa.concat_tables([table, loops]), 2, 500)
    expected = stream.fold(parts)
    forest = stream.fold(parts, memory_limit=60_000, spill_dir=tmp_path / "spill")
    for name in ("rows", "source_rows", "dropped", "vertices", "components", "total_weight"):
        assert getattr(forest, name) == getattr(expected, name)
    assert forest.frame.equals(expected.frame)
    with pytest.raises(CapacityError, match="linked forest"):
        forest.verify()
    assert len(os.listdir(tmp_path / "spill")) == 1
    forest.close()
    assert os.listdir(tmp_path / "spill") == []


@pytest.mark.parametrize("error", [DfmstError, KeyboardInterrupt, SystemExit])
def test_the_directory_is_left_clean(monkeypatch, tmp_path, error):
    tight(monkeypatch, 700)
    short_pieces(monkeypatch, 64, 2_000)
    other = SpillDirectory(tmp_path)  # of a run that goes on
    table = edges(2_500, 9_000)

    def frames():
        yield table.slice(0, 8_000)
        until = time.monotonic() + 60  # the fold runs in another thread, which may be behind
        while not any(len(files) > 1 for place, _, files in os.walk(tmp_path) if other.path.name not in place):
            assert time.monotonic() < until
        if error is not DfmstError:  # as the command's handlers of SIGINT and SIGTERM raise
            raise error
        yield table.slice(8_000).set_column(2, "weight", pa.array(["a"] * 1_000))

    with pytest.raises(error, match="weight" if error is DfmstError else None) as caught:
        stream.minimum_spanning_forest(frames, memory_limit=60_000, spill_dir=tmp_path)
    assert caught.value.__traceback__ is not None  # keeps the run's rows, as a notebook does
    assert os.listdir(tmp_path) == [other.path.name]
    other.remove()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_disk_that_is_full(tmp_path, number):
    message = f"cannot write temporary files in .*: {os.strerror(number).lower()}"
    with pytest.raises(OutputError, match=message) as caught, disk_errors(tmp_path):
        raise OSError(number, os.strerror(number))
    assert caught.value.errno == number
    assert "another disk" in caught.value.hint
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write temporary files"):
        SpillDirectory(tmp_path / "file" / "spill")


def test_files_that_were_cut_short(monkeypatch, tmp_path):
    short_pieces(monkeypatch, 16, 50)
    directory = SpillDirectory(tmp_path)
    fold = RunFold(ENGINE, directory, RunBudget(2_000, 4), 100, np.int32)
    rng = np.random.default_rng(0)
    fold.add(Rows(*rng.integers(0, 100, (2, 500)).astype(np.uint32), np.zeros(500, np.int32), 0))
    for path in Path(directory.path).glob("*.rows"):
        os.truncate(path, 4)
    with pytest.raises(OutputError, match="cut short"):
        fold.forest()


@pytest.mark.parametrize("ids", ["dense", "no footer", "text"])
@pytest.mark.parametrize(("before", "after"), [(True, True), (True, False), (False, True)])
def test_a_run_with_rows_on_disk_goes_on(monkeypatch, tmp_path, ids, before, after):
    """Whether its rows lay on disk before the end or after it; and the disk is left clean."""
    tight(monkeypatch, 700)
    short_pieces(monkeypatch, 64, 500)
    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: done % 2_000 < 700)
    table = edges(2_500, 14_000, ties=30, name=str if ids == "text" else None)
    parts = write_parts(tmp_path / "parts", table, 1 if ids == "no footer" else 3, 3_000)
    if ids == "no footer":
        pyarrow.parquet.write_table(table, parts / "part-000.parquet", write_statistics=False)
    reported: list[tuple[str, int]] = []
    kinds: list[str] = []
    fold_in_runs = RunFold.forest

    def noted(self: RunFold) -> Run:
        kinds.append("runs")
        return fold_in_runs(self)

    monkeypatch.setattr(RunFold, "forest", noted)

    def run(on_disk: bool, last: int = 1 << 30) -> pa.Table:
        spill = tmp_path / "spill" if on_disk else None
        options: dict[str, Any] = {
            "checkpoint": tmp_path / "kept",
            "spill_dir": spill,
            "on_checkpoint": lambda *event: reported.append(event),
        }
        forest = stream.fold(parts, memory_limit=300_000 if on_disk else "1GiB", progress=stop_after(last), **options)
        rows = forest.frame
        forest.close()
        return rows

    with pytest.raises(Stopped):
        run(before, 9_000)
    assert bool(kinds) == before
    saved = reported[-1]
    del reported[:], kinds[:]
    gc.collect()  # the error holds the run
    assert run(after).equals(dfmst.minimum_spanning_forest(dfmst.read_edges(parts)))
    assert bool(kinds) == after
    assert saved[0] == "saved"
    assert reported[0] == ("resumed", saved[1])
    assert os.listdir(tmp_path / "kept") == []
    gc.collect()
    assert os.listdir(tmp_path / "spill") == []


def test_the_account():
    memory = Budget(1 << 30)
    assert memory.most_vertices < 6_200_000
    with pytest.raises(CapacityError, match="spill_dir="):
        memory.check(60_000_000)
    replace(memory, store="disk").check(60_000_000)
    needed = replace(memory, store="disk").needed(10**9)
    assert needed < 12 * 10**9
    Budget(needed, store="disk").check(10**9)
