"""Forests as graphs of NetworkX, whose nodes and edges are put in place when somebody looks at them.

Making the dictionaries of a graph takes several times as long as finding its forest. Until the first look such a graph
holds copies of the nodes, edges and attributes in lists; from then on it is NetworkX's own class and nothing else.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import networkx as nx

from dfmst._common.types import Array
from dfmst.interop.networkx.graph import Graph

__all__ = ["forest_graph"]

_LOCK = threading.RLock()  # two threads may look first; one of them puts the edges in place


class Contents(NamedTuple):
    """Nodes and edges of a forest."""

    nodes: Sequence[Any]
    node_attributes: Sequence[dict[Any, Any]] | None
    source: Sequence[Any]
    target: Sequence[Any]
    keys: Sequence[Any] | None
    attributes: Sequence[dict[Any, Any]]


def forest_graph(graph: Graph, rows: Array) -> Any:
    """Return edges at `rows`, a forest in Kruskal's order, as a graph of the same class, with all attributes."""
    if graph.kind not in _UNREAD:  # it may keep nodes and edges in a way of its own
        tree = graph.kind()
        tree.graph.update(graph.original.graph)
        tree.add_nodes_from(graph.original.nodes.items())
        tree.add_edges_from(graph.edges(rows, keys=True, data=True))
        return tree
    with _no_collection():
        attributes, of_nodes = graph.copied_attributes()
        of_edges = [{**data} for data in graph.attributes_at(rows)]
    tree = graph.kind()
    tree.graph.update(attributes)
    del tree.__dict__["_node"], tree.__dict__["_adj"]
    tree.__dict__["_contents"] = Contents(graph.nodes, of_nodes, *graph.ends_at(rows), graph.keys_at(rows), of_edges)
    tree.__class__ = _UNREAD[graph.kind]
    return tree


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python's collector away while many dictionaries are made, none of which can be garbage.

    It would look through all objects of the process several times: of 100,000 edges, for two thirds of the time.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class _AtFirstLook:
    """One of the two dictionaries of a graph."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, graph: Any, owner: type) -> Any:
        return self if graph is None else getattr(_read(graph), self.name)

    def __set__(self, graph: Any, value: Any) -> None:
        setattr(_read(graph), self.name, value)


class _Unread:
    """A graph nobody has looked at; it knows how many nodes and edges it has."""

    _kind: type
    _contents: Contents
    _node, _adj = _AtFirstLook(), _AtFirstLook()

    def __new__(cls, *args: Any, **attributes: Any) -> Any:
        """Make what NetworkX's class makes: its functions ask a graph's class for further graphs."""
        return cls._kind(*args, **attributes)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _read(self).__reduce_ex__(protocol)

    def __len__(self) -> int:
        contents = self.__dict__.get("_contents")
        return len(_read(self)) if contents is None else len(contents.nodes)

    order = number_of_nodes = __len__

    def size(self, weight: Any = None) -> Any:
        """How many edges there are, or the sum of their weights."""
        contents = self.__dict__.get("_contents")
        return _read(self).size(weight) if contents is None or weight is not None else len(contents.source)


_UNREAD = {
    kind: type(kind.__name__, (_Unread, kind), {"_kind": kind, "__doc__": kind.__doc__})
    for kind in (nx.Graph, nx.MultiGraph)
}


def _read(graph: Any) -> Any:
    """Put nodes and edges in place; the graph is of NetworkX's class then."""
    with _LOCK:
        contents = graph.__dict__.get("_contents")
        if contents is not None:
            with _no_collection():
                node, adjacency = _dictionaries(contents)
            graph.__dict__.update(_node=node, _adj=adjacency)
            del graph.__dict__["_contents"]
            graph.__class__ = graph._kind  # last: other threads come here until then
    return graph


def _dictionaries(contents: Contents) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """What ``add_nodes_from`` and ``add_edges_from`` make, without looking every node up."""
    nodes, of_nodes, source, target, keys, attributes = contents
    edges: Iterable[Any] = (
        attributes if keys is None else ({key: data} for key, data in zip(keys, attributes, strict=True))
    )
    adjacency: dict[Any, dict[Any, Any]] = {node: {} for node in nodes}
    for u, v, data in zip(source, target, edges, strict=True):
        adjacency[u][v] = adjacency[v][u] = data
    return dict(zip(nodes, [{} for _ in nodes] if of_nodes is None else of_nodes, strict=True)), adjacency
