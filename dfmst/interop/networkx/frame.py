"""Graphs of an edge list in a pandas frame, without a loop over its edges."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array
from dfmst.interop.networkx.convert import convert_from_nx
from dfmst.interop.networkx.graph import Graph

__all__ = ["from_pandas_edgelist"]


class ColumnGraph(Graph):
    """A graph whose edges' attributes are columns of pandas, by name; `rows` are where each edge came first."""

    def __init__(
        self,
        nodes: list[Any],
        source: Array,
        target: Array,
        keys: list[int] | None,
        columns: dict[Any, Any],
        rows: Array,
    ) -> None:
        super().__init__(nodes, source, target, keys)
        self._given, self._rows = columns, rows

    @cached_property
    def original(self) -> Any:
        """The graph as NetworkX's own; it is made at the first call."""
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
        if not listed:
            return [{} for _ in rows]
        return [dict(zip(self._given, entries, strict=True)) for entries in zip(*listed, strict=True)]

    def copied_attributes(self) -> tuple[dict[Any, Any], None]:
        """No attributes: graph and nodes have none."""
        return {}, None

    def values(self, attribute: Any, default: Any) -> Any:
        """Values of an attribute, or the default where an edge has none."""
        if attribute not in self._given:
            return [default] * len(self.source)
        column = self._given[attribute]
        return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.tolist()


def from_pandas_edgelist(
    df: Any,
    source: Any = "source",
    target: Any = "target",
    edge_attr: Any = None,
    create_using: Any = None,
    edge_key: Any = None,
) -> Graph:
    """Make a graph of the rows of a frame; see :func:`networkx.from_pandas_edgelist`."""
    plain = create_using in (None, nx.Graph, nx.MultiGraph) and edge_key is None and source != target
    named = edge_attr if isinstance(edge_attr, (list, tuple)) else [] if edge_attr in (None, True) else [edge_attr]
    known = plain and all(df.columns.to_list().count(name) == 1 for name in (source, target, *named))
    columns = [name for name in df.columns if name not in (source, target)] if edge_attr is True else list(named)
    if not known or (edge_attr is not None and not columns):
        made = nx.from_pandas_edgelist.orig_func(df, source, target, edge_attr, create_using, edge_key)
        return convert_from_nx(made)  # type: ignore[no-any-return]
    return _graph_of_columns(df, source, target, columns, create_using is nx.MultiGraph)


def _graph_of_columns(df: Any, source: Any, target: Any, attributes: list[Any], multigraph: bool) -> Graph:
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
    keys = _occurrence(of_pair[rows]).tolist() if multigraph else None

    columns = {name: df[name].take(values) for name in attributes}
    return ColumnGraph(nodes, first[rows], second[rows], keys, columns, rows)


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


def _occurrence(pairs: Array) -> Array:
    """How often each entry's value has occurred before it."""
    order = np.argsort(pairs, kind="stable")
    ordered = pairs[order]
    begin = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(pairs) else np.zeros(0, np.int64)
    lengths = np.diff(np.r_[begin, len(pairs)])
    counted = np.empty(len(pairs), np.int64)
    counted[order] = np.arange(len(pairs)) - np.repeat(begin, lengths)
    return counted
