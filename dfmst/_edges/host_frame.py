"""Frames of any kind as views; frames in host memory: columns out, rows in, through Narwhals, pandas or Arrow.

A frame's library is never imported here: the caller has imported it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name
from dfmst._common.deferred import cached_property, nw
from dfmst._common.dispatch import driver_of
from dfmst._common.options import WORLDS
from dfmst._common.types import Array, Frame
from dfmst._edges.arrow_values import arrow_numbers, plain_views, to_arrow
from dfmst._edges.device_frame import NAMES_HINT, DeviceView, open_device_frame
from dfmst._edges.take_rows import arrow_storage, gather_rows, take_of_two, take_polars, take_table
from dfmst._edges.unify import native_type, series_type
from dfmst._engines import Engine, host_engine
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError, missing_column

#: Makes the user's kind of frame of a result.
AsUser: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True)
class FrameView:
    """A frame in host memory."""

    native: Any  # the dataframe of its library
    lazy: bool = False  # whether the user's frame was a polars LazyFrame: results are lazy, too
    labelled: bool = True  # whether the labels of a pandas index count as values of the rows
    composed: Mapping[str, Any] = field(default_factory=dict)  # columns made of several columns, not in results
    as_user: AsUser | None = None  # makes the user's kind of frame from a result; None: it is of that kind

    #: Whether the columns are on a GPU.
    on_device = False

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        """The Narwhals dataframe. To make one takes as long as to solve a short pandas frame."""
        return nw.from_native(self.native, eager_only=True)

    @cached_property
    def places(self) -> Mapping[Any, int]:
        """Position of each column by name: libraries make a new list of all names for each look-up."""
        native = self.native if is_plain(self.native) else self.frame
        names = native.column_names if isinstance(native, pa.Table) else native.columns
        return {name: place for place, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.native)

    def column(self, name: Any) -> Array | pa.Array | pa.ChunkedArray:
        """Return a column: NumPy for a NumPy column of pandas, else Arrow; not copied if the library allows."""
        native = self.native
        check_column_name("column", name)
        if is_plain_pandas(native) and native.columns.nlevels == 1 and name in native.columns:
            # Not through Narwhals, which takes ten times as long for a short column.
            stored = stored_column(native, name)
            return pandas_column(name, native[name]) if stored is None else stored
        if self.composed and name in self.composed:
            return self.composed[name]
        if isinstance(native, pa.Table) and name in self.places:
            return native.column(self.places[name])
        if is_plain_polars(native) and name in self.places:
            return polars_column(name, native.get_column(name))
        return host_column(name, self.series(name))

    def series(self, name: Any) -> nw.Series[Any]:
        """Return a column as a Narwhals series."""
        check_column_name("column", name)
        if name not in self.places:
            raise missing_column(name, self.places, NAMES_HINT)
        return self.frame.get_column(name)

    @property
    def names(self) -> list[Any]:
        """Names of the columns."""
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
        """Return the view without labels if they are pandas' default, 0, 1, 2 and so on."""
        labels: Any = getattr(self.native, "index", None)
        default = type(labels).__name__ == "RangeIndex" and (labels.start, labels.step, labels.name) == (0, 1, None)
        return replace(self, labelled=not default)

    def take(self, engine: Engine | None, rows: Array) -> Frame:
        """Return the user's kind of frame with these rows; without an engine, no kernel is used."""
        taken = self._take(engine, rows)
        return self.finish(nw.from_native(taken, eager_only=True)) if self.lazy else self._as_user(taken)

    def part(self, begin: int, end: int) -> FrameView:
        """Return the view of a range of rows."""
        return FrameView(nw.to_native(self.frame[begin:end]))

    def rows(self, engine: Engine | None, rows: Array) -> FrameView:
        """Return the view of these rows."""
        return replace(self, native=self._take(engine, rows))

    def _take(self, engine: Engine | None, rows: Array) -> Any:
        native = self.native
        if is_plain_pandas(native):
            return gather_rows(None if engine is None else host_engine(engine), native, rows)
        if isinstance(native, pa.Table):
            return take_table(native, rows)
        return take_polars(native, rows) if is_plain_polars(native) else nw.to_native(self.frame[rows])

    def with_column(self, name: str, values: Array, attribute: str, content: Any) -> Frame:
        """Return the user's kind of frame with one more column, and an attribute if libraries have any."""
        native = self.native
        if is_plain_pandas(native) or self.frame.implementation.is_pandas():
            frame = native.copy(deep=False)
            frame[name] = values
            frame.attrs = {**frame.attrs, attribute: content}
            return self._as_user(frame)
        if isinstance(native, pa.Table):
            table = native.append_column(name, arrow_numbers(values))
            metadata = {**(table.schema.metadata or {}), attribute: json.dumps(content)}
            return self._as_user(table.replace_schema_metadata(metadata))
        return self.finish(self.frame.with_columns(nw.new_series(name, values, backend=self.frame.implementation)))

    def build(self, columns: Mapping[str, Any]) -> Frame:
        """Return a new frame of the user's kind."""
        return self.finish(nw.from_dict(dict(columns), backend=self.frame.implementation))

    def build_from(self, names: tuple[Any, Any], columns: Mapping[str, Array]) -> Frame:
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

    def build_arrow(self, columns: Mapping[str, pa.Array]) -> Frame:
        """Return a new frame of the user's kind with Arrow columns."""
        if not self.frame.implementation.is_polars():
            table = pa.table(dict(columns))
            return self._as_user(table.to_pandas() if self.frame.implementation.is_pandas() else table)
        narrow = dict(columns)
        for name, column in columns.items():
            if pa.types.is_decimal256(column.type):
                try:
                    narrow[name] = column.cast(pa.decimal128(38, column.type.scale))
                except pa.ArrowException as error:
                    message = f"ids of more than 38 digits ({column.type}) have no type in polars"
                    raise InvalidEdgesError(message, "cast both id columns to one type, such as strings") from error
        return self.finish(nw.from_native(sys.modules["polars"].from_arrow(pa.table(narrow)), eager_only=True))

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
    return polars_column(name, native)


