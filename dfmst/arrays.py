"""Forests of plain arrays, without a frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dfmst.algorithms import Algorithm, resolve
from dfmst.edges import EdgeTable, check_capacity
from dfmst.engines import Engine, select_engine
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from dfmst.ids import IdColumns, dense_vertices, id_columns
from dfmst.trace import Trace
from dfmst.typing import Array
from dfmst.weights import WeightColumn, constant_weights, missing_weights, weight_column

__all__ = ["forest_rows"]


def forest_rows(
    u: ArrayLike,
    v: ArrayLike,
    w: ArrayLike | None,
    *,
    n: int | None = None,
    algorithm: str | Algorithm = "auto",
    maximum: bool = False,
    threads: int | None = None,
) -> Array:
    """Return the rows of the minimum spanning forest of edges given as arrays.

    Parameters
    ----------
    u, v
        Vertices of each edge: integers (or strings), shape ``(rows,)``.
    w
        Weights of any dtype that :func:`dfmst.minimum_spanning_forest` takes, shape ``(rows,)``; ``None``:
        all equal.
    n
        Exclusive upper bound of the vertices, which are then used as they are; ``None``: found out, and ids
        that are negative or far apart are numbered densely first.
    algorithm
        A name or an object of :mod:`dfmst.algorithms`.
    maximum
        Whether heavier edges come first.
    threads
        Threads to use; ``None`` takes every processor of this process.

    Returns
    -------
    rows
        Ascending ``int64`` positions of the forest's edges.

    Raises
    ------
    InvalidEdgesError
        Arrays of different lengths, NaN weights, ids outside ``[0, n)``, unsuitable dtypes.

    Examples
    --------
    >>> import numpy as np
    >>> import dfmst
    >>> u, v = np.array([0, 1, 0]), np.array([1, 2, 2])
    >>> dfmst.arrays.forest_rows(u, v, np.array([3.0, 1.0, 2.0]))
    array([1, 2])
    """
    engine = select_engine("cpu", threads)
    columns = [_column(name, values) for name, values in (("u", u), ("v", v), ("w", w)) if values is not None]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InvalidEdgesError(f"u, v and w have different lengths: {lengths}", "pass one entry an edge in each")
    rows = len(columns[0])
    check_capacity(rows)
    ids = id_columns(("u", columns[0]), ("v", columns[1]))
    weights = constant_weights(rows) if w is None else weight_column("w", columns[2])
    _check_missing(engine, ids, weights)
    vertices = dense_vertices(engine, ids, bound=n)
    table = EdgeTable(vertices.source, vertices.target, weights.values, vertices.total, maximum)
    return resolve(algorithm, engine, table).run(engine, table, Trace())


def _column(name: str, values: ArrayLike) -> Array:
    if hasattr(values, "__cuda_array_interface__"):
        message = f"{name} is an array on a GPU"
        raise UnsupportedFrameError(message, "copy it to the host first: this version has the CPU engine only")
    column = np.asarray(values)
    if column.ndim != 1:
        message = f"{name} has {column.ndim} dimensions; it must have one"
        raise InvalidEdgesError(message, "pass one entry an edge")
    if column.dtype.kind in "US":
        column = column.astype(object)
    # An empty list reads as floats, which ids may not be.
    return column.astype(np.int64) if not len(column) and not isinstance(values, np.ndarray) else column


def _check_missing(engine: Engine, ids: IdColumns, weights: WeightColumn) -> None:
    for name, mask in (("u", ids.null_source), ("v", ids.null_target), ("w", missing_weights(engine, weights))):
        if mask is not None and mask.any():
            message = f"{name} has {int(mask.sum()):,} missing entries, the first at position {int(mask.argmax())}"
            raise InvalidEdgesError(message, "remove those edges first")
