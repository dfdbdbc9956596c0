"""Without a client: any scheduler of Dask, nothing computed early, and the rows of an independent Kruskal."""

from __future__ import annotations

from decimal import Decimal

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import dfmst.dask
from tests.support.dask_frames import STRATEGIES, check, random_frame
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.tables import edge_tables, rows_of


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_schedulers_within_the_process(strategy, scheduler):
    frame = random_frame(20)
    with dask.config.set(scheduler=scheduler):
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
