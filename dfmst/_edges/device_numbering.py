"""Numbers of ids on a GPU: of integers, by a table of ids, and of other columns, by cuDF."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.device_columns import is_array
from dfmst._edges.vertices import Vertices, check_vertices
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import gather_keys
from dfmst._engines.primitives.id_table import IdTable, IdWords
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import CapacityError

_CUDF_ROWS = (1 << 31) - 1  # of a column of cuDF at most


def device_factorize(engine: Engine, source: Any, target: Any, *, in_order: bool) -> Vertices:
    """Number ids from 0: few integers by a sort of CuPy, many by a table of ids, others by cuDF's factorization."""
    xp, length = engine.xp, len(source)
    if is_array(source) and length >= _MANY:
        return _number_integers(engine, source, target, in_order)
    if is_array(source):
        values, codes = xp.unique(xp.concatenate([source, target]), return_inverse=True)
    else:
        if 2 * length > _CUDF_ROWS:
            message = f"{length:,} rows of ids that are not integers; cuDF numbers at most {_CUDF_ROWS // 2:,}"
            raise CapacityError(message, "number the ids with integers first, or spread the table over a Dask cluster")
        stacked = sys.modules["cudf"].concat([source, target], ignore_index=True)
        codes, values = stacked.factorize(sort=in_order)
        values = sys.modules["cudf"].Series(values)
    check_vertices(len(values))
    codes = codes.astype(np.uint32)
    return Vertices(codes[:length], codes[length:], len(values), values)


_MANY = 1 << 18  # rows from which a table of ids takes less memory than a sort, which takes some 120 bytes a row
_BLOCKS = 1 << 22, 1 << 24  # ids that a GPU looks up at a time: fewer would leave its threads idle


def _number_integers(engine: Engine, source: Array, target: Array, in_order: bool) -> Vertices:
    """Number integers by their first occurrence, or by their order: only the different ones are sorted."""
    table = IdTable(engine, texts=False)
    words = (
        column.view(np.uint64) if column.dtype.itemsize == 8 else column.astype(np.uint64)
        for column in (source, target)
    )
    first, second = (table.encode(IdWords(column), *_BLOCKS) for column in words)
    values = table.known.view(source.dtype) if source.dtype.itemsize == 8 else table.known.astype(source.dtype)
    if in_order:
        order = sort_order(engine, gather_keys(engine, values, None))
        rank = engine.xp.empty(len(values), np.uint32)
        rank[order] = engine.xp.arange(len(values), dtype=np.uint32)
        first, second, values = rank[first], rank[second], values[order]
    return Vertices(first, second, len(values), values)
