"""Forests with a root in every tree, and the paths between their vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._columns.edge_table import EdgeTable
from dfmst._columns.read import EdgeColumns
from dfmst._columns.vertex_list import find_places
from dfmst._frames.columns import host_column
from dfmst._hierarchy.ordered import OrderedForest, order_forest
from dfmst._hierarchy.tour import fold_paths, root_trees
from dfmst.algorithms import Algorithm
from dfmst.algorithms.components import component_labels
from dfmst.errors import InvalidEdgesError
from dfmst.typing import Array, Frame, Invalid

__all__ = ["path", "rooted", "tree_roots"]


def rooted(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    root: Any = None,
    vertices: Any = None,
    maximum: bool = False,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Any:
    """Give every tree of the forest of an edge table a root, and every vertex its parent.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`; the frame is on the host. Edges of the forest alone give the same trees.
    root
        A vertex, or a list of vertices of different trees, to be roots. Every other tree has its smallest vertex.
    vertices
        All vertices, as for :func:`connected_components`.
    maximum
        Whether it is the maximum spanning forest.

    Returns
    -------
    trees
        The same kind of frame, one row a vertex in ascending order: ``vertex``; ``parent`` and ``component``, the next
        vertex on the way to the root and the root (of a root, itself), in the type of the ids; ``depth``, how many
        edges away the root is; ``distance``, the sum of their weights (``int64`` of integers, else ``float64``);
        ``order``, the vertex's place in a depth-first order, tree after tree; ``edge`` and ``heaviest``, rows of the
        edge table: the edge to the parent, and the one that comes last in the total order on the way to the root (-1 at
        a root).

    Raises
    ------
    InvalidEdgesError
        A root that is no vertex, or two in one tree; weights that have no sum.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 1], "weight": [5, 1, 2, 9]})
    >>> dfmst.rooted(roads, root=3)
       vertex  parent  component  depth  distance  order  edge  heaviest
    0       1       2          3      2         6      3     0         0
    1       2       3          3      1         1      2     1         1
    2       3       3          3      0         0      0    -1        -1
    3       4       3          3      1         2      1     2         2

    References
    ----------
    Tarjan, Vishkin: An efficient parallel biconnectivity algorithm. SIAM Journal on Computing 14 (1985).
    """
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    forest = order_forest(edges, columns, vertices, algorithm=algorithm, engine=engine, threads=threads)
    roots = tree_roots(forest, root)
    trees = root_trees(forest.engine, forest.source, forest.target, roots)
    at_root = trees.edge < 0
    lengths = _lengths(forest, weight)
    along = np.where(at_root, 0, lengths[trees.edge]) if len(lengths) else np.zeros(len(roots), lengths.dtype)
    depth, distance, last = fold_paths(
        trees.parent, (np.add, (~at_root).astype(np.int64)), (np.add, along), (np.maximum, trees.edge)
    )
    order = np.empty(len(roots), np.int64)
    order[np.lexsort((-trees.left, roots))] = np.arange(len(roots))
    rows = np.append(forest.rows, -1)
    ids = {"vertex": np.arange(len(roots)), "parent": trees.parent, "component": roots}
    more = {"depth": depth, "distance": distance, "order": order, "edge": rows[trees.edge], "heaviest": rows[last]}
    return forest.listed.frame(ids, more)


def path(
    edges: Frame,
    start: Any,
    stop: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    maximum: bool = False,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Any:
    """Return the rows of the forest's path between two vertices, from the first to the other.

    No path between the two has a lighter heaviest edge: the heaviest of these rows is the bottleneck.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`rooted`.
    start, stop
        Two vertices.
    maximum
        Take the maximum spanning forest, whose paths have the heaviest lightest edges.

    Returns
    -------
    rows
        The same kind of frame: rows of `edges` in the order of the path, all columns, a pandas index kept. None where
        the two are one vertex.

    Raises
    ------
    InvalidEdgesError
        One of the two is no vertex, or no path joins them.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 1], "weight": [5, 1, 2, 9]})
    >>> dfmst.path(roads, 4, 1)
       source  target  weight
    2       3       4       2
    1       2       3       1
    0       1       2       5

    References
    ----------
    Hu: The maximum capacity route problem. Operations Research 9 (1961).
    """
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    forest = order_forest(edges, columns, None, algorithm=algorithm, engine=engine, threads=threads)
    first, last = find_places(forest.listed, "start and stop", [start, stop]).tolist()
    label = _components(forest)
    if label[first] != label[last]:
        raise InvalidEdgesError(f"no path joins {start!r} and {stop!r}: they lie in different components", "try others")
    trees = root_trees(forest.engine, forest.source, forest.target, np.where(label == label[first], first, label))
    parent, edge, way = trees.parent, trees.edge, []
    while last != first:
        way.append(edge[last])
        last = parent[last]
    return forest.view.take(forest.engine, forest.rows[np.array(way[::-1], np.int64)])


def _components(forest: OrderedForest) -> Array:
    """The smallest place of each place's tree."""
    table = EdgeTable(forest.source, forest.target, forest.source, forest.vertices)
    return component_labels(forest.engine, table).astype(np.int64)


def tree_roots(forest: OrderedForest, root: Any) -> Array:
    """The root of each place's tree: the chosen vertex, or the smallest.

    Raises
    ------
    InvalidEdgesError
        One is no vertex, or two are in one tree.
    """
    chosen = [] if root is None else root if isinstance(root, list) else [root]
    label = _components(forest)
    if not chosen:
        return label
    place = find_places(forest.listed, "root", chosen)
    trees, first, count = np.unique(label[place], return_index=True, return_counts=True)
    if len(trees) < len(chosen):
        shared = [vertex for vertex, tree in zip(chosen, label[place], strict=True) if tree == trees[count > 1][0]]
        message = f"the roots {', '.join(map(repr, shared))} are in one tree"
        raise InvalidEdgesError(message, "choose one of them")
    representative = np.arange(forest.vertices)
    representative[trees] = place[first]
    roots: Array = representative[label]
    return roots


def _lengths(forest: OrderedForest, weight: Any) -> Array:
    """Weights of the edges in order, as numbers that have a sum."""
    if weight is None:
        return np.ones(len(forest), np.int64)
    column = host_column(weight, forest.column(weight, "weight").get_column("weight"))
    column = pa.array(column) if isinstance(column, np.ndarray) else column
    whole = pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
    if not (whole or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        message = f"column {weight!r} holds {column.type} weights, which have no sum along a path"
        raise InvalidEdgesError(message, "cast it to integers or floats")
    try:
        return np.asarray(column.cast(pa.int64() if whole else pa.float64()))
    except pa.ArrowInvalid:  # integers beyond 63 bits
        return np.asarray(column.cast(pa.float64(), safe=False))
