"""Geometries of frames: columns of GeoPandas, GeoParquet (WKB) and GeoArrow as coordinates of points and lines.

Points of frames and arrays: their coordinates, and frames of results.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from types import ModuleType, NoneType
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name, plural, refuse_sparse
from dfmst._common.deferred import pc
from dfmst._common.records import check_fields, extension_name, geometry_fields, is_wkb, read_record
from dfmst._common.types import ROW_LIMIT, Array, Column, ColumnName, Columns, DType, Frame
from dfmst._edges.arrow_values import (
    arrow_column,
    check_distinct,
    number_array,
    plain_ids,
    records_of_table,
    to_arrow,
)
from dfmst._edges.device_frame import device_numbers
from dfmst._edges.frames import open_frame, open_host_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.view import View
from dfmst.errors import (
    CapacityError,
    DfmstError,
    FormatError,
    InvalidEdgesError,
    UnsupportedFrameError,
    missing_column,
)

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
    with suppress(ValueError):
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
        with suppress(Exception):  # PROJ is not installed, or does not know the code
            return bool(import_module("pyproj").CRS.from_user_input(system).is_geographic)
        return None
    if not isinstance(system, dict):
        return None
    inner = system.get("source_crs") or next(iter(system.get("components") or ()), None)
    axes = (system.get("coordinate_system") or {}).get("axis") or [{}]
    if inner:
        return _in_degrees(inner)
    return "Geographic" in str(system.get("type")) and axes[0].get("unit", _DEGREE) == _DEGREE


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
        size = places.type.list_size
        axes = places.values.slice(places.offset * size, len(places) * size)
        flat = np.asarray(axes, np.float64).reshape(len(places), size)
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


_FARTHEST = 1e150  # the square of a difference is still a number
_NO_PAIRS = "for other values pass the columns in another order"
_NAME_BOTH = "name the coordinates with columns=, and the points with ids="
#: Whether a column may name points by its name; pandas writes its index without one.
_LIKE_ID = re.compile(r"(?:.*[_ .])?(?:id|fid|gid|uuid|index)|vertex|column_1|unnamed: \d+", re.IGNORECASE).fullmatch
_MATRIX = 3  # points from which a symmetric matrix of zero diagonal is one of distances


class Points(NamedTuple):
    """Coordinates of points, and their names."""

    coordinates: Array  # ``float64``, shape ``(axes, points)``
    view: View  # the frame that results resemble: the points', or an Arrow table for an array
    ids: Any  # the column that names the points; ``None``: their row names them
    names: tuple[Any, ...] = ()  # the columns of the coordinates; none of an array
    kind: str = "point"  # for errors
    geographic: bool | None = None  # whether the geometries' reference system is in degrees; ``None``: not known
    about: Mapping[str, str] = {}  # attributes of results
    places: Any = None  # the frame of GeoPandas that has the geometries

    @property
    def number(self) -> int:
        """The number of points."""
        number: int = self.coordinates.shape[1]
        return number

    def called(self, at: int) -> str:
        """Return how errors name a point."""
        if self.ids is None:
            return f"the {self.kind} in row {at}"
        name = f"{self.kind} {self.view.entry(self.ids, at)!r}"
        return f"{name} in row {at}" if self.kind == "point" else name

    def frame(self, ends: Mapping[str, Array], numbers: Mapping[str, Array]) -> Any:
        """Build a frame of the points' kind, with ids for columns of points, and columns of numbers next to them."""
        if self.ids is not None:
            ends = {name: self.view.entries(self.ids, at) for name, at in ends.items()}
        result = self.view.build({**ends, **numbers})
        if isinstance(result, pa.Table):
            return result.replace_schema_metadata(dict(self.about) or None)
        if self.about and hasattr(result, "attrs"):  # of pandas
            result.attrs = dict(self.about)
        return result


