"""Forests with a root in every tree, and the paths between their vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import is_several
from dfmst._common.deferred import pc
from dfmst._common.dispatch import driven
from dfmst._common.types import Array, Frame, Invalid
from dfmst._edges.conditions import Conditions
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertex_list import find_places
from dfmst._engines import Engine
from dfmst._engines.primitives.tour import RootedTrees, root_trees
from dfmst._trees.ordered import OrderedForest, order_forest, summable
from dfmst.algorithms import Algorithm
from dfmst.errors import InvalidEdgesError


@driven("edges")
def rooted(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    root: Any = None,
    vertices: Any = None,
    by: Any = None,
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
    by
        A column, or a list of columns, of groups of rows, each of which has its own trees. A root is one in every
        group that has this vertex.
    maximum
        Whether it is the maximum spanning forest.

    Returns
    -------
    trees
        The same kind of frame, one row a vertex in ascending order: ``vertex``; ``parent`` and ``component``, the next
        vertex on the way to the root and the root (of a root, itself), in the type of the ids; ``depth``, the
        number of edges to the root; ``distance``, the sum of their weights (``int64`` of integers, ``uint64`` if only
        that holds them, else ``float64``); ``order``, the vertex's place in a depth-first order, tree after tree;
        ``edge`` and ``heaviest``, rows of the edge table: the edge to the parent, and the one that comes last in the
        total order on the way to the root (-1 at a root). With `by` as for :func:`connected_components`; `order` is
        that within a group.

    Raises
    ------
    InvalidEdgesError
        A root that is not a vertex, or two in one tree; weights that have no sum, or integers whose sum is beyond 64
        bits.
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
    columns = EdgeColumns(source, target, weight, maximum, invalid, Conditions.of(by, None, None))
    forest = order_forest(edges, columns, vertices, algorithm=algorithm, engine=engine, threads=threads)
    roots = tree_roots(forest, root)
    trees = root_trees(forest.engine, forest.source, forest.target, roots)
    edge = trees.edge.view(np.int32)  # -1 at a root
    lengths = np.ones(len(forest), np.int64) if weight is None else summable(weight, forest.weights(weight))
    along = np.where(edge < 0, 0, lengths[edge]) if len(lengths) else np.zeros(len(roots), lengths.dtype)
    distance, last = fold_paths(forest.engine, trees, along)
    distance = _in_64_bits(weight, distance) if distance.dtype == object else distance
    rows = np.append(forest.rows, -1)
    ids = {"vertex": np.arange(len(roots)), "parent": trees.parent, "component": roots}
    depth, order, groups = trees.depth.astype(np.int64), trees.order.astype(np.int64), forest.listed.groups
    order -= 0 if groups is None else groups.begin[groups.of_places()]
    more = {"depth": depth, "distance": distance, "order": order, "edge": rows[edge], "heaviest": rows[last]}
    return forest.listed.frame(ids, more)


@driven("edges")
def path(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    start: Any,
    stop: Any,
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
        The same kind of frame: rows of `edges` in the order of the path, all columns, a pandas index kept. No rows
        if the two are one vertex.

    Raises
    ------
    InvalidEdgesError
        One of the two is not a vertex, or no path joins them.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 1], "weight": [5, 1, 2, 9]})
    >>> dfmst.path(roads, start=4, stop=1)
       source  target  weight
    2       3       4       2
    1       2       3       1
    0       1       2       5

    References
    ----------
    Hu: The maximum capacity route problem. Operations Research 9 (1961).
    """
    for name, vertex in (("start", start), ("stop", stop)):
        if is_several(vertex):
            message = f"{name} is a {type(vertex).__name__}; it must be one vertex"
            raise InvalidEdgesError(message, "call path for each pair, or rooted once for all paths to one vertex")
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    forest = order_forest(edges, columns, None, algorithm=algorithm, engine=engine, threads=threads)
    first, last = find_places(forest.listed, "start and stop", [start, stop]).tolist()
    label = forest.labels().astype(np.int64)
    if label[first] != label[last]:
        raise InvalidEdgesError(f"no path joins {start!r} and {stop!r}: they are in different components", "try others")
    trees = root_trees(forest.engine, forest.source, forest.target, np.where(label == label[first], first, label))
    parent, edge, way = trees.parent, trees.edge, list[int]()
    while last != first:
        way.append(edge[last])
        last = int(parent[last])
    return forest.view.take(forest.engine, forest.rows[np.array(way[::-1], np.int64)])


def tree_roots(forest: OrderedForest, root: Any) -> Array:
    """Return the root of each place's tree: the chosen vertex, or the smallest."""
    chosen = [] if root is None else list(root) if is_several(root) else [root]
    label = forest.labels().astype(np.int64)
    if not chosen:
        return label
    place = find_places(forest.listed, "root", chosen)
    if forest.listed.groups is not None:  # all places with these ids
        values = forest.listed.values()
        place = np.flatnonzero(np.asarray(pc.is_in(values, value_set=values.take(pa.array(place)))))
    trees, first, count = np.unique(label[place], return_index=True, return_counts=True)
    if len(trees) < len(place):
        inside = forest.listed.values().take(pa.array(place[label[place] == trees[count > 1][0]]))
        shared = inside.to_pylist()
        raise InvalidEdgesError(f"the roots {', '.join(map(repr, shared))} are in one tree", "choose one of them")
    representative = np.arange(forest.vertices)
    representative[trees] = place[first]
    roots: Array = representative[label]
    return roots


def _in_64_bits(weight: Any, distance: Array) -> Array:
    """Sums of Python's integers as ``int64``, or as ``uint64`` if only that holds them."""
    kind = np.int64 if distance.min() < 0 or distance.max() < 1 << 63 else np.uint64
    outside = (distance < np.iinfo(kind).min) | (distance > np.iinfo(kind).max)
    if outside.any():
        message = f"{int(outside.sum()):,} distances from the root are beyond 64 bits: sums of column {weight!r}"
        raise InvalidEdgesError(message, "divide the weights, or cast them to float64 if rounding is meant")
    return distance.astype(kind)


def fold_paths(engine: Engine, trees: RootedTrees, along: Array) -> tuple[Array, Array]:
    """Return the sum of entries along the path from each vertex to its root, and its last edge (-1 at a root)."""
    if along.dtype == object:
        return _sum_objects(trees.parent, along), fold_paths(engine, trees, np.zeros(len(along)))[1]
    sequence, total, last = np.empty(len(along), np.uint32), along.copy(), trees.edge.copy()
    sequence[trees.order] = np.arange(len(along), dtype=np.uint32)
    engine.launch("fold_paths", 2, sequence, len(along), trees.parent, total, last, grain=1)
    return total, last.view(np.int32)


def _sum_objects(parent: Array, along: Array) -> Array:
    """Sum Python's integers by pointer jumping."""
    total = along.copy()
    while True:
        further = parent[parent]
        total += total[parent]
        if np.array_equal(further, parent):
            return total
        parent = further