_POLARS_NUMBERS = {"Int32", "Int64", "UInt32", "UInt64", "Float32", "Float64"}


def polars_column(name: object, series: Any) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column of polars; not copied if it is a column of numbers."""
    kind = str(series.dtype)
    if kind in ("Int128", "UInt128"):
        # Arrow has no 128-bit integers; a decimal holds 38 digits of them, and polars refuses longer ones.
        return series.cast(sys.modules["polars"].Decimal(38, 0)).to_arrow()
    if kind == "Object" or (kind in _POLARS_NUMBERS and series.n_chunks() == 1 and not series.null_count()):
        return series.to_numpy()  # takes half as long as Arrow's column, which has a schema
    try:
        return series.to_arrow()
    except BaseException as error:  # polars panics on types that it cannot export
        if type(error).__name__ != "PanicException":
            raise
    message = f"column {name!r} holds {series.dtype} values, which polars cannot export to Arrow"
    raise InvalidEdgesError(message, "cast the column to a type of at most 38 digits")


def pandas_column(name: object, series: Any) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column of pandas."""
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


def stored_column(frame: Any, name: Any) -> Array | pa.Array | pa.ChunkedArray | None:
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
    return type(frame).__name__ == "DataFrame" and type(frame).__module__.partition(".")[0] == "pandas"


def is_plain_polars(frame: Frame) -> bool:
    """Whether a frame is a ``DataFrame`` of polars itself, which Narwhals takes longer to open than a short call."""
    return type(frame).__name__ == "DataFrame" and type(frame).__module__.partition(".")[0] == "polars"


def is_plain(frame: Frame) -> bool:
    """Whether a frame is read without Narwhals."""
    return isinstance(frame, pa.Table) or is_plain_pandas(frame) or is_plain_polars(frame)


