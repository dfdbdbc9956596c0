"""Frames on a GPU, of cuDF, and their columns, of CuPy or cuDF, as ids, vertices, weights and groups.

As on the host, no id passes through a float and no weight is rounded. No column is copied to the host.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Column, ColumnName, EndNames, Frame, Invalid
from dfmst._edges.arrow_values import arrow_column, no_groups, no_times, plain_ids, readable
from dfmst._edges.edge_table import Input, Readers
from dfmst._edges.frame_rows import host_differs
from dfmst._edges.unify import common_id_type
from dfmst._edges.vertices import IdColumns, different_ids, is_cupy_array, same_width, unsuitable_ids, whole_floats
from dfmst._edges.view import NAMES_HINT, View
from dfmst._edges.weights import WeightColumn, different_weights, unsupported_weights, widen
from dfmst._engines import CudaEngine, Engine, with_freed_scratch
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import DfmstError, InvalidEdgesError, UnsupportedFrameError, missing_column


def device_ids(
    source: tuple[ColumnName, Column], target: tuple[ColumnName, Column], *, invalid: Invalid | None = None
) -> IdColumns:
    """Check two (name, column) pairs, and return CuPy integers of one width or cuDF columns of one type."""
    first, null_first = _readable_ids(*source, invalid)
    second, null_second = _readable_ids(*target, invalid)
    if is_cupy_array(first) and is_cupy_array(second):
        alike = same_width(first, second)
        if alike is None:
            raise different_ids((source[0], first.dtype), (target[0], second.dtype), " on the GPU")
        first, second = alike
    elif str(first.dtype) != str(second.dtype) or _is("decimal", first.dtype):
        first, second = _same_type((source[0], first), (target[0], second))
    return IdColumns(first, second, null_first, null_second)


def device_codes(*columns: Column) -> Array:
    """Number the entries of columns alike, from 0, one column after the other; all nulls are one entry."""
    columns = tuple(map(_decoded, columns))
    if any(column.dtype.kind == "c" or _is_nested(column.dtype) for column in columns):
        raise TypeError("entries that are not compared")
    if len({str(column.dtype) for column in columns}) > 1:
        columns = _in_one_type(*columns)
    whole = sys.modules["cudf"].concat(list(columns), ignore_index=True) if len(columns) > 1 else columns[0]
    nulls, words = _nulls(whole), _words(whole)
    if words is None:
        codes, values = whole.factorize()
        nulls, entries = codes < 0, len(values)
    else:
        values, codes = sys.modules["cupy"].unique(words, return_inverse=True)
        entries = len(values)
    numbered: Array = codes if nulls is None else sys.modules["cupy"].where(nulls, entries, codes)
    return numbered


def device_differs(first: Column, second: Column) -> Array:
    """Flag the rows in which two columns of equal length differ; nulls are equal, and so are NaNs."""
    codes = device_codes(first, second)
    differs: Array = codes[: len(first)] != codes[len(first) :]
    return differs


def _in_one_type(first: Column, second: Column) -> tuple[Any, Any]:
    """Return columns of two types in one; integers of 64 bits without a sign are not compared with others."""
    kinds = {first.dtype.kind, second.dtype.kind}
    if kinds == {"f"}:
        narrower = min(first.dtype, second.dtype, key=lambda dtype: dtype.itemsize)  # as :func:`alike` on the host
        return first.astype(narrower), second.astype(narrower)
    if kinds <= {"i", "u"} and not any(column.dtype == np.uint64 for column in (first, second)):
        return first.astype("int64"), second.astype("int64")
    if kinds & {"f", "i", "u"}:
        raise TypeError("columns of two types")
    return _same_type(("", first), ("", second))


def _words(column: Column) -> Any:
    """Return 64 bits of each number or time, equal for equal entries and for NaNs; ``None`` for other columns."""
    kind, nulls = column.dtype.kind, _nulls(column)
    if kind not in "biufmM" or _is("decimal", column.dtype):
        return None
    if kind in "mM":
        column = _instants(column).astype("int64")
    if kind != "f":
        return _values(column, nulls).astype(np.int64)
    # By its bits, since arithmetic of CuPy makes denormal numbers zero.
    values = _values(column.astype("float64"), nulls)
    words = sys.modules["cupy"].where(values != values, np.int64(-1), values.view(np.int64))
    return words * (words << np.int64(1) != 0)


def _ranks(column: Column) -> Array:
    """Return numbers that are in the order of a column's entries, ``uint64``."""
    xp, column = sys.modules["cupy"], _decoded(column)
    nulls, words, kind = _nulls(column), _words(column), column.dtype.kind
    limits = np.iinfo(np.int64)
    if words is None:
        ranks = column.factorize(sort=True)[0]
    elif kind == "f":  # the bits of negative numbers descend; those of NaN are -1
        ranks = xp.where(words < 0, words ^ np.int64(limits.max), words)
        ranks = xp.where(words == -1, np.int64(limits.max), ranks)
    else:
        ranks = words ^ np.int64(limits.min) if kind == "u" else words
    ranks = xp.unique(ranks, return_inverse=True)[1]
    ranks = ranks if nulls is None else xp.where(nulls, len(column), ranks)
    return ranks.astype(np.uint64)  # type: ignore[no-any-return]


