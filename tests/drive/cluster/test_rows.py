"""Every strategy gives the rows that the frame in memory gives: on a cluster of two processes, and without a client."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.dask
from tests.support.dask_frames import STRATEGIES, check, in_files, random_frame
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.tables import edge_tables, rows_of

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
on_cluster = pytest.mark.usefixtures("client")


def split(frame: pd.DataFrame, partitions: int) -> Any:
    return dd.from_pandas(frame, npartitions=partitions, sort=False)


def skewed_and_empty(frame: pd.DataFrame, _: Path) -> Any:
    bounds = [0, 0, 1, 1, 1700, 1701, 2000, 2000]
    parts = [dask.delayed(frame.iloc[begin:end]) for begin, end in itertools.pairwise(bounds)]
    return dd.from_delayed(parts, meta=frame.iloc[:0])


def dependent(frame: pd.DataFrame, _: Path) -> Any:
    parts = split(frame, 4)
    return parts.assign(w=parts.w.cumsum() % 100)


#: Name -> options of the frame, and its partitions.
FRAMES: dict[str, tuple[dict[str, Any], Callable[[pd.DataFrame, Path], Any]]] = {
    "one partition": ({}, lambda frame, _: split(frame, 1)),
    "arrow": ({}, lambda frame, _: split(frame.convert_dtypes(dtype_backend="pyarrow"), 17)),
    "sparse ids": ({"ids": "sparse"}, lambda frame, _: split(frame, 5)),
    "texts": ({"ids": "text"}, lambda frame, _: split(frame, 5)),
    "only ties": ({"ties": True}, lambda frame, _: split(frame, 6)),
    "no rows": ({"rows": 0}, lambda frame, _: split(frame, 1)),
    "skewed and empty partitions": ({}, skewed_and_empty),
    "files": ({}, lambda frame, folder: in_files(frame, folder, 5, row_group_size=150)),
    "persisted": ({}, lambda frame, _: split(frame, 4).persist()),
    "partitions that depend on each other": ({}, dependent),
    "partitions that Dask would simplify away": (
        {},
        lambda frame, _: dd.from_pandas(frame, npartitions=3).repartition(npartitions=2).repartition(npartitions=3),
    ),
}


@pytest.mark.sampled(2)
@on_cluster
@every_strategy
@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("kind", FRAMES)
def test_kinds_of_partitions(strategy, kind, maximum, tmp_path):
    options, make = FRAMES[kind]
    parts = make(random_frame(4, **options), tmp_path)
    check(parts.compute(), parts, strategy, maximum=maximum)


@pytest.mark.slow
@on_cluster
@every_strategy
def test_two_hundred_partitions(strategy):
    frame = random_frame(3)
    check(frame, split(frame, 200), strategy)


@on_cluster
def test_unweighted():
    frame = random_frame(12)
    forest = dfmst.dask.minimum_spanning_forest(split(frame, 3), "a", "b", None)
    pd.testing.assert_frame_equal(forest.compute(), dfmst.spanning_forest(frame, "a", "b"))


@on_cluster
def test_dropped_rows():
    frame = random_frame(13)
    frame.loc[frame.index[::7], "w"] = np.nan
    forest = split(frame, 3).mst.minimum("a", "b", "w", invalid="drop")
    pd.testing.assert_frame_equal(forest.compute(), dfmst.minimum_spanning_forest(frame, "a", "b", "w", invalid="drop"))


@on_cluster
def test_shuffle_hands_over_a_vertex_table_that_does_not_fit_one_worker():
    from dfmst._drive.strategies import BASE, fitting_vertices

    frame = random_frame(14, vertices=20_000, rows=60_000)
    vertices = len(set(frame.a) | set(frame.b))
    limit = BASE + 600_000  # a limit that the forest of all vertices is far beyond
    assert fitting_vertices(limit) < vertices / 3
    parts = split(frame, 12)
    forest, trace = dfmst.dask.minimum_spanning_forest(
        parts, "a", "b", "w", strategy="shuffle", memory_limit=limit, n_vertices=vertices, return_trace=True
    )
    rows, rounds = dask.compute(forest, trace)
    pd.testing.assert_frame_equal(rows, dfmst.minimum_spanning_forest(frame, "a", "b", "w"))
    assert rounds["vertices"].iloc[0] == vertices
    assert rounds["components"].iloc[-1] == vertices - len(rows)
    assert (rounds["components"] == rounds["vertices"] - rounds["chosen"]).all()
    assert (rounds["bytes"] > 0).all()
    assert (rounds["largest_partition"] > 0).all()
    # The first slices are shorter, and of the later ones few rows are sent.
    assert rounds["edges"].idxmax() in (3, 4)
    assert rounds["edges"].iloc[-1] < vertices / 10
    assert rounds["chosen"].sum() == len(rows)


@every_strategy
def test_threads_of_this_process(strategy):
    frame = random_frame(20)
    with dask.config.set(scheduler="threads"):
        check(frame, dd.from_pandas(frame, npartitions=5, sort=False), strategy)


@examples(60)
@given(edge_tables(), st.sampled_from(sorted(STRATEGIES)), st.integers(1, 5), st.booleans())
def test_random_tables(table, strategy, partitions, maximum):
    frame = table.arrow().to_pandas(types_mapper=pd.ArrowDtype)
    weight = None if table.weight is None else "w"
    parts = dd.from_pandas(frame, npartitions=partitions, sort=False)
    function = dfmst.dask.maximum_spanning_forest if maximum else dfmst.dask.minimum_spanning_forest
    forest = function(parts, "u", "v", weight, strategy=strategy, **{**STRATEGIES[strategy], "n_vertices": 4})
    expected = kruskal_rows(table.source, table.target, table.weight, maximum and weight is not None)
    if table.weight and isinstance(table.weight[0], Decimal) and max(map(abs, table.weight)) * 100 >= 2**63:
        with pytest.raises(dfmst.InvalidEdgesError, match="64-bit"):
            forest.compute(scheduler="synchronous")
    else:
        assert rows_of(forest.compute(scheduler="synchronous")) == sorted(expected)


def test_nothing_is_computed_before_compute():
    made = []
    frame = random_frame(21)

    def make(number: int) -> pd.DataFrame:
        made.append(number)
        return frame.iloc[number * 500 : number * 500 + 500]

    parts = dd.from_map(make, range(4), meta=frame.iloc[:0])
    forest = dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w")
    assert made == []
    forest.compute(scheduler="synchronous")
    assert set(made) == {0, 1, 2, 3}


def test_tasks_are_named_and_the_same_graph_has_the_same_names():
    frame = random_frame(22)
    graphs = [
        dict(dfmst.dask.minimum_spanning_forest(dd.from_pandas(frame, npartitions=3), "a", "b", "w").__dask_graph__())
        for _ in range(2)
    ]
    assert set(graphs[0]) == set(graphs[1])
    names = {str(key[0]).rsplit("-", 1)[0] for key in graphs[0] if isinstance(key, tuple)}
    assert {"dfmst-fold", "dfmst-merge", "dfmst-gather", "dfmst-forest"} <= names


def test_one_partition_of_the_forest_alone():
    forest = dd.from_pandas(random_frame(23), npartitions=4, sort=False).mst.minimum("a", "b", "w")
    parts = [forest.partitions[number].compute(scheduler="synchronous") for number in range(4)]
    pd.testing.assert_frame_equal(pd.concat(parts), forest.compute(scheduler="synchronous"))
