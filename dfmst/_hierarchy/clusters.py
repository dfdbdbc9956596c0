"""Clusters: the components of a forest without its heaviest edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._arguments import whole_number
from dfmst._columns.edge_table import EdgeTable
from dfmst._columns.read import EdgeColumns
from dfmst._frames.columns import host_column
from dfmst._frames.later import pc
from dfmst._hierarchy.ordered import OrderedForest, order_forest
from dfmst.algorithms import Algorithm
from dfmst.algorithms.components import component_labels
from dfmst.errors import InvalidEdgesError
from dfmst.typing import Array, Frame, Invalid

__all__ = ["clusters"]


def clusters(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    n_clusters: int | Iterable[int] | None = None,
    distance: Any = None,
    vertices: Any = None,
    maximum: bool = False,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Any:
    """Cut the forest of an edge table into clusters: single-linkage clusters, at one threshold or several.

    Two vertices are in one cluster where a path joins them whose edges are all kept. Clusters at a lower threshold lie
    within those at a higher one, and each is called after its smallest vertex, so that names are stable between runs.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`; the frame is on the host. Edges of the forest alone give the same
        clusters.
    n_clusters
        How many clusters to make: the heaviest edges of the forest are cut, of equal ones the later row first. Several
        numbers give a column each.
    distance
        The heaviest weight that is kept. Several weights give a column each.
    vertices
        All vertices, as for :func:`connected_components`: those without edges are clusters of their own.
    maximum
        Weights are similarities: the maximum spanning forest is cut, its lightest edges first; `distance` is then the
        lightest weight that is kept.

    Returns
    -------
    clusters
        The same kind of frame, one row a vertex in ascending order: ``vertex``, and ``cluster``, the smallest vertex
        of its cluster. Of several thresholds one column each instead: ``d5``, ``d10`` for ``distance=[5, 10]``,
        ``k2``, ``k3`` for ``n_clusters=[2, 3]``.

    Raises
    ------
    InvalidEdgesError
        There are more components, or fewer vertices, than clusters to make.
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

    References
    ----------
    Gower and Ross: Minimum spanning trees and single linkage cluster analysis. Applied Statistics 18 (1969).
    """
    if (n_clusters is None) == (distance is None):
        message = "give either n_clusters= or distance="
        raise ValueError(message)
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    forest = order_forest(edges, columns, vertices, algorithm=algorithm, engine=engine, threads=threads)
    if distance is None:
        counts = [whole_number("n_clusters", count) for count in _each(n_clusters)]
        cuts = [(_name("k", count), _merges(forest, count)) for count in counts]
        several = _several(n_clusters)
    else:
        weights = _weights(forest, weight)
        cuts = [(_name("d", d), _lighter(weights, weight, d, maximum=maximum)) for d in _each(distance)]
        several = _several(distance)
    labels = {name if several else "cluster": _labels(forest, kept) for name, kept in cuts}
    if len(labels) < len(cuts):
        message = f"the same threshold twice: {', '.join(name for name, _ in cuts)}"
        raise ValueError(message)
    return forest.listed.frame({"vertex": np.arange(forest.vertices), **labels})


def _several(thresholds: Any) -> bool:
    return isinstance(thresholds, Iterable) and not isinstance(thresholds, str)


def _each(thresholds: Any) -> list[Any]:
    return list(thresholds) if _several(thresholds) else [thresholds]


def _name(letter: str, threshold: Any) -> str:
    return f"{letter}{threshold:g}" if isinstance(threshold, (int, float, np.number)) else f"{letter}{threshold}"


def _merges(forest: OrderedForest, count: int) -> int:
    """Edges to keep for so many clusters."""
    if not forest.trees <= count <= forest.vertices:
        message = f"{count:,} clusters cannot be made of {forest.vertices:,} vertices in {forest.trees:,} components"
        raise InvalidEdgesError(message, f"make {forest.trees:,} to {forest.vertices:,}")
    return forest.vertices - int(count)


def _weights(forest: OrderedForest, weight: Any) -> pa.Array | pa.ChunkedArray:
    """Weights of the forest's edges, in order, as the frame has them."""
    if weight is None:
        message = "distance= needs a weight column; with weight=None there is n_clusters="
        raise ValueError(message)
    column = host_column(weight, forest.column(weight, "weight").get_column("weight"))
    return pa.array(column) if isinstance(column, np.ndarray) else column


def _lighter(weights: Any, name: Any, distance: Any, *, maximum: bool) -> int:
    """Edges to keep: they come first."""
    if distance != distance:
        message = f"distance is {distance}; pass the heaviest weight to keep"
        raise ValueError(message)
    try:
        keep = (pc.greater_equal if maximum else pc.less_equal)(weights, pa.scalar(distance))
    except (pa.ArrowException, TypeError) as error:
        message = f"distance {distance!r} does not compare with column {name!r}, which holds {weights.type} values"
        raise ValueError(message) from error
    return int(pc.sum(keep).as_py() or 0)


def _labels(forest: OrderedForest, kept: int) -> Array:
    """The smallest place of each place's cluster."""
    source, target = forest.source[:kept], forest.target[:kept]
    return component_labels(forest.engine, EdgeTable(source, target, source, forest.vertices))
