"""Geometries of frames: columns of GeoPandas, GeoParquet (WKB) and GeoArrow as coordinates of points and lines."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from importlib import import_module
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.records import check_fields, extension_name, geometry_fields, is_wkb, read_record
from dfmst._common.types import Array, Column, ColumnName, Frame
from dfmst._edges.view import View
from dfmst.errors import FormatError, InvalidEdgesError, UnsupportedFrameError

_FIELDS: dict[str, Callable[[Any], bool]] = {
    "primary_column": lambda value: isinstance(value, (str, NoneType)),
    "columns": lambda value: (
        value is None or (isinstance(value, dict) and all(isinstance(column, dict) for column in value.values()))
    ),
}
_DEGREE = "degree"
POINT, LINE = 1, 2  # kinds of geometries, as WKB numbers them
#: Kind of geometry -> how errors call it.
FORMS = {0: "a missing one", 2: "a line", 3: "a polygon", 4: "a multipoint", 5: "a multiline", 6: "a multipolygon"}


class Geometry(NamedTuple):
    """First and last coordinates of every geometry, NaN if it is neither a point nor a line."""

    kind: Array  # ``uint32``; 0: null
    first: Array  # ``float64``, shape ``(2, rows)``
    last: Array
    height: Array | None  # Z of the first, NaN without; ``None``: no geometry has one


class Lines(NamedTuple):
    """All positions of lines; other geometries have none."""

    offset: Array  # first position of each row, and the number of positions
    x: Array
    y: Array


def geometry_name(frame: Frame) -> Any:
    """Return the column of a frame's geometries; ``None`` if nothing says that it has one."""
    name = getattr(frame, "active_geometry_name", None)  # of GeoPandas
    if isinstance(name, str):
        return name
    if not isinstance(frame, pa.Table):
        return None
    name = geo_metadata(frame).get("primary_column")
    arrow = (field.name for field in frame.schema if extension_name(field).startswith("geoarrow."))
    return name or next(arrow, None)


def geometry_names(frame: Frame) -> list[Any]:
    if isinstance(frame, pa.Table):
        return geometry_fields(frame.schema)
    if isinstance(getattr(frame, "active_geometry_name", None), str):
        return [name for name, kind in frame.dtypes.items() if type(kind).__name__ == "GeometryDtype"]
    return []


def geo_metadata(frame: Frame) -> dict[str, Any]:
    """Return GeoParquet's metadata; an empty dictionary if there are none."""
    text = (frame.schema.metadata or {}).get(b"geo") if isinstance(frame, pa.Table) else None
    if text is None:
        return {}
    try:
        about = read_record(text)
        check_fields(about, _FIELDS)
    except ValueError as error:
        message = f"the points' GeoParquet metadata are damaged: {error}"
        raise FormatError(message, "write the file again, or name two columns: coordinates=('lon', 'lat')") from error
    return about


def is_degrees(frame: Frame, name: ColumnName) -> bool:
    """Whether a column of geometries has longitudes and latitudes, by its reference system; yes without one."""
    return is_geographic(frame, name) is not False


def is_geographic(frame: Frame, name: ColumnName) -> bool | None:
    """Whether the reference system of a column of geometries is in degrees; ``None``: it is not known."""
    if not isinstance(frame, pa.Table):
        system = frame[name].array.crs if _is_geopandas(frame, name) else None
        return None if system is None else bool(system.is_geographic) and system.axis_info[0].unit_name == "degree"
    field = frame.schema.field(name)
    text = (field.metadata or {}).get(b"ARROW:extension:metadata")
    if isinstance(field.type, pa.BaseExtensionType):
        text = field.type.__arrow_ext_serialize__()
    with contextlib.suppress(ValueError):
        about = json.loads(text or b"{}")
        if isinstance(about, dict) and about.get("crs") is not None:
            return _in_degrees(about["crs"])
    column = (geo_metadata(frame).get("columns") or {}).get(name)
    return None if column is None else _in_degrees(column.get("crs", "OGC:CRS84"))


def _in_degrees(system: object) -> bool | None:
    """Whether a reference system, as PROJJSON, WKT or a code, is in degrees; ``None``: it is not known."""
    if isinstance(system, str):
        start = system.strip().upper()
        if start.startswith(("GEOGC", "PROJC")):
            return start.startswith("GEOGC") and 'UNIT["GRAD' not in start
        if start in ("OGC:CRS84", "EPSG:4326", "EPSG:4269", "EPSG:4258"):
            return True
        with contextlib.suppress(Exception):  # PROJ is not installed, or does not know the code
            return bool(import_module("pyproj").CRS.from_user_input(system).is_geographic)
        return None
    if not isinstance(system, dict):
        return None
    inner = system.get("source_crs") or next(iter(system.get("components") or ()), None)
    axes = (system.get("coordinate_system") or {}).get("axis") or [{}]
    return (
        _in_degrees(inner)
        if inner
        else "Geographic" in str(system.get("type")) and axes[0].get("unit", _DEGREE) == _DEGREE
    )


