"""Types that hold the values of two columns exactly, and columns of several tables in such types.

Ids are compared as follows:

====================================  ==========================================================
ids                                   compared as
====================================  ==========================================================
integers of any width                 64-bit integers; a decimal if none holds both
integers and decimals, decimals       a decimal with the digits of both, at most 76
text (also categorical, views)        ``large_string``
binary of any layout                  ``large_binary``
``date32``, ``date64``                ``date64``
timestamps, all with or all without   the finer unit; zones are compared as instants
a time zone
times, durations                      the finer unit
booleans                              booleans
extension types                       their storage, if both are of one type
====================================  ==========================================================

Every other pair (bool and int, date and timestamp, UTC and naive, …) is refused: equal ids would be different, or
different ids would be equal. Columns of floats and of nested types, which cannot be ids, have common types, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dfmst._common.deferred import nw, pa, pc
from dfmst._common.types import Column, ColumnName
from dfmst._edges.arrow_values import plain_ids
from dfmst.errors import InvalidEdgesError

UNITS = ("s", "ms", "us", "ns")
_MOST_DIGITS = 76
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_CAST = "cast one of them, so that equal values are equal"


class CommonSchema:
    """The columns of several tables, each in a type for the values of all tables."""

    def __init__(self, tables: Iterable[tuple[object, pa.Schema]]) -> None:
        self.schema: pa.Schema = pa.schema([])  # columns by first occurrence, with the first table's metadata
        self._types: dict[str, dict[pa.DataType, object]] = {}  # column -> type -> first table
        for number, (name, schema) in enumerate(tables):
            self.schema = self._joined(name, schema) if number else schema
            for field in schema:
                self._types.setdefault(field.name, {}).setdefault(field.type, name)

    def _joined(self, name: object, schema: pa.Schema) -> pa.Schema:
        ours, theirs = self.schema, schema
        if ours.equals(theirs) and _CATEGORIES.decode() not in str(ours):
            return ours
        for names in (ours.names, theirs.names):
            if len(set(names)) < len(names):
                message = f"{name} has other columns than earlier tables, and two columns have the same name"
                raise InvalidEdgesError(message, "give all tables the same columns")
        fields = {field.name: field for field in ours}
        for field in theirs:
            earlier = fields.get(field.name)
            kind = field.type if earlier is None else common_type(earlier.type, field.type)
            if kind is None:
                raise self._unlike(field, name)
            fields[field.name] = field if earlier is None else _with_categories(earlier, field, name).with_type(kind)
        common = set(ours.names) & set(theirs.names)
        full = {each for each in common if not (ours.field(each).nullable or theirs.field(each).nullable)}
        return pa.schema([each.with_nullable(each.name not in full) for each in fields.values()], ours.metadata)

    def append(self, columns: Mapping[str, pa.DataType]) -> None:
        """Add columns that no table has, for the constants of :meth:`fit`."""
        for name, kind in columns.items():
            self.schema = self.schema.append(pa.field(name, kind))

    def columns(self, names: Sequence[ColumnName] | None = None) -> pa.Schema:
        """Return the schema of some columns (``None``: all)."""
        return self.schema if names is None else pa.schema([self.schema.field(name) for name in names])

    def fit(
        self, batch: pa.RecordBatch, name: object, columns: Sequence[ColumnName] | None = None, constants: Any = None
    ) -> pa.RecordBatch:
        """Return a table's batch with these columns (``None``: all) in their common types."""
        schema, constants = self.columns(columns), constants or {}
        for column in set(constants) & set(batch.schema.names):
            _check_constant(column, batch.column(column), constants[column], name)
        if batch.schema.names == schema.names and batch.schema.types == schema.types:
            return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        if not batch.num_rows:
            return pa.RecordBatch.from_pylist([], schema)
        arrays = []
        for field in schema:
            place = batch.schema.get_field_index(field.name)
            if place < 0:
                arrays.append(pa.repeat(_constant(field.name, constants.get(field.name), field.type, name), len(batch)))
                continue
            own = batch.schema.field(place)
            if common_type(own.type, field.type) is None:
                raise self._unlike(own, name)
            try:
                arrays.append(cast_exactly(batch.column(place), field.type))
            except pa.ArrowException as error:
                raise self._unlike(own, name, f", and {field.type} does not hold all values") from error
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _unlike(self, field: pa.Field, name: object, reason: str = "") -> InvalidEdgesError:
        types = self._types[field.name].items()
        other, first = next((pair for pair in types if common_type(pair[0], field.type) is None), None) or next(
            (pair for pair in types if pair[0] != field.type), (field.type, name)
        )
        message = f"column {field.name!r} is {other} in {first} and {field.type} in {name}{reason}"
        return InvalidEdgesError(message, _CAST)


