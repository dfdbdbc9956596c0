"""Public functions of points: their spanning tree, and their nearest neighbors as an edge table."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst._common.arguments import whole_number, yes_or_no
from dfmst._common.types import Array, Frame
from dfmst._engines import Engine, select_engine
from dfmst._trees.points.read import Points, read_points
from dfmst._trees.points.spanning import build_tree, distances, halves, nearest_points, spanning_pairs
from dfmst.errors import InvalidEdgesError

_NEAR, _FAR = 6, 4  # neighbors to look at first: up to three axes, where they cost little, and above


def euclidean_forest(
    points: Frame,
    columns: Any = None,
    *,
    ids: Any = None,
    k: int | None = None,
    min_samples: int | None = None,
    threads: int | None = None,
) -> Any:
    """Return the minimum spanning tree of points under the Euclidean distance, exactly.

    It is the tree that :func:`minimum_spanning_forest` finds in the table of all pairs of points, without that table.

    Parameters
    ----------
    points
        pandas, polars (eager or lazy), pyarrow, or any object with ``__arrow_c_stream__``; or an array of shape
        ``(points, axes)``. On the host. Integers, floats and decimals are read as ``float64``.
    columns
        Names of the columns with the coordinates; ``None``: all columns but `ids`.
    ids
        Name of a column that names the points; ``None``: the number of its row names a point.
    k
        How many nearest neighbors of every point to look at first. The tree does not depend on it.
    min_samples
        Weigh a pair by its mutual reachability, the largest of its distance and of both points' core distances: how far
        away a point's `min_samples`-th nearest other point is. The tree is then that of HDBSCAN.
    threads
        As for :func:`minimum_spanning_forest`.

    Returns
    -------
    forest
        The same kind of frame (of an array: a ``pyarrow.Table``), one row an edge: ``source`` and ``target``, the point
        that comes first in `source`, and ``distance``, ``float64``. Rows are in the order of source, then target. Of
        equal distances the pair whose source comes first counts as nearer, then the one whose target does.

    Raises
    ------
    ColumnNotFoundError
        A named column is absent.
    InvalidEdgesError
        Coordinates that are null, NaN, infinite, beyond 1e150, no numbers, or integers that ``float64`` does not hold;
        `min_samples` or `k` that is less than 1, or `min_samples` that is not less than the number of points.
    UnsupportedFrameError
        `points` is neither a frame nor an array, or is on a GPU.
    CapacityError
        More points than positions can number.

    Notes
    -----
    A distance is the root of the sum of squared differences, axis by axis, each step rounded to ``float64``.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> towns = pd.DataFrame({"name": ["a", "b", "c"], "x": [0, 3, 3], "y": [0, 4, 5]})
    >>> dfmst.euclidean_forest(towns, ["x", "y"], ids="name")
      source target  distance
    0      a      b       5.0
    1      b      c       1.0

    References
    ----------
    March, Ram, Gray: Fast Euclidean minimum spanning tree. KDD 2010.

    Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD 2013.
    """
    read = read_points(points, columns, ids)
    wanted = default_neighbors(read) if k is None else _neighbors("k", k, read)
    core = 0 if min_samples is None else _core(min_samples, read)
    source, target, distance = spanning_pairs(_engine(read, threads), read.coordinates, wanted, core)
    return read.frame({"source": source, "target": target}, {"distance": distance})


def knn_edges(
    points: Frame,
    columns: Any = None,
    k: int = 10,
    *,
    ids: Any = None,
    return_exact: bool = False,
    threads: int | None = None,
) -> Any:
    """Join every point with its `k` nearest others: an edge table for all functions of dfmst.

    Parameters
    ----------
    points, columns, ids, threads
        As for :func:`euclidean_forest`.
    k
        Number of neighbors; of equally distant ones those that come first. All other points if there are fewer.
    return_exact
        Also return whether the forest of the edges is the tree of the points. It is not where `k` is too small: the
        forest may then have several trees, or longer edges.

    Returns
    -------
    edges
        The same kind of frame as of :func:`euclidean_forest`, one row a pair of which one point is among the nearest of
        the other.
    exact
        Only with ``return_exact=True``.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, CapacityError
        As for :func:`euclidean_forest`.

    Examples
    --------
    >>> import numpy as np
    >>> import dfmst
    >>> edges, exact = dfmst.knn_edges(np.array([[0.0], [1.0], [3.0], [4.0]]), k=1, return_exact=True)
    >>> edges.to_pydict(), exact
    ({'source': [0, 2], 'target': [1, 3], 'distance': [1.0, 1.0]}, False)
    """
    read = read_points(points, columns, ids)
    wanted, exact = _neighbors("k", k, read), yes_or_no("return_exact", return_exact)
    engine = _engine(read, threads)
    source, target = _nearest_pairs(engine, read.coordinates, wanted)
    numbers = {"distance": distances(read.coordinates, source, target)}
    frame = read.frame({"source": source, "target": target}, numbers)
    if not exact:
        return frame
    tree = spanning_pairs(engine, read.coordinates, wanted)
    return frame, bool(np.isin(_words(*tree[:2]), _words(source, target)).all())


def default_neighbors(read: Points) -> int:
    """How many neighbors of every point to look at first."""
    return _NEAR if len(read.coordinates) <= 3 else _FAR


def _engine(read: Points, threads: int | None) -> Engine:
    return select_engine("cpu", threads, rows=read.coordinates.shape[1])


def _neighbors(argument: str, value: Any, read: Points) -> int:
    """How many neighbors: at most as many as there are other points."""
    count = whole_number(argument, value)
    if count < 1:
        raise InvalidEdgesError(f"{argument} is {count}; it must be at least 1", "name how many neighbors to look at")
    others: int = max(0, read.coordinates.shape[1] - 1)
    return min(count, others)


def _core(value: Any, read: Points) -> int:
    count, points = whole_number("min_samples", value), read.coordinates.shape[1]
    if points > 1 and not 1 <= count < points:
        message = f"min_samples is {count}, and there are {points:,} points: a point has 1 to {points - 1:,} others"
        option = "min_samples", "--min-samples"
        raise InvalidEdgesError(message, "choose a number in between, or leave min_samples out", option=option)
    return count


def _nearest_pairs(engine: Engine, coordinates: Array, wanted: int) -> tuple[Array, Array]:
    """Pairs of which one is among the nearest of the other, each once and in ascending order; ``int64``."""
    if not wanted:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    tree = build_tree(engine, coordinates)
    neighbor, _ = nearest_points(engine, tree, wanted)
    one, other = np.repeat(tree.order, wanted), tree.order[neighbor].reshape(-1)
    pairs = np.sort(_words(np.minimum(one, other), np.maximum(one, other)))
    source, target = halves(pairs[np.append(True, pairs[1:] != pairs[:-1])])
    return source, target


def _words(source: Array, target: Array) -> Array:
    return source.astype(np.uint64) << np.uint64(32) | target.astype(np.uint64)
