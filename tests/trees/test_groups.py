"""Functions of forests with ``by=``: the results of the groups' own tables, one after the other."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.pandas
from tests.support.lanes import examples

ROWS = st.lists(
    st.tuples(
        st.sampled_from([2, 7, None]), st.sampled_from("xyz"), st.integers(0, 6), st.integers(0, 6), st.integers(0, 3)
    ),
    max_size=40,
)
FUNCTIONS: dict[str, dict[str, Any]] = {
    "connected_components": {},
    "clusters": {"distance": [0, 2]},
    "single_linkage": {},
    "rooted": {},
    "hdbscan": {"min_cluster_size": 2},
}


def table(rows: list[Any], name: Any) -> pl.DataFrame:
    kinds = {"g": pl.Int64, "h": pl.String, "source": pl.Int64, "target": pl.Int64, "weight": pl.Int32}
    frame = pl.DataFrame(rows, schema=kinds, orient="row")
    return frame.with_columns(
        pl.col("source", "target").map_elements(name, return_dtype=pl.String if name is str else None)
    )


def one_by_one(function: Any, frame: pl.DataFrame, by: list[str], **options: Any) -> list[tuple[Any, ...]]:
    """The rows of every group's own result after its key; rows of the edge table are those of the whole one."""
    rows: list[tuple[Any, ...]] = []
    whole = frame.with_row_index("row")
    for key in whole.select(by).unique().sort(by, nulls_last=True).rows():
        part = whole.filter(
            pl.all_horizontal(pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(by, key, strict=True))
        )
        found = function(part.drop("row", *by), **options)
        places = [part["row"].gather(found[name]).alias(name) for name in ("edge", "heaviest") if name in found.columns]
        rows += [(*key, *entries) for entries in found.with_columns(places).rows()]
    return rows


@pytest.mark.parametrize("name", FUNCTIONS)
@given(rows=ROWS, by=st.sampled_from([["g"], ["h"], ["h", "g"]]), text=st.booleans())
@examples(60)
def test_groups(name, rows, by, text):
    if name == "hdbscan":
        pytest.importorskip("fast_hdbscan")
    frame, function = table(rows, str if text else lambda id: id + 2**53), getattr(dfmst, name)
    found = function(frame, by=by[0] if len(by) == 1 else by, **FUNCTIONS[name])
    assert found.columns[: len(by)] == by
    assert found.rows() == one_by_one(function, frame, by, **FUNCTIONS[name])
    if rows:
        assert found.schema[by[0]] == frame.schema[by[0]]


@given(rows=ROWS)
@examples(40)
def test_texts(rows):
    frame = table(rows, str)
    found = dfmst.newick(frame, by="h")
    expected = [(key, dfmst.newick(frame.filter(pl.col("h") == key))) for key in sorted({row[1] for row in rows})]
    assert found.rows() == expected


ROADS = pd.DataFrame(
    {"day": ["b", "a", "b", "b"], "source": [1, 2, 2, 3], "target": [2, 3, 3, 4], "weight": [5, 1, 2, 9]},
    index=[9, 8, 7, 6],
)


def test_roots_and_numbers_of_clusters():
    trees = ROADS.mst.rooted(by="day", root=3)
    assert trees.component.tolist() == [3, 3, 3, 3, 3, 3]
    assert trees.order.tolist() == [1, 0, 3, 2, 0, 1]
    assert dfmst.rooted(ROADS, by="day", root=[3, 1][1:]).component.tolist() == [2, 2, 1, 1, 1, 1]
    cut = dfmst.clusters(pa.Table.from_pandas(ROADS), by="day", n_clusters=[1, 2])
    assert cut.to_pydict() == {
        "day": ["a", "a", "b", "b", "b", "b"],
        "vertex": [2, 3, 1, 2, 3, 4],
        "k1": [2, 2, 1, 1, 1, 1],
        "k2": [2, 3, 1, 1, 1, 4],
    }
    limited = dfmst.clusters(ROADS.assign(day=pd.Categorical(ROADS.day)), by="day", max_size=2)
    assert limited.cluster.tolist() == [2, 2, 1, 2, 2, 4]
    assert limited.day.dtype == "category"


def test_many_groups():
    """Sparse pairs of groups and vertices, which are numbered by a table."""
    rng = np.random.default_rng(0)
    count = 20_000
    frame = pl.DataFrame(
        {
            "g": rng.integers(0, 5000, count),
            "source": rng.integers(0, 900, count),
            "target": rng.integers(0, 900, count),
        }
    )
    found = dfmst.connected_components(frame, by="g")
    names = frame.select("g", pl.col("source") + pl.col("g") * 1000, pl.col("target") + pl.col("g") * 1000)
    whole = dfmst.connected_components(names.drop("g"))
    expected = whole.select(
        g=pl.col("vertex") // 1000, vertex=pl.col("vertex") % 1000, component=pl.col("component") % 1000
    )
    assert found.equals(expected)