def _is_geopandas(frame: Frame, name: ColumnName) -> bool:
    kinds: Any = getattr(frame, "dtypes", None)
    return hasattr(kinds, "get") and type(kinds.get(name)).__name__ == "GeometryDtype"


def frame_of_geometries(points: Frame) -> Any:
    """Return a frame of one column of geometries, a ``GeoSeries`` or objects of Shapely; other points as they are."""
    if type(getattr(points, "dtype", None)).__name__ == "GeometryDtype":
        column = points if hasattr(points, "to_frame") else sys.modules["geopandas"].GeoSeries(points)
        return column.to_frame("geometry" if column.name is None else column.name)
    objects = _objects(points)
    return points if objects is None else pa.table({"geometry": _shapely_wkb("geometry", objects)})


_MISSING = {"NoneType", "NAType", "NaTType", "float"}  # types of missing values next to objects


def _objects(values: Column) -> Array | None:
    """Return a column or list of Shapely's geometries as an array; ``None`` of other values."""
    if not isinstance(values, (list, tuple)) and "object" not in str(getattr(values, "dtype", "")).lower():
        return None
    if not any(type(value).__module__.startswith("shapely") for value in values):
        return None
    objects = np.empty(len(values), object)
    objects[:] = list(values)
    return objects


def _shapely_wkb(name: ColumnName, objects: Array) -> pa.ChunkedArray:
    known = np.array([type(value).__module__.startswith("shapely") for value in objects], bool)
    wrong = [row for row in np.flatnonzero(~known).tolist() if type(objects[row]).__name__ not in _MISSING]
    if wrong:
        message = f"column {name!r} has {len(wrong):,} values that are not geometries, the first in row {wrong[0]}"
        raise InvalidEdgesError(message, "fill or remove those rows", row=wrong[0])
    objects[~known] = None
    cells = sys.modules["shapely"].to_wkb(objects)
    return pa.chunked_array([pa.array(cells, pa.binary())])


def geometry_column(view: View, name: ColumnName) -> pa.ChunkedArray | None:
    """Return a column of geometries as WKB or as nested coordinates; ``None`` if it holds other values."""
    if view.frame.implementation.is_pandas() and _is_geopandas(view.native, name):
        cells = sys.modules["geopandas"].array.to_wkb(view.native[name].array)
        return pa.chunked_array([pa.array(cells, pa.binary(), from_pandas=True)])
    column = view.column(name)
    objects = _objects(column)
    if objects is not None:
        return _shapely_wkb(name, objects)
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column)])
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    kind = column.type
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return column if is_wkb(column.type) or _is_pair(kind) else None


def _is_pair(kind: pa.DataType) -> bool:
    """Whether a type is one position: a struct of x and y, or a list of two to four numbers."""
    if pa.types.is_fixed_size_list(kind):
        return bool(pa.types.is_floating(kind.value_type)) and 2 <= kind.list_size <= 4
    return bool(pa.types.is_struct(kind)) and {"x", "y"} <= {kind.field(at).name for at in range(kind.num_fields)}


def _whole(column: pa.ChunkedArray) -> Any:
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(whole, pa.ChunkedArray):  # without chunks
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], column.type)
    return whole


