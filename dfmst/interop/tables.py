"""Edge tables of matrices and of graphs of igraph, and back: ids in place of the numbers of vertices, or numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import one_name, refuse_sparse, stored_entries, whole_number, yes_or_no
from dfmst._common.deferred import nw, pc
from dfmst._common.types import Array, Column, ColumnName, EndNames, Frame, SparseMatrix
from dfmst._edges.arrow_values import (
    arrow_column,
    check_distinct,
    comparable,
    listed_values,
    native_values,
    number_array,
    plain_ids,
    readable,
    to_arrow,
)
from dfmst._edges.frames import open_host_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.unify import cast_exactly, common_type
from dfmst._edges.weights import missing_weights, weight_column, widen
from dfmst._engines import Engine, select_engine
from dfmst._trees.points.read import rounding
from dfmst._trees.points.spanning import halves
from dfmst._trees.request import with_options
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

_OWN_ID = "give every vertex an id of its own"

_BLOCK = 256  # rows and columns of a matrix that are compared at a time


@with_options()
def from_matrix(
    matrix: Any, *, distance: str | Callable[[Array], Any] | None = None, ids: Column = None, forest: bool = False
) -> Any:
    """Return the pairs of a symmetric matrix as an edge table: its entries above the diagonal.

    Parameters
    ----------
    matrix
        A frame whose columns are the vertices (for example a correlation matrix), or an array of shape ``(n, n)``,
        of any library with ``__array__`` or ``__dlpack__``; or an array of the entries above the diagonal, row by row,
        as of SciPy's ``pdist``.
    distance
        What becomes of the entries: nothing (``None``, for distances); ``"mantegna"``, the distance sqrt(2 (1 - r)) of
        a correlation r; or a function of an array that returns one of the same length.
    ids
        The vertices; ``None``: the names of a frame's columns, or 0, 1, 2 and so on.
    forest
        Return only the rows that :func:`minimum_spanning_forest` finds in the table, with their positions as the index
        of a pandas frame. The table is not made. Dendrograms and clusters need no other rows.

    Returns
    -------
    edges
        ``source``, ``target`` and ``weight``, row by row; the same kind of frame, for an array a ``pyarrow.Table``.

    Raises
    ------
    InvalidEdgesError
        The matrix is not square, not symmetric, or holds no numbers; a frame's index has its columns in another order;
        `ids` do not fit it; a correlation is not within -1 and 1; without `distance` its diagonal is positive, as of
        similarities; with `forest` a distance is NaN.
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
    >>> dfmst.from_matrix([[0, 5, 1], [5, 0, 2], [1, 2, 0]], forest=True).to_pydict()
    {'source': [0, 1], 'target': [2, 2], 'weight': [1, 2]}

    References
    ----------
    Mantegna: Hierarchical structure in financial markets. European Physical Journal B 11, 1999.

    Prim: Shortest connection networks and some generalizations. Bell System Technical Journal 36 (1957).
    """
    only_forest = yes_or_no("forest", forest)
    values, view = _values(matrix)
    vertices = _vertices_of(values.shape)
    if ids is None and view is not None:
        ids = view.frame.columns
    labels = None if ids is None else _labels_of(ids, vertices, "the matrix")
    mirrored = values.ndim == 2 and _is_mirrored(values)
    as_square = mirrored and only_forest and distance is None
    entries = values if as_square else _distances(_above_diagonal(values), distance)
    numbers = np.arange(vertices)
    ends = np.cumsum(numbers[::-1])  # of the rows of the matrix, in the table
    if only_forest:
        row, column = _forest_pairs(entries, ends)
        position = ends[row] - vertices + column
        entries = entries[row, column] if entries.ndim == 2 else entries[position]
    else:
        row, position = np.repeat(numbers, numbers[::-1]), None
        column = np.concatenate([numbers[:0], *(numbers[at:] for at in range(1, vertices))])
    weights = to_arrow("weight", entries, nan_is_null=False)
    if distance is None and values.ndim == 2:
        call = "for similarities call dfmst.from_matrix(matrix, distance={}); distances need zeros there".format
        hints = call('"mantegna"'), call("lambda values: values.max() - values")
        refuse_similarities("the matrix", values.diagonal(), values, hints)
    columns = {"source": _named(row, labels), "target": _named(column, labels), "weight": weights}
    return pa.table(columns) if view is None else view.build_arrow(columns, position)


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
        if values.ndim == 1 and isinstance(matrix, (list, tuple)):
            message = f"the matrix is a {type(matrix).__name__} of {len(values):,} numbers"
            raise InvalidEdgesError(message, "pass a list of rows, or the entries above the diagonal as an array")
    else:
        view = open_host_frame(matrix, "matrix")
        names = view.frame.columns
        columns = [plain_ids(arrow_column(name, view.column(name), nan_is_null=False)) for name in names]
        values = np.column_stack(_entries_of(columns)) if names else np.zeros((0, 0))
        _check_labels(view)
    return values, view


def _vertices_of(shape: tuple[int, ...]) -> int:
    """Return the number of vertices of a square matrix, or of the entries above its diagonal."""
    length = shape[0] if shape else 0
    vertices = (1 + math.isqrt(1 + 8 * length)) // 2 if len(shape) == 1 else length
    if shape not in ((vertices, vertices), (vertices * (vertices - 1) // 2,)):
        hint = "pass one row and one column a vertex, or the entries above the diagonal"
        raise InvalidEdgesError(f"the matrix has shape {shape}", hint)
    return vertices


def _entries_of(columns: list[pa.Array]) -> list[Array]:
    """Columns as arrays of one type that holds all their entries; nulls are NaN."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    if all(any(test(column.type) for test in tests) for column in columns):
        kinds = [column.type for column in columns]
        kinds += [pa.float64() for column in columns if column.null_count and not pa.types.is_floating(column.type)]
        common = np.result_type(*(kind.to_pandas_dtype() for kind in kinds))
        mixed_signs = common.kind == "f" and not any(map(pa.types.is_floating, kinds))
        for kind in (np.int64, np.uint64, common) if mixed_signs else (common,):
            with suppress(pa.ArrowException):  # an entry that this type does not hold
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