def device_flags(column: Column) -> tuple[Any, Array | None, Array | None]:
    """Return the entries of a column of flags, the entry of each row (``None``: its own), and the mask of the nulls.

    Entries are CuPy booleans or integers; of any other column they are the different values, as ``cudf.Index``.
    """
    column = _decoded(column)
    nulls = _nulls(column)
    if column.dtype.kind in "biu":
        return _values(column, nulls), None, nulls
    codes, values = column.factorize()
    return values, codes, nulls


def device_weights(name: object, column: Column) -> WeightColumn:
    """Read a weight column: CuPy array or cuDF column of numbers, booleans, decimals, durations or timestamps."""
    check_device(name, column)
    nulls = None
    if not is_cupy_array(column):
        column, nulls = _decoded(column), _nulls(column)
        if _is("decimal", column.dtype):
            # Ranks order wide decimals exactly. The rank -1 of nulls is never read.
            column = column.factorize(sort=True)[0].astype(np.uint32)
        else:
            if column.dtype.kind in "mM":
                column = _instants(column).astype("int64")
            elif column.dtype.kind not in "biuf":
                raise unsupported_weights(name, column.dtype)
            column = _values(column, nulls)
    return WeightColumn(_contiguous(widen(name, column)), nulls)


def device_column(values: Array, nulls: Array) -> Any:
    """Return CuPy integers as a column with nulls; without any, as they are."""
    if not bool(nulls.any()):
        return values
    return sys.modules["cudf"].Series(values).where(~nulls)


def stack_weights(name: object, forest: Frame, edges: Frame) -> Any:
    forest, edges = _decoded(forest), _decoded(edges)
    if str(forest.dtype) != str(edges.dtype) or _is("decimal", edges.dtype):
        try:
            cast = forest.astype(edges.dtype)
            changed = device_differs(cast.astype(forest.dtype), forest)
        except (NotImplementedError, TypeError, ValueError) as error:
            raise different_weights(name, edges.dtype, forest.dtype) from error
        if bool(changed.any()):
            raise different_weights(name, edges.dtype, forest.dtype)
        forest = cast
    return sys.modules["cudf"].concat([forest, edges], ignore_index=True)


# As Arrow's: libcudf itself strips only ASCII blanks, and control characters, which are no blanks.
_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_BLANKS += "\u2028\u2029\u202f\u205f\u3000"


def device_keys(name: object, column: Column, *, blanks: bool) -> tuple[Array, Array | None]:
    """Return a key column as CuPy integers or floats, and the mask of its nulls; other values are factorized.

    Without `blanks` the mask has the blank texts as well.
    """
    check_device(name, column)
    column, nulls = _decoded(column), _nulls(column)
    if _is_nested(column.dtype):
        message = f"column {name!r} holds {column.dtype} values, which are not read on the GPU"
        raise UnsupportedFrameError(message, "copy the frame to the host: table.to_arrow()")
    if column.dtype.kind in "iuf":
        return _values(column, nulls), nulls
    if not blanks and _is("string", column.dtype):
        empty = _values(column.str.strip(_BLANKS).str.len(), nulls) == 0
        nulls = empty if nulls is None else nulls | empty
    return column.factorize()[0], nulls


