"""Points of frames and arrays: their coordinates, and frames of results."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name
from dfmst._common.types import ROW_LIMIT, Array
from dfmst._edges.arrow_values import arrow_column, number_array, plain_ids, to_arrow
from dfmst._edges.device_columns import device_numbers
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView, host_column, open_frame
from dfmst._edges.results import take_or_null
from dfmst._engines import select_engine
from dfmst._trees.points.geometry import POINT, geometry_column, geometry_name, read_geometry
from dfmst.errors import CapacityError, InvalidEdgesError, missing_column

_FARTHEST = 1e150  # the square of a difference is still a number


class Points(NamedTuple):
    """Coordinates of points, and their names."""

    coordinates: Array  # ``float64``, shape ``(axes, points)``
    view: FrameView | DeviceView  # the frame that results resemble: the points', or an Arrow table for an array
    ids: Any  # the column that names the points; ``None``: their row names them
    names: tuple[Any, ...] = ()  # the columns of the coordinates; none of an array
    kind: str = "point"  # for errors

    @property
    def number(self) -> int:
        """The number of points."""
        number: int = self.coordinates.shape[1]
        return number

    def called(self, at: int) -> str:
        """Return how errors name a point."""
        if self.ids is None:
            return f"the {self.kind} in row {at}"
        if isinstance(self.view, DeviceView):
            named = self.view.part(at, at + 1).column(self.ids).to_arrow()[0].as_py()
        else:
            named = self.view.frame[self.ids][at]
        name = f"{self.kind} {named!r}"
        return f"{name} in row {at}" if self.kind == "point" else name

    def frame(self, ends: Mapping[str, Array], numbers: Mapping[str, Array]) -> Any:
        """Build a frame of the points' kind, with ids for columns of points, and columns of numbers next to them."""
        if self.ids is None:
            return self.view.build({**ends, **numbers})
        if isinstance(self.view, DeviceView):
            column = self.view.column(self.ids)
            taken = {name: column.take(at).reset_index(drop=True) for name, at in ends.items()}
            return self.view.build({**taken, **numbers})
        ids = self.view.series(self.ids)
        named = [take_or_null(ids, at).alias(name).to_frame() for name, at in ends.items()]
        beside = nw.from_dict(dict(numbers), backend=self.view.frame.implementation)
        return self.view.finish(nw.concat([*named, beside], how="horizontal"))


def read_points(points: Any, columns: Any, ids: Any) -> Points:
    """Read the coordinates of points."""
    rows = None
    if is_array(points):
        points, columns, rows = _table(points, columns, ids)
    view = open_frame(points, "points")
    if ids is not None:
        check_column_name("ids", ids)
    if isinstance(view, DeviceView):
        return _on_device(view, _column_names(view, columns, ids), ids)
    if columns is None:
        columns = geometry_name(view.native)
    names = _column_names(view, columns, ids)
    geometry = geometry_column(view, names[0]) if len(names) == 1 else None
    if geometry is not None:
        _check_number(len(view), "points")
        return Points(_of_geometry(geometry, names[0]), view, ids, ("x", "y"))
    if not names:
        hint = "name their columns with columns="
        raise InvalidEdgesError("the points have no coordinates", hint, option=("columns=", "-c"))
    _check_number(len(view), "points")
    checked = [_coordinate(name, view) for name in names]
    if rows is not None:
        return Points(rows, view, ids)
    return Points(np.stack(checked), view, ids, tuple(names))


def _of_geometry(column: pa.ChunkedArray, name: Any) -> Array:
    """Coordinates of points, ``float64`` of shape ``(2, points)``."""
    geometry = read_geometry(column, name)
    wrong = ~np.isfinite(geometry.first).all(axis=0) | (geometry.kind != POINT)
    if wrong.any():
        row = int(wrong.argmax())
        message = f"column {name!r} has {int(wrong.sum()):,} geometries other than points, the first in row {row}"
        raise InvalidEdgesError(message, "fill or remove those rows, or take centroids: frame.centroid", row=row)
    return np.ascontiguousarray(geometry.first)


def read_series(table: Any, columns: Any) -> Points:
    """Read the columns of a table as points, whose coordinates are the rows."""
    view = open_frame(table, "table")
    names = _column_names(view, columns, None)
    _check_number(len(names), "columns")
    if isinstance(view, DeviceView):
        frame = sys.modules["cudf"].DataFrame.from_arrow(pa.table({"column": names}))
        return Points(_device_columns(view, names).T, replace(view, frame=frame), "column", kind="column")
    values = np.empty((len(view), len(names)))
    for place, name in enumerate(names):
        values[:, place] = _coordinate(name, view)
    named = nw.from_dict({"column": names}, backend=view.frame.implementation)
    return Points(values, replace(view, native=nw.to_native(named)), "column", kind="column")


