"""Tables between the steps of an algorithm that works on frames.

Libraries that compute at once need none. In an engine that computes when asked, a plan of many rounds would grow
without end, so each step's result becomes a table of that engine: DuckDB's are temporary tables, which it spills to
disk by itself; Dask's are persisted, under a fresh index; PySpark's are local checkpoints.

A *slot* holds one table: its next table takes the place of the last one.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from dfmst._common.types import Array
from dfmst.errors import UnsupportedFrameError


class Tables(Protocol):
    """Makes tables of lazy frames."""

    def keep(self, frame: nw.LazyFrame[Any], slot: str) -> nw.LazyFrame[Any]:
        """Compute a frame, and return its table."""

    def number(self, frame: nw.LazyFrame[Any], name: str, order: Sequence[str], slot: str) -> nw.LazyFrame[Any]:
        """Return a table of the frame's rows with their place in an order, from 0, as the column `name`."""

    def close(self) -> None:
        """Drop the tables of all slots."""


class NativeTables:
    """Frames that are in memory, and tables that go when nobody holds them any more."""

    def keep(self, frame: nw.LazyFrame[Any], slot: str) -> nw.LazyFrame[Any]:
        """Compute a frame, and return its table."""
        native: Any = nw.to_native(frame)
        if frame.implementation.is_polars():
            return frame.collect().lazy()
        return as_lazy(native.localCheckpoint()) if frame.implementation.is_pyspark() else frame

    def number(self, frame: nw.LazyFrame[Any], name: str, order: Sequence[str], slot: str) -> nw.LazyFrame[Any]:
        """Return a table of the frame's rows with their place in an order, from 0, as the column `name`."""
        if frame.implementation.is_pyspark():
            return self.keep(frame.with_row_index(name, order_by=order), slot)
        return frame.sort(*order).collect().with_row_index(name).lazy()

    def close(self) -> None:
        """Nothing to drop."""


class DaskTables(NativeTables):
    """Persisted Dask frames."""

    def keep(self, frame: nw.LazyFrame[Any], slot: str) -> nw.LazyFrame[Any]:
        """Compute a frame, and return its table."""
        native: Any = nw.to_native(frame)
        # Joins and concatenations leave labels that occur several times, and divisions that no longer hold.
        return as_lazy(native.reset_index(drop=True).persist())

    def number(self, frame: nw.LazyFrame[Any], name: str, order: Sequence[str], slot: str) -> nw.LazyFrame[Any]:
        """Sort and count: Narwhals' own way would align two frames by their index."""
        native: Any = nw.to_native(self.keep(frame, slot))  # a sort reads its input twice
        types = frame.collect_schema()
        keys = {f"dfmst_{column}": column for column in order if types[column].is_float()}
        # Dask cuts a sort into partitions by quantiles, between which infinities have no mean.
        bits = {key: native[column].map_partitions(_ordered_bits, meta=(key, "int64")) for key, column in keys.items()}
        by = [f"dfmst_{column}" if types[column].is_float() else column for column in order]
        ordered = native.assign(**bits).sort_values(by).drop(columns=list(bits))
        return self.keep(as_lazy(with_positions(ordered.reset_index(drop=True), name)), slot)


class DuckDbTables:
    """Temporary tables of a connection."""

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        self._prefix = f"dfmst_{uuid.uuid4().hex}"
        self._made = 0
        self._slots: dict[str, str] = {}

    def keep(self, frame: nw.LazyFrame[Any], slot: str) -> nw.LazyFrame[Any]:
        """Compute a frame, and return its table."""
        return as_lazy(self.select(self.make(nw.to_native(frame), slot)))

    def number(self, frame: nw.LazyFrame[Any], name: str, order: Sequence[str], slot: str) -> nw.LazyFrame[Any]:
        """Sort into a table, whose rows DuckDB numbers itself; a window over all rows would not fit the memory."""
        table = self.make(nw.to_native(frame.sort(*order)), slot)
        return as_lazy(self.select(table, f'rowid AS "{name}", *'))

    def make(self, relation: Any, slot: str | None = None) -> str:
        """Compute a relation into a table, in its order; the table's name. Without a slot, it stays."""
        self._made += 1
        name = f"{self._prefix}_{self._made}"
        relation.query("dfmst_rows", f"CREATE TEMP TABLE {name} AS SELECT * FROM dfmst_rows")
        if slot is not None:
            self._drop(slot)
            self._slots[slot] = name
        return name

    def select(self, table: str, columns: str = "*") -> Any:
        """Return the relation of a table."""
        return self._relation.query("dfmst_rows", f"SELECT {columns} FROM {table}")

    def close(self) -> None:
        """Drop the tables of all slots."""
        for slot in list(self._slots):
            self._drop(slot)

    def _drop(self, slot: str) -> None:
        table = self._slots.pop(slot, None)
        if table is not None:
            self._relation.query("dfmst_rows", f"DROP TABLE {table}")


def _ordered_bits(floats: Any) -> Any:
    """Integers in the order of a pandas column of floats without NaN."""
    bits = ordered_integers(floats.to_numpy(np.float64))
    return type(floats)(bits, index=floats.index, name=f"dfmst_{floats.name}")


def ordered_integers(floats: Array) -> Array:
    """Return integers in the order of floats without NaN; -0.0 equals 0.0.

    Nothing is computed with the floats: CuPy's kernels take denormal numbers for 0.
    """
    bits = floats.view(np.dtype(f"i{floats.dtype.itemsize}"))
    sign = bits >> (8 * bits.dtype.itemsize - 1)  # -1 or 0
    return ((bits & np.iinfo(bits.dtype).max) ^ sign) - sign


def with_positions(frame: Any, name: str) -> Any:
    """Return a Dask frame with the position of each row, partition by partition, as another column."""
    counted = frame.assign(**{name: 1})
    return counted.assign(**{name: counted[name].cumsum() - 1})


def as_lazy(native: Any) -> nw.LazyFrame[Any]:
    """Return Narwhals' lazy frame of a library's own."""
    with warnings.catch_warnings():
        # Narwhals warns of every Dask frame while its support moves to another package.
        warnings.filterwarnings("ignore", "Dask support is moving", FutureWarning)
        frame: nw.LazyFrame[Any] = nw.from_native(native).lazy()
        return frame


def lasting(frame: nw.LazyFrame[Any], tables: Tables) -> Any:
    """Return a library's own frame that no longer needs the tables it was made of."""
    native: Any = nw.to_native(frame)
    if not isinstance(tables, DuckDbTables):
        return native
    return native.materialize() if hasattr(native, "materialize") else tables.select(tables.make(native))


def open_tables(frame: nw.LazyFrame[Any]) -> Tables:
    """Return what makes tables of frames of this library."""
    kind = frame.implementation
    if kind.is_duckdb():
        return DuckDbTables(nw.to_native(frame))
    if kind.is_dask():
        return DaskTables()
    if kind.is_pandas_like() or kind.is_pyarrow() or kind.is_polars() or kind.is_pyspark():
        return NativeTables()
    message = (
        f"a forest in dataframe steps needs a table after each step, and {kind.value} makes none that dfmst knows of"
    )
    raise UnsupportedFrameError(message, "collect the frame, as pandas, polars or pyarrow")
