"""A merge in slices: forests that fit the workers, where a merge of two does not."""

from __future__ import annotations

import tracemalloc
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfmst
import dfmst.dask
from dfmst._drive.cluster import Resources, forest_tasks
from dfmst._drive.parts import FileRows
from dfmst._drive.runs import GroupSizes, distribute
from dfmst._drive.strategies import BASE, fitting_vertices
from dfmst._drive.tables import FrameParts
from dfmst._drive.tasks import Group
from dfmst._edges.read import EdgeColumns
from dfmst._fold.budget import RUN_FIXED, RunBudget
from dfmst._fold.rows import Run
from dfmst._trees.request import Request
from tests.support.dask_frames import in_files, random_frame

VERTICES, FILES = 450_000, 30


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """Files, their rows, and a limit that a merge of two forests is beyond."""
    folder = tmp_path_factory.mktemp("edges")
    frame = random_frame(7, vertices=VERTICES, rows=900_000).reset_index(drop=True)
    in_files(frame, folder, FILES)
    limit = BASE + 72_000_000
    assert fitting_vertices(limit, 4) < VERTICES
    return folder, frame, limit


@pytest.fixture(autouse=True)
def two_workers(monkeypatch):
    monkeypatch.setattr("dfmst._drive.cluster.resources", lambda: Resources(2, 1 << 40))


def names(forest) -> set[str]:
    return {str(key[0]).rsplit("-", 1)[0] for key in dict(forest.__dask_graph__()) if isinstance(key, tuple)}


def test_rows_and_memory(graph):
    folder, frame, limit = graph
    parts = dd.read_parquet(folder)
    forest = parts.mst.minimum("a", "b", "w", strategy="merge", memory_limit=limit, n_vertices=VERTICES)
    assert {"dfmst-slice", "dfmst-distribute"} < names(forest)
    assert "dfmst-merge" not in names(forest)
    tracemalloc.start()
    rows = forest.compute(scheduler="synchronous")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    pd.testing.assert_frame_equal(rows.reset_index(drop=True), expected(frame))
    sizes: Any = {"partitions": FILES, "workers": 2, "memory_limit": limit, "strategy": "merge", "id_bytes": 4}
    planned = dfmst.plan(VERTICES, len(frame), **sizes)
    assert planned.fits
    assert planned.rounds > 0
    # In one process both groups' forests wait together; what Arrow holds is not traced.
    assert peak <= 1.5 * (planned.peak_memory - BASE)
    assert peak >= (planned.peak_memory - BASE) / 2


@pytest.mark.parametrize("limit", [1 << 40, None])
def test_tasks_do_not_grow_with_the_files(graph, limit):
    """A worker keeps some tens of kilobytes of each task: a thousand files were a third of a small one's memory."""
    path = next(graph[0].iterdir())
    request: Any = {"strategy": "merge", "n_vertices": VERTICES, "memory_limit": limit or graph[2]}
    options, sizes = Request.of("a", "b", "w", **request), []
    for files in (100, 400):
        parts: list[Any] = [FileRows(path, ["a", "b", "w"]) for _ in range(files)]
        forest = forest_tasks(FrameParts(parts, parts, {}, str(files)), options)
        assert sum(portion.partitions for portion in forest.rows) == files
        assert len(forest.rows) <= 2 * 16
        sizes.append(len(forest.graph))
    assert sizes[1] <= sizes[0] + 8


def expected(frame):
    return dfmst.minimum_spanning_forest(frame, "a", "b", "w").reset_index(drop=True)


def test_auto_prefers_it_to_a_shuffle_that_moves_more():
    large: Any = {
        "n_vertices": 1_700_000_000,
        "n_edges": 64_000_000_000,
        "partitions": 8000,
        "workers": 8,
        "memory_limit": "256GiB",
    }
    chosen = dfmst.plan(**large)
    assert (chosen.strategy, chosen.fits, chosen.reads) == ("merge", True, 1)
    assert chosen.bytes_moved < dfmst.plan(**large, strategy="shuffle").bytes_moved / 1.5


@pytest.mark.parametrize("strategy", ["merge", "auto"])
def test_more_vertices_than_planned_go_on_as_a_shuffle(graph, strategy):
    folder, frame, *_ = graph
    options = {"strategy": strategy, "memory_limit": BASE + 60_000_000, "n_vertices": 300_000}
    forest = dd.read_parquet(folder).mst.minimum("a", "b", "w", **options)
    assert "dfmst-distribute" in names(forest)
    with pytest.warns(UserWarning, match="more vertices than planned: the merge goes on as a shuffle"):
        rows = forest.compute(scheduler="synchronous")
    pd.testing.assert_frame_equal(rows.reset_index(drop=True), expected(frame))


@pytest.mark.parametrize("name", ["u", "text"])
def test_what_is_left_of_a_group_with_too_many_vertices(name):
    """Its forest of the first rows, in a file, and batches of later ones; rows of frames keep their marks."""
    rng = np.random.default_rng(5)
    tables: list[pa.Table] = []
    for vertices in (40, 90):
        ends, weight = rng.integers(0, vertices, (2, 500)), rng.integers(0, 99, 500)
        texts = pa.array([f"v{end}" for end in ends[0]]), pa.array([f"v{end}" for end in ends[1]])
        row = np.arange(500) + 500 * len(tables)
        named = {"u": ends[0], "v": ends[1], "text": texts[0], "text2": texts[1], "w": weight, "row": row}
        tables.append(pa.table(named))
    columns = EdgeColumns(name, "v" if name == "u" else "text2", "w")
    sizes = GroupSizes(200, 0, RUN_FIXED + 60 * RunBudget(0, 8, in_memory=True).vertex, 40)
    with pytest.warns(UserWarning, match="more vertices than planned"):
        edges = distribute(Group(0, tables), None, columns, sizes)
    assert [type(run) for run in edges.runs] == [Run] * len(edges.runs)
    assert len(edges.runs) == 4
    assert len(edges.runs[0]) < 40
    whole = dfmst.minimum_spanning_forest(pa.concat_tables(tables), *columns.names)["row"].to_pylist()
    locators = np.concatenate([run.part(0, len(run)).locator for run in edges.runs])
    part, position = (locators >> np.uint64(32)).astype(int), (locators & np.uint64(0xFFFFFFFF)).astype(int)
    assert set(whole) <= set((500 * part + position).tolist())
    for number, (hashes, table) in enumerate(zip(edges.hashes, tables, strict=True)):
        assert hashes is not None
        chosen = position[part == number]
        (same,) = distribute(Group(number, [table.take(chosen)]), None, columns, GroupSizes(200, 0)).hashes
        assert same is not None
        assert hashes.digest(chosen) == same.digest(np.arange(len(chosen)))
