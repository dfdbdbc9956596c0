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
import pyarrow.parquet

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._drive.plan.work import DENSE_ID, SPARSE_ID
from dfmst._edges import dictionary
from dfmst._edges.arrow_values import whole_ids
from dfmst._engines import CpuEngine
from dfmst.formats.files import open_native
from dfmst.formats.parquet import parquet_footer

_GROUPS = 8  # row groups that are read,
_MOST = 128  # or so many where they are small
_SAMPLE = 1 << 17  # rows of all of them
_CHANCE = 0.15  # by which estimates of halves differ


def kinds_of(often: Array) -> float:
    """Estimate of how many kinds there are, from how often each was drawn that was drawn at all.

    After Chao, "Nonparametric estimation of the number of classes in a population", Scandinavian Journal of Statistics
    11 (1984), in the form without bias: however unequal the kinds are, few are left where few were drawn but once.
    """
    once, twice = int((often == 1).sum()), int((often == 2).sum())
    return len(often) + once * (once - 1) / (2 * (twice + 1))


def estimate_vertices(
    files: Sequence[tuple[str | os.PathLike[str], Sequence[int] | None]], ends: tuple[Any, Any]
) -> int:
    """Estimate the vertices of Parquet files from rows of a few row groups.

    Half of the sample is compared with all of it: where it shows half as many vertices, as where rows lie in the order
    of their ids, the groups that were not read have others still; where it shows as many, they have none. Of a table
    whose rows are all read, the vertices are counted.
    """
    groups, rows = _groups_of(files)
    enough = -(-_SAMPLE * len(groups) // max(1, rows))
    step = max(1, -(-len(groups) // max(_GROUPS, min(_MOST, enough))))
    chosen = groups[step // 2 :: step]
    most = _SAMPLE // max(1, len(chosen))
    samples = [ids for ids in (_sample(path, group, ends, most) for path, group, _ in chosen) if len(ids)]
    if not samples:
        return 0
    if step == 1 and all(count < 2 * most for *_, count in groups):
        return len(np.unique(np.concatenate(samples)))
    total = _drawn(samples)
    growth = 0.0
    if len(samples) > 1:
        half = samples[::2]
        more = math.log(total / _drawn(half)) / math.log(len(samples) / len(half))
        growth = min(1.0, max(0.0, (more - _CHANCE) / (1 - _CHANCE)))
    return int(total * (len(groups) / len(samples)) ** growth)


def _drawn(samples: Sequence[Array]) -> float:
    """Estimate how many vertices the samples were drawn from."""
    return kinds_of(np.unique(np.concatenate(samples), return_counts=True)[1])


def _groups_of(
    files: Sequence[tuple[str | os.PathLike[str], Sequence[int] | None]],
) -> tuple[list[tuple[str | os.PathLike[str], int, int]], int]:
    """Path, number and rows of all row groups, and the rows of all."""
    groups = []
    for path, chosen in files:
        footer = parquet_footer(path)
        numbers = range(footer.num_row_groups) if chosen is None else chosen
        groups += [(path, number, footer.row_group(number).num_rows) for number in numbers]
    return groups, sum(count for *_, count in groups)


def _sample(path: str | os.PathLike[str], group: int, ends: tuple[Any, Any], most: int) -> Array:
    """Hashes of both ids of some rows of a row group."""
    return np.concatenate([id_words(column) for column in _sampled_columns(path, group, ends, most)])


def _sampled_columns(
    path: str | os.PathLike[str], group: int, ends: tuple[Any, Any], most: int
) -> list[pa.ChunkedArray]:
    """Both ids of about so many rows of a row group, or of all."""
    with open_native(path) as native, pyarrow.parquet.ParquetFile(native) as file:
        table = file.read_row_group(group, columns=list(ends))
    taken = table.take(pa.array(np.arange(0, table.num_rows, max(1, table.num_rows // most))))
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
    """Return the bytes of an id of Parquet files, as it travels."""
    for path, chosen in files:
        for group in range(parquet_footer(path).num_row_groups) if chosen is None else chosen:
            columns = _sampled_columns(path, group, ends, _SAMPLE // _GROUPS)
            if not len(columns[0]):
                continue
            if pa.types.is_integer(columns[0].type):
                return DENSE_ID if dense else SPARSE_ID
            content = sum(pc.sum(pc.binary_length(_plain(column))).as_py() or 0 for column in columns)
            return SPARSE_ID + round(content / sum(map(len, columns)))
    return DENSE_ID


def id_words(ids: Any) -> Array:
    """Return a number of 64 bits for each id: an integer's own, else a hash of its bytes."""
    whole = whole_ids(ids) if isinstance(ids, pa.ChunkedArray) else ids
    words = dictionary.id_words(dictionary.plain(whole)).hashed(CpuEngine(threads=1), 0, len(whole))
    assert words.word is not None
    return words.word
