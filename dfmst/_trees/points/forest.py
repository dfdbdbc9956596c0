"""Public functions of points: their spanning tree, and their nearest neighbors as an edge table."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dfmst._common.arguments import whole_number, yes_or_no
from dfmst._common.types import Array, Columns, Frame, FrameT
from dfmst._engines import Engine, select_engine
from dfmst._trees.points.read import Points, read_points, read_series
from dfmst._trees.points.search import Box, Measured, distances, measure
from dfmst._trees.points.spanning import complete_pairs, given_pairs, nearest_pairs, spanning_pairs, words_of
from dfmst._trees.request import with_options
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

_NEAR, _FAR = 6, 4  # neighbors to search first: for up to three axes, and for more


@with_options("memory")
def points_forest(
    points: Frame,
    columns: Columns | None = None,
    *,
    metric: str | None = None,
    ids: Columns | None = None,
    k: int | None = None,
    min_samples: int | None = None,
    box: Box | None = None,
    edges: Frame = None,
    keep: Frame = None,
    return_exact: bool = False,
    threads: int | None = None,
) -> Any:
    """Return the minimum spanning tree of points, exactly.

    It is the tree that :func:`minimum_spanning_forest` finds in the table of all pairs of points, without that table.

    Parameters
    ----------
    points
        pandas, polars (eager or lazy), pyarrow, or any object with ``__arrow_c_stream__``; or an array of shape
        ``(points, axes)``; or geometries: a frame of GeoPandas, GeoParquet or GeoArrow, a ``GeoSeries``, a column of
        Shapely's points. Integers, floats and decimals are read as ``float64``. Frames of cuDF stay on the GPU.
    columns
        Names of the columns with the coordinates, or of one column of geometries; ``None``: that of the geometries, or
        all columns but `ids`.
    metric
        How distances are measured. ``None``: ``"haversine"`` for geometries whose reference system is in degrees, else
        ``"euclidean"``, with a ``UserWarning`` if columns are named as latitude and longitude.

        - ``"euclidean"``, ``"manhattan"`` (sum of differences) or ``"chebyshev"`` (largest difference).
        - ``"haversine"``: meters along the earth, a sphere of radius 6,371,008.8 m, of latitudes and longitudes in
          degrees. The words lat, latitude, lon, lng, long and longitude in the names of the two columns say which is
          which (``stop_lon``, ``decimalLatitude``), and of ``x`` and ``y``, x is the longitude. If names say nothing,
          latitude comes first. The result's attributes name the columns (``attrs`` of pandas, metadata of Arrow).
        - ``"cosine"``: 1 - cosine of the angle between two points, from 0 to 2.
        - ``"correlation"``: 1 - Pearson's correlation between the coordinates of two points, from 0 to 2.
    ids
        Name of a column, or of a level of the index, that names the points, each by a value of its own; ``None``: the
        number of its row names a point. Of a list of columns the texts, joined by ``", "``, name the points.
    k
        Number of nearest neighbors of every point to search first. The tree does not depend on it.
    min_samples
        Weigh a pair by its mutual reachability, the largest of its distance and of both points' core distances: how far
        away a point's `min_samples`-th nearest other point is. The tree is then that of HDBSCAN.
    box
        Lengths of a periodic box, one an axis (or one for all; 0 or ``None``: the axis is not periodic): distances are
        those around the box if they are shorter. For ``"euclidean"``, ``"manhattan"`` and ``"chebyshev"``.
    edges
        Pairs of near points that another library found: an array of neighbors of shape ``(points, k)`` with row
        numbers (-1: none), or a frame with columns ``source`` and ``target``, the points' ids. The forest of these
        pairs is completed to a tree by the shortest pairs between its parts. The result may not be the minimum.
    keep
        Pairs that are in the tree however long they are, such as links that exist, in either form of `edges`. The tree
        is the shortest one that has them all.
    return_exact
        Also return whether the tree is known to be the minimum. It is ``False`` with `edges`.
    threads
        As for :func:`minimum_spanning_forest`.

    Returns
    -------
    forest
        The same kind of frame (of an array: a structured array), one row an edge: ``source`` and ``target``, the point
        that comes first in `source`, and ``distance``, ``float64``. Rows are in the order of source, then target. Of
        equal distances the pair whose source comes first counts as nearer, then the one whose target does. Of
        geometries in a frame of GeoPandas, ``geometry`` has each edge as a line.
    exact
        Only with ``return_exact=True``.

    Raises
    ------
    ColumnNotFoundError
        A named column is absent.
    InvalidEdgesError
        Coordinates that are null, NaN, infinite, beyond 1e150, no numbers, or integers that ``float64`` does not hold;
        null or repeated ids; latitudes beyond 90 degrees; ``"haversine"`` of columns whose names are not one latitude
        and one longitude, of a projected reference system, or of heights; a matrix of distances or correlations;
        points without a direction (cosine) or with equal coordinates (correlation);
        `min_samples` or `k` that is less than 1, or `min_samples` that is not less than the number of points; `edges`
        or `keep` that name other points, or pairs of `keep` that form cycles.
    ValueError
        An unknown `metric`, or options that cannot be combined.
    UnsupportedFrameError
        `points` is neither a frame nor an array, or is on a GPU with options that are for the host.
    CapacityError
        More points than positions can number.

    Notes
    -----
    Coordinates are ``float64``, and a distance is the root of the sum of squared differences, axis by axis, each step
    rounded. Points of ``"haversine"`` are compared by their chords in space, of which `distance` is the arc. Points of
    ``"cosine"`` and ``"correlation"`` are scaled to length 1 (after their mean is subtracted) and compared by the
    distance between them, whose square is twice the result's.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> towns = pd.DataFrame({"name": ["a", "b", "c"], "x": [0, 3, 3], "y": [0, 4, 5]})
    >>> dfmst.points_forest(towns, ["x", "y"], ids="name")
      source target  distance
    0      a      b       5.0
    1      b      c       1.0
    >>> cities = pd.DataFrame({"lat": [-18.1, -13.8, -12.0], "lon": [178.4, -171.8, -77.0]})
    >>> dfmst.points_forest(cities, ["lat", "lon"], metric="haversine").distance.round(-3).tolist()
    [1151000.0, 10198000.0]

    References
    ----------
    March, Ram, Gray: Fast Euclidean minimum spanning tree. KDD 2010.

    Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD 2013.
    """
    read = read_points(points, columns, ids)
    engine = engine_for(read, threads)
    with engine.guard():
        measured = measure(engine, read, metric, box)
        wanted = default_neighbors(measured) if k is None else _neighbors("k", k, read)
        core = 0 if min_samples is None else _core(min_samples, read)
        exact = yes_or_no("return_exact", return_exact)
        argument, given = ("edges", edges) if keep is None else ("keep", keep)
        if keep is not None and edges is not None:
            raise ValueError("keep= and edges= cannot be combined")
        if given is None:
            source, target, weight = spanning_pairs(engine, measured.coordinates, wanted, core, measured.space)
        elif core:
            raise ValueError(f"min_samples= and {argument}= cannot be combined: core distances need the nearest points")
        else:
            if not engine.on_host:
                message = f"{argument}= is for points on the host, and these are on a GPU"
                raise UnsupportedFrameError(message, "pass points.to_arrow()")
            source, target, weight = complete_pairs(
                engine, measured, given_pairs(argument, given, read), keep=keep is not None
            )
        frame = _edge_frame(engine, read, measured, source, target, weight)
    return (frame, edges is None) if exact else frame


@with_options("memory", like=points_forest)
def euclidean_forest(points: Frame, columns: Columns | None = None, **options: Any) -> Any:
    """Return the minimum spanning tree of points under the Euclidean distance, exactly.

    The parameters, the result and the errors are those of :func:`points_forest`.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.euclidean_forest([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])["distance"].tolist()
    [5.0, 1.0]
    """
    return points_forest(points, columns, metric="euclidean", **options)


@with_options("memory")
def correlation_forest(table: FrameT, columns: Columns | None = None, *, threads: int | None = None) -> FrameT:
    """Return the minimum spanning tree of a table's columns by their correlation: time series as vertices.

    The table of all pairs of columns is never made.

    Parameters
    ----------
    table
        Any frame that :func:`points_forest` reads, one column a vertex; for example daily returns, one row a day.
    columns
        Names of the columns; ``None``: all columns.
    threads
        As for :func:`minimum_spanning_forest`.

    Returns
    -------
    forest
        The same kind of frame, one row an edge: ``source`` and ``target``, names of columns, and ``distance``, 1 -
        Pearson's correlation, from 0 to 2. Order and ties are those of :func:`points_forest`.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, CapacityError
        As for :func:`points_forest`; a column whose values are all equal has no correlation.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> returns = pd.DataFrame({"a": [1, 2, 3, 4], "b": [2, 4, 6, 9], "c": [5, 1, 4, 1]})
    >>> dfmst.correlation_forest(returns).round(3)
      source target  distance
    0      a      b     0.006
    1      a      c     1.564

    References
    ----------
    Mantegna: Hierarchical structure in financial markets. European Physical Journal B 11 (1999).
    """
    read = read_series(table, columns)
    engine = engine_for(read, threads)
    with engine.guard():
        measured = measure(engine, read, "correlation", None)
        edges = spanning_pairs(engine, measured.coordinates, default_neighbors(measured), 0, measured.space)
        return _edge_frame(engine, read, measured, *edges)  # type: ignore[no-any-return]


@with_options("memory")
def knn_edges(
    points: Frame,
    columns: Columns | None = None,
    k: int = 10,
    *,
    metric: str | None = None,
    ids: Columns | None = None,
    box: Box | None = None,
    return_exact: bool = False,
    threads: int | None = None,
) -> Any:
    """Join every point with its `k` nearest others: an edge table for all functions of dfmst.

    Parameters
    ----------
    points, columns, metric, ids, box, threads
        As for :func:`points_forest`.
    k
        Number of neighbors; of equally distant ones those that come first. All other points if there are fewer.
    return_exact
        Also return whether the forest of the edges is the tree of the points. It is not if `k` is too small: the
        forest may then have several trees, or longer edges.

    Returns
    -------
    edges
        The same kind of frame as of :func:`points_forest`, one row a pair of which one point is among the nearest of
        the other.
    exact
        Only with ``return_exact=True``.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, CapacityError
        As for :func:`points_forest`.

    Examples
    --------
    >>> import numpy as np
    >>> import dfmst
    >>> edges, exact = dfmst.knn_edges(np.array([[0.0], [1.0], [3.0], [4.0]]), k=1, return_exact=True)
    >>> edges["source"].tolist(), edges["target"].tolist(), exact
    ([0, 2], [1, 3], False)
    """
    read = read_points(points, columns, ids)
    wanted, exact = _neighbors("k", k, read), yes_or_no("return_exact", return_exact)
    engine = engine_for(read, threads)
    with engine.guard():
        measured, xp = measure(engine, read, metric, box), engine.xp
        source, target = nearest_pairs(engine, measured.coordinates, wanted, measured.space)
        weight = distances(engine, measured.coordinates, source, target, measured.space)
        frame = _edge_frame(engine, read, measured, source, target, weight)
        if not exact:
            return frame
        tree = spanning_pairs(engine, measured.coordinates, wanted, 0, measured.space)
        pairs, inside = words_of(xp, source, target), words_of(xp, *tree[:2])
        if not len(pairs):
            return frame, not len(inside)
        place = xp.minimum(xp.searchsorted(pairs, inside), len(pairs) - 1)
        return frame, bool((pairs[place] == inside).all())


def engine_for(read: Points, threads: int | None) -> Engine:
    return select_engine("cuda" if read.view.on_device else "cpu", threads, rows=read.number)


def _edge_frame(engine: Engine, read: Points, measured: Measured, source: Array, target: Array, weight: Array) -> Frame:
    """Return pairs of points and their distances, in the unit of the metric, as a frame of the points' kind."""
    named = read._replace(about=measured.about)
    frame = named.frame({"source": source, "target": target}, {"distance": measured.unit(engine, weight)})
    if read.places is None or not hasattr(frame, "attrs"):  # a frame of Narwhals has none
        return frame
    ends = np.stack([read.coordinates[:, end].T for end in (source, target)], axis=1)
    lines = sys.modules["geopandas"].GeoDataFrame(
        frame, geometry=sys.modules["shapely"].linestrings(ends), crs=read.places.crs
    )
    lines.attrs = frame.attrs
    return lines


def default_neighbors(measured: Measured) -> int:
    return _NEAR if len(measured.coordinates) <= 3 else _FAR


def _neighbors(argument: str, value: object, read: Points) -> int:
    """Check a number of neighbors; at most all other points are neighbors."""
    return min(positive(argument, value), max(0, read.number - 1))


def positive(argument: str, value: object) -> int:
    count = whole_number(argument, value)
    if count < 1:
        raise InvalidEdgesError(f"{argument} is {count}; it must be at least 1", "pass a number of neighbors")
    return count


def _core(value: object, read: Points) -> int:
    count, points = positive("min_samples", value), read.number
    if points > 1 and count >= points:
        message = f"min_samples is {count}, and there are {points:,} points: a point has 1 to {points - 1:,} others"
        option = "min_samples", "--min-samples"
        raise InvalidEdgesError(message, "choose a number in between, or leave min_samples out", option=option)
    return count
