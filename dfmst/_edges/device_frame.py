"""Frames on a GPU: cuDF frames, and CuPy or cuDF columns as ids, vertices and weights.

As on the host, no id passes through a float and no weight is rounded. No column is copied to the host.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Frame
from dfmst._edges.unify import common_id_type
from dfmst._edges.vertices import IdColumns, Vertices, different_ids, same_width, unsuitable_ids
from dfmst._edges.weights import WeightColumn, unsupported_weights, widen
from dfmst._engines import CudaEngine, Engine, with_freed_scratch
from dfmst.errors import CapacityError, DfmstError, UnsupportedFrameError, missing_column

NAMES_HINT = "name your columns with source=, target= and weight= (weight=None: all weights equal)"


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A cuDF frame, with the methods of :class:`dfmst._edges.host_frame.FrameView`."""

    frame: Any  # a ``cudf.DataFrame``
    proxied: bool = False  # whether the user's frame was a proxy of cudf.pandas: results are proxies, too

    #: Whether the columns are on a GPU.
    on_device = True

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def names(self) -> list[Any]:
        """Names of the columns."""
        return list(self.frame.columns)

    def column(self, name: Any) -> Any:
        """Return a column as ``cudf.Series``."""
        if name not in self.frame.columns:
            raise missing_column(name, self.frame.columns, NAMES_HINT)
        return self.frame[name]

    def take(self, engine: Engine | None, rows: Array) -> Frame:
        """Return the user's kind of frame with these rows: every column, and the index."""
        return self.finish(with_freed_scratch(lambda: self.frame.take(rows)))

    def part(self, begin: int, end: int) -> DeviceView:
        """Return the view of a range of rows, without a copy."""
        return replace(self, frame=self.frame.iloc[begin:end])

    def rows(self, engine: Engine, rows: Array) -> DeviceView:
        """Return the view of these rows; the positions may be on the host."""
        return replace(self, frame=with_freed_scratch(lambda: self.frame.take(engine.from_host(rows))))

    def with_column(self, name: str, values: Array, attribute: str, content: Any) -> Frame:
        """Return the user's kind of frame with one more column; cuDF has no attributes."""
        frame = self.frame.copy(deep=False)
        frame[name] = values
        return self.finish(frame)

    def build(self, columns: Mapping[str, Any]) -> Frame:
        """Return a new frame of the user's kind."""
        return self.finish(sys.modules["cudf"].DataFrame(dict(columns)))

    def build_vertices(self, names: tuple[Any, Any], values: Any, columns: Mapping[str, Array]) -> Frame:
        """Return a new frame of vertices, in the type of the id columns."""
        source, target = (self.column(name).dtype for name in names)
        built = {}
        for name, vertices in columns.items():
            ids = sys.modules["cudf"].Series(vertices if values is None else values.take(vertices))
            if source == target:
                ids = ids.astype(source)
            elif values is None:
                ids = ids.astype(np.result_type(*(getattr(dtype, "numpy_dtype", dtype) for dtype in (source, target))))
            built[name] = ids.reset_index(drop=True)
        return self.build(built)

    def to_arrow(self) -> Any:
        """Copy the frame to the host, as a ``pyarrow.Table``."""
        return self.frame.to_arrow(preserve_index=False)

    def finish(self, frame: Any) -> Frame:
        """Return a frame as the user's kind."""
        return sys.modules["cudf.pandas"].as_proxy_object(frame) if self.proxied else frame


def open_device_frame(frame: Frame) -> DeviceView | None:
    """Recognize a cuDF frame, or a proxy of ``cudf.pandas``, of which the frame moves to the GPU."""
    # A frame of cuDF exists only if it is imported.
    cudf, proxies = sys.modules.get("cudf"), sys.modules.get("cudf.pandas")
    if cudf is None:
        return None
    if proxies is None or not (proxies.is_proxy_object(frame) and hasattr(frame, "columns")):
        return DeviceView(frame) if isinstance(frame, cudf.DataFrame) else None
    try:
        with CudaEngine().guard():
            return DeviceView(frame.as_gpu_object(), proxied=True)
    except DfmstError:
        raise
    except Exception as error:  # cuDF raises many classes for columns that it has no type for
        hint = "leave those columns out, or work on the host with edges.as_cpu_object()"
        raise UnsupportedFrameError(f"cudf.pandas cannot hold the frame on the GPU: {error}", hint) from error


