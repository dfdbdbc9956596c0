"""Forests with a root in every tree, and the paths between their vertices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import is_several
from dfmst._common.types import Array, ColumnName, Columns, Frame, FrameT, Vertex, Vertices
from dfmst._edges.vertex_list import VertexList, find_ids, find_places
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.sort import sort_order
from dfmst._engines.primitives.tour import RootedTrees, root_trees
from dfmst._trees.ordered import OrderedForest, order_forest, summable
from dfmst._trees.request import Request, Solving, with_options
from dfmst.errors import InvalidEdgesError


@with_options("memory", "edges")
def rooted(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    root: Vertex | Vertices | None = None,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    maximum: bool = False,
    **options: Unpack[Solving],
) -> FrameT:
    """Give every tree of the forest of an edge table a root, and every vertex its parent.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. Edges of the forest alone give the same trees.
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
        total order on the way to the root. Both are null at a root; integer columns of pandas then have its nullable
        type. With `by` as for :func:`connected_components`; `order` is that within a group.

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
    2       3       3          3      0         0      0  <NA>      <NA>
    3       4       3          3      1         2      1     2         2

    References
    ----------
    Tarjan, Vishkin: An efficient parallel biconnectivity algorithm. SIAM Journal on Computing 14 (1985).
    """
    request = Request.of(source, target, weight, maximum=maximum, by=by, joint_keys=False, **options)
    forest = order_forest(edges, request, vertices)
    with forest.engine.guard():
        return _rooted_frame(forest, request.columns.weight, root)  # type: ignore[no-any-return]


def _rooted_frame(forest: OrderedForest, weight: ColumnName, root: object) -> Frame:
    """Root the trees, and describe the way from every vertex to its root."""
    engine, xp, roots = forest.engine, forest.engine.xp, tree_roots(forest, root)
    trees = root_trees(engine, forest.source, forest.target, roots)
    edge = trees.edge.view(np.int32)  # -1 at a root
    lengths: Any = xp.ones(len(forest), np.int64) if weight is None else summable(weight, forest.weights(weight))
    place = host_engine(engine) if lengths.dtype == object else engine  # Python's integers are summed on the host
    lengths, above = place.from_host(lengths), engine.to_host(edge) if lengths.dtype == object else edge
    along = place.xp.where(above < 0, 0, lengths[above]) if len(lengths) else place.xp.zeros(len(roots), lengths.dtype)
    distance, last = fold_paths(engine, trees, along)
    distance = _in_64_bits(weight, distance) if distance.dtype == object else distance
    rows, at_root = xp.append(forest.rows, 0), edge < 0
    ids = {"vertex": xp.arange(len(roots)), "parent": trees.parent, "component": roots}
    depth, order, groups = trees.depth.astype(np.int64), trees.order.astype(np.int64), forest.listed.groups
    order -= 0 if groups is None else groups.begin[groups.of_place]
    more = {"depth": depth, "distance": distance, "order": order}
    more |= {name: forest.view.nullable(rows[at], at_root) for name, at in (("edge", edge), ("heaviest", last))}
    return forest.listed.frame(ids, more)


@with_options("memory", "edges")
def path(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    start: Vertex,
    stop: Vertex,
    maximum: bool = False,
    **options: Unpack[Solving],
) -> FrameT:
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
    ends = {"start": start, "stop": stop}
    for name, vertex in ends.items():
        if is_several(vertex):
            message = f"{name} is a {type(vertex).__name__}; it must be one vertex"
            raise InvalidEdgesError(message, "call path for each pair, or rooted once for all paths to one vertex")
    forest = order_forest(edges, Request.of(source, target, weight, maximum=maximum, joint_keys=False, **options))
    with forest.engine.guard():
        first, last = (int(find_places(forest.listed, name, [vertex])[0]) for name, vertex in ends.items())
        label = forest.labels().astype(np.int64)
        if int(label[first]) != int(label[last]):
            message = f"no path joins {start!r} and {stop!r}: they are in different components"
            raise InvalidEdgesError(message, "try others")
        roots = forest.engine.xp.where(label == label[first], first, label)
        trees = root_trees(forest.engine, forest.source, forest.target, roots)
        return forest.view.take(forest.engine, forest.rows[trees.edge[_way(trees, last)]])  # type: ignore[no-any-return]


def _way(trees: RootedTrees, vertex: int) -> Array:
    """Return the vertices on the way from below a root to a vertex: those whose range of the order has it."""
    (within,) = ((trees.order[vertex] - trees.order) < trees.size).nonzero()
    way: Array = within[trees.depth[within].argsort()][1:]
    return way


def tree_roots(forest: OrderedForest, root: Any) -> Array:
    """Return the root of each place's tree: the chosen vertex, or the smallest."""
    engine, chosen = forest.engine, [] if root is None else list(root) if is_several(root) else [root]
    label: Array = forest.labels().astype(np.int64)
    if not chosen:
        return label
    place = forest.listed.engine.to_host(find_places(forest.listed, "root", chosen))
    if forest.listed.groups is not None:
        place = _places_of(forest.listed, place)
    tree_of = engine.to_host(label[engine.from_host(place)])
    trees, first, count = np.unique(tree_of, return_index=True, return_counts=True)
    if len(trees) < len(place):
        inside = forest.listed.arrow().take(pa.array(place[tree_of == trees[count > 1][0]]))
        shared = inside.to_pylist()
        raise InvalidEdgesError(f"the roots {', '.join(map(repr, shared))} are in one tree", "choose one of them")
    representative = engine.xp.arange(forest.vertices)
    representative[engine.from_host(trees)] = engine.from_host(place[first])
    roots: Array = representative[label]
    return roots


