"""Types of columns whose entries are put in one column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dfmst._common.deferred import nw
from dfmst.errors import InvalidEdgesError


def native_type(series: nw.Series[Any]) -> str:
    """The library's own name of the column's type, finer than Narwhals': string and large_string differ."""
    native = nw.to_native(series)
    return str(native.type if hasattr(native, "type") else native.dtype)


def have_common_type(first: nw.Series[Any], second: nw.Series[Any]) -> bool:
    """Whether there is a type for entries of both columns."""
    kinds = (nw.String, nw.Categorical, nw.Enum)
    text = isinstance(first.dtype, kinds) and isinstance(second.dtype, kinds)
    integers = first.dtype.is_integer() and second.dtype.is_integer()
    return native_type(first) == native_type(second) or text or integers


def common_type(first: nw.Series[Any], second: nw.Series[Any]) -> Any:
    """A type for entries of both columns: integers of 64 bits or of polars' 128, or text."""
    if not first.dtype.is_integer():
        return nw.String
    if nw.Int128 in (first.dtype, second.dtype):
        return nw.Int128
    return nw.UInt64 if nw.UInt64 in (first.dtype, second.dtype) else nw.Int64


def narrow_decimals(column: pa.Array) -> pa.Array:
    """Decimals of at most 38 digits: polars has no longer ones."""
    if not pa.types.is_decimal256(column.type):
        return column
    try:
        return column.cast(pa.decimal128(38, column.type.scale))
    except pa.ArrowException as error:
        message = f"ids of more than 38 digits ({column.type}) have no type in polars"
        raise InvalidEdgesError(message, "cast both id columns to one type, such as strings") from error
