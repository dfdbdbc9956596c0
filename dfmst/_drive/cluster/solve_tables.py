"""The forest of several tables of integer ids, on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dfmst._common.types import Array
from dfmst._drive.cluster.device_tables import Columns, Table, columns_of, kept, like_of, metadata_of
from dfmst._drive.cluster.tables import check_kinds, empty_table, weight_kind
from dfmst._edges.dictionary import mixed_signs
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.encode import DeviceEncoder, Encoder
from dfmst._engines import Engine
from dfmst.algorithms.solve import solve_table

_LEAST_DENSE = 4096  # vertices


def solve_tables(engine: Engine, tables: Sequence[Table]) -> Table:
    """Return the forest of tables whose ids are integers, by ascending locator, found on a GPU."""
    filled = [table for table in tables if table.num_rows]
    if not filled:
        return empty_table()
    check_kinds(weight_kind(like_of(table)) for table in filled)
    columns = _concat(engine, [columns_of(engine, table) for table in filled])
    if bool((columns.row[1:] < columns.row[:-1]).any()):
        columns = columns.take(engine.xp.argsort(columns.row))
    encoder = _encoder(engine, len(columns.row))
    source, target = encoder.encode(columns.ids)
    forest = solve_table(engine, EdgeTable(source, target, columns.key, encoder.count))
    return kept(engine, columns.take(forest), metadata_of(filled[0]))


def _encoder(engine: Engine, rows: int) -> Encoder:
    return DeviceEncoder(max(2 * rows, _LEAST_DENSE), engine=engine)


def _concat(engine: Engine, parts: list[Columns]) -> Columns:
    """One table after the other; ids in common types."""
    if len(parts) == 1:
        return parts[0]
    joined = []
    for place in range(len(Columns._fields)):
        columns = [part[place] for part in parts]
        if place < 2:
            columns = _in_common_type(columns)
        joined.append(engine.xp.concatenate(columns))
    return Columns(*joined)


def _in_common_type(columns: list[Array]) -> list[Array]:
    """Integers in the type that holds all of them."""
    kinds = {column.dtype for column in columns}
    if len(kinds) == 1:
        return columns
    common: Any = np.int64
    if np.dtype(np.uint64) in kinds:
        if any(column.dtype.kind == "i" and len(column) and int(column.min()) < 0 for column in columns):
            raise mixed_signs()
        common = np.uint64
    return [column.astype(common, copy=False) for column in columns]
