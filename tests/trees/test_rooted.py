"""Rooted forests and paths, against a plain walk."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
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
from tests.support.oracle import kruskal_rows

ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(-5, 9)), max_size=40)
NAMES = ["vertex", "parent", "component", "depth", "distance", "edge", "heaviest"]


def table(rows: list[Any]) -> pa.Table:
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [[]] * 3
    names = ("source", "target", "weight")
    return pa.table({name: pa.array(column, pa.int64()) for name, column in zip(names, columns, strict=True)})


def walk(rows: list[Any], roots: list[int], vertices: list[int], maximum: bool) -> dict[int, tuple[Any, ...]]:
    """Each vertex's entries, by a walk from every root."""
    source, target, weight = ([row[at] for row in rows] for at in range(3))
    forest = kruskal_rows(source, target, weight, maximum=maximum)
    place = {row: (-rows[row][2] if maximum else rows[row][2], row) for row in forest}
    known: dict[int, tuple[Any, ...]] = {}
    for root in [*roots, *vertices]:
        if root in known:
            continue
        known[root] = (root, root, 0, 0, None, None)
        waiting = [root]
        while waiting:
            vertex = waiting.pop()
            _, _, depth, distance, _, heaviest = known[vertex]
            for row in forest:
                if vertex in rows[row][:2] and (other := sum(rows[row][:2]) - vertex) not in known:
                    last = row if heaviest is None else max(row, heaviest, key=place.__getitem__)
                    known[other] = (vertex, root, depth + 1, distance + rows[row][2], row, last)
                    waiting.append(other)
    return known


@given(ROWS, st.sets(st.integers(0, 14), max_size=4), st.integers(0, 14), st.booleans())
@examples(200)
def test_trees(rows, isolated, root, maximum):
    vertices = sorted({end for row in rows for end in row[:2]} | isolated)
    roots = [root] if root in vertices else []
    trees = dfmst.rooted(table(rows), root=roots, vertices=vertices, maximum=maximum)
    expected = walk(rows, roots, vertices, maximum)
    found = zip(*(trees[name].to_pylist() for name in NAMES), strict=True)
    assert {vertex: tuple(entries) for vertex, *entries in found} == expected
    assert sorted(trees["order"].to_pylist()) == list(range(len(vertices)))
    order = dict(zip(trees["vertex"].to_pylist(), trees["order"].to_pylist(), strict=True))
    depth = {vertex: entries[2] for vertex, entries in expected.items()}
    sequence = sorted(order, key=order.__getitem__)
    for before, vertex in pairwise(sequence):
        # Depth first: a vertex follows its parent, or a vertex below an earlier child of it.
        assert depth[vertex] <= depth[before] + 1
        assert depth[vertex] <= depth[before] or expected[vertex][0] == before


@given(ROWS, st.integers(0, 12), st.integers(0, 12), st.booleans())
@examples(200)
def test_paths(rows, start, stop, maximum):
    vertices = sorted({end for row in rows for end in row[:2]})
    frame = table(rows).append_column("row", pa.array(range(len(rows)), pa.int64()))
    known = walk(rows, [start], vertices, maximum) if start in vertices else {}
    if stop not in known or start not in vertices or known[stop][1] != start:
        with pytest.raises(dfmst.InvalidEdgesError, match=r"is not a vertex of the table|no path joins"):
            dfmst.path(frame, start=start, stop=stop, maximum=maximum)
        return
    expected, vertex = [], stop
    while vertex != start:
        expected.append(known[vertex][4])
        vertex = known[vertex][0]
    assert dfmst.path(frame, start=start, stop=stop, maximum=maximum)["row"].to_pylist() == expected[::-1]


def test_a_deep_tree():
    rng = np.random.default_rng(0)
    at = rng.permutation(20_000)
    line = pd.DataFrame({"source": at, "target": at + 1, "weight": 1}).sample(frac=1, random_state=0)
    trees = dfmst.rooted(line, root=20_000)
    assert trees["depth"].tolist() == list(range(20_000, -1, -1))
    assert dfmst.path(line, start=0, stop=20_000)["source"].tolist() == list(range(20_000))


ROADS = pd.DataFrame({"source": ["a", "b", "x"], "target": ["b", "c", "y"], "weight": [0.5, 2.0, 1.0]})


def test_kinds_of_frames_and_weights():
    trees = ROADS.mst.rooted(root=["c", "y"])
    assert trees["component"].tolist() == ["c", "c", "c", "y", "y"]
    assert trees["distance"].tolist() == [2.5, 2.0, 0.0, 1.0, 0.0]
    lazy = dfmst.rooted(pl.from_pandas(ROADS).lazy(), root=["c", "y"])
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(pl.from_pandas(trees))
    assert ROADS.set_index(pd.Index([7, 8, 9])).mst.path(start="c", stop="a").index.tolist() == [8, 7]
    assert ROADS.mst.path(start="c", stop="c").empty
    decimals: Any = [Decimal("0.5"), Decimal(2), Decimal(1)]
    exact = ROADS.assign(weight=decimals)
    assert dfmst.rooted(exact, root=["c", "y"])["distance"].tolist() == [2.5, 2.0, 0.0, 1.0, 0.0]
    assert dfmst.rooted(ROADS, weight=None)["distance"].tolist() == [0, 1, 2, 0, 1]


