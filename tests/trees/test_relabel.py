"""Names of clusters that last, against a plain count of members."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_series_equal

import dfmst
from tests.support.lanes import examples

Clusters = dict[Any, set[Any]]


def named(new: Clusters, old: Clusters) -> tuple[dict[Any, Any], list[tuple[Any, ...]]]:
    """The name of each new label, and the events."""
    common = {label: {name: len(members & those) for name, those in old.items()} for label, members in new.items()}
    wish = {
        label: min(counts, key=lambda name: (-counts[name], name))
        for label, counts in common.items()
        if any(counts.values())
    }
    keeper = {}
    for name in old:
        claims = [label for label in wish if wish[label] == name]
        if claims:
            keeper[name] = min(claims, key=lambda label: (-common[label][name], label))
    names = {label: name for name, label in keeper.items()}
    for label in sorted(new.keys() - names.keys()):
        free = [vertex for vertex in sorted(new[label]) if vertex not in old and vertex not in new]
        names[label] = label if label not in old else free[0] if free else None
    events = []
    for label, members in new.items():
        counts = {name: number for name, number in common[label].items() if number}
        elsewhere = [other for other in new if other != label and len(counts) == 1 and common[other][min(counts)]]
        event = "new" if not counts else "merged" if len(counts) > 1 else "split" if elsewhere else ""
        event = event or ("grown" if len(members) > sum(counts.values()) else "kept")
        before = len(old[names[label]]) if names[label] in old else 0
        into = heir(names[label], new, old, names) if before else None
        events.append((names[label], event, before, len(members), wish.get(label), into))
    gone = old.keys() - keeper.keys()
    events += [(name, "gone", len(old[name]), 0, None, heir(name, new, old, names)) for name in gone]
    return names, events


def heir(name: Any, new: Clusters, old: Clusters, names: dict[Any, Any]) -> Any:
    counts = Counter({label: len(members & old[name]) for label, members in new.items()})
    most = min(counts, key=lambda label: (-counts[label], label), default=None)
    return names[most] if counts[most] else None


def clusters_of(labels: dict[Any, Any]) -> Clusters:
    clusters = defaultdict(set)
    for vertex, label in labels.items():
        clusters[label].add(vertex)
    return dict(clusters)


def frame(labels: dict[Any, Any]) -> pa.Table:
    return pa.table({"vertex": list(labels), "cluster": list(labels.values())}) if labels else EMPTY


EMPTY = pa.table({"vertex": pa.array([], pa.int64()), "cluster": pa.array([], pa.int64())})
KINDS = [lambda table: table, pl.from_arrow, lambda table: table.to_pandas().set_axis(range(5, 5 + len(table)))]
PARTITIONS = st.dictionaries(st.integers(0, 14), st.integers(0, 5), max_size=15)


@given(st.lists(PARTITIONS, min_size=2, max_size=4), st.sampled_from([int, "v{:02}".format]), st.sampled_from(KINDS))
@examples(300)
def test_names(nights, called, kind):
    names: dict[Any, Any] = {}
    for night, partition in enumerate(nights):
        groups = clusters_of(partition)
        labels = {called(vertex): called(min(groups[group])) for vertex, group in partition.items()}
        new, old = clusters_of(labels), clusters_of(names)
        if night and labels and names:
            expected, events = named(new, old)
            found, reported = dfmst.relabel(kind(frame(labels)), kind(frame(names)))
            if hasattr(found, "index"):
                assert found.index.tolist() == list(range(5, 5 + len(labels)))
            given_names = dict(zip(list(map(plain, found["vertex"])), list(map(plain, found["cluster"])), strict=True))
            assert len(clusters_of(given_names)) == len(new)
            for label, name in expected.items():  # without a free member, the name is a new one
                assert (
                    {given_names[vertex] for vertex in new[label]} == {name}
                    if name is not None
                    else (given_names[next(iter(new[label]))] not in old)
                )
            listed = [[plain(value) for value in reported[name]] for name in told_names(reported)]
            if None not in expected.values():
                assert sorted(zip(*listed, strict=True), key=str) == sorted(events, key=str)
            assert listed[0] == sorted(listed[0])
            names = given_names
        else:
            names = labels


def told_names(events: Any) -> list[str]:
    names = events.column_names if isinstance(events, pa.Table) else list(events.columns)
    assert names == ["cluster", "event", "before", "after", "origin", "into"]
    return names


def plain(value: Any) -> Any:
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    return None if pd.isna(value) else value


@given(PARTITIONS, PARTITIONS, st.sampled_from(KINDS), st.sampled_from(["label", "label5"]))
@examples(100)
def test_noise_is_no_cluster(before, after, kind, name):
    """Names and events are those of the frames with nulls in place of noise."""
    ours, expected = [], []
    for partition in (after, before):
        labels = [label - 1 for label in partition.values()]
        table = pa.table({"vertex": pa.array(partition, pa.int64()), name: pa.array(labels, pa.int64())})
        ours.append(kind(table))
        numbers = pa.array([label if label >= 0 else None for label in labels], pa.int64())
        expected.append(table.set_column(1, name, numbers))
    found, events = dfmst.relabel(*ours)
    labels, reported = dfmst.relabel(*expected)
    assert list(map(plain, found[name])) == [-1 if label is None else label for label in labels[name].to_pylist()]
    assert not hasattr(found, "index") or found[name].dtype == "int64"
    for column in told_names(events):
        assert list(map(plain, events[column])) == reported[column].to_pylist()


@pytest.mark.parametrize("kind", ["int8", "Int64", "category", "int32[pyarrow]", "str", "string[pyarrow]"])
def test_noise_of_any_type(kind):
    old = pd.DataFrame({"vertex": list("abcdef"), "label": [-1, -1, 0, 0, 1, 1]}).astype({"label": kind})
    new = pd.DataFrame({"vertex": list("abcdefg"), "label": [2, 2, 1, 1, -1, -1, -1]}).astype({"label": kind})
    labels, events = dfmst.relabel(new, old)
    assert labels.label.astype(int).tolist() == [2, 2, 0, 0, -1, -1, -1]
    assert events.cluster.astype(int).tolist() == [0, 1, 2]
    assert events.event.tolist() == ["kept", "gone", "new"]


@pytest.mark.parametrize(
    "make",
    [
        lambda texts: pl.DataFrame({"vertex": range(6), "label": pl.Series(texts, dtype=pl.Enum(["-1", "0", "1"]))}),
        lambda texts: pl.DataFrame({"vertex": range(6), "label": pl.Series(texts, dtype=pl.Categorical)}),
        lambda texts: pa.table({"vertex": range(6), "label": pa.array(texts, pa.string_view())}),
        lambda texts: pa.table({"vertex": range(6), "label": pa.array(texts).dictionary_encode()}),
    ],
)
def test_noise_that_is_text(make):
    labels, events = dfmst.relabel(make(["-1", "-1", "0", "0", "1", "1"]), make(["1", "1", "-1", "-1", "0", "0"]))
    assert list(map(plain, labels["label"])) == ["-1", "-1", "0-2", "0-2", "0", "0"]
    assert list(map(plain, events["event"])) == ["kept", "new", "gone"]


def test_noise_of_an_earlier_run():
    edges = pd.DataFrame({"source": [1, 2, 4, 5, 7], "target": [2, 3, 5, 6, 8], "weight": [1.0, 2, 1, 1, 9]})
    old = dfmst.hdbscan(edges, min_cluster_size=3)
    assert old.label.tolist() == [0, 0, 0, 1, 1, 1, -1, -1]
    assert dfmst.clusters(edges, distance=2, previous=old).cluster.tolist() == [0, 0, 0, 1, 1, 1, 7, 8]
    renamed = old[["vertex", "label"]].set_axis(["vertex", "cluster"], axis=1)
    with pytest.raises(dfmst.InvalidEdgesError, match="in 2 rows, the first is row 6: noise, or") as caught:
        dfmst.clusters(edges, distance=2, previous=renamed)
    assert "name the column label" in caught.value.hint  # as `old` has it
    ids = renamed.assign(vertex=renamed.vertex - 2)  # cluster -1 may be called after its vertex -1
    assert dfmst.relabel(ids, ids)[0].equals(ids)


def test_numbers_that_are_no_members():
    old = pl.DataFrame({"vertex": ["a", "b", "c"], "label": [0, 0, None]})
    new = pl.DataFrame({"vertex": ["a", "b", "c", "d"], "label": [1, 0, None, 0]})
    labels, events = dfmst.relabel(new, old)
    assert labels["label"].to_list() == [1, 0, None, 0]
    assert events["event"].to_list() == ["split", "split"]
    texts = new.with_columns(pl.Series("label", ["x", "y", None, "x"]))
    before = old.with_columns(pl.Series("label", ["x", "x", "y"]))
    labels, _ = dfmst.relabel(texts, before)
    assert labels["label"].to_list() == ["x", "y-2", None, "x"]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (pl.Series([0, 0, 0]), pl.Series([1, 1, 0]), pl.Series([0, 0, 2])),
        (pl.Series([0] * 3, dtype=pl.Int8), pl.Series([1, 1, 0], dtype=pl.Int32), pl.Series([0, 0, 2])),
        (pl.Series([2**63] * 3, dtype=pl.UInt64), pl.Series([1, 1, 2]), pl.Series([2**63, 2**63, 2], dtype=pl.UInt64)),
        # numbers after those in use do not fit the labels
        (*[pl.Series(labels, dtype=pl.Int8) for labels in ([127] * 3, [1, 1, 127], [127, 127, 0])],),
        (pl.Series([5, 5, 2**63], dtype=pl.UInt64), pl.Series([1, 5, 1]), pl.Series([5, 0, 5], dtype=pl.UInt64)),
        (pa.array(list("xxx"), pa.string()), pa.array(list("yyx"), pa.large_string()), pa.array(["x", "x", "x-2"])),
    ],
)
def test_further_names(before, after, found):
    """A cluster whose label an old cluster keeps gets a free one of the labels' type."""
    old, new = ({"vertex": ["a", "b", "c"], "cluster": labels} for labels in (before, after))
    make = pl.DataFrame if isinstance(before, pl.Series) else pa.table
    labels = dfmst.relabel(make(new), make(old))[0]["cluster"]
    if isinstance(before, pl.Series):
        assert_series_equal(labels, found.alias("cluster"))
    else:
        assert labels.combine_chunks().equals(found)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ([True] * 3, [False, False, True], "cluster True of new needs another name: an old cluster is called so"),
        (
            pl.Series([0] * 3).cast(pl.Datetime("us")),
            pl.Series([1] * 3).cast(pl.Datetime("ns")),
            "labels of new are Datetime.* and labels of old are .*cast both to one type",
        ),
        (
            pl.Series([0] * 129, dtype=pl.Int8),
            pl.Series([1, *range(128)], dtype=pl.Int8),
            "labels of new are Int8, which has no number for another cluster",
        ),
    ],
)
def test_labels_without_further_names(before, after, message):
    vertices = [f"v{place}" for place in range(len(before))]
    old, new = (pl.DataFrame({"vertex": vertices, "cluster": labels}) for labels in (before, after))
    with pytest.raises(dfmst.InvalidEdgesError, match=f"(?s){message}"):
        dfmst.relabel(new, old)


