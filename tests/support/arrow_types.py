"""Arrow arrays of any type that ids can have, made from small numbers: equal numbers are equal ids."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

#: Ids of one family are compared; ids of two are not.
FAMILIES: dict[str, list[pa.DataType]] = {
    "number": [
        *(pa.int8(), pa.uint16(), pa.int64(), pa.uint64()),
        *(pa.decimal32(7, 2), pa.decimal64(12, 1), pa.decimal128(5, 2), pa.decimal256(40, 0)),
    ],
    "text": [pa.string(), pa.large_string(), pa.string_view()],
    "binary": [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1)],
    "date": [pa.date32(), pa.date64()],
    "naive": [pa.timestamp("s"), pa.timestamp("ns")],
    "aware": [pa.timestamp("s", "UTC"), pa.timestamp("us", "Europe/Berlin")],
    "time": [pa.time32("s"), pa.time64("us")],
    "duration": [pa.duration("s"), pa.duration("ns")],
    "bool": [pa.bool_()],
    "uuid": [pa.uuid()],
}


def ids(kind: pa.DataType, numbers: Sequence[int | None]) -> pa.Array:
    """Ids of a type, one for each number below 10 (``None``: a null)."""
    if pa.types.is_dictionary(kind):
        known = sorted({at for at in numbers if at is not None})
        places = [None if at is None else known.index(at) for at in numbers]
        return pa.DictionaryArray.from_arrays(pa.array(places, kind.index_type), ids(kind.value_type, known))
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(ids(kind.value_type, numbers))
    values = [None if at is None else _value(kind, at) for at in numbers]
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.timestamp(kind.unit)).cast(pa.timestamp(kind.unit, kind.tz))
    if kind == pa.string_view() or kind == pa.binary_view():
        return pa.array(values, pa.string() if kind == pa.string_view() else pa.binary()).cast(kind)
    return pa.array(values, kind)


def _value(kind: pa.DataType, at: int) -> Any:
    if pa.types.is_boolean(kind):
        return bool(at % 2)
    if pa.types.is_decimal(kind):
        return Decimal(at)
    if isinstance(kind, pa.BaseExtensionType):
        return bytes([at]) * 16
    if "string" in str(kind):
        return str(at)
    if "binary" in str(kind):
        return str(at).encode()
    if pa.types.is_date(kind):
        return dt.date(2024, 1, 1 + at)
    if pa.types.is_timestamp(kind):
        return dt.datetime(2024, 1, 1 + at)
    if pa.types.is_time(kind):
        return dt.time(at)
    return dt.timedelta(at) if pa.types.is_duration(kind) else at
