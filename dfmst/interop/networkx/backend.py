"""The functions that NetworkX hands to dfmst; signatures and results are NetworkX's.

NetworkX's own functions handle the rest: weights that no column holds, and, if dfmst is not named in the call,
directed graphs and small ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from networkx.algorithms.tree.mst import ALGORITHMS, EdgePartition

from dfmst._common.types import Array, ColumnName
from dfmst.interop.networkx.graph import Graph, convert_from_nx, convert_to_nx, forest_graph, from_pandas_edgelist

__all__ = [
    "can_run",
    "connected_components",
    "convert_from_nx",
    "convert_to_nx",
    "from_pandas_edgelist",
    "is_connected",
    "maximum_spanning_edges",
    "maximum_spanning_tree",
    "minimum_spanning_edges",
    "minimum_spanning_tree",
    "node_connected_component",
    "number_connected_components",
    "partition_spanning_tree",
    "should_run",
]

_SIMPLE = ("boruvka", "borůvka")  # NetworkX has these for graphs without parallel edges only
_WORTH = 1000  # edges from which a spanning tree is found faster with a conversion than without


# Attributes are read at every call, so no graph is out of date in the way that NetworkX warns of.
warnings.filterwarnings("ignore", r"Note: conversions to backend graphs(?s:.)*for the 'dfmst' backend", UserWarning)


def can_run(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    """Whether a call is ours: any, since a directed graph gets an error with the call to make instead."""
    return True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether a call gains by dfmst: a tree of enough edges, or any call on a graph that is converted already."""
    graph = args[0] if args else kwargs.get("G")
    if graph is not None and name != "from_pandas_edgelist" and graph.is_directed():
        return "directed graphs are left to NetworkX"
    if name == "from_pandas_edgelist" or isinstance(graph, Graph):
        return True
    if "spanning" in name and {"prim", *_SIMPLE}.intersection((kwargs.get("algorithm"), *args[1:])):
        return "NetworkX's Prim and Borůvka break ties in another way"
    if "dfmst" in (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}):
        return True
    if "spanning" not in name:
        return "reading the graph takes longer than NetworkX's own search"
    return graph.number_of_edges() >= _WORTH or f"fewer than {_WORTH} edges"  # type: ignore[union-attr]


def _edges_function(original: Any, maximum: bool) -> Callable[..., Any]:
    """Return the counterpart of a function of NetworkX that yields the edges of a forest."""

    def find(
        G: Graph,
        algorithm: str = "kruskal",
        weight: ColumnName = "weight",
        keys: bool = True,
        data: bool = True,
        ignore_nan: bool = False,
    ) -> Any:
        rows = _forest(G, algorithm, weight, ignore_nan, maximum)
        if rows is None:
            return original.orig_func(G.original, algorithm, weight, keys, data, ignore_nan)
        return G.edges(rows, keys=keys, data=data)

    return find


def _tree_function(original: Any, maximum: bool) -> Callable[..., Any]:
    """Return the counterpart of a function of NetworkX that returns a forest as a graph."""

    def find(G: Graph, weight: ColumnName = "weight", algorithm: str = "kruskal", ignore_nan: bool = False) -> Any:
        rows = _forest(G, algorithm, weight, ignore_nan, maximum)
        return original.orig_func(G.original, weight, algorithm, ignore_nan) if rows is None else forest_graph(G, rows)

    return find


minimum_spanning_edges = _edges_function(nx.minimum_spanning_edges, maximum=False)
maximum_spanning_edges = _edges_function(nx.maximum_spanning_edges, maximum=True)
minimum_spanning_tree = _tree_function(nx.minimum_spanning_tree, maximum=False)
maximum_spanning_tree = _tree_function(nx.maximum_spanning_tree, maximum=True)


def partition_spanning_tree(
    G: Graph,
    minimum: bool = True,
    weight: ColumnName = "weight",
    partition: object = "partition",
    ignore_nan: bool = False,
) -> Any:
    """See :func:`networkx.partition_spanning_tree`."""
    weights = _weights(G, weight, ignore_nan)
    if weights is None:
        return nx.partition_spanning_tree.orig_func(G.original, minimum, weight, partition, ignore_nan)
    roles = G.values(partition, None)
    included = np.array([role == EdgePartition.INCLUDED for role in roles], bool)
    excluded = np.array([role == EdgePartition.EXCLUDED for role in roles], bool)
    rows = np.flatnonzero(~(excluded | np.isnan(weights)))
    # One order: included edges in their order, then the rest by weight.
    lightness = np.unique(weights[rows], return_inverse=True)[1].reshape(-1) + 1
    lightness = np.where(included[rows], 0, lightness if minimum else len(rows) + 1 - lightness)
    rank = np.zeros(len(weights), np.int64)
    rank[rows] = lightness
    return forest_graph(G, G.forest(rank, rows))


def _weights(graph: Graph, attribute: ColumnName, ignore_nan: bool) -> Array | None:
    """Weights as a column; ``None`` if the call is NetworkX's, or raises there."""
    weights = graph.weights(attribute)
    if weights is None or (not ignore_nan and np.isnan(weights).any()):
        return None
    return weights


def _forest(graph: Graph, algorithm: str, attribute: ColumnName, ignore_nan: bool, maximum: bool) -> Array | None:
    """The forest's edges in Kruskal's order; ``None`` if the call is NetworkX's."""
    refused = algorithm in _SIMPLE and graph.is_multigraph()
    if algorithm not in ALGORITHMS or refused or not len(graph):
        return None
    weights = _weights(graph, attribute, ignore_nan)
    if weights is None:
        return None
    missing = np.isnan(weights)
    return graph.forest(weights, np.flatnonzero(~missing) if missing.any() else None, maximum=maximum)


def connected_components(G: Graph) -> Iterator[set[Any]]:
    """See :func:`networkx.connected_components`."""
    order = np.argsort(G.labels, kind="stable")
    ordered = G.labels[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]).tolist() if len(order) else []
    numbers = order.tolist()
    for begin, end in pairwise([*begins, len(numbers)]):
        yield set(map(G.nodes.__getitem__, numbers[begin:end]))


def number_connected_components(G: Graph) -> int:
    """See :func:`networkx.number_connected_components`."""
    return int((G.labels == np.arange(len(G))).sum())


def is_connected(G: Graph) -> bool:
    """See :func:`networkx.is_connected`."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return not G.labels.any()


def node_connected_component(G: Graph, n: object) -> set[Any]:
    """See :func:`networkx.node_connected_component`."""
    if n not in G.number:
        result: set[Any] = nx.node_connected_component.orig_func(G.original, n)  # raises what NetworkX raises
        return result
    return set(map(G.nodes.__getitem__, np.flatnonzero(G.labels == G.labels[G.number[n]]).tolist()))