def _above_diagonal(values: Array) -> Array:
    """Return the entries above the diagonal, row by row."""
    if values.ndim == 1:
        return values
    return np.concatenate([values.reshape(-1)[:0], *(values[at, at + 1 :] for at in range(len(values)))])


def _is_mirrored(values: Array) -> bool:
    """Whether all entries equal those on the other side of the diagonal; raise if one differs by more than rounding."""
    spans = [slice(begin, begin + _BLOCK) for begin in range(0, len(values), _BLOCK)]
    pairs = ((rows, columns) for at, rows in enumerate(spans) for columns in spans[at:])
    if all(bool((values[rows, columns] == values[columns, rows].T).all()) for rows, columns in pairs):
        return True
    most = float(np.abs(values[np.isfinite(values)]).max(initial=0))
    room = rounding(values.dtype) * most if values.dtype.kind == "f" else 0.0
    differ = ~_alike(values, values.T, room)
    if differ.any():
        row, column = (int(at) for at in np.argwhere(differ)[0])
        message = f"the matrix has {int(differ.sum()) // 2:,} pairs of entries that differ, the first ({row}, {column})"
        raise InvalidEdgesError(message, "make it symmetric first, for example (matrix + matrix.T) / 2")
    return False


def _forest_pairs(entries: Array, ends: Array) -> tuple[Array, Array]:
    """Return the tree's pairs, row by row, of a mirrored square, or of entries above a diagonal: rows to `ends`."""
    engine, vertices = select_engine("cpu", 1), len(ends)
    if entries.ndim == 2:
        weights = widen("weight", native_values(entries))
    else:
        read = weight_column("weight", to_arrow("weight", entries, nan_is_null=False))
        missing, weights = missing_weights(engine, read), read.values
        if missing is not None and missing.any():
            first = int(missing.argmax())
            row = int(np.searchsorted(ends, first, side="right"))
            pair = row, first - int(ends[row]) + vertices
            message = f"the matrix has {int(missing.sum()):,} pairs whose distance is NaN or null, the first {pair}"
            call = 'minimum_spanning_forest(from_matrix(matrix), invalid="drop")'
            raise InvalidEdgesError(message, f"fill them, or call {call}")
    offered, nearest = np.empty((2, vertices), weights.dtype)
    other, vertex = np.empty((2, vertices), np.uint32)
    pairs = np.empty(max(0, vertices - 1), np.uint64)
    if len(pairs):
        square = int(entries.ndim == 2)
        engine.launch_alone("span_matrix", weights, vertices, square, offered, nearest, other, vertex, pairs)
    return halves(np.sort(pairs))


