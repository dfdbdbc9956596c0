"""Frames of any kind, recognized: the only place that asks whether a frame is on the host or on a GPU.

A frame's library is never imported here: the caller has imported it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import is_sparse
from dfmst._common.deferred import nw
from dfmst._common.options import WORLDS, driver_of
from dfmst._common.types import Frame
from dfmst._edges.arrow_values import records_of_table, table_of_records
from dfmst._edges.device_frame import device_view, open_device_frame
from dfmst._edges.host_frame import AsUser, FrameView, is_plain_pandas, is_plain_polars
from dfmst._edges.view import View
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


def is_plain(frame: Frame) -> bool:
    return isinstance(frame, pa.Table) or is_plain_pandas(frame) or is_plain_polars(frame)


def open_frame(edges: Frame, argument: str = "edges") -> View:
    as_user, plain = None, is_plain(edges)
    if not plain:
        edges = hold(edges, argument)
        with _computing(edges, argument):
            edges, as_user = unwrap(edges)
        plain = is_plain(edges)
    check_names(edges, argument)
    device = open_device_frame(edges)
    if device is not None:
        return device
    if plain:
        return FrameView(edges, as_user=as_user)
    driver = driver_of(edges)
    if driver is not None:
        message = f"{argument} is a {WORLDS[driver.world]}, and this function takes a frame in memory"
        raise UnsupportedFrameError(message, f"pass {argument}.compute()")
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
    raise UnsupportedFrameError(message, as_table(edges, argument))


#: Readers of batches that were read, which then look empty.
_READ = WeakSet[pa.RecordBatchReader]()


def hold(edges: Frame, argument: str) -> Frame:
    """Return the table of a reader of batches, which can be read only once, and other frames as they are."""
    if not isinstance(edges, pa.RecordBatchReader):
        return edges
    read_once(edges, argument)
    with _computing(edges, argument):
        return _imported(edges)


def read_once(reader: pa.RecordBatchReader, argument: str) -> None:
    """Raise if a reader was read before, and note that it now is."""
    if reader in _READ:
        message = f"{argument} is a RecordBatchReader that was read before, and can be read only once"
        raise UnsupportedFrameError(message, "make a new one, or read one table for all calls: reader.read_all()")
    _READ.add(reader)


def _imported(edges: Frame) -> pa.Table:
    """Return the table of an Arrow stream without its empty batches: PyArrow reads none that has an offset."""
    table = pa.table(edges)
    return pa.Table.from_batches(filter(len, table.to_batches()), table.schema)


_TABLES = "pass a pandas, polars, pyarrow or cuDF table (for NumPy arrays: dfmst.arrays.forest_rows)"
#: Library of an object that is not a frame -> the call that takes it or makes a frame of it.
_CALLS = {
    "networkx": "make a table: networkx.to_pandas_edgelist({0}); or call networkx with backend='dfmst'",
    "igraph": "make a table: dfmst.from_igraph({0})",
    "scipy": "make a table: dfmst.from_sparse({0})",
    "deltalake": "pass {0}.to_pyarrow_dataset()",
    "pyiceberg": "pass table.scan().to_arrow(), or to a stream: lambda: table.scan().to_arrow_batch_reader()",
    "duckdb": "pass {0}.table(NAME), or to a stream: lambda: {0}.table(NAME).to_arrow_reader()",
    "numpy": "for a matrix of all pairs: dfmst.from_matrix({0}); for columns: dfmst.arrays.forest_rows",
}


def as_table(edges: object, argument: str, general: str = _TABLES) -> str:
    """Return the hint for an object that is not a frame: the call that makes a frame of it."""
    paths = edges if isinstance(edges, (list, tuple)) and edges else [edges]
    names = [os.fspath(path) for path in paths if isinstance(path, (str, os.PathLike))]
    if len(names) == len(paths):
        name = repr(names if paths is edges else names[0])
        more = "dfmst.stream takes Parquet files"
        if all(os.path.splitext(path)[1] in ("", ".parquet", ".parq", ".pq") for path in names):
            more = f"dfmst.stream.minimum_spanning_forest({name})"
        return f"read it first: dfmst.read_edges({name}); if memory cannot hold it: {more}"
    if argument == "table" and (hasattr(edges, "shape") or isinstance(edges, (list, tuple))):  # of records or series
        return f"make a table with named columns: pandas.DataFrame(table{'.toarray()' if is_sparse(edges) else ''})"
    if isinstance(edges, dict) or (isinstance(edges, list) and edges and isinstance(edges[0], dict)):
        return f"make a table of it: pandas.DataFrame({argument})"
    if isinstance(edges, (list, tuple)):
        return f"make a table of its rows: pandas.DataFrame({argument}, columns=['source', 'target', 'weight'])"
    if type(edges).__name__.endswith("DiGraph"):
        return f"make a table, in which edges have no direction: networkx.to_pandas_edgelist({argument})"
    return _CALLS.get(type(edges).__module__.partition(".")[0].lstrip("_"), general).format(argument)


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
    return FrameView(view.to_arrow()) if view.on_device else cast("FrameView", view)


def in_memory_of(view: View, other: View) -> View:
    """Return another view, or a copy of it, in the memory of a view."""
    if view.on_device == other.on_device:
        return other
    return device_view(other.to_arrow()) if view.on_device else FrameView(other.to_arrow())


def host_only(edges: Frame, argument: str, why: str) -> FrameView:
    """Recognize a frame; raise an error, with the reason, if it is on a GPU."""
    view = open_frame(edges, argument)
    if view.on_device:
        raise UnsupportedFrameError(f"{argument} is on a GPU, and {why}", f"pass {argument}.to_arrow()")
    return cast("FrameView", view)


def unwrap(edges: Frame) -> tuple[Any, AsUser | None]:
    """Return a frame that Narwhals or Arrow reads, and a function that converts results to the user's kind of frame.

    Results for a relation of DuckDB, whose connection is not public, are Arrow tables.
    """
    if isinstance(edges, np.ndarray) and edges.dtype.names and edges.ndim == 1:
        return table_of_records(edges), records_of_table
    narwhals = sys.modules.get("narwhals")  # a frame of it exists only if it is imported
    if narwhals is not None and isinstance(edges, (narwhals.DataFrame, narwhals.LazyFrame)):
        native, inner = unwrap(edges.to_native())
        wrap: AsUser = getattr(sys.modules[type(edges).__module__], "from_native", narwhals.from_native)
        return native, (wrap if inner is None else lambda frame: wrap(inner(frame)))
    if isinstance(edges, pa.RecordBatch):
        return pa.Table.from_batches([edges]), lambda table: pa.RecordBatch.from_arrays(
            [column.combine_chunks() for column in table.columns], schema=table.schema
        )
    kind = type(edges).__module__
    if kind.startswith("pyarrow._dataset"):
        return edges.to_table(), None
    if kind.startswith("ibis.") and hasattr(edges, "__arrow_c_stream__"):
        return edges, sys.modules["ibis"].memtable
    return edges, None


def check_names(edges: Frame, argument: str) -> None:
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
            raise InvalidEdgesError(message, "rename them, so that each column has its own name")
