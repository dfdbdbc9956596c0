"""Lazy frames of DuckDB, Dask and PySpark, which are not collected.

Ties are broken by a row's position: in a DuckDB relation the order of insertion, which DuckDB preserves by default; in
a Dask frame partition by partition. Rows of PySpark have no order: columns without equal rows (`order`) must give it,
and can give it for the other engines.
"""

from __future__ import annotations

import operator
import sys
import uuid
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Column, ColumnName, Frame, Invalid
from dfmst._edges.arrow_values import to_arrow
from dfmst._edges.read import EdgeColumns, check_ends, invalid_rows
from dfmst._edges.unify import common_id_type
from dfmst._edges.vertices import check_whole, different_ids, exact_below, unsuitable_ids
from dfmst._edges.view import NAMES_HINT, View
from dfmst._edges.weights import unsupported_weights
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError, missing_column

_POSITION = "dfmst_position"


@dataclass(frozen=True, slots=True)
class LazyView:
    """A lazy frame with numbered rows."""

    native: Any  # the user's frame
    tables: Tables  # makes tables in its engine
    numbered: nw.LazyFrame[Any]  # all or the needed columns, and the positions of the rows, from 0
    order: tuple[str, ...]  # columns that give the positions; empty: the order of the engine

    def columns(self, names: Sequence[Any]) -> nw.LazyFrame[Any]:
        """Return the positions as ``row``, and columns under the names ``source``, ``target`` and ``weight``."""
        known = self.numbered.collect_schema().names()
        for name in names:
            if name not in known:
                raise missing_column(name, [known for known in known if known != _POSITION], NAMES_HINT)
        chosen = {to: nw.col(name) for to, name in zip(("source", "target", "weight"), names, strict=False)}
        return self.numbered.select(row=nw.col(_POSITION), **chosen)

    def take(self, rows: nw.LazyFrame[Any]) -> Frame:
        """Return the user's frame with the rows at the positions in the column ``row``: all columns, input order."""
        wanted = rows.select(nw.col("row").alias(_POSITION))
        if self.order:
            keys = self.numbered.join(wanted, on=_POSITION, how="semi").select(*self.order)
            keys = self.tables.keep(keys, "keys")
            forest = as_lazy(self.native).join(keys, on=list(self.order), how="semi").sort(*self.order)
            return self.tables.lasting(forest)
        if self.numbered.implementation.is_duckdb():
            forest = self.numbered.join(wanted, on=_POSITION, how="semi").sort(_POSITION)
            return self.tables.lasting(forest.drop(_POSITION))
        positions = np.sort(collected(wanted)[_POSITION].to_numpy())
        numbered: Any = nw.to_native(self.numbered)
        return numbered.map_partitions(_rows_at, positions, meta=self.native._meta)


def open_lazy_frame(edges: Frame, order: tuple[str, ...], names: Sequence[ColumnName]) -> LazyView | None:
    """Recognize a lazy frame of one of these engines; ``None`` for any other."""
    is_dask = type(edges).__module__.partition(".")[0] == "dask"
    frame = as_lazy(edges) if is_dask else nw.from_native(edges, pass_through=True)
    if not isinstance(frame, nw.LazyFrame) or frame.implementation.is_polars():
        return None
    known = frame.collect_schema().names()
    if _POSITION in known:
        raise InvalidEdgesError(f"the frame has a column {_POSITION!r}, a name that dfmst uses", "rename the column")
    if "*" in known and not frame.implementation.is_dask():
        message = f"the frame has a column '*', which stands for all columns in {frame.implementation.value}"
        raise InvalidEdgesError(message, "rename the column, or collect the frame for any other algorithm")
    tables = open_tables(frame)
    try:
        if order:
            check_order(frame, order)
            needed = dict.fromkeys([*order, *(name for name in names if name in known)])
            numbered = tables.number(frame.select(*needed), _POSITION, order, "input")
        else:
            numbered = _by_position(edges, frame, tables)
    except BaseException:
        tables.close()
        raise
    return LazyView(edges, tables, numbered, order)


def _by_position(edges: Frame, frame: nw.LazyFrame[Any], tables: Tables) -> nw.LazyFrame[Any]:
    if isinstance(tables, DuckDbTables):
        preserved = edges.query("dfmst_rows", "SELECT current_setting('preserve_insertion_order')").fetchall()
        if preserved[0][0]:
            # A query with a join may return its rows in another order each time: number the rows of a copy.
            number = "row_number() OVER () - 1" if "rowid" in map(str.lower, edges.columns) else "rowid"
            return as_lazy(tables.select(tables.make(edges, "input"), f'{number} AS "{_POSITION}", *'))
        reason = "DuckDB's preserve_insertion_order is off, so that its rows have no order"
    elif frame.implementation.is_dask():
        return as_lazy(with_positions(edges, _POSITION))
    else:
        reason = f"rows of {frame.implementation.value} have no order"
    hint = "name columns that order them: algorithm=dfmst.algorithms.Dataframe(order='id')"
    raise UnsupportedFrameError(f"{reason}, and of equal weights the earlier row counts as lighter", hint)