def refuse_similarities(name: str, diagonal: Array, entries: Array, hints: tuple[str, str]) -> None:
    """Raise for a matrix with a positive diagonal: of similarities a minimum forest joins what is least alike.

    `hints` are for correlations and for other similarities.
    """
    diagonal = diagonal[np.isfinite(diagonal)]
    if not len(diagonal) or diagonal.min() <= 0:  # before all entries are looked at
        return
    entries = entries[np.isfinite(entries)]
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


@with_options()
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
    labels = None if ids is None else _labels_of(ids, entries.size, "the matrix")
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
    return pa.table({"source": _named(row, labels), "target": _named(column, labels), "weight": weights})


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
    return all(bool(_alike(one, other, room).all()) for one, other in zip(first, second, strict=True))


def _alike(first: Array, second: Array, room: float) -> Array:
    """Whether entries are equal, of floats with up to `room` between them; NaN equals NaN."""
    same: Array = first == second
    if first.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            same |= (abs(first - second) <= room) | ((first != first) & (second != second))
    return same


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
    labels = None if ids is None else _labels_of(ids, len(ids) if size is None else size, "the matrix")
    places = [_places_of(name, arrow_column(name, view.column(name)), labels, size) for name in (source, target)]
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


@with_options()
def from_igraph(graph: Any) -> pa.Table:
    """Return the edges of an igraph graph as a table, in their order, with their attributes.

    Parameters
    ----------
    graph
        An ``igraph.Graph``; directions are not looked at.

    Returns
    -------
    edges
        ``source`` and ``target``, the vertices' attribute ``name`` if they have one, else their numbers; then a
        column for each attribute of the edges.

    Raises
    ------
    UnsupportedFrameError
        `graph` is not an igraph graph.
    InvalidEdgesError
        Names that are missing or not distinct, or an attribute whose values no column holds.

    Examples
    --------
    >>> import dfmst
    >>> import igraph
    >>> graph = igraph.Graph([(0, 1), (1, 2), (0, 2)], edge_attrs={"weight": [3, 1, 2]})
    >>> dfmst.minimum_spanning_forest(dfmst.from_igraph(graph)).to_pydict()
    {'source': [1, 0], 'target': [2, 2], 'weight': [1, 2]}
    """
    if not (hasattr(graph, "get_edgelist") and hasattr(graph, "vs")):
        raise UnsupportedFrameError(f"graph is a {type(graph).__name__}, no graph of igraph", "pass an igraph.Graph")
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    labels = _labels_of(graph.vs["name"], graph.vcount(), "the graph") if "name" in graph.vs.attributes() else None
    columns = {"source": _named(ends[:, 0], labels), "target": _named(ends[:, 1], labels)}
    for name in graph.es.attributes():
        if name in columns:
            raise InvalidEdgesError(f"edges have an attribute {name!r}, as the ends are called", "rename it")
        try:
            columns[name] = pa.array(graph.es[name])
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            message = f"the values of attribute {name!r} do not fit a column: {error}"
            raise InvalidEdgesError(message, "give them one type, or delete the attribute") from error
    return pa.table(columns)


@with_options("memory")
def to_igraph(edges: Frame, source: Any = "source", target: Any = "target", *, ids: Column = None) -> Any:
    """Return an edge table, such as a forest, as an undirected igraph graph.

    Parameters
    ----------
    edges
        A frame of any kind; an edge a row, in their order, with the other columns as attributes.
    source, target
        Names of the id columns.
    ids
        The vertices, isolated ones too; ``None``: those that occur, in order of their first appearance, source before
        target.

    Returns
    -------
    graph
        An ``igraph.Graph`` whose vertices have their ids as ``name``.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError
        As for :func:`dfmst.minimum_spanning_forest`.
    InvalidEdgesError
        An id is null, or not listed.

    Examples
    --------
    >>> import dfmst
    >>> import pyarrow as pa
    >>> forest = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [3, 1]})
    >>> graph = dfmst.to_igraph(forest)
    >>> graph.vs["name"], graph.es["weight"]
    (['a', 'b', 'c'], [3, 1])
    """
    import igraph

    view = open_host_frame(edges)
    ends = {name: arrow_column(name, view.column(name)) for name in (source, target)}
    others = [name for name in view.frame.columns if name not in ends]
    labels = _occurring(ends, (source, target)) if ids is None else _labels_of(ids, len(ids), "the graph")
    places = [_places_of(name, ends[name], labels, None) for name in (source, target)]
    attributes = {str(name): _attribute(name, view.column(name)) for name in others}
    pairs = np.column_stack(places).tolist()
    return igraph.Graph(len(labels), pairs, vertex_attrs={"name": labels.to_pylist()}, edge_attrs=attributes)


