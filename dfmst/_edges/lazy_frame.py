"""Frames of engines that compute when asked, and stay there: DuckDB, Dask and PySpark.

Ties are broken by a row's position, so rows must have one. In a DuckDB relation it is the order that its rows are
inserted in, which DuckDB preserves by default; in a Dask frame it is partition by partition. PySpark promises
no order: there, and wherever the user prefers it, columns give it (`order`), no two rows the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dfmst._common.types import Array, Frame
from dfmst._edges.device_frame import NAMES_HINT
from dfmst._edges.order import check_order
from dfmst._edges.tables import DuckDbTables, Tables, as_lazy, lasting, open_tables, with_positions
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError, missing_column

_POSITION = "dfmst_position"


@dataclass(frozen=True, slots=True)
class LazyView:
    """A frame of such an engine, its rows numbered.

    Attributes
    ----------
    native
        The user's frame.
    tables
        Makes tables in its engine.
    numbered
        Its columns, or those that were asked for, and the rows' positions from 0.
    order
        Columns that the positions come from; none: the engine has an order of its own.
    """

    native: Any
    tables: Tables
    numbered: nw.LazyFrame[Any]
    order: tuple[str, ...]

    @property
    def engine(self) -> str:
        """The engine's name."""
        return str(self.numbered.implementation.value)

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
            return lasting(forest, self.tables)
        if self.numbered.implementation.is_duckdb():
            forest = self.numbered.join(wanted, on=_POSITION, how="semi").sort(_POSITION)
            return lasting(forest.drop(_POSITION), self.tables)
        positions = np.sort(wanted.collect()[_POSITION].to_numpy())
        numbered: Any = nw.to_native(self.numbered)
        return numbered.map_partitions(_rows_at, positions, meta=self.native._meta)


def open_lazy_frame(edges: Frame, order: tuple[str, ...], names: Sequence[Any]) -> LazyView | None:
    """Recognise a frame of an engine that computes when asked; ``None`` for any other."""
    frame = _recognise(edges)
    if frame is None:
        return None
    known = frame.collect_schema().names()
    if _POSITION in known:
        raise InvalidEdgesError(f"the frame has a column {_POSITION!r}, a name that dfmst uses", "rename the column")
    if "*" in known and not frame.implementation.is_dask():
        message = f"the frame has a column '*', which {frame.implementation.value} takes for all columns"
        raise InvalidEdgesError(message, "rename the column, or collect the frame: dfmst then takes any algorithm")
    tables = open_tables(frame)
    try:
        numbered = _by_columns(frame, tables, order, names) if order else _by_position(edges, frame, tables)
    except BaseException:
        tables.close()
        raise
    return LazyView(edges, tables, numbered, order)


def _recognise(edges: Frame) -> nw.LazyFrame[Any] | None:
    if type(edges).__module__.partition(".")[0] == "dask":
        return as_lazy(edges)
    frame = nw.from_native(edges, pass_through=True)
    return frame if isinstance(frame, nw.LazyFrame) and not frame.implementation.is_polars() else None


def _by_position(edges: Frame, frame: nw.LazyFrame[Any], tables: Tables) -> nw.LazyFrame[Any]:
    """Number the rows in the engine's own order."""
    if isinstance(tables, DuckDbTables):
        preserved = edges.query("dfmst_rows", "SELECT current_setting('preserve_insertion_order')").fetchall()
        if preserved[0][0]:
            # A copy: a query with a join may give its rows in another order each time.
            number = "row_number() OVER () - 1" if "rowid" in map(str.lower, edges.columns) else "rowid"
            return as_lazy(tables.select(tables.make(edges, "input"), f'{number} AS "{_POSITION}", *'))
        reason = "DuckDB's preserve_insertion_order is off, so that its rows have no order"
    elif frame.implementation.is_dask():
        return as_lazy(with_positions(edges, _POSITION))
    else:
        reason = f"rows of {frame.implementation.value} have no order"
    hint = "name columns that order them: algorithm=dfmst.algorithms.Dataframe(order='id')"
    raise UnsupportedFrameError(f"{reason}, and of equal weights the earlier row counts as lighter", hint)


def _by_columns(
    frame: nw.LazyFrame[Any], tables: Tables, order: tuple[str, ...], names: Sequence[Any]
) -> nw.LazyFrame[Any]:
    """Number the rows in the order of columns."""
    check_order(frame, order)
    known = frame.collect_schema().names()
    needed = list(dict.fromkeys([*order, *(name for name in names if name in known)]))
    return tables.number(frame.select(*needed), _POSITION, order, "input")


def _rows_at(part: Any, positions: Array) -> Any:
    """The rows of a Dask frame's partition that are among ascending positions."""
    begin = int(part[_POSITION].iloc[0]) if len(part) else 0
    first, last = np.searchsorted(positions, [begin, begin + len(part)])
    return part.iloc[positions[first:last] - begin].drop(columns=_POSITION)
