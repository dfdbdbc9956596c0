"""Clusters with conditions, against a plain scan of all rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

import dfmst
from tests.support.lanes import examples

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-2, 3)), min_size=1, max_size=40)
MARKS = st.lists(st.sampled_from([*range(3), None]), min_size=10, max_size=10)


def scan(rows: list[Any], most: int, mark: dict[int, Any], maximum: bool, distance: float = 99, count: int = 1) -> Any:
    """Merge rows in their order, unless the cluster would have too many vertices or two of one mark."""
    cluster = {vertex: {vertex} for row in rows for vertex in row[:2]}
    sign = -1 if maximum else 1
    for a, b, _ in sorted((row for row in rows if sign * row[2] <= distance), key=lambda row: sign * row[2]):
        joint = cluster[a] | cluster[b]
        marks = [mark[vertex] for vertex in joint if mark.get(vertex) is not None]
        number = len({min(part) for part in cluster.values()})
        if len(joint) <= most and len(set(marks)) == len(marks) and number > count:
            cluster |= dict.fromkeys(joint, joint)
    return {vertex: min(part) for vertex, part in sorted(cluster.items())}


def table(rows: list[Any], **columns: Any) -> pa.Table:
    names = dict(zip(("source", "target", "weight"), map(list, zip(*rows, strict=True)), strict=True))
    return pa.table({**names, **columns})


def labels(frame: pa.Table, column: str = "cluster") -> dict[int, int]:
    return dict(zip(frame["vertex"].to_pylist(), frame[column].to_pylist(), strict=True))


@given(ROWS, MARKS, st.integers(1, 6), st.booleans())
@example([(0, 1, 0)], [None] * 10, 2, False)  # all in one cluster
@examples(150)
def test_all_rows(rows, marks, most, maximum):
    mark = dict(enumerate(marks))
    ends = ([mark[row[at]] for row in rows] for at in range(2))
    frame = table(rows, left=pa.array(next(ends), pa.int64()), right=pa.array(next(ends), pa.int64()))
    options: Any = {"max_size": most, "one_per": ["left", "right"], "maximum": maximum}
    assert labels(dfmst.clusters(frame, **options)) == scan(rows, most, mark, maximum)
    cut = dfmst.clusters(frame, **options, distance=[1, 0])
    assert labels(cut, "d0") == scan(rows, most, mark, maximum, 0)
    assert labels(cut, "d1") == scan(rows, most, mark, maximum, -1 if maximum else 1)
    everyone = pl.DataFrame({"vertex": list(mark), "set": marks}, schema={"vertex": pl.Int64, "set": pl.Int64})
    ours = dfmst.clusters(frame, vertices=everyone, one_per="set", max_size=most, maximum=maximum)
    alone = {vertex: vertex for vertex in mark}
    assert labels(ours) == alone | scan(rows, most, mark, maximum)


@given(ROWS, st.integers(1, 5))
@examples(60)
def test_numbers_of_clusters(rows, most):
    least = len(set(scan(rows, most, {}, False).values()))
    vertices = len({vertex for row in rows for vertex in row[:2]})
    for count in range(least, vertices + 1):
        cut = dfmst.clusters(table(rows), n_clusters=count, max_size=most)
        assert labels(cut) == scan(rows, most, {}, False, count=count)
    with pytest.raises(dfmst.InvalidEdgesError, match=f"make {least} to {vertices}"):
        dfmst.clusters(table(rows), n_clusters=least - 1, max_size=most)


@given(ROWS, st.integers(0, 1))
@examples(60)
def test_links_one_to_one(rows, side):
    """Of the ids in a column, each cluster has at most one."""
    rows = [(a, b + 100, w) for a, b, w in rows]
    mark = {row[side]: 0 for row in rows}
    column = ("source", "target")[side]
    assert labels(dfmst.clusters(table(rows), one_per=column)) == scan(rows, 99, mark, False)


def test_many_marks():
    """More marks than a signature has bits."""
    rows = [(vertex, vertex + 1, 0) for vertex in range(300)]
    mark = {vertex: vertex % 130 for vertex in range(301)}
    frame = table(rows, left=[mark[a] for a, _, _ in rows], right=[mark[b] for _, b, _ in rows])
    expected = {vertex: vertex - vertex % 130 for vertex in range(301)}
    assert labels(dfmst.clusters(frame, one_per=("left", "right"))) == expected == scan(rows, 999, mark, False)


ROADS = pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [1, 9, 2], "a": [5, 6, 5], "b": [6, 6, 6]})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_size": 0}, ValueError, "max_size is 0; it must be at least 1"),
        ({"max_size": "x"}, TypeError, "max_size is 'x'; it must be a whole number"),
        ({"one_per": ["a", "b"]}, dfmst.InvalidEdgesError, "column 'a' gives a vertex a second value in 1 row, the"),
        ({"one_per": "home"}, dfmst.ColumnNotFoundError, "column 'home' not found"),
        ({"one_per": "home", "vertices": pd.DataFrame({"vertex": [1, 2, 3, 4]})}, dfmst.ColumnNotFoundError, "'home'"),
        ({"max_size": 2, "n_clusters": 2, "distance": 3}, ValueError, "give one of n_clusters= and distance="),
    ],
)
def test_errors(options, error, message):
    with pytest.raises(error) as caught:
        dfmst.clusters(ROADS, **options)
    assert message in str(caught.value)
