"""Graphs of igraph: trees, vertices in order, and errors."""

from __future__ import annotations

from typing import Any

import igraph
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfmst


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_trees_are_igraph_s(make):
    graph = igraph.Graph.Erdos_Renyi(n=40, m=200)
    graph.es["weight"] = [(7 * number) % 200 for number in range(200)]  # all different
    table = make(dfmst.from_igraph(graph).to_pydict())
    forest = dfmst.to_igraph(dfmst.minimum_spanning_forest(table), ids=range(40))
    tree = graph.spanning_tree(weights="weight")
    assert sorted(forest.es["weight"]) == sorted(tree.es["weight"])
    assert forest.vcount() == 40


def test_vertices_in_order_of_appearance():
    graph = dfmst.to_igraph(pd.DataFrame({"u": ["c", "a"], "v": ["b", "c"], "km": [1, 2]}), "u", "v")
    assert graph.vs["name"] == ["c", "b", "a"]
    assert graph.get_edgelist() == [(0, 1), (0, 2)]
    assert dfmst.to_igraph(pa.table({"source": pa.array([], "str"), "target": pa.array([], "str")})).vcount() == 0


def test_objects_stay_as_they_are():
    payload: list[Any] = [2**70 + 1, {"a": 1}]
    graph = dfmst.to_igraph(pd.DataFrame({"source": [0, 1], "target": [1, 2], "weight": payload}))
    assert graph.es["weight"] == payload


def test_wrong_graphs():
    twice, mixed = igraph.Graph([(0, 1)]), igraph.Graph([(0, 1), (1, 2)])
    twice.vs["name"] = ["a", "a"]
    mixed.es["length"] = [1, "b"]
    taken = igraph.Graph([(0, 1)], edge_attrs={"source": ["x"]})
    calls: dict[str, Any] = {
        "no graph of igraph": lambda: dfmst.from_igraph(7),
        "ids has 1 repeated entries, the first is 'a' in row 1, as in row 0": lambda: dfmst.from_igraph(twice),
        "attribute 'length' do not fit a column": lambda: dfmst.from_igraph(mixed),
        "an attribute 'source'": lambda: dfmst.from_igraph(taken),
        "1 nulls": lambda: dfmst.to_igraph(pa.table({"source": ["a"], "target": pa.array([None], "str")})),
        "hold string and int64": lambda: dfmst.to_igraph(pa.table({"source": ["a"], "target": [1]})),
        "1 ids that are not listed": lambda: dfmst.to_igraph(pa.table({"source": [1], "target": [2]}), ids=[1]),
    }
    for words, call in calls.items():
        with pytest.raises(dfmst.DfmstError, match=words):
            call()
