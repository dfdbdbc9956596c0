"""Frames of any kind: columns out, rows in. No other module knows about the host's dataframe libraries.

Narwhals recognizes a frame, returns its columns and gathers its rows. A frame's library is never imported
here: the caller has imported it. :mod:`dfmst._edges.device_frame` has the frames on a GPU.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name
from dfmst._common.deferred import cached_property, call_arrow, nw, pc
from dfmst._common.types import Array, Frame
from dfmst._edges.arrow_values import to_arrow
from dfmst._edges.device_frame import NAMES_HINT
from dfmst._edges.unify import have_common_type, narrow_decimals, native_type, series_type
from dfmst._engines import Engine, host_engine
from dfmst.errors import InvalidEdgesError, missing_column

#: Makes the user's kind of frame of a result.
AsUser: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True)
class FrameView:
    """A frame in memory, through Narwhals.

    Attributes
    ----------
    native
        The dataframe of its library.
    lazy
        Whether the user's frame was a polars ``LazyFrame``, which results turn back into.
    labelled
        Whether the labels of a pandas index count as values of the rows.
    composed
        Columns made of several of the frame's, by name; results do not have them.
    as_user
        Makes the user's kind of frame of a result; ``None``: it is that already.
    """

    native: Any
    lazy: bool = False
    labelled: bool = True
    composed: Mapping[str, Any] = field(default_factory=dict)
    as_user: AsUser | None = None

    #: Whether the columns are on a GPU.
    on_device = False

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        """The Narwhals dataframe. A short pandas frame is solved in the time that it takes to make one."""
        return nw.from_native(self.native, eager_only=True)

    @cached_property
    def places(self) -> Mapping[Any, int]:
        """Place of each column by name: libraries list all names anew for each look-up."""
        names = self.native.column_names if isinstance(self.native, pa.Table) else self.frame.columns
        return {name: place for place, name in enumerate(names)}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.native)

    def column(self, name: Any) -> Array | pa.Array | pa.ChunkedArray:
        """Return a column: NumPy for a NumPy column of pandas, else Arrow; not copied if the library allows."""
        native = self.native
        if is_plain_pandas(native) and native.columns.nlevels == 1:  # Narwhals takes ten times as long for a short one
            check_column_name("column", name)
            if name in native.columns:
                stored = stored_column(native, name)
                return pandas_column(name, native[name]) if stored is None else stored
        if self.composed and name in self.composed:
            return self.composed[name]
        if isinstance(native, pa.Table):
            check_column_name("column", name)
            if name not in self.places:
                raise missing_column(name, self.places, NAMES_HINT)
            return native.column(self.places[name])
        return host_column(name, self.series(name))

    def series(self, name: Any) -> nw.Series[Any]:
        """Return a column as a Narwhals series."""
        check_column_name("column", name)
        if name not in self.places:
            raise missing_column(name, self.places, NAMES_HINT)
        return self.frame.get_column(name)

    def to_arrow(self) -> pa.Table:
        """Return the frame as a table of Arrow; one of Arrow is returned as it is."""
        return self.native if isinstance(self.native, pa.Table) else self.frame.to_arrow()

    def index(self) -> Array | None:
        """Index labels of a pandas frame (tuples if it has levels); ``None`` for other frames."""
        if not self.labelled or not self.frame.implementation.is_pandas():
            return None
        labels: Array = self.native.index.to_numpy()
        return labels

    def without_default_index(self) -> FrameView:
        """Return the view without labels if they are pandas' default: 0, 1, 2 and so on say nothing of a row."""
        labels: Any = getattr(self.native, "index", None)
        default = type(labels).__name__ == "RangeIndex" and (labels.start, labels.step, labels.name) == (0, 1, None)
        return replace(self, labelled=not default)

    def take(self, engine: Engine | None, rows: Array) -> Frame:
        """Return the user's kind of frame with these rows: every column, and the index of a pandas frame.

        Without an engine, no kernel is used.
        """
        if is_plain_pandas(self.native) and engine is not None:  # a view of the rows takes 2 % of a short call
            return self._as_user(gather_rows(host_engine(engine), self.native, rows))
        taken = self.rows(engine, rows)
        return self.finish(taken.frame) if self.lazy else self._as_user(taken.native)

    def part(self, begin: int, end: int) -> FrameView:
        """Return the view of a span of the rows."""
        return FrameView(nw.to_native(self.frame[begin:end]))

    def rows(self, engine: Engine | None, rows: Array) -> FrameView:
        """Return the view of these rows."""
        native = self.native
        if is_plain_pandas(native) and engine is not None:
            return replace(self, native=gather_rows(host_engine(engine), native, rows))
        if isinstance(native, pa.Table):
            columns = [take_arrow(column, rows) for column in native.columns]
            return replace(self, native=pa.table(columns, schema=native.schema))
        return replace(self, native=nw.to_native(self.frame[rows]))

    def build(self, columns: Mapping[str, Any]) -> Frame:
        """Return a new frame of the user's kind."""
        return self.finish(nw.from_dict(dict(columns), backend=self.frame.implementation))

    def build_from(self, names: tuple[Any, Any], columns: Mapping[str, Array]) -> Frame:
        """Return a new frame of the user's kind with entries of two columns stacked, by position, in their own type."""
        parts = [self.series(name).alias("stacked") for name in names]
        if native_type(parts[0]) != native_type(parts[1]):
            parts = [part.cast(series_type(*parts)) for part in parts]
        if self.frame.implementation.is_pyarrow():
            chunks = [chunk for part in parts for chunk in nw.to_native(part).chunks]
            whole = pa.chunked_array(chunks, nw.to_native(parts[0]).type)
            return self._as_user(pa.table({name: take_arrow(whole, at) for name, at in columns.items()}))
        stacked = nw.concat([part.to_frame() for part in parts], how="vertical")
        taken = [nw.maybe_reset_index(stacked[at]).rename({"stacked": name}) for name, at in columns.items()]
        return self.finish(nw.concat(taken, how="horizontal"))

    def stackable(self, names: tuple[Any, Any]) -> bool:
        """Whether :meth:`build_from` has a type for the entries of two columns."""
        return have_common_type(*(self.series(name) for name in names))

    def build_arrow(self, columns: Mapping[str, pa.Array]) -> Frame:
        """Return a new frame of the user's kind of Arrow columns."""
        table = pa.table(dict(columns))
        if self.frame.implementation.is_polars():
            table = pa.table({name: narrow_decimals(column) for name, column in columns.items()})
            return self.finish(nw.from_native(sys.modules["polars"].from_arrow(table), eager_only=True))
        return self._as_user(table.to_pandas() if self.frame.implementation.is_pandas() else table)

    def finish(self, frame: nw.DataFrame[Any]) -> Frame:
        """Return a frame as the user's kind: lazy if the user's frame was lazy."""
        return self._as_user(nw.to_native(frame.lazy() if self.lazy else frame))

    def _as_user(self, native: Any) -> Frame:
        return native if self.as_user is None else self.as_user(native)