def device_numbers(name: object, column: Column) -> Array:
    """Read a column of integers or floats as ``float64``, with NaN for nulls."""
    check_device(name, column)
    kind = column.dtype
    if _is("decimal", kind) or getattr(kind, "kind", "O") not in "iuf":
        message = f"column {name!r} holds {kind} values; coordinates must be numbers"
        raise InvalidEdgesError(message, "cast it to float64, or pass points.to_arrow()")
    nulls = _nulls(column)
    values = _values(column, nulls)
    floats: Array = values.astype(np.float64)
    if values.dtype.kind in "iu" and bool((floats.astype(values.dtype) != values).any()):
        message = f"column {name!r} holds integers that no float64 is equal to"
        raise InvalidEdgesError(message, "subtract a constant, or cast it to float64 yourself")
    if nulls is not None:
        floats[nulls] = np.nan
    return floats


def check_device(name: object, column: Column) -> None:
    """Raise an error for a column on another GPU than the current one; CuPy and cuDF would copy it in silence."""
    current, place = sys.modules["cupy"].cuda.Device().id, _device_of(column)
    if place not in (None, current):
        message = f"column {name!r} is on GPU {place}, and GPU {current} is the current one"
        raise UnsupportedFrameError(message, f"work there: with cupy.cuda.Device({place}): ...")


def _device_of(column: Column) -> int | None:
    """Return the number of a column's GPU; ``None`` if the column has no memory, or if cuDF may move that."""
    if hasattr(column, "__dlpack_device__"):
        return int(column.__dlpack_device__()[1])
    if is_cupy_array(column):
        pointer = column.__cuda_array_interface__["data"][0]
    else:
        buffer = None if spills() else column.to_pylibcudf()[0].data()
        pointer = None if buffer is None else buffer.ptr
    place = sys.modules["cupy"].cuda.runtime.pointerGetAttributes(pointer).device if pointer else -1
    return None if place < 0 else int(place)  # less than 0: memory of the system


@dataclass(frozen=True, slots=True)
class DeviceEntries:
    """Entries of a cuDF column of weights, which are read from the GPU one by one."""

    column: Any  # ``cudf.Series`` without nulls

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, place: int) -> pa.Scalar:
        return self.column.take(sys.modules["cupy"].arange(place, place + 1)).to_arrow()[0]

    @property
    def type(self) -> pa.DataType:
        return _arrow_type(_decoded(self.column).dtype)

    @property
    def numbers(self) -> bool:
        return _decoded(self.column).dtype.kind in "biuf"

    def values(self) -> Array:
        return _values(_decoded(self.column), None)

    def floats(self) -> Array:
        return _values(_decoded(self.column).astype("float64"), None)

    def arrow(self) -> pa.Array:
        return plain_ids(arrow_column("weight", self.column.to_arrow()))


def sum_column(column: Column) -> Any:
    """Return a column of weights to be summed: numbers where they are, others of cuDF on the host."""
    if isinstance(column, (np.ndarray, pa.Array, pa.ChunkedArray)):
        return column
    entries = DeviceEntries(column)
    if not entries.numbers or column.has_nulls:
        return column.to_arrow()
    return entries.floats() if entries.type == pa.float32() else entries.values()  # CuPy makes denormal numbers zero


def is_device_column(column: Column) -> bool:
    """Whether an object is a column on a GPU, of CuPy or cuDF."""
    kinds = [getattr(sys.modules.get(library), name, ()) for library, name in (("cupy", "ndarray"), ("cudf", "Series"))]
    return any(isinstance(column, kind) for kind in kinds)


def device_series(name: object, column: pa.Array) -> Any:
    """Copy a column from the host to the GPU, as ``cudf.Series``."""
    try:
        return sys.modules["cudf"].Series.from_arrow(column)
    except (NotImplementedError, TypeError, ValueError) as error:
        message = f"{name} holds {column.type} values, which cuDF has no type for: {error}"
        raise InvalidEdgesError(message, "cast them to the type of the id columns") from error


def beyond(values: Array, kind: Any) -> bool:
    """Whether an integer type lacks some of the values; casts of cuDF overflow without an error."""
    kind = getattr(kind, "numpy_dtype", kind)
    if kind.kind not in "iu" or not len(values):
        return False
    limits = np.iinfo(kind)
    return not (limits.min <= int(values.min()) and int(values.max()) <= limits.max)


