"""Frames on a GPU, of cuDF."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Frame
from dfmst._edges.device_columns import beyond, is_array
from dfmst._engines import CudaEngine, Engine, with_freed_scratch
from dfmst.errors import DfmstError, UnsupportedFrameError, missing_column

NAMES_HINT = "name your columns with source=, target= and weight= (weight=None: all weights equal)"


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A cuDF frame, with the methods of :class:`dfmst._edges.host_frame.FrameView`."""

    frame: Any  # a ``cudf.DataFrame``
    proxied: bool = False  # whether the user's frame was a proxy of cudf.pandas: results are proxies, too
    composed: Mapping[str, Any] = field(default_factory=dict)  # columns made of several columns, not in results
    labelled: bool = True  # whether the labels of the index count as values of the rows

    #: Whether the columns are on a GPU.
    on_device = True

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def names(self) -> list[Any]:
        """Names of the columns."""
        return list(self.frame.columns)

    def column(self, name: Any) -> Any:
        """Return a column as ``cudf.Series``; one that is made of several columns may be a CuPy array."""
        if name in self.composed:
            return self.composed[name]
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

    def build_vertices(
        self,
        names: tuple[Any, Any],
        values: Any,
        columns: Mapping[str, Array],
        numbers: Mapping[str, Array],
        begin: Mapping[Any, Any],
    ) -> Frame:
        """Return a new frame of vertices, in the type of the id columns if it holds them, and of numbers.

        `begin` are columns that come first.
        """
        source, target = (self.column(name).dtype for name in names)
        kind = source
        if source != target:
            plain = [getattr(dtype, "numpy_dtype", dtype) for dtype in (source, target)]
            kind = np.result_type(*plain) if values is None else None
            if kind is not None and kind.kind == "f":  # uint64 and a signed type
                kind = np.dtype(np.uint64)
        if values is not None and is_array(values) and kind is not None and beyond(values, kind):
            kind = None
        built: dict[str, Any] = {}
        for name, vertices in columns.items():
            ids = sys.modules["cudf"].Series(vertices if values is None else values.take(vertices))
            built[name] = (ids if kind is None else ids.astype(kind)).reset_index(drop=True)
        return self.build({**begin, **built, **numbers})

    @property
    def places(self) -> list[Any]:
        """The names of the columns."""
        return list(self.frame.columns)

    def index(self) -> Any:
        """Return the labels of the rows as ``cudf.Series``; ``None`` if they do not count, or have several levels."""
        labels = self.frame.index
        return sys.modules["cudf"].Series(labels) if self.labelled and len(labels.names) == 1 else None

    def without_default_index(self) -> DeviceView:
        """Return the view without labels if they are the default, 0, 1, 2 and so on."""
        labels = self.frame.index
        default = isinstance(labels, sys.modules["cudf"].RangeIndex)
        return replace(self, labelled=not (default and (labels.start, labels.step, labels.name) == (0, 1, None)))

    def to_arrow(self) -> Any:
        """Copy the frame to the host, as a ``pyarrow.Table``."""
        return self.frame.to_arrow(preserve_index=False)

    def finish(self, frame: Any) -> Frame:
        """Return a frame as the user's kind."""
        return sys.modules["cudf.pandas"].as_proxy_object(frame) if self.proxied else frame


def open_device_frame(frame: Frame) -> DeviceView | None:
    """Recognize a cuDF frame, or a proxy of ``cudf.pandas``, whose frame moves to the GPU."""
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
    """Copy a table from the host to the GPU."""
    try:
        return DeviceView(sys.modules["cudf"].DataFrame.from_arrow(table))
    except (NotImplementedError, TypeError, ValueError) as error:
        message = f"cuDF has no type for a column of the frame on the host: {error}"
        raise UnsupportedFrameError(message, "convert it to the kind of the other frame first") from error
