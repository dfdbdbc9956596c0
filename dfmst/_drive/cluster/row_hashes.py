"""Row hashes: 64 bits for each row, made of its ids and weight.

A forest is found in one reading of the partitions, and its rows are gathered in another. The hashes of a partition's
rows show whether both readings agree. They depend on values alone, not on the types of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.checkpoint import false_checkpoint
from dfmst._drive.cluster.devices import TaskColumns, register_for_gpus
from dfmst._drive.cluster.partitions import FileRows
from dfmst._drive.cluster.tables import (
    POSITION_BITS,
    DeviceTable,
    Table,
    column_values,
    columns_of,
    like_of,
    weight_kind,
)
from dfmst._drive.plan.plan import id_words
from dfmst._engines import CpuEngine, Engine
from dfmst.errors import ClusterError

_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFT = np.uint64(32)


class IdTypes(NamedTuple):
    """In which types the marks were made, and what the weights were."""

    source: pa.DataType
    target: pa.DataType
    kind: str


@register_for_gpus
class RowMarks(NamedTuple):
    """Ascending positions of some rows of one partition, and their marks: on the GPU where the partition lies there."""

    columns: TaskColumns
    types: IdTypes

    def digest(self, position: Array) -> int:
        """Return the digest of the rows at these positions, which lie on the host."""
        engine = self.columns.engine
        with engine.guard():
            known, mark = self.columns.on(engine)
            if len(position) and (not len(known) or int(position[-1]) > int(known[-1])):
                raise false_checkpoint()
            return digest_of(mark[engine.xp.searchsorted(known, engine.from_host(position))], engine.xp)


def types_of(table: Table) -> IdTypes:
    """Return the types of a table that travels."""
    kind = weight_kind(like_of(table))
    if isinstance(table, DeviceTable):
        source, target = (pa.from_numpy_dtype(table.columns.dtype(place)) for place in (0, 1))
        return IdTypes(source, target, kind)
    return IdTypes(table.schema.field("source").type, table.schema.field("target").type, kind)


def row_marks(table: Table) -> Array:
    """Return the mark of each row, where the table lies; an edge has the same one in both directions."""
    xp: Any = np
    if isinstance(table, DeviceTable):
        engine = table.columns.engine
        columns, xp = columns_of(engine, table), engine.xp
        first, second, key = *map(_words, columns[:2]), columns.key
    else:
        first, second = (id_words(table.column(name)) for name in ("source", "target"))
        key = column_values(table, "key")
    mark: Array = xp.minimum(first, second) * _FACTORS[0]
    mark ^= mark >> _SHIFT
    mark += xp.maximum(first, second)
    mark *= _FACTORS[1]
    mark ^= mark >> _SHIFT
    mark += key.astype(np.uint64, copy=False)
    mark *= _FACTORS[2]
    mark ^= mark >> _SHIFT
    return mark


def _words(column: Array) -> Array:
    """Integers as :func:`dfmst._drive.plan.plan.id_words` has them."""
    return column.astype(np.int64 if column.dtype.kind == "i" else np.uint64, copy=False).view(np.uint64)


def is_marked(parts: Sequence[Any]) -> bool:
    """Whether the rows of a group of partitions need marks; those of files do not, which are known by their stamps."""
    return not isinstance(parts[0], FileRows)


class GroupMarks:
    """Marks of those edges of a group of partitions that are kept.

    Attributes
    ----------
    side
        Where the marks lie: where the first partition does.
    """

    def __init__(self, first: int, parts: Sequence[Any]) -> None:
        self._first = first
        self._marked = is_marked(parts)
        self._kept: list[list[_Marked]] = [[] for _ in parts]
        self._waiting: dict[int, _Marked] = {}
        self.side: Engine = CpuEngine(1)

    def begin(self, number: int, table: Table) -> None:
        """Mark all edges of a partition."""
        if not self._marked:
            return
        own: Engine = table.columns.engine if isinstance(table, DeviceTable) else CpuEngine(1)
        if not (self._waiting or any(self._kept)):
            self.side = own
        position, mark = columns_of(own, table).row.astype(np.uint32), row_marks(table)
        move = own.to_host if self.side.on_host else self.side.from_host
        self._waiting[number] = _Marked(move(position), move(mark), types_of(table))

    def keep(self, locator: Array) -> None:
        """Keep the marks of edges at ascending locators, which lie beside; no earlier ones of their partitions follow.

        There is a mark for each of them.
        """
        xp, numbers = self.side.xp, np.array(list(self._waiting), np.uint64)
        firsts = np.concatenate([numbers, numbers + np.uint64(1)]) << np.uint64(POSITION_BITS)
        places = self.side.to_host(xp.searchsorted(locator, self.side.from_host(firsts))).tolist()
        for number, begin, end in zip(numbers.tolist(), places, places[len(numbers) :], strict=False):
            known, position = self._waiting[number], locator[begin:end].astype(np.uint32)
            mark = known.mark[xp.searchsorted(known.position, position)]
            self._kept[number - self._first].append(_Marked(position, mark, known.types))
        for number in list(self._waiting)[:-1]:  # later rows are those of the last one
            del self._waiting[number]

    def kept(self) -> list[RowMarks | None]:
        """Return each partition's marks; ``None`` for a file, and where there are no edges."""
        return [_joined(self.side, parts) if parts else None for parts in self._kept]


class _Marked(NamedTuple):
    """Marks of some rows of one partition, at ascending positions."""

    position: Array
    mark: Array
    types: IdTypes


def _joined(side: Engine, parts: list[_Marked]) -> RowMarks:
    position, mark = (side.xp.concatenate([part[place] for part in parts]) for place in (0, 1))
    return RowMarks(TaskColumns(side, position, mark), parts[0].types)


def digest_of(marks: Array, xp: Any = np) -> int:
    """Return one number of 64 bits for rows in their order, the same on either side; `xp` is the marks' array module.

    Only this number leaves a GPU.
    """
    word = xp.arange(1, len(marks) + 1, dtype=np.uint64) * _FACTORS[0]
    word += marks
    word ^= word >> _SHIFT
    word *= _FACTORS[1]
    word ^= word >> _SHIFT
    word *= _FACTORS[2]
    word ^= word >> _SHIFT
    return int(word.sum(dtype=np.uint64))


def changed(number: int, name: str = "") -> ClusterError:
    """Make the error for a partition that is not what it was when it was read before."""
    message = f"partition {number}{f' ({name})' if name else ''} came out differently when it was read again"
    hint = "every reading must give the same rows: call persist() on the frame first, or write it to files"
    return ClusterError(message, hint)
