"""Id columns of any kind: checked, aligned, and never through a float."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_column, numbers_of_arrow
from dfmst._edges.id_types import plain_ids, storage_ids
from dfmst._edges.to_arrow import native_values
from dfmst._edges.unify import common_id_type
from dfmst.errors import InvalidEdgesError


class IdColumns(NamedTuple):
    """The id columns, both integer arrays of one width or both Arrow (on a GPU: cuDF), and the rows with a null."""

    source: Any
    target: Any
    null_source: Array | None
    null_target: Array | None


def float_ids(name: object, kind: str) -> InvalidEdgesError:
    """The error for ids that are floats."""
    message = f"column {name!r} holds {kind} values; vertex ids must be integers, strings or categoricals"
    return InvalidEdgesError(message, "cast the column to int64 (pandas turns integer ids with gaps into floats)")


def unsuitable_ids(name: object, kind: str) -> InvalidEdgesError:
    """The error for ids of a type that cannot name a vertex."""
    message = f"column {name!r} holds {kind} values; vertex ids must be integers, strings or categoricals"
    return InvalidEdgesError(message, "make one id of the fields, for example by joining them into a string")


def different_ids(source: tuple[object, Any], target: tuple[object, Any]) -> InvalidEdgesError:
    """The error for two (name, type) pairs of ids that cannot be compared."""
    message = f"column {source[0]!r} holds {source[1]} ids and column {target[0]!r} holds {target[1]} ids"
    return InvalidEdgesError(message, "cast both columns to one type, so that equal ids are equal")


def no_common_integer(source: tuple[object, Any], target: tuple[object, Any]) -> InvalidEdgesError:
    """The error for two (name, type) pairs of integers that no integer type holds both of."""
    message = f"columns {source[0]!r} ({source[1]}) and {target[0]!r} ({target[1]}) have no common integer type"
    return InvalidEdgesError(message, "cast both columns to one integer type")


def id_columns(source: tuple[object, Any], target: tuple[object, Any]) -> IdColumns:
    """Check and align the two (name, column) pairs."""
    return _align(source, target, _readable(*source), _readable(*target))


def ids_beside(listed: tuple[object, Any], kept: tuple[object, Any]) -> IdColumns:
    """Check a (name, column) pair, and align it with a table's vertices, which are kept without extension types."""
    column, nulls = _readable(*listed)
    if isinstance(column, pa.Array) and isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    return _align(listed, kept, (column, nulls), _readable(*kept))


def _align(
    source: tuple[object, Any], target: tuple[object, Any], first: tuple[Any, Any], second: tuple[Any, Any]
) -> IdColumns:
    """Bring two readable columns, each with its nulls, to one type."""
    names, (one, other) = (source[0], target[0]), (first[0], second[0])
    if isinstance(one, np.ndarray) != isinstance(other, np.ndarray):
        one, other = (pa.array(column) if isinstance(column, np.ndarray) else column for column in (one, other))
    align = same_width if isinstance(one, np.ndarray) else _same_type
    one, other = align(*names, one, other)
    return IdColumns(one, other, first[1], second[1])


def _readable(name: object, column: Any) -> tuple[Any, Array | None]:
    """Integers without nulls as NumPy, anything else that can name a vertex as Arrow; and where nulls are."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "iu":
            return native_values(column), None
        if column.dtype.kind == "f":
            raise float_ids(name, str(column.dtype))
    column = plain_ids(arrow_column(name, column))
    kind = column.type.storage_type if isinstance(column.type, pa.BaseExtensionType) else column.type
    if pa.types.is_floating(kind):
        raise float_ids(name, str(kind))
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise unsuitable_ids(name, str(column.type))
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_integer(column.type):
        if nulls is not None:
            column = pc.fill_null(column, 0)
        return native_values(numbers_of_arrow(column)), nulls
    return column, nulls


def same_width(source: object, target: object, first: Array, second: Array) -> tuple[Array, Array]:
    """Bring integer columns to one type of 32 or 64 bits."""
    if first.dtype == second.dtype and first.dtype.itemsize >= 4:
        return first, second
    common: Any = np.result_type(first.dtype, second.dtype)
    if common.kind == "f":  # uint64 beside a signed type has no common integer type
        unsigned, signed = (first, second) if first.dtype.kind == "u" else (second, first)
        positive = not len(signed) or int(signed.min()) >= 0
        if not positive and len(unsigned) and int(unsigned.max()) > np.iinfo(np.int64).max:
            raise no_common_integer((source, first.dtype), (target, second.dtype))
        common = np.dtype(np.uint64 if positive else np.int64)
    if common.itemsize < 4:
        common = np.dtype(f"{common.kind}4")
    return first.astype(common, copy=False), second.astype(common, copy=False)


def _same_type(source: object, target: object, first: pa.Array, second: pa.Array) -> tuple[pa.Array, pa.Array]:
    common = common_id_type(first.type, second.type)
    if common is None:
        raise different_ids((source, first.type), (target, second.type))
    if isinstance(common, pa.BaseExtensionType):
        return storage_ids(first, common), storage_ids(second, common)
    try:
        return first.cast(common), second.cast(common)
    except pa.ArrowException as error:
        message = f"columns {source!r} ({first.type}) and {target!r} ({second.type}) have no exact common type"
        raise InvalidEdgesError(message, "cast both columns to one type") from error
