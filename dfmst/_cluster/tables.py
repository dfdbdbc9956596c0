"""What travels between tasks: Arrow tables of ``source``, ``target``, ``key`` and ``row``, ids as the frame has them.

``key`` is the weight as an unsigned integer of the same order (turned around for a maximum forest); ``row`` is the
locator, partition << 32 | position. Both mean the same in every task, so that tables need no common numbering.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._columns.check import HOST, CheckedColumns, check_columns
from dfmst._columns.edge_table import check_capacity, flip_bits
from dfmst._columns.encode import concat_ids
from dfmst._columns.ids import IdColumns, id_columns
from dfmst._engines import Engine
from dfmst._frames.host import FrameView, open_host_frame
from dfmst._primitives.edges import gather_keys
from dfmst.errors import InvalidEdgesError
from dfmst.typing import Array, Invalid

__all__ = [
    "POSITION_BITS",
    "check_kinds",
    "concat",
    "edge_table",
    "empty_table",
    "id_pair",
    "in_row_order",
    "numbers",
    "take",
]

POSITION_BITS = 32
_KIND = b"weights"
_OBJECT_DECIMAL = pa.decimal128(38, 9)  # decimals in an object column have no common scale of their own


def edge_table(
    engine: Engine,
    frame: Any,
    names: tuple[Any, Any, Any],
    partition: int,
    *,
    maximum: bool = False,
    invalid: Invalid = "raise",
    positions: Array | None = None,
) -> pa.Table:
    """Read a partition's columns.

    Parameters
    ----------
    engine
        Where the checks run.
    frame
        The partition, any frame that dfmst reads.
    names
        Source, target and weight column (``None``: all weights are equal).
    partition
        Its number, for the locators.
    maximum
        Whether heavier edges come first.
    invalid
        As for :func:`dfmst.minimum_spanning_forest`.
    positions
        Where the frame's rows stand in the partition, where they are only some of it.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, CapacityError
        As for :func:`dfmst.minimum_spanning_forest`; also weights whose order is not that of 64-bit numbers.
    """
    view = open_host_frame(frame)
    columns, kind = _read(engine, view, names, invalid)
    weights = columns.weights.values
    if not len(weights):
        return empty_table()
    key = np.asarray(gather_keys(engine, weights, None, flip_bits(weights.dtype, maximum)))
    first = np.uint64(partition << POSITION_BITS)
    place = np.arange(len(view)) if positions is None else positions
    kept = (place if columns.kept is None else place[columns.kept]).astype(np.uint64)
    ends = [_compact(engine, column) for column in (columns.ids.source, columns.ids.target)]
    arrays = {"source": ends[0], "target": ends[1], "key": pa.array(key), "row": pa.array(kept + first)}
    return pa.table(arrays).replace_schema_metadata({_KIND: kind.encode()})


def empty_table() -> pa.Table:
    """Return a table without edges, which goes with any other."""
    types = {"source": pa.uint32(), "target": pa.uint32(), "key": pa.uint32(), "row": pa.uint64()}
    return pa.table({name: pa.array([], kind) for name, kind in types.items()})


def _read(engine: Engine, view: FrameView, names: tuple[Any, Any, Any], invalid: Invalid) -> tuple[CheckedColumns, str]:
    """Read a frame's columns, and say what its weights are: keys of one kind can be compared."""
    weight, rows = names[2], len(view)
    check_capacity(rows)
    if weight is None or not rows:
        return check_columns(engine, HOST, view.column, rows, names, invalid), "none"
    column: Any = view.column(weight)
    numpy = isinstance(column, np.ndarray)
    if numpy and column.dtype.kind == "O":
        column, numpy = _plain_objects(weight, column), False
    decimal = not numpy and pa.types.is_decimal(column.type)

    def read(name: Any) -> Any:
        return column if name == weight else view.column(name)

    checked = check_columns(engine, HOST, read, rows, names, invalid)
    ranked = checked.weights.values.dtype == np.uint32
    kind = str(column.dtype if numpy else column.type)
    if ranked and (decimal or (numpy and column.dtype.itemsize > 8)):
        message = f"column {weight!r} holds {kind} values that are not 64-bit numbers"
        raise InvalidEdgesError(message, "cast the column to int64, or to float64 if rounding is meant")
    # Decimals of one scale compare as the integers that they are without it.
    return checked, f"decimals of scale {column.type.scale}" if decimal else str(checked.weights.values.dtype)


def _plain_objects(name: Any, column: Array) -> pa.Array:
    try:
        plain = pa.array(column, from_pandas=True)
        return plain.cast(_OBJECT_DECIMAL) if pa.types.is_decimal(plain.type) else plain
    except (pa.ArrowException, OverflowError, TypeError) as error:
        message = f"column {name!r} holds objects that are not 64-bit numbers"
        raise InvalidEdgesError(message, "cast the column to int64, float64 or an Arrow decimal") from error


def _compact(engine: Engine, column: Any) -> pa.Array:
    """Ids in the narrowest of the types that travel: uint32, int64 or uint64; text as large_string."""
    if not isinstance(column, np.ndarray):
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        plain = plain.combine_chunks() if isinstance(plain, pa.ChunkedArray) else plain
        text = pa.types.is_string(plain.type) or pa.types.is_string_view(plain.type)
        return plain.cast(pa.large_string()) if text else plain
    if column.dtype.itemsize == 8:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        fits = low >= 0 and high < 1 << 32
    else:
        fits = column.dtype == np.uint32 or not len(column) or int(column.min()) >= 0
        high = 0
    if fits:
        return pa.array(column.astype(np.uint32, copy=False))
    return pa.array(column if high >= 1 << 63 else column.astype(np.int64, copy=False))


def numbers(table: pa.Table, name: str) -> Array:
    """A column of integers as NumPy, without a copy where it is in one piece."""
    column = table.column(name)
    array: Array = (column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()).to_numpy()
    return array


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
    """One table after the other, in common types.

    Raises
    ------
    InvalidEdgesError
        Ids or weights of partitions that cannot be compared.
    """
    filled = [table for table in tables if table.num_rows]
    if len(filled) < 2:
        return (filled or [empty_table()])[0]
    check_kinds(filled)
    columns = [concat_ids([table.column(name) for table in filled]) for name in filled[0].column_names]
    return pa.table(columns, names=filled[0].column_names, metadata=filled[0].schema.metadata)


def check_kinds(tables: list[pa.Table]) -> None:
    """Raise where the keys of two tables cannot be compared.

    Raises
    ------
    InvalidEdgesError
        The partitions' weights have different types.
    """
    kinds = sorted({(table.schema.metadata or {}).get(_KIND, b"").decode() for table in tables})
    if len(kinds) > 1:
        message = f"the partitions' weights have different types: {', '.join(kinds)}"
        raise InvalidEdgesError(message, "cast the weight column to one type in all partitions")


def in_row_order(table: pa.Table) -> pa.Table:
    """The rows by ascending locator; a table that is in order already is not copied."""
    row = numbers(table, "row")
    return table if bool((row[1:] > row[:-1]).all()) else take(table, np.argsort(row, kind="stable"))
