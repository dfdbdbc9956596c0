"""Forests after the removal of rows, from a reserve: the rows of the first layers of a table.

A row that is in no layer closes a cycle with rows before it in every layer. So it enters no later forest as long as
one layer is whole, or joins what its removed rows joined by rows that come before them: a cycle of the layer is then
still one of rows before it.

References
----------
Anderson, Blelloch, Tangwongsan: Work-efficient batch-incremental minimum spanning trees with applications to the
sliding-window model. SPAA 2020. Eppstein, Galil, Italiano, Nissenzweig: Sparsification - a technique for speeding up
dynamic graph algorithms. Journal of the ACM 44 (1997).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import whole_number
from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.conditions import group_codes, group_entries
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.unify import common_id_type
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import gather_edges
from dfmst._engines.primitives.kruskal_tree import build_kruskal_tree, rank_forest
from dfmst._trees.layers import edge_layers, without
from dfmst.algorithms import Algorithm
from dfmst.algorithms.base import Trace
from dfmst.algorithms.solve import resolve
from dfmst.errors import InvalidEdgesError, missing_column

_NO_ROW = int(np.iinfo(np.uint32).max)


def removed_rows(view: View, gone: View) -> Array:
    """Flag the rows that agree with one of `gone` in all columns of it, in the frame's memory."""
    names = tuple(gone.names)
    for name in names:
        if name not in view.names:
            raise missing_column(name, view.names, "removed= has columns of the forest, or some of them")
    if not names:
        raise InvalidEdgesError("removed has no column", "pass the removed rows with the columns that name them")
    if view.on_device:
        own, removed = group_codes(names, (view, None), (gone, None))
        among = view.xp.zeros(len(own) + len(removed), bool)
        among[removed] = True
        return among[own]  # type: ignore[no-any-return]
    rows = np.arange(len(view))
    for name in names:  # few rows remain for the exact comparison
        rows = rows[_may_be_among(name, view.column(name), gone.column(name), rows)]
    codes = group_codes(names, (view, rows), (gone, None))
    flags = np.zeros(len(view), bool)
    flags[rows[np.isin(codes[0], codes[1])]] = True
    return flags


def _may_be_among(name: Any, column: Any, values: Any, rows: Array) -> Array:
    """Flag the rows of a column whose entry is among the values; all rows of types that Arrow cannot look up."""
    entries, among = group_entries(name, column), group_entries(name, values)
    if pa.types.is_dictionary(entries.type) or pa.types.is_dictionary(among.type):
        return np.ones(len(rows), bool)
    common = common_id_type(entries.type, among.type)
    try:
        some = entries if len(rows) == len(entries) else entries.take(pa.array(rows))
        return np.asarray(pc.is_in(some.cast(common), value_set=among.cast(common)))
    except (pa.ArrowException, TypeError):
        return np.ones(len(rows), bool)


def rows_after_removal(
    engine: Engine,
    view: View,
    old: int,
    gone: View,
    columns: EdgeColumns,
    algorithm: str | Algorithm,
    *,
    layers: int | None = None,
    certain: bool = False,
) -> Array | InvalidEdgesError:
    """Return the frame's rows in the forest without the removed ones of the first `old` rows.

    It is an error that says which row has no certain replacement, if all rows must be read and these are not `certain`
    to be all.
    """
    depth = None if layers is None else whole_number("layers", layers)
    flags = removed_rows(view, gone)
    flags[old:] = False
    input, chosen = read_table(engine, view, columns), resolve(algorithm, engine)
    table = input.table
    if input.kept is not None:
        flags, old = flags[input.kept], int((input.kept < old).sum())
    flags = engine.from_host(flags)
    away = engine.xp.flatnonzero(flags)
    rest = without(engine, table.edges(), away, table.flip)
    assert rest.row is not None
    within = EdgeTable(rest.source, rest.target, rest.key, table.vertices)
    rows = rest.row[chosen.run(engine, within, Trace())].astype(np.int64)
    certain = certain or len(away) < (1 if depth is None else depth)  # a layer is whole
    if not certain:
        row = _first_uncertain(engine, table, old, flags, rows, chosen, depth)
        if row is not None:
            return _uncertain(int(input.frame_rows(engine.from_host(np.array([row])))[0]))
    return input.frame_rows(rows)


def _first_uncertain(
    engine: Engine, table: EdgeTable, old: int, flags: Array, rows: Array, algorithm: Algorithm, depth: int | None
) -> int | None:
    """Return a removed row whose replacement may be outside the table; ``None`` if none is."""
    forest = rank_forest(engine, gather_edges(engine, table.edges(), rows.astype(np.uint32), None, table.flip))
    trees = build_kruskal_tree(engine, forest.ends, table.vertices, contract=True)
    reserve = table.part(0, old)
    uncertain, found = None, 0
    for layer in edge_layers(engine, reserve, algorithm):
        away = layer[flags[layer]].astype(np.uint32)
        first = engine.xp.full(1, _NO_ROW, np.uint32)
        edges = gather_edges(engine, table.edges(), away, None, table.flip)
        engine.launch("find_lighter", len(edges), *edges, trees.top, trees.link, forest.key, forest.row, first)
        if int(first[0]) == _NO_ROW:
            return None
        uncertain, found = int(first[0]) if uncertain is None else uncertain, found + 1
    return None if depth is not None and found < depth else uncertain


def _uncertain(row: int) -> InvalidEdgesError:
    message = f"row {row} of the forest is removed, and the row that replaces it may be outside these rows"
    hint = "pass all old rows with edges=, or more layers of dfmst.in_forest as the forest"
    return InvalidEdgesError(message, hint, row=row)
