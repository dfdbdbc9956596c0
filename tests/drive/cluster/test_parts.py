"""The small pieces: a shuffle's tasks, sizes from footers, sharing of threads."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given, strategies as st

import dfmst.dask
from dfmst._drive.cluster import Resources
from dfmst._drive.devices import local_directory, task_engine
from dfmst._drive.parts import FileRows
from dfmst._drive.runs import GroupEdges, GroupSizes, distribute
from dfmst._drive.shuffle import (
    all_statistics,
    group_statistics,
    owned_ids,
    solve_slice,
)
from dfmst._drive.tables import frame_parts, size_of_parts
from dfmst._drive.tasks import Group
from dfmst._edges.dictionary import Dictionary, hash_ids
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine
from dfmst._engines.primitives.id_table import COMMON_KEYS, PROCESS_KEYS
from dfmst._fold.budget import RunBudget
from dfmst._fold.rows import Order, Rows, Run, StoredColumn
from dfmst.formats.columnar import TableSize
from tests.support.dask_frames import STRATEGIES, forest_of, in_files, random_frame


def group_of(tables: list[pa.Table], first: int, rows: int = 100, dense: int = 0) -> GroupEdges:
    """The edges of a group of tables with the columns u, v and w."""
    return distribute(
        Group(first, tables), tables[0], EdgeColumns("u", "v", "w", False, "raise"), GroupSizes(rows, dense)
    )


def test_ids_that_were_chosen_for_one_owner_have_several():
    ids = np.arange(1, 200_000, dtype=np.uint64) * np.uint64(7919**3)
    words = ids * np.uint64(COMMON_KEYS.low)
    words = (words ^ words >> np.uint64(32)) * np.uint64(COMMON_KEYS.high)
    for hashes in (words, ids * np.uint64(COMMON_KEYS.low)):  # of these keys, and of earlier versions
        chosen = ids[(hashes >> np.uint64(32)) % np.uint64(4) == 0].view(np.int64)[:4_000]
        group = group_of([pa.table({"u": chosen[::2], "v": chosen[1::2], "w": chosen[::2]})], 0)
        found = all_statistics([group_statistics(group)])
        shares = [len(share.load()) for share in owned_ids(group, found, 4, PROCESS_KEYS)]
        assert sum(shares) == 4_000
        assert max(shares) < 1_300


def test_solving_a_slice_holds_the_vertices_and_a_buffer_however_many_edges_it_chooses():
    vertices = 1 << 20
    path = np.arange(vertices - 1, dtype=np.uint32)  # all of its edges are in the forest
    run = Run(CpuEngine(1), local_directory(), Order("weight"), np.dtype(np.uint64))
    locator = np.random.default_rng(0).permutation(vertices - 1).astype(np.uint64)
    run.append([Rows(path, path + np.uint32(1), path.astype(np.uint64), locator)])
    room = RunBudget((37 << 20) + 5 * vertices, 8)
    size = int(room.size)
    solve_slice(None, [], [1], [], size)  # imports what it needs
    tracemalloc.start()
    state, *parts = solve_slice(None, [run], [vertices], [], size)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (state.chosen, state.components) == (vertices - 1, 1)
    assert np.array_equal(parts[0].load(), np.arange(vertices - 1))
    assert peak < 5 * vertices + 8 * vertices + 62 * room.slice_rows(vertices)


def test_the_buffer_of_a_slice_is_no_longer_than_pays():
    """With 2**20 vertices and room for eight times as many rows, it takes 2**20 rows."""
    vertices, draw = 1 << 20, np.random.default_rng(0)
    run = Run(CpuEngine(1), local_directory(), Order("weight"), np.dtype(np.uint64))
    ends = draw.integers(0, vertices, (2, 4 << 20)).astype(np.uint32)
    run.append([Rows(*ends, np.arange(4 << 20, dtype=np.uint64), np.arange(4 << 20, dtype=np.uint64))])
    tracemalloc.start()
    state, _ = solve_slice(None, [run], [vertices], [], 1 << 30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert state.edges == 4 << 20
    assert peak < 5 * vertices + 8 * vertices + 62 * (1 << 20)


def test_a_batch_drops_what_its_cycles_beat():
    source, target, weight = np.random.default_rng(0).integers(0, 60, (3, 150))
    group = group_of([pa.table({"u": source, "v": target, "w": weight})] * 8, 0, rows=600, dense=100)
    assert [len(run) for run in group.runs] == [59, 59]
    assert next(len(hashes.columns) for hashes in group.hashes if hashes is not None) == 150


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_long_partitions_are_read_in_pieces(tmp_path, monkeypatch, strategy):
    monkeypatch.setattr("dfmst._drive.tables.PIECE", 64)
    frame = random_frame(5, rows=1000, ids="text").reset_index(drop=True)
    rows = forest_of(in_files(frame, tmp_path, 2, row_group_size=300), strategy)
    assert rows["payload"].tolist() == dfmst.minimum_spanning_forest(frame, "a", "b", "w")["payload"].tolist()
    frame.loc[897, "w"] = np.nan
    frame[500:].to_parquet(tmp_path / "01.parquet")
    broken = dfmst.dask.minimum_spanning_forest(dd.read_parquet(tmp_path), "a", "b", "w", strategy=strategy)
    with pytest.raises(dfmst.InvalidEdgesError, match=r"partition 1 .* 1 weight that is NaN or null, in row 397"):
        broken.compute(scheduler="sync")


@pytest.mark.parametrize("what", ["run", "array", "ids"])
def test_files_travel_and_go_with_their_objects(what):
    values = np.arange(5000, dtype=np.uint64)
    if what == "run":
        kept: Any = Run(CpuEngine(1), local_directory(), Order("weight"), np.dtype(np.uint64))
        kept.append([Rows(values.astype(np.uint32), values.astype(np.uint32), values, values)])
    else:
        kept = StoredColumn(local_directory(), values if what == "array" else pa.array(values))
    before = set(local_directory().path.iterdir())
    copy = pickle.loads(pickle.dumps(kept))
    assert len(set(local_directory().path.iterdir()) - before) == 1
    assert copy.__sizeof__() == kept.__sizeof__() > 0
    if what == "run":
        assert copy.part(7, 9).arrays[3].tolist() == [7, 8]
        assert copy.place(4000, after_equal=True) == 4001
    else:
        assert np.array_equal(np.asarray(copy.load()), values)
    del copy
    assert set(local_directory().path.iterdir()) == before


@given(st.lists(st.binary(max_size=20)), st.integers(0, 5))
@example([b"", b"\x01", b"\x02\x00"], 0)
def test_hashes_depend_on_the_values_alone(values, skipped):
    ids = pa.array(values, pa.binary())
    hashed = hash_ids(ids).tolist()
    assert len(set(hashed)) == len(set(values))
    assert dict(zip(values, hashed, strict=True)) == dict(zip(values[::-1], hash_ids(ids[::-1]).tolist(), strict=True))
    assert hash_ids(ids.cast(pa.large_binary())[skipped:]).tolist() == hashed[skipped:]
    assert hash_ids(ids.dictionary_encode()).tolist() == hashed
    assert hash_ids(pa.chunked_array([ids[:skipped], ids[skipped:]])).tolist() == hashed


def test_size_from_footers(tmp_path):
    for number in range(2):
        table = pa.table({"u": [0, 3], "v": [1, 7 + number], "w": [1.0, 2.0]})
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet")
    parts = [FileRows(tmp_path / f"{number}.parquet") for number in range(2)]
    assert size_of_parts(parts, ("u", "v")) == TableSize(4, 8, 2)  # at most two vertices a row
    assert size_of_parts([*parts, object()], ("u", "v")) is None
    pyarrow.parquet.write_table(pa.table({"u": ["a"], "v": ["b"]}), tmp_path / "text.parquet")
    assert size_of_parts([FileRows(tmp_path / "text.parquet")], ("u", "v")) == TableSize(1, None, 1)


def test_partitions_are_read_in_the_task_where_they_are_independent(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"u": [0, 1, 2], "v": [1, 2, 0]})
    parts = dd.from_pandas(frame, npartitions=3)
    assert frame_parts(parts, ["u"]).rereadable
    assert not frame_parts(parts.cumsum(), ["u"]).rereadable
    frame.to_parquet(tmp_path / "0.parquet")
    files = frame_parts(dd.read_parquet(tmp_path), ["u"])
    assert [type(part).__name__ for part in files.edges] == ["FileRows"]
    assert files.edges[0].read().column_names == ["u"]
    pd.testing.assert_frame_equal(files.rows[0].read(), frame)


def test_a_task_in_a_worker_takes_the_workers_threads():
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 3, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert client.submit(lambda: task_engine().threads, pure=False).result() == 3


def test_texts_whose_offsets_are_not_aligned():
    ids = pa.array(["a", "bc", "a"], pa.large_string())
    offsets = pa.py_buffer(b"x" + bytes(ids.buffers()[1])).slice(1)  # as a message of Dask may hold them
    moved = pa.Array.from_buffers(ids.type, 3, [None, offsets, ids.buffers()[2]])
    assert Dictionary(CpuEngine(1), None).look_up(moved).tolist() == [0, 1, 0]


class CountedRead:
    """Reads a partition, and counts how often it is pickled."""

    pickled = 0

    def __call__(self, number: int) -> pd.DataFrame:
        return pd.DataFrame({"a": [number], "b": [number + 1], "w": [number]})

    def __reduce__(self) -> tuple[Any, ...]:
        CountedRead.pickled += 1
        return CountedRead, ()


def test_the_token_of_a_forest_is_not_made_of_every_task():
    frame = dd.from_map(CountedRead(), range(50), meta=CountedRead()(0))
    before = CountedRead.pickled
    assert frame.mst.minimum("a", "b", "w").npartitions == 50
    assert CountedRead.pickled - before < 10


@pytest.mark.parametrize("strategy", ["merge", "shuffle"])
def test_small_partitions_that_wait_in_memory_are_grouped(strategy, monkeypatch):
    monkeypatch.setattr("dfmst._drive.cluster.resources", lambda: Resources(1, 1 << 30))
    frame = random_frame(3, rows=640)
    whole = dask.delayed(frame)  # which all partitions are made of
    frames = [whole.iloc[begin : begin + 2] for begin in range(0, 640, 2)]
    parts = dd.from_delayed(frames, meta=frame, verify_meta=False)
    forest = parts.mst.minimum("a", "b", "w", strategy=strategy)
    names = [str(key[0]).rsplit("-", 1)[0] for key in forest.__dask_graph__() if isinstance(key, tuple)]
    assert sum(names.count(f"dfmst-{name}") for name in ("fold", "distribute")) == 64
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    pd.testing.assert_frame_equal(forest.compute(scheduler="synchronous"), expected)