WIDE: dict[str, Any] = {
    "int64": np.array([2**62, 2**62, 5]),
    "uint64": np.array([2**63, 1, 1], np.uint64),
    "signed": np.array([-(2**62), -(2**62), 1]),
    "objects": pd.Series([2**63 + 1, -1, 2**64 - 1], dtype=object),
    "dictionary": pd.Categorical([2**62, 2**62 - 1, 5]),
    "decimal": pd.Series([2**62 + 1, 2, 3], dtype=pd.ArrowDtype(pa.decimal128(38, 0))),
}


@pytest.mark.parametrize("kind", WIDE)
def test_distances_are_exact_sums(kind):
    first, second, third = map(int, WIDE[kind])
    roads = ROADS.assign(weight=WIDE[kind])
    distance = dfmst.rooted(roads)["distance"]
    assert distance.tolist() == [0, first, first + second, 0, third]
    assert distance.dtype == ("uint64" if max(distance) >= 2**63 else "int64")


@pytest.mark.parametrize(("weight", "count"), [(-(2**63), 1), (2**63, 1), (2**70, 3)])
def test_distances_beyond_64_bits(weight, count):
    roads = ROADS.assign(weight=pd.Series([weight] * 3, dtype=object))
    with pytest.raises(dfmst.InvalidEdgesError, match=f"{count} distances from the root are beyond 64 bits"):
        dfmst.rooted(roads)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"root": "q"}, "root: 'q' is not a vertex of the table"),
        ({"root": ["a", "x", "c"]}, "the roots 'a', 'c' are in one tree"),
        ({"root": "A"}, "did you mean 'a'? Else name an end of a row, or list it in vertices="),
        ({"root": 7}, "root: 7 is not a vertex of the table: column 'root' holds int64 ids and column 'ids' holds"),
        ({"weight": "when"}, "column 'when' holds duration[us] weights, which have no sum along a path"),
    ],
)
def test_bad_roots(options, message):
    edges = ROADS.assign(when=pd.to_timedelta([1, 2, 3], unit="s").astype("timedelta64[us]"))
    with pytest.raises(dfmst.InvalidEdgesError) as caught:
        dfmst.rooted(edges, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("ends", [(["a"], "c"), ("a", np.array(["c"]))])
def test_a_path_of_several_vertices(ends):
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^(start is a list|stop is a ndarray); it must be one vertex"):
        dfmst.path(ROADS, start=ends[0], stop=ends[1])


NAMED = pd.DataFrame({"source": ["Bonn", "Köln", "3"], "target": ["Köln", "Aachen", "4"], "weight": [3, 1, 2]})
DAYS = NAMED.assign(**{name: pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"]) for name in NAMED.columns[:2]})


@pytest.mark.parametrize(
    ("frame", "vertex", "hint"),
    [
        (NAMED, "Bon", "did you mean 'Bonn'? Else name an end of a row"),
        (NAMED, " bonn", "did you mean 'Bonn'? Else name an end of a row"),
        (NAMED, b"Bonn", "did you mean 'Bonn'? Else name an end of a row"),
        (NAMED, 3, "did you mean '3'? Else name an end of a row"),
        (NAMED, 3.0, "did you mean '3'? Else name an end of a row"),
        (NAMED, "Zwickau", "name an end of a row"),
        (NAMED, None, "name an end of a row"),
        (NAMED.iloc[2:].astype({"source": int, "target": int}), "3", "did you mean 3? Else name an end of a row"),
        (NAMED.iloc[2:].astype({"source": int, "target": int}), 7, "name an end of a row"),
        (DAYS, "2026-01-01", "name an end of a row"),
    ],
)
@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas])
def test_a_path_to_an_unknown_vertex(frame, vertex, hint, convert):
    known = frame["source"].iloc[0]
    for ends, name in (((vertex, known), "start"), ((known, vertex), "stop")):
        with pytest.raises(dfmst.InvalidEdgesError) as caught:
            dfmst.path(convert(frame), start=ends[0], stop=ends[1])
        assert caught.value.message.startswith(f"{name}: {vertex!r} is not a vertex of the table: ")
        assert caught.value.hint == hint


def test_no_path():
    with pytest.raises(dfmst.InvalidEdgesError, match="no path joins 'a' and 'y': they are in different components"):
        dfmst.path(ROADS, start="a", stop="y")