def host_column(name: object, series: nw.Series[Any]) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column: NumPy for a NumPy column of pandas, else Arrow; not copied if the library allows."""
    native = nw.to_native(series)
    if isinstance(native, (pa.Array, pa.ChunkedArray)):
        return native
    if series.implementation.is_pandas():
        return pandas_column(name, native)
    dtype = _narwhals_type(series)
    if dtype in (nw.Int128, nw.UInt128):
        # Arrow has no 128-bit integers; a decimal holds 38 digits of them, and polars refuses longer ones.
        return native.cast(sys.modules["polars"].Decimal(38, 0)).to_arrow()
    if dtype == nw.Object:
        return native.to_numpy()
    return _exported(name, series)


def pandas_column(name: object, series: Any) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column of pandas."""
    if isinstance(series.dtype, np.dtype):
        values: Array = series.to_numpy()
        # Unpickled columns may begin at odd addresses, which kernels refuse.
        return values if values.flags.aligned else np.require(values, requirements="A")
    return _arrow(name, series)


def stored_column(frame: Any, name: Any) -> Array | None:
    """Return a NumPy column of pandas, read-only, as the frame stores it; ``None`` if only a series has it.

    To make a series of each column takes pandas a third of a call on a short frame. The method is pandas' own, for
    reading alone; if a version lacks it, every column is read from its series.
    """
    read, place = getattr(frame, "_get_column_array", None), frame.columns.get_loc(name)
    values = read(place) if read is not None and type(place) is int else None
    if type(values) is not np.ndarray or values.shape != (len(frame),) or not values.flags.aligned:
        return None
    values = values.view()
    values.flags.writeable = False
    return values


def _narwhals_type(series: nw.Series[Any]) -> Any:
    """Return Narwhals' type of a column; ``None`` if it has none (polars' decimals of more than 38 digits)."""
    try:
        return series.dtype
    except (TypeError, ValueError):
        return None


