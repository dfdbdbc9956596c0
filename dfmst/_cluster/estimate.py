"""How many vertices a table has, from a sample of its rows.

Estimates decide how work is dealt out and what is planned, never what comes out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from dfmst._cluster.hashing import id_words
from dfmst._cluster.work import DENSE_ID, SPARSE_ID
from dfmst.formats.footers import parquet_footer
from dfmst.formats.native import open_native
from dfmst.typing import Array

__all__ = ["draws_of", "estimate_vertices", "id_bytes_of"]

_GROUPS = 8  # row groups that are read
_SAMPLE = 1 << 14  # rows of each


def draws_of(seen: int, draws: int) -> float:
    """Of how many things so many random draws show so many different ones.

    Of n things, d draws show n · (1 − exp(−d / n)) on average; that is solved for n.

    Examples
    --------
    >>> round(draws_of(seen=632, draws=1000))
    999
    """
    low, high = float(seen), float(seen) * draws
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if -middle * math.expm1(-draws / middle) < seen else (low, middle)
    return max(high, seen)


def estimate_vertices(
    files: Sequence[tuple[str | os.PathLike[str], Sequence[int] | None]], ends: tuple[Any, Any]
) -> int:
    """Estimate the vertices of Parquet files from rows of a few row groups.

    The groups are compared: where each shows other vertices, as where rows lie in the order of their ids, the groups
    that were not read have others still; where all show the same ones, they have none.

    Parameters
    ----------
    files
        Path and row groups (``None``: all) of each.
    ends
        Names of the id columns.
    """
    groups = [
        (path, group)
        for path, chosen in files
        for group in (range(parquet_footer(path).num_row_groups) if chosen is None else chosen)
    ]
    step = max(1, -(-len(groups) // _GROUPS))
    samples = [ids for ids in (_sample(*group, ends) for group in groups[step // 2 :: step]) if len(ids)]
    if not samples:
        return 0
    alone = sum(draws_of(len(np.unique(ids)), len(ids)) for ids in samples) / len(samples)
    together = np.concatenate(samples)
    total = draws_of(len(np.unique(together)), len(together))
    growth = 0.0
    if len(samples) > 1 and total > alone:
        growth = min(1.0, math.log(total / alone) / math.log(len(samples)))
    return int(total * (len(groups) / len(samples)) ** growth)


def _sample(path: str | os.PathLike[str], group: int, ends: tuple[Any, Any]) -> Array:
    """Hashes of both ids of some rows of a row group."""
    return np.concatenate([id_words(column) for column in _sampled_columns(path, group, ends)])


def _sampled_columns(path: str | os.PathLike[str], group: int, ends: tuple[Any, Any]) -> list[pa.ChunkedArray]:
    """Both ids of some rows of a row group."""
    with open_native(path) as native, pyarrow.parquet.ParquetFile(native) as file:
        table = file.read_row_group(group, columns=list(ends))
    taken = table.take(pa.array(np.arange(0, table.num_rows, max(1, table.num_rows // _SAMPLE))))
    return [pc.drop_null(taken.column(name)) for name in ends]


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids that are no integers as texts."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    binary = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
    return column if binary else column.cast(pa.large_string())


def id_bytes_of(
    files: Sequence[tuple[str | os.PathLike[str], Sequence[int] | None]], ends: tuple[Any, Any], dense: bool
) -> int:
    """Return the bytes of an id of Parquet files, as it travels.

    Parameters
    ----------
    files
        Path and row groups (``None``: all) of each.
    ends
        Names of the id columns.
    dense
        Whether integers are their own vertices.
    """
    for path, chosen in files:
        for group in range(parquet_footer(path).num_row_groups) if chosen is None else chosen:
            columns = _sampled_columns(path, group, ends)
            if not len(columns[0]):
                continue
            if pa.types.is_integer(columns[0].type):
                return DENSE_ID if dense else SPARSE_ID
            content = sum(pc.sum(pc.binary_length(_plain(column))).as_py() or 0 for column in columns)
            return SPARSE_ID + round(content / sum(map(len, columns)))
    return DENSE_ID