_TEXT = {"object", "str", "string"}  # cuDF's names of text
_NESTED = {"ListDtype", "StructDtype", "IntervalDtype"}
_CUDF_ROWS = (1 << 31) - 1  # of a column of cuDF at most


def device_ids(source: tuple[object, Any], target: tuple[object, Any]) -> IdColumns:
    """Check two (name, column) pairs, and return CuPy integers of one width or cuDF columns of one type."""
    first, null_first = _readable_ids(*source)
    second, null_second = _readable_ids(*target)
    if is_array(first) and is_array(second):
        first, second = same_width(source[0], target[0], first, second)
    elif str(first.dtype) != str(second.dtype) or _is_decimal(first.dtype):
        first, second = _same_type((source[0], first), (target[0], second))
    return IdColumns(first, second, null_first, null_second)


def device_factorize(engine: Engine, source: Any, target: Any, *, in_order: bool) -> Vertices:
    """Number ids from 0: integers by a sort of CuPy, others by cuDF's factorization."""
    xp, length = engine.xp, len(source)
    if is_array(source):
        values, codes = xp.unique(xp.concatenate([source, target]), return_inverse=True)
    else:
        if 2 * length > _CUDF_ROWS:
            message = f"{length:,} rows of ids that are not integers; cuDF numbers at most {_CUDF_ROWS // 2:,}"
            raise CapacityError(message, "number the ids with integers first, or spread the table over a Dask cluster")
        stacked = sys.modules["cudf"].concat([source, target], ignore_index=True)
        codes, values = stacked.factorize(sort=in_order)
    codes = codes.astype(np.uint32)
    return Vertices(codes[:length], codes[length:], len(values), values)


def device_weights(name: object, column: Any) -> WeightColumn:
    """Read a weight column: CuPy array or cuDF column of numbers, booleans, decimals, durations or timestamps."""
    nulls = None
    if not is_array(column):
        column, nulls = _decoded(column), _nulls(column)
        if _is_decimal(column.dtype):
            # Ranks order wide decimals exactly. The rank -1 of nulls is never read.
            column = column.factorize(sort=True)[0].astype(np.uint32)
        else:
            if column.dtype.kind in "mM":
                column = _instants(column).astype("int64")
            elif column.dtype.kind not in "biuf":
                raise unsupported_weights(name, column.dtype)
            column = _values(column, nulls)
    check_device(name, column)
    return WeightColumn(_contiguous(widen(name, column)), nulls)


def device_keys(name: object, column: Any) -> tuple[Array, Array | None]:
    """Return a key column as CuPy integers or floats, and the mask of its nulls; other values are factorized."""
    column, nulls = _decoded(column), _nulls(column)
    if type(column.dtype).__name__ in _NESTED:
        message = f"column {name!r} holds {column.dtype} values, which are not read on the GPU"
        raise UnsupportedFrameError(message, "copy the frame to the host: table.to_arrow()")
    if column.dtype.kind in "iuf":
        values = _values(column, nulls)
        check_device(name, values)
        return values, nulls
    return column.factorize()[0], nulls


def check_device(name: object, column: Array) -> None:
    """Raise an error for a column on another GPU than the current one, from which every access would be slow."""
    current, place = sys.modules["cupy"].cuda.Device().id, column.device.id  # type: ignore[attr-defined]
    if place != current:
        message = f"column {name!r} is on GPU {place}, and GPU {current} is the current one"
        raise UnsupportedFrameError(message, f"work there: with cupy.cuda.Device({place}): ...")


def is_array(column: Any) -> bool:
    """Whether a column is a CuPy array; otherwise it is cuDF's."""
    return not hasattr(column, "isnull")