def read_points(points: Frame, columns: Columns | None, ids: Column) -> Points:
    hint = "pass coordinates as points.toarray(), and distances as an edge table: dfmst.from_sparse(points)"
    refuse_sparse("points", points, hint)
    array, rows, points = is_array(points), None, frame_of_geometries(points)
    if is_array(points):
        points, columns, rows = _table(points, columns, ids)
    made = array and isinstance(points, pa.Table)  # also of geometries
    named = ids if isinstance(ids, list) else [] if ids is None else [ids]
    for name in named:
        check_column_name("ids", name)
    levels = getattr(getattr(points, "index", None), "names", ())
    if levels := [name for name in named if name in levels and name not in points.columns]:
        points = points.reset_index(level=levels)
    view = FrameView(points, as_user=records_of_table) if made else open_frame(points, "points")
    names = _column_names(view, geometry_name(view.native) if columns is None else columns, named)
    unclear = next((name for name in names if _LIKE_ID(str(name))), None) if columns is None else None
    if unclear is not None:
        message = f"column {unclear!r} may name the points, or be a coordinate"
        option = "columns=, and the points with ids=", "-c, and the points with --ids"
        raise InvalidEdgesError(message, _NAME_BOTH, option=option)
    if not names:
        hint = "name their columns with columns="
        raise InvalidEdgesError("the points have no coordinates", hint, option=("columns=", "-c"))
    if view.on_device and len(named) > 1:
        message = f"ids= names {len(named)} columns, and the points are on a GPU"
        raise UnsupportedFrameError(message, "join them into one column, or pass points.to_arrow()")
    _check_number(len(view), "points")
    geometry = geometry_column(view, names[0]) if len(names) == 1 and not view.on_device else None
    if geometry is not None:
        placed, axes = _of_geometry(geometry, names[0])
        places = view.native if hasattr(view.native, "active_geometry_name") else None
        found = Points(placed, view, None, axes, geographic=is_geographic(view.native, names[0]), places=places)
    else:
        placed, axes = (_coordinates(view, names), tuple(names)) if rows is None else (_checked(rows, names), ())
        found = Points(placed, view, None, axes)
        if not view.on_device:
            _check_no_matrix(placed)
    return _identified(found, view, named) if named else found


_IDS_HINT = "name more columns, which identify a point together, or leave out ids=: the row then names a point"
_IDS_OPTION = "ids=", "--ids"


def _identified(points: Points, view: View, names: list[ColumnName]) -> Points:
    """Return the points with ids, each of one point: those of a column, or the texts of several columns, joined."""
    if view.on_device:
        ids = view.column(names[0])
        if ids.has_nulls or len(ids.factorize()[1]) < len(ids):
            _identified(points, open_host_frame(view.to_arrow()), names)  # names the rows
        return points._replace(ids=names[0])
    columns = [plain_ids(arrow_column(name, view.column(name))) for name in names]
    columns = [getattr(column, "storage", column) for column in columns]  # of an extension type
    name, column = names[0], columns[0]
    try:
        if len(names) > 1:
            name = ", ".join(map(str, names))
            column = pc.binary_join_element_wise(*(each.cast(pa.string()) for each in columns), ", ")
            view = view.of(nw.from_native(view.plain().build_arrow({name: column}), eager_only=True))
        nulls = np.asarray(column.is_null())
        check_distinct(f"column {name!r} of ids", column, nulls, _IDS_HINT, _IDS_OPTION)
    except pa.ArrowException as error:
        kinds = ", ".join(str(each.type) for each in columns)
        message = f"ids= names columns of type {kinds}; ids must be integers, strings or categoricals"
        raise InvalidEdgesError(message, "name other columns with ids=", option=_IDS_OPTION) from error
    return points._replace(view=view, ids=name)


def _check_no_matrix(coordinates: Array) -> None:
    """Refuse distances of all pairs, which would be read as coordinates."""
    if len(coordinates) >= _MATRIX and is_symmetric(coordinates, 0.0) and coordinates.min() >= 0 < coordinates.max():
        message = f"the values are a symmetric {len(coordinates):,} by {len(coordinates):,} matrix of zero diagonal"
        hint = f"for distances make a table of pairs: dfmst.from_matrix(matrix); {_NO_PAIRS}"
        raise InvalidEdgesError(f"{message}, as distances of all pairs are", hint)


def matrix_hint(frame: Frame, argument: str) -> str | None:
    """Return the call that is meant by a symmetric matrix in place of an edge table; ``None``: it is none."""
    with suppress(DfmstError):
        view = open_host_frame(frame)
        names, rows = view.names, len(view)
        if _MATRIX <= rows <= len(names) <= rows + 1:
            values = _coordinates(view, names[-rows:])
            if is_symmetric(values, values.diagonal()):
                alike = is_symmetric(values, 1.0) and np.abs(values).max() <= _UNIT
                distance = ', distance="mantegna"' if alike else ""
                first = "" if rows == len(names) else f"leave out column {names[0]!r}, and "
                return f"{first}make a table of the matrix's pairs: dfmst.from_matrix({argument}{distance})"
    return None


