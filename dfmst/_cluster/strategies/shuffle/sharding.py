"""Which shard owns a vertex: a hash of its id, the same in every process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from dfmst._cluster.hashing import id_words
from dfmst._cluster.tables import column_values, concat
from dfmst._columns.encode import different_types
from dfmst.typing import Array

__all__ = ["Sharding", "concat_pieces", "wide_ids"]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def wide_ids(table: pa.Table) -> pa.Table:
    """The table with integer ids of 64 bits, which are then of one type in all tasks (huge ones wrap around)."""
    for place, name in enumerate(("source", "target")):
        if pa.types.is_integer(table.schema.field(name).type):
            table = table.set_column(place, name, pa.array(column_values(table, name).astype(np.int64)))
    return table


def concat_pieces(tables: list[pa.Table]) -> pa.Table:
    """Put pieces of a shard together; owners were found by ids of one type, unlike those that are merged.

    Raises
    ------
    InvalidEdgesError
        Ids of different types.
    """
    types = {table.schema.field(name).type for table in tables if table.num_rows for name in ("source", "target")}
    if len(types) > 1 and not all(pa.types.is_integer(kind) for kind in types):
        raise different_types(types)
    return concat(tables)


@dataclass(frozen=True, slots=True)
class Sharding:
    """Spreads vertices over shards.

    Attributes
    ----------
    shards
        How many there are.
    block_bits
        Integers that agree but for so many last bits go together, as neighbours often have ids close by.
    """

    shards: int
    block_bits: int = 8

    def owner(self, ids: pa.Array) -> Array:
        """The shard of each id, ``int64``."""
        if pa.types.is_integer(ids.type):
            hashed = (ids.to_numpy().astype(np.int64) >> self.block_bits).view(np.uint64) * _FACTOR >> np.uint64(32)
            return self._place(hashed)
        return self._place(id_words(ids))

    def _place(self, hashed: Array) -> Array:
        place: Array = (hashed % np.uint64(self.shards)).astype(np.int64)
        return place