def read_lines(column: pa.ChunkedArray, name: ColumnName) -> Lines:
    """Read all positions of lines."""
    whole = _whole(column)
    if _is_pair(whole.type):
        return Lines(np.zeros(len(whole) + 1, np.int64), np.empty(0), np.empty(0))
    if not is_wkb(whole.type):
        offset = np.asarray(whole.offsets).astype(np.int64)
        x, y = _positions(whole.values, name)[:, offset[0] : offset[-1]]
        return Lines(offset - offset[0], x, y)
    head = _read_heads(whole.cast(pa.large_binary()))
    count = np.where(head.full & (head.kind == LINE), (head.end - head.first) // head.step, 0)
    offset = np.concatenate([[0], np.cumsum(count)])
    at = np.arange(offset[-1]) - np.repeat(offset[:-1], count)
    begins = np.repeat(head.first, count) + at * np.repeat(head.step, count)
    return Lines(offset, *_words(head.data, begins, np.repeat(head.little, count), "f8", 2).T)


def read_geometry(column: pa.ChunkedArray, name: ColumnName) -> Geometry:
    """Read the first and the last position of each geometry."""
    whole = _whole(column)
    if is_wkb(whole.type):
        return _of_wkb(whole.cast(pa.large_binary()))
    if _is_pair(whole.type):
        places = _positions(whole, name)
        kind = np.where(np.asarray(whole.is_null()), 0, POINT).astype(np.uint32)
        return Geometry(kind, places, places, _heights(whole, name))
    if _is_pair(whole.type.value_type):
        return _of_lines(whole, name)
    message = f"column {name!r} holds {whole.type} values, which are neither points nor lines"
    raise UnsupportedFrameError(message, "take their centroids, or name two columns of numbers")


def _heights(places: Any, name: ColumnName) -> Array | None:
    """Coordinates z of positions, if they have any; the third of a list's numbers, unless its field is named xym."""
    if not pa.types.is_fixed_size_list(places.type):
        return _positions(places, name, "z")[0] if places.type.get_field_index("z") >= 0 else None
    size, axes = places.type.list_size, places.type.value_field.name
    if size == 4 and axes != "xyzm":
        message = f"column {name!r} holds lists of four numbers, whose meaning nothing says"
        raise InvalidEdgesError(message, "name a column for each coordinate")
    return None if size == 2 or axes == "xym" else _positions(places, name, "z")[0]


def _positions(places: Any, name: ColumnName, which: str = "xy") -> Array:
    """Coordinates x and y, or others; NaN of a null."""
    if pa.types.is_fixed_size_list(places.type):
        axes = (
            places.flatten()
            if not places.null_count
            else places.values.slice(places.offset * places.type.list_size, len(places) * places.type.list_size)
        )
        flat = np.asarray(axes, np.float64).reshape(len(places), places.type.list_size)
        found = np.array(flat[:, ["xyz".index(axis) for axis in which]].T)
    else:
        fields = [places.field(axis) for axis in which]
        if not all(pa.types.is_floating(field.type) or pa.types.is_integer(field.type) for field in fields):
            message = f"column {name!r} holds {fields[0].type} values, not coordinates"
            raise InvalidEdgesError(message, "name columns of numbers")
        found = np.stack([np.asarray(field.cast(pa.float64()), np.float64) for field in fields])
    found[:, np.asarray(places.is_null())] = np.nan
    return found


def _of_lines(lines: Any, name: ColumnName) -> Geometry:
    begins, ends = (np.asarray(lines.offsets)[part] for part in (slice(-1), slice(1, None)))
    places = _positions(lines.values, name)
    full = np.asarray(lines.is_valid()) & (ends > begins)
    first, last = np.full((2, 2, len(lines)), np.nan)
    first[:, full], last[:, full] = places[:, begins[full]], places[:, ends[full] - 1]
    return Geometry(np.where(np.asarray(lines.is_null()), 0, LINE).astype(np.uint32), first, last, None)


class _Heads(NamedTuple):
    """The fields of WKB before the coordinates of each geometry."""

    data: Array  # bytes of all geometries
    kind: Array
    little: Array  # whether numbers have the least byte first
    first: Array  # place of the first coordinate
    step: Array  # bytes of a position
    end: Array
    full: Array  # whether it is a point or a line that has positions
    high: Array  # whether positions have a height, Z


def _read_heads(column: Column) -> _Heads:
    """Read points and lines as ISO's or PostGIS' WKB, of either byte order."""
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    begins, ends = places[:-1], places[1:]
    data = np.frombuffer(data if data is not None else b"", np.uint8)
    valid = np.asarray(column.is_valid()) & (ends - begins >= 9)
    little = np.ones(len(column), bool)
    little[valid] = data[begins[valid]] == 1
    kind = np.zeros(len(column), np.uint32)
    kind[valid] = _words(data, begins[valid] + 1, little[valid], "u4")[:, 0]
    marked = (kind & 0x20000000) != 0  # a reference system follows
    axes, high = 2 + ((kind & 0x80000000) != 0) + ((kind & 0x40000000) != 0), (kind & 0x80000000) != 0
    kind &= 0x0FFFFFFF
    axes = axes + np.array([0, 1, 1, 2])[np.minimum(kind // 1000, 3)]
    high |= (kind // 1000 == 1) | (kind // 1000 == 3)
    kind = (kind % 1000).astype(np.uint32)
    first = begins + 5 + 4 * marked + 4 * (kind == LINE)
    full = valid & ((kind == POINT) | (kind == LINE)) & (ends - first >= 8 * axes)
    return _Heads(data, kind, little, first, 8 * axes, ends, full, high)


def _of_wkb(column: Column) -> Geometry:
    head = _read_heads(column)
    last = np.where(head.kind == LINE, head.end - head.step, head.first)
    found, height = np.full((2, 2, len(column)), np.nan), None
    for places, into in zip((head.first, last), found, strict=True):
        into[:, head.full] = _words(head.data, places[head.full], head.little[head.full], "f8", 2).T
    deep = head.full & head.high
    if deep.any():
        height = np.full(len(column), np.nan)
        height[deep] = _words(head.data, head.first[deep] + 16, head.little[deep], "f8")[:, 0]
    return Geometry(head.kind, found[0], found[1], height)


def _words(data: Array, begins: Array, little: Array, kind: str, count: int = 1) -> Array:
    """Numbers at odd places of bytes, of either byte order; shape ``(places, count)``."""
    size = int(kind[1]) * count
    bytes_ = data[begins[:, None] + np.arange(size)]
    return np.where(little[:, None], bytes_.view(f"<{kind}"), bytes_.view(f">{kind}"))
