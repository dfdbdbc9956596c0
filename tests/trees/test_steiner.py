"""Steiner trees, against Mehlhorn's of NetworkX and shortest paths."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from networkx.algorithms.approximation import steiner_tree

import dfmst
import dfmst.pandas
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

LENGTHS = st.one_of(st.integers(0, 3), st.sampled_from([0.0, -0.0, 1e-30, 0.5, 1.0, float("inf")]))
ROWS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), LENGTHS), min_size=1, max_size=30)


def check(pairs: list[tuple[Any, Any]], weight: list[float], terminals: set[Any], rows: list[int]) -> None:
    """The rows are a forest whose leaves are terminals, and it joins the terminals of each component."""
    tree, graph = nx.MultiGraph(), nx.Graph(pairs)
    tree.add_nodes_from(terminals)
    tree.add_edges_from(pairs[row] for row in rows)
    assert nx.is_forest(tree)
    assert rows == sorted(set(rows))
    assert {vertex for vertex, degree in tree.degree if degree == 1} <= terminals
    for component in nx.connected_components(graph):
        inside = terminals & component
        if inside:
            assert inside <= nx.node_connected_component(tree, min(inside))
    assert set(tree) <= set(graph)


@given(ROWS, st.sets(st.integers(0, 11), min_size=1, max_size=6), st.sampled_from(["int", "wide", "text"]))
@examples(200)
def test_forests(rows, terminals, kind):
    name: Any = {"int": int, "wide": lambda id: 2**53 + 1 + id, "text": lambda id: f"v{id}"}[kind]
    ends = {end for row in rows for end in row[:2]}
    terminals = {name(vertex) for vertex in terminals & ends or ends}
    pairs = [(name(a), name(b)) for a, b, _ in rows]
    weight = [row[2] for row in rows]
    columns = {"source": [a for a, _ in pairs], "target": [b for _, b in pairs], "weight": weight}
    frame = pa.table({**columns, "row": pa.array(range(len(rows)))})
    found = dfmst.steiner_tree(frame, terminals=list(terminals), threads=2)["row"].to_pylist()
    check(pairs, weight, terminals, found)
    assert found == dfmst.steiner_tree(frame, terminals=list(terminals), threads=1)["row"].to_pylist()
    everyone = sorted({end for pair in pairs for end in pair})
    assert dfmst.steiner_tree(frame, terminals=everyone)["row"].to_pylist() == sorted(
        kruskal_rows(columns["source"], columns["target"], weight)
    )
    if len(terminals) == 2:
        graph = nx.Graph()
        for (a, b), length in zip(pairs, weight, strict=True):
            graph.add_edge(a, b, weight=min(length, graph.get_edge_data(a, b, {"weight": length})["weight"]))
        a, b = terminals
        shortest = nx.dijkstra_path_length(graph, a, b) if nx.has_path(graph, a, b) else 0
        assert sum(weight[row] for row in found) == pytest.approx(shortest)


@pytest.mark.parametrize("seed", range(8))
def test_total_is_at_most_that_of_networkx(seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnm_random_graph(400, 1000 if seed % 2 else 620, seed=seed)
    graph = graph.subgraph(max(nx.connected_components(graph), key=len)).copy()
    for _, _, entry in graph.edges(data=True):
        entry["weight"] = rng.random() if seed < 6 else float(rng.integers(1, 2**40))
    edges = pd.DataFrame([(a, b, entry["weight"]) for a, b, entry in graph.edges(data=True)], columns=["a", "b", "km"])
    terminals = rng.choice(list(graph), 40, replace=False).tolist()
    ours = edges.mst.steiner_tree("a", "b", "km", terminals=terminals)
    theirs = steiner_tree(graph, terminals, method="mehlhorn").size("weight")
    check(list(zip(edges.a, edges.b, strict=True)), edges.km.tolist(), set(terminals), ours.index.tolist())
    assert ours.km.sum() <= theirs * (1 + 1e-12)


def test_long_ways():
    """A shuffled path of many vertices, with lengths that are 0, and a weight of each row equal."""
    n = 20_000
    rng = np.random.default_rng(0)
    vertex = rng.permutation(n + 1)
    path = pl.DataFrame({"source": vertex[:-1], "target": vertex[1:], "weight": rng.integers(0, 2, n)})
    for weight in ("weight", None):
        found = dfmst.steiner_tree(path, weight=weight, terminals=vertex[[50, n - 30]])
        assert found.equals(path[50 : n - 30])
    zero = path.with_columns(pl.lit(0.0).alias("weight"))
    assert dfmst.steiner_tree(zero, terminals=pl.Series(vertex[[5, n // 2, n - 5]])).equals(zero[5 : n - 5])


ROADS = pd.DataFrame({"a": ["p", "q", "r", "x", None], "b": ["q", "r", "s", "y", "y"], "km": [1.0, 2.0, 3.0, 4.0, 1.0]})


def test_frames():
    found = dfmst.steiner_tree(ROADS, "a", "b", "km", terminals=["p", "r", "x"], invalid="drop")
    assert found.equals(ROADS.iloc[:2])
    lazy = dfmst.steiner_tree(pl.from_pandas(ROADS[:4]).lazy(), "a", "b", "km", terminals=pa.array(["x", "y"]))
    assert lazy.collect().rows() == [("x", "y", 4.0)]
    assert dfmst.steiner_tree(ROADS[:4], "a", "b", "km", terminals=["s"]).empty
    assert dfmst.steiner_tree(ROADS[:0], "a", "b", "km", terminals=[]).empty


@pytest.mark.parametrize(
    ("column", "terminals", "message"),
    [
        ("km", ["p", "z", "w"], "terminals: 2 of 3 ids are in no row: 'z', 'w'"),
        ("km", ["p", None], "terminals has 1 null entries, the first at position 1"),
        ("km", [1, 2], "column 'terminals' holds int64 ids"),
        ("low", ["p"], "column 'low' has 2 negative weights, the first in row 1"),
        ("huge", ["p"], "column 'huge' holds integers whose sum is above 2^62"),
        ("when", ["p"], "column 'when' holds duration[us] weights, which have no sum along a path"),
    ],
)
def test_errors(column, terminals, message):
    edges = ROADS[:4].assign(
        low=[1, -1, -2, 0], huge=2**61, when=pd.to_timedelta([1, 2, 3, 4], unit="s").astype("timedelta64[us]")
    )
    with pytest.raises(dfmst.InvalidEdgesError) as caught:
        dfmst.steiner_tree(edges, "a", "b", column, terminals=terminals)
    assert message in str(caught.value)
