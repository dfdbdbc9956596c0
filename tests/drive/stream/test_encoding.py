"""Ids that turn out not to be dense: the run goes on with a dictionary, in a smaller buffer."""

from __future__ import annotations

import gc
import weakref
from threading import Semaphore
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst._drive.sources import ParquetSource, open_parquet_source
from dfmst._edges.encode import Encoder
from dfmst._fold.budget import Budget
from dfmst._fold.fold import BufferFold
from dfmst.errors import CapacityError, InvalidEdgesError, UnsupportedFrameError
from tests.support.stream_files import Stopped, edges, stop_after, tight

BATCH, BATCHES, VERTICES = 2_000, 10, 1_000
LIMIT = "1MiB"  # without footers, ids below some 8,000 are vertices as they are


def sparse_from(batch: int, seed: int = 0) -> pa.Table:
    """Dense ids, and from a batch on some others; with self-loops, and vertices that have no other row."""
    table = edges(VERTICES, BATCH * BATCHES, seed, ties=30)
    ends = [table[name].to_numpy().copy() for name in ("source", "target")]
    others = np.array([-3, 10**12, 10**15 + 1, 40_000])
    later = np.arange(batch * BATCH, len(table), 7)
    ends[0][later] = others[later % len(others)]
    loops = np.arange(3, len(table), 50)
    ends[1][loops] = ends[0][loops]
    ends[0][batch * BATCH] = 2**40  # a self-loop, and nothing else
    ends[1][batch * BATCH] = 2**40
    return table.set_column(0, "source", pa.array(ends[0])).set_column(1, "target", pa.array(ends[1]))