def test_wide_ids_stay_exact():
    names = np.array([2**60 + 1, 2**60 + 1, 2**60 + 3])
    old = pd.DataFrame({"vertex": names + np.array([0, 1, 0]), "cluster": names})
    new = pd.DataFrame({"vertex": names[[0, 0]] + np.array([0, 5]), "cluster": names[[0, 0]] + np.array([0, 5])})
    labels, events = dfmst.relabel(new, old)
    assert labels["cluster"].tolist() == new["cluster"].tolist()
    assert labels["cluster"].dtype == np.int64
    assert events["into"].dropna().tolist() == [2**60 + 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertex": [1, 1]}, r"vertex of new has 1 repeated entries, the first is 1 in row 1"),
        ({"vertex": pd.array([1, None], "Int64")}, "vertex of new has 1 nulls, the first in row 1"),
        ({"more": 1}, "new has 2 columns of labels: 'cluster', 'more'"),
        ({"vertex": ["a", "b"]}, "no exact common type"),
        ({"cluster": ["a", "b"]}, "no exact common type"),
    ],
)
def test_labels_that_are_none(change, message):
    old = pd.DataFrame({"vertex": [1, 2], "cluster": [1, 1]})
    with pytest.raises(dfmst.InvalidEdgesError, match=message):
        dfmst.relabel(old.assign(**change), old)