def rounding(kind: DType) -> float:
    """Return the part of the largest entry by which two ways of summing may differ."""
    return max(1e-9, 8 * float(np.finfo(kind if kind.kind == "f" else np.float64).eps))


_ROUNDING = rounding(np.dtype(np.float32))  # the columns may have had this type
_UNIT = 1 + _ROUNDING  # the largest correlation


def is_symmetric(values: Array, diagonal: float | Array) -> bool:
    """Whether an array is a symmetric matrix with this diagonal, or this number on it, but for rounding."""
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not len(values):
        return False
    room = _ROUNDING * float(np.abs(values).max())
    return bool((np.abs(values.diagonal() - diagonal) <= room).all() and (np.abs(values - values.T) <= room).all())


def _of_geometry(column: pa.ChunkedArray, name: ColumnName) -> tuple[Array, tuple[str, ...]]:
    """Coordinates of points, ``float64`` of shape ``(axes, points)``, and the names of the axes."""
    geometry = read_geometry(column, name)
    height, is_point = geometry.height, geometry.kind == POINT
    wrong = np.isnan(geometry.first).all(axis=0) | ~is_point
    if wrong.any():
        row = int(wrong.argmax())
        message = f"column {name!r} has {int(wrong.sum()):,} geometries other than points, the first in row {row}"
        form = "an empty point" if is_point[row] else FORMS.get(int(geometry.kind[row]), "another form")
        hint = "fill or remove those rows, or take centroids: frame.centroid"
        raise InvalidEdgesError(f"{message}: {form}", hint, row=row)
    infinite = ~np.isfinite(geometry.first).all(axis=0) | (False if height is None else np.isinf(height))
    if infinite.any():
        row, count = int(infinite.argmax()), plural(int(infinite.sum()), "point")
        message = f"column {name!r} has {count} with a coordinate that is NaN or infinite, the first in row {row}"
        raise InvalidEdgesError(message, "fill or remove those rows", row=row)
    if height is None:
        return np.ascontiguousarray(geometry.first), ("x", "y")
    flat = ~np.isfinite(height)
    if flat.any():
        row = int(flat.argmax())
        message = f"column {name!r} has {int(flat.sum()):,} points without a height (Z), the first in row {row}"
        hint = "give all points a height, or none: frame.geometry.force_2d()"
        raise InvalidEdgesError(f"{message}, and others have one", hint, row=row)
    return np.concatenate([geometry.first, height[None]]), ("x", "y", "z")


def read_series(table: Frame, columns: Columns | None) -> Points:
    """Read the columns of a table as points, whose coordinates are the rows."""
    view = open_frame(table, "table")
    names = _column_names(view, columns, [])
    _check_number(len(names), "columns")
    if names and len(view) < 2:
        message = f"the table has {plural(len(view), 'row')}, and a correlation needs two or more"
        raise InvalidEdgesError(message, "pass rows of observations to dfmst.correlation_forest")
    values = _coordinates(view, names).T
    if view.on_device:
        frame = sys.modules["cudf"].DataFrame.from_arrow(pa.table({"column": names}))
    else:
        _check_observations(values, view, names)
        frame = nw.from_dict({"column": names}, backend=view.frame.implementation)
    return Points(values, view.of(frame), "column", kind="column")


def _check_observations(values: Array, view: View, names: list[ColumnName]) -> None:
    """Refuse a matrix of correlations, or some of its columns, in place of observations."""
    every = view.names
    if len(names) < len(every) == len(view):
        with suppress(InvalidEdgesError):  # a column that holds no numbers
            values = _coordinates(view, every).T
    check_no_correlations(values)
    _check_no_matrix(values)


def check_no_correlations(values: Array) -> None:
    """Refuse correlations of all pairs, which would be read as coordinates."""
    diagonal = float(values.size > 0 and (values[0, 0] > 0 or values.min() >= 0))  # many fill it with zeros
    if not is_symmetric(values, diagonal) or not 1 < len(values) < np.count_nonzero(values):
        return
    if np.abs(values).max() <= _UNIT:
        numbers = "ones" if diagonal else "zeros"
        message = f"the table is a symmetric {len(values):,} by {len(values):,} matrix with {numbers}"
        hint = 'call dfmst.minimum_spanning_forest(dfmst.from_matrix(table, distance="mantegna"))'
        raise InvalidEdgesError(f"{message} on its diagonal: correlations, and no observations", f"{hint}; {_NO_PAIRS}")


