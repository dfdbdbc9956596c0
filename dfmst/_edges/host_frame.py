"""Frames in host memory: columns out, rows in, through Narwhals, pandas or Arrow.

A frame's library is never imported here: the caller has imported it.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name
from dfmst._common.deferred import cached_property, nw, pc
from dfmst._common.types import Array, Column, ColumnName, EndNames, Frame
from dfmst._edges.arrow_values import (
    arrow_column,
    arrow_numbers,
    no_times,
    numbers_of_arrow,
    plain_ids,
    plain_views,
    readable,
    ticks,
    to_arrow,
)
from dfmst._edges.conditions import group_entries, group_order, value_codes
from dfmst._edges.edge_table import IN_MEMORY, Input, Readers
from dfmst._edges.frame_rows import (
    arrow_storage,
    host_differs,
    take_arrow,
    take_of_two,
    take_pandas,
    take_polars,
    take_table,
)
from dfmst._edges.unify import alike, family_of, native_type, series_type
from dfmst._edges.view import NAMES_HINT, View
from dfmst._edges.weights import plain_weights, weight_column
from dfmst._engines import Engine, host_engine
from dfmst.errors import InvalidEdgesError, missing_column

_ARROW = (pa.Table, pa.RecordBatch)
#: Types of integers and texts by the names that NumPy, pandas and polars have for them, in lower case.
_INTEGERS = {f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)}
_ID_TYPES = {**_INTEGERS, "string": pa.large_string(), "str": pa.large_string()}
#: Makes the user's kind of frame of a result.
AsUser: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True)
class FrameView:
    """A frame in host memory; see :class:`dfmst._edges.view.View`."""

    native: Any  # the dataframe of its library
    lazy: bool = False  # whether the user's frame was a polars LazyFrame: results are lazy, too
    labelled: bool = True  # whether the labels of a pandas index count as values of the rows
    composed: Mapping[str, Any] = field(default_factory=dict)  # columns made of several columns, not in results
    as_user: AsUser | None = None  # makes the user's kind of frame from a result; None: it is of that kind

    on_device: ClassVar[bool] = False
    readers: ClassVar[Readers] = IN_MEMORY
    xp: ClassVar[Any] = np

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        return nw.from_native(self.native, eager_only=True)

    @cached_property
    def places(self) -> Mapping[Any, int]:
        """Position of each column by name: libraries make a new list of all names for each look-up."""
        plain = isinstance(self.native, _ARROW) or is_plain_pandas(self.native) or is_plain_polars(self.native)
        native = self.native if plain else self.frame
        names = native.schema.names if isinstance(native, _ARROW) else native.columns
        return {name: place for place, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.native)

    def column(self, name: Any) -> Array | pa.Array | pa.ChunkedArray:
        """Return a column: NumPy for a NumPy column of pandas, else Arrow; not copied if the library allows."""
        native = self.native
        if type(name) is not str:
            check_column_name("column", name)
        if self.composed and name in self.composed:
            return self.composed[name]
        if is_plain_pandas(native) and native.columns.nlevels == 1 and name in native.columns:
            # Not through Narwhals, which takes ten times as long for a short column.
            stored = stored_column(native, name)
            return pandas_column(name, native[name]) if stored is None else stored
        if isinstance(native, _ARROW) and type(name) is str and name.isprintable():  # it finds no halves of surrogates
            place = native.schema.get_field_index(name)
            if place >= 0:
                return native.column(place)
        if is_plain_polars(native) and type(name) is str:
            series = native.get_column(name, default=None)
            if series is not None:
                return polars_column(name, series)
        return host_column(name, self.series(name))

    def series(self, name: Any) -> nw.Series[Any]:
        check_column_name("column", name)
        if name not in self.places:
            raise missing_column(name, self.places, NAMES_HINT)
        return self.frame.get_column(name)

    @property
    def library(self) -> str:
        return str(self.frame.implementation.value)

    def engine(self, engine: Engine) -> Engine:
        return host_engine(engine)

    def moved(self, engine: Engine, column: Array) -> Array:
        return engine.to_host(column)

    def entries(self, name: Any, rows: Array, engine: Engine | None = None) -> Any:
        taken = self.of(self.series(name).to_frame()).rows(engine, rows)
        return nw.to_native(nw.maybe_reset_index(taken.frame).get_column(name))

    def weights(self, name: ColumnName, rows: Array | None = None) -> Array | pa.Array:
        column = self.column(name)
        if rows is not None and isinstance(column, np.ndarray):
            column = column[rows]
        elif rows is not None:
            column = take_arrow(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]), rows)
        return plain_weights(name, column)

    def ticks(self, name: ColumnName) -> tuple[Array, Array | None, pa.DataType]:
        column = plain_ids(arrow_column(name, self.column(name)))
        kind, missing = column.type, np.asarray(column.is_null())
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            column, _ = ticks(column)
        elif pa.types.is_floating(kind):
            column = column.cast(pa.float64())
        elif pa.types.is_integer(kind):
            if kind == pa.uint64() and (pc.max(column).as_py() or 0) >= 1 << 63:
                raise InvalidEdgesError(f"column {name!r} holds integers beyond 2^63", "subtract a constant first")
            column = column.cast(pa.int64())
        elif pa.types.is_decimal(kind):
            column = pa.array(weight_column(name, column).values)
            if column.type != pa.int64():
                raise InvalidEdgesError(f"column {name!r} holds decimals beyond 64 bits", "cast it to float64")
        elif not pa.types.is_null(kind):
            if len(column):
                raise no_times(name, kind)
            column, kind = pa.nulls(0), pa.null()  # an empty column may have any type
        values = column.fill_null(0) if column.null_count and not pa.types.is_null(kind) else column
        plain: Array = (
            values.to_numpy(zero_copy_only=False) if not pa.types.is_null(kind) else np.zeros(len(column), np.int64)
        )
        return plain, missing | ~np.isfinite(plain) if plain.dtype.kind == "f" else missing, kind

    def nulls(self, name: ColumnName) -> Array:
        return np.asarray(arrow_column(name, self.column(name)).is_null())

    def codes(self, *columns: tuple[View, ColumnName, Array | None]) -> Array:
        values = [arrow_column(name, view.column(name)) for view, name, _ in columns]
        values = [*alike(*values)] if len(values) == 2 else values
        entries = [(group_entries("", each), rows) for each, (*_, rows) in zip(values, columns, strict=True)]
        return value_codes(
            columns[0][1], [each if rows is None else each.take(pa.array(rows)) for each, rows in entries]
        )

    def order(self, engine: Engine, names: tuple[ColumnName, ...], rows: Array) -> Array:
        return group_order([group_entries(name, self.column(name)).take(pa.array(rows)) for name in names], rows)

    def differs(self, first: Column, second: Column) -> Array:
        return host_differs(first, second)

    def entry(self, name: ColumnName, row: int) -> Any:
        return self.series(name)[row]

    def text(self, name: ColumnName, row: int) -> str:
        try:
            return str(self.entry(name, row))
        except (OverflowError, ValueError):  # a time that Python's types do not hold
            return str(readable(arrow_column(name, self.part(row, row + 1).column(name)))[0])

    def kind(self, name: ColumnName) -> Any:
        series = self.series(name)
        with contextlib.suppress(ValueError):  # Narwhals has no decimals of negative scales
            if series.dtype != nw.Unknown or not series.implementation.is_pyarrow():
                return series.dtype
        return native_type(series)

    @property
    def names(self) -> list[Any]:
        return list(self.native.columns if is_plain_pandas(self.native) else self.places)

    def to_arrow(self) -> pa.Table:
        """Return the frame as an Arrow table; an Arrow table is not copied."""
        if isinstance(getattr(self.native, "active_geometry_name", None), str):  # geometries keep their name as such
            return pa.table(self.native.to_arrow())
        return self.native if isinstance(self.native, pa.Table) else self.frame.to_arrow()

    def index(self) -> Array | None:
        """Return the index labels of a pandas frame (tuples if it has levels); ``None`` for other frames."""
        labelled = self.labelled and self.frame.implementation.is_pandas()
        return self.native.index.to_numpy() if labelled else None

    def without_default_index(self) -> FrameView:
        labels: Any = getattr(self.native, "index", None)
        default = type(labels).__name__ == "RangeIndex" and (labels.start, labels.step, labels.name) == (0, 1, None)
        return replace(self, labelled=not default)

    def take(self, engine: Engine | None, rows: Array) -> Frame:
        taken = self._take(engine, rows)
        return self.finish(nw.from_native(taken, eager_only=True)) if self.lazy else self._as_user(taken)

    def of(self, frame: nw.DataFrame[Any]) -> FrameView:
        return replace(self, native=nw.to_native(frame), composed={})

    def plain(self) -> FrameView:
        return replace(self, lazy=False, as_user=None)

    def with_composed(self, columns: Mapping[Any, Any]) -> FrameView:
        return replace(self, composed=columns)

    def part(self, begin: int, end: int) -> FrameView:
        if isinstance(self.native, _ARROW):
            return replace(self, native=self.native.slice(begin, end - begin), composed={})
        return self.of(self.frame[begin:end])

    def rows(self, engine: Engine | None, rows: Array) -> FrameView:
        return replace(self, native=self._take(engine, rows))

    def select(self, names: list[Any]) -> FrameView:
        if self.frame.implementation.is_pandas():  # names need not be texts, which Narwhals expects
            return replace(self, native=self.native.iloc[:, [self.places[name] for name in names]], composed={})
        return self.of(self.frame.select(names))

    def _take(self, engine: Engine | None, rows: Array) -> Any:
        native = self.native
        if is_plain_pandas(native):
            return take_pandas(None if engine is None else host_engine(engine), native, rows)
        if isinstance(native, pa.Table):
            return take_table(native, rows)
        return take_polars(native, rows) if is_plain_polars(native) else nw.to_native(self.frame[rows])

    def with_column(self, name: str, values: Array, attribute: str, content: object) -> Frame:
        native = self.native
        if is_plain_pandas(native) or self.frame.implementation.is_pandas():
            frame = native.copy(deep=False)
            more = native.columns.nlevels - 1  # pandas wants a name for each level
            frame[(name, *[""] * more) if more else name] = values
            frame.attrs = {**frame.attrs, attribute: content}
            return self._as_user(frame)
        if isinstance(native, pa.Table):
            table = native.append_column(name, arrow_numbers(values))
            metadata = {**(table.schema.metadata or {}), attribute: json.dumps(content)}
            return self._as_user(table.replace_schema_metadata(metadata))
        return self.finish(self.frame.with_columns(nw.new_series(name, values, backend=self.frame.implementation)))

    def nullable(self, values: Array, missing: Array) -> Any:
        column = pa.array(values, mask=missing) if missing.any() else values
        pandas = self.frame.implementation.is_pandas() and column is not values
        return self._column_of(column, f"Int{8 * values.itemsize}" if pandas else None)

    def _column_of(self, values: Array | pa.Array, kind: Any) -> Any:
        """Return a column of the library, of its own type or of a type of pandas, for :meth:`build`."""
        library = self.frame.implementation
        if isinstance(values, np.ndarray) and (library.is_polars() or kind is None or isinstance(kind, np.dtype)):
            return values if kind is None or library.is_polars() else values.astype(kind, copy=False)
        if isinstance(kind, np.dtype):
            return numbers_of_arrow(values).astype(kind, copy=False)
        values = arrow_numbers(values) if isinstance(values, np.ndarray) else values
        if library.is_polars():
            return sys.modules["polars"].from_arrow(values)
        if not library.is_pandas():
            return pa.chunked_array([values])
        pandas = sys.modules["pandas"]
        return pandas.Series(pandas.api.types.pandas_dtype(kind).__from_arrow__(values))

    def build(self, columns: Mapping[str, Any]) -> Frame:
        return self.finish(nw.from_dict(dict(columns), backend=self.frame.implementation))

    def _build_from(self, names: EndNames, columns: Mapping[str, Array]) -> Frame:
        """Return a new frame of the user's kind: entries of two columns, by position in the first, then the second."""
        parts = [self.series(name).alias("stacked") for name in names]
        kind = None if native_type(parts[0]) == native_type(parts[1]) else series_type(*parts)
        first, second = (arrow_storage(nw.to_native(part)) for part in parts)
        if first is not None and second is not None:
            common = first.type if kind is None else getattr(pa, str(kind).lower())()
            taken = {name: take_of_two((first, second), at, common) for name, at in columns.items()}
            if self.frame.implementation.is_pyarrow():
                return self._as_user(pa.table(taken))
            extension = type(nw.to_native(parts[0]).array)
            return self._as_user(sys.modules["pandas"].DataFrame({name: extension(at) for name, at in taken.items()}))
        for place, stored in enumerate((first, second)):
            if stored is not None and stored.type in plain_views():  # pandas casts no views
                native = nw.to_native(parts[place])
                plain = type(native)(type(native.array)(stored.cast(plain_views()[stored.type])), name="stacked")
                parts[place] = nw.from_native(plain, series_only=True)
        if kind is not None:
            parts = [part.cast(kind) for part in parts]
        stacked = nw.concat([part.to_frame() for part in parts], how="vertical")
        parted = [nw.maybe_reset_index(stacked[at]).rename({"stacked": name}) for name, at in columns.items()]
        return self.finish(nw.concat(parted, how="horizontal"))

    def build_arrow(self, columns: Mapping[str, pa.Array | pa.ChunkedArray], index: Array | None = None) -> Frame:
        if self.frame.implementation.is_pandas():
            frame = pa.table(dict(columns)).to_pandas()
            return self._as_user(frame if index is None else frame.set_axis(index))
        if not self.frame.implementation.is_polars():
            return self._as_user(pa.table(dict(columns)))
        narrow = dict(columns)
        for name, column in columns.items():
            if pa.types.is_decimal256(column.type):
                try:
                    narrow[name] = column.cast(pa.decimal128(38, column.type.scale))
                except pa.ArrowException as error:
                    message = f"ids of more than 38 digits ({column.type}) have no type in polars"
                    raise InvalidEdgesError(message, "cast both id columns to one type, such as strings") from error
        return self.finish(nw.from_native(sys.modules["polars"].from_arrow(pa.table(narrow)), eager_only=True))

    def build_vertices(
        self,
        names: EndNames,
        input: Input,
        ids: pa.Array | None,
        columns: Mapping[str, Array],
        begin: Mapping[Any, Any] | None = None,
        numbers: Mapping[str, Any] | None = None,
    ) -> Frame:
        view = self.plain() if begin or numbers else self
        if ids is None:
            frame = view._build_of_table(names, input, columns)
        else:
            frame = view._build_of_ids(names, {name: ids.take(arrow_numbers(at)) for name, at in columns.items()})
        if view is self:
            return frame
        first, last = (
            nw.from_dict(dict(part), backend=self.frame.implementation) if part else None for part in (begin, numbers)
        )
        parts = [part for part in (first, nw.from_native(frame, eager_only=True), last) if part is not None]
        return self.finish(nw.concat(parts, how="horizontal"))

    def _build_of_table(self, names: EndNames, input: Input, columns: Mapping[str, Array]) -> Frame:
        known, values = self._id_type(names), input.vertices.values
        if known is not None and values is None and known[1] in _INTEGERS.values():
            exact = known[1].to_pandas_dtype()
            numbers = {name: column.astype(exact, copy=False) for name, column in columns.items()}
            return self.build({name: self._column_of(column, known[0]) for name, column in numbers.items()})
        source, target = (self.series(name) for name in names)
        unlike = native_type(source) != native_type(target) and series_type(source, target) is None
        # An empty table may hold ids of another type.
        alike = known is not None and values is not None and family_of(values.type) == family_of(known[1])
        if alike or unlike or source.dtype.is_float():  # floats were read as integers
            places = {name: arrow_numbers(at.astype(np.int64, copy=False)) for name, at in columns.items()}
            ids = places if values is None else {name: values.take(at) for name, at in places.items()}
            return self._build_of_ids(names, ids)
        positions = np.zeros(input.vertices.total, np.int64)  # of the first occurrence of each vertex
        row = np.arange(len(input.table), dtype=np.int64) if input.kept is None else input.kept
        for column, first in ((input.vertices.target, len(self)), (input.vertices.source, 0)):
            positions[column[::-1]] = row[::-1] + first  # later assignments win
        return self._build_from(names, {name: positions[column] for name, column in columns.items()})

    def _build_of_ids(self, names: EndNames, columns: Mapping[str, pa.Array]) -> Frame:
        """Return a new frame of Arrow ids, in the type of the id columns if it holds them."""
        known = self._id_type(names)
        if known is not None and {family_of(column.type) for column in columns.values()} == {family_of(known[1])}:
            kind, exact = known
            with contextlib.suppress(pa.ArrowInvalid):
                return self.build({name: self._column_of(ids.cast(exact), kind) for name, ids in columns.items()})
        return self.build_arrow(columns)

    def _id_type(self, names: EndNames) -> tuple[Any, pa.DataType] | None:
        """Return the type of both id columns, of the library and of Arrow, if it is one of integers or texts."""
        native = self.native
        if isinstance(native, _ARROW):
            kind, other = (native.schema.field(name).type for name in names)
        elif (is_plain_pandas(native) and native.columns.nlevels == 1) or is_plain_polars(native):
            # A series of pandas takes longer than its stored column, and one of Narwhals ten times as long.
            stored = [stored_column(native, name) if is_plain_pandas(native) else None for name in names]
            numpy = zip(names, stored, strict=True)
            kind, other = (at.dtype if isinstance(at, np.ndarray) else native[name].dtype for name, at in numpy)
        else:
            kind, other = (native_type(self.series(name)) for name in names)
        exact = getattr(kind, "pyarrow_dtype", kind)  # of pandas and of Arrow
        if not isinstance(exact, pa.DataType):
            plain = getattr(kind, "numpy_dtype", kind)
            exact = _ID_TYPES.get(plain.name if isinstance(plain, np.dtype) else str(kind).lower())
        known = exact == pa.string() or exact in _ID_TYPES.values()
        return (kind, exact) if known and kind == other else None

    def labelled_column(self, name: str, values: Array) -> Any:
        kind = self.frame.implementation
        if not (kind.is_pandas() or kind.is_polars()):
            return pa.array(values)
        native = nw.to_native(nw.new_series(name, values, backend=kind))
        if kind.is_pandas():
            native.index = self.native.index
        return native

    def finish(self, frame: nw.DataFrame[Any]) -> Frame:
        return self._as_user(nw.to_native(frame.lazy() if self.lazy else frame))

    def _as_user(self, native: object) -> Frame:
        return native if self.as_user is None else self.as_user(native)


