"""Keys of several columns in a whole table: each key as one column, ids as bytes or numbers, weights as ranks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Column, ColumnName, EndNames, Invalid
from dfmst._edges.device_frame import device_column
from dfmst._edges.id_bytes import joint_ids
from dfmst._edges.read import EdgeColumns, names_missing_columns
from dfmst._edges.vertices import factorize
from dfmst._edges.view import View
from dfmst._edges.weights import missing_weights, stacked_weights
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import gather_keys
from dfmst._engines.primitives.sort import sort_order


@names_missing_columns
def compose(engine: Engine, view: View, columns: EdgeColumns) -> View:
    """Return the view of a whole table with a column for each key of several columns; weights become ranks."""
    if columns.keys is None:
        return view
    composed = _composed_ids(engine, view, columns)
    if columns.has_joint_weight:
        composed[columns.weight] = _ranked_weights(view.engine(engine), view, columns.weights, view.column, len(view))
    return view.with_composed(composed)


@names_missing_columns
def compose_both(engine: Engine, edges: View, columns: EdgeColumns, forest: View) -> tuple[View, View]:
    """Return :func:`compose` of edges and of a forest, with ranks that compare."""
    if columns.keys is None:
        return edges, forest
    ends, rows = [_composed_ids(engine, view, columns) for view in (edges, forest)], len(forest)
    if columns.has_joint_weight:

        def stacked(name: ColumnName) -> Any:
            return stacked_weights(name, forest.column(name), edges.column(name))

        rank = _ranked_weights(edges.engine(engine), edges, columns.weights, stacked, rows + len(edges))
        ends[0][columns.weight], ends[1][columns.weight] = rank[rows:], rank[:rows]
    return edges.with_composed(ends[0]), forest.with_composed(ends[1])


def _composed_ids(engine: Engine, view: View, columns: EdgeColumns) -> dict[Any, Any]:
    """Return a column for each end, if an id has several columns."""
    if len(columns.end_parts) == 1 and columns.end_parts[0] == columns.names[:2]:
        return {}
    ids: list[Any] = [pa.array([], pa.int64())] * 2  # an empty column may have any type
    if len(view):
        parts = columns.end_parts
        ids = (
            _numbered_ids(engine, view, parts, columns.invalid)
            if view.on_device
            else joint_ids(parts, (), view.column, columns.invalid)
        )
    return dict(zip(columns.names[:2], ids, strict=True))


def _ranked_weights(
    engine: Engine, view: View, names: list[ColumnName], column: Callable[[ColumnName], Column], rows: int
) -> Any:
    """Rank the rows by the first column, then the next; null if one of them is null or NaN."""
    xp = engine.xp
    rank, missing = xp.zeros(rows, np.uint32), xp.zeros(rows, bool)
    for name in names if rows else ():
        weights = view.readers.weights(name, column(name))
        mask = missing_weights(engine, weights)
        missing |= False if mask is None else mask
        rank = _further_rank(engine, rank, gather_keys(engine, weights.values, None))
    return pa.array(rank, mask=missing) if engine.on_host else device_column(rank, missing)


def _further_rank(engine: Engine, rank: Array, key: Array) -> Array:
    xp, order = engine.xp, sort_order(engine, key)
    order = order[sort_order(engine, rank[order])]
    begins = xp.zeros(len(order), bool)
    for column in (rank[order], key[order]):
        begins[1:] |= column[1:] != column[:-1]
    further: Array = xp.empty(len(order), np.uint32)
    further[order] = xp.cumsum(begins, dtype=np.uint32)
    return further


def _numbered_ids(engine: Engine, view: View, parts: list[EndNames], invalid: Invalid) -> list[Any]:
    """Number the ids of both ends of a frame on a GPU; null if a part of the id is."""
    ends: list[Array] = [engine.xp.zeros(1, np.uint64)] * 2
    nulls = [engine.xp.zeros(1, bool)] * 2
    number = partial(factorize, engine, in_order=False)
    for names in parts:
        ids = view.readers.ids(*((name, view.column(name)) for name in names), invalid=invalid)
        numbered = number(ids.source, ids.target)
        ends = [end * np.uint64(numbered.total) + codes for end, codes in zip(ends, numbered[:2], strict=True)]
        ends = list(number(*ends)[:2])
        nulls = [null if mask is None else null | mask for null, mask in zip(nulls, ids[2:], strict=True)]
    return [device_column(end, null) for end, null in zip(ends, nulls, strict=True)]
