"""The condensed tree of a dendrogram, and the clusters that HDBSCAN selects from it.

Merges at one distance are one node of several children, so that the order of equal distances does not matter.

References
----------
Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD 2013.
Campello, Moulavi, Zimek, Sander: Hierarchical density estimates for data clustering, visualization, and outlier
detection. ACM TKDD 10 (2015): the excess of mass, GLOSH.
Malzer, Baum: A hybrid approach to hierarchical density-based cluster selection. MFI 2020: the distance `epsilon`.

HDBSCAN of an edge table or of points: labels, and the condensed tree that they are selected from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Unpack

import numpy as np

from dfmst._common.arguments import check_choice, is_several, one_name, real_number, whole_number, yes_or_no
from dfmst._common.types import ROW_LIMIT, Array, ColumnName, Columns, Frame, Vertices
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.vertex_list import VertexList
from dfmst._engines import Engine, select_engine
from dfmst._engines.primitives.kruskal_tree import merge_clusters
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.cut import in_type
from dfmst._trees.ordered import order_forest
from dfmst._trees.points.forest import default_neighbors, positive
from dfmst._trees.points.read import Points, is_array, read_points
from dfmst._trees.points.search import Box, check_metric, measure
from dfmst._trees.points.spanning import spanning_pairs
from dfmst._trees.request import Reading, Request, with_options
from dfmst.errors import ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, or_points


class Dendrogram(NamedTuple):
    """Merges of vertices; those at one distance are one node. The nodes are the vertices, then the merges."""

    up: Array  # node -> the node above it; the root, which is the last node, and nodes that are a part of one: itself
    distance: Array  # node -> distance of its merge, 0 of a vertex
    size: Array  # node -> its vertices
    vertices: int
    whole: Array  # whether a node is not a part of another node at its own distance


def build_dendrogram(engine: Engine, source: Array, target: Array, distance: Array, vertices: int) -> Dendrogram:
    """Merge vertices along edges in ascending order of distance, and the remaining parts at an infinite distance."""
    ends = source.astype(np.uint32), target.astype(np.uint32)
    left, right, size = merge_clusters(engine, *ends, vertices)
    count = vertices + len(source)
    root = count if len(source) != vertices - 1 or vertices == 1 else count - 1
    up = np.full(root + 1, root)
    up[left.view(np.int64)] = up[right.view(np.int64)] = np.arange(vertices, count)
    heights = np.concatenate([np.zeros(vertices), distance, [np.inf]])[: root + 1]
    sizes = np.concatenate([np.ones(vertices, np.int64), size.astype(np.int64), [vertices]])[: root + 1]
    nodes = np.arange(root + 1)
    part = heights[up] == heights
    part[:vertices] = False
    top = _follow(np.where(part, up, nodes))
    whole = top == nodes
    return Dendrogram(np.where(whole, top[up], nodes), heights, sizes, vertices, whole)


def _follow(up: Array) -> Array:
    """Node -> the last node above it; a last node is above itself."""
    while True:
        above = up[up]
        if np.array_equal(above, up):
            return up
        up = above


class CondensedTree(NamedTuple):
    """Clusters from 0, the root; a cluster comes after its parent."""

    parent: Array  # cluster -> the cluster it splits from; the root: itself
    birth: Array  # cluster -> density, 1 / distance, at which it splits; the root: 0
    size: Array  # cluster -> vertices at its birth
    cluster: Array  # vertex -> the cluster it leaves
    density: Array  # vertex -> density at which it leaves


def condense(tree: Dendrogram, smallest: int) -> CondensedTree:
    """Keep the parts of at least `smallest` vertices: a cluster splits if two or more such parts come apart."""
    up, vertices, root = tree.up, tree.vertices, len(tree.up) - 1
    nodes = np.arange(root + 1)
    large = tree.whole & (tree.size >= smallest)
    large[:vertices] = False
    large[root] = True
    parts = np.bincount(up[large & (nodes != root)], minlength=root + 1)
    begins = large & (parts[up] >= 2)
    begins[root] = True
    owner = _follow(np.where(large & ~begins, up, nodes))
    with np.errstate(divide="ignore", over="ignore"):
        densities = 1 / tree.distance
    last = _follow(np.where(large[up], nodes, up))[:vertices]  # the highest small part that a vertex is in
    left = up[last]
    tops = np.flatnonzero(begins)
    birth = np.where(tops == root, 0.0, densities[up[tops]])
    first = _first_vertices(owner[left], owner[up[tops]], tops, root)
    order = np.lexsort((first, birth, tops != root))
    number = np.empty(root + 1, np.int64)
    number[tops[order]] = np.arange(len(tops))
    tops = tops[order]
    parent = number[owner[up[tops]]]
    return CondensedTree(parent, birth[order], tree.size[tops], number[owner[left]], densities[left])


def _first_vertices(owner: Array, parent: Array, tops: Array, root: int) -> Array:
    """The smallest vertex of each cluster; a parent has a larger node than its children."""
    first = np.full(root + 1, root)
    np.minimum.at(first, owner, np.arange(len(owner)))
    found = first[tops].tolist()
    place = dict(zip(tops.tolist(), range(len(tops)), strict=True))
    for at, above in enumerate(parent.tolist()):  # in ascending order of nodes
        into = place[above]
        found[into] = min(found[into], found[at])
    return np.array(found, np.int64)


class Selection(NamedTuple):
    """What HDBSCAN says of every vertex."""

    label: Array  # its cluster, numbered by their first vertices; -1: noise
    probability: Array
    outlier_score: Array


def select_clusters(
    tree: CondensedTree, method: str, epsilon: float, largest: int | None, single: bool = False
) -> Selection:
    """Select clusters of the largest excess of mass, or the smallest ones; with `single` the root may be one."""
    parent, birth = tree.parent.tolist(), tree.birth.tolist()
    death, deepest = _deaths(tree)
    chosen = _by_mass(tree, largest, single) if method == "eom" else _leaves(parent)
    if epsilon > 0:
        chosen = _apart(chosen, parent, birth, epsilon, single)
    owner = [0 if chosen[0] else -1] * len(parent)  # cluster -> the chosen cluster that it is in; -1: none
    for cluster in range(1, len(parent)):
        owner[cluster] = cluster if chosen[cluster] else owner[parent[cluster]]
    mine = np.array(owner)[tree.cluster]
    if chosen[0]:  # it is the only one, and has those that stay the longest
        mine[tree.density < (1 / epsilon if epsilon > 0 else death[0])] = -1
    member = mine >= 0
    limit, density = death[mine], tree.density
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isfinite(density) & (limit > 0), np.minimum(density, limit) / limit, 1.0)
        most = deepest[tree.cluster]
        gap = np.where(np.isfinite(most), (most - density) / most, 1.0)
    score = np.where(np.isfinite(density) & (most > 0), gap, 0.0)
    return Selection(_by_first_vertex(np.where(member, mine, -1)), np.where(member, share, 0.0), score)


def _deaths(tree: CondensedTree) -> tuple[Array, Array]:
    """Largest density at which anything leaves a cluster, and the clusters below it as well."""
    death = np.zeros(len(tree.parent))
    np.maximum.at(death, tree.cluster, tree.density)
    np.maximum.at(death, tree.parent[1:], tree.birth[1:])
    deepest = death.tolist()
    parent = tree.parent.tolist()
    for cluster in range(len(parent) - 1, 0, -1):
        deepest[parent[cluster]] = max(deepest[parent[cluster]], deepest[cluster])
    return death, np.array(deepest)


def _by_mass(tree: CondensedTree, largest: int | None, single: bool) -> list[bool]:
    """Clusters whose parts have no larger excess of mass, and that are in no other such cluster.

    Components that nothing joins have no mass in common, so that they are not one cluster. The size of the root is that
    of the clusters it splits into, as in other packages: vertices that left it before are not members.
    """
    parent, size, count = tree.parent.tolist(), tree.size.tolist(), len(tree.parent)
    mass = np.bincount(tree.cluster, tree.density - tree.birth[tree.cluster], minlength=count)
    split = (tree.birth[1:] - tree.birth[tree.parent[1:]]) * tree.size[1:]
    stability = (mass + np.bincount(tree.parent[1:], split, minlength=count)).tolist()
    below, chosen = [0.0] * count, [False] * count
    size[0] = int(tree.size[1:][tree.parent[1:] == 0].sum())
    for cluster in range(count - 1, -1 if single and stability[0] > 0 else 0, -1):
        chosen[cluster] = below[cluster] <= stability[cluster] and (largest is None or size[cluster] <= largest)
        below[parent[cluster]] += stability[cluster] if chosen[cluster] else below[cluster]
    return _outermost(chosen, parent)


def _outermost(chosen: list[bool], parent: list[int]) -> list[bool]:
    """Leave out chosen clusters that are in another one."""
    inside = [False] * len(chosen)
    for cluster in range(1, len(chosen)):
        inside[cluster] = inside[parent[cluster]] or chosen[parent[cluster]]
        chosen[cluster] = chosen[cluster] and not inside[cluster]
    return chosen


def _leaves(parent: list[int]) -> list[bool]:
    split = set(parent[1:])
    return [cluster > 0 and cluster not in split for cluster in range(len(parent))]


def _apart(chosen: list[bool], parent: list[int], birth: list[float], epsilon: float, single: bool) -> list[bool]:
    """Replace chosen clusters that split at less than `epsilon` by the one above that does not.

    It is the root with `single` only.
    """
    kept = [False] * len(chosen)
    for cluster in range(len(chosen)):
        if chosen[cluster]:
            while birth[cluster] * epsilon > 1 and (parent[cluster] or single):
                cluster = parent[cluster]
            kept[cluster] = True
    return _outermost(kept, parent)


def _by_first_vertex(label: Array) -> Array:
    """Clusters numbered in the order of their first vertices; noise stays -1."""
    known, first, place = np.unique(label, return_index=True, return_inverse=True)
    clusters = known >= 0
    number = np.full(len(known), -1)
    number[clusters] = np.argsort(np.argsort(first[clusters]))
    labels: Array = number[place]
    return labels


@with_options("memory", Reading, "edges")
def hdbscan(
    edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    columns: Columns | None = None,
    metric: str | None = None,
    ids: Columns | None = None,
    box: Box | None = None,
    min_samples: int | None = None,
    min_cluster_size: int | Sequence[int] = 5,
    cluster_selection_method: str = "eom",
    epsilon: float = 0.0,
    max_cluster_size: int | None = None,
    allow_single_cluster: bool = False,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    **options: Unpack[Reading],
) -> Any:
    """Cluster an edge table, or points, by density: HDBSCAN on the forest.

    Components stay apart: they are joined at an infinite distance, as are the parts of a graph that other libraries
    refuse because it is not connected.

    Parameters
    ----------
    edges
        An edge table, whose weights are distances. Or points, if `columns` is given or it is an array.
    source, target, weight, invalid, threads
        As for :func:`minimum_spanning_forest`.
    columns, metric, ids, box
        Points: as for :func:`points_forest`.
    min_samples
        Distances become mutual reachability, the largest of the distance and of both ends' core distances. The core
        distance of a point is that to its `min_samples`-th nearest other point; ``None``: `min_cluster_size`, or all
        other points if there are fewer. The core distance of a vertex is that to its `min_samples`-th nearest neighbor
        in the edge table, infinite if it has fewer; ``None``: the weights are taken as they are.
    min_cluster_size
        Smaller groups are noise; at least 2. Several sizes give columns for each.
    cluster_selection_method
        ``"eom"`` selects the clusters of the largest excess of mass, ``"leaf"`` the smallest ones.
    epsilon
        Clusters that split at a smaller distance stay together. It is compared in the type of the weights.
    max_cluster_size
        With ``"eom"``: larger clusters are not selected.
    allow_single_cluster
        Whether all connected vertices may be one cluster, which the packages hdbscan and scikit-learn have under this
        name. A vertex that leaves it before its last change is noise, or with `epsilon` at a larger distance.
    vertices
        Edge tables: all vertices, as for :func:`connected_components`. Those without edges are noise.
    by
        Edge tables: a column, or a list of columns, of groups of rows, each of which is clustered on its own.

    Returns
    -------
    labels
        The same kind of frame, one row a vertex: ``vertex`` in ascending order (of points the id, or the row, row by
        row); ``label``, ``int64``: clusters are numbered from 0 on by their first vertex, -1 is noise;
        ``probability``, ``float64``: how strongly the vertex belongs to it, from 0 to 1; ``outlier_score``,
        ``float64``: GLOSH, from 0 to 1. Of several sizes: ``label5``, ``probability5``, ``outlier_score5`` and so on.
        With `by` as for :func:`connected_components`; the clusters of each group are numbered from 0 on.

    Raises
    ------
    InvalidEdgesError
        Negative weights; `min_samples` that is less than 1.
    ValueError
        `min_cluster_size` is less than 2, `max_cluster_size` less than 1, `cluster_selection_method` or `metric`
        unknown, or `epsilon` negative.
    ColumnNotFoundError, UnsupportedFrameError, CapacityError
        As for :func:`connected_components` and :func:`points_forest`.

    Notes
    -----
    Merges at equal distances are one merge of several parts, as in the definition: the clusters depend on the distances
    alone, not on the order of rows. If no distances are equal, the labels are those of the packages hdbscan and
    scikit-learn. Core distances make edges of a point equal: if such a point joins two clusters, these packages add it
    to one of them, by the order of rows, and here it leaves the cluster of both.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 4, 5], "target": [2, 3, 5, 6], "weight": [1.0, 2.0, 1.0, 1.0]})
    >>> dfmst.hdbscan(roads, min_cluster_size=3).label.tolist()
    [0, 0, 0, 1, 1, 1]

    References
    ----------
    Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD 2013.

    Campello, Moulavi, Zimek, Sander: Hierarchical density estimates for data clustering, visualization, and outlier
    detection. ACM TKDD 10 (2015).

    Malzer, Baum: A hybrid approach to hierarchical density-based cluster selection. MFI 2020.
    """
    sizes = _sizes(min_cluster_size)
    check_choice(
        cluster_selection_method,
        ("eom", "leaf"),
        f"cluster_selection_method is {cluster_selection_method!r}; it must be 'eom' or 'leaf'",
    )
    limit = real_number("epsilon", epsilon)
    if not limit >= 0:
        raise InvalidEdgesError(f"epsilon is {limit:g}; it must not be negative", "leave it out, or pass a distance")
    largest = None if max_cluster_size is None else whole_number("max_cluster_size", max_cluster_size)
    if largest is not None and largest < 1:
        raise ValueError(f"max_cluster_size is {largest}; it must be at least 1, or None for clusters of any size")
    single = yes_or_no("allow_single_cluster", allow_single_cluster)
    names, points = (source, target, weight), (columns, ids, metric, box)
    made = _dendrograms(edges, names, points, vertices, by, min_samples, min(sizes), limit, options)
    numbers: dict[str, Array] = {}
    for size in sizes:
        how = cluster_selection_method, made.epsilon, largest
        found = [select_clusters(condense(tree, size), *how, single and tree.vertices >= size) for tree in made.trees]
        suffix = size if is_several(min_cluster_size) else ""
        columns_of = map(np.concatenate, zip(*found, strict=True))
        numbers |= {f"{name}{suffix}": column for name, column in zip(Selection._fields, columns_of, strict=True)}
    return made.rows.frame({"vertex": np.arange(sum(tree.vertices for tree in made.trees))}, numbers)


@with_options("memory", Reading, "edges")
def condensed_tree(
    edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    columns: Columns | None = None,
    metric: str | None = None,
    ids: Columns | None = None,
    box: Box | None = None,
    min_samples: int | None = None,
    min_cluster_size: int = 5,
    allow_single_cluster: bool = False,
    vertices: Vertices | None = None,
    **options: Unpack[Reading],
) -> Any:
    """Return the condensed tree of HDBSCAN: which vertices leave which cluster, and how clusters split.

    Parameters
    ----------
    edges, source, target, weight, columns, metric, ids, box, min_samples, vertices, invalid, threads
        As for :func:`hdbscan`.
    min_cluster_size
        Smaller groups leave a cluster vertex by vertex; at least 2.
    allow_single_cluster
        As for :func:`hdbscan`, so that both take the same options. The tree is the same: it begins with all vertices.

    Returns
    -------
    tree
        The same kind of frame, one row a vertex that leaves a cluster, or a cluster that splits from one: ``parent``
        and ``child``, ``int64``; ``lambda``, ``float64``: 1 / distance at which it leaves; ``size``, ``int64``: its
        vertices. Of n vertices, those from 0 to n - 1 are the rows that :func:`hdbscan` returns; n is the root, and
        larger numbers are the other clusters, those that split at a larger distance first. Rows are in the order of
        parent, lambda, child.

    Raises
    ------
    InvalidEdgesError, ValueError, ColumnNotFoundError, UnsupportedFrameError, CapacityError
        As for :func:`hdbscan`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4, 5], "target": [2, 3, 4, 5, 6], "weight": [1, 2, 8, 1, 4]})
    >>> dfmst.condensed_tree(roads, min_cluster_size=3)
       parent  child  lambda  size
    0       6      7   0.125     3
    1       6      8   0.125     3
    2       7      0   0.500     1
    3       7      1   0.500     1
    4       7      2   0.500     1
    5       8      3   0.250     1
    6       8      4   0.250     1
    7       8      5   0.250     1

    References
    ----------
    Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD 2013.
    """
    smallest = _sizes([min_cluster_size])[0]
    yes_or_no("allow_single_cluster", allow_single_cluster)
    names, points = (source, target, weight), (columns, ids, metric, box)
    made = _dendrograms(edges, names, points, vertices, None, min_samples, smallest, 0.0, options)
    tree, count = condense(made.trees[0], smallest), made.trees[0].vertices
    parent = count + np.concatenate([tree.cluster, tree.parent[1:]])
    child = np.concatenate([np.arange(count), count + np.arange(1, len(tree.parent))])
    density = np.concatenate([tree.density, tree.birth[1:]])
    size = np.concatenate([np.ones(count, np.int64), tree.size[1:]])
    order = np.lexsort((child, density, parent))
    rows = {"parent": parent, "child": child, "lambda": density, "size": size}
    return made.rows.view.build({name: column[order] for name, column in rows.items()})


def _sizes(value: Any) -> list[int]:
    sizes = [whole_number("min_cluster_size", size) for size in (value if is_several(value) else [value])]
    for size in sizes:
        if size < 2:
            raise ValueError(f"min_cluster_size is {size}; it must be at least 2")
    if not sizes or len(set(sizes)) < len(sizes):
        raise ValueError(f"min_cluster_size is {sizes}; pass one size, or several different ones")
    return sizes


class _Made(NamedTuple):
    """Dendrograms of groups, one after the other, and the rows of results."""

    trees: list[Dendrogram]
    rows: Points | VertexList
    epsilon: float  # in the type of the weights


def _dendrograms(
    edges: Frame,
    names: tuple[Any, Any, Any],
    points: tuple[object, object, object, object],
    vertices: Any,
    by: Any,
    min_samples: int | None,
    smallest: int,
    epsilon: float,
    options: Reading,
) -> _Made:
    """Make the dendrograms of points, or of an edge table, for which options of points are refused."""
    columns, ids, metric, box = points
    if columns is not None or is_array(edges):
        if by is not None:
            raise ValueError("by= groups the rows of an edge table, and these are points")
        tree, rows = _of_points(edges, points, min_samples, smallest, options.get("threads"))
        return _Made([tree], rows, epsilon)
    check_metric("euclidean" if metric is None else metric)
    if metric not in (None, "euclidean") or ids is not None or box is not None:
        message = "metric=, ids= and box= are for points, and an edge table has distances already"
        raise ValueError(f"{message}; name the coordinates of points with columns=")
    names = one_name(names[0]), one_name(names[1]), one_name(names[2])
    if isinstance(names[0], list):  # as points_forest takes them
        message = f"source names {len(names[0])} columns, and an edge table has one for an end"
        raise InvalidEdgesError(message, f"name the coordinates of points with columns={names[0]!r}")
    return _of_edges(edges, Request.of(*names, by=by, joint_keys=False, **options), vertices, min_samples, epsilon)


def _of_points(
    frame: Frame, about: tuple[Any, Any, Any, Any], min_samples: int | None, smallest: int, threads: int | None
) -> tuple[Dendrogram, Points]:
    columns, ids, metric, box = about
    read = read_points(frame, columns, ids)
    if read.view.on_device:
        message = "clusters and dendrograms are made of points on the host, and these are on a GPU"
        raise UnsupportedFrameError(message, "pass points.to_arrow()")
    others = max(0, read.number - 1)
    core = min(others, smallest if min_samples is None else positive("min_samples", min_samples))
    engine = select_engine("cpu", threads, rows=others)
    measured = measure(engine, read, metric, box)
    pairs = spanning_pairs(engine, measured.coordinates, default_neighbors(measured), core, measured.space)
    distance = measured.unit(engine, pairs[2])
    order = np.argsort(distance, kind="stable")
    source, target, distance = (column[order] for column in (*pairs[:2], distance))
    return _dendrogram(engine, source, target, distance, read.number), read._replace(about=measured.about)


def _of_edges(
    edges: Frame, request: Request, vertices: Vertices | None, min_samples: int | None, epsilon: float
) -> _Made:
    weight, reweigh = request.columns.weight, None
    if min_samples is not None:
        reweigh = partial(_reachability, min(positive("min_samples", min_samples), ROW_LIMIT), weight)
    try:
        forest = order_forest(edges, request, vertices, reweigh=reweigh)
    except ColumnNotFoundError as error:
        raise or_points(error, (request.columns.source, request.columns.target, weight)) from None
    distance = forest.engine.to_host(forest.distances(weight))
    forest = forest.to_host()
    _check_distances(weight, distance)
    if epsilon and weight is not None:
        epsilon = float(in_type(epsilon, forest.weights(weight)))
    ends, groups = (forest.source, forest.target), forest.listed.groups
    if groups is None or not forest.vertices:
        return _Made([_dendrogram(forest.engine, *ends, distance, forest.vertices)], forest.listed, epsilon)
    group, _, order = forest.places_in_groups()
    bounds = np.searchsorted(group[order], np.arange(len(groups.row) + 1))
    made, places = [], forest.listed.engine.to_host(groups.begin)
    for at, (begin, end) in enumerate(pairwise(bounds)):
        rows, first = order[begin:end], np.uint32(places[at])
        source, target = (column[rows] - first for column in ends)
        made.append(_dendrogram(forest.engine, source, target, distance[rows], int(places[at + 1] - places[at])))
    return _Made(made, forest.listed, epsilon)


def _check_distances(name: ColumnName, distance: Array) -> None:
    if (distance < 0).any():
        message = f"column {name!r} holds negative weights, and distances are not"
        raise InvalidEdgesError(message, "add a constant, or take the distances that these stand for")


def _dendrogram(engine: Engine, source: Array, target: Array, distance: Array, vertices: int) -> Dendrogram:
    finite = int(np.searchsorted(distance, np.inf))  # others join nothing
    return build_dendrogram(engine, source[:finite], target[:finite], distance[:finite], vertices)


def _reachability(min_samples: int, name: ColumnName, engine: Engine, table: EdgeTable, distance: Array) -> Array:
    """Mutual reachability of every row: the largest of its distance and of the core distances of its ends."""
    _check_distances(name, distance)
    xp = engine.xp
    low, high = xp.minimum(table.source, table.target), xp.maximum(table.source, table.target)
    pair = low.astype(np.uint64) << np.uint64(32) | high.astype(np.uint64)
    order = sort_order(engine, (distance + 0.0).view(np.uint64))  # not negative: their bits are in their order
    order = order[sort_order(engine, pair[order])]
    pair = pair[order]
    first = xp.ones(len(pair), bool)
    first[1:] = pair[1:] != pair[:-1]
    kept = order[first]  # the lightest row of each pair
    kept = kept[low[kept] != high[kept]]
    kept = kept[sort_order(engine, (distance[kept] + 0.0).view(np.uint64))]
    ends = xp.empty(2 * len(kept), np.uint32)
    ends[::2], ends[1::2] = low[kept], high[kept]
    ranked = distance[kept[sort_order(engine, ends) // 2]]  # by vertex, then by distance
    degree = xp.bincount(ends, minlength=table.vertices)
    core = xp.full(table.vertices, np.inf)
    enough = degree >= min_samples
    core[enough] = ranked[(xp.cumsum(degree) - degree)[enough] + (min_samples - 1)]
    weight: Array = xp.maximum(distance, xp.maximum(core[table.source], core[table.target]))
    return weight