def test_frames_of_two_libraries():
    old = pl.DataFrame({"vertex": [1, 2], "cluster": [1, 1]})
    with pytest.raises(dfmst.UnsupportedFrameError, match="new and old are frames of two kinds: pandas and polars"):
        dfmst.relabel(old.to_pandas(), old)


def test_columns_by_name():
    old = pd.DataFrame({"vertex": [1, 2], "cluster": [1, 1]})
    new = old.rename(columns={"vertex": "id", "cluster": "component"})
    with pytest.raises(dfmst.ColumnNotFoundError):
        dfmst.relabel(new, old)
    labels, events = dfmst.relabel(
        new.assign(more=2),
        old.rename(columns={"vertex": "id", "cluster": "component"}),
        vertex="id",
        cluster="component",
    )
    assert labels.columns.tolist() == ["id", "component", "more"]
    assert events["event"].tolist() == ["kept"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, lambda frame: pl.DataFrame(frame).lazy()])
def test_clusters_keep_the_names_of_previous_ones(kind):
    roads = pd.DataFrame({"source": [1, 2, 3, 4, 5], "target": [2, 3, 4, 5, 6], "weight": [1, 9, 2, 9, 3]})
    night = dfmst.clusters(kind(roads.iloc[1:]), distance=[2, 3], vertices=range(1, 7), previous=None)
    found = dfmst.clusters(kind(roads.assign(weight=1)), distance=[2, 3], previous=night)
    found, night = (table.collect() if isinstance(table, pl.LazyFrame) else table for table in (found, night))
    assert list(found.columns) == ["vertex", "d2", "d3"]
    assert list(found["d2"]) == [3] * 6
    assert list(found["d3"]) == [3] * 6
    single = dfmst.clusters(roads, n_clusters=2, previous=dfmst.clusters(roads.iloc[1:], n_clusters=2))
    labels, _ = dfmst.relabel(dfmst.clusters(roads, n_clusters=2), dfmst.clusters(roads.iloc[1:], n_clusters=2))
    assert single.equals(labels)
    with pytest.raises(dfmst.ColumnNotFoundError, match="vertex"):
        dfmst.clusters(roads, n_clusters=[2, 3], previous=roads)
    with pytest.raises(ValueError, match="previous= and by= cannot be combined"):
        dfmst.clusters(roads, n_clusters=2, by="weight", previous=night)
