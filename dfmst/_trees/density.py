"""HDBSCAN's clusters of an edge table or of points, by the package fast_hdbscan."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dfmst._common.arguments import check_choice, whole_number
from dfmst._common.dispatch import driven
from dfmst._common.types import Array, Frame, Invalid
from dfmst._edges.read import EdgeColumns
from dfmst._engines import select_engine
from dfmst._trees.ordered import OrderedForest, order_forest
from dfmst._trees.points.euclidean import default_neighbors, is_array, read_points
from dfmst._trees.points.spanning import spanning_pairs
from dfmst.errors import EngineUnavailableError, InvalidEdgesError


@driven("edges")
def hdbscan(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    columns: Any = None,
    ids: Any = None,
    min_samples: int | None = None,
    min_cluster_size: int = 5,
    cluster_selection_method: str = "eom",
    vertices: Any = None,
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Any:
    """Cluster an edge table, or points, by density: HDBSCAN on the forest.

    Components stay apart: they are joined at an infinite distance, as are the parts of a graph that other libraries
    refuse because it is not connected.

    Parameters
    ----------
    edges
        An edge table on the host, whose weights are distances. Or points, if `columns` is given or it is an array.
    source, target, weight, invalid, threads
        As for :func:`minimum_spanning_forest`.
    columns, ids
        Points: as for :func:`euclidean_forest`.
    min_samples
        Points: as for :func:`euclidean_forest`; ``None``: `min_cluster_size`, or all other points if there are fewer.
        The weights of an edge table are taken as they are.
    min_cluster_size
        Smaller groups are noise; at least 2.
    cluster_selection_method
        ``"eom"`` selects the clusters of the largest excess of mass, ``"leaf"`` the smallest ones.
    vertices
        Edge tables: all vertices, as for :func:`connected_components`. Those without edges are noise.

    Returns
    -------
    labels
        The same kind of frame, one row a vertex: ``vertex`` in ascending order (of points the id, or the row, row by
        row); ``label``, ``int64``: clusters are numbered from 0 on by their first vertex, -1 is noise;
        ``probability``, ``float64``: how strongly the vertex belongs to it, from 0 to 1.

    Raises
    ------
    EngineUnavailableError
        fast_hdbscan is not installed.
    InvalidEdgesError
        Negative weights.
    ValueError
        `min_cluster_size` is less than 2, or `cluster_selection_method` unknown.
    ColumnNotFoundError, UnsupportedFrameError, CapacityError
        As for :func:`connected_components` and :func:`euclidean_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 4, 5], "target": [2, 3, 5, 6], "weight": [1.0, 2.0, 1.0, 1.0]})
    >>> dfmst.hdbscan(roads, min_cluster_size=3).label.tolist()  # doctest: +SKIP
    [0, 0, 0, 1, 1, 1]

    References
    ----------
    Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD 2013.
    """
    smallest = whole_number("min_cluster_size", min_cluster_size)
    if smallest < 2:
        raise ValueError(f"min_cluster_size is {smallest}; it must be at least 2")
    check_choice(
        cluster_selection_method,
        ("eom", "leaf"),
        f"cluster_selection_method is {cluster_selection_method!r}; it must be 'eom' or 'leaf'",
    )
    cut = partial(_clusters, _selector(), smallest, cluster_selection_method)
    if columns is not None or is_array(edges):
        points = read_points(edges, columns, ids)
        others = max(0, points.number - 1)
        core = min(others, smallest if min_samples is None else max(1, whole_number("min_samples", min_samples)))
        engine = select_engine("cpu", threads, rows=others)
        tree = spanning_pairs(engine, points.coordinates, default_neighbors(points), core)
        label, probability = cut(tree, others + 1)
        rows = np.arange(points.number)
        return points.frame({"vertex": rows}, {"label": label[: len(rows)], "probability": probability[: len(rows)]})
    if isinstance(source, list):  # as euclidean_forest takes them
        message = f"source names {len(source)} columns, and an edge table has one for an end"
        raise InvalidEdgesError(message, f"name the coordinates of points with columns={source!r}")
    names = EdgeColumns(source, target, weight, False, invalid)
    forest = order_forest(edges, names, vertices, algorithm="auto", engine="auto", threads=threads)
    distance = forest.distances(weight)
    if (distance < 0).any():
        message = f"column {weight!r} holds negative weights, and distances are not"
        raise InvalidEdgesError(message, "add a constant, or take the distances that these stand for")
    label, probability = cut(_joined(forest, distance), forest.vertices)
    return forest.listed.frame({"vertex": np.arange(forest.vertices)}, {"label": label, "probability": probability})


def _selector() -> Callable[..., Any]:
    try:
        from fast_hdbscan.hdbscan import clusters_from_spanning_tree
    except ImportError as error:
        message = f"hdbscan needs the package fast_hdbscan: {error}"
        raise EngineUnavailableError(message, "pip install 'dfmst[hdbscan]'") from error
    select: Callable[..., Any] = clusters_from_spanning_tree
    return select


def _clusters(
    select: Callable[..., Any], smallest: int, method: str, tree: tuple[Array, Array, Array], vertices: int
) -> tuple[Array, Array]:
    """Label and probability of every vertex."""
    if vertices < 2:
        return np.full(vertices, -1), np.zeros(vertices)
    options = {"min_cluster_size": min(smallest, vertices + 1), "cluster_selection_method": method}
    label, probability, *_ = select(np.column_stack(tree), **options)
    return _by_first_vertex(label), probability.astype(np.float64)


def _joined(forest: OrderedForest, distance: Array) -> tuple[Array, Array, Array]:
    """The forest's edges, and infinite ones that make it a tree."""
    roots = np.flatnonzero(forest.labels() == np.arange(forest.vertices))
    source = np.concatenate([forest.source.astype(np.int64), roots[:-1]])
    target = np.concatenate([forest.target.astype(np.int64), roots[1:]])
    return source, target, np.concatenate([distance, np.full(max(0, forest.trees - 1), np.inf)])


def _by_first_vertex(label: Array) -> Array:
    """Clusters numbered in the order of their first vertices; noise stays -1."""
    known, first, place = np.unique(label, return_index=True, return_inverse=True)
    clusters = known >= 0
    number = np.full(len(known), -1)
    number[clusters] = np.argsort(np.argsort(first[clusters]))
    return number[place]
