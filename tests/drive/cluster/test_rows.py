"""On a cluster of two processes, every strategy gives the rows that the frame in memory gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dfmst
import dfmst.dask
from tests.support.dask_frames import STRATEGIES, check, in_files, random_frame

pytestmark = pytest.mark.usefixtures("client")
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def split(frame: pd.DataFrame, partitions: int) -> Any:
    return dd.from_pandas(frame, npartitions=partitions, sort=False)


def skewed_and_empty(frame: pd.DataFrame) -> Any:
    bounds = [0, 0, 1, 1, 1700, 1701, 2000, 2000]
    parts = [dask.delayed(frame.iloc[begin:end]) for begin, end in itertools.pairwise(bounds)]
    return dd.from_delayed(parts, meta=frame.iloc[:0])


def dependent(frame: pd.DataFrame) -> Any:
    parts = split(frame, 4)
    return parts.assign(w=parts.w.cumsum() % 100)


#: Name -> options of the frame, and its partitions.
FRAMES: dict[str, tuple[dict[str, Any], Callable[[pd.DataFrame], Any]]] = {
    "sparse ids": ({"ids": "sparse"}, lambda frame: split(frame, 5)),
    "texts": ({"ids": "text"}, lambda frame: split(frame, 5)),
    "only ties": ({"ties": True}, lambda frame: split(frame, 6)),
    "skewed and empty partitions": ({}, skewed_and_empty),
    "persisted": ({}, lambda frame: split(frame, 4).persist()),
    "partitions that depend on each other": ({}, dependent),
    "partitions that Dask would simplify away": (
        {},
        lambda frame: dd.from_pandas(frame, npartitions=3).repartition(npartitions=2).repartition(npartitions=3),
    ),
}


@pytest.mark.sampled(4)
@every_strategy
@pytest.mark.parametrize("partitions", [1, 2, 17])
@pytest.mark.parametrize("backing", ["numpy", "arrow"])
def test_partitions(strategy, partitions, backing):
    frame = random_frame(partitions)
    if backing == "arrow":
        frame = frame.convert_dtypes(dtype_backend="pyarrow")
    check(frame, split(frame, partitions), strategy)


@pytest.mark.slow
@every_strategy
def test_two_hundred_partitions(strategy):
    frame = random_frame(3)
    check(frame, split(frame, 200), strategy)


@pytest.mark.sampled(2)
@every_strategy
@pytest.mark.parametrize("kind", FRAMES)
def test_kinds_of_partitions(strategy, kind):
    options, make = FRAMES[kind]
    frame = random_frame(4, **options)
    parts = make(frame)
    check(parts.compute() if make is dependent else frame, parts, strategy)


@every_strategy
def test_an_empty_frame(strategy):
    frame = random_frame(7).iloc[:0]
    with dask.config.set(scheduler="synchronous"):
        check(frame, split(frame, 1), strategy)


@every_strategy
def test_maximum(strategy):
    frame = random_frame(8)
    check(frame, split(frame, 4), strategy, maximum=True)


@every_strategy
def test_parquet(strategy, tmp_path):
    parts = in_files(random_frame(11), tmp_path, 5, row_group_size=150)
    check(parts.compute(), parts, strategy)


def test_unweighted():
    frame = random_frame(12)
    forest = dfmst.dask.minimum_spanning_forest(split(frame, 3), "a", "b", None)
    pd.testing.assert_frame_equal(forest.compute(), dfmst.spanning_forest(frame, "a", "b"))


def test_dropped_rows():
    frame = random_frame(13)
    frame.loc[frame.index[::7], "w"] = np.nan
    forest = split(frame, 3).mst.minimum("a", "b", "w", invalid="drop")
    pd.testing.assert_frame_equal(forest.compute(), dfmst.minimum_spanning_forest(frame, "a", "b", "w", invalid="drop"))


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