def host_column(name: object, series: nw.Series[Any]) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column: NumPy for a NumPy column of pandas, else Arrow; not copied if the library allows."""
    native = nw.to_native(series)
    if isinstance(native, (pa.Array, pa.ChunkedArray)):
        return native
    if series.implementation.is_pandas():
        return pandas_column(name, native)
    return polars_column(name, native)


_POLARS_NUMBERS = {"Int32", "Int64", "UInt32", "UInt64", "Float32", "Float64"}


def polars_column(name: object, series: Column) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column of polars; not copied if it is a column of numbers."""
    kind = str(series.dtype)
    if kind in ("Int128", "UInt128"):
        # Arrow has no 128-bit integers; a decimal holds 38 digits of them.
        decimals = series.cast(sys.modules["polars"].Decimal(38, 0), strict=False)
        if decimals.null_count() > series.null_count():
            message = f"column {name!r} holds {kind} values of more than 38 digits"
            raise InvalidEdgesError(message, "subtract a constant, or cast the column to a shorter type")
        return decimals.to_arrow()
    if kind == "Object" or (kind in _POLARS_NUMBERS and series.n_chunks() == 1 and not series.null_count()):
        return series.to_numpy()  # takes half as long as Arrow's column, which has a schema
    try:
        return series.to_arrow()
    except BaseException as error:  # polars panics on types that it cannot export
        if type(error).__name__ != "PanicException":
            raise
    message = f"column {name!r} holds {series.dtype} values, which polars cannot export to Arrow"
    raise InvalidEdgesError(message, "cast the column to a type of at most 38 digits")


