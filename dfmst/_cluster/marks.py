"""Marks: a number of 64 bits for each row, made of its ids and weight.

A forest is found in one reading of the partitions, and its rows are gathered in another. The marks of a partition's
rows tell whether both saw the same. They depend on values alone, not on the types that hold them.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._cluster.hashing import id_words
from dfmst._cluster.tables import POSITION_BITS, column_values, weight_kind
from dfmst.errors import ClusterError
from dfmst.typing import Array

__all__ = ["IdTypes", "RowMarks", "changed", "digest_of", "marks_by_partition", "row_marks", "types_of"]

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


def marks_by_partition(table: pa.Table) -> Iterator[tuple[int, RowMarks]]:
    """Give the number of each partition that has rows in a table, and their marks; locators ascend."""
    row, marks, types = column_values(table, "row"), row_marks(table), types_of(table)
    number = row >> np.uint64(POSITION_BITS)
    bounds = [0, *(np.flatnonzero(number[1:] != number[:-1]) + 1).tolist(), len(row)]
    for begin, end in itertools.pairwise(bounds if len(row) else []):
        yield int(number[begin]), RowMarks(row[begin:end].astype(np.uint32), marks[begin:end].copy(), types)


def digest_of(marks: Array) -> int:
    """Return one number of 64 bits for rows in their order."""
    return int.from_bytes(hashlib.blake2b(marks.tobytes(), digest_size=8).digest(), "little")


def changed(number: int, name: str = "") -> ClusterError:
    """Make the error for a partition that is not what it was when it was read before."""
    message = f"partition {number}{f' ({name})' if name else ''} came out differently when it was read again"
    hint = "every reading must give the same rows: call persist() on the frame first, or write it to files"
    return ClusterError(message, hint)
