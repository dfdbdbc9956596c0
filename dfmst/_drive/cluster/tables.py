"""What travels between tasks: Arrow tables of ``source``, ``target``, ``key`` and ``row``, ids as the frame has them.

``key`` is the weight as an unsigned integer of the same order (turned around for a maximum forest); ``row`` is the
locator, partition << 32 | position. Both mean the same in every task, so that tables need no common numbering.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._edges.arrow_values import native_values
from dfmst._edges.dictionary import concat_ids
from dfmst._edges.vertices import IdColumns, id_columns
from dfmst.errors import InvalidEdgesError

POSITION_BITS = 32
_KIND = b"weights"


def travelling_table(source: pa.Array, target: pa.Array, key: Array, row: Array, kind: str) -> pa.Table:
    """Put a table together; `kind` says what the weights are."""
    arrays = {"source": source, "target": target, "key": pa.array(key), "row": pa.array(row)}
    return pa.table(arrays).replace_schema_metadata(kind_metadata(kind))


def kind_metadata(kind: str) -> dict[bytes, bytes]:
    """Return what goes with a table whose weights are of a kind."""
    return {_KIND: kind.encode()}


def weight_kind(table: pa.Table) -> str:
    """Return what the weights of a table are."""
    kind: bytes = (table.schema.metadata or {}).get(_KIND, b"")
    return kind.decode()


def empty_table() -> pa.Table:
    """Return a table without edges, which goes with any other."""
    types = {"source": pa.uint32(), "target": pa.uint32(), "key": pa.uint32(), "row": pa.uint64()}
    return pa.table({name: pa.array([], kind) for name, kind in types.items()})


def travelling_ids(ids: IdColumns) -> tuple[pa.Array, pa.Array]:
    """Both id columns in the narrowest of the types that travel: uint32, int64 or uint64; text as large_string."""
    return _narrow(ids.source), _narrow(ids.target)


def _narrow(column: Any) -> pa.Array:
    if not isinstance(column, np.ndarray):
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        plain = plain.combine_chunks() if isinstance(plain, pa.ChunkedArray) else plain
        text = pa.types.is_string(plain.type) or pa.types.is_string_view(plain.type)
        return plain.cast(pa.large_string()) if text else plain
    return pa.array(narrowed(column))


def narrowed(column: Array) -> Array:
    """Integers in the narrowest of the types that travel, where they lie."""
    if column.dtype.itemsize == 8:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        fits = low >= 0 and high < 1 << 32
    else:
        fits = column.dtype == np.uint32 or not len(column) or int(column.min()) >= 0
        high = 0
    if fits:
        return column.astype(np.uint32, copy=False)
    return column if high >= 1 << 63 else column.astype(np.int64, copy=False)


def column_values(table: pa.Table, name: str) -> Array:
    """A column of integers as kernels read it, without a copy where it is in one piece."""
    column = table.column(name)
    return native_values((column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()).to_numpy())


def id_pair(table: pa.Table) -> IdColumns:
    """Both id columns, aligned."""
    return id_columns(("source", table.column("source")), ("target", table.column("target")))


def take(table: pa.Table, positions: Array) -> pa.Table:
    """Rows of a table by position."""
    columns = []
    for column in table.columns:
        whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        plain = pa.types.is_integer(whole.type)
        columns.append(pa.array(whole.to_numpy()[positions]) if plain else whole.take(pa.array(positions)))
    return pa.table(columns, names=table.column_names, metadata=table.schema.metadata)


def concat(tables: list[pa.Table]) -> pa.Table:
    """One table after the other, in common types."""
    filled = [table for table in tables if table.num_rows]
    if len(filled) < 2:
        return (filled or [empty_table()])[0]
    check_kinds(map(weight_kind, filled))
    columns = [concat_ids([table.column(name) for table in filled]) for name in filled[0].column_names]
    return pa.table(columns, names=filled[0].column_names, metadata=filled[0].schema.metadata)


def check_kinds(weights: Iterable[str]) -> None:
    """Raise where keys of these kinds of weights (:func:`weight_kind`) cannot be compared."""
    kinds = sorted(set(weights))
    if len(kinds) > 1:
        message = f"the partitions' weights have different types: {', '.join(kinds)}"
        raise InvalidEdgesError(message, "cast the weight column to one type in all partitions")


def in_row_order(table: pa.Table) -> pa.Table:
    """The rows by ascending locator; a table that is in order already is not copied."""
    row = column_values(table, "row")
    return table if bool((row[1:] > row[:-1]).all()) else take(table, np.argsort(row, kind="stable"))
