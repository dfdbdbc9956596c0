"""Single linkage of an edge table: the dendrogram of its forest, as a frame or as SciPy's matrix."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dfmst._common.arguments import real_number
from dfmst._common.dispatch import driven
from dfmst._common.types import Array, Frame, Invalid
from dfmst._edges.read import EdgeColumns
from dfmst._engines.primitives.kruskal_tree import Merges, merge_clusters
from dfmst._trees.ordered import OrderedForest, order_forest
from dfmst.algorithms import Algorithm
from dfmst.errors import InvalidEdgesError


@driven("edges")
def single_linkage(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    vertices: Any = None,
    join: float | None = None,
    as_scipy: bool = False,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Any:
    """Return the single-linkage dendrogram of an edge table: one row a merge, in ascending distance.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`; the frame is on the host. Edges of the forest alone give the same
        dendrogram.
    vertices
        All vertices, as for :func:`connected_components`.
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
        n + r is what the merge in row r makes. Equal distances are in the forest's order, by row.
    matrix, ids
        With `as_scipy`: shape ``(n - 1, 4)`` of ``float64``, for ``scipy.cluster.hierarchy``; and the vertices in
        ascending order, Arrow.

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
    columns = EdgeColumns(source, target, weight, False, invalid)
    forest = order_forest(edges, columns, vertices, algorithm=algorithm, engine=engine, threads=threads)
    ends = np.empty(len(forest), np.uint64)
    forest.engine.launch("pack_ends", len(forest), forest.source, forest.target, None, ends)
    left, right, size = merge_clusters(forest.engine, ends, forest.vertices)
    merges = Merges(left.view(np.int64), right.view(np.int64), size.astype(np.int64))
    if join is not None:
        merges = _joined(merges, forest.vertices)
    if as_scipy:
        return _matrix(forest, merges, weight, join), forest.listed.values()
    return _frame(forest, merges, weight, join)


def _joined(merges: Merges, vertices: int) -> Merges:
    """Join the remaining clusters one after the other, the one with the smallest number first."""
    count = len(merges.size)
    whole = np.ones(vertices + count, bool)
    whole[merges.left] = whole[merges.right] = False
    rest = np.flatnonzero(whole)
    if len(rest) < 2:
        return merges
    sizes = np.concatenate([np.ones(vertices, np.int64), merges.size])[rest]
    chain = vertices + count + np.arange(len(rest) - 2)
    return Merges(
        np.concatenate([merges.left, rest[:1], rest[2:]]),
        np.concatenate([merges.right, rest[1:2], chain]),
        np.concatenate([merges.size, np.cumsum(sizes)[1:]]),
    )


def _frame(forest: OrderedForest, merges: Merges, weight: Any, join: float | None) -> Frame:
    backend = forest.view.frame.implementation
    if join is None and weight is not None:
        distance = forest.column(weight, "distance")
    else:
        distance = nw.from_dict({"distance": _distances(forest, merges, weight, join)}, backend=backend)
    frame = nw.concat([distance, nw.from_dict(merges._asdict(), backend=backend)], how="horizontal")
    return forest.view.finish(frame.select("left", "right", "distance", "size"))


def _distances(forest: OrderedForest, merges: Merges, weight: Any, join: float | None) -> Array:
    """Distances of all merges, ``float64``."""
    distance = np.full(len(merges.size), np.nan if join is None else join)
    distance[: len(forest)] = forest.distances(weight)
    if join is not None and len(forest) < len(distance):
        longer = int(np.sum(~(distance[: len(forest)] <= join)))
        if longer or np.isnan(join):
            message = f"join is {join:g}, and {longer:,} edges of the forest are not below it"
            raise InvalidEdgesError(message, "join components at no less than their edges, for example at numpy.inf")
    return distance


def _matrix(forest: OrderedForest, merges: Merges, weight: Any, join: float | None) -> Array:
    if len(merges.size) < forest.vertices - 1:
        message = f"{forest.trees:,} components; SciPy's matrix has one tree"
        raise InvalidEdgesError(message, "join them: join=numpy.inf")
    distance = _distances(forest, merges, weight, join)
    return np.column_stack([merges.left, merges.right, distance, merges.size]).astype(np.float64)