_CATEGORIES = b"_PL_ENUM_VALUES"  # of polars' Enum, in the metadata of a field; a number of the version may follow


def _with_categories(earlier: pa.Field, field: pa.Field, name: object) -> pa.Field:
    """Return the earlier field; if it is an Enum of polars, with the categories of both, or without any."""
    nested = earlier.type.num_fields and all("dictionary" in str(each.type) for each in (earlier, field))
    if nested and _nested_categories(earlier) != _nested_categories(field):
        message = f"column {field.name!r} holds lists or structs with a polars Enum, whose categories in {name} differ"
        raise InvalidEdgesError(message, "cast the Enum to pl.String in all tables")
    about, other = (each.metadata or {} for each in (earlier, field))
    key = next((key for key in (*about, *other) if key.startswith(_CATEGORIES)), _CATEGORIES)
    ours, theirs = about.get(key), other.get(key)
    if key == _CATEGORIES and None not in (ours, theirs) and ours != theirs:  # polars before 1.32 joins no Enums
        message = f"column {field.name!r} holds a polars Enum, whose categories in {name} differ"
        raise InvalidEdgesError(message, "cast the Enum to pl.String in all tables, or use polars 1.32 or later")
    if ours == theirs or ours is None or pa.types.is_null(field.type):
        return earlier
    if theirs is None:  # polars then reads categoricals
        return earlier.with_metadata({name: value for name, value in about.items() if name != key})
    both = dict.fromkeys([*_counted(ours), *_counted(theirs)])
    return earlier.with_metadata({**about, key: b"".join(both)})


def with_categories(schema: pa.Schema, tables: Iterable[tuple[object, pa.Schema]]) -> pa.Schema:
    """Return the schema of a dataset, which has the Enums of its first table, with the categories of all tables."""
    if _CATEGORIES.decode() not in str(schema):
        return schema
    for name, table in tables:
        for place, field in enumerate(schema):
            if field.name in table.names:
                schema = schema.set(place, _with_categories(field, table.field(field.name), name))
    return schema


def _nested_categories(field: pa.Field) -> list[str]:
    lines = pa.schema([field.remove_metadata()]).to_string(truncate_metadata=False).splitlines()
    return [line for line in lines if _CATEGORIES.decode() in line]


def _counted(values: bytes) -> Iterator[bytes]:
    """Yield the categories of an Enum, each with its number of bytes and a semicolon before it."""
    while values:
        length = values.partition(b";")[0]
        end = len(length) + 1 + int(length)
        yield values[:end]
        values = values[end:]


def _constant(name: str, value: object, kind: pa.DataType, place: object) -> pa.Scalar:
    """Return the value that a table's folder gives to a column, in the type of the column."""
    try:
        return pa.scalar(value).cast(kind)
    except pa.ArrowException as error:
        message = f"column {name!r} is {value!r} by the folder of {place}, and {kind} in other files"
        raise InvalidEdgesError(message, _CAST) from error


def _check_constant(name: str, column: pa.Array, value: object, place: object) -> None:
    """Raise if a column does not hold the value that the table's folder gives it: either may be meant."""
    column = plain_ids(column)
    expected = _constant(name, value, column.type, place)
    same = column.is_null() if value is None else pc.fill_null(pc.equal(column, expected), False)
    row = pc.index(same, False).as_py()
    if row >= 0:
        message = f"column {name!r} is {column[row].as_py()!r} in {place}, whose folder says {value!r}"
        raise InvalidEdgesError(message, "rename the column or the folder, so that one of the two values is read")


