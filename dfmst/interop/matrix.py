"""Square matrices of distances or correlations: an edge for each pair."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.arguments import refuse_sparse
from dfmst._common.types import Array, Column
from dfmst._edges.arrow_values import arrow_column, number_array, plain_ids, to_arrow
from dfmst._edges.frames import open_host_frame
from dfmst._edges.host_frame import FrameView
from dfmst._trees.points.read import rounding
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from dfmst.interop.labels import labels_of, named

__all__ = ["from_matrix"]


def from_matrix(matrix: Any, *, distance: str | Callable[[Array], Any] | None = None, ids: Column = None) -> Any:
    """Return the pairs of a symmetric matrix as an edge table: its entries above the diagonal.

    Parameters
    ----------
    matrix
        A frame whose columns are the vertices (for example a correlation matrix), or an array of shape ``(n, n)``,
        of any library with ``__array__`` or ``__dlpack__``.
    distance
        What becomes of the entries: nothing (``None``, for distances); ``"mantegna"``, the distance sqrt(2 (1 - r)) of
        a correlation r; or a function of an array that returns one of the same length.
    ids
        The vertices; ``None``: the names of a frame's columns, or 0, 1, 2 and so on.

    Returns
    -------
    edges
        ``source``, ``target`` and ``weight``, row by row; the same kind of frame, for an array a ``pyarrow.Table``.

    Raises
    ------
    InvalidEdgesError
        The matrix is not square, not symmetric, or holds no numbers; a frame's index has its columns in another order;
        `ids` do not fit it; a correlation is not within -1 and 1; without `distance` its diagonal is positive, as of
        similarities.
    UnsupportedFrameError
        `matrix` is neither a frame nor an array.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> prices = pd.DataFrame({"A": [1, 2, 3], "B": [1, 2, 4], "C": [3, 1, 2]})
    >>> edges = dfmst.from_matrix(prices.corr(), distance="mantegna")
    >>> dfmst.minimum_spanning_forest(edges).round(3)
      source target  weight
    0      A      B   0.190
    2      B      C   1.629

    References
    ----------
    Mantegna: Hierarchical structure in financial markets. European Physical Journal B 11, 1999.
    """
    values, view = _values(matrix)
    if ids is None and view is not None:
        ids = view.frame.columns
    labels = None if ids is None else labels_of(ids, len(values), "the matrix")
    _check_symmetric(values)
    row, column = np.triu_indices(len(values), 1)
    weights = to_arrow("weight", _distances(values[row, column], distance), nan_is_null=False)
    if distance is None:
        call = "for similarities call dfmst.from_matrix(matrix, distance={}); distances need zeros there".format
        hints = call('"mantegna"'), call("lambda values: values.max() - values")
        refuse_similarities("the matrix", values.diagonal(), values, hints)
    columns = {"source": named(row, labels), "target": named(column, labels), "weight": weights}
    return pa.table(columns) if view is None else view.build_arrow(columns)


def _values(matrix: object) -> tuple[Array, FrameView | None]:
    """The entries, and the frame that they come from."""
    refuse_sparse("the matrix", matrix, "call dfmst.from_sparse(matrix)")
    if not hasattr(matrix, "__array__") and hasattr(matrix, "__dlpack__"):
        try:
            matrix = np.from_dlpack(matrix)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            message = f"the matrix is no array on the host: {error}"
            raise UnsupportedFrameError(message, "copy it to the host") from error
    if isinstance(matrix, (list, tuple)) or (hasattr(matrix, "shape") and hasattr(matrix, "dtype")):
        view, values = None, number_array("matrix", matrix)
        if values.dtype.kind not in "biuf":
            message = f"the matrix holds {values.dtype} values"
            raise InvalidEdgesError(message, "pass numbers; of a frame, leave out columns of other types")
    else:
        view = open_host_frame(matrix, "matrix")
        names = view.frame.columns
        columns = [plain_ids(arrow_column(name, view.column(name), nan_is_null=False)) for name in names]
        values = np.column_stack(_in_common_type(columns)) if names else np.zeros((0, 0))
        _check_labels(view)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise InvalidEdgesError(f"the matrix has shape {values.shape}", "pass one row and one column a vertex")
    return values, view


def _in_common_type(columns: list[pa.Array]) -> list[Array]:
    """Columns as arrays of one type that holds all their entries; nulls are NaN."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    if all(any(test(column.type) for test in tests) for column in columns):
        kinds = [column.type for column in columns]
        kinds += [pa.float64() for column in columns if column.null_count and not pa.types.is_floating(column.type)]
        common = np.result_type(*(kind.to_pandas_dtype() for kind in kinds))
        mixed_signs = common.kind == "f" and not any(map(pa.types.is_floating, kinds))
        for kind in (np.int64, np.uint64, common) if mixed_signs else (common,):
            with contextlib.suppress(pa.ArrowException):  # an entry that this type does not hold
                return [np.asarray(column.cast(pa.from_numpy_dtype(kind))) for column in columns]
    listed = ", ".join(sorted({str(column.type) for column in columns}))
    message = f"the matrix holds {listed} values, which have no common type of numbers"
    raise InvalidEdgesError(message, "cast the columns to one type; leave out those that are no numbers")


