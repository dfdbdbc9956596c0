"""The functions that NetworkX hands to dfmst; signatures and results are NetworkX's.

NetworkX's own functions handle the rest: weights that no column holds, and, if dfmst is not named in the call,
directed graphs and small ones.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, compress, pairwise
from operator import itemgetter
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
from networkx.algorithms.tree.mst import ALGORITHMS, EdgePartition

import dfmst
from dfmst._common.deferred import cached_property, pa
from dfmst._common.types import Array, ColumnName

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
_EXACT = 2.0**53  # float64 holds all integers up to here
_DIRECTED = (
    "not implemented for directed type: pass G.to_undirected(), or call nx.minimum_spanning_arborescence(G) or "
    "nx.weakly_connected_components(G)"
)

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


def engine_option() -> str:
    """Return ``nx.config.backends.dfmst.engine``: ``"auto"`` is the CPU, since graphs are on the host."""
    config = getattr(nx.config.backends, "dfmst", None)  # absent if the package was installed after NetworkX's import
    return str(getattr(config, "engine", "auto"))


class Graph:
    """A graph of NetworkX, whose attributes are read at every call; one with directions is refused then."""

    __networkx_backend__ = "dfmst"

    def __init__(
        self, nodes: Sequence[Any], source: Array, target: Array, keys: list[Any] | None, graph: Any, data: list[Any]
    ) -> None:
        self.__networkx_cache__: dict[str, Any] = {}
        self.nodes, self.source, self.target, self.keys = nodes, source, target, keys
        self._graph, self._data = graph, data
        self._columns: dict[Any, tuple[list[Any], Array | None]] = {}

    @cached_property
    def original(self) -> Any:
        """The graph as NetworkX's own, with all attributes."""
        return self._graph

    @property
    def kind(self) -> Any:
        """NetworkX's class of the graph."""
        return type(self._graph)

    def attributes_at(self, rows: Array) -> list[dict[Any, Any]]:
        """Attributes of the edges at `rows`, NetworkX's own dictionaries."""
        return list(map(self._data.__getitem__, rows.tolist()))

    def copied_attributes(self) -> tuple[dict[Any, Any], list[dict[Any, Any]] | None]:
        """Copies of the attributes of the graph, and of its nodes (``None``: they have none)."""
        of_nodes = self._graph._node.values()
        return {**self._graph.graph}, [{**attributes} for attributes in of_nodes] if any(of_nodes) else None

    def values(self, attribute: ColumnName, default: Any) -> Any:
        """Values of an attribute now, or the default for edges without it."""
        try:
            return list(map(itemgetter(attribute), self._data))
        except KeyError:
            return [data.get(attribute, default) for data in self._data]

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self._graph is not None and bool(self._graph.is_directed())

    def refuse_directed(self) -> None:
        """Raise if edges have a direction."""
        if self.is_directed():
            raise nx.NetworkXNotImplemented(_DIRECTED)

    def is_multigraph(self) -> bool:
        """Whether two nodes may have several edges."""
        return self.keys is not None

    def number_of_edges(self) -> int:
        """Number of edges."""
        return len(self.source)

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def ends_at(self, rows: Array) -> tuple[list[Any], list[Any]]:
        """Nodes at both ends of the edges at `rows`."""
        node = self.nodes.__getitem__
        return list(map(node, self.source[rows].tolist())), list(map(node, self.target[rows].tolist()))

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
        self.refuse_directed()
        ends = (pa.py_buffer(np.ascontiguousarray(end)) for end in (self.source, self.target))
        columns = [pa.Array.from_buffers(pa.int64(), len(self.source), [None, end]) for end in ends]  # without pandas
        vertices = np.arange(len(self.nodes))
        edges = pa.table(columns, ["source", "target"])
        table = dfmst.connected_components(edges, vertices=vertices, engine=engine_option())
        return np.asarray(table["component"].combine_chunks().buffers()[1]).view(np.int64)[: len(vertices)]

    def weights(self, attribute: ColumnName) -> Array | None:
        """Weights as a column; ``None`` if no column holds them exactly.

        They are read at every call: NetworkX keeps this graph when ``G[u][v]["weight"] = 2`` changes one of them. Equal
        ones are the column of the last call: a list compares objects that are the same ones without looking at them.
        """
        self.refuse_directed()
        values = self.values(attribute, 1)
        if isinstance(values, np.ndarray):
            return _column(values)
        last, column = self._columns.get(attribute, (None, None))
        with suppress(ValueError, TypeError):  # of objects that do not compare
            if values == last:
                return column
        self._columns[attribute] = values, _column(values)
        return self._columns[attribute][1]

    def forest(self, weights: Array, rows: Array | None = None, *, maximum: bool = False) -> Array:
        """Return the forest's edges among those at `rows` (``None``: all), in Kruskal's order."""
        source, target = self.source, self.target
        if rows is not None:
            source, target, weights = source[rows], target[rows], weights[rows]
        from dfmst._engines import select_engine  # not for calls that NetworkX handles itself

        runner = select_engine(engine_option(), rows=len(source))
        with runner.guard():
            columns = map(runner.from_host, (source, target, weights))
            chosen = dfmst.arrays.forest_rows(*columns, n_vertices=max(1, len(self.nodes)), maximum=maximum)
            chosen = runner.to_host(chosen)
        ranks = weights[chosen]
        if maximum:  # of equal weights the earlier edge comes first, this way too
            order = len(ranks) - 1 - np.argsort(ranks[::-1], kind="stable")[::-1]
        else:
            order = np.argsort(ranks, kind="stable")
        chosen = chosen[order]
        return chosen if rows is None else rows[chosen]


