"""Forests of plain arrays, without a frame."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike

from dfmst._common.arguments import is_sparse, stored_entries, yes_or_no
from dfmst._common.options import with_options
from dfmst._common.types import Array, SparseMatrix, SupportsDLPack
from dfmst._edges.arrow_values import listed_values
from dfmst._edges.edge_table import HOST, CheckedColumns, Input, Missing, Readers, make_table
from dfmst._edges.vertices import IdColumns
from dfmst._edges.weights import WeightColumn, constant_weights
from dfmst._engines import Engine, select_engine
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import solve
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

__all__ = ["forest_rows"]

_NUMPY = {np.ndarray}
_CUDA_DEVICES = (2, 13)  # kDLCUDA and kDLCUDAManaged of DLPack


_LEFT_OUT: Any = object()  # None is an argument: all weights are equal


@overload
def forest_rows(
    source: ArrayLike | SupportsDLPack,
    target: ArrayLike | SupportsDLPack,
    weight: ArrayLike | SupportsDLPack | None,
    *,
    n_vertices: SupportsIndex | None = None,
    algorithm: str | Algorithm = "auto",
    maximum: bool = False,
    threads: int | None = None,
) -> Array: ...
@overload
def forest_rows(
    source: SparseMatrix,
    *,
    n_vertices: SupportsIndex | None = None,
    algorithm: str | Algorithm = "auto",
    maximum: bool = False,
    threads: int | None = None,
) -> Array: ...
@with_options()
def forest_rows(
    source: Any,
    target: Any = _LEFT_OUT,
    weight: Any = _LEFT_OUT,
    *,
    n_vertices: SupportsIndex | None = None,
    algorithm: str | Algorithm = "auto",
    maximum: bool = False,
    threads: int | None = None,
) -> Array:
    """Return the rows of the minimum spanning forest of arrays of edges, on the host or on a GPU.

    Parameters
    ----------
    source, target
        Vertices of each edge: integers (or, on the host, strings), shape ``(rows,)``. Arrays on a GPU (CuPy's, or any
        with ``__cuda_array_interface__``) stay there, and so does the work. Or `source` alone, a square
        sparse matrix of SciPy or CuPy, whose entries are those that :func:`dfmst.from_sparse` reads.
    weight
        Weights of any dtype that :func:`dfmst.minimum_spanning_forest` takes, shape ``(rows,)``; ``None``:
        all equal.
    n_vertices
        Exclusive upper bound of the vertices, which are then used as they are; ``None``: read from the ids,
        and those that are negative or far apart are numbered densely first.
    algorithm
        A name or an object of :mod:`dfmst.algorithms`.
    maximum
        Whether heavier edges come first.
    threads
        Threads to use on the CPU, at most as many as this process has processors; ``None`` takes every processor (one
        below 100,000 rows).

    Returns
    -------
    rows
        Ascending ``int64`` positions of the forest's edges; of a matrix, among the entries of ``source.tocoo()``. A
        CuPy array if the edges are on a GPU.

    Raises
    ------
    InvalidEdgesError
        Arrays of different lengths, NaN weights, ids outside ``[0, n)``, unsuitable dtypes.
    UnsupportedFrameError
        Some arrays are on the host and some on a GPU.
    CapacityError
        More vertices than 32 bits number, as many rows if ids are not integers from 0 on, or too little GPU memory.
    TypeError
        `target` or `weight` is missing for an array, or is passed with a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import dfmst
    >>> source, target = np.array([0, 1, 0]), np.array([1, 2, 2])
    >>> dfmst.arrays.forest_rows(source, target, np.array([3.0, 1.0, 2.0]))
    array([1, 2])

    >>> from scipy.sparse import csr_array
    >>> dfmst.arrays.forest_rows(csr_array([[0, 3, 2], [0, 0, 1], [0, 0, 0]]))
    array([1, 2])
    """
    position = None
    if is_sparse(source):
        if target is not _LEFT_OUT or weight is not _LEFT_OUT:
            raise TypeError("forest_rows() takes a sparse matrix alone: it holds both ends and the weights")
        entries = stored_entries(source)
        source, target, weight, position = entries.row, entries.column, entries.value, entries.position
        n_vertices = entries.size if n_vertices is None else n_vertices
    elif target is _LEFT_OUT or weight is _LEFT_OUT:
        raise TypeError("forest_rows() takes the arrays source, target and weight, or a sparse matrix alone")
    columns = {"source": source, "target": target} | ({} if weight is None else {"weight": weight})
    for name, values in columns.items():
        if values is None:
            raise InvalidEdgesError(f"{name} is None", "pass the vertex at that end of each edge")
    bound = None if n_vertices is None else operator.index(n_vertices)
    engine = select_engine("auto", threads, on_device=_on_device(columns), rows=_rows(source))
    with engine.guard():
        rows = solve(
            engine,
            lambda defer_checks: _read(engine, columns, bound, yes_or_no("maximum", maximum), defer_checks),
            algorithm,
        ).rows
    return rows if position is None else position[rows]


def _rows(values: Any) -> int | None:
    try:
        return len(values)
    except TypeError:  # an object without a length is refused, or measured, when it is read
        return None


def _on_device(arrays: dict[str, object]) -> bool:
    """Whether the arrays are on a GPU."""
    if {type(values) for values in arrays.values()} == _NUMPY:
        return False
    placed = {name: _lies_on_device(values) for name, values in arrays.items()}
    if any(placed.values()) and not all(placed.values()):
        names = " and ".join(name for name, device in placed.items() if device)
        message = f"{names} {'is' if sum(placed.values()) == 1 else 'are'} on a GPU, the others on the host"
        raise UnsupportedFrameError(message, "copy the arrays to one side: cupy.asarray(...), or cupy.asnumpy(...)")
    return all(placed.values())


def _lies_on_device(values: Any) -> bool:
    if _is_dlpack(values):
        return int(values.__dlpack_device__()[0]) in _CUDA_DEVICES
    return hasattr(values, "__cuda_array_interface__")


def _read(engine: Engine, arrays: dict[str, object], n: int | None, maximum: bool, defer_checks: bool) -> Input:
    columns = [_column(engine, name, values) for name, values in arrays.items()]
    read = HOST if engine.on_host else _device_readers()
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InvalidEdgesError(
            f"source, target and weight have different lengths: {lengths}", "pass one entry an edge in each"
        )
    rows = len(columns[0])
    ids = read.ids(("source", columns[0]), ("target", columns[1]))
    weights = read.weights("weight", columns[2]) if len(columns) == 3 else constant_weights(rows, engine.xp)
    deferred = defer_checks and engine.on_host
    return make_table(engine, ids, weights, maximum, _refuse, defer_checks=deferred, bound=n)


def _refuse(ids: IdColumns, weights: WeightColumn, missing: Missing) -> CheckedColumns:
    end, mask = missing[0]
    name = ("source", "target", "weight")[end]
    message = f"{name} has {int(mask.sum()):,} missing entries, the first at position {int(mask.argmax())}"
    raise InvalidEdgesError(message, "remove those edges first")


def _device_readers() -> Readers:
    from dfmst._edges.device_frame import DEVICE  # it loads PyArrow, which takes 40 ms

    return DEVICE


def _column(engine: Engine, name: str, values: object) -> Array:
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "iuf" and engine.on_host:
        return values
    if not engine.on_host:
        from dfmst._edges.device_frame import check_device  # as in `_device_readers`

        check_device(name, values)
    try:
        if isinstance(values, (list, tuple, np.ma.MaskedArray)):
            column = listed_values(name, values)
        else:
            column = (engine.xp.from_dlpack if _is_dlpack(values) else engine.xp.asarray)(values)
    except InvalidEdgesError:
        raise
    except ValueError as error:
        raise InvalidEdgesError(f"{name} is no array: {error}", "pass one entry an edge") from error
    if column.ndim != 1:
        raise InvalidEdgesError(f"{name} has {column.ndim} dimensions; it must have one", "pass one entry an edge")
    return column


def _is_dlpack(values: object) -> bool:
    """Whether DLPack is the only way to read an array."""
    known = ("__array__", "__array_interface__", "__cuda_array_interface__")
    return hasattr(values, "__dlpack__") and not any(hasattr(values, name) for name in known)
