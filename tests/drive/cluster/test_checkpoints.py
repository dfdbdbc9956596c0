"""Checkpoints that were damaged, and directories of them that two runs want at a time."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfmst
import dfmst.dask
from dfmst._common.directories import sole_use
from dfmst._drive import shuffle
from dfmst._drive.cluster import Resources
from dfmst._drive.devices import TaskColumns
from dfmst._drive.graph import checkpointed, first_run, load, partitions_done, save
from dfmst._drive.runs import GroupEdges, edges_layout
from dfmst._drive.shuffle import NUMBERING, Numbering, Statistics, rows_of_slice
from dfmst._drive.strategies import Work
from dfmst._drive.tables import EDGE_TABLE, EdgeTypes, travelling_table
from dfmst._drive.tasks import Group, PartRows, StoredEncoder, gather
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine
from dfmst.formats.atomic import sealed_output
from tests.support.dask_frames import STRATEGIES, forest_of, in_files, random_frame
from tests.support.stream_files import Stopped

DAMAGES = 12
CONTENT = b'{"version": 5, "holds": "numbering", "numbers": false, "total": %d}'


def damaged(content: bytes, draw: random.Random) -> bytes:
    """A flipped bit, or a cut."""
    place = draw.randrange(len(content))
    if draw.random() < 0.3:
        return content[:place]
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_damaged_checkpoint_is_made_anew(strategy, tmp_path):
    frame = random_frame(60, rows=800)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")

    def forest() -> pd.DataFrame:
        return forest_of(dd.from_pandas(frame, npartitions=4, sort=False), strategy, checkpoint=tmp_path)

    pd.testing.assert_frame_equal(forest(), expected)
    files = sorted(tmp_path.iterdir())
    contents = {file: file.read_bytes() for file in files}
    draw = random.Random(strategy)
    for _ in range(DAMAGES):
        for file in draw.sample(files, draw.randint(1, len(files))):
            file.write_bytes(damaged(contents[file], draw))
        pd.testing.assert_frame_equal(forest(), expected)
        now = {file: file.read_bytes() for file in sorted(tmp_path.iterdir())}
        if strategy == "shuffle":  # does not look at what it needs no more
            read_last = [file for file in files if file.name.startswith("slice-")]
            now = contents | {file: now[file] for file in read_last}
        assert now == contents


def edge_table(*keys: int) -> pa.Table:
    ends, rows = pa.array(range(len(keys)), pa.uint32()), np.arange(len(keys), dtype=np.uint64)
    return travelling_table(ends, ends, np.array(keys, np.uint64), rows, "uint64")


def test_the_checkpoint_of_another_task_is_not_taken(tmp_path):
    checkpointed(str(tmp_path / "a"), EDGE_TABLE, lambda: edge_table(1))
    (tmp_path / "a").rename(tmp_path / "b")
    assert checkpointed(str(tmp_path / "b"), EDGE_TABLE, lambda: edge_table(2))["key"].to_pylist() == [2]


@pytest.mark.parametrize("version", [None, 4, 6])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_checkpoints_of_another_version_are_refused_by_name(tmp_path, monkeypatch, strategy, version):
    parts = dd.from_pandas(random_frame(60), npartitions=4, sort=False)
    with monkeypatch.context() as patch:
        patch.setattr("dfmst._fold.checkpoint._VERSION", version)
        forest_of(parts, strategy, checkpoint=tmp_path)
    age = "a later" if version == 6 else "an older"
    with pytest.raises(dfmst.FormatError, match=f"written by {age} version of dfmst\nHint: remove the directory"):
        forest_of(parts, strategy, checkpoint=tmp_path)


@pytest.mark.parametrize("record", [None, b"", b"7", b'{"version": 5}', CONTENT % -1, b"[" * 100_000])
def test_false_content_with_a_right_digest_is_made_anew(tmp_path, record):
    path = tmp_path / "name"
    with sealed_output(path) as file:
        table = pa.table({}).replace_schema_metadata({b"dfmst": record} if record else None)
        if record != b"":
            with pa.ipc.new_stream(pa.PythonFile(file, "w"), table.schema) as writer:
                writer.write_table(table)
    numbering = Numbering(None, 1)
    assert checkpointed(str(path), NUMBERING, lambda: numbering) is numbering


@pytest.mark.parametrize("total", [0, 2])
def test_numbers_of_vertices_come_back_if_all_rows_are_self_loops(tmp_path, total):
    path, numbers = str(tmp_path / "name"), np.arange(2, dtype=np.uint32) % max(1, total)
    save(path, NUMBERING, Numbering(TaskColumns(CpuEngine(1), numbers), total))
    found = load(path, NUMBERING)
    assert (found.total, found.numbers.load().tolist()) == (total, numbers.tolist())


@pytest.mark.parametrize("kind", ["x", "\ud800", "O", "U3", "(2)i4"])
def test_rows_with_weights_of_a_false_kind_are_others(kind):
    frame = pd.DataFrame({"a": [0], "b": [1], "w": [1.5]})
    rows = PartRows(np.array([0], np.uint32), 1, EdgeTypes(pa.uint32(), pa.uint32(), kind))
    with pytest.raises(dfmst.ClusterError, match="partition 3 came out differently"):
        gather(frame, rows, 3, EdgeColumns("a", "b", "w"))


def test_dense_ids_next_to_texts_are_false(tmp_path):
    texts, layout = TaskColumns.stored(CpuEngine(1), pa.array(["a", "b"], pa.large_string())), edges_layout(0, 1, 5)
    for dense in (0, 1):
        edges = GroupEdges([], StoredEncoder(dense, texts), "int64", [None])
        save(str(tmp_path / "edges"), layout, edges)
        assert (load(str(tmp_path / "edges"), layout) is None) == bool(dense)


@pytest.mark.parametrize("ids", [pa.array([5] * 999), pa.array(["a"] * 999, pa.large_string())])
def test_equal_ids_are_false(ids):
    with pytest.raises(dfmst.OutputError, match="checkpoints do not fit each other"):
        StoredEncoder(0, TaskColumns.stored(CpuEngine(1), ids)).on(CpuEngine(1))


def test_more_numbers_than_ends_of_rows_are_false():
    # Arrays of that length would take all memory.
    none = np.zeros(0, np.uint32)
    statistics = Statistics([], [0], 6, None)
    numbering = Numbering(TaskColumns.stored(CpuEngine(1), none), 13)
    edges = GroupEdges([], StoredEncoder(), "", [])
    with pytest.raises(dfmst.OutputError, match="checkpoints do not fit each other"):
        rows_of_slice(edges, 0, statistics, numbering, [13], 0, [])
    numbering = numbering._replace(total=12)
    assert rows_of_slice(edges, 0, statistics, numbering, [12], 0, []) is None
    with pytest.raises(dfmst.OutputError, match="checkpoints do not fit each other"):
        rows_of_slice(edges, 0, statistics, numbering, [12, 11], 0, [])


def test_a_checkpoint_without_its_last_table_counts_as_missing(tmp_path):
    path, record = str(tmp_path / "name"), {"total": 1, "numbers": True}
    save(path, NUMBERING._replace(parts=lambda _: (record, ())), None)
    assert load(path, NUMBERING) is None


def test_a_checkpoint_that_cannot_be_read_is_an_error_with_the_directory(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(dfmst.OutputError, match=f"cannot use {tmp_path} for checkpoints"):
        checkpointed(str(tmp_path / "a"), EDGE_TABLE, lambda: edge_table(1))
    (tmp_path / "workers-token").mkdir()
    with pytest.raises(dfmst.OutputError, match=f"cannot use {tmp_path} for checkpoints"):
        first_run(str(tmp_path), "token", 2)


@pytest.mark.parametrize("ids", ["dense", "text"])
@pytest.mark.parametrize("files", [True, False])
def test_a_shuffle_goes_on_where_it_was(tmp_path, monkeypatch, ids, files):
    frame = random_frame(63, rows=800, ids=ids)
    parts = dd.from_pandas(frame, npartitions=4, sort=False)
    if files:
        frame = frame.reset_index(drop=True)
        parts = in_files(frame, tmp_path / "edges", 4)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    calls: Counter[str] = Counter()
    stop_at = 6

    def counted(name: str) -> None:
        task = getattr(shuffle, name)

        def call(*arguments: Any) -> Any:
            calls[name] += 1
            if name == "solve_slice" and calls[name] == stop_at:
                raise Stopped
            return task(*arguments)

        monkeypatch.setattr(shuffle, name, call)

    for name in ("distribute", "rows_of_slice", "solve_slice"):
        counted(name)

    def forest() -> pd.DataFrame:
        return forest_of(parts, "shuffle", checkpoint=tmp_path / "kept")

    with pytest.raises(Stopped):
        forest()
    stop_at = 0
    calls.clear()
    pd.testing.assert_frame_equal(forest(), expected, check_dtype=False)
    assert calls == {"rows_of_slice": 3 * 4, "solve_slice": 3}
    calls.clear()
    pd.testing.assert_frame_equal(forest(), expected, check_dtype=False)
    assert not calls


@pytest.mark.sampled(2)
@pytest.mark.parametrize("files", [True, False])
@pytest.mark.parametrize("ids", ["dense", "sparse", "text"])
@pytest.mark.parametrize("sliced", [False, True])
def test_a_task_goes_on_where_it_was(tmp_path, monkeypatch, ids, files, sliced):
    monkeypatch.setattr("dfmst._fold.checkpoint.SavePace.due", lambda self, done: True)
    monkeypatch.setattr("dfmst._drive.cluster.resources", lambda: Resources(1, 3 << 30))
    if sliced:
        work = Work(300, 800, 12, 2, 1 << 40, 8)
        monkeypatch.setattr("dfmst._drive.cluster._strategy", lambda *_: ("merge", None, work, 0))
    frame, kept = random_frame(64, rows=800, ids=ids).reset_index(drop=True), tmp_path / "kept"
    parts = in_files(frame, tmp_path / "edges", 12) if files else dd.from_pandas(frame, npartitions=12, sort=False)
    tables, read, stop_at = Group.tables, list[int](), 8

    def counted(group: Group, *arguments: Any) -> Iterator[Any]:
        for table in tables(group, *arguments):
            read.append(1)
            if len(read) == stop_at:
                raise Stopped
            yield table

    monkeypatch.setattr(Group, "tables", counted)
    with pytest.raises(Stopped):
        forest_of(parts, "merge", checkpoint=kept)
    assert [partitions_done(str(path)) for path in kept.glob("*.partial")] == [7]
    stop_at = 0
    read.clear()
    rows = forest_of(parts, "merge", checkpoint=kept).reset_index(drop=True)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w").reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, expected, check_dtype=False)
    assert len(read) == 12 - 7
    assert not list(kept.glob("*.partial"))


def test_a_damaged_file_has_no_progress(tmp_path):
    (tmp_path / "cut").write_bytes(b"1")
    assert [partitions_done(str(tmp_path / name)) for name in ("cut", "none")] == [0, 0]


def test_calls_that_differ_in_their_checkpoints_alone(tmp_path):
    parts = dd.from_pandas(random_frame(67, rows=80), npartitions=4, sort=False)
    forests = [parts.mst.minimum("a", "b", "w", checkpoint=tmp_path / name) for name in ("first", "second")]
    pd.testing.assert_frame_equal(*(forest.compute(scheduler="synchronous") for forest in forests))
    assert all(any((tmp_path / name).glob("fold-*")) for name in ("first", "second"))


def test_a_shuffle_with_checkpoints_has_groups_that_are_read_in_seconds(tmp_path, monkeypatch):
    parts = in_files(random_frame(61), tmp_path / "edges", 24)
    monkeypatch.setattr("dfmst._drive.cluster.resources", lambda: Resources(1, 3 << 30))
    monkeypatch.setattr("dfmst._drive.cluster._CHECKPOINT_ROWS", 200)

    def groups(**options: Any) -> int:
        forest = parts.mst.minimum("a", "b", "w", n_vertices=400, strategy="shuffle", **options)
        return sum(str(key).count("distribute") for key in dict(forest.__dask_graph__()))

    assert (groups(), groups(checkpoint=tmp_path / "kept")) == (4, 10)


def test_one_run_at_a_time_uses_a_directory(tmp_path, client):
    edges, kept = tmp_path / "edges", tmp_path / "kept"
    in_files(random_frame(61), edges, 1)
    kept.mkdir()
    program = (
        "import sys; from dfmst._common.directories import sole_use\n"
        "with sole_use(sys.argv[1]): print(1, flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(kept)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    options = {"source": "a", "target": "b", "weight": "w", "checkpoint": kept, "client": client}
    with pytest.raises(dfmst.OutputError, match=rf"kept is in use by process {holder.pid} on .*\nHint: wait until"):
        dfmst.dask.forest_of_files(edges, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    holder.kill()
    holder.communicate(timeout=60)
    # What the killed run left keeps nobody out.
    assert (kept / ".lock").exists()
    dfmst.dask.forest_of_files(edges, tmp_path / "out", **options)
    assert not list(kept.iterdir())


def test_a_directory_is_free_after_an_error(tmp_path):
    def fail() -> None:
        with sole_use(tmp_path):
            raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            fail()
    assert list(tmp_path.iterdir()) == []