def open_frame(edges: Frame, argument: str = "edges") -> FrameView | DeviceView:
    """Recognize a frame."""
    as_user, plain = None, is_plain(edges)
    if not plain:
        with _computing(edges, argument):
            edges, as_user = unwrap(edges)
        plain = is_plain(edges)
    check_names(edges, argument)
    device = open_device_frame(edges)
    if device is not None:
        return device
    driver = driver_of(edges)
    if driver is not None:
        message = f"{argument} is a {WORLDS[driver.world]}, and this function takes a frame in memory"
        raise UnsupportedFrameError(message, f"pass {argument}.compute()")
    if plain:
        return FrameView(edges, as_user=as_user)
    frame = nw.from_native(edges, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        kind = frame.implementation
        if kind.is_pandas() or kind.is_polars() or kind.is_pyarrow():
            return FrameView(nw.to_native(frame), as_user=as_user)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        with _computing(edges, argument):
            return FrameView(nw.to_native(frame.collect()), lazy=True, as_user=as_user)
    if hasattr(edges, "__arrow_c_stream__") or hasattr(edges, "__arrow_c_array__"):
        # An error means that this is a column, not a table.
        with _computing(edges, argument), contextlib.suppress(pa.ArrowException, TypeError, ValueError):
            return FrameView(_imported(edges), as_user=as_user)
    message = f"{argument} is a {type(edges).__name__}, not a frame that dfmst reads"
    raise UnsupportedFrameError(message, _as_table(edges, argument))


def _imported(edges: Any) -> pa.Table:
    """Return the table of an Arrow stream without its empty batches: PyArrow reads none that has an offset."""
    table = pa.table(edges)
    return pa.Table.from_batches(filter(len, table.to_batches()), table.schema)


#: Library of an object that is not a frame -> the call that takes it or makes a frame of it.
_CALLS = {
    "networkx": "make a table: networkx.to_pandas_edgelist({0}); or call networkx with backend='dfmst'",
    "igraph": "make a table: dfmst.from_igraph({0})",
    "scipy": "make a table: dfmst.from_sparse({0})",
    "numpy": "for a matrix of all pairs: dfmst.from_matrix({0}); for columns: dfmst.arrays.forest_rows",
}


def _as_table(edges: object, argument: str) -> str:
    """Return how to make a frame of another object."""
    if isinstance(edges, (str, os.PathLike)):
        return f"read it first: dfmst.read_edges({os.fspath(edges)!r})"
    if isinstance(edges, dict) or (isinstance(edges, list) and edges and isinstance(edges[0], dict)):
        return f"make a table of it: pandas.DataFrame({argument})"
    if isinstance(edges, (list, tuple)):
        return f"make a table of its rows: pandas.DataFrame({argument}, columns=['source', 'target', 'weight'])"
    if type(edges).__name__.endswith("DiGraph"):
        return f"make a table, in which edges have no direction: networkx.to_pandas_edgelist({argument})"
    general = "pass a pandas, polars, pyarrow or cuDF table (for NumPy arrays: dfmst.arrays.forest_rows)"
    return _CALLS.get(type(edges).__module__.partition(".")[0], general).format(argument)


@contextlib.contextmanager
def _computing(edges: Frame, argument: str) -> Iterator[None]:
    """Context manager: report errors of a library that computes a frame."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        library = type(edges).__module__.partition(".")[0].lstrip("_")
        message = f"{argument} could not be computed: {library} says {type(error).__name__}: {error}"
        raise UnsupportedFrameError(message, f"compute it with {library} to see where it fails") from error


def open_host_frame(edges: Frame, argument: str = "edges") -> FrameView:
    """Recognize a frame, and copy a frame on a GPU to the host."""
    view = open_frame(edges, argument)
    return FrameView(view.to_arrow()) if isinstance(view, DeviceView) else view


def host_only(edges: Frame, argument: str, why: str) -> FrameView:
    """Recognize a frame; raise an error, with the reason, if it is on a GPU."""
    view = open_frame(edges, argument)
    if isinstance(view, DeviceView):
        raise UnsupportedFrameError(f"{argument} is on a GPU, and {why}", f"pass {argument}.to_arrow()")
    return view


def unwrap(edges: Any) -> tuple[Any, AsUser | None]:
    """Return a frame that Narwhals or Arrow reads, and a function that converts results to the user's kind of frame.

    Results for a relation of DuckDB, whose connection is not public, are Arrow tables.
    """
    narwhals = sys.modules.get("narwhals")  # a frame of it exists only if it is imported
    if narwhals is not None and isinstance(edges, (narwhals.DataFrame, narwhals.LazyFrame)):
        native, inner = unwrap(edges.to_native())
        wrap: AsUser = getattr(sys.modules[type(edges).__module__], "from_native", narwhals.from_native)
        return native, (wrap if inner is None else lambda frame: wrap(inner(frame)))
    if isinstance(edges, pa.RecordBatch):
        return pa.Table.from_batches([edges]), _as_batch
    kind = type(edges).__module__
    if kind.startswith("pyarrow._dataset"):
        return edges.to_table(), None
    if kind.startswith("ibis.") and hasattr(edges, "__arrow_c_stream__"):
        return edges, sys.modules["ibis"].memtable
    return edges, None


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    columns = [pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type) for column in table]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def check_names(edges: Any, argument: str) -> None:
    """Raise an error if two columns of a frame share a name."""
    if is_plain_pandas(edges):
        if getattr(edges.columns, "is_unique", False):  # pandas caches it; proxies of cuDF may lack it
            return
    elif is_plain_polars(edges) or hasattr(edges, "collect_schema"):  # of polars, in which names are unique
        return
    # The .columns of a pyarrow table are its data.
    names: Any = getattr(edges, "column_names", None)
    names = list(getattr(edges, "columns", ()) if names is None else names)
    if len(set(names)) == len(names):
        return
    for name, count in Counter(names).items():
        if count > 1:
            message = f"{argument} has {count} columns named {name!r}"
            raise InvalidEdgesError(message, "rename them, so that each name stands for one column")
