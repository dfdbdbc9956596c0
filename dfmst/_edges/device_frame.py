"""Frames on a GPU, of cuDF."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Column, ColumnName, EndNames, Frame
from dfmst._edges.arrow_values import arrow_column, readable
from dfmst._edges.conditions import no_groups
from dfmst._edges.device_columns import (
    DeviceEntries,
    beyond,
    device_codes,
    device_column,
    device_differs,
    device_ids,
    device_nulls,
    device_order,
    device_ticks,
    device_weights,
)
from dfmst._edges.edge_table import Input, Readers
from dfmst._edges.frame_rows import host_differs
from dfmst._edges.vertices import is_array
from dfmst._edges.view import NAMES_HINT, View
from dfmst._engines import CudaEngine, Engine, with_freed_scratch
from dfmst.errors import DfmstError, InvalidEdgesError, UnsupportedFrameError, missing_column

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
        return device_ticks(name, self.column(name))

    def nulls(self, name: ColumnName) -> Array:
        nulls = device_nulls(self.column(name))
        return self.xp.zeros(len(self), bool) if nulls is None else nulls

    def codes(self, *columns: tuple[View, ColumnName, Array | None]) -> Array:
        series = [view.column(name) if rows is None else view.column(name).take(rows) for view, name, rows in columns]
        try:
            return device_codes(*series)
        except (TypeError, InvalidEdgesError) as error:
            raise no_groups(columns[0][1], " and ".join(sorted({str(each.dtype) for each in series}))) from error

    def order(self, engine: Engine, names: tuple[ColumnName, ...], rows: Array) -> Array:
        return device_order(engine, [self.column(name).take(rows) for name in names])

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
        if values is not None and is_array(values) and kind is not None and beyond(values, kind):
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