def _on_device(view: DeviceView, names: list[Any], ids: Any) -> Points:
    """Coordinates in a GPU's memory."""
    if not names:
        raise InvalidEdgesError("the points have no coordinates", "name their columns with columns=")
    _check_number(len(view), "points")
    return Points(_device_columns(view, names), view, ids, tuple(names))


def _device_columns(view: DeviceView, names: list[Any]) -> Array:
    """Columns in a GPU's memory as ``float64``, shape ``(columns, rows)``."""
    xp = select_engine("cuda").xp
    coordinates: Array = xp.empty((len(names), len(view)))
    for axis, name in enumerate(names):
        coordinates[axis] = device_numbers(name, view.column(name))
        _check_finite(xp, coordinates[axis], name)
    return coordinates


def _check_finite(xp: Any, values: Array, name: Any) -> None:
    """Refuse NaN, infinity, and coordinates whose squares are beyond float64."""
    if not len(values):
        return
    wrong = xp.isnan(values - values)
    if bool(wrong.any()):
        count, row = int(wrong.sum()), int(xp.flatnonzero(wrong)[0])
        which = "coordinate that is" if count == 1 else "coordinates that are"
        message = f"column {name!r} has {count:,} {which} null, NaN or infinite, the first in row {row}"
        raise InvalidEdgesError(message, "fill or remove those rows", row=row)
    if float(values.max()) > _FARTHEST or float(values.min()) < -_FARTHEST:
        raise InvalidEdgesError(f"column {name!r} holds coordinates beyond 1e150", "choose a larger unit")


def _column_names(view: FrameView | DeviceView, columns: Any, ids: Any) -> list[Any]:
    """Names of the columns of coordinates; all but that of the ids if none is named."""
    known = set(view.frame.columns)
    names = [name for name in view.frame.columns if ids is None or name != ids] if columns is None else columns
    names = list(names) if isinstance(names, (list, tuple)) else [names]
    for name in names if ids is None else [ids, *names]:
        check_column_name("column", name)
        if name not in known:
            hint = "name the coordinates with columns=, and the points with ids="
            raise missing_column(name, view.frame.columns, hint)
    return names


def _check_number(points: int, kind: str) -> None:
    if points > ROW_LIMIT:
        message = f"there are {points:,} {kind}; positions number at most {ROW_LIMIT:,}"
        raise CapacityError(message, "take a sample of them")


def is_array(points: Any) -> bool:
    """Whether an object is an array or a list, and no frame."""
    return (hasattr(points, "shape") and hasattr(points, "dtype")) or isinstance(points, (list, tuple))


def _table(points: Any, columns: Any, ids: Any) -> tuple[pa.Table, list[str], Array | None]:
    """An array as a table of columns x0, x1 and so on, their names, and floats also as an array of these columns."""
    if columns is not None or ids is not None:
        raise InvalidEdgesError(
            "columns= and ids= name columns of a frame, and the points are an array", "leave them out"
        )
    array = number_array("points", points)
    if array.ndim != 2:
        message = f"the array of points has {array.ndim} dimensions; it must have two"
        raise InvalidEdgesError(message, "pass one row a point, one column an axis")
    names = [f"x{axis}" for axis in range(array.shape[1])]
    if array.dtype.kind not in "iuf":
        message = f"the array of points holds {array.dtype} values; coordinates must be numbers"
        raise InvalidEdgesError(message, "cast it to float64")
    rows = np.ascontiguousarray(array.T)
    table = pa.table({name: to_arrow(name, row, nan_is_null=False) for name, row in zip(names, rows, strict=True)})
    return table, names, rows if rows.dtype == np.float64 else None


def _coordinate(name: Any, view: FrameView) -> Array:
    column: Any = plain_ids(arrow_column(name, host_column(name, view.series(name))))
    kind = column.type
    if not any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)):
        message = f"column {name!r} holds {kind} values; coordinates must be numbers"
        hint = "name the columns with the coordinates: columns=['x', 'y']"
        raise InvalidEdgesError(message, hint, option=("columns=['x', 'y']", "-c x -c y"))
    missing = np.asarray(column.is_null())
    try:
        values = np.asarray(column.cast(pa.float64()).fill_null(0.0))
    except pa.ArrowInvalid as error:
        message = f"column {name!r} holds integers that no float64 is equal to"
        raise InvalidEdgesError(message, "subtract a constant, or cast it to float64 yourself") from error
    wrong = missing | ~np.isfinite(values)
    if wrong.any():
        count = int(wrong.sum())
        which = "coordinate that is" if count == 1 else "coordinates that are"
        message = f"column {name!r} has {count:,} {which} null, NaN or infinite"
        row = int(wrong.argmax())
        raise InvalidEdgesError(f"{message}, the first in row {row}", "fill or remove those rows", row=row)
    if len(values) and (float(values.max()) > _FARTHEST or float(values.min()) < -_FARTHEST):
        raise InvalidEdgesError(f"column {name!r} holds coordinates beyond 1e150", "choose a larger unit")
    return values
