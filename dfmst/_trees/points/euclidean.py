"""The spanning tree of points, and their nearest neighbors as an edge table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name, whole_number, yes_or_no
from dfmst._common.types import ROW_LIMIT, Array, Frame
from dfmst._edges.arrow_values import arrow_column, number_array, plain_ids, to_arrow
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView, host_column, open_frame
from dfmst._engines import Engine, select_engine
from dfmst._trees.points.spanning import build_tree, distances, halves, nearest_points, spanning_pairs
from dfmst.errors import CapacityError, InvalidEdgesError, UnsupportedFrameError, missing_column

_NEAR, _FAR = 6, 4  # neighbors to search first: for up to three axes, and for more


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
        Number of nearest neighbors of every point to search first. The tree does not depend on it.
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
    engine = select_engine("cpu", threads, rows=read.number)
    source, target, distance = spanning_pairs(engine, read.coordinates, wanted, core)
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
        Also return whether the forest of the edges is the tree of the points. It is not if `k` is too small: the
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
    engine = select_engine("cpu", threads, rows=read.number)
    source, target = _nearest_pairs(engine, read.coordinates, wanted)
    numbers = {"distance": distances(read.coordinates, source, target)}
    frame = read.frame({"source": source, "target": target}, numbers)
    if not exact:
        return frame
    tree = spanning_pairs(engine, read.coordinates, wanted)
    return frame, bool(np.isin(_words(*tree[:2]), _words(source, target)).all())


def default_neighbors(read: Points) -> int:
    """Return the number of neighbors of every point to look at first."""
    return _NEAR if len(read.coordinates) <= 3 else _FAR


def _neighbors(argument: str, value: Any, read: Points) -> int:
    """Check a number of neighbors; at most all other points are neighbors."""
    count = whole_number(argument, value)
    if count < 1:
        raise InvalidEdgesError(f"{argument} is {count}; it must be at least 1", "pass a number of neighbors")
    return min(count, max(0, read.number - 1))


def _core(value: Any, read: Points) -> int:
    count, points = whole_number("min_samples", value), read.number
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


_FARTHEST = 1e150  # the square of a difference is still a number


class Points(NamedTuple):
    """Coordinates of points, and their names."""

    coordinates: Array  # ``float64``, shape ``(axes, points)``
    view: FrameView  # the frame that results resemble: the points' own, or an Arrow table for an array
    ids: Any  # the column that names the points; ``None``: their row names them

    @property
    def number(self) -> int:
        """The number of points."""
        number: int = self.coordinates.shape[1]
        return number

    def frame(self, ends: Mapping[str, Array], numbers: Mapping[str, Array]) -> Any:
        """Build a frame of the points' kind, with ids for columns of points, and columns of numbers next to them."""
        if self.ids is None:
            return self.view.build({**ends, **numbers})
        ids = self.view.series(self.ids)
        named = [nw.maybe_reset_index(ids[at]).alias(name).to_frame() for name, at in ends.items()]
        beside = nw.from_dict(dict(numbers), backend=self.view.frame.implementation)
        return self.view.finish(nw.concat([*named, beside], how="horizontal"))


def read_points(points: Any, columns: Any, ids: Any) -> Points:
    """Read the coordinates of points."""
    rows = None
    if is_array(points):
        points, columns, rows = _table(points, columns, ids)
    view = open_frame(points, "points")
    if isinstance(view, DeviceView):
        raise UnsupportedFrameError("points are read on the host, and these are on a GPU", "pass points.to_arrow()")
    if ids is not None:
        check_column_name("ids", ids)
    names = [name for name in view.frame.columns if ids is None or name != ids] if columns is None else columns
    names = list(names) if isinstance(names, (list, tuple)) else [names]
    for name in names if ids is None else [ids, *names]:
        check_column_name("column", name)
        if name not in view.frame.columns:
            hint = "name the coordinates with columns=, and the points with ids="
            raise missing_column(name, view.frame.columns, hint)
    if not names:
        hint = "name their columns with columns="
        raise InvalidEdgesError("the points have no coordinates", hint, option=("columns=", "-c"))
    if len(view) > ROW_LIMIT:
        message = f"there are {len(view):,} points; positions number at most {ROW_LIMIT:,}"
        raise CapacityError(message, "take a sample of them")
    checked = [_coordinate(name, view) for name in names]
    return Points(np.stack(checked) if rows is None else rows, view, ids)


def is_array(points: Any) -> bool:
    """Whether an object is an array or a list, and no frame."""
    return (hasattr(points, "shape") and hasattr(points, "dtype")) or isinstance(points, (list, tuple))


def _table(points: Any, columns: Any, ids: Any) -> tuple[pa.Table, list[str], Array | None]:
    """An array as a table of columns x0, x1 and so on, their names, and floats also as an array of these columns."""
    if columns is not None or ids is not None:
        raise InvalidEdgesError(
            "columns= and ids= name columns of a frame, and the points are an array", "leave them out"
        )
    array = number_array("points", points)
    if array.ndim != 2:
        message = f"the array of points has {array.ndim} dimensions; it must have two"
        raise InvalidEdgesError(message, "pass one row a point, one column an axis")
    names = [f"x{axis}" for axis in range(array.shape[1])]
    if array.dtype.kind not in "iuf":
        message = f"the array of points holds {array.dtype} values; coordinates must be numbers"
        raise InvalidEdgesError(message, "cast it to float64")
    rows = np.ascontiguousarray(array.T)
    table = pa.table({name: to_arrow(name, row, nan_is_null=False) for name, row in zip(names, rows, strict=True)})
    return table, names, rows if rows.dtype == np.float64 else None


def _coordinate(name: Any, view: FrameView) -> Array:
    column: Any = plain_ids(arrow_column(name, host_column(name, view.series(name))))
    kind = column.type
    if not any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)):
        message = f"column {name!r} holds {kind} values; coordinates must be numbers"
        hint = "name the columns with the coordinates: columns=['x', 'y']"
        raise InvalidEdgesError(message, hint, option=("columns=['x', 'y']", "-c x -c y"))
    missing = np.asarray(column.is_null())
    try:
        values = np.asarray(column.cast(pa.float64()).fill_null(0.0))
    except pa.ArrowInvalid as error:
        message = f"column {name!r} holds integers that no float64 is equal to"
        raise InvalidEdgesError(message, "subtract a constant, or cast it to float64 yourself") from error
    wrong = missing | ~np.isfinite(values)
    if wrong.any():
        count = int(wrong.sum())
        which = "coordinate that is" if count == 1 else "coordinates that are"
        message = f"column {name!r} has {count:,} {which} null, NaN or infinite"
        row = int(wrong.argmax())
        raise InvalidEdgesError(f"{message}, the first in row {row}", "fill or remove those rows", row=row)
    if len(values) and (float(values.max()) > _FARTHEST or float(values.min()) < -_FARTHEST):
        raise InvalidEdgesError(f"column {name!r} holds coordinates beyond 1e150", "choose a larger unit")
    return values
