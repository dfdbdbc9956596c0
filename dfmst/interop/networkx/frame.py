"""Graphs of an edge list in a pandas frame, without a loop over its edges."""

from __future__ import annotations

from itertools import chain, compress
from typing import Any, TypeAlias

import networkx as nx
import numpy as np

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array, ColumnName
from dfmst.interop.networkx.graph import DirectedGraph, Graph


class ColumnGraph(Graph):
    """A graph whose edges' attributes are columns of pandas, by name; `rows` are the first row of each edge."""

    def __init__(self, nodes: list[Any], ends: Any, keys: list[int] | None, given: dict[Any, Any], rows: Array) -> None:
        super().__init__(nodes, ends[0], ends[1], keys, None, [])
        self._given, self._rows = given, rows

    @cached_property
    def original(self) -> Any:
        """The graph as NetworkX's own, made at the first call."""
        graph: Any = self.kind()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges(np.argsort(self._rows), keys=True, data=True))
        return graph

    @property
    def kind(self) -> Any:
        """NetworkX's class of the graph."""
        return nx.Graph if self.keys is None else nx.MultiGraph

    def attributes_at(self, rows: Array) -> list[dict[Any, Any]]:
        """Attributes of the edges at `rows`, in new dictionaries."""
        listed = [column.take(rows).tolist() for column in self._given.values()]
        entries = zip(*listed, strict=True) if listed else ((),) * len(rows)
        return [dict(zip(self._given, entry, strict=True)) for entry in entries]

    def copied_attributes(self) -> tuple[dict[Any, Any], None]:
        """No attributes: graph and nodes have none."""
        return {}, None

    def values(self, attribute: ColumnName, default: Any) -> Any:
        """Values of an attribute, or the default for edges without it."""
        if attribute not in self._given:
            return [default] * len(self.source)
        column = self._given[attribute]
        return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.tolist()


def from_pandas_edgelist(
    df: Any,
    source: ColumnName = "source",
    target: ColumnName = "target",
    edge_attr: Any = None,
    create_using: object = None,
    edge_key: object = None,
) -> Any:
    """Make a graph of a frame's rows, NetworkX's own if it is directed; see :func:`networkx.from_pandas_edgelist`."""
    plain = create_using in (None, nx.Graph, nx.MultiGraph) and edge_key is None and source != target
    named = edge_attr if isinstance(edge_attr, (list, tuple)) else [] if edge_attr in (None, True) else [edge_attr]
    known = plain and all(df.columns.to_list().count(name) == 1 for name in (source, target, *named))
    columns = [name for name in df.columns if name not in (source, target)] if edge_attr is True else list(named)
    if not known or (edge_attr is not None and not columns):
        made = nx.from_pandas_edgelist.orig_func(df, source, target, edge_attr, create_using, edge_key)
        return made if made.is_directed() else convert_from_nx(made)
    return _graph_of_columns(df, source, target, columns, create_using is nx.MultiGraph)


def _graph_of_columns(
    df: Any, source: ColumnName, target: ColumnName, attributes: list[Any], multigraph: bool
) -> Graph:
    import pandas as pd

    nodes, first, second = _numbered(df[source], df[target])
    first, second = np.minimum(first, second), np.maximum(first, second)
    _, begin, of_pair = np.unique(first * len(nodes) + second, return_index=True, return_inverse=True)
    if multigraph:
        rows = values = np.lexsort((np.arange(len(first)), begin[of_pair], first))
    else:
        rows = begin[np.lexsort((begin, first[begin]))]
        last = np.zeros(len(begin), np.int64)
        np.maximum.at(last, of_pair, np.arange(len(first)))  # a later row gives an edge its attributes
        values = last[of_pair[rows]]
    keys = pd.Series(of_pair[rows]).groupby(of_pair[rows]).cumcount().tolist() if multigraph else None
    columns = {name: df[name].take(values) for name in attributes}
    return ColumnGraph(nodes, (first[rows], second[rows]), keys, columns, rows)


def _numbered(source: Any, target: Any) -> tuple[list[Any], Array, Array]:
    """Nodes in order of their first appearance, row by row, and the numbers of both ends."""
    import pandas as pd

    if source.dtype == target.dtype and isinstance(source.dtype, np.dtype):
        both = np.column_stack([source.to_numpy(), target.to_numpy()]).ravel()
    else:
        both = np.empty(2 * len(source), object)
        both[::2], both[1::2] = source.tolist(), target.tolist()
    numbers, nodes = pd.factorize(both)
    return nodes.tolist(), numbers[::2].astype(np.int64), numbers[1::2].astype(np.int64)


_Edges: TypeAlias = tuple[Array, Array, list[Any] | None, list[Any]]


def convert_from_nx(graph: Any, **_: object) -> Any:
    """Read a graph of NetworkX; its edges' attributes are looked up when they are asked for."""
    if isinstance(graph, Graph):
        return graph
    if graph.is_directed():
        return DirectedGraph(graph)
    number = {node: place for place, node in enumerate(graph)}
    source, target, keys, data = (_adjacency if type(graph._adj) is dict else _edges)(graph, number)
    converted = Graph(list(number), source, target, keys, graph, data)
    converted.number = number
    return converted


def _adjacency(graph: Any, number: dict[object, int]) -> _Edges:
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


def _edges(graph: Any, number: dict[object, int]) -> _Edges:
    """Edges of any graph, such as a view of another."""
    multigraph = graph.is_multigraph()
    edges = list(graph.edges(keys=True, data=True) if multigraph else graph.edges(data=True))
    source, target = (np.fromiter((number[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1))
    return source, target, [edge[2] for edge in edges] if multigraph else None, [edge[-1] for edge in edges]


def convert_to_nx(result: object, **_: object) -> Any:
    """Return a graph as NetworkX's own; anything else is so already."""
    return result.original if isinstance(result, Graph) else result
