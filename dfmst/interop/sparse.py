"""Sparse matrices: an edge for each entry that is stored, zeros and repeated entries included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import one_name, stored_entries, whole_number, yes_or_no
from dfmst._common.types import Array, Column, ColumnName, Frame, SparseMatrix
from dfmst._edges.arrow_values import arrow_column, native_values, plain_ids, to_arrow
from dfmst._edges.frames import open_host_frame
from dfmst._edges.host_frame import FrameView
from dfmst._engines import Engine, select_engine
from dfmst._trees.points.read import rounding
from dfmst._trees.request import with_options
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from dfmst.interop.labels import labels_of, named, places_of

__all__ = ["from_sparse", "to_sparse"]


def from_sparse(matrix: SparseMatrix, *, ids: Column = None, symmetric: bool | None = None) -> Any:
    """Return the entries of a sparse matrix as an edge table.

    SciPy's own spanning tree takes zeros for missing edges, and adds parallel ones; here both are edges.

    Parameters
    ----------
    matrix
        A square matrix or array of :mod:`scipy.sparse`, of any format, or one of :mod:`cupyx.scipy.sparse`, which stays
        on the GPU. It is not changed. Zeros in blocks of several entries (BSR) and in diagonals (DIA) are not entries,
        as these formats fill up with zeros. All other formats store zeros that are edges.
    ids
        The vertices in the matrix's order; ``None``: 0, 1, 2 and so on. For matrices on the host.
    symmetric
        Whether entries below the diagonal only repeat those above, but for rounding, and are left out. ``None``: if
        they do, entry by entry.

    Returns
    -------
    edges
        ``source`` (rows of the matrix), ``target`` (columns) and ``weight``, in the order of rows, then columns, then
        the order that repeated entries are stored in; so a matrix without stored zeros gives one table in all formats.
        A ``pyarrow.Table``; of a matrix on a GPU a ``cudf.DataFrame``.

    Raises
    ------
    UnsupportedFrameError
        `matrix` is not a sparse matrix; or it is on a GPU, and `ids` are given or cuDF is missing.
    InvalidEdgesError
        It is not square, holds no real numbers, or `ids` do not fit it; ``symmetric=True`` of a matrix that is not.

    Examples
    --------
    >>> import dfmst
    >>> from scipy.sparse import csr_array
    >>> dfmst.from_sparse(csr_array([[0, 3, 1], [3, 0, 0], [1, 0, 0]])).to_pydict()
    {'source': [0, 0], 'target': [1, 2], 'weight': [3, 1]}
    """
    entries = stored_entries(matrix)
    engine = select_engine(on_device=entries.on_device)
    if entries.on_device and ids is not None:
        raise UnsupportedFrameError("ids= are not read for a matrix on a GPU", "pass matrix.get(), or leave ids= out")
    labels = None if ids is None else labels_of(ids, entries.size, "the matrix")
    with engine.guard():
        row, column, value = entries.row, entries.column, entries.value
        order = _order(engine, column, row)
        row, column, value = row[order], column[order], value[order]
        if symmetric is None:
            symmetric = _is_symmetric(engine, row, column, value, 0.0)
        elif yes_or_no("symmetric", symmetric):
            _check_symmetric(engine, row, column, value)
        if symmetric:
            above = row <= column
            row, column, value = row[above], column[above], value[above]
        if entries.on_device:
            return _frame_on_device({"source": row, "target": column, "weight": value})
    weights = to_arrow("weight", value, nan_is_null=False)
    return pa.table({"source": named(row, labels), "target": named(column, labels), "weight": weights})


def _order(engine: Engine, *keys: Array) -> Array:
    """Places in ascending order of the last key, then of those before it."""
    # CuPy orders the rows of one array; places and weights of CuPy's matrices fit float64.
    table = keys if engine.on_host else engine.xp.stack([key.astype(np.float64) for key in keys])
    order: Array = engine.xp.lexsort(table)
    return order


def _check_symmetric(engine: Engine, row: Array, column: Array, value: Array) -> None:
    """Raise if an entry below the diagonal does not repeat one above, so that an edge would be lost."""
    finite = engine.xp.isfinite(value) & (row != column)
    room = rounding(value.dtype) * float(abs(value[finite]).max()) if finite.any() else 0.0
    if not _is_symmetric(engine, row, column, value, room):
        below, above = int((row > column).sum()), int((row < column).sum())
        message = f"symmetric=True, and the {below:,} entries below the diagonal are not the {above:,} above it"
        raise InvalidEdgesError(message, "leave symmetric= out: all entries are then edges, or make it symmetric first")


def _is_symmetric(engine: Engine, row: Array, column: Array, value: Array, room: float) -> bool:
    """Whether the entries below the diagonal are those above it; floats may differ by `room`."""
    above, below = row < column, row > column
    if int(above.sum()) != int(below.sum()):
        return False
    ends = [(row[above], column[above], value[above]), (column[below], row[below], value[below])]
    first, second = ([part[_order(engine, *parts[::-1])] for part in parts] for parts in ends)
    same = [one == other for one, other in zip(first, second, strict=True)]
    if value.dtype.kind in "fc":
        with np.errstate(invalid="ignore"):
            near = abs(first[2] - second[2]) <= room
        same[2] = same[2] | near | ((first[2] != first[2]) & (second[2] != second[2]))  # NaN equals NaN
    return all(bool(equal.all()) for equal in same)


def _frame_on_device(columns: dict[str, Array]) -> Any:
    try:
        import cudf
    except ImportError as error:
        message = "entries of a matrix on a GPU become a frame of cuDF, which is not installed"
        raise UnsupportedFrameError(message, "pass matrix.get(), or call dfmst.arrays.forest_rows(matrix)") from error
    return cudf.DataFrame(columns, nan_as_null=False)


@with_options("memory")
def to_sparse(
    edges: Frame,
    shape: Any = None,
    *,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    ids: Column = None,
    symmetric: bool = False,
) -> Any:
    """Return an edge table, such as a forest, as a sparse matrix.

    Parameters
    ----------
    edges
        A frame of any kind.
    shape
        Rows and columns of the matrix, or one number for both; ``None``: as many as there are `ids`, or as the largest
        id asks for.
    source, target, weight
        Names of the columns; ``weight=None`` stores ones.
    ids
        The vertices in the matrix's order; ``None``: the ids are places, 0, 1, 2 and so on.
    symmetric
        Whether each edge is stored in both directions.

    Returns
    -------
    matrix
        A ``scipy.sparse.coo_array``: every edge is an entry, zeros and parallel edges too. Conversion to another format
        adds parallel edges up.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError
        As for :func:`dfmst.minimum_spanning_forest`.
    InvalidEdgesError
        An id is not listed, or outside the shape; weights that are null or no numbers.

    Examples
    --------
    >>> import dfmst
    >>> matrix = [[0, 3, 1], [3, 0, 2], [1, 2, 0]]
    >>> forest = dfmst.minimum_spanning_forest(dfmst.from_matrix(matrix))
    >>> dfmst.to_sparse(forest, 3).toarray().tolist()
    [[0, 0, 1], [0, 0, 2], [0, 0, 0]]
    """
    from scipy.sparse import coo_array

    view, source, target, weight = open_host_frame(edges), *map(one_name, (source, target, weight))
    size = None if shape is None else _size(shape)
    labels = None if ids is None else labels_of(ids, len(ids) if size is None else size, "the matrix")
    places = [places_of(name, arrow_column(name, view.column(name)), labels, size) for name in (source, target)]
    values = np.ones(len(view), np.int64) if weight is None else _numbers(view, weight)
    # SciPy's matrices hold numbers in the machine's byte order, and no float16.
    values = values.astype(np.float32) if values.dtype.name == "float16" else native_values(values)
    if size is None:
        largest = max((int(place.max()) for place in places if len(place)), default=-1)
        size = largest + 1 if labels is None else len(labels)
    if yes_or_no("symmetric", symmetric):
        both = places[0] != places[1]  # a loop is stored once
        places = [np.concatenate([places[at], places[1 - at][both]]) for at in (0, 1)]
        values = np.concatenate([values, values[both]])
    return coo_array((values, (places[0], places[1])), shape=(size, size))


def _size(shape: object) -> int:
    sizes = [whole_number("shape", each) for each in (shape if isinstance(shape, (tuple, list)) else [shape])]
    if len(set(sizes)) != 1 or len(sizes) > 2 or not 0 <= sizes[0] < 1 << 63:
        raise InvalidEdgesError(f"shape is {shape!r}", "pass the number of vertices")
    return sizes[0]


def _numbers(view: FrameView, name: ColumnName) -> Array:
    column = view.column(name)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":  # a NaN of pandas is a number here
        return column
    arrow = plain_ids(arrow_column(name, column))
    kind = arrow.type
    known = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not known and not len(arrow):  # an empty column may have any type
        return np.zeros(0)
    if arrow.null_count or not known:
        message = f"column {name!r} holds {arrow.type} with {arrow.null_count:,} nulls; entries are numbers of 64 bits"
        raise InvalidEdgesError(message, "cast the weights to integers or floats, and fill or remove nulls")
    return arrow.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