def _readable_ids(name: object, column: Column, invalid: Invalid | None) -> tuple[Any, Array | None]:
    check_device(name, column)
    nulls = None
    if not is_cupy_array(column):
        column, nulls = _decoded(column), _nulls(column)
    kind = column.dtype.kind
    if kind == "f":
        values = column if is_cupy_array(column) else _values(column, nulls)
        return whole_floats(sys.modules["cupy"], name, column.dtype, values, nulls, invalid, whole=True)
    if kind == "c" or (kind not in "iu" if is_cupy_array(column) else _is_nested(column.dtype)):
        raise unsuitable_ids(name, column.dtype)
    if kind in "iu":
        column = _contiguous(column) if is_cupy_array(column) else _values(column, nulls)
    return column, nulls


def _same_type(source: tuple[ColumnName, Column], target: tuple[ColumnName, Column]) -> tuple[Any, Any]:
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
    if _is("string", dtype):
        return pa.large_string()
    if hasattr(dtype, "pyarrow_dtype"):  # of pandas, which cuDF takes
        return dtype.pyarrow_dtype
    if _is("decimal", dtype):
        return dtype.to_arrow()
    if hasattr(dtype, "tz"):
        return pa.timestamp(dtype.unit, str(dtype.tz))
    return pa.from_numpy_dtype(getattr(dtype, "numpy_dtype", dtype)) if dtype.kind in "biufmM" else None


def _is(family: str, dtype: object) -> bool:
    """Ask cuDF: its own types, pandas' and those of Arrow have different classes and names."""
    return bool(getattr(sys.modules["cudf"].api.types, f"is_{family}_dtype")(dtype))


def _is_nested(dtype: object) -> bool:
    return _is("list", dtype) or _is("struct", dtype) or isinstance(dtype, sys.modules["cudf"].IntervalDtype)


