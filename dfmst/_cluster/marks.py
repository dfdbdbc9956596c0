"""Marks: a number of 64 bits for each row, made of its ids and weight.

A forest is found in one reading of the partitions, and its rows are gathered in another. The marks of a partition's
rows tell whether both saw the same. They depend on values alone, not on the types that hold them.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._cluster.tables import POSITION_BITS, column_values, weight_kind
from dfmst.errors import ClusterError
from dfmst.typing import Array

__all__ = ["IdTypes", "RowMarks", "changed", "digest_of", "id_words", "marks_by_partition", "row_marks", "types_of"]

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


def id_words(ids: Any) -> Array:
    """Return a number of 64 bits for each id: an integer's own, else a hash, the same in every process."""
    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if pa.types.is_integer(whole.type):
        values: Array = whole.to_numpy().astype(np.uint64 if whole.type == pa.uint64() else np.int64).view(np.uint64)
        return values
    from pandas.util import hash_array

    encoded = whole.dictionary_encode()
    words = encoded.dictionary
    if not (pa.types.is_binary(words.type) or pa.types.is_large_binary(words.type)):
        words = words.cast(pa.large_binary() if pa.types.is_fixed_size_binary(words.type) else pa.large_string())
    objects = words.to_numpy(zero_copy_only=False).astype(object)
    hashed: Array = hash_array(objects, categorize=False) if len(objects) else np.zeros(0, np.uint64)
    words_of_ids: Array = hashed[encoded.indices.to_numpy()]
    return words_of_ids


def changed(number: int, name: str = "") -> ClusterError:
    """Make the error for a partition that is not what it was when it was read before."""
    message = f"partition {number}{f' ({name})' if name else ''} came out differently when it was read again"
    hint = "every reading must give the same rows: call persist() on the frame first, or write it to files"
    return ClusterError(message, hint)
