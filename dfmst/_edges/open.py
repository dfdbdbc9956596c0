"""Frames of any kind as views: unwrapped, checked for repeated names."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dfmst._common.deferred import nw
from dfmst._common.dispatch import driver_of
from dfmst._common.types import Frame
from dfmst._edges.device_frame import DeviceView, open_device_frame
from dfmst._edges.host_frame import AsUser, FrameView, is_plain_pandas
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


def open_frame(edges: Frame, argument: str = "edges") -> FrameView | DeviceView:
    """Recognize a frame."""
    as_user = None
    if not is_plain_pandas(edges):
        with _computing(edges, argument):
            edges, as_user = unwrap(edges)
    check_names(edges, argument)
    device = open_device_frame(edges)
    if device is not None:
        return device
    driver = driver_of(edges)
    if driver is not None:
        message = f"{argument} is a {driver.kind} frame, and this function takes a frame in memory"
        raise UnsupportedFrameError(message, f"pass {argument}.compute()")
    if is_plain_pandas(edges) or isinstance(edges, pa.Table):
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
            return FrameView(pa.table(edges), as_user=as_user)
    message = f"{argument} is a {type(edges).__name__}, not a frame that dfmst reads"
    hint = "pass a pandas, polars, pyarrow or cuDF table (for NumPy arrays: dfmst.arrays.forest_rows)"
    if isinstance(edges, (str, os.PathLike)):
        hint = f"read it first: dfmst.read_edges({os.fspath(edges)!r})"
    raise UnsupportedFrameError(message, hint)


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


def unwrap(edges: Any) -> tuple[Any, AsUser | None]:
    """Return a frame that Narwhals or Arrow reads, and a function that converts results to the user's kind of frame.

    Frames of Narwhals and of its stable versions are unwrapped, batches become tables, and a dataset is read. The
    result for a table of Ibis is a table in memory; for a relation of DuckDB, whose connection is not public, a
    ``pyarrow.Table``.
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
    elif hasattr(edges, "collect_schema"):  # a polars LazyFrame, in which names are unique
        return
    # The .columns of a pyarrow table are its data.
    names: Any = getattr(edges, "column_names", None)
    names = list(getattr(edges, "columns", ()) if names is None else names)
    for name, count in Counter(names).items():
        if count > 1:
            message = f"{argument} has {count} columns named {name!r}"
            raise InvalidEdgesError(message, "rename them, so that each name stands for one column")
