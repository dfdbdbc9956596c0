"""Frames of any kind: columns out, rows in. No other module knows about the host's dataframe libraries.

Narwhals recognises a frame, hands out its columns and gathers its rows; a frame's library is never imported
here, since whoever holds a frame has imported it. Frames on a GPU are next door, in :mod:`dfmst._edges.device_frame`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from dfmst._common.arguments import check_column_name
from dfmst._common.cached import cached_property
from dfmst._common.deferred import nw
from dfmst._common.types import Array, Frame
from dfmst._edges.columns import host_column, pandas_column, stored_column
from dfmst._edges.device_frame import NAMES_HINT
from dfmst._edges.kinds import AsUser
from dfmst._edges.take import gather_rows, is_plain_pandas, take_arrow
from dfmst._edges.types import common_type, have_common_type, narrow_decimals, native_type
from dfmst._engines import Engine, host_engine
from dfmst.errors import missing_column


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
        Whether a pandas index, where there is one, tells the rows apart.
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

    #: Whether the columns lie on a GPU.
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
        """Index labels of a pandas frame (tuples where it has levels); ``None`` where there are none."""
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
        native = self.native
        if is_plain_pandas(native) and engine is not None:
            return self._as_user(gather_rows(host_engine(engine), native, rows))
        taken = self.rows(engine, rows)
        return self._as_user(taken.native) if isinstance(native, pa.Table) else self.finish(taken.frame)

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
            parts = [part.cast(common_type(*parts)) for part in parts]
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
        """Return a frame as the user's kind: lazy, where the user's frame was."""
        return self._as_user(nw.to_native(frame.lazy() if self.lazy else frame))

    def _as_user(self, native: Any) -> Frame:
        return native if self.as_user is None else self.as_user(native)
