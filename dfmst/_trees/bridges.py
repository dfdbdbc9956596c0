"""Bridges: rows whose loss disconnects their ends."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Unpack

import numpy as np

from dfmst._common.types import Array, Columns, FrameT
from dfmst._edges.composite import compose
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.read import read_table
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels
from dfmst._engines.primitives.tour import RootedTrees, root_trees
from dfmst._trees.forest import open_edges
from dfmst._trees.request import Request, Running, with_options
from dfmst.algorithms.solve import solve_table


@with_options("memory", Running, "edges")
def bridges(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    *,
    by: Columns | None = None,
    **options: Unpack[Running],
) -> FrameT:
    """Return the bridges of an edge table: the rows whose loss leaves no path between their ends.

    Every forest has all bridges. Parallel rows are never bridges: each is a path if the other is lost.

    Parameters
    ----------
    edges, source, target, by, engine, invalid, threads
        As for :func:`minimum_spanning_forest`.

    Returns
    -------
    rows
        The same kind of frame: rows of `edges` in input order, all columns, a pandas index kept.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 3, 4, 4], "target": [2, 3, 1, 4, 5, 5]})
    >>> dfmst.bridges(roads)
       source  target
    3       3       4

    References
    ----------
    Tarjan: A note on finding the bridges of a graph. Information Processing Letters 2 (1974).
    Tarjan, Vishkin: An efficient parallel biconnectivity algorithm. SIAM Journal on Computing 14 (1985).
    """
    request = Request.of(source, target, None, by=by, **options)
    view, runner = open_edges(edges, request.solver.engine, request.solver.threads)
    view = compose(runner, view, request.columns)
    with runner.guard():
        input = read_table(runner, view, request.columns)
        return view.take(runner, input.frame_rows(bridge_rows(runner, input.table)))  # type: ignore[no-any-return]


def bridge_rows(engine: Engine, table: EdgeTable) -> Array:
    """Return the bridges of a table, ascending.

    A row of a forest is a bridge if no other row leaves the vertices below it. These are consecutive in depth-first
    order, so that the least and the greatest place to which other rows lead from them decide.
    """
    xp = engine.xp
    rows = solve_table(engine, table)
    forest = rows.astype(np.uint32)
    source, target = xp.empty(len(forest), np.uint32), xp.empty(len(forest), np.uint32)
    engine.launch("gather_labels", len(forest), table.source, table.target, forest, None, source, target)
    trees = root_trees(
        engine, source, target, component_labels(engine, EdgeTable(source, target, source, table.vertices))
    )
    chosen = xp.zeros(len(table), np.uint8)
    chosen[forest] = 1
    least, greatest = (xp.arange(table.vertices, dtype=np.uint32) for _ in range(2))
    engine.launch("reach_orders", len(table), table.source, table.target, chosen, trees.order, least, greatest)
    below = trees.edge < np.uint32(len(forest))  # not at a root
    end = trees.order + trees.size
    least, greatest = _below(xp, trees, least, xp.minimum), _below(xp, trees, greatest, xp.maximum)
    closed = below & (least >= trees.order) & (greatest < end)
    found: Array = xp.sort(rows[trees.edge[closed]])
    return found


def _below(xp: ModuleType, trees: RootedTrees, entries: Array, function: Any) -> Array:
    """Fold entries, which are by depth-first order, over the vertices below each vertex and itself."""
    folded: Array = xp.empty_like(entries)
    for number in range(int(trees.size.max()).bit_length() if len(entries) else 0):
        width, half = 1 << number, 1 << number >> 1
        if half:
            entries = function(entries[:-half], entries[half:])  # of `width` vertices
        vertex = xp.flatnonzero(
            trees.size >> np.uint32(number) == 1
        )  # those of at least `width`, but not of twice that
        begin = trees.order[vertex].astype(np.int64)
        folded[vertex] = function(entries[begin], entries[begin + trees.size[vertex] - width])
    return folded
