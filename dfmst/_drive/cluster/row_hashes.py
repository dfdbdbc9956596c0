"""Row hashes: 64 bits for each row, made of its ids and weight.

A forest is found in one reading of the partitions, and its rows are gathered in another. The hashes of a partition's
rows show whether both readings agree. They depend on values alone, not on the types of the columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.devices import TaskColumns, register_for_gpus
from dfmst._drive.cluster.graph import false_checkpoint
from dfmst._drive.cluster.tables import DeviceTable, Table, column_values, columns_of, weight_kind
from dfmst._drive.plan.plan import id_words
from dfmst._engines import CpuEngine, Engine
from dfmst._fold.checkpoint import is_below
from dfmst.errors import ClusterError

_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class ColumnTypes(NamedTuple):
    """The types of both id columns, and the kind of the weights."""

    source: pa.DataType
    target: pa.DataType
    kind: str


@register_for_gpus
class RowHashes(NamedTuple):
    """Hashes of a partition's edges by their position, on the GPU if it has the partition."""

    columns: TaskColumns
    types: ColumnTypes

    @classmethod
    def of_table(cls, table: Table) -> RowHashes:
        """Hash the edges of a partition, which has some."""
        engine: Engine = table.columns.engine if isinstance(table, DeviceTable) else CpuEngine(1)
        position = columns_of(engine, table).row.astype(np.uint32)
        hashes = engine.xp.zeros(int(position[-1]) + 1, np.uint64)
        hashes[position] = row_hashes(table)
        return cls(TaskColumns.stored(engine, hashes), column_types(table))

    def digest(self, position: Array) -> int:
        """Return the digest of the rows at these positions, which are on the host."""
        engine = self.columns.engine
        with engine.guard():
            (hashes,) = self.columns.on(engine)
            if not is_below(position, len(hashes)):
                raise false_checkpoint()
            return digest_of(hashes[engine.from_host(position)], engine.xp)


def column_types(table: Table) -> ColumnTypes:
    """Return the types of a table."""
    types = table.columns.types if isinstance(table, DeviceTable) else table.schema.types
    return ColumnTypes(types[0], types[1], weight_kind(table))


def row_hashes(table: Table) -> Array:
    """Return the hash of each row, in the memory of the table; an edge has the same one in both directions."""
    xp: Any = np
    if isinstance(table, DeviceTable):
        engine = table.columns.engine
        columns, xp = columns_of(engine, table), engine.xp
        first, second, key = *map(_words, columns[:2]), columns.key
    else:
        first, second = (id_words(table.column(name)) for name in ("source", "target"))
        key = column_values(table, "key")
    hashes: Array = xp.minimum(first, second)
    for factor, more in zip(
        _FACTORS, (xp.maximum(first, second), key.astype(np.uint64, copy=False), np.uint64(0)), strict=True
    ):
        _mix(hashes, factor)
        hashes += more
    return hashes


def _mix(hashes: Array, factor: np.uint64) -> None:
    hashes *= factor
    hashes ^= hashes >> np.uint64(32)


def _words(column: Array) -> Array:
    """Integers as :func:`dfmst._drive.plan.plan.id_words` returns them."""
    return column.astype(np.int64 if column.dtype.kind == "i" else np.uint64, copy=False).view(np.uint64)


def digest_of(hashes: Array, xp: Any = np) -> int:
    """Return one number of 64 bits for rows in their order; `xp` is the array module of the hashes.

    A GPU and the host return the same number, and only this number leaves a GPU.
    """
    words = xp.arange(1, len(hashes) + 1, dtype=np.uint64)
    words *= _FACTORS[0]
    words += hashes
    for factor in _FACTORS:
        _mix(words, factor)
    return int(words.sum(dtype=np.uint64))


def changed(number: int, name: str = "") -> ClusterError:
    """Make the error for a partition that differs between two readings."""
    message = f"partition {number}{f' ({name})' if name else ''} came out differently when it was read again"
    hint = "every reading must give the same rows: call persist() on the frame first, or write it to files"
    return ClusterError(message, hint)
