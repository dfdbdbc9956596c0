"""cuDF frames: columns out as they lie on the GPU, rows in.

The counterpart of :class:`dfmst._edges.host_frame.FrameView`. Narwhals is left out here: it hands out cuDF's own
objects for everything that is needed, and :mod:`dfmst._edges.device_columns` has to know their types anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dfmst._common.types import Array, Frame
from dfmst._engines import CudaEngine, Engine
from dfmst.errors import DfmstError, UnsupportedFrameError, missing_column

NAMES_HINT = "name your columns with source=, target= and weight= (weight=None: all weights equal)"


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A cuDF frame.

    Attributes
    ----------
    frame
        The ``cudf.DataFrame``.
    proxied
        Whether the user's frame was a proxy of ``cudf.pandas``, which results turn back into.
    """

    frame: Any
    proxied: bool = False

    #: Whether the columns lie on a GPU.
    on_device = True

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def column(self, name: Any) -> Any:
        """Return a column as ``cudf.Series``."""
        if name not in self.frame.columns:
            raise missing_column(name, self.frame.columns, NAMES_HINT)
        return self.frame[name]

    def take(self, engine: Engine | None, rows: Array) -> Frame:
        """Return the user's kind of frame with these rows: every column, and the index."""
        return self._finish(self.frame.take(rows))

    def part(self, begin: int, end: int) -> DeviceView:
        """Return the view of a span of the rows, nothing copied."""
        return replace(self, frame=self.frame.iloc[begin:end])

    def rows(self, engine: Engine, rows: Array) -> DeviceView:
        """Return the view of these rows, whose positions may lie on the host."""
        return replace(self, frame=self.frame.take(engine.from_host(rows)))

    def finish(self, frame: Any) -> Frame:
        """Return a frame as the user's kind."""
        return self._finish(frame)

    def build(self, columns: Mapping[str, Any]) -> Frame:
        """Return a new frame of the user's kind."""
        return self._finish(sys.modules["cudf"].DataFrame(dict(columns)))

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

    def _finish(self, frame: Any) -> Frame:
        return sys.modules["cudf.pandas"].as_proxy_object(frame) if self.proxied else frame


def open_device_frame(frame: Frame) -> DeviceView | None:
    """Recognise a cuDF frame, or a proxy of ``cudf.pandas`` around one.

    cuDF is never imported here, since whoever holds a frame of it has imported it. A proxy is asked for its frame on
    the GPU, as by any operation of ``cudf.pandas``.
    """
    cudf, proxies = sys.modules.get("cudf"), sys.modules.get("cudf.pandas")
    if cudf is None:
        return None
    if proxies is not None and proxies.is_proxy_object(frame) and hasattr(frame, "columns"):
        return DeviceView(_on_gpu(frame), proxied=True)
    return DeviceView(frame) if isinstance(frame, cudf.DataFrame) else None


def _on_gpu(proxy: Any) -> Any:
    try:
        with CudaEngine().guard():
            return proxy.as_gpu_object()
    except DfmstError:
        raise
    except Exception as error:  # whatever cuDF raises for columns that it has no type for
        hint = "leave those columns out, or work on the host with edges.as_cpu_object()"
        raise UnsupportedFrameError(f"cudf.pandas cannot hold the frame on the GPU: {error}", hint) from error
