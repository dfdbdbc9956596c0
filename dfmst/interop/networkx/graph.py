"""A graph as columns: nodes numbered in NetworkX's order, edges in the order of ``G.edges``."""

from __future__ import annotations

import gc
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pyarrow as pa

from dfmst import arrays
from dfmst._common.deferred import cached_property
from dfmst._common.types import Array
from dfmst._trees.components import connected_components

__all__ = ["Graph", "forest_graph"]

_EXACT = 2.0**53  # float64 holds all integers up to here


class Graph(ABC):
    """An undirected graph that dfmst works on."""

    __networkx_backend__ = "dfmst"

    def __init__(self, nodes: Sequence[Any], source: Array, target: Array, keys: Sequence[Any] | None = None) -> None:
        self.__networkx_cache__: dict[str, Any] = {}
        self.nodes, self.source, self.target, self.keys = nodes, source, target, keys
        self._columns: dict[tuple[Any, Any], Array | None] = {}

    @cached_property
    @abstractmethod
    def original(self) -> Any:
        """The graph as NetworkX's own, with all attributes."""

    @property
    @abstractmethod
    def kind(self) -> Any:
        """NetworkX's class of the graph."""

    @abstractmethod
    def attributes_at(self, rows: Array) -> list[dict[Any, Any]]:
        """Attributes of the edges at `rows`."""

    @abstractmethod
    def copied_attributes(self) -> tuple[dict[Any, Any], list[dict[Any, Any]] | None]:
        """Copies of the attributes of the graph, and of its nodes (``None``: they have none)."""

    @abstractmethod
    def values(self, attribute: Any, default: Any) -> Any:
        """Values of an attribute, or the default for edges without it."""

    def is_directed(self) -> bool:
        """Whether edges have a direction: never."""
        return False

    def is_multigraph(self) -> bool:
        """Whether two nodes may have several edges."""
        return self.keys is not None

    def number_of_edges(self) -> int:
        """How many edges there are."""
        return len(self.source)

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)

    def ends_at(self, rows: Array) -> tuple[list[Any], list[Any]]:
        """Nodes at both ends of the edges at `rows`."""
        source, target = (
            list(map(self.nodes.__getitem__, column[rows].tolist())) for column in (self.source, self.target)
        )
        return source, target

    def keys_at(self, rows: Array) -> list[Any] | None:
        """Keys of a multigraph's edges at `rows`."""
        return None if self.keys is None else list(map(self.keys.__getitem__, rows.tolist()))

    def edges(self, rows: Array, *, keys: bool, data: bool) -> Iterator[tuple[Any, ...]]:
        """Edges at `rows` as NetworkX yields them: both nodes, then key and attributes if they are asked for."""
        named = self.keys_at(rows) if keys else None
        parts = [named] if named is not None else []
        parts += [self.attributes_at(rows)] if data else []
        return zip(*self.ends_at(rows), *parts, strict=True)

    @cached_property
    def number(self) -> dict[Any, int]:
        """Number of each node."""
        return {node: number for number, node in enumerate(self.nodes)}

    @cached_property
    def labels(self) -> Array:
        """The smallest number of a node in each node's component, ``int64``."""
        edges = pa.table({"source": self.source, "target": self.target})
        components = connected_components(edges, vertices=np.arange(len(self.nodes)))
        return np.asarray(components["component"])

    def weights(self, attribute: Any, default: Any = 1) -> Array | None:
        """Weights as a column; ``None`` where no column holds them exactly."""
        name = (attribute, default)
        if name not in self._columns:
            self._columns[name] = _column(self.values(attribute, default))
        return self._columns[name]

    def forest(self, weights: Array, rows: Array | None = None, *, maximum: bool = False) -> Array:
        """Return the forest's edges among those at `rows` (``None``: all), in Kruskal's order."""
        source, target = self.source, self.target
        if rows is not None:
            source, target, weights = source[rows], target[rows], weights[rows]
        chosen = arrays.forest_rows(source, target, weights, n_vertices=max(1, len(self.nodes)), maximum=maximum)
        ranks = weights[chosen]
        if maximum:  # of equal weights the earlier edge comes first, this way too
            order = len(ranks) - 1 - np.argsort(ranks[::-1], kind="stable")[::-1]
        else:
            order = np.argsort(ranks, kind="stable")
        chosen = chosen[order]
        return chosen if rows is None else rows[chosen]


def _column(values: Iterable[Any]) -> Array | None:
    """Values as a numeric column, if it equals them."""
    listed = values if isinstance(values, np.ndarray) else list(values)
    try:
        column = np.asarray(listed)
    except (ValueError, TypeError, OverflowError):
        return None
    if column.ndim != 1 or column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
        return np.zeros(0) if not len(column) else None
    if column.dtype.kind == "f" and column is not listed and (np.abs(column) >= _EXACT).any():
        # Integers among floats may have been rounded.
        return column if all(isinstance(value, (float, np.floating)) for value in listed) else None
    return column


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