def _rows_at(part: Frame, positions: Array) -> Any:
    """Return the rows of a partition at ascending positions of the whole Dask frame."""
    begin = int(part[_POSITION].iloc[0]) if len(part) else 0
    first, last = np.searchsorted(positions, [begin, begin + len(part)])
    return part.iloc[positions[first:last] - begin].drop(columns=_POSITION)


def check_order(frame: nw.LazyFrame[Any], order: Sequence[Any]) -> None:
    types = frame.collect_schema()
    for name in order:
        if name not in types:
            raise missing_column(name, types.names(), "name the columns that order the rows with Dataframe(order=...)")
        missing = nw.col(name).is_null()
        missing = missing | nw.col(name).is_nan() if types[name].is_float() else missing
        count = int(collected(frame.select(missing.cast(nw.Int64).sum())).item() or 0)
        if count:  # libraries differ on where these go, and their joins lose them
            message = f"column {name!r} cannot order the rows: {count:,} of its values are null or NaN"
            raise InvalidEdgesError(message, "fill them, or order the rows by another column")
    keys = frame.select(*order)
    rows, different = (int(collected(part.select(nw.len())).item()) for part in (keys, keys.unique()))
    if rows != different:
        names = ", ".join(map(repr, order))
        plural = "s" if len(order) > 1 else ""
        message = f"column{plural} {names} cannot order the rows: {rows:,} rows hold {different:,} different values"
        raise InvalidEdgesError(message, "order the rows by columns that tell them apart")


def rows_in_order(view: View, order: Sequence[Any]) -> Array:
    """Return the row positions of a frame in memory, ascending by columns; ``int64``, in the frame's memory."""
    frame: nw.DataFrame[Any] = nw.from_native(view.frame, eager_only=True)
    check_order(as_lazy(view.frame), order)
    places = frame.select(*order).with_row_index(_POSITION).sort(*order).get_column(_POSITION)
    rows: Any = nw.to_native(places).values if view.on_device else places.to_numpy()
    positions: Array = rows.astype(np.int64)
    return positions


_TEXT = (nw.String, nw.Categorical, nw.Enum)
_MEASURED = (nw.Decimal, nw.Duration, nw.Datetime, nw.Date, nw.Time)  # weights that engines compare
_IDS = (*_TEXT, *_MEASURED, nw.Boolean, nw.Binary)
_IN_INT64 = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)


def lazy_edges(view: LazyView, columns: EdgeColumns) -> nw.LazyFrame[Any]:
    """Return positions, ids of one type, and weights as for a minimum forest."""
    check_ends(columns.source, columns.target)
    names = [name for name in columns.names if name is not None]
    rows = _typed_objects(view.columns(names), columns)
    types = dict(rows.collect_schema())
    if rows.implementation.is_dask():  # Narwhals has no type for decimals of 256 bits
        kinds = nw.to_native(rows).dtypes.items()
        types |= {name: nw.Decimal() for name, kind in kinds if str(kind).startswith("decimal256")}
    for end, name in zip(("source", "target"), columns.names, strict=False):
        if types[end].is_float():
            rows, types[end] = _whole_floats(rows, end, name, types[end], columns.invalid), nw.Int64()
    ids = _common_ids(rows, columns, types)
    missing = {"source": nw.col("source").is_null(), "target": nw.col("target").is_null()}
    weight: Any = nw.lit(0)
    if columns.weight is not None:
        weight, missing["weight"] = _weight(columns.weight, types["weight"], columns.maximum)
    rows = _without_missing(rows, columns, missing)
    return rows.select("row", ids, weight=weight)


def _typed_objects(rows: nw.LazyFrame[Any], columns: EdgeColumns) -> nw.LazyFrame[Any]:
    """Return Dask columns of Python objects in their Arrow types: as text, 1 and "1" would be one id."""
    native: Any = nw.to_native(rows)
    if not rows.implementation.is_dask():
        return rows
    objects = {column for column, kind in native.dtypes.items() if str(kind) == "object"}
    if objects & {"source", "target"}:
        objects |= {"source", "target"}
    kinds: dict[str, pa.DataType] = {}
    for column, name in zip(("source", "target", "weight"), columns.names, strict=True):
        if column not in objects:
            continue
        for kind in native[column].map_partitions(_object_kind, name, meta=(column, object)).compute():
            known = kinds.setdefault(column, kind)
            common = common_id_type(known, kind)
            if common is None and column == "weight":
                raise unsupported_weights(name, f"both {known} and {kind}")
            if common is None:
                raise different_ids((name, known), (name, kind))
            kinds[column] = common
    if not kinds:
        return rows
    both = common_id_type(kinds["source"], kinds["target"]) if "source" in kinds else None
    if both is not None:
        kinds |= {"source": both, "target": both}
    return as_lazy(native.map_partitions(_with_types, kinds, meta=_with_types(native._meta, kinds)))


