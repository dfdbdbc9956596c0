"""The heaviest row between two vertices, against the rows of the path."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx as nx
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
from tests.support.tables import FRAMES, column_of, edge_tables


def heaviest_rows(edges: Any, pairs: list[Any], maximum: bool) -> list[int | None]:
    """The row of the path that Kruskal's algorithm took last."""
    forest = kruskal_rows(edges.source, edges.target, edges.weight, maximum)
    tree = nx.Graph()
    tree.add_nodes_from([*edges.source, *edges.target])
    for place, row in enumerate(forest):
        tree.add_edge(edges.source[row], edges.target[row], place=place)
    found: list[int | None] = []
    for start, stop in pairs:
        path = nx.shortest_path(tree, start, stop) if nx.has_path(tree, start, stop) else []
        places = [tree.edges[ends]["place"] for ends in pairwise(path)]
        found.append(forest[max(places)] if places else None)
    return found


@given(edge_tables(), st.sampled_from(list(FRAMES)), st.booleans(), st.data())
@examples(200)
def test_pairs(edges, kind, maximum, data):
    vertices = sorted({*edges.source, *edges.target})
    pairs = data.draw(st.lists(st.tuples(*[st.sampled_from(vertices)] * 2), max_size=12)) if vertices else []
    frame, weight = FRAMES[kind](edges.arrow()), None if edges.weight is None else "w"
    found = dfmst.bottlenecks(frame, pairs, "u", "v", weight, maximum=maximum)
    expected = heaviest_rows(edges, pairs, maximum)
    missing = [row is None for row in expected]
    assert [None if pd.isna(row) else row for row in column_of(found, "edge")] == expected
    assert list(zip(column_of(found, "start"), column_of(found, "stop"), strict=True)) == pairs
    if weight is not None:
        weights = ["none" if pd.isna(value) else value for value in column_of(found, "weight")]
        assert weights == ["none" if none else edges.weight[row] for row, none in zip(expected, missing, strict=True)]


ROADS = pd.DataFrame({"source": [1, 2, 3, 4, 7], "target": [2, 3, 4, 1, 8], "weight": [5, 1, 2, 9, 4]})


def test_pairs_of_any_kind():
    pairs = [(4, 1), (4, 2)]
    expected = ROADS.mst.bottlenecks(pairs)
    frame = pd.DataFrame(pairs, columns=["from", "to"], index=["p", "q"])
    assert dfmst.bottlenecks(ROADS, frame).equals(expected.set_axis(["p", "q"]))
    wide = frame.rename(columns={"from": "source", "to": "target"}).assign(more=0)
    swapped = pd.DataFrame({"stop": [1, 2], "start": [4, 4]})
    for same in (
        np.array(pairs),
        wide.reset_index(drop=True),
        swapped,
        pl.DataFrame(pairs, orient="row", schema=["x", "y"]),
    ):
        assert dfmst.bottlenecks(ROADS, same).equals(expected)
    forest = dfmst.minimum_spanning_forest(ROADS).reset_index(drop=True)
    assert dfmst.bottlenecks(forest, pairs).equals(expected)
    assert dfmst.bottlenecks(ROADS, pairs, weight=None).columns.tolist() == ["start", "stop", "edge"]
    lazy = dfmst.bottlenecks(pl.from_pandas(ROADS).lazy(), pairs)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(pl.from_pandas(expected))


@pytest.mark.parametrize(
    ("weight", "kind"), [([2**60 + 1, 2], "Int64"), ([0.5, 2.0], "float64"), ([True, False], "boolean")]
)
def test_weights_stay_exact_next_to_nulls(weight, kind):
    roads = pd.DataFrame({"source": [1, 3], "target": [2, 4], "weight": weight})
    found = dfmst.bottlenecks(roads, [(1, 2), (1, 3)])
    assert found["weight"].dtype == kind
    assert found["weight"][0] == weight[0]
    assert found["weight"].isna().tolist() == [False, True]
    assert dfmst.bottlenecks(roads, [(1, 2)])["weight"].dtype == roads["weight"].dtype


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(1, 2), (1, 5), (6, 2)], r"stop: 5 is not a vertex of the table|start: 6 is not a vertex of the table"),
        (pd.DataFrame({"x": [1, 1, 9], "y": [2, 2, 2]}), r"column 'x' of pairs: 9 .* \(1 of 3 ids are not, .* row 2\)"),
        (pa.table({"x": pa.array([1, None]), "y": pa.array([2, 2])}), "column 'x' of pairs: None is not a vertex"),
        ([(1, 2), (1, 2, 3)], "pairs: entry 1 has 3 ids, and a pair has 2"),
        ([(1, 2), 3], "pairs: entry 1 has 1 ids"),
        (ROADS.rename(columns={"source": "x"}), "pairs has 3 columns, and not the two columns 'source' and 'target'"),
        ([("a", "b")], "no exact common type"),
    ],
)
def test_pairs_that_are_none(pairs, message):
    with pytest.raises(dfmst.InvalidEdgesError, match=message):
        dfmst.bottlenecks(ROADS, pairs)


def test_other_objects_are_no_pairs():
    with pytest.raises(dfmst.UnsupportedFrameError, match="pairs is a int"):
        dfmst.bottlenecks(ROADS, 5)
