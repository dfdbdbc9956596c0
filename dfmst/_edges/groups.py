"""Groups of rows, each with its own graph: vertices are pairs of a group and an id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.conditions import NO_CONDITIONS, group_codes, pair_vertices
from dfmst._edges.edge_table import Input, move_table
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.vertex_list import Groups, VertexList
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import used_vertices


def check_one_graph(vertices: Any) -> None:
    """Raise an error for a list of vertices, which is that of one graph."""
    if vertices is not None:
        raise ValueError("vertices= lists the vertices of one graph; leave it out with by=")


def read_groups(engine: Engine, view: View, columns: EdgeColumns) -> tuple[Input, VertexList, Array]:
    """Read a table whose vertices are pairs, and list them by group and id, both ascending; nulls are the last group.

    The third entry is the table's vertex at each place.
    """
    reader = view.engine(engine)
    xp = reader.xp
    base = read_table(reader, view, replace(columns, conditions=NO_CONDITIONS), in_order=True)
    code, row = _ranked_groups(reader, view, columns.conditions.by, base.kept)
    total = base.table.vertices
    pairs = pair_vertices(reader, code, base.table.source, base.table.target, total, in_order=True)
    table = replace(base.table, source=pairs.source, target=pairs.target, vertices=pairs.total)
    occurs = used_vertices(reader, table)
    pair = value = xp.flatnonzero(occurs)
    if pairs.values is not None:
        values = pairs.values if view.on_device else np.asarray(pairs.values)
        value = values[pair].astype(np.int64)
    begin = xp.searchsorted(value, xp.arange(len(row) + 1) * total)
    place = xp.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
    groups = Groups(columns.conditions.by, row, begin, value // max(total, 1))
    names = columns.source, columns.target
    listed = VertexList(reader, view, names, base, value % max(total, 1), place, None, groups)
    input = replace(base, table=table, vertices=pairs)
    moved = not engine.on_host and not view.on_device
    return replace(input, table=move_table(engine, table), moved_by=engine) if moved else input, listed, pair


def _ranked_groups(engine: Engine, view: View, names: tuple[Any, ...], kept: Array | None) -> tuple[Array, Array]:
    """Number the rows' groups in ascending order, and return a row of each group."""
    (code,) = group_codes(names, (view, kept))
    row = engine.xp.unique(code, return_index=True)[1]
    row = row if kept is None else kept[row]
    order = view.order(engine, names, row)
    rank = engine.xp.empty(len(row), np.uint64)
    rank[order] = engine.xp.arange(len(row), dtype=np.uint64)
    return rank[code], row[order]