def _coordinates(view: View, names: list[ColumnName]) -> Array:
    """Columns as ``float64``, shape ``(columns, rows)``, in the frame's memory."""
    coordinates: Array = view.xp.empty((len(names), len(view)))
    for axis, name in enumerate(names if len(view) else ()):  # an empty column may have any type
        coordinates[axis] = (device_numbers if view.on_device else _numbers)(name, view.column(name))
        _check_finite(view.xp, coordinates[axis], name)
    return coordinates


def _checked(rows: Array, names: list[str]) -> Array:
    for name, row in zip(names, rows, strict=True):
        _check_finite(np, row, name)
    return rows


def _check_finite(xp: ModuleType, values: Array, name: ColumnName) -> None:
    """Refuse NaN, infinity, and coordinates whose squares are beyond float64."""
    wrong = ~xp.isfinite(values)
    if bool(wrong.any()):
        count, row = int(wrong.sum()), int(wrong.argmax())
        which = "coordinate that is" if count == 1 else "coordinates that are"
        message = f"column {name!r} has {count:,} {which} null, NaN or infinite, the first in row {row}"
        raise InvalidEdgesError(message, "fill or remove those rows", row=row)
    if len(values) and (float(values.max()) > _FARTHEST or float(values.min()) < -_FARTHEST):
        raise InvalidEdgesError(f"column {name!r} holds coordinates beyond 1e150", "choose a larger unit")


def _column_names(view: View, columns: Columns | None, ids: list[object]) -> list[Any]:
    """Names of the columns of coordinates; all but those of the ids if none is named."""
    known = view.names
    names = [name for name in known if name not in ids] if columns is None else columns
    names = list(names) if isinstance(names, (list, tuple)) else [names]
    places = frozenset(known)
    for name in [*ids, *names]:
        check_column_name("column", name)
        if name not in places:
            raise missing_column(name, known, _NAME_BOTH)
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InvalidEdgesError(f"column {twice!r} is named twice", "name a column for each axis")
    return names


def _check_number(points: int, kind: str) -> None:
    if points > ROW_LIMIT:
        message = f"there are {points:,} {kind}; positions number at most {ROW_LIMIT:,}"
        raise CapacityError(message, "take a sample of them")


def is_array(points: Frame) -> bool:
    """Whether an object is an array or a list, and no frame, as a structured array is."""
    if isinstance(points, np.ndarray):
        return points.dtype.names is None
    return (hasattr(points, "shape") and hasattr(points, "dtype")) or isinstance(points, (list, tuple))


def _table(points: Frame, columns: Columns | None, ids: Column) -> tuple[pa.Table, list[str], Array | None]:
    """An array as a table of columns x0, x1 and so on, their names, and floats also as an array of these columns."""
    if columns is not None or ids is not None:
        message = "columns= and ids= name columns of a frame, and the points are an array"
        raise InvalidEdgesError(message, "leave them out")
    array = number_array("points", points)
    if array.ndim != 2:
        message = f"the array of points has {array.ndim} dimensions; it must have two"
        raise InvalidEdgesError(message, "pass one row a point, one column an axis")
    names = [f"x{axis}" for axis in range(array.shape[1])]
    if array.size and array.dtype.kind not in "iuf":
        message = f"the array of points holds {array.dtype} values; coordinates must be numbers"
        raise InvalidEdgesError(message, "cast it to float64")
    rows = np.ascontiguousarray(array.T)
    table = pa.table({name: to_arrow(name, row, nan_is_null=False) for name, row in zip(names, rows, strict=True)})
    return table, names, rows if rows.dtype == np.float64 else None


def _numbers(name: ColumnName, values: Column) -> Array:
    column: Any = plain_ids(arrow_column(name, values))
    kind = column.type
    if not any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)):
        message = f"column {name!r} holds {kind} values; coordinates must be numbers"
        hint = "name the columns with the coordinates: columns=['x', 'y']"
        raise InvalidEdgesError(message, hint, option=("columns=['x', 'y']", "-c x -c y"))
    try:
        numbers = column.cast(pa.float64())
        return np.asarray(numbers.fill_null(np.nan) if numbers.null_count else numbers)
    except pa.ArrowInvalid as error:
        message = f"column {name!r} holds integers that no float64 is equal to"
        raise InvalidEdgesError(message, "subtract a constant, or cast it to float64 yourself") from error