def _readable_ids(name: object, column: Any) -> tuple[Any, Array | None]:
    """Return integers as CuPy or other ids as cuDF, and the mask of the nulls."""
    nulls = None
    if not is_array(column):
        column, nulls = _decoded(column), _nulls(column)
    kind = column.dtype.kind
    if kind in "fc" or type(column.dtype).__name__ in _NESTED or (is_array(column) and kind not in "iu"):
        raise unsuitable_ids(name, column.dtype)
    if kind in "iu":
        column = _contiguous(column) if is_array(column) else _values(column, nulls)
        check_device(name, column)
    return column, nulls


def _same_type(source: tuple[object, Any], target: tuple[object, Any]) -> tuple[Any, Any]:
    """Return columns of two types in the type that holds both exactly."""
    columns = source[1], target[1]
    kinds = [_arrow_type(column.dtype) for column in columns]
    common = None if None in kinds else common_id_type(*kinds)
    if common is None:
        raise different_ids((source[0], source[1].dtype), (target[0], target[1].dtype))
    if common == pa.large_string():
        return columns[0], columns[1].astype(columns[0].dtype)
    if pa.types.is_decimal256(common) or not all(map(_reaches, columns, kinds, [common] * 2)):
        raise different_ids((source[0], kinds[0]), (target[0], kinds[1]), " on the GPU")
    return _cast(columns[0], common), _cast(columns[1], common)


def _arrow_type(dtype: Any) -> pa.DataType | None:
    """Return the Arrow type of a column; ``None`` if Arrow has none."""
    if str(dtype) in _TEXT:
        return pa.large_string()
    if _is_decimal(dtype):
        return dtype.to_arrow()
    if hasattr(dtype, "tz"):
        return pa.timestamp(dtype.unit, str(dtype.tz))
    return pa.from_numpy_dtype(getattr(dtype, "numpy_dtype", dtype)) if dtype.kind in "biumM" else None


def _is_decimal(dtype: Any) -> bool:
    return type(dtype).__name__.startswith("Decimal")


def _reaches(column: Any, kind: pa.DataType, common: pa.DataType) -> bool:
    """Whether a finer unit holds all times of a column: casts of cuDF overflow without an error."""
    if kind == common or not (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)) or not len(column):
        return True
    times = _values(_instants(column).astype("int64"), _nulls(column))
    factor = np.timedelta64(1, kind.unit) // np.timedelta64(1, common.unit)
    return max(int(times.max()), -int(times.min())) <= int(np.iinfo(np.int64).max // factor)


def _cast(column: Any, common: pa.DataType) -> Any:
    cudf = sys.modules["cudf"]
    if pa.types.is_decimal(common):
        series = cudf.Series(column) if is_array(column) else column
        return series.astype(cudf.Decimal128Dtype(common.precision, common.scale))
    if pa.types.is_boolean(common):
        return column.astype("bool")
    name = "timedelta64" if pa.types.is_duration(common) else "datetime64"
    return _instants(column).astype(f"{name}[{common.unit}]")


def _instants(column: Any) -> Any:
    """Return times with a time zone as times of UTC, without a zone."""
    return column.dt.tz_convert(None) if hasattr(column.dtype, "tz") else column


def _decoded(column: Any) -> Any:
    """Return the values of a categorical column."""
    return column.astype(column.dtype.categories.dtype) if hasattr(column.dtype, "categories") else column


def _nulls(column: Any) -> Array | None:
    return column.isnull().values if column.has_nulls else None


def _values(column: Any, nulls: Array | None) -> Array:
    """Return a numeric column as a CuPy array: its memory, or a copy if cuDF may move that to the host."""
    if nulls is not None:
        column = column.fillna(False if column.dtype.kind == "b" else 0)
    elif spills():
        column = column.copy(deep=True)
    return _contiguous(column.values)


def spills() -> bool:
    """Whether cuDF moves buffers to the host if memory is short: not those that CuPy has seen, until they are freed."""
    return bool(sys.modules["cudf"].get_option("spill"))


def _contiguous(column: Array) -> Array:
    return column if column.flags.c_contiguous else column.copy()
