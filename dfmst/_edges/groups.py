"""Groups of rows, each with its own graph: vertices are pairs of a group and an id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.conditions import NO_CONDITIONS, group_codes, group_entries, pair_vertices
from dfmst._edges.edge_table import Input, move_table
from dfmst._edges.host_frame import FrameView
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.vertex_list import Groups, VertexList
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.edges import used_vertices


def check_one_graph(vertices: Any) -> None:
    """Raise an error for a list of vertices, which is that of one graph."""
    if vertices is not None:
        raise ValueError("vertices= lists the vertices of one graph; leave it out with by=")


def read_groups(engine: Engine, view: FrameView, columns: EdgeColumns) -> tuple[Input, VertexList, Array]:
    """Read a table whose vertices are pairs, and list them by group and id, both ascending; nulls are the last group.

    The third entry is the table's vertex at each place.
    """
    host = host_engine(engine)
    base = read_table(host, view, replace(columns, conditions=NO_CONDITIONS), in_order=True)
    code, row = _ranked_groups(view, columns.conditions.by, base.kept)
    total = base.table.vertices
    pairs = pair_vertices(host, code, base.table.source, base.table.target, total, in_order=True)
    table = replace(base.table, source=pairs.source, target=pairs.target, vertices=pairs.total)
    occurs = used_vertices(host, table)
    pair = np.flatnonzero(occurs)
    value = pair if pairs.values is None else np.asarray(pairs.values)[pair].astype(np.int64)
    begin = np.searchsorted(value, np.arange(len(row) + 1) * total)
    place = np.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
    groups = Groups(columns.conditions.by, row, begin)
    names = columns.source, columns.target
    listed = VertexList(host, view, names, base, value % max(total, 1), place, None, groups)
    input = replace(base, table=table, vertices=pairs)
    input = input if engine.on_host else replace(input, table=move_table(engine, table), moved_by=engine)
    return input, listed, pair


def _ranked_groups(view: FrameView, names: tuple[Any, ...], kept: Array | None) -> tuple[Array, Array]:
    """Number the rows' groups in ascending order, and return a row of each group."""
    (code,) = group_codes(names, (view, kept))
    row = np.unique(code, return_index=True)[1]
    row = row if kept is None else kept[row]
    entries = [group_entries(name, view.column(name)).take(pa.array(row)) for name in names]
    values = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in entries]
    try:
        keys = [(str(at), "ascending") for at in range(len(values))]
        order = pc.sort_indices(pa.table(values, list(map(str, range(len(values))))), sort_keys=keys).to_numpy()
    except pa.ArrowException:  # values without an order: groups as they first occur
        order = np.argsort(row)
    rank = np.empty(len(row), np.uint64)
    rank[order] = np.arange(len(row), dtype=np.uint64)
    return rank[code], row[order]