def write(folder, table: pa.Table, files: int = 3):
    """Write files whose footers do not bound the ids."""
    folder.mkdir()
    for number in range(files):
        begin, end = (len(table) * at // files for at in (number, number + 1))
        part = table.slice(begin, end - begin)
        pyarrow.parquet.write_table(part, folder / f"part-{number}.parquet", write_statistics=False)
    return folder


@pytest.fixture
def capacities(monkeypatch) -> list[int]:
    """Batches are short, and the buffers are noted that are made."""
    tight(monkeypatch, BATCH)
    made: list[int] = []

    class Noted(BufferFold):
        def __init__(self, engine, vertices, capacity, **options):
            made.append(capacity)
            super().__init__(engine, vertices, capacity, **options)

    monkeypatch.setattr("dfmst._drive.passes.BufferFold", Noted)
    return made


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_dictionary_from_any_batch_on(tmp_path, capacities, batch):
    table = sparse_from(batch)
    progress: list[int] = []
    parts = write(tmp_path / "parts", table)
    forest = dfmst.stream.fold(parts, memory_limit=LIMIT, progress=lambda done, _: progress.append(done))
    assert forest.frame.equals(dfmst.minimum_spanning_forest(table))
    assert forest.vertices == len(np.unique(table.select(["source", "target"]).to_pandas()))
    assert forest.verify()
    assert progress == sorted(set(progress))  # nothing was read twice
    assert progress[-1] == len(table)
    assert len(capacities) == (1 if batch == 0 else 2)
    assert batch == 0 or capacities[1] < capacities[0]


def test_vertices_are_numbered_anew_where_dense_ones_leave_no_room(tmp_path, capacities):
    room = Budget(1 << 20).most_vertices
    ids = 3 * np.arange(room // 3)  # ascending: they are dense vertices up to the last one
    table = pa.table({"source": ids[:-1], "target": ids[1:], "weight": ids[1:] % 7})
    table = pa.concat_tables([table, table.slice(0, 300), pa.table({"source": [6], "target": [10**10], "weight": [1]})])
    parts = write(tmp_path / "parts", table)
    assert Budget(1 << 20, id_bytes=27).most_vertices < 3 * (room // 3)
    forest = dfmst.stream.fold(parts, memory_limit=1 << 20)
    assert forest.frame.equals(dfmst.minimum_spanning_forest(table))
    assert forest.vertices == len(ids) + 1
    assert forest.verify()
    assert len(capacities) == 2


def test_more_vertices_than_fit_beside_a_dictionary(tmp_path, capacities):
    room = Budget(1 << 20).most_vertices
    ids = np.arange(room)
    table = pa.table({"source": ids[:-1], "target": ids[1:], "weight": ids[1:]})
    table = pa.concat_tables([table, pa.table({"source": [6], "target": [10**10], "weight": [1]})])
    with pytest.raises(CapacityError, match="vertices do not fit a memory limit"):
        dfmst.stream.fold(write(tmp_path / "parts", table), memory_limit=1 << 20)


def test_frames(capacities):
    table = sparse_from(4)
    frames = [pl.from_arrow(table.slice(begin, 3_000)) for begin in range(0, len(table), 3_000)]
    forest = dfmst.stream.fold(frames, memory_limit=LIMIT)
    expected = dfmst.minimum_spanning_forest(pl.from_arrow(table))
    assert forest.frame.equals(expected)
    assert forest.total_weight == expected["weight"].sum()
    assert forest.verify()
    assert len(capacities) == 2


def test_frames_of_text_after_integers():
    frames = [edges(30, 100), edges(30, 100, name=str)]
    with pytest.raises(InvalidEdgesError, match="ids of different types"):
        dfmst.stream.minimum_spanning_forest(frames)


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["last", "first"])
@pytest.mark.parametrize("ids", [[7, 9], [70_000_000, 9]], ids=["dense", "sparse"])
def test_a_frame_of_which_no_row_is_left_has_no_type(order, ids):
    rows = pa.table({"source": pa.array(ids[:1], pa.int64()), "target": pa.array(ids[1:], pa.int64())})
    for dropped in ({"source": [True], "target": pa.nulls(1, pa.bool_())}, {"source": ["a"], "target": [None]}):
        frames = [rows, pa.table(dropped)][order]
        forest = dfmst.stream.minimum_spanning_forest(frames, weight=None, invalid="drop")
        assert forest.to_pydict() == rows.to_pydict()
        labels = dfmst.stream.connected_components(frames, invalid="drop")
        assert labels.equals(dfmst.connected_components(rows))


def decimals(table: pa.Table) -> pa.Table:
    columns = {name: table[name] for name in table.column_names}
    return pa.table(columns | {name: table[name].cast(pa.decimal128(22, 2)) for name in ("source", "target")})


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["integers first", "decimals first"])
def test_frames_of_integers_and_of_decimals(order):
    integers, later = edges(30, 100), decimals(edges(40, 100, 1))
    frames = [integers, later][order]
    expected = dfmst.minimum_spanning_forest(pa.concat_tables([decimals(integers), later][order]))
    forest = dfmst.stream.fold([frame.to_pandas().astype({"weight": object}) for frame in frames])
    assert (forest.vertices, forest.rows) == (40, 39)
    assert forest.verify()
    assert forest.frame["payload"].tolist() == expected["payload"].to_pylist()


def test_frames_that_cannot_be_stacked():
    table, other = edges(30, 10), edges(30, 100, 1)
    texts = other.set_column(3, "payload", other["payload"].cast(pa.string()))
    cases = [
        (pl.from_arrow(other), UnsupportedFrameError, "are frames of two kinds: pyarrow and polars"),
        (other.drop_columns("payload"), InvalidEdgesError, "frame 1 of edges has no column 'payload'"),
        (texts, InvalidEdgesError, "column 'payload' is int64 in frame 0 of edges and string in frame 1"),
    ]
    for frame, error, message in cases:
        with pytest.raises(error, match=message):
            dfmst.stream.minimum_spanning_forest([table, frame])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("batch", [0, 3, 8])
@pytest.mark.parametrize("stop", [1, 3, 4, 6, 9])
def test_a_checkpoint_before_and_after(tmp_path, monkeypatch, capacities, batch, stop):
    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
    table = sparse_from(batch)
    parts = write(tmp_path / "parts", table)
    options: dict[str, Any] = {"memory_limit": LIMIT, "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(Stopped):
        dfmst.stream.fold(parts, progress=stop_after(stop * BATCH), **options)
    forest = dfmst.stream.fold(parts, **options)
    assert forest.verify()
    assert forest.vertices == len(np.unique(table.select(["source", "target"]).to_pandas()))
    assert forest.frame.equals(dfmst.minimum_spanning_forest(table))
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_a_checkpoint_and_another_limit(tmp_path, monkeypatch, capacities):
    """Ids that were dense within one limit need not be so within the next."""
    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
    table = edges(500, 4 * BATCH, ties=30)
    sparse = [pa.array(7 * table[name].to_numpy()) for name in ("source", "target")]
    table = table.set_column(0, "source", sparse[0]).set_column(1, "target", sparse[1])
    parts = write(tmp_path / "parts", table)
    options: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(Stopped):
        dfmst.stream.fold(parts, progress=stop_after(2 * BATCH), memory_limit=LIMIT, **options)
    smaller = Budget(0, id_bytes=27).needed(700) - (1 << 20)
    assert Budget(smaller).most_vertices < 3_500
    forest = dfmst.stream.fold(parts, memory_limit=smaller, **options)
    assert forest.vertices == 500
    assert forest.frame.equals(dfmst.minimum_spanning_forest(table))


def test_batches_of_long_texts_are_short(tmp_path):
    texts = pa.array([f"{number:01000}" for number in range(20_000)])
    short = pa.array(range(20_000))
    path = tmp_path / "edges.parquet"
    pyarrow.parquet.write_table(pa.table({"source": texts, "target": texts, "weight": short}), path)
    source = open_parquet_source(path)
    assert max(batch.rows for batch in source.batches(["source", "target"], 1 << 19)) < 10_000
    assert [batch.rows for batch in source.batches(["weight"], 1 << 19)] == [20_000]
    assert sum(batch.rows for batch in source.batches(["source", "weight"], 1 << 19, 777)) == 20_000 - 777


@pytest.mark.parametrize(
    "kind", [pa.int32(), pa.uint64(), pa.string(), pa.large_string(), pa.binary(), pa.date32()], ids=str
)
def test_ids_of_the_forest_are_not_read_again(tmp_path, monkeypatch, kind):
    table = edges(VERTICES, 5_000)
    for at, name in enumerate(("source", "target")):
        spread = pa.array(2_000_003 * table[name].to_numpy())
        ids = spread.cast(pa.string()).cast(kind) if "string" in str(kind) or "binary" in str(kind) else spread
        table = table.set_column(
            at, name, ids.cast(pa.int32()).cast(kind) if pa.types.is_date(kind) else ids.cast(kind)
        )
    path = tmp_path / "edges.parquet"
    pyarrow.parquet.write_table(table, path)
    read: list[list[str]] = []
    take = ParquetSource.take

    def noted(self, locators, names, rows):
        read.append(names)
        return take(self, locators, names, rows)

    monkeypatch.setattr(ParquetSource, "take", noted)
    forest = dfmst.stream.minimum_spanning_forest(path)
    assert forest.replace_schema_metadata().equals(dfmst.minimum_spanning_forest(table))
    assert read == [["payload"]]


def test_later_batches_are_encoded_while_one_is_folded(monkeypatch):
    """The first batch is folded when the third one has its numbers."""
    tight(monkeypatch, BATCH)
    encoded = Semaphore(0)

    class Waiting(BufferFold):
        def add(self, rows):
            if rows.locator == 0:
                assert all(encoded.acquire(timeout=60) for _ in range(3))
            super().add(rows)

    class Told(Encoder):
        def encode_dense(self, ids, rows=0):
            ends = super().encode_dense(ids, rows)
            encoded.release()
            return ends

    monkeypatch.setattr("dfmst._drive.passes.BufferFold", Waiting)
    monkeypatch.setattr("dfmst._drive.passes.Encoder", Told)
    table = edges(VERTICES, BATCH * BATCHES)
    assert dfmst.stream.minimum_spanning_forest([table]).equals(dfmst.minimum_spanning_forest(table))


def test_a_refused_batch_keeps_nothing_alive(monkeypatch):
    """An error that comes from the thread goes with what was folded, at once and without the collector."""
    tight(monkeypatch, BATCH)
    folds = []

    class Noted(BufferFold):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            folds.append(weakref.ref(self))

    monkeypatch.setattr("dfmst._drive.passes.BufferFold", Noted)
    table = edges(VERTICES, BATCH * 4)
    frames = [table, table.set_column(2, "weight", pa.array(["a"] * len(table)))]
    gc.disable()
    try:
        with pytest.raises(InvalidEdgesError, match="weight"):
            dfmst.stream.minimum_spanning_forest(frames)
        assert folds[0]() is None
    finally:
        gc.enable()