def pandas_column(name: object, series: Column) -> Array | pa.Array | pa.ChunkedArray:
    if isinstance(series.dtype, np.dtype):
        values: Array = series.to_numpy()
        # Unpickled columns may begin at odd addresses, which kernels refuse.
        return values if values.flags.aligned else np.require(values, requirements="A")
    kind = type(series.dtype).__name__
    if kind == "SparseDtype":
        return np.asarray(series)
    if kind == "CategoricalDtype" and series.dtype.categories.dtype == object:
        codes = series.cat.codes.to_numpy()
        categories = to_arrow(name, series.dtype.categories.to_numpy())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), categories)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        message = f"column {name!r} holds {series.dtype} values, which Arrow has no type for"
        raise InvalidEdgesError(message, "cast the column to integers or strings") from error


_ARROW_DTYPES = {"StringDtype", "ArrowDtype"}  # of pandas, of which the arrays convert to Arrow


def stored_column(frame: Frame, name: ColumnName) -> Array | pa.Array | pa.ChunkedArray | None:
    """Return a NumPy column of pandas, read-only, as the frame stores it; ``None`` if only a series has it.

    A column that pandas stores as Arrow data is returned as such.

    This uses a private method of pandas: with a series for each column, calls on up to 10,000 rows take 30 to 100 %
    longer (``bench/small_calls.py``). If a version of pandas lacks the method, columns are read from their series.
    """
    read, place = getattr(frame, "_get_column_array", None), frame.columns.get_loc(name)
    values: Any = read(place) if read is not None and type(place) is int else None
    if type(values) is not np.ndarray:
        stored = hasattr(values, "__arrow_array__") and type(values.dtype).__name__ in _ARROW_DTYPES
        return pa.array(values, from_pandas=True) if stored else None
    if values.shape != (len(frame),) or not values.flags.aligned:
        return None
    values = values.view()
    values.flags.writeable = False
    return values


def is_plain_pandas(frame: Frame) -> bool:
    """Whether a frame is of pandas' own class; a subclass may have a ``take`` or columns of its own."""
    return _library_of_plain(type(frame)) == "pandas"


def is_plain_polars(frame: Frame) -> bool:
    """Whether a frame is a ``DataFrame`` of polars itself, which Narwhals takes longer to open than a short call."""
    return _library_of_plain(type(frame)) == "polars"


def _find_library(kind: type) -> str | None:
    """Return the library of a class with the name ``DataFrame``; ``None`` for another class."""
    return kind.__module__.partition(".")[0] if kind.__name__ == "DataFrame" else None


_library_of_plain: Callable[[type], str | None] = lru_cache(maxsize=64)(_find_library)  # a call asks twenty times