def _attribute(name: ColumnName, column: Column) -> list[Any]:
    """Values of a column as Python has them; objects as they are, and times that Python does not hold as text."""
    if isinstance(column, np.ndarray) and column.dtype == object:
        return list(column)
    values = arrow_column(name, column)
    try:
        listed: list[Any] = values.to_pylist()
    except (OverflowError, ValueError):  # times that Python's types do not hold
        return readable(values)
    return listed


def _occurring(ends: dict[Any, Any], names: EndNames) -> pa.Array:
    """The ids of both columns in order of their first appearance, row by row."""
    first, second = ends[names[0]], ends[names[1]]
    try:
        both = pa.concat_arrays(_in_one_type(first, second))
    except pa.ArrowException as error:
        message = f"columns {names[0]!r} and {names[1]!r} hold {first.type} and {second.type}"
        raise InvalidEdgesError(message, "cast both to one type") from error
    if both.null_count:
        raise InvalidEdgesError(f"the ids hold {both.null_count:,} nulls", "fill or remove those rows")
    turns = np.arange(2 * len(first)).reshape(2, -1).T.ravel()
    return pc.unique(both.take(pa.array(turns)))


def _labels_of(ids: Column, length: int, what: str) -> pa.Array:
    """Ids as an Arrow array, one for each of `length` vertices."""
    try:
        labels = to_arrow("ids", listed_values("ids", ids))
        stored = plain_ids(getattr(labels, "storage", labels))
        pc.unique(comparable(stored))
    except (TypeError, pa.ArrowException) as error:
        raise InvalidEdgesError(f"ids are no column: {error}", "pass one id a vertex, all of one type") from error
    if len(labels) != length:
        message = f"there are {len(labels):,} ids, and {what} has {length:,} vertices"
        raise InvalidEdgesError(message, "pass one id a vertex")
    if labels.null_count:
        row = np.asarray(labels.is_null()).argmax()
        raise InvalidEdgesError(f"ids has {labels.null_count:,} nulls, the first in row {row}", _OWN_ID)
    check_distinct("ids", stored, None, _OWN_ID)
    return labels


def _named(places: Array, labels: pa.Array | None) -> pa.Array:
    """Entries of `labels` at places; the places themselves without labels."""
    return pa.array(places) if labels is None else labels.take(pa.array(places))


def _in_one_type(*columns: pa.Array) -> list[pa.Array]:
    """Ids in the type that holds all of them; those of an extension type as their storage."""
    plain = [plain_ids(getattr(column, "storage", column)) for column in columns]
    kind = common_type(*(column.type for column in plain))
    if kind is None:
        raise pa.ArrowInvalid("no common type")
    return [cast_exactly(column, kind) for column in plain]


def _places_of(name: str, column: pa.Array, labels: pa.Array | None, length: int | None) -> Array:
    """Places of a column's ids."""
    if labels is not None:
        try:
            places = pc.index_in(*_in_one_type(column, labels))
        except pa.ArrowException as error:
            message = f"column {name!r} holds {column.type}, and ids are {labels.type}"
            raise InvalidEdgesError(message, "pass ids of the column's type") from error
        if places.null_count:
            message = f"column {name!r} has {places.null_count:,} ids that are not listed"
            raise InvalidEdgesError(message, "list every vertex in ids=")
        return np.asarray(places, np.int64)
    column = plain_ids(column)
    if len(column) and (column.null_count or not pa.types.is_integer(column.type)):
        message = f"column {name!r} holds {column.type} with {column.null_count:,} nulls; places are whole numbers"
        raise InvalidEdgesError(message, "pass ids=, the vertices in the matrix's order")
    found = np.asarray(column)
    bad = int(((found < 0) | (length is not None and found >= length)).sum())
    if bad:
        raise InvalidEdgesError(f"column {name!r} has {bad:,} ids outside the shape", "pass a larger shape, or ids=")
    return found.astype(np.int64)