def _reaches(column: Column, kind: pa.DataType, common: pa.DataType) -> bool:
    """Whether a finer unit holds all times of a column: casts of cuDF overflow without an error."""
    if kind == common or not (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)) or not len(column):
        return True
    times = _values(_instants(column).astype("int64"), _nulls(column))
    factor = np.timedelta64(1, kind.unit) // np.timedelta64(1, common.unit)
    return max(int(times.max()), -int(times.min())) <= int(np.iinfo(np.int64).max // factor)


def _cast(column: Column, common: pa.DataType) -> Any:
    cudf = sys.modules["cudf"]
    if pa.types.is_decimal(common):
        series = cudf.Series(column) if is_cupy_array(column) else column
        return series.astype(cudf.Decimal128Dtype(common.precision, common.scale))
    if pa.types.is_boolean(common):
        return column.astype("bool")
    name = "timedelta64" if pa.types.is_duration(common) else "datetime64"
    return _instants(column).astype(f"{name}[{common.unit}]")


def _instants(column: Column) -> Any:
    """Return times with a time zone as times of UTC, without a zone."""
    zone = getattr(getattr(column.dtype, "pyarrow_dtype", column.dtype), "tz", None)
    return column if zone is None else column.dt.tz_convert(None)


def _decoded(column: Column) -> Any:
    return column.astype(column.dtype.categories.dtype) if hasattr(column.dtype, "categories") else column


def _nulls(column: Column) -> Array | None:
    return _bits(column).isnull().values if column.has_nulls else None


def _bits(column: Column) -> Any:
    """Return floats as integers of their bits, since `isnull` and `fillna` of cuDF take NaN for null."""
    if column.dtype.kind != "f":
        return column
    plain, library = column.copy(deep=True) if spills() else column, sys.modules["pylibcudf"]
    kind = library.DataType(library.TypeId[f"INT{8 * column.dtype.itemsize}"])
    return sys.modules["cudf"].Series.from_pylibcudf(library.unary.bit_cast(plain.to_pylibcudf()[0], kind))


def _values(column: Column, nulls: Array | None) -> Array:
    """Return a numeric column as a CuPy array: its memory, or a copy if cuDF may move that to the host."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)
    if nulls is not None:
        column = _bits(column).fillna(False if kind.kind == "b" else 0)
    elif spills():
        column = column.copy(deep=True)
    values: Array = column.values if nulls is None else column.values.view(kind)
    return _contiguous(values)


def spills() -> bool:
    """Whether cuDF moves buffers to the host if memory is short: not those that CuPy has seen, until they are freed."""
    return bool(sys.modules["cudf"].get_option("spill"))


def _contiguous(column: Array) -> Array:
    return column if column.flags.c_contiguous else column.copy()


#: Readers of columns on a GPU.
DEVICE = Readers(device_ids, device_weights)


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A cuDF frame; see :class:`dfmst._edges.view.View`."""

    frame: Any  # a ``cudf.DataFrame``
    proxied: bool = False  # whether the user's frame was a proxy of cudf.pandas: results are proxies, too
    composed: Mapping[str, Any] = field(default_factory=dict)  # columns made of several columns, not in results
    labelled: bool = True  # whether the labels of the index count as values of the rows

    on_device: ClassVar[bool] = True
    readers: ClassVar[Readers] = DEVICE
    library: ClassVar[str] = "cudf"

    @property
    def xp(self) -> Any:
        return sys.modules["cupy"]

    @property
    def native(self) -> Any:
        return self.frame

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def names(self) -> list[Any]:
        return list(self.frame.columns)

    def column(self, name: Any) -> Any:
        """Return a column as ``cudf.Series``; one that is made of several columns may be a CuPy array."""
        if name in self.composed:
            return self.composed[name]
        if name not in self.frame.columns:
            raise missing_column(name, self.frame.columns, NAMES_HINT)
        return self.frame[name]

    series = column

    def engine(self, engine: Engine) -> Engine:
        return engine

    def moved(self, engine: Engine, column: Array) -> Array:
        return column

    def entries(self, name: ColumnName, rows: Array, engine: Engine | None = None) -> Any:
        return self.column(name).take(rows if engine is None else engine.from_host(rows)).reset_index(drop=True)

    def weights(self, name: ColumnName, rows: Array | None = None) -> DeviceEntries:
        column = self.column(name)
        return DeviceEntries(column if rows is None else column.take(rows))

    def ticks(self, name: ColumnName) -> tuple[Array, Array | None, pa.DataType]:
        column = self.column(name)
        check_device(name, column)
        column = _decoded(column)
        nulls, kind = _nulls(column), _arrow_type(column.dtype)
        if _is("decimal", column.dtype) or column.dtype.kind not in "iufmM":
            raise no_times(name, column.dtype if kind is None else kind)
        column = _instants(column).astype("int64") if column.dtype.kind in "mM" else column
        plain = _values(column, nulls)
        if plain.dtype == np.uint64 and len(plain) and int(plain.max()) >= 1 << 63:
            raise InvalidEdgesError(f"column {name!r} holds integers beyond 2^63", "subtract a constant first")
        values: Array = plain.astype(np.float64 if plain.dtype.kind == "f" else np.int64, copy=False)
        missing = ~(abs(values) < np.inf) if values.dtype.kind == "f" else None
        if nulls is not None:
            missing = nulls if missing is None else nulls | missing
        return values, missing, kind

    def nulls(self, name: ColumnName) -> Array:
        nulls = _nulls(_decoded(self.column(name)))
        return self.xp.zeros(len(self), bool) if nulls is None else nulls

    def codes(self, *columns: tuple[View, ColumnName, Array | None]) -> Array:
        series = [view.column(name) if rows is None else view.column(name).take(rows) for view, name, rows in columns]
        try:
            return device_codes(*series)
        except (TypeError, InvalidEdgesError) as error:
            raise no_groups(columns[0][1], " and ".join(sorted({str(each.dtype) for each in series}))) from error

    def order(self, engine: Engine, names: tuple[ColumnName, ...], rows: Array) -> Array:
        """Return the places of rows in ascending order; NaN comes after numbers, then null."""
        order: Array = engine.xp.arange(len(rows), dtype=np.uint32)
        for name in reversed(names):
            order = order[sort_order(engine, _ranks(self.column(name).take(rows))[order])]
        return order

    def differs(self, first: Column, second: Column) -> Array:
        """Flag the rows in which two columns differ; those of types that cuDF does not compare, on the host."""
        try:
            return device_differs(first, second)
        except (DfmstError, NotImplementedError, TypeError):
            return self.xp.asarray(host_differs(first.to_arrow(), second.to_arrow()))  # type: ignore[no-any-return]

    def entry(self, name: ColumnName, row: int) -> Any:
        return self.part(row, row + 1).column(name).to_arrow()[0].as_py()

    def text(self, name: ColumnName, row: int) -> str:
        return str(readable(arrow_column(name, self.part(row, row + 1).column(name).to_arrow()))[0])

    def kind(self, name: ColumnName) -> Any:
        """Return the type of a column, for errors; cuDF stacks columns of different categories."""
        dtype = self.column(name).dtype
        return "category" if hasattr(dtype, "categories") else dtype

    def of(self, frame: Frame) -> DeviceView:
        return replace(self, frame=frame, composed={})

    def plain(self) -> DeviceView:
        return replace(self, proxied=False)

    def with_composed(self, columns: Mapping[Any, Any]) -> DeviceView:
        return replace(self, composed=columns)

    def part(self, begin: int, end: int) -> DeviceView:
        return self.of(self.frame.iloc[begin:end])

    def rows(self, engine: Engine, rows: Array) -> DeviceView:
        """Return the view of these rows; the positions may be on the host."""
        return replace(self, frame=with_freed_scratch(lambda: self.frame.take(engine.from_host(rows))))

    def select(self, names: list[ColumnName]) -> DeviceView:
        return self.of(self.frame[names])

    def take(self, engine: Engine | None, rows: Array) -> Frame:
        return self.finish(with_freed_scratch(lambda: self.frame.take(rows)))

    def with_column(self, name: str, values: Array, attribute: str, content: object) -> Frame:
        frame = self.frame.copy(deep=False)
        frame[name] = values
        return self.finish(frame)

    def nullable(self, values: Array, missing: Array) -> Any:
        return device_column(values, missing)

    def build(self, columns: Mapping[str, Any]) -> Frame:
        return self.finish(sys.modules["cudf"].DataFrame(dict(columns), nan_as_null=False))

    def build_arrow(self, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Frame:
        return self.finish(sys.modules["cudf"].DataFrame.from_arrow(pa.table(dict(columns))))

    def build_vertices(
        self,
        names: EndNames,
        input: Input,
        ids: Column,
        columns: Mapping[str, Array],
        begin: Mapping[Any, Any] | None = None,
        numbers: Mapping[str, Any] | None = None,
    ) -> Frame:
        values = input.vertices.values if ids is None else ids
        source, target = (self.column(name).dtype for name in names)
        kind = source
        if source != target:
            plain = [getattr(dtype, "numpy_dtype", dtype) for dtype in (source, target)]
            kind = np.result_type(*plain) if values is None else None
            if kind is not None and kind.kind == "f":  # uint64 and a signed type
                kind = np.dtype(np.uint64)
        if values is not None and is_cupy_array(values) and kind is not None and beyond(values, kind):
            kind = None
        if "f" in (source.kind, target.kind):  # floats were read as integers
            kind = np.dtype(np.int64)
        built: dict[str, Any] = {}
        for name, vertices in columns.items():
            column = sys.modules["cudf"].Series(vertices if values is None else values.take(vertices))
            built[name] = (column if kind is None else column.astype(kind)).reset_index(drop=True)
        return self.build({**(begin or {}), **built, **(numbers or {})})

    def labelled_column(self, name: str, values: Array) -> Any:
        return self.finish(sys.modules["cudf"].DataFrame({name: values}, index=self.frame.index)[name])

    def index(self) -> Any:
        """Return the labels of the rows as ``cudf.Series``; ``None`` if they do not count, or have several levels."""
        labels = self.frame.index
        return sys.modules["cudf"].Series(labels) if self.labelled and len(labels.names) == 1 else None

    def without_default_index(self) -> DeviceView:
        labels = self.frame.index
        default = isinstance(labels, sys.modules["cudf"].RangeIndex)
        return replace(self, labelled=not (default and (labels.start, labels.step, labels.name) == (0, 1, None)))

    def to_arrow(self) -> Any:
        return self.frame.to_arrow(preserve_index=False)

    def finish(self, frame: Frame) -> Frame:
        return sys.modules["cudf.pandas"].as_proxy_object(frame) if self.proxied else frame


def open_device_frame(frame: Frame) -> DeviceView | None:
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


def device_view(table: pa.Table) -> DeviceView:
    try:
        return DeviceView(sys.modules["cudf"].DataFrame.from_arrow(table))
    except (NotImplementedError, TypeError, ValueError) as error:
        message = f"cuDF has no type for a column of the frame on the host: {error}"
        raise UnsupportedFrameError(message, "convert it to the kind of the other frame first") from error