def _places_of(listed: VertexList, place: Array) -> Array:
    """Return all places with the ids of some places: those of a vertex in each of its groups."""
    engine, values = listed.engine, listed.values()
    chosen = values.take(pa.array(place) if engine.on_host else engine.from_host(place))
    (places,) = (find_ids(engine, ("vertex", values), ("root", chosen)) >= 0).nonzero()
    return engine.to_host(places)


def _in_64_bits(weight: ColumnName, distance: Array) -> Array:
    """Sums of Python's integers as ``int64``, or as ``uint64`` if only that holds them."""
    kind = np.int64 if distance.min() < 0 or distance.max() < 1 << 63 else np.uint64
    outside = (distance < np.iinfo(kind).min) | (distance > np.iinfo(kind).max)
    if outside.any():
        message = f"{int(outside.sum()):,} distances from the root are beyond 64 bits: sums of column {weight!r}"
        raise InvalidEdgesError(message, "divide the weights, or cast them to float64 if rounding is meant")
    return distance.astype(kind)


def fold_paths(engine: Engine, trees: RootedTrees, along: Array) -> tuple[Array, Array]:
    """Return the sum of entries along the path from each vertex to its root, and its last edge (-1 at a root)."""
    xp, edge = engine.xp, trees.edge.view(np.int32)
    if along.dtype == object:
        last = fold_paths(engine, trees, xp.zeros(len(along)))[1]
        return _jump(engine.to_host(trees.parent), (np.add, along))[0], last
    if not engine.on_host and along.dtype.kind == "f":
        return _sum_floats(engine, trees, along), _jump(trees.parent, (xp.maximum, edge))[0]
    if not engine.on_host:
        total, last = _jump(trees.parent, (xp.add, along), (xp.maximum, edge))
        return total, last
    sequence, total, greatest = np.empty(len(along), np.uint32), along.copy(), trees.edge.copy()
    sequence[trees.order] = np.arange(len(along), dtype=np.uint32)
    engine.launch("fold_paths", 2, sequence, len(along), trees.parent, total, greatest, grain=1)
    return total, greatest.view(np.int32)


_LEVELS = 1 << 12  # of trees whose sums take less time level by level on a GPU than on the host


def _sum_floats(engine: Engine, trees: RootedTrees, along: Array) -> Array:
    """Sum floats of a GPU from the roots on, as the host does: other orders round otherwise."""
    if not len(along) or int(trees.depth.max()) >= _LEVELS:
        on_host = RootedTrees(*map(engine.to_host, trees))
        return engine.from_host(fold_paths(host_engine(engine), on_host, engine.to_host(along))[0])
    total, vertices = along.copy(), sort_order(engine, trees.depth)
    ends = engine.xp.cumsum(engine.xp.bincount(trees.depth)).tolist()
    with np.errstate(invalid="ignore"):  # infinities of both signs
        for begin, end in pairwise(ends):
            level = vertices[begin:end]
            total[level] += total[trees.parent[level]]
    return total


def _jump(parent: Array, *columns: tuple[Any, Array]) -> list[Array]:
    """Fold columns along the path from each vertex to its root, by pointer jumping."""
    folded = [values.copy() for _, values in columns]
    while True:
        further = parent[parent]
        for (function, _), values in zip(columns, folded, strict=True):
            function(values, values[parent], out=values)
        if bool((further == parent).all()):
            return folded
        parent = further
