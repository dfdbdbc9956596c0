"""Columns between NumPy, Arrow and Python: every value exactly, or an error that names the column.

Arrow's own conversion of Python objects drops nanoseconds and time zones, and mixes texts with bytes and dates with
times. Its conversions to NumPy import pandas at their first use, which takes a third of a second and 30 MB.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from dfmst._common.arguments import refuse_masked
from dfmst._common.deferred import pa, pc
from dfmst._common.types import Array, Column, ColumnName
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


def arrow_column(name: object, column: Column, *, nan_is_null: bool = True) -> pa.Array:
    column = to_arrow(name, column, nan_is_null=nan_is_null) if isinstance(column, np.ndarray) else column
    return whole_ids(column) if isinstance(column, pa.ChunkedArray) else column


def numbers_of_arrow(column: pa.Array) -> Array:
    """Return the values of an Arrow array as NumPy has them."""
    kind = column.type
    if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        values: Array = column.to_numpy(zero_copy_only=False)
        return values
    dtype = np.dtype(kind.to_pandas_dtype())
    if not len(column):
        return np.zeros(0, dtype)
    return np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)


def table_of_records(records: Array) -> pa.Table:
    """Return a structured array as a table, a column a field."""
    return pa.table({name: to_arrow(name, records[name]) for name in records.dtype.names or ()})


def records_of_table(table: pa.Table) -> Array:
    """Return a table as a structured array, a field a column."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.to_numpy(zero_copy_only=False)
        if column.null_count and pa.types.is_integer(column.type):  # as floats, which round
            values = np.array(column.to_pylist(), object)
        texts = values.dtype == object and not {*map(type, values)} - {str}
        columns[name] = values.astype(str) if texts else values
    records = np.empty(len(table), [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        records[name] = values
    return records


def label_array(column: pa.Array) -> Array:
    """Return ids as an array of labels for drawings: numbers, or texts, also of dates and times."""
    if pa.types.is_integer(column.type):
        numbers: Array = column.to_numpy()
        return numbers
    return np.fromiter(readable(column), object, len(column))


def arrow_numbers(values: Array, kind: pa.DataType | None = None) -> pa.Array:
    """Return integers, floats or booleans as an Arrow array."""
    if values.dtype == bool:  # a bit each in Arrow
        return pa.array(values)
    whole = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(whole.dtype) if kind is None else kind
    return pa.Array.from_buffers(kind, len(whole), [None, pa.py_buffer(whole)])


_NO_VALUE = {"NoneType", "NAType", "NaTType"}  # types of missing values, by name: pandas may not be imported
_UUIDS = {"UUID", "UuidScalar"}  # of Python and of Arrow, by name: neither may be imported
#: Families of types, the first that fits counts; values of different families are never equal.
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
}
_EXACT = 2.0**53  # below, float64 holds all integers
_NUMBERS = ({"integer", "decimal"}, {"integer", "float"})
_NANOSECONDS = {"timestamp": "nanosecond", "duration": "nanoseconds"}  # attributes of pandas' classes


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing value: ``None``, NaN, NaT or ``pandas.NA``."""
    try:
        return value is None or bool(value != value)
    except Exception:  # objects may raise anything
        return type(value).__name__ == "NAType"


def native_values(values: Array) -> Array:
    """Return numbers as kernels read them: in the machine's byte order, contiguous, aligned."""
    flags = values.flags
    if values.dtype.isnative and flags.c_contiguous and flags.aligned:
        return values
    return np.require(values.astype(values.dtype.newbyteorder("="), copy=False), requirements=("C", "A"))


def listed_values(name: str, values: Column) -> Array:
    """Return an object that converts to an array as an array, and any other iterable as an array of objects."""
    refuse_masked(name, values)
    if hasattr(values, "__array__"):
        return np.asarray(values)
    entries = list(values)
    array = np.array(entries, object)
    if array.ndim > 1 and isinstance(entries[0], (bytearray, memoryview)):  # NumPy takes them for rows of integers
        return np.fromiter(entries, object, len(entries))
    return array


def number_array(name: str, values: Column) -> Array:
    """Return an array, or nested lists as an array; numbers in lists are not rounded."""
    refuse_masked(name, values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of different lengths, an array on a GPU
        message = f"{name} is not an array: {error}"
        raise UnsupportedFrameError(message, "pass an array on the host, or lists of equal length") from error
    if hasattr(values, "dtype") or array.dtype.kind != "f" or not (np.abs(array) >= _EXACT).any():
        return array
    exact = to_arrow(name, np.array(values, object).ravel())
    if pa.types.is_decimal(exact.type):
        with contextlib.suppress(pa.ArrowInvalid):
            exact = exact.cast(pa.uint64())
    return np.asarray(exact).reshape(array.shape)


def to_arrow(name: object, values: Array, *, nan_is_null: bool = True) -> pa.Array:
    """Return a column of NumPy as an Arrow array; values that are missing for pandas become null."""
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
    if (len(families) < 2 or families in _NUMBERS) and _have_one_zone(families, values):
        for entries in (values, map(_with_records, values)):
            with contextlib.suppress(pa.ArrowException, ArithmeticError, NotImplementedError, TypeError, ValueError):
                return _exact(families, np.fromiter(entries, object, len(values)))
    verb, plural = ("mixes", "s") if len(kinds) > 1 else ("holds", "")
    listed = ", ".join(sorted(kind.__name__ for kind in kinds))
    message = f"column {name!r} {verb} values of type{plural} {listed}, which no type of Arrow holds exactly"
    raise InvalidEdgesError(message, "cast the column to one type, such as integers or strings")


def _with_records(value: Any) -> Any:
    """Return a nested value with records in place of tuples, whose entries may have different types."""
    if isinstance(value, tuple):
        return {str(place): _with_records(entry) for place, entry in enumerate(value)}
    return list(map(_with_records, value)) if isinstance(value, list) else value


def _family(kind: type) -> str:
    if kind.__name__ in _UUIDS:
        return "uuid"
    return next((name for name, kinds in _FAMILIES.items() if issubclass(kind, kinds)), str(kind))


def _have_one_zone(families: set[str], values: Array) -> bool:
    """Whether all timestamps have a zone or none has, and no time of day has one, which Arrow would drop."""
    if not families <= {"timestamp", "time"}:
        return True
    aware = {value.tzinfo is not None for value in values if not is_missing(value)}
    return len(aware) < 2 and (families != {"time"} or True not in aware)


def _exact(families: set[str], values: Array) -> pa.Array:
    if families <= {"integer", "decimal"}:
        try:
            exact = pa.array(values, from_pandas=True)
            if exact.type != pa.uint64():
                return exact
            exact = exact.cast(pa.decimal128(20))  # comparable with negative integers, as Python's are
        except (pa.ArrowException, OverflowError):  # integers of different types, or beyond 64 bits
            numbers = (value if isinstance(value, Decimal) or is_missing(value) else int(value) for value in values)
            exact = pa.array([None if is_missing(value) else Decimal(value) for value in numbers])
        with contextlib.suppress(pa.ArrowInvalid):
            return exact.cast(pa.int64()) if families == {"integer"} else exact
        return exact
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


_LONGEST = (1 << 31) - 1  # bytes of text that offsets of 32 bits address


@cache
def large_types() -> dict[pa.DataType, pa.DataType]:
    """Return types with offsets of 32 bits, and their counterparts with offsets of 64 bits."""
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


@cache
def plain_views() -> dict[pa.DataType, pa.DataType]:
    """Return types of views, and their counterparts without views."""
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def is_long_dictionary(column: pa.Array) -> bool:
    """Whether the texts of a dictionary may take 2 GiB or more when they are decoded."""
    if not _has_texts(column.type) or len(column) * column.dictionary.nbytes <= _LONGEST:
        return False
    longest = pc.max(pc.binary_length(column.dictionary)).as_py()
    return len(column) * (longest or 0) > _LONGEST


def _has_texts(kind: pa.DataType) -> bool:
    large = large_types()
    return pa.types.is_dictionary(kind) and (kind.value_type in large or kind.value_type in large.values())


def text_dictionary(column: pa.Array) -> pa.Array:
    """Return a dictionary of texts with 64-bit offsets and 32-bit codes; only codes are null."""
    codes, texts = column.indices.cast(pa.int32()), column.dictionary
    if texts.null_count:
        codes = pc.if_else(texts.is_valid().take(codes), codes, None)
        texts = texts.fill_null("" if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type) else b"")
    return pa.DictionaryArray.from_arrays(codes, texts.cast(large_types().get(texts.type, texts.type)))


def plain_ids(column: pa.Array) -> pa.Array:
    """Return ids without an encoding: dictionaries and runs are decoded, views become text or binary."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        if kind.value_type in plain_views():  # Arrow does not decode it
            column = pa.DictionaryArray.from_arrays(column.indices, plain_ids(column.dictionary))
        column = text_dictionary(column) if is_long_dictionary(column) else column
        return plain_ids(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain_ids(pc.run_end_decode(column))
    if kind in plain_views():
        return column.cast(plain_views()[kind])
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):  # Arrow cannot sort or encode them
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column


def comparable(column: pa.Array) -> pa.Array:
    """Return half floats, which old versions of Arrow neither compare nor encode, as floats of 32 bits."""
    return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column


def ascends(column: pa.Array) -> bool:
    """Whether each entry is greater than the one before, as in labels that dfmst returns."""
    column = comparable(column)
    return len(column) < 2 or bool(pc.all(pc.greater(column[1:], column[:-1])).as_py())


def check_distinct(
    name: str, column: pa.Array, nulls: Array | None, hint: str, option: tuple[str, str] | None = None
) -> None:
    """Raise an error for null or repeated ids of rows; the hint is for repeated ones."""
    if nulls is not None and nulls.any():
        row = int(nulls.argmax())
        message = f"{name} has {int(nulls.sum()):,} nulls, the first in row {row}"
        raise InvalidEdgesError(message, "leave those rows out", row=row)
    column = comparable(column)
    repeated = 0 if ascends(column) else len(column) - int(pc.count_distinct(column).as_py())
    if not repeated:
        return
    codes = pc.dictionary_encode(column).indices.to_numpy()
    firsts = np.unique(codes, return_index=True)[1]
    again = np.ones(len(codes), bool)
    again[firsts] = False
    row = int(again.argmax())
    message = f"{name} has {repeated:,} repeated entries, the first is {column[row].as_py()!r} in row {row}"
    raise InvalidEdgesError(f"{message}, as in row {firsts[codes[row]]}", hint, row=row, option=option)


def whole_ids(column: pa.ChunkedArray) -> pa.Array:
    """Return a chunked column as one array; texts of 2 GiB and more get offsets of 64 bits."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks and _has_texts(column.type):
        chunks = [text_dictionary(chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
    if column.num_chunks and pa.types.is_dictionary(column.type):  # the type of the codes may be too narrow for all
        column = pa.chunked_array([plain_ids(chunk) for chunk in column.chunks])
    if column.type in large_types() and column.nbytes >= _LONGEST:
        column = column.cast(large_types()[column.type])
    return column.combine_chunks()


_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}  # of a second
_NO_FRACTION = re.compile(r"(:\d\d)\.0+(?!\d)")


def readable(column: Array | pa.Array) -> list[Any]:
    """Return the values of a column: dates and times as text, durations as seconds, the others as Python has them."""
    if isinstance(column, np.ndarray):
        try:
            column = to_arrow("", column)
        except InvalidEdgesError:
            listed: list[Any] = column.tolist()
            return listed
    column = plain_ids(column)
    if pa.types.is_duration(column.type):
        return [None if value is None else f"{value:f} s" for value in seconds(column)]
    if pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
        texts = column.cast(pa.string()).to_pylist()
        return [None if text is None else _NO_FRACTION.sub(r"\1", text) for text in texts]
    values: list[Any] = column.to_pylist()
    return values


def seconds(column: pa.Array) -> list[Any]:
    """Return durations as seconds, exactly: ``Decimal``, nulls as ``None``."""
    digits = _DIGITS[column.type.unit]
    counts = column.cast(pa.int64()).to_pylist()
    return [None if count is None else Decimal(count).scaleb(-digits).normalize() for count in counts]


def moments(column: pa.Array) -> Array:
    """Return times as seconds, ``float64``: since 1970, since midnight, or of a duration."""
    counts, per_second = ticks(column)
    times: Array = counts.to_numpy(zero_copy_only=False) / per_second
    return times


def no_times(name: object, kind: object) -> InvalidEdgesError:
    message = f"column {name!r} holds {kind} values, not times"
    return InvalidEdgesError(message, "cast the column to dates, timestamps, durations, integers or floats")


def no_groups(name: ColumnName, kinds: str) -> InvalidEdgesError:
    message = f"column {name!r} holds {kinds} values, by which rows cannot be grouped"
    one = "cast it to the same type in all frames" if " and " in kinds else "make a plain column of it"
    return InvalidEdgesError(message, one)


def ticks(column: Column) -> tuple[Any, int]:
    """Return times as whole numbers, ``int64`` of Arrow, and how many of them are a second."""
    kind = column.type
    counts = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
    if pa.types.is_date32(kind):
        return pc.multiply(counts, 86_400), 1
    return counts, 10 ** _DIGITS["ms" if pa.types.is_date64(kind) else kind.unit]
