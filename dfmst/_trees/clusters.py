"""Clusters, the components of a forest without its heaviest edges, and the dendrogram of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import ModuleType
from typing import Any, Literal, Unpack, overload

import narwhals.stable.v2 as nw
import numpy as np

from dfmst._common.arguments import real_number
from dfmst._common.types import Array, ColumnName, Columns, Frame, FrameT, Scalar, Vertices
from dfmst._edges.arrow_values import label_array
from dfmst._edges.vertex_list import Groups, VertexList
from dfmst._engines.primitives.kruskal_tree import Merges, merge_clusters
from dfmst._trees.cut import Thresholds, cut, in_type
from dfmst._trees.ordered import OrderedForest, constrained, order_forest
from dfmst._trees.relabel import with_old_names
from dfmst._trees.request import Request, Solving, with_options
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


@with_options("memory", "edges")
def clusters(
    edges: FrameT,
    source: ColumnName = "source",
    target: ColumnName = "target",
    weight: ColumnName | None = "weight",
    *,
    n_clusters: int | Iterable[int] | None = None,
    distance: Scalar | Iterable[Scalar] | None = None,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    max_size: int | None = None,
    one_per: Columns | None = None,
    previous: Frame | None = None,
    maximum: bool = False,
    **options: Unpack[Solving],
) -> FrameT:
    """Cut the forest of an edge table into clusters: single-linkage clusters, at one threshold or several.

    Two vertices are in one cluster if a path of the remaining edges joins them. Clusters at a lower threshold are
    contained within those at a higher one, and each is called after its smallest vertex, so that names are stable
    between runs.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. Edges of the forest alone give the same clusters.
    n_clusters
        Number of clusters: the heaviest edges of the forest are cut, of equal ones the later row first. Several
        numbers give a column each.
    distance
        The heaviest weight that is not cut. A number of Python is compared in the type of the weights, as pandas and
        polars do: 0.9 is equal to a ``float32`` 0.9. Other types that compare with the weights, such as NumPy's, are
        compared exactly. Several weights give a column each.
    vertices
        All vertices, as for :func:`connected_components`: those without edges are clusters of their own.
    by
        A column, or a list of columns, of groups of rows, each of which has its own clusters; `n_clusters` are those
        of each group.
    max_size, one_per
        Conditions on clusters. Rows are merged in their order, and a row is skipped if its cluster would break one.
        This needs all rows: those of the forest alone may give other clusters. Without `n_clusters` and `distance`
        all rows are merged. `max_size` is the largest number of vertices. `one_per` says of which vertices a cluster
        has at most one: the name of `source` or `target`, those of this column (links between two tables of records,
        one to one); two columns of the edges, which hold a property of the source and of the target, those of equal
        properties (records of one source data set); or such a column of `vertices`, a frame with ids in its column
        ``vertex``. Vertices with a null have no such condition.
    previous
        Clusters of an earlier run, with the same columns: clusters keep their names as :func:`relabel` says. Or labels
        of :func:`hdbscan`: noise, -1 of its column ``label``, is no cluster. Not with `by`.
    maximum
        Weights are similarities: the maximum spanning forest is cut, its lightest edges first; `distance` is then the
        lightest weight that is not cut.

    Returns
    -------
    clusters
        The same kind of frame, one row a vertex in ascending order: ``vertex``, and ``cluster``, the smallest vertex
        of its cluster. Of several thresholds one column each instead: ``d5``, ``d10`` for ``distance=[5, 10]``,
        ``k2``, ``k3`` for ``n_clusters=[2, 3]``. With `by` as for :func:`connected_components`.

    Raises
    ------
    InvalidEdgesError
        There are more components, or fewer vertices, than clusters to make; the conditions allow no such number; a
        vertex has two properties.
    ValueError
        Neither or both of `n_clusters` and `distance`, or a distance that does not compare with the weights.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 5], "weight": [1, 9, 2, 4]})
    >>> dfmst.clusters(roads, n_clusters=2).cluster.tolist()
    [1, 1, 3, 3, 3]
    >>> dfmst.clusters(roads, distance=[1, 2, 9])
       vertex  d1  d2  d9
    0       1   1   1   1
    1       2   1   1   1
    2       3   3   3   1
    3       4   4   3   1
    4       5   5   5   1
    >>> dfmst.clusters(roads, max_size=2).cluster.tolist()
    [1, 1, 3, 3, 5]

    References
    ----------
    Gower and Ross: Minimum spanning trees and single linkage cluster analysis. Applied Statistics 18 (1969).
    """
    conditions = max_size is not None or one_per is not None
    request = Request.of(source, target, weight, maximum=maximum, by=by, joint_keys=False, **options)
    source, target, weight = request.columns.names
    thresholds = Thresholds.of(n_clusters, distance, weight, maximum=request.columns.maximum, optional=conditions)
    if conditions and by is not None and n_clusters is not None:
        raise ValueError("n_clusters= and by= cannot be combined with max_size= or one_per=; leave one of them out")
    if previous is not None and by is not None:
        raise ValueError("previous= and by= cannot be combined: call clusters once for each group")
    ordered = order_forest(edges, request, vertices, all_rows=conditions)
    listed = ordered.listed
    with ordered.engine.guard():
        forest = constrained(ordered, max_size, one_per, vertices) if conditions else ordered
        labels = {"vertex": listed.engine.xp.arange(len(listed)), **cut(forest, listed, thresholds)}
        found: FrameT = listed.frame(labels) if previous is None else _with_old_names(listed, labels, previous)
        return found


def _with_old_names(listed: VertexList, labels: dict[str, Array], previous: Frame) -> Any:
    """Build the frame of labels, with the names of earlier clusters."""
    if listed.view.on_device:
        message = "clusters are compared with previous ones on the host, and this frame is on a GPU"
        raise UnsupportedFrameError(message, "leave previous= out, and pass .to_arrow() of both to dfmst.relabel")
    plain = replace(listed, view=listed.view.plain())
    named = nw.from_native(plain.frame(labels), eager_only=True)
    for name in list(labels)[1:]:
        named = with_old_names(named, previous, name)
    return listed.view.finish(named)


@overload
def single_linkage(
    edges: FrameT,
    source: ColumnName = ...,
    target: ColumnName = ...,
    weight: ColumnName | None = ...,
    *,
    vertices: Vertices | None = ...,
    by: Columns | None = ...,
    join: float | None = ...,
    as_scipy: Literal[False] = False,
    **options: Unpack[Solving],
) -> FrameT: ...
@overload
def single_linkage(
    edges: FrameT,
    source: ColumnName = ...,
    target: ColumnName = ...,
    weight: ColumnName | None = ...,
    *,
    vertices: Vertices | None = ...,
    by: Columns | None = ...,
    join: float | None = ...,
    as_scipy: Literal[True],
    **options: Unpack[Solving],
) -> tuple[Array, Array]: ...
@with_options("memory", "edges")
def single_linkage(
    edges: FrameT,
    source: ColumnName = "source",
    target: ColumnName = "target",
    weight: ColumnName | None = "weight",
    *,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    join: float | None = None,
    as_scipy: bool = False,
    **options: Unpack[Solving],
) -> FrameT | tuple[Array, Array]:
    """Return the single-linkage dendrogram of an edge table: one row a merge, in ascending distance.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. Edges of the forest alone give the same dendrogram.
    vertices
        All vertices, as for :func:`connected_components`.
    by
        A column, or a list of columns, of groups of rows, each of which has its own dendrogram; not with `join` and
        `as_scipy`.
    join
        Distance at which components are joined in the end, the one with the smallest vertex first; ``None``: they
        stay apart. ``numpy.inf`` is beyond all others.
    as_scipy
        Return SciPy's linkage matrix and the ids of its observations instead.

    Returns
    -------
    merges
        The same kind of frame: ``left``, ``right`` (clusters, the smaller number first), ``distance`` (in the
        weights' type; the nearest ``float64`` with `join`) and ``size`` (vertices of the new cluster). Of n vertices,
        those from 0 to n - 1 are the vertices in ascending order, as :func:`connected_components` lists them, and
        n + r is the cluster that row r makes. Equal distances are in the forest's order, by row. With `by` its columns
        come first, and clusters and rows are counted within each group.
    matrix, ids
        With `as_scipy`: shape ``(n - 1, 4)`` of ``float64``, for ``scipy.cluster.hierarchy``; and the vertices in
        ascending order: an array of numbers, or of texts, also of dates and times.

    Raises
    ------
    InvalidEdgesError
        SciPy's matrix of several components that are not joined; a distance to join them at that is below another one.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 5], "weight": [1, 9, 2, 4]})
    >>> dfmst.single_linkage(roads)
       left  right  distance  size
    0     0      1         1     2
    1     2      3         2     2
    2     4      6         4     3
    3     5      7         9     5

    References
    ----------
    Gower and Ross: Minimum spanning trees and single linkage cluster analysis. Applied Statistics 18 (1969).
    """
    join = None if join is None else real_number("join", join)
    if join is not None and np.isnan(join):
        raise InvalidEdgesError("join is nan, and it must be a distance", "join components for example at numpy.inf")
    if by is not None and (join is not None or as_scipy):
        raise ValueError("join= and as_scipy= cannot be combined with by=: call single_linkage once for each group")
    request = Request.of(source, target, weight, by=by, joint_keys=False, **options)
    forest, weight = order_forest(edges, request, vertices), request.columns.weight
    with forest.engine.guard():
        left, right, size = merge_clusters(forest.engine, forest.source, forest.target, forest.vertices)
        merges = Merges(left.view(np.int64), right.view(np.int64), size.astype(np.int64))
        begin: dict[Any, Any] = {}
        if forest.listed.groups is not None:
            forest, merges, begin = _in_groups(forest, forest.listed.groups, merges)
        if join is not None:
            join = join if weight is None else float(in_type(join, forest.weights(weight)))
            merges = _joined(forest.engine.xp, merges, forest.vertices)
        if as_scipy:
            return _matrix(forest, merges, weight, join), label_array(forest.listed.arrow())
        distance = None if join is None and weight is not None else _distances(forest, merges, weight, join)
        frame = {"left": merges.left, "right": merges.right, "distance": distance, "size": merges.size}
        built: FrameT = forest.build(weight, frame, begin)
        return built


def _in_groups(forest: OrderedForest, groups: Groups, merges: Merges) -> tuple[OrderedForest, Merges, dict[Any, Any]]:
    """Order edges and merges by group, count clusters within groups, and name the groups."""
    xp, (group, place, order) = forest.engine.xp, forest.places_in_groups()
    first, size = groups.begin[group], groups.sizes[group]

    def count_within(cluster: Array) -> Array:
        made = cluster - forest.vertices
        return xp.where(made < 0, cluster - first, size + place[xp.maximum(made, 0)])[order]  # type: ignore[no-any-return]

    within = Merges(count_within(merges.left), count_within(merges.right), merges.size[order])
    named = groups.columns(forest.view, group[order], [*Merges._fields, "distance"])
    return replace(forest, rows=forest.rows[order]), within, named


def _joined(xp: ModuleType, merges: Merges, vertices: int) -> Merges:
    """Join the remaining clusters one after the other, the one with the smallest number first."""
    count = len(merges.size)
    whole = xp.ones(vertices + count, bool)
    whole[merges.left] = whole[merges.right] = False
    rest = xp.flatnonzero(whole)
    if len(rest) < 2:
        return merges
    sizes = xp.concatenate([xp.ones(vertices, np.int64), merges.size])[rest]
    chain = vertices + count + xp.arange(len(rest) - 2)
    return Merges(
        xp.concatenate([merges.left, rest[:1], rest[2:]]),
        xp.concatenate([merges.right, rest[1:2], chain]),
        xp.concatenate([merges.size, xp.cumsum(sizes)[1:]]),
    )


def _distances(forest: OrderedForest, merges: Merges, weight: ColumnName, join: float | None) -> Array:
    """Distances of all merges, ``float64``."""
    distance: Array = forest.engine.xp.full(len(merges.size), np.nan if join is None else join)
    distance[: len(forest)] = forest.distances(weight)
    if join is not None and len(forest) < len(distance):
        longer = int((~(distance[: len(forest)] <= join)).sum())
        if longer:
            message = f"join is {join:g}, and {longer:,} edges of the forest are not below it"
            raise InvalidEdgesError(message, "join components at no less than their edges, for example at numpy.inf")
    return distance


def _matrix(forest: OrderedForest, merges: Merges, weight: ColumnName, join: float | None) -> Array:
    if len(merges.size) < forest.vertices - 1:
        message = f"{forest.trees:,} components; SciPy's matrix has one tree"
        raise InvalidEdgesError(message, "join them: join=numpy.inf")
    distance = _distances(forest, merges, weight, join)
    columns = map(forest.engine.to_host, (merges.left, merges.right, distance, merges.size))
    return np.column_stack(list(columns)).astype(np.float64)
