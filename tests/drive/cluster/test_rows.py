"""On a cluster of two processes, every strategy gives the rows that the frame in memory gives."""

from __future__ import annotations

import itertools

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dfmst
import dfmst.dask
from tests.support.dask_frames import STRATEGIES, check, random_frame

pytestmark = pytest.mark.usefixtures("client")
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


@pytest.mark.sampled(4)
@every_strategy
@pytest.mark.parametrize("partitions", [1, 2, 17])
@pytest.mark.parametrize("backing", ["numpy", "arrow"])
def test_partitions(strategy, partitions, backing):
    frame = random_frame(partitions)
    if backing == "arrow":
        frame = frame.convert_dtypes(dtype_backend="pyarrow")
    check(frame, dd.from_pandas(frame, npartitions=partitions, sort=False), strategy)


@pytest.mark.slow
@every_strategy
def test_two_hundred_partitions(strategy):
    frame = random_frame(3)
    check(frame, dd.from_pandas(frame, npartitions=200, sort=False), strategy)


@pytest.mark.sampled(3)
@every_strategy
@pytest.mark.parametrize("ids", ["sparse", "text"])
def test_ids(strategy, ids):
    frame = random_frame(4, ids=ids)
    check(frame, dd.from_pandas(frame, npartitions=5, sort=False), strategy)


@every_strategy
def test_only_ties(strategy):
    frame = random_frame(5, ties=True)
    check(frame, dd.from_pandas(frame, npartitions=6, sort=False), strategy)


@every_strategy
def test_skewed_and_empty_partitions(strategy):
    frame = random_frame(6)
    bounds = [0, 0, 1, 1, 1700, 1701, 2000, 2000]
    slices = [frame.iloc[begin:end] for begin, end in itertools.pairwise(bounds)]
    parts = dd.from_delayed([dask.delayed(part) for part in slices], meta=frame.iloc[:0])
    check(frame, parts, strategy)


@every_strategy
def test_an_empty_frame(strategy):
    frame = random_frame(7).iloc[:0]
    with dask.config.set(scheduler="synchronous"):
        check(frame, dd.from_pandas(frame, npartitions=1), strategy)


@every_strategy
def test_maximum(strategy):
    frame = random_frame(8)
    check(frame, dd.from_pandas(frame, npartitions=4, sort=False), strategy, maximum=True)


@every_strategy
def test_persisted_frame(strategy):
    frame = random_frame(9)
    check(frame, dd.from_pandas(frame, npartitions=4, sort=False).persist(), strategy)


@every_strategy
def test_frame_whose_partitions_depend_on_each_other(strategy):
    parts = dd.from_pandas(random_frame(10), npartitions=4, sort=False)
    parts = parts.assign(w=parts.w.cumsum() % 100)
    check(parts.compute(), parts, strategy)


@every_strategy
def test_partitions_that_dask_would_simplify_away(strategy):
    frame = random_frame(15)
    check(frame, dd.from_pandas(frame, npartitions=3).repartition(npartitions=2).repartition(npartitions=3), strategy)


@every_strategy
def test_parquet(strategy, tmp_path):
    frame = random_frame(11).reset_index(drop=True)
    for number in range(5):
        frame.iloc[number * 400 : number * 400 + 400].to_parquet(
            tmp_path / f"part-{number}.parquet", row_group_size=150
        )
    parts = dd.read_parquet(tmp_path)
    check(parts.compute(), parts, strategy)


def test_unweighted():
    frame = random_frame(12)
    forest = dfmst.dask.minimum_spanning_forest(dd.from_pandas(frame, npartitions=3, sort=False), "a", "b", None)
    pd.testing.assert_frame_equal(forest.compute(), dfmst.spanning_forest(frame, "a", "b"))


def test_dropped_rows():
    frame = random_frame(13)
    frame.loc[frame.index[::7], "w"] = np.nan
    forest = dd.from_pandas(frame, npartitions=3, sort=False).mst.minimum("a", "b", "w", invalid="drop")
    pd.testing.assert_frame_equal(forest.compute(), dfmst.minimum_spanning_forest(frame, "a", "b", "w", invalid="drop"))


def test_shuffle_hands_over_a_vertex_table_that_does_not_fit_one_worker():
    from dfmst._drive.plan.formulas import BASE, fitting_vertices

    frame = random_frame(14, vertices=20_000, rows=60_000)
    vertices = len(set(frame.a) | set(frame.b))
    limit = BASE + 600_000  # a limit that the forest of all vertices is far beyond
    assert fitting_vertices(limit) < vertices / 3
    parts = dd.from_pandas(frame, npartitions=12, sort=False)
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
    assert (rounds["edges"] < 2 * rounds["edges"].mean()).all()
    assert rounds["chosen"].sum() == len(rows)