def _exported(name: Any, series: nw.Series[Any]) -> Any:
    """A column of polars as Arrow."""
    try:
        return series.to_arrow()
    except BaseException as error:  # polars panics on types that it holds and cannot export
        if type(error).__name__ != "PanicException":
            raise
    message = f"column {name!r} holds {nw.to_native(series).dtype} values, which polars cannot export to Arrow"
    raise InvalidEdgesError(message, "cast the column to a type of at most 38 digits")


def _arrow(name: Any, series: Any) -> pa.Array:
    """A pandas column of an extension type."""
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


#: Fixed-width columns: numbers and times. Their entries are moved as unsigned words.
_KINDS = "biufmM"
_SIZES = (1, 4, 8)
_FEW = 1 << 14  # rows that pandas gathers faster than a launch for each column does


def is_plain_pandas(frame: Frame) -> bool:
    """Whether the frame is a plain pandas one; a subclass may mean something by its own ``take`` or columns."""
    return type(frame).__name__ == "DataFrame" and type(frame).__module__.partition(".")[0] == "pandas"


def gather_rows(engine: Engine, frame: Frame, rows: Array) -> Frame:
    """Return the rows of a pandas frame: every column, the index, column labels, attributes and flags."""
    if len(rows) <= _FEW:
        # Arrow types without a take; bytes in the other order, and records, which pandas' own take refuses.
        with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError, ValueError):
            return frame.take(rows)
    series_at = [frame.iloc[:, place] for place in range(frame.shape[1])]
    moved = {place: values for place, series in enumerate(series_at) if (values := _words(series)) is not None}
    gathered = _gather(engine, moved, rows)
    columns = {
        place: gathered[place].view(series.dtype) if place in gathered else _taken(series, rows)
        for place, series in enumerate(series_at)
    }
    taken = type(frame)(columns, index=frame.index.take(rows), copy=False)
    taken.columns = frame.columns
    return taken.__finalize__(frame)


def _taken(series: Any, rows: Array) -> Any:
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy().take(rows)
    if type(series.dtype).__name__ == "ArrowDtype":
        values = series.array.__arrow_array__()
        whole = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        return type(series.array)(take_arrow(whole, rows))
    return series.array.take(rows)


def _words(series: Any) -> Array | None:
    """The column as unsigned words that a kernel moves; ``None`` for another kind."""
    if not isinstance(series.dtype, np.dtype) or series.dtype.kind not in _KINDS or series.dtype.itemsize not in _SIZES:
        return None
    values: Array = series.to_numpy()
    # Unpickled columns may begin at odd addresses.
    plain = values.flags.c_contiguous and values.flags.aligned
    return values.view(f"u{values.itemsize}") if plain else None


def _gather(engine: Engine, columns: dict[int, Array], rows: Array) -> dict[int, Array]:
    """Entries of the columns at the rows.

    Columns of one width share a block, as in pandas' own frames: the system gives a block larger pages.
    """
    at = rows.view(np.uint64)
    gathered = {}
    for size in _SIZES:
        places = [place for place, column in columns.items() if column.itemsize == size]
        block = np.empty((len(places), len(rows)), f"u{size}")
        for place, entries in zip(places, block, strict=True):
            engine.launch("gather_bytes" if size == 1 else "gather_entries", len(rows), columns[place], at, entries)
            gathered[place] = entries
    return gathered


def take_arrow(column: pa.ChunkedArray, rows: Array) -> pa.ChunkedArray:
    """Return rows of an Arrow column of any type, also of those that Arrow itself cannot take rows of."""
    kind = column.type
    if not len(rows):
        return pa.chunked_array([], kind)
    # Not by pa.array, which loads numpy.ma to see whether they are masked.
    positions = np.ascontiguousarray(rows, np.int64)
    at = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(positions)])
    if pa.types.is_run_end_encoded(kind):
        plain = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
        taken = take_arrow(plain, rows)
        return pa.chunked_array([pc.run_end_encode(chunk, kind.run_end_type) for chunk in taken.chunks], kind)
    for view, plain_kind in ((pa.string_view(), pa.large_string()), (pa.binary_view(), pa.large_binary())):
        if kind == view:
            return column.cast(plain_kind).take(at).cast(kind)
    try:
        return call_arrow("take", column, at)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return _joined_slices(column, rows)


def _joined_slices(column: pa.ChunkedArray, rows: Array) -> pa.ChunkedArray:
    """Rows of a nested type with views in it, or of more text than Arrow takes at once: run by run."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    runs = np.split(rows, breaks) if len(rows) else []
    slices = [column.slice(int(run[0]), len(run)) for run in runs]
    return pa.chunked_array([chunk for part in slices for chunk in part.chunks], column.type)
