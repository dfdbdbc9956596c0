"""Ids of any one type, each at the place of its number; the type widens with the ids that come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.id_words import holds_words, id_words, ids_of_texts, ids_of_words
from dfmst._edges.unify import common_id_type
from dfmst._engines import Engine
from dfmst._engines.primitives.id_table import IdTable
from dfmst.errors import InvalidEdgesError


class Dictionary:
    """Numbers ids from 0 on, in the order in which they come.

    Attributes
    ----------
    type
        The type of the ids; ``int64`` where there are none.
    """

    def __init__(self, engine: Engine, values: pa.Array | None = None) -> None:
        self._engine = engine
        self.type: pa.DataType = pa.int64()
        self._table = IdTable(engine, texts=False)
        if values is not None and len(values):
            self._restart(values)

    @property
    def count(self) -> int:
        """How many ids are known."""
        return self._table.count

    @property
    def text_bytes(self) -> int:
        """Bytes of a text, on average, and of its copy where there are more; 0 of other ids."""
        return 0 if holds_words(self.type) or not self.count else -(-2 * self._table.content.nbytes // self.count)

    @property
    def values(self) -> pa.Array:
        """The ids by their numbers; those of 64 bits and texts are not copied."""
        table = self._table
        if holds_words(self.type):
            return ids_of_words(table.known, self.type)
        return ids_of_texts(table.known, table.content, self.type) if self.count else pa.array([], self.type)

    def take(self, numbers: Array) -> pa.Array:
        """Return the ids of these numbers."""
        if holds_words(self.type):
            words = np.empty(len(numbers), np.uint64)
            self._engine.launch("gather_entries", len(words), self._table.known, numbers.astype(np.uint64), words)
            return ids_of_words(words, self.type)
        return self.values.take(arrow_numbers(numbers))

    def look_up(self, ids: pa.Array, *, extend: bool) -> Array:
        """Return the numbers of ids, ``uint32``."""
        if not self.count and not extend:
            return np.zeros(len(ids), np.uint32)
        words = id_words(self._aligned(ids))
        return self._table.encode(words) if extend else self._table.find(words, self.count)

    def _aligned(self, ids: pa.Array) -> pa.Array:
        """Ids in the type of the known ones, which widens where it must; no known ids go with anything."""
        if ids.type == self.type:
            return ids
        if not self.count:
            self.type = ids.type
            self._table = IdTable(self._engine, texts=not holds_words(ids.type))
            return ids
        known, ids = in_common_type([self.values, ids])
        if pa.types.is_integer(known.type) and pa.types.is_integer(self.type):
            self.type = known.type  # the same words
        elif known.type != self.type:
            self._restart(known)
        return ids

    def _restart(self, values: pa.Array) -> None:
        self.type = values.type
        self._table = IdTable.of_distinct(self._engine, id_words(values))


def concat_ids(columns: list[pa.Array | pa.ChunkedArray]) -> pa.Array:
    """One column after the other, in a common type."""
    columns = in_common_type(columns)
    chunks = [chunk for column in columns for chunk in (column.chunks if hasattr(column, "chunks") else [column])]
    return pa.concat_arrays(chunks) if chunks else pa.array([], columns[0].type)


def in_common_type(columns: list[Any]) -> list[Any]:
    """Arrow columns of ids in the type that holds all of them exactly."""
    types = {column.type for column in columns}
    if len(types) == 1:
        return columns
    common = _common(types, columns)
    try:
        return [column if column.type == common else column.cast(common) for column in columns]
    except pa.ArrowInvalid as error:  # a timestamp that the finer unit does not reach
        raise different_types(types) from error


def _common(types: set[pa.DataType], columns: list[Any]) -> pa.DataType:
    if not all(pa.types.is_integer(kind) for kind in types):
        common: pa.DataType | None = pa.null()
        for kind in sorted(types, key=str):
            common = None if common is None else common_id_type(common, kind)
        if common is None:
            raise different_types(types)
        return common
    if pa.uint64() not in types:
        return pa.int64()
    if any((pc.min(column).as_py() or 0) < 0 for column in columns if pa.types.is_signed_integer(column.type)):
        raise mixed_signs()
    return pa.uint64()


def mixed_signs() -> InvalidEdgesError:
    """Make the error for integers that no integer type holds all of."""
    message = "the partitions' ids lie below 0 and beyond 63 bits: they have no common integer type"
    return InvalidEdgesError(message, "cast the id columns to one integer type")


def different_types(types: set[pa.DataType]) -> InvalidEdgesError:
    """Make the error for ids of partitions that cannot be compared."""
    message = f"ids of different types in two partitions: {', '.join(sorted(map(str, types)))}"
    return InvalidEdgesError(message, "cast the id columns to one type in all partitions")
