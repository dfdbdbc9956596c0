"""The lines of the table in "Coming from another library": each makes an edge table, and the forest goes back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dfmst

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "coming-from.md"
ROWS = {
    name: (there, back)
    for name, there, back in re.findall(
        r"^\| ([^|`]+) \| `([^`]+)` \| `([^`]+)`[^|]* \|$", PAGE.read_text("utf-8"), re.M
    )
}
EDGES = [(0, 1, 3.0), (1, 2, 1.0), (0, 2, 2.0)]
TREE = {(1, 2, 1.0), (0, 2, 2.0)}
FRAME = pd.DataFrame(EDGES, columns=["source", "target", "weight"])


def by_line(name: str, **variables: Any) -> dict[str, Any]:
    there, back = ROWS[name]
    known = {"dfmst": dfmst, "pd": pd, **variables}
    exec(there, known)
    known["forest"] = dfmst.minimum_spanning_forest(known["edges"])
    exec(back, known)
    return known


def as_set(edges: Any) -> set[tuple[int, int, float]]:
    return {(*sorted((int(u), int(v))), float(w)) for u, v, w in edges}  # type: ignore[misc]


def test_every_library_is_in_the_table():
    names = "pandas, polars, Arrow|NetworkX|SciPy, CuPy|a matrix of NumPy or pandas|igraph|rustworkx|networkit|cuGraph"
    assert list(ROWS) == names.split("|")


def test_frames():
    assert by_line("pandas, polars, Arrow", frame=FRAME)["tree"].index.tolist() == [1, 2]


def test_networkx():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_weighted_edges_from(EDGES)
    assert as_set(by_line("NetworkX", nx=nx, graph=graph)["tree"].edges(data="weight")) == TREE


def test_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(sparse.coo_array((FRAME.weight, (FRAME.source, FRAME.target)), shape=(4, 4)))
    tree = by_line("SciPy, CuPy", matrix=matrix)["tree"]
    assert tree.shape == (4, 4)
    assert as_set(zip(tree.row, tree.col, tree.data, strict=True)) == TREE


def test_matrices():
    matrix = np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]])
    tree = by_line("a matrix of NumPy or pandas", matrix=matrix)["tree"]
    assert tree.tolist() == [[0, 0, 2], [0, 0, 1], [0, 0, 0]]


def test_igraph():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(4, [edge[:2] for edge in EDGES], edge_attrs={"weight": [edge[2] for edge in EDGES]})
    tree = by_line("igraph", graph=graph)["tree"]
    assert tree.vcount() == 4
    assert as_set((*edge.tuple, edge["weight"]) for edge in tree.es) == TREE


def test_rustworkx():
    rx = pytest.importorskip("rustworkx")
    graph, tree = rx.PyGraph(), rx.PyGraph()
    for each in (graph, tree):
        each.add_nodes_from(list("abcd"))
    graph.add_edges_from(EDGES)
    assert as_set(by_line("rustworkx", graph=graph, tree=tree)["tree"].weighted_edge_list()) == TREE


def test_networkit():
    nk = pytest.importorskip("networkit")
    graph = nk.Graph(4, weighted=True)
    for edge in EDGES:
        graph.addEdge(*edge)
    tree = by_line("networkit", nk=nk, graph=graph)["tree"]
    assert tree.numberOfNodes() == 4
    assert as_set(tree.iterEdgesWeights()) == TREE
