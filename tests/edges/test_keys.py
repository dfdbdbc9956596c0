"""Ids and weights of several columns, and dates as weights."""

from __future__ import annotations

import datetime
import re
from functools import reduce
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
from tests.support.lanes import examples

small = st.integers(0, 2)
ROWS = st.lists(st.tuples(small, small, small, small, small, st.sampled_from([0.5, -1.0, 2.0])), max_size=25)
minimum: Any = dfmst.minimum_spanning_forest
spanning: Any = dfmst.spanning_forest
solve: Any = dfmst.forest.solve
IDS: Any = (["a", "b"], ["c", "d"])


@given(ROWS, st.booleans())
@examples(150)
def test_keys(rows, maximum):
    columns: Any = list(zip(*rows, strict=True)) if rows else [[]] * 6
    frame = pd.DataFrame(dict(zip("abcdkm", columns, strict=True)))
    frame["b"], frame["d"] = frame.b.astype(str), frame.d.astype(str)
    function: Any = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    joined = frame.assign(
        source=frame.a.astype(str) + "/" + frame.b,
        target=frame.c.astype(str) + "/" + frame.d,
        weight=[sorted(zip(frame.k, frame.m, strict=True)).index(key) for key in zip(frame.k, frame.m, strict=True)],
    )
    expected = function(joined).index.tolist()
    ours = function(frame, *IDS, ["k", "m"])
    assert ours.equals(frame.loc[expected])
    assert function(pl.from_pandas(frame).lazy(), *IDS, ["k", "m"]).collect().equals(pl.from_pandas(ours))


FRAME = pd.DataFrame(
    {
        "a": ["x", "x", None],
        "b": [1, 2, 3],
        "c": ["x", "y", "y"],
        "d": [2, 1, 1],
        "k": [1, 1, 1],
        "m": [2.0, np.nan, 1.0],
    }
)


def test_a_column_that_is_named_like_a_key():
    frame = pd.DataFrame(
        {"source": [0, 1, 0], "target": [1, 2, 2], "k": [1, 1, 1], "m": [3, 1, 2], "['k', 'm']": [1, 2, 3]}
    )
    assert minimum(frame, weight=["k", "m"]).index.tolist() == [1, 2]


def test_what_is_missing():
    with pytest.raises(dfmst.InvalidEdgesError, match=re.escape("column \"['a', 'b']\" has 1 null id, in row 2")):
        minimum(FRAME, *IDS, "k")
    with pytest.raises(dfmst.InvalidEdgesError, match=re.escape("\"['k', 'm']\" has 1 weight that is NaN or null")):
        minimum(FRAME[:2], *IDS, ["k", "m"])
    assert minimum(FRAME, *IDS, ["k", "m"], invalid="drop").index.tolist() == [0]


def test_a_solution_of_keys():
    solution = solve(FRAME[:2], *IDS, ["k", "b"], by="c", return_trace=True)
    assert (solution.rows, solution.vertices, solution.total_weight) == (2, 4, None)
    assert solution.frame.equals(FRAME[:2])
    assert spanning(FRAME[:2], *IDS).equals(FRAME[:2])


def test_where_keys_are_not_known():
    calls: list[Any] = [dfmst.connected_components, dfmst.clusters, dfmst.rooted, dfmst.single_linkage]
    for call in calls:
        options = {"n_clusters": 1} if call is dfmst.clusters else {}
        with pytest.raises(dfmst.InvalidEdgesError, match="source names 2 columns; keys of several columns are for"):
            call(FRAME, *IDS, **options)
    with pytest.raises(ValueError, match="algorithm='dataframe' takes no keys of several columns"):
        minimum(FRAME, *IDS, "k", algorithm="dataframe")
    wrong: list[Any] = [(["a", "b"], "c"), (["a", "b"], ["c"]), ([], [])]
    for source, target in wrong:
        with pytest.raises(dfmst.InvalidEdgesError, match="they must name equally many columns"):
            minimum(FRAME, source, target, "k")
    with pytest.raises(dfmst.InvalidEdgesError, match="weight is an empty list"):
        minimum(FRAME, "b", "d", [])
    with pytest.raises(dfmst.ColumnNotFoundError, match="column 'q' not found"):
        minimum(FRAME, ["a", "q"], ["c", "d"], "k")


