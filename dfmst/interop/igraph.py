"""Graphs of igraph: their edges with all attributes as a table, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Column, ColumnName, EndNames, Frame
from dfmst._edges.arrow_values import arrow_column, readable
from dfmst._edges.frames import open_host_frame
from dfmst._trees.request import with_options
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from dfmst.interop.labels import in_one_type, labels_of, named, places_of

__all__ = ["from_igraph", "to_igraph"]


def from_igraph(graph: Any) -> pa.Table:
    """Return the edges of an igraph graph as a table, in their order, with their attributes.

    Parameters
    ----------
    graph
        An ``igraph.Graph``; directions are not looked at.

    Returns
    -------
    edges
        ``source`` and ``target``, the vertices' attribute ``name`` if they have one, else their numbers; then a
        column for each attribute of the edges.

    Raises
    ------
    UnsupportedFrameError
        `graph` is not an igraph graph.
    InvalidEdgesError
        Names that are missing or not distinct, or an attribute whose values no column holds.

    Examples
    --------
    >>> import dfmst
    >>> import igraph
    >>> graph = igraph.Graph([(0, 1), (1, 2), (0, 2)], edge_attrs={"weight": [3, 1, 2]})
    >>> dfmst.minimum_spanning_forest(dfmst.from_igraph(graph)).to_pydict()
    {'source': [1, 0], 'target': [2, 2], 'weight': [1, 2]}
    """
    if not (hasattr(graph, "get_edgelist") and hasattr(graph, "vs")):
        raise UnsupportedFrameError(f"graph is a {type(graph).__name__}, no graph of igraph", "pass an igraph.Graph")
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    labels = labels_of(graph.vs["name"], graph.vcount(), "the graph") if "name" in graph.vs.attributes() else None
    columns = {"source": named(ends[:, 0], labels), "target": named(ends[:, 1], labels)}
    for name in graph.es.attributes():
        if name in columns:
            raise InvalidEdgesError(f"edges have an attribute {name!r}, as the ends are called", "rename it")
        try:
            columns[name] = pa.array(graph.es[name])
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            message = f"the values of attribute {name!r} do not fit a column: {error}"
            raise InvalidEdgesError(message, "give them one type, or delete the attribute") from error
    return pa.table(columns)


@with_options("memory")
def to_igraph(edges: Frame, source: Any = "source", target: Any = "target", *, ids: Column = None) -> Any:
    """Return an edge table, such as a forest, as an undirected igraph graph.

    Parameters
    ----------
    edges
        A frame of any kind; an edge a row, in their order, with the other columns as attributes.
    source, target
        Names of the id columns.
    ids
        The vertices, isolated ones too; ``None``: those that occur, in order of their first appearance, source before
        target.

    Returns
    -------
    graph
        An ``igraph.Graph`` whose vertices have their ids as ``name``.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError
        As for :func:`dfmst.minimum_spanning_forest`.
    InvalidEdgesError
        An id is null, or not listed.

    Examples
    --------
    >>> import dfmst
    >>> import pyarrow as pa
    >>> forest = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [3, 1]})
    >>> graph = dfmst.to_igraph(forest)
    >>> graph.vs["name"], graph.es["weight"]
    (['a', 'b', 'c'], [3, 1])
    """
    import igraph

    view = open_host_frame(edges)
    ends = {name: arrow_column(name, view.column(name)) for name in (source, target)}
    others = [name for name in view.frame.columns if name not in ends]
    labels = _occurring(ends, (source, target)) if ids is None else labels_of(ids, len(ids), "the graph")
    places = [places_of(name, ends[name], labels, None) for name in (source, target)]
    attributes = {str(name): _attribute(name, view.column(name)) for name in others}
    pairs = np.column_stack(places).tolist()
    return igraph.Graph(len(labels), pairs, vertex_attrs={"name": labels.to_pylist()}, edge_attrs=attributes)


def _attribute(name: ColumnName, column: Column) -> list[Any]:
    """Values of a column as Python has them; objects as they are, and times that Python does not hold as text."""
    if isinstance(column, np.ndarray) and column.dtype == object:
        return list(column)
    values = arrow_column(name, column)
    try:
        listed: list[Any] = values.to_pylist()
    except (OverflowError, ValueError):  # times that Python's types do not hold
        return readable(values)
    return listed


def _occurring(ends: dict[Any, Any], names: EndNames) -> pa.Array:
    """The ids of both columns in order of their first appearance, row by row."""
    first, second = ends[names[0]], ends[names[1]]
    try:
        both = pa.concat_arrays(in_one_type(first, second))
    except pa.ArrowException as error:
        message = f"columns {names[0]!r} and {names[1]!r} hold {first.type} and {second.type}"
        raise InvalidEdgesError(message, "cast both to one type") from error
    if both.null_count:
        raise InvalidEdgesError(f"the ids hold {both.null_count:,} nulls", "fill or remove those rows")
    turns = np.arange(2 * len(first)).reshape(2, -1).T.ravel()
    return pc.unique(both.take(pa.array(turns)))