def _check_labels(view: FrameView) -> None:
    """Raise if rows and columns of a pandas frame have the same labels in another order."""
    if not view.frame.implementation.is_pandas():
        return
    rows, columns = list(nw.to_native(view.frame).index), list(view.frame.columns)
    differ = [at for at, (row, column) in enumerate(zip(rows, columns, strict=False)) if row != column]
    if differ and len(rows) == len(columns) and set(rows) == set(columns):
        message = f"the rows have the columns' labels in another order: {len(differ):,} of {len(rows):,} are elsewhere"
        raise InvalidEdgesError(message, "put them in one order: matrix.loc[matrix.columns]")


def _check_symmetric(values: Array) -> None:
    if values.dtype.kind != "f":
        differ = values != values.T
    else:
        room = rounding(values.dtype) * float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
        with np.errstate(invalid="ignore"):
            near = np.abs(values - values.T) <= room
        differ = ~(near | (values == values.T) | (np.isnan(values) & np.isnan(values.T)))
    if differ.any():
        row, column = (int(at) for at in np.argwhere(differ)[0])
        message = f"the matrix has {int(differ.sum()) // 2:,} pairs of entries that differ, the first ({row}, {column})"
        raise InvalidEdgesError(message, "make it symmetric first, for example (matrix + matrix.T) / 2")


def refuse_similarities(name: str, diagonal: Array, entries: Array, hints: tuple[str, str]) -> None:
    """Raise for a matrix with a positive diagonal: of similarities a minimum forest joins what is least alike.

    `hints` are for correlations and for other similarities.
    """
    diagonal, entries = diagonal[np.isfinite(diagonal)], entries[np.isfinite(entries)]
    if 0 < len(diagonal) < len(entries):
        room, most = math.sqrt(rounding(entries.dtype)), float(np.abs(entries).max())
        if diagonal.min() > (room * most if entries.dtype.kind == "f" else 0):
            ones = float(np.abs(diagonal - 1.0).max()) <= room
            message = f"{name} has {'ones' if ones else 'positive numbers'} on its diagonal, as similarities have"
            raise InvalidEdgesError(f"{message}, and distances have zeros", hints[not ones or most > 1 + room])


def _distances(entries: Array, distance: object) -> Array:
    if distance is None:
        return entries
    if isinstance(distance, str) and distance == "mantegna":
        most = 1 + rounding(entries.dtype)
        entries = entries.astype(np.result_type(entries, np.float64), copy=False)
        outside = int((np.abs(entries) > most).sum())
        if outside:
            message = f"{outside:,} entries are not within -1 and 1, as correlations are"
            raise InvalidEdgesError(message, "pass a correlation matrix, or another distance=")
        return np.asarray(np.sqrt(2 * (1 - np.clip(entries, -1, 1))))
    if not callable(distance):
        raise ValueError(f"unknown distance {distance!r}; pass None, 'mantegna' or a function")
    result = np.asarray(distance(entries))
    if result.shape != entries.shape:
        message = f"distance= returned shape {result.shape} for {len(entries):,} entries"
        raise InvalidEdgesError(message, "return one distance an entry")
    return result