def cast_exactly(column: Column, kind: pa.DataType) -> Any:
    if column.type == kind:
        return column
    if pa.types.is_dictionary(column.type) and pa.types.is_dictionary(kind):
        column = pa.DictionaryArray.from_arrays(column.indices, plain_ids(column.dictionary))  # Arrow casts no views
    elif pa.types.is_dictionary(column.type) or pa.types.is_run_end_encoded(column.type):
        column = plain_ids(column)
    if pa.types.is_integer(column.type) and pa.types.is_decimal(kind):  # else Arrow checks digits of the integer type
        column = column.cast(pa.decimal256(_MOST_DIGITS, max(kind.scale, 0)))
    cast = column.cast(kind)
    # Arrow checks all other casts.
    floats = [pa.types.is_floating(each) for each in (kind, column.type)]
    if any(floats) and (all(floats) or pa.types.is_decimal(kind) or pa.types.is_decimal(column.type)):
        same = pc.equal(_read_as(cast, column.type), column)
        same = pc.or_kleene(same, pc.is_nan(cast)) if floats[0] else same
        if not pc.all(same).as_py() and len(column) > column.null_count:
            raise pa.ArrowInvalid(f"{kind} rounds a value")
    return cast


def alike(first: pa.Array, second: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return two columns in the type in which a value equals the one that was written as text and read back.

    It is the narrower type of two floats; else the floats', or that of times, booleans and decimals next to text, as
    files of text have them, or of durations next to their ticks.
    Columns of other types, and those with a value that the type does not hold, are returned as they are.
    """
    if first.type == second.type:
        return first, second
    columns = [plain_ids(column) for column in (first, second)]
    families = {family_of(column.type): column.type for column in columns}
    if families.keys() == {"float"}:
        kind = min((column.type for column in columns), key=lambda kind: kind.bit_width)
    elif "float" in families and families.keys() & {"integer", "decimal"}:
        kind = families["float"]
    elif families.keys() in ({"date", "naive"}, {"integer", "duration"}):
        kind = families["naive" if "naive" in families else "duration"]
    elif "text" in families and len(families) == 2 and families.keys() & _WRITTEN:
        kind = next(kind for family, kind in families.items() if family != "text")
    else:
        return first, second
    try:
        one, other = (_read_as(column, kind) for column in columns)
    except pa.ArrowException:
        return first, second
    return one, other


_WRITTEN = {"time", "date", "naive", "aware", "decimal", "bool"}  # families that text files write as text


def _read_as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(column.type) and pa.types.is_floating(kind):
        column = column.cast(pa.string())  # Arrow makes 0.7000000000000001 of the decimal 0.70
    if not pa.types.is_time(kind) or family_of(column.type) != "text":
        return column.cast(kind)
    moments = pc.binary_join_element_wise(pa.scalar("1970-01-01", column.type), column, pa.scalar(" ", column.type))
    return moments.cast(pa.timestamp(kind.unit)).cast(kind)  # Arrow reads no times of day


def read_exactly(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column in a type that holds all its values, or raise ArrowInvalid; times and the like may be text."""
    own, other = family_of(column.type), family_of(kind)
    if own == "text" and other in _WRITTEN:
        return _read_as(column, kind)
    if own != other and not {own, other} <= {"integer", "float", "decimal"} and (own, other) != ("date", "naive"):
        raise pa.ArrowInvalid(f"{column.type} and {kind} are of two kinds")
    return cast_exactly(column, kind)


def common_type(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """Return the type for values of two types, which :func:`cast_exactly` checks; ``None`` if there is none."""
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    if any(map(pa.types.is_run_end_encoded, (first, second))):
        return common_type(
            *(kind.value_type if pa.types.is_run_end_encoded(kind) else kind for kind in (first, second))
        )
    encoded = [pa.types.is_dictionary(kind) for kind in (first, second)]
    if any(encoded):
        values = common_type(*(kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (first, second)))
        return pa.dictionary(pa.int32(), values) if all(encoded) and values is not None else values
    families = {family_of(first), family_of(second)}
    if families == {"aware"} and first.tz != second.tz:
        return None
    if families <= {"integer", "float"} or (first.id == second.id and first.num_fields):
        schemas = [pa.schema({"": kind}) for kind in (first, second)]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        except pa.ArrowException:
            return None
    return common_id_type(first, second)


def common_id_type(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """Return the type that holds the ids of two types exactly; ``None`` if they cannot be compared."""
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    families = {family_of(first), family_of(second)}
    if families <= {"integer", "decimal"}:
        return _numeric(first, second)
    if len(families) > 1:
        return None
    family = families.pop()
    if family in _LARGEST:
        return getattr(pa, _LARGEST[family])()
    unit = max((first.unit, second.unit), key=UNITS.index) if family in _TIMED else None
    if family == "time":
        return pa.time64(unit) if unit in ("us", "ns") else pa.time32(unit)
    if family == "duration":
        return pa.duration(unit)
    if family == "naive":
        return pa.timestamp(unit)
    return pa.timestamp(unit, first.tz if first.tz == second.tz else "UTC") if family == "aware" else None


_TIMED = ("time", "duration", "naive", "aware")
_LARGEST = {"text": "large_string", "binary": "large_binary", "date": "date64"}


def family_of(kind: pa.DataType) -> str:
    """Return the family of a type; the name of the type if it has none."""
    tests = {
        "integer": pa.types.is_integer,
        "decimal": pa.types.is_decimal,
        "float": pa.types.is_floating,
        "text": {pa.string(), pa.large_string(), pa.string_view()}.__contains__,
        "binary": lambda kind: (
            kind in (pa.binary(), pa.large_binary(), pa.binary_view()) or pa.types.is_fixed_size_binary(kind)
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
        return pa.uint64() if pa.uint64() in (first, second) else pa.int64()
    whole = scale = 0  # digits before and after the decimal point
    for kind in (first, second):
        if pa.types.is_decimal(kind):
            whole, scale = max(whole, kind.precision - kind.scale), max(scale, kind.scale)
        else:
            whole = max(whole, _DIGITS[kind.bit_width] + int(kind == pa.uint64()))
    if whole + scale > _MOST_DIGITS:
        return None
    return pa.decimal128(whole + scale, scale) if whole + scale <= 38 else pa.decimal256(whole + scale, scale)


def native_type(series: Column) -> Any:
    """Return the library's own type of a column: string is not large_string, and categories are part of it."""
    native = nw.to_native(series, pass_through=True)
    return native.type if isinstance(native, pa.ChunkedArray) else native.dtype


def series_type(first: nw.Series[Any], second: nw.Series[Any]) -> Any:
    """Return the type for entries of two columns, text or integers of 64 or 128 bits; ``None`` for others."""
    if _casts_to_text(first) and _casts_to_text(second):
        return nw.String
    if not (first.dtype.is_integer() and second.dtype.is_integer()):
        return None
    if nw.Int128 in (first.dtype, second.dtype):
        return nw.Int128
    if nw.UInt64 not in (first.dtype, second.dtype):
        return nw.Int64
    signed = [series for series in (first, second) if series.dtype != nw.UInt64]
    return None if any((series < 0).any() for series in signed) else nw.UInt64


def _casts_to_text(series: nw.Series[Any]) -> bool:
    if series.implementation.is_polars():
        return isinstance(series.dtype, (nw.String, nw.Categorical, nw.Enum))
    kind = native_type(series)
    arrow = kind if isinstance(kind, pa.DataType) else getattr(kind, "pyarrow_dtype", None)
    if arrow is None:
        return series.dtype == nw.String
    return family_of(arrow.value_type if pa.types.is_dictionary(arrow) else arrow) == "text"


def wide_integers() -> pa.DataType:
    return pa.decimal128(20)


def mixed_signs() -> InvalidEdgesError:
    message = "ids below 0 and unsigned ids of 64 bits have no common integer type"
    return InvalidEdgesError(message, "cast the id columns to one integer type")
