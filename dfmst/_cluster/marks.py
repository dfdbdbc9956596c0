"""Marks: a number of 64 bits for each row, made of its ids and weight.

A forest is found in one reading of the partitions, and its rows are gathered in another. The marks of a partition's
rows tell whether both saw the same. They depend on values alone, not on the types that hold them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._cluster.files import FileRows
from dfmst._cluster.hashing import id_words
from dfmst._cluster.tables import POSITION_BITS, column_values, weight_kind
from dfmst.errors import ClusterError
from dfmst.typing import Array

__all__ = ["GroupMarks", "IdTypes", "RowMarks", "changed", "digest_of", "is_marked", "row_marks", "types_of"]

_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFT = np.uint64(32)


class IdTypes(NamedTuple):
    """In which types the marks were made, and what the weights were."""

    source: pa.DataType
    target: pa.DataType
    kind: str


class RowMarks(NamedTuple):
    """Marks of some rows of one partition, at ascending positions."""

    position: Array
    mark: Array
    types: IdTypes


def types_of(table: pa.Table) -> IdTypes:
    """Return the types of a table that travels."""
    return IdTypes(table.schema.field("source").type, table.schema.field("target").type, weight_kind(table))


def row_marks(table: pa.Table) -> Array:
    """Return the mark of each row; an edge has the same one in both directions."""
    first, second = (id_words(table.column(name)) for name in ("source", "target"))
    mark = np.minimum(first, second) * _FACTORS[0]
    mark ^= mark >> _SHIFT
    mark += np.maximum(first, second)
    mark *= _FACTORS[1]
    mark ^= mark >> _SHIFT
    mark += column_values(table, "key").astype(np.uint64, copy=False)
    mark *= _FACTORS[2]
    mark ^= mark >> _SHIFT
    return mark


def is_marked(parts: Sequence[Any]) -> bool:
    """Whether the rows of a group of partitions need marks; those of files do not, which are known by their stamps."""
    return not isinstance(parts[0], FileRows)


class GroupMarks:
    """Marks of those edges of a group of partitions that are kept.

    Parameters
    ----------
    first
        Number of the first partition.
    parts
        The partitions.
    """

    def __init__(self, first: int, parts: Sequence[Any]) -> None:
        self._first = first
        self._marked = is_marked(parts)
        self._kept: list[list[RowMarks]] = [[] for _ in parts]
        self._waiting: dict[int, RowMarks] = {}

    def begin(self, number: int, table: pa.Table) -> None:
        """Mark all edges of a partition."""
        if self._marked:
            position = column_values(table, "row").astype(np.uint32)
            self._waiting[number] = RowMarks(position, row_marks(table), types_of(table))

    def keep(self, locator: Array) -> None:
        """Keep the marks of edges at ascending locators; no earlier ones of their partitions follow."""
        bounds = np.array(list(self._waiting), np.uint64)
        begins = np.searchsorted(locator, bounds << np.uint64(POSITION_BITS)).tolist()
        ends = np.searchsorted(locator, bounds + np.uint64(1) << np.uint64(POSITION_BITS)).tolist()
        for number, begin, end in zip(list(self._waiting), begins, ends, strict=True):
            known, position = self._waiting[number], locator[begin:end].astype(np.uint32)
            mark = known.mark[np.searchsorted(known.position, position)]
            self._kept[number - self._first].append(RowMarks(position, mark, known.types))
        for number in list(self._waiting)[:-1]:  # later rows are those of the last one
            del self._waiting[number]

    def kept(self) -> list[RowMarks | None]:
        """Return each partition's marks; ``None`` for a file, and where there are no edges."""
        return [_joined(parts) if parts else None for parts in self._kept]


def _joined(parts: list[RowMarks]) -> RowMarks:
    position, mark = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    return RowMarks(position, mark, parts[0].types)


def digest_of(marks: Array) -> int:
    """Return one number of 64 bits for rows in their order."""
    return int.from_bytes(hashlib.blake2b(marks.tobytes(), digest_size=8).digest(), "little")


def changed(number: int, name: str = "") -> ClusterError:
    """Make the error for a partition that is not what it was when it was read before."""
    message = f"partition {number}{f' ({name})' if name else ''} came out differently when it was read again"
    hint = "every reading must give the same rows: call persist() on the frame first, or write it to files"
    return ClusterError(message, hint)