@pytest.mark.parametrize("name", ["connected_components", "clusters", "single_linkage", "rooted", "hdbscan"])
def test_dask(name):
    """Partitions, with groups whose vertices have self-loops only."""
    dask = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"g": rng.choice(list("abcd"), 60), "h": rng.integers(0, 3, 60)})
    frame = frame.assign(source=rng.integers(0, 9, 60), target=rng.integers(0, 9, 60), weight=rng.integers(0, 5, 60))
    frame.loc[frame.g == "c", "target"] = frame.source
    options: dict[str, Any] = {"clusters": {"distance": 2}, "hdbscan": {"min_cluster_size": 2}}.get(name, {})
    parts = dask.from_pandas(frame, npartitions=4)
    found = getattr(dfmst, name)(parts, by=["g", "h"], **options).compute(scheduler="synchronous")
    expected = getattr(dfmst, name)(frame, by=["g", "h"], **options)
    places = [column for column in ("edge", "heaviest") if column in expected]  # those of the forest's rows
    for column in places:
        forest = dfmst.minimum_spanning_forest(frame, by=["g", "h"])
        found[column] = found[column].map(dict(enumerate(forest.index))).astype("Int64")
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected, check_dtype=False)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("connected_components", {"by": "day", "vertices": [1]}, "vertices= lists the vertices of one graph"),
        ("rooted", {"by": "day", "vertices": [1]}, "vertices= lists the vertices of one graph"),
        ("single_linkage", {"by": "day", "join": 10}, "join= and as_scipy= cannot be combined with by="),
        ("clusters", {"by": "day", "n_clusters": 2, "max_size": 2}, "cannot be combined with max_size= or one_per="),
        (
            "clusters",
            {"by": "day", "n_clusters": 3},
            "3 clusters cannot be made of 1 group; that of day 'a' has 2 vertices in 1 component",
        ),
        ("connected_components", {"by": "night"}, "column 'night' not found"),
        ("connected_components", {"by": "vertex"}, "by= names the column 'vertex', and the result has a column"),
        ("rooted", {"by": "day", "root": 7}, "root: 7 is not a vertex of the table"),
        ("rooted", {"by": "day", "root": [1, 2]}, "the roots 1, 2 are in one tree"),
    ],
)
def test_errors(function, options, message):
    with pytest.raises((dfmst.DfmstError, ValueError)) as caught:
        getattr(dfmst, function)(ROADS.assign(vertex=1), **options)
    assert message in str(caught.value)


STREAMED: dict[str, dict[str, Any]] = {"connected_components": {}, "clusters": {"distance": [0, 2]}}


@pytest.mark.parametrize("name", STREAMED)
@given(rows=ROWS, by=st.sampled_from([["g"], ["h", "g"]]), text=st.booleans(), cut=st.integers(0, 40))
@examples(60)
def test_streams(name, rows, by, text, cut):
    frame = table(rows, str if text else lambda id: id + 2**53)
    expected = getattr(dfmst, name)(frame, by=by, **STREAMED[name])
    found = getattr(dfmst.stream, name)([frame[:cut], frame[cut:]], by=by, **STREAMED[name])
    assert found.equals(expected)
    assert found.schema == expected.schema
    arrow = getattr(dfmst.stream, name)([frame.to_arrow()], by=by, **STREAMED[name])
    assert arrow.to_pylist() == expected.to_dicts()


@given(rows=ROWS, by=st.sampled_from([["g"], ["h", "g"]]), cut=st.integers(0, 40), maximum=st.booleans())
@examples(15)
def test_numbers_of_clusters_in_streams(rows, by, cut, maximum):
    frame = table(rows, str)
    found: Any = dfmst.connected_components(frame, by=by)
    groups: Any = found.group_by(by).agg(pl.len(), trees=pl.col("component").n_unique())
    least, most = (0, 0) if found.is_empty() else (groups["trees"].max(), groups["len"].min())
    options: dict[str, Any] = {"by": by, "maximum": maximum}
    parts = [frame[:cut], frame[cut:]]
    if least <= most:
        options["n_clusters"] = list(range(least, most + 1))
        assert dfmst.stream.clusters(parts, **options).equals(dfmst.clusters(frame, **options))
    elif rows:
        with pytest.raises(dfmst.InvalidEdgesError) as expected:
            dfmst.clusters(frame, n_clusters=least, **options)
        with pytest.raises(dfmst.InvalidEdgesError, match=f"^{re.escape(str(expected.value))}$"):
            dfmst.stream.clusters(parts, n_clusters=least, **options)


def test_files_of_groups(tmp_path):
    days: Any = ["2020-01-01", None, "1969-07-20", "2020-01-01"]
    kinds = {"day": pd.to_datetime(days), "half": [0.5, 1.5, -0.0, 0.5]}
    edges = pd.DataFrame({"source": [5, 1, 2, 2**60], "target": [5, 2, 1, 5], **kinds})
    edges.to_parquet(tmp_path / "edges.parquet")
    out = tmp_path / "out.parquet"
    options: dict[str, Any] = {"by": ["day", "half"]}
    assert dfmst.stream.connected_components(tmp_path / "edges.parquet", output=out, **options) == out
    pd.testing.assert_frame_equal(pd.read_parquet(out), dfmst.connected_components(edges, **options))
    with pytest.raises(
        dfmst.InvalidEdgesError,
        match=r"of 3 groups; that of day 1969-07-20 .*, half -?0.0 has 2 vertices in 1 component",
    ):
        dfmst.stream.clusters([edges], weight=None, n_clusters=3, **options)
    with pytest.raises(dfmst.InvalidEdgesError, match="that of name 'a', gap null has 4 vertices in 2 components"):
        dfmst.stream.clusters([edges.assign(name="a", gap=None)], weight=None, n_clusters=5, by=["name", "gap"])
    with pytest.raises(dfmst.InvalidEdgesError, match="by= names a column that the result has as well"):
        dfmst.stream.connected_components([edges.assign(vertex=1)], by="vertex")
