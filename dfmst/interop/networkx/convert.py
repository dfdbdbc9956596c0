"""Graphs of NetworkX to columns and back."""

from __future__ import annotations

from itertools import chain, compress
from typing import Any, TypeAlias

import numpy as np

from dfmst._common.types import Array
from dfmst.interop.networkx.graph import Graph

_Edges: TypeAlias = tuple[Array, Array, list[Any] | None, list[Any]]

__all__ = ["convert_from_nx", "convert_to_nx"]


class ConvertedGraph(Graph):
    """A graph of NetworkX; attributes are looked up in it when they are asked for."""

    def __init__(self, graph: Any, number: dict[Any, int], edges: _Edges) -> None:
        source, target, keys, self._data = edges
        super().__init__(list(number), source, target, keys)
        self._graph, self.number = graph, number

    @property
    def original(self) -> Any:
        """The graph of NetworkX."""
        return self._graph

    @property
    def kind(self) -> Any:
        """Its class."""
        return type(self._graph)

    def attributes_at(self, rows: Array) -> list[dict[Any, Any]]:
        """Attributes of the edges at `rows`, NetworkX's own dictionaries."""
        return list(map(self._data.__getitem__, rows.tolist()))

    def copied_attributes(self) -> tuple[dict[Any, Any], list[dict[Any, Any]] | None]:
        """Copies of the attributes of the graph, and of its nodes (``None``: they have none)."""
        of_nodes = self._graph._node.values()
        return {**self._graph.graph}, [{**attributes} for attributes in of_nodes] if any(of_nodes) else None

    def values(self, attribute: Any, default: Any) -> Any:
        """Values of an attribute, or the default where an edge has none."""
        return [data.get(attribute, default) for data in self._data]


def convert_from_nx(graph: Any, **_: Any) -> Any:
    """Read a graph of NetworkX; its edges' attributes are looked up when they are asked for."""
    if isinstance(graph, Graph):
        return graph
    if graph.is_directed():
        raise NotImplementedError("dfmst has no directed graphs")
    number = {node: place for place, node in enumerate(graph)}
    read = _adjacency if type(graph._adj) is dict else _edges
    return ConvertedGraph(graph, number, read(graph, number))


def _adjacency(graph: Any, number: dict[Any, int]) -> _Edges:
    """Edges of nested dictionaries, in the order of ``graph.edges``, without a loop over them in Python."""
    lists = graph._adj.values()
    lengths = np.fromiter(map(len, lists), np.int64, len(graph._adj))
    source = np.repeat(np.arange(len(lengths)), lengths)
    target = np.fromiter(map(number.__getitem__, chain.from_iterable(lists)), np.int64, len(source))
    first = target >= source  # an edge is listed at both ends, and met at the node that comes first
    values = list(compress(chain.from_iterable(map(dict.values, lists)), first.tolist()))
    source, target = source[first], target[first]
    if not graph.is_multigraph():
        return source, target, None, values
    parallel = np.fromiter(map(len, values), np.int64, len(values))
    data = list(chain.from_iterable(map(dict.values, values)))
    return np.repeat(source, parallel), np.repeat(target, parallel), list(chain.from_iterable(values)), data


def _edges(graph: Any, number: dict[Any, int]) -> _Edges:
    """Edges of any graph, such as a view of another."""
    multigraph = graph.is_multigraph()
    edges = list(graph.edges(keys=True, data=True) if multigraph else graph.edges(data=True))
    source, target = (np.fromiter((number[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1))
    return source, target, [edge[2] for edge in edges] if multigraph else None, [edge[-1] for edge in edges]


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return a graph as NetworkX's own; anything else is so already."""
    return result.original if isinstance(result, Graph) else result
