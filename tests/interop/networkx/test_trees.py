"""Trees whose edges are put in place at the first look: whatever the first look is, it sees NetworkX's own graph."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import pandas as pd
import pytest

nx: Any = pytest.importorskip("networkx")

from dfmst.interop.networkx import backend  # noqa: E402


def example(make):
    graph = make(name="roads")
    graph.add_nodes_from("abcdx", colour="red")
    ends = [("a", "b", 3), ("b", "c", 1), ("a", "c", 2), ("c", "d", 4), ("d", "a", 0)]
    graph.add_edges_from((u, v, {"weight": weight, "name": u + v}) for u, v, weight in ends)
    return graph


def described(graph):
    """All that a graph holds, in its order."""
    held = [list(graph._node.items()), [(node, list(near.items())) for node, near in graph.adj.items()]]
    assert type(graph) in (nx.Graph, nx.MultiGraph)
    return [type(graph), graph.graph, *held]


def changed(graph):
    graph.add_edge("d", "x", weight=9)
    graph.remove_node("a")
    graph.nodes["b"]["colour"] = "blue"
    return described(graph)


def assigned(graph):
    graph._adj = {node: {} for node in "abcdx"}
    return described(graph)


LOOKS: dict[str, Any] = {
    "text": str,
    "type": lambda tree: type(tree).__name__,
    "counts": lambda tree: [len(tree), tree.order(), tree.number_of_nodes(), tree.number_of_edges(), tree.size()],
    "weight": lambda tree: [tree.size("weight"), tree.number_of_edges("a", "c"), bool(tree)],
    "nodes": lambda tree: [list(tree), list(tree.nodes(data=True)), "x" in tree, tree.has_node("q")],
    "edges": lambda tree: list(tree.edges(data=True)),
    "adjacency": lambda tree: [dict(tree.adj["a"]), tree["a"]["d"], dict(tree.degree), list(tree.neighbors("c"))],
    "copy": lambda tree: described(tree.copy()),
    "copies": lambda tree: [described(copy.copy(tree)), described(copy.deepcopy(tree))],
    "pickle": lambda tree: described(pickle.loads(pickle.dumps(tree))),
    "view": lambda tree: list(tree.subgraph("abc").edges(data=True)),
    "directed": lambda tree: list(tree.to_directed().edges(data=True)),
    "undirected": lambda tree: [described(tree.to_undirected()), tree.is_directed(), tree.is_multigraph()],
    "class": lambda tree: described(tree.__class__([("p", "q")], day="Friday")),
    "changes": changed,
    "clear": lambda tree: [tree.clear(), described(tree)],
    "assigned": assigned,
    "frozen": lambda tree: [described(nx.freeze(tree)), nx.is_frozen(tree)],
    "functions": lambda tree: [nx.is_tree(tree), nx.is_forest(tree), nx.shortest_path(tree, "b", "d")],
    "union": lambda tree: described(nx.union(tree, nx.relabel_nodes(tree, str.upper))),
    "equal": lambda tree: nx.utils.graphs_equal(tree, tree.copy()),
    "relabelled": lambda tree: described(nx.relabel_nodes(tree, {"a": "z"}, copy=False)),
}


@pytest.mark.parametrize("make", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("look", LOOKS)
def test_first_looks(make, look):
    graph = example(make)
    tree = backend.minimum_spanning_tree(backend.convert_from_nx(graph))
    expected = nx.minimum_spanning_tree.orig_func(graph)
    assert isinstance(tree, make)
    assert LOOKS[look](tree) == LOOKS[look](expected)
    assert described(tree) == described(expected)


@pytest.mark.parametrize("make", [nx.Graph, nx.MultiGraph])
def test_later_changes_of_the_graph_stay_out(make):
    graph = example(make)
    expected = described(nx.minimum_spanning_tree.orig_func(graph))
    tree = backend.minimum_spanning_tree(backend.convert_from_nx(graph))
    graph.nodes["a"]["colour"] = graph.graph["name"] = "later"
    for *_, attributes in graph.edges(data=True):
        attributes["weight"] = -1
    graph.remove_node("d")
    graph.add_node("new")
    assert described(tree) == expected


def test_the_collector_runs_as_before():
    graph = backend.convert_from_nx(example(nx.Graph))
    for change, running in ((gc.disable, False), (gc.enable, True)):
        change()
        assert backend.minimum_spanning_tree(graph).number_of_edges() == len(backend.minimum_spanning_tree(graph).edges)
        assert gc.isenabled() is running


def test_other_classes_are_made_by_their_own_methods():
    class Roads(nx.Graph):  # type: ignore[misc]
        node_attr_dict_factory = edge_attr_dict_factory = type("Attributes", (dict,), {})

    tree = backend.minimum_spanning_tree(backend.convert_from_nx(example(Roads)))
    assert type(tree) is Roads
    assert {type(data) for *_, data in tree.edges(data=True)} == {Roads.edge_attr_dict_factory}


def test_a_frame_s_tree_without_a_graph_of_the_frame():
    frame = pd.DataFrame({"source": list("abca"), "target": list("bcad"), "weight": [3, 1, 2, 5], "toll": [0.5] * 4})
    for make in (nx.Graph, nx.MultiGraph):
        graph = backend.from_pandas_edgelist(frame, edge_attr=True, create_using=make)
        tree = backend.minimum_spanning_tree(graph)
        assert "original" not in vars(graph)
        expected = nx.from_pandas_edgelist.orig_func(frame, edge_attr=True, create_using=make)
        assert described(tree) == described(nx.minimum_spanning_tree.orig_func(expected))
