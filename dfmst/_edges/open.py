"""Which kind of frame an object is, and the view of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dfmst._common.deferred import nw
from dfmst._common.dispatch import driver_of
from dfmst._common.types import Frame
from dfmst._edges.device_frame import DeviceView, open_device_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.kinds import check_names, unwrap
from dfmst._edges.take import is_plain_pandas
from dfmst.errors import UnsupportedFrameError


def open_frame(edges: Frame, argument: str = "edges") -> FrameView | DeviceView:
    """Recognise a frame."""
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
    if isinstance(frame, nw.DataFrame) and _in_memory(frame):
        return FrameView(nw.to_native(frame), as_user=as_user)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        with _computing(edges, argument):
            return FrameView(nw.to_native(frame.collect()), lazy=True, as_user=as_user)
    if hasattr(edges, "__arrow_c_stream__") or hasattr(edges, "__arrow_c_array__"):
        # Suppressed: a stream of a column, not of a table.
        with _computing(edges, argument), contextlib.suppress(pa.ArrowException, TypeError, ValueError):
            return FrameView(pa.table(edges), as_user=as_user)
    message = f"{argument} is a {type(edges).__name__}, not a frame that dfmst reads"
    hint = "pass a pandas, polars, pyarrow or cuDF table (for NumPy arrays: dfmst.arrays.forest_rows)"
    if isinstance(edges, (str, os.PathLike)):
        hint = f"read it first: dfmst.read_edges({os.fspath(edges)!r})"
    raise UnsupportedFrameError(message, hint)


@contextlib.contextmanager
def _computing(edges: Frame, argument: str) -> Iterator[None]:
    """A lazy frame is computed as it is opened: what its library raises then is said of the frame."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        library = type(edges).__module__.partition(".")[0].lstrip("_")
        message = f"{argument} could not be computed: {library} says {type(error).__name__}: {error}"
        raise UnsupportedFrameError(message, f"compute it by {library} itself to see where it fails") from error


def open_host_frame(edges: Frame, argument: str = "edges") -> FrameView:
    """Recognise a frame, and copy one that lies on a GPU to the host."""
    view = open_frame(edges, argument)
    if isinstance(view, DeviceView):
        return FrameView(view.to_arrow())
    return view


def _in_memory(frame: nw.DataFrame[Any]) -> bool:
    kind = frame.implementation
    return bool(kind.is_pandas() or kind.is_polars() or kind.is_pyarrow())
