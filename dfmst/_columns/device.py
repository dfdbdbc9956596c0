"""Columns on a GPU as ids, vertices and weights: CuPy arrays and cuDF columns, none of them copied to the host.

The counterpart of :mod:`dfmst._columns.ids`, :mod:`dfmst._columns.vertices` and :mod:`dfmst._columns.weights`, with
the same promises: no id passes through a float and no weight is rounded. Nulls are found on the device; a column
without any is used where it lies.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dfmst._columns.ids import IdColumns, different_ids, float_ids, same_width, unsuitable_ids
from dfmst._columns.vertices import Vertices
from dfmst._columns.weights import KERNEL_TYPES, WIDENED, WeightColumn, unsupported_weights
from dfmst._engines import Engine
from dfmst.errors import CapacityError
from dfmst.typing import Array

__all__ = ["device_factorize", "device_ids", "device_weights"]

_TEXT = {"object", "str", "string"}  # cuDF's names of text, of which a frame may hold several
_CUDF_ROWS = (1 << 31) - 1  # the longest column that cuDF has


def device_ids(source: tuple[object, Any], target: tuple[object, Any]) -> IdColumns:
    """Check and align two (name, column) pairs: both CuPy integers of one width, or both cuDF columns of one type.

    Raises
    ------
    InvalidEdgesError
        Floats or other types that cannot name a vertex, or two columns of different kinds.
    """
    first, null_first = _readable_ids(*source)
    second, null_second = _readable_ids(*target)
    arrays = is_array(first), is_array(second)
    if all(arrays):
        first, second = same_width(source[0], target[0], first, second)
    elif not any(arrays) and {str(first.dtype), str(second.dtype)} <= _TEXT:
        second = second.astype(first.dtype)
    elif any(arrays) or str(first.dtype) != str(second.dtype):
        raise different_ids((source[0], first.dtype), (target[0], second.dtype))
    return IdColumns(first, second, null_first, null_second)


def device_factorize(engine: Engine, source: Any, target: Any, *, in_order: bool) -> Vertices:
    """Number ids densely: integers by a sort of CuPy's, anything else by cuDF's own factorization.

    Raises
    ------
    CapacityError
        Both columns together are longer than a cuDF column may be.
    """
    xp, length = engine.xp, len(source)
    if is_array(source):
        values, codes = xp.unique(xp.concatenate([source, target]), return_inverse=True)
    else:
        if 2 * length > _CUDF_ROWS:
            message = f"{length:,} rows of ids that are no integers; cuDF numbers at most {_CUDF_ROWS // 2:,}"
            raise CapacityError(message, "number the ids with integers first, or spread the table over a Dask cluster")
        # Whoever holds one of its columns has imported cuDF.
        stacked = sys.modules["cudf"].concat([source, target], ignore_index=True)
        codes, values = stacked.factorize(sort=in_order)
    codes = codes.astype(np.uint32)
    return Vertices(codes[:length], codes[length:], len(values), values)


def device_weights(name: object, column: Any) -> WeightColumn:
    """Read a weight column: CuPy array or cuDF column of integers, floats, booleans, decimals or durations.

    Raises
    ------
    InvalidEdgesError
        The column holds something else.
    """
    invalid = None
    if not is_array(column):
        column, invalid = _readable_weights(name, column)
    widened = column.astype(WIDENED.get(column.dtype.name, column.dtype), copy=False)
    if widened.dtype.name not in KERNEL_TYPES:
        raise unsupported_weights(name, str(column.dtype))
    return WeightColumn(_contiguous(widened), invalid)


def is_array(column: Any) -> bool:
    """Whether a column is a CuPy array; otherwise it is cuDF's."""
    return not hasattr(column, "isnull")


def _readable_ids(name: object, column: Any) -> tuple[Any, Array | None]:
    """Integers as CuPy, anything else that can name a vertex as cuDF; and where nulls are."""
    nulls = None
    if not is_array(column):
        column, nulls = _decoded(column), _nulls(column)
    kind = column.dtype.kind
    if kind == "f":
        raise float_ids(name, str(column.dtype))
    if kind == "c" or type(column.dtype).__name__ in ("ListDtype", "StructDtype"):
        raise unsuitable_ids(name, str(column.dtype))
    if is_array(column):
        if kind not in "iu":
            raise unsuitable_ids(name, str(column.dtype))
        return _contiguous(column), nulls
    if kind in "iu":
        return _values(column, nulls), nulls
    return column, nulls


def _readable_weights(name: object, column: Any) -> tuple[Array, Array | None]:
    """Weights of a cuDF column as CuPy, and where nulls are."""
    column, nulls = _decoded(column), _nulls(column)
    if type(column.dtype).__name__.startswith("Decimal"):
        # Ranks order wide decimals exactly. Nulls get -1, which is never read.
        return column.factorize(sort=True)[0].astype(np.uint32), nulls
    if column.dtype.kind == "m":
        column = column.astype("int64")
    elif column.dtype.kind not in "biuf":
        raise unsupported_weights(name, str(column.dtype))
    return _values(column, nulls), nulls


def _decoded(column: Any) -> Any:
    """A categorical column's values."""
    return column.astype(column.dtype.categories.dtype) if hasattr(column.dtype, "categories") else column


def _nulls(column: Any) -> Array | None:
    return column.isnull().values if column.has_nulls else None


def _values(column: Any, nulls: Array | None) -> Array:
    """A numeric column's memory, as a CuPy array."""
    if nulls is not None:
        column = column.fillna(False if column.dtype.kind == "b" else 0)
    return _contiguous(column.values)


def _contiguous(column: Array) -> Array:
    return column if column.flags.c_contiguous else column.copy()
