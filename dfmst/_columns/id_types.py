"""Which ids can be compared, and the type that holds both exactly.

====================================  ==========================================================
ids                                   compared as
====================================  ==========================================================
integers of any width                 64-bit integers; an error where none holds both
integers beside decimals, decimals    a decimal with the digits of both, at most 76
text (also categorical, views)        ``large_string``
binary of any layout                  ``large_binary``
``date32``, ``date64``                ``date64``
timestamps, all with or all without   the finer unit; zones are compared as instants
a time zone
times, durations                      the finer unit
booleans                              booleans
extension types                       their storage, if both are of one type
====================================  ==========================================================

Every other pair (bool beside int, a date beside a timestamp, UTC beside naive, …) is refused: equal ids would not be
equal, or different ones would be.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dfmst._frames.later import pc
from dfmst.typing import Array

__all__ = ["common_id_type", "is_missing", "native_values", "plain_ids", "storage_ids", "whole_ids"]

_UNITS = ("s", "ms", "us", "ns")
_MOST_DIGITS = 76
_LONGEST = (1 << 31) - 1  # bytes that offsets of 32 bits reach
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def native_values(values: Array) -> Array:
    """Numbers as kernels read them: in the machine's byte order, contiguous, aligned."""
    flags = values.flags
    if values.dtype.isnative and flags.c_contiguous and flags.aligned:
        return values
    return np.require(values.astype(values.dtype.newbyteorder("="), copy=False), requirements=("C", "A"))


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing value: ``None``, NaN, or pandas.NA, which compares to nothing."""
    try:
        return value is None or bool(value != value)
    except Exception:  # whatever the class of an object raises
        return type(value).__name__ == "NAType"


def plain_ids(column: pa.Array) -> pa.Array:
    """Return ids without an encoding: dictionaries and runs are decoded, views become text or binary."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain_ids(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain_ids(pc.run_end_decode(column))
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    return column


def whole_ids(column: pa.ChunkedArray) -> pa.Array:
    """Return a chunked column in one piece; texts of 2 GiB and more get offsets of 64 bits."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type) and column.nbytes >= _LONGEST:
        column = column.cast(pa.large_string())
    elif pa.types.is_binary(column.type) and column.nbytes >= _LONGEST:
        column = column.cast(pa.large_binary())
    return column.combine_chunks()


def storage_ids(column: pa.Array, kind: pa.BaseExtensionType) -> pa.Array:
    """Return the storage of ids of an extension type; nulls have none of their own."""
    storage: pa.Array = pa.nulls(len(column), kind.storage_type) if pa.types.is_null(column.type) else column.storage
    return storage


def common_id_type(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """Return the type that holds the ids of two types exactly; ``None`` where they cannot be compared.

    Examples
    --------
    >>> common_id_type(pa.string(), pa.large_string()), common_id_type(pa.int64(), pa.decimal128(5, 2))
    (DataType(large_string), Decimal128Type(decimal128(21, 2)))
    >>> common_id_type(pa.bool_(), pa.int64()), common_id_type(pa.date32(), pa.timestamp("s"))
    (None, None)
    """
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    families = {_family(first), _family(second)}
    if families <= {"integer", "decimal"}:
        return _numeric(first, second)
    if len(families) > 1:
        return None
    family = families.pop()
    if family in _LARGEST:
        return _LARGEST[family]
    unit = max((first.unit, second.unit), key=_UNITS.index) if family in _TIMED else None
    if family == "time":
        return pa.time64(unit) if unit in ("us", "ns") else pa.time32(unit)
    if family == "duration":
        return pa.duration(unit)
    if family == "naive":
        return pa.timestamp(unit)
    return pa.timestamp(unit, first.tz if first.tz == second.tz else "UTC") if family == "aware" else None


_TIMED = ("time", "duration", "naive", "aware")
_LARGEST = {"text": pa.large_string(), "binary": pa.large_binary(), "date": pa.date64()}


def _family(kind: pa.DataType) -> str:
    """Name of the row of the table that a type is in; types in none have a name of their own."""
    tests = {
        "integer": pa.types.is_integer,
        "decimal": pa.types.is_decimal,
        "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
        "binary": lambda kind: (
            pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
        ),
        "date": pa.types.is_date,
        "naive": lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
        "aware": lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
        "time": pa.types.is_time,
        "duration": pa.types.is_duration,
    }
    return next((name for name, test in tests.items() if test(kind)), str(kind))


def _numeric(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    if pa.types.is_integer(first) and pa.types.is_integer(second):
        unsigned = pa.uint64() in (first, second)
        return pa.uint64() if unsigned else pa.int64()
    scales = [max(0, kind.scale) if pa.types.is_decimal(kind) else 0 for kind in (first, second)]
    whole = [_whole_digits(kind) for kind in (first, second)]
    digits = max(whole) + max(scales)
    if digits > _MOST_DIGITS:
        return None
    return pa.decimal128(digits, max(scales)) if digits <= 38 else pa.decimal256(digits, max(scales))


def _whole_digits(kind: pa.DataType) -> int:
    """Digits before the decimal point."""
    if pa.types.is_decimal(kind):
        return int(kind.precision - kind.scale)
    return _DIGITS[kind.bit_width] + int(kind == pa.uint64())
