"""Columns of NumPy as Arrow arrays: every value exactly, or an error that names the column.

Arrow's own conversion of Python objects drops nanoseconds and time zones, and mixes texts with bytes and dates with
times.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

_NO_VALUE = {"NoneType", "NAType", "NaTType"}  # types of missing values, by name: pandas may not be loaded
#: Families of types, the first that fits; values of different families are never equal.
_FAMILIES = {
    "text": (str,),
    "binary": (bytes, bytearray, memoryview),
    "boolean": (bool, np.bool_),
    "numpy time": (np.datetime64, np.timedelta64),
    "integer": (int, np.integer),
    "float": (float, np.floating),
    "decimal": (Decimal,),
    "timestamp": (dt.datetime,),
    "date": (dt.date,),
    "time": (dt.time,),
    "duration": (dt.timedelta,),
    "uuid": (uuid.UUID, pa.UuidScalar),
}
_EXACT = 2.0**53  # below, float64 holds all integers
_NUMBERS = ({"integer", "decimal"}, {"integer", "float"})
#: Attributes of pandas' classes that Python's do not have.
_NANOSECONDS = {"timestamp": "nanosecond", "duration": "nanoseconds"}


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing value: ``None``, NaN, or pandas.NA, which compares to nothing."""
    try:
        return value is None or bool(value != value)
    except Exception:  # whatever the class of an object raises
        return type(value).__name__ == "NAType"


def native_values(values: Array) -> Array:
    """Numbers as kernels read them: in the machine's byte order, contiguous, aligned."""
    flags = values.flags
    if values.dtype.isnative and flags.c_contiguous and flags.aligned:
        return values
    return np.require(values.astype(values.dtype.newbyteorder("="), copy=False), requirements=("C", "A"))


def listed_values(name: str, values: Any) -> Array:
    """Return an array of what has one, and the elements of any other iterable as they are, as objects."""
    _refuse_masked(name, values)
    return np.asarray(values) if hasattr(values, "__array__") else np.array(list(values), object)


def number_array(name: str, values: Any) -> Array:
    """Return an array, or nested lists as one; numbers in lists are not rounded."""
    _refuse_masked(name, values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of different lengths, an array on a GPU
        message = f"{name} is no array: {error}"
        raise UnsupportedFrameError(message, "pass an array on the host, or lists of equal length") from error
    if hasattr(values, "dtype") or array.dtype.kind != "f" or not (np.abs(array) >= _EXACT).any():
        return array
    exact = to_arrow(name, np.array(values, object).ravel())
    exact = _narrowed(exact, pa.uint64()) if pa.types.is_decimal(exact.type) else exact
    return np.asarray(exact).reshape(array.shape)


def to_arrow(name: object, values: Array, *, nan_is_null: bool = True) -> pa.Array:
    """Return a column of NumPy as an Arrow array; what pandas counts as missing becomes null."""
    if values.dtype.kind in "OUST":
        return _objects(name, values.astype(object, copy=False))
    if values.dtype.kind not in "mM" or np.datetime_data(values.dtype)[1] == 1:
        try:
            return pa.array(native_values(values), from_pandas=nan_is_null)
        except (pa.ArrowException, NotImplementedError):
            pass
    message = f"column {name!r} holds {values.dtype} values, which Arrow has no type for"
    raise InvalidEdgesError(message, "cast the column to a type of Arrow, such as int64 or float64")


def _objects(name: object, values: Array) -> pa.Array:
    kinds = {kind for kind in set(map(type, values)) if kind.__name__ not in _NO_VALUE}
    families = {_family(kind) for kind in kinds}
    if len(families) > 1 and "float" in families:  # NaNs are missing texts, dates, integers and so on
        values = np.array([None if is_missing(value) else value for value in values], object)
        kinds = set(map(type, values)) - {type(None)}
        families = {_family(kind) for kind in kinds}
    if (len(families) < 2 or families in _NUMBERS) and _of_one_zone(families, values):
        try:
            return _exact(families, values)
        except (pa.ArrowException, ArithmeticError, NotImplementedError, TypeError, ValueError):
            pass
    verb, plural = ("mixes", "s") if len(kinds) > 1 else ("holds", "")
    listed = ", ".join(sorted(kind.__name__ for kind in kinds))
    message = f"column {name!r} {verb} values of type{plural} {listed}, which no type of Arrow holds exactly"
    raise InvalidEdgesError(message, "cast the column to one type, such as integers or strings")


def _family(kind: type) -> str:
    return next((name for name, kinds in _FAMILIES.items() if issubclass(kind, kinds)), str(kind))


def _of_one_zone(families: set[str], values: Array) -> bool:
    """Whether all timestamps have a zone or none has, and no time of day has one, which Arrow would leave out."""
    if not families <= {"timestamp", "time"}:
        return True
    aware = {value.tzinfo is not None for value in values if not is_missing(value)}
    return len(aware) < 2 and (families != {"time"} or True not in aware)


def _exact(families: set[str], values: Array) -> pa.Array:
    if families <= {"integer", "decimal"}:
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowException, OverflowError):  # integers of different types, or beyond 64 bits
            exact = pa.array([None if is_missing(value) else _decimal(value) for value in values])
        return _narrowed(exact, pa.int64()) if families == {"integer"} else exact
    if families == {"uuid"}:
        plain = (value.as_py() if isinstance(value, pa.Scalar) else value for value in values)
        return pa.array([None if is_missing(value) else value.bytes for value in plain], pa.uuid())
    column = pa.array(values, from_pandas=True)
    for family in families & _NANOSECONDS.keys():
        rest = np.array([getattr(value, _NANOSECONDS[family], 0) for value in values], np.float64)
        finer = np.nan_to_num(rest).astype(np.int64)  # NaT has NaN
        if finer.any():
            kind = pa.timestamp("ns", column.type.tz) if family == "timestamp" else pa.duration("ns")
            column = pc.add(column.cast(kind).view(pa.int64()), pa.array(finer)).view(kind)
    return column


def _narrowed(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decimals in a type of integers if it holds them, else as they are."""
    with contextlib.suppress(pa.ArrowInvalid):
        return column.cast(kind)
    return column


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(int(value))


def _refuse_masked(name: str, values: Any) -> None:
    """NumPy would read masked entries through their mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        places = np.argwhere(np.ma.getmaskarray(values))
        first = int(places[0, 0]) if values.ndim == 1 else tuple(places[0].tolist())
        message = f"{name} has {len(places):,} missing entries, the first at position {first}"
        raise InvalidEdgesError(message, "fill or remove them first")
