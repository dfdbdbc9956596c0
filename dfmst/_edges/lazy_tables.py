"""Tables that the engine of a lazy frame keeps: DuckDB, Dask and PySpark."""

from __future__ import annotations

import sys
import uuid
import warnings
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dfmst._common.types import Array, Frame
from dfmst.errors import UnsupportedFrameError

_WARNED: set[str] = set()  # libraries about which Narwhals has warned


class Tables:
    """Stores each step's result in a slot, as the plan of a lazy frame would grow: here in memory, or by PySpark."""

    def keep(self, frame: nw.LazyFrame[Any], slot: str) -> nw.LazyFrame[Any]:
        """Compute a frame, and return its table."""
        native: Any = nw.to_native(frame)
        if frame.implementation.is_polars():
            return frame.collect().lazy()
        return as_lazy(native.localCheckpoint()) if frame.implementation.is_pyspark() else frame

    def number(self, frame: nw.LazyFrame[Any], name: str, order: Sequence[str], slot: str) -> nw.LazyFrame[Any]:
        """Return a table of the rows with their position in an order, from 0, as the column `name`."""
        if frame.implementation.is_pyspark():
            return self.keep(frame.with_row_index(name, order_by=order), slot)
        ordered = collected(frame.sort(*order)).with_row_index(name)
        return as_lazy(nw.to_native(ordered))

    def lasting(self, frame: nw.LazyFrame[Any]) -> Any:
        """Return the library's own frame, which does not need the tables of slots."""
        return nw.to_native(frame)

    def close(self) -> None:
        """Drop the tables of all slots."""


class DaskTables(Tables):
    """Persists Dask frames."""

    def keep(self, frame: nw.LazyFrame[Any], slot: str) -> nw.LazyFrame[Any]:
        """Compute a frame, and return its table."""
        native: Any = nw.to_native(frame)
        # After joins and concatenations, labels occur several times, and divisions are wrong.
        kept = native.reset_index(drop=True).persist()
        distributed = sys.modules.get("distributed")
        if distributed is not None and (futures := distributed.futures_of(kept)):
            # On Python 3.11 a scheduler in this process makes tasks of this frame while this thread plans the next.
            # Both lock cached properties of Dask's expressions, and could wait for each other forever.
            distributed.wait(futures)
        return as_lazy(kept)

    def number(self, frame: nw.LazyFrame[Any], name: str, order: Sequence[str], slot: str) -> nw.LazyFrame[Any]:
        """Sort and count, as Narwhals would align two frames by their index."""
        native: Any = nw.to_native(self.keep(frame, slot))  # a sort reads its input twice
        types = frame.collect_schema()
        keys = {f"dfmst_{column}": column for column in order if types[column].is_float()}
        # Dask sorts by quantiles, which it cannot compute of infinities.
        bits = {key: native[column].map_partitions(_ordered_bits, meta=(key, "int64")) for key, column in keys.items()}
        by = [f"dfmst_{column}" if types[column].is_float() else column for column in order]
        ordered = native.assign(**bits).sort_values(by).drop(columns=list(bits))
        return self.keep(as_lazy(with_positions(ordered.reset_index(drop=True), name)), slot)


class DuckDbTables(Tables):
    """Makes temporary tables in a connection of DuckDB."""

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        self._slots: dict[str, str] = {}  # slot -> name of its table

    def keep(self, frame: nw.LazyFrame[Any], slot: str) -> nw.LazyFrame[Any]:
        """Compute a frame, and return its table."""
        return as_lazy(self.select(self.make(nw.to_native(frame), slot)))

    def number(self, frame: nw.LazyFrame[Any], name: str, order: Sequence[str], slot: str) -> nw.LazyFrame[Any]:
        """Sort into a table, whose rows DuckDB numbers; a window over all rows may exceed the memory."""
        table = self.make(nw.to_native(frame.sort(*order)), slot)
        return as_lazy(self.select(table, f'rowid AS "{name}", *'))

    def make(self, relation: Any, slot: str | None = None) -> str:
        """Compute a relation into a table in its order, and return its name. A table without a slot is not dropped."""
        name = f"dfmst_{uuid.uuid4().hex}"
        relation.query("dfmst_rows", f"CREATE TEMP TABLE {name} AS SELECT * FROM dfmst_rows")
        if slot is not None:
            self._drop(slot)
            self._slots[slot] = name
        return name

    def select(self, table: str, columns: str = "*") -> Any:
        return self._relation.query("dfmst_rows", f"SELECT {columns} FROM {table}")

    def lasting(self, frame: nw.LazyFrame[Any]) -> Any:
        """Return a relation that does not need the tables of slots."""
        native: Any = nw.to_native(frame)
        return native.materialize() if hasattr(native, "materialize") else self.select(self.make(native))

    def close(self) -> None:
        for slot in list(self._slots):
            self._drop(slot)

    def _drop(self, slot: str) -> None:
        if slot in self._slots:
            self._relation.query("dfmst_rows", f"DROP TABLE {self._slots.pop(slot)}")


def _ordered_bits(floats: Any) -> Any:
    bits = ordered_integers(floats.to_numpy(np.float64))
    return type(floats)(bits, index=floats.index, name=f"dfmst_{floats.name}")


def ordered_integers(floats: Array) -> Array:
    """Return integers in the order of floats without NaN; -0.0 equals 0.0."""
    # Not by a comparison of floats: kernels of CuPy replace denormal numbers by 0.
    bits = floats.view(np.dtype(f"i{floats.dtype.itemsize}"))
    sign = bits >> (8 * bits.dtype.itemsize - 1)  # -1 or 0
    return ((bits & np.iinfo(bits.dtype).max) ^ sign) - sign


def with_positions(frame: Frame, name: str) -> Any:
    """Return a Dask frame with the position of each row, partition by partition, as another column."""
    counted = frame.assign(**{name: 1})
    return counted.assign(**{name: counted[name].cumsum() - 1})


def as_lazy(native: Frame) -> nw.LazyFrame[Any]:
    """Return Narwhals' lazy frame of a library's own; of cuDF an eager one, which has the same methods."""
    with warnings.catch_warnings():
        # Narwhals warns for every Dask frame, dozens of times a call: the first time is enough.
        if "Dask" in _WARNED:
            warnings.filterwarnings("ignore", "Dask support is moving", FutureWarning)
        frame: Any = nw.from_native(native)
        if frame.implementation.is_dask():
            _WARNED.add("Dask")
        # Narwhals copies a cuDF frame to the host to make it lazy, and does not use the copy.
        lazy: nw.LazyFrame[Any] = frame if frame.implementation.is_cudf() else frame.lazy()
        return lazy


def collected(frame: Frame) -> nw.DataFrame[Any]:
    computed: nw.DataFrame[Any] = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return computed


def open_tables(frame: nw.LazyFrame[Any]) -> Tables:
    kind = frame.implementation
    if kind.is_duckdb():
        return DuckDbTables(nw.to_native(frame))
    if kind.is_dask():
        return DaskTables()
    if kind.is_pandas_like() or kind.is_pyarrow() or kind.is_polars() or kind.is_pyspark():
        return Tables()
    message = f"algorithm='dataframe' needs a table after each step, and dfmst cannot make tables of {kind.value}"
    raise UnsupportedFrameError(message, "collect the frame, as pandas, polars or pyarrow")