def _column(values: Iterable[object]) -> Array | None:
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


def forest_graph(graph: Graph, rows: Array) -> Any:
    """Return edges at `rows`, a forest in Kruskal's order, as a graph of the same class, with all attributes."""
    tree = graph.kind()
    if graph.kind not in (nx.Graph, nx.MultiGraph):  # it may keep nodes and edges in a way of its own
        tree.graph.update(graph.original.graph)
        tree.add_nodes_from(graph.original.nodes.items())
        tree.add_edges_from(graph.edges(rows, keys=True, data=True))
        return tree
    # Python's collector would take two thirds of the time, and none of the new dictionaries can be garbage.
    running = gc.isenabled()
    gc.disable()
    try:
        attributes, of_nodes = graph.copied_attributes()
        tree.graph.update(attributes)
        edges = [{**data} for data in graph.attributes_at(rows)]
        keys = graph.keys_at(rows)
        if keys is not None:
            edges = [{key: data} for key, data in zip(keys, edges, strict=True)]
        adjacency: dict[Any, dict[Any, Any]] = {node: {} for node in graph.nodes}
        for source, target, data in zip(*graph.ends_at(rows), edges, strict=True):
            adjacency[source][target] = adjacency[target][source] = data
        # In a third of the time that `add_nodes_from` and `add_edges_from` take.
        tree._node = dict(zip(graph.nodes, of_nodes or [{} for _ in graph.nodes], strict=True))
        tree._adj = adjacency
    finally:
        if running:
            gc.enable()
    return tree


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
        listed = [_listed(column.take(rows)) for column in self._given.values()]
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
    plain = plain and hasattr(df, "iloc")  # NetworkX takes any mapping of columns, such as a polars frame
    named = edge_attr if isinstance(edge_attr, (list, tuple)) else [] if edge_attr in (None, True) else [edge_attr]
    known = plain and all(df.columns.to_list().count(name) == 1 for name in (source, target, *named))
    columns = [name for name in df.columns if name not in (source, target)] if known and edge_attr is True else named
    if not known or (edge_attr is not None and not columns):
        made = nx.from_pandas_edgelist.orig_func(df, source, target, edge_attr, create_using, edge_key)
        return made if made.is_directed() else convert_from_nx(made)
    return _graph_of_columns(df, source, target, [*columns], create_using is nx.MultiGraph)


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

    if source.dtype == target.dtype and source.dtype.kind in "biuf" and isinstance(source.dtype, np.dtype):
        numbers, nodes = pd.factorize(np.column_stack([source.to_numpy(), target.to_numpy()]).ravel())
        if not (numbers < 0).any():  # NaN, each of which is a node of its own
            return nodes.tolist(), numbers[::2].astype(np.int64), numbers[1::2].astype(np.int64)
    # A dictionary, as in NetworkX: pandas would number all missing values -1, and lose the type of dates.
    number: dict[Any, int] = {}
    ends = chain.from_iterable(zip(_listed(source), _listed(target), strict=True))
    numbers = np.fromiter((number.setdefault(node, len(number)) for node in ends), np.int64, 2 * len(source))
    if None in number:
        raise ValueError("None cannot be a node")  # as NetworkX says it
    return list(number), numbers[::2], numbers[1::2]


def _listed(column: Any) -> list[Any]:
    """Values of a column, of the types that a loop over it has: NumPy's for nullable numbers."""
    nullable = column.dtype.kind in "biuf" and not isinstance(column.dtype, np.dtype)
    return list(column) if nullable else list(column.tolist())


_Edges: TypeAlias = tuple[Array, Array, list[Any] | None, list[Any]]


def convert_from_nx(graph: Any, **_: object) -> Any:
    """Read a graph of NetworkX; its edges' attributes are looked up when they are asked for."""
    if isinstance(graph, Graph):
        return graph
    if hasattr(graph, "_graph") or type(graph._adj) is not dict:
        graph.__networkx_cache__ = None  # NetworkX keeps no conversion of a view: other graphs and filters change it
    if graph.is_directed():
        return Graph(list(graph), none := np.zeros(0, np.int64), none, None, graph, [])
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