EDGES = pd.DataFrame({"a": [0, 1, 0, 3], "b": [1, 2, 2, 4], "km": [3, 1, 2, 5], "day": [1, 2, 3, 4]})
OPTIONS: dict[str, dict[str, Any]] = {
    "clusters": {"distance": 2},
    "stream.clusters": {"distance": 2},
    "stream.fold_clusters": {"distance": 2},
    "steiner_tree": {"terminals": [0, 1]},
    "path": {"start": 0, "stop": 2},
    "partition": {"n": 2},
    "hdbscan": {"min_cluster_size": 2},
    "condensed_tree": {"min_cluster_size": 2},
    "windows": {"time": "day", "width": 2, "step": 1},
    "bottlenecks": {"pairs": EDGES[["a", "b"]]},
    "update": {"new_edges": EDGES},
    "verify": {"forest": EDGES.iloc[1:]},
}
WEIGHED = [
    f"{prefix}{name}"
    for prefix, module in (("", dfmst), ("forest.", dfmst.forest), ("stream.", dfmst.stream))
    for name in module.__all__
    if callable(getattr(module, name)) and "weight" in signature(getattr(module, name)).parameters
]
#: Functions whose first argument is a file.
OF_FILES = {"read_edges", "stream.verify", "stream.update", "stream.fold_update"}


@pytest.mark.parametrize("name", sorted(set(WEIGHED) - OF_FILES))
def test_a_list_of_one_name_is_the_name(name):
    function: Any = reduce(getattr, name.split("."), dfmst)
    edges = [EDGES] if name.startswith("stream") else EDGES
    results = []
    for wrap in (str, lambda name: [name]):
        named = {end: wrap(name) for end, name in (("source", "a"), ("target", "b"), ("weight", "km"))}
        result = function(edges, **named, **OPTIONS.get(name, {}))
        frames = [result] if isinstance(result, pd.DataFrame) else list(result) if name == "windows" else []
        total = getattr(result, "total_weight", None)
        results.append([total, *(frame.to_csv() for frame in frames if isinstance(frame, pd.DataFrame))])
        assert name not in ("verify", "forest.solve") or total == 8
    assert results[0] == results[1]


DAYS = [datetime.datetime(2026, 1, day) for day in (3, 1, 2)]


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("s"),
        pa.timestamp("ns"),
        pa.timestamp("us", "Europe/Berlin"),
        pa.date32(),
        pa.date64(),
        pa.time64("us"),
    ],
    ids=str,
)
def test_dates(kind, tmp_path):
    days: Any = [day.time().replace(hour=day.day) for day in DAYS] if pa.types.is_time(kind) else DAYS
    table = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": pa.array(days).cast(kind)})
    for frame in (table, table.to_pandas(), pl.from_arrow(table)):
        forest = minimum(frame)
        assert pa.table(forest)["source"].to_pylist() == [1, 0]
        assert len(dfmst.maximum_spanning_forest(frame)) == 2
        certificate = dfmst.verify(frame, forest)
        assert certificate
        assert certificate.total_weight is None
    late = table.set_column(2, "weight", pa.array([days[0], None, days[1]]).cast(kind))
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'weight' has 1 weight that is NaN or null"):
        minimum(late)
    assert minimum(late.to_pandas(), invalid="drop").index.tolist() == [0, 2]
    folded = dfmst.stream.fold([table.slice(0, 2), table.slice(2)])
    assert folded.frame["source"].to_pylist() == [1, 0]


def test_dates_on_other_engines():
    import duckdb

    edges = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": DAYS})
    assert minimum(edges, algorithm="dataframe").equals(dfmst.minimum_spanning_forest(edges))
    relation = duckdb.sql("from edges")
    for function in (dfmst.minimum_spanning_forest, dfmst.maximum_spanning_forest):
        inside = function(relation, algorithm="dataframe").fetchall()
        assert sorted(inside) == sorted(tuple(row.values()) for row in function(edges).to_pylist())


def test_clusters_of_dates():
    table = pa.table({"source": [0, 1], "target": [1, 2], "weight": DAYS[:2]})
    assert dfmst.clusters(table, distance=datetime.datetime(2026, 1, 2))["cluster"].to_pylist() == [0, 1, 1]
    with pytest.raises(dfmst.InvalidEdgesError, match="'weight' holds timestamp"):
        dfmst.single_linkage(table, as_scipy=True)