def _object_kind(series: Column, name: ColumnName) -> Any:
    return type(series)([to_arrow(name, series.to_numpy()).type], dtype=object)


def _with_types(part: Frame, kinds: dict[str, pa.DataType]) -> Any:
    import pandas as pd

    typed = {end: to_arrow(end, part[end].to_numpy()).cast(kind) for end, kind in kinds.items()}
    return part.assign(**{end: pd.arrays.ArrowExtensionArray(values) for end, values in typed.items()})


def _whole_floats(
    rows: nw.LazyFrame[Any], end: str, name: ColumnName, kind: Any, invalid: Invalid
) -> nw.LazyFrame[Any]:
    """Cast a column of floats to integers, with nulls for NaNs."""
    value = nw.col(end)
    gaps = value.is_null() | value.is_nan()
    number = nw.when(~gaps).then(value)
    limit = exact_below(np.float32 if kind == nw.Float32 else np.float64)
    odd = ~gaps & ~((number.abs() < limit) & (number % 1 == 0))
    found = []
    for mask in (odd, gaps):
        part = rows.filter(mask).select(nw.len().alias("count"), nw.col("row").min()).collect().to_dict(as_series=False)
        count = int(part["count"][0])
        found.append((count, int(part["row"][0]) if count else 0))
    check_whole(name, kind, found[0], found[1], invalid)
    return rows.filter(~gaps).with_columns(number.cast(nw.Int64).alias(end))


def _common_ids(rows: nw.LazyFrame[Any], columns: EdgeColumns, types: Any) -> nw.Expr:
    ends = nw.col("source", "target")
    first, second = types["source"], types["target"]
    for name, kind in ((columns.source, first), (columns.target, second)):
        if not (kind.is_integer() or isinstance(kind, _IDS)):
            raise unsuitable_ids(name, kind)
    if isinstance(first, _TEXT) and isinstance(second, _TEXT):
        return ends.cast(nw.String)
    if first == second:
        return ends
    for end in ("source", "target"):
        largest = rows.select(nw.col(end).max()).collect().item() if isinstance(types[end], nw.UInt64) else 0
        if not isinstance(types[end], (*_IN_INT64, nw.UInt64)) or int(largest or 0) >= 1 << 63:
            raise different_ids((columns.source, first), (columns.target, second))
    return ends.cast(nw.Int64)


def _weight(name: ColumnName, kind: Any, maximum: bool) -> tuple[nw.Expr, nw.Expr]:
    """Return expressions of the weight, as for a minimum forest, and of whether it is missing."""
    weight = nw.col("weight")
    missing = weight.is_null()
    if kind.is_float():
        # Engines differ on whether -0.0 comes before 0.0.
        plain = nw.when(weight == 0).then(nw.lit(0.0)).otherwise(weight)
        return (0.0 - plain if maximum else plain), missing | weight.is_nan()
    if isinstance(kind, nw.Boolean):
        return (1 - weight.cast(nw.Int64) if maximum else weight.cast(nw.Int64)), missing
    if not (kind.is_integer() or isinstance(kind, _MEASURED)):
        raise unsupported_weights(name, kind)
    if not maximum:
        return weight, missing
    if isinstance(kind, _IN_INT64):
        return -1 - weight.cast(nw.Int64), missing  # the complement: the least integer has no negative
    return weight.rank("min", descending=True), missing


def _without_missing(rows: nw.LazyFrame[Any], columns: EdgeColumns, missing: dict[str, nw.Expr]) -> nw.LazyFrame[Any]:
    """Leave out rows without an id or a weight, or raise for the first such column."""
    if columns.invalid == "drop":
        return rows.filter(~reduce(operator.or_, missing.values()))
    counts = {f"{end}_count": mask.cast(nw.Int64).sum() for end, mask in missing.items()}
    firsts = {f"{end}_first": nw.when(mask).then(nw.col("row")).min() for end, mask in missing.items()}
    found = rows.select(**counts, **firsts).collect().to_dict(as_series=False)
    for place, end in enumerate(missing):
        count = found[f"{end}_count"][0]
        if count:  # null for no rows in some engines
            raise invalid_rows(columns.names, place, int(count), int(found[f"{end}_first"][0]))
    return rows


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
