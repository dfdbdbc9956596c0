"""Values in files and their metadata: records in JSON, read with checks, and geometries as well-known text (WKT)."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

from dfmst._common.deferred import pa
from dfmst._common.types import ColumnName
from dfmst.errors import OutputError

_KINDS = ["POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"]
_AXES = ("", " Z", " M", " ZM")


def read_record(text: bytes | str | None) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        record = json.loads(text or "")
    except RecursionError:
        raise ValueError("a record that is nested too deep") from None
    if not isinstance(record, dict):
        raise ValueError("a record that is not a JSON object")
    return record


def check_fields(record: Mapping[str, Any], checks: Mapping[str, Callable[[Any], bool]]) -> None:
    """Check each named field of a record; a field that is missing counts as ``None``."""
    for name, check in checks.items():
        if not check(record.get(name)):
            raise ValueError(f"{name!r} has a value that is not possible: {str(record.get(name))[:40]}")


def is_count(value: object) -> bool:
    """Return whether a value is an integer from 0 to 2**64 - 1."""
    return type(value) is int and 0 <= value < 1 << 64


def extension_name(field: pa.Field) -> str:
    """Return the name of a field's extension type, registered or not."""
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    return str((field.metadata or {}).get(b"ARROW:extension:name", b""), "utf-8", "replace")


def geometry_fields(schema: pa.Schema) -> list[str]:
    """Return the columns that the metadata of GeoParquet or GeoArrow call geometries."""
    try:
        columns = read_record((schema.metadata or {}).get(b"geo")).get("columns")
    except ValueError:  # none, or damaged
        columns = None
    known = columns if isinstance(columns, dict) else {}
    return [field.name for field in schema if field.name in known or extension_name(field).startswith("geoarrow.")]


def is_wkb(kind: pa.DataType) -> bool:
    """Return whether a type holds bytes."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view())


def with_text(batch: pa.RecordBatch, names: list[str], target: ColumnName) -> pa.RecordBatch:
    """Return the rows with columns of WKB as WKT; raise OutputError if a value is not WKB."""
    for name in names:
        at = batch.schema.get_field_index(name)
        texts = []
        column = batch.column(at)
        column = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
        for value in column.to_pylist():
            try:
                texts.append(None if value is None else wkt(value))
            except (struct.error, IndexError, ValueError, RecursionError) as error:
                message = f"cannot write {target}: column {name!r} holds bytes that are not WKB ({error})"
                raise OutputError(message, "write Parquet, which takes any bytes") from error
        batch = batch.set_column(at, pa.field(name, pa.string()), pa.array(texts, pa.string()))
    return batch


def wkt(data: bytes) -> str:
    """Return a geometry as text; ISO's or PostGIS' WKB, of either byte order.

    Examples
    --------
    >>> wkt(struct.pack("<BIIdddd", 1, 2, 2, 0.5, 1, 2, 3))
    'LINESTRING (0.5 1, 2 3)'
    """
    kind, axes, body, end = _read(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes too many")
    return f"{kind}{axes} {body}"


def _read(data: bytes, at: int) -> tuple[str, str, str, int]:
    """Return the kind, the axes, the coordinates in parentheses, and the place of the next geometry."""
    order = "<>"[data[at] != 1]
    (code,) = struct.unpack_from(f"{order}I", data, at + 1)
    at += 9 if code & 0x20000000 else 5  # a reference system may follow
    flags = (code >> 31 & 1) | (code >> 30 & 1) << 1 | (code & 0x0FFFFFFF) // 1000
    number = (code & 0x0FFFFFFF) % 1000
    if not 1 <= number <= len(_KINDS) or flags > 3:
        raise ValueError(f"geometries of type {code}")
    kind, axes = _KINDS[number - 1], 2 + (flags & 1) + (flags >> 1)
    if kind == "POINT":
        body, at = _positions(data, at, order, axes, 1)
        return kind, _AXES[flags], "EMPTY" if "nan" in body else body, at
    (count,) = struct.unpack_from(f"{order}I", data, at)
    at += 4
    if kind == "LINESTRING":
        body, at = _positions(data, at, order, axes, count)
        return kind, _AXES[flags], body, at
    parts = []
    for _ in range(count):
        if kind == "POLYGON":
            (length,) = struct.unpack_from(f"{order}I", data, at)
            body, at = _positions(data, at + 4, order, axes, length)
        else:
            one, own, body, at = _read(data, at)
            body = f"{one}{own} {body}" if kind == "GEOMETRYCOLLECTION" else body
        parts.append(body)
    return kind, _AXES[flags], f"({', '.join(parts)})" if parts else "EMPTY", at


def _positions(data: bytes, at: int, order: str, axes: int, count: int) -> tuple[str, int]:
    values = struct.unpack_from(f"{order}{count * axes}d", data, at)
    words = [f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value) for value in values]
    places = [" ".join(words[begin : begin + axes]) for begin in range(0, len(words), axes)]
    return f"({', '.join(places)})" if places else "EMPTY", at + 8 * len(values)
