"""Bridges: rows whose loss disconnects their ends."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Unpack

import numpy as np

from dfmst._common.types import Array, Columns, FrameT
from dfmst._edges.composite import compose
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.read import read_table
from dfmst._edges.weights import constant_weights
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels, contract
from dfmst._engines.primitives.tour import RootedTrees, root_trees
from dfmst._trees.forest import open_edge_frame
from dfmst._trees.request import Request, Running, with_options
from dfmst.algorithms.solve import solve_table


@with_options("memory", "edges")
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
    view, runner = open_edge_frame(edges, request.solver.engine, request.solver.threads)
    view = compose(runner, view, request.columns)
    with runner.guard():
        input = read_table(runner, view, request.columns)
        return view.take(runner, input.frame_rows(bridge_rows(runner, input.table)))  # type: ignore[no-any-return]


def bridge_rows(engine: Engine, table: EdgeTable) -> Array:
    """Return the bridges of a table, ascending.

    They are in every forest. Of most graphs the rows outside a forest join most vertices, and no row between two of
    these is a bridge: each of their components becomes one vertex, and few rows of the forest are left.
    """
    rows = solve_table(engine, table)
    target = table.target.copy()
    target[rows] = table.source[rows]  # rows outside the forest, and self-loops
    joined = component_labels(engine, EdgeTable(table.source, target, target, table.vertices))
    label, vertices = contract(engine, joined)
    source, target = label[table.source[rows]], label[table.target[rows]]
    (between,) = (source != target).nonzero()
    source, target, rows = source[between], target[between], rows[between]
    weight = constant_weights(len(rows), engine.xp).values
    found: Array = rows[_rooted_bridges(engine, EdgeTable(source, target, weight, vertices))]
    return found


def _rooted_bridges(engine: Engine, table: EdgeTable) -> Array:
    """Find bridges from the vertices below the rows of a forest.

    A row of a forest is a bridge if no other row leaves the vertices below it. These are consecutive in depth-first
    order, so that the least and the greatest place to which other rows lead from them decide.
    """
    xp = engine.xp
    rows = solve_table(engine, table)
    forest = rows.astype(np.uint32)
    source, target = table.source[rows], table.target[rows]
    label = component_labels(engine, EdgeTable(source, target, source, table.vertices))
    trees = root_trees(engine, source, target, label)
    chosen = xp.zeros(len(table), np.uint8)
    chosen[forest] = 1
    least, greatest = (xp.arange(table.vertices, dtype=np.uint32) for _ in range(2))
    engine.launch("reach_orders", len(table), table.source, table.target, chosen, trees.order, least, greatest)
    below = trees.edge < np.uint32(len(forest))  # not at a root
    end = trees.order + trees.size
    least, greatest = _below(xp, trees, (xp.minimum, least), (xp.maximum, greatest))
    closed = below & (least >= trees.order) & (greatest < end)
    found: Array = xp.sort(rows[trees.edge[closed]])
    return found


def _below(xp: ModuleType, trees: RootedTrees, *folds: tuple[Any, Array]) -> list[Array]:
    """Fold entries, which are by depth-first order, over the vertices below each vertex and itself."""
    folded: list[Array] = [xp.empty_like(entries) for _, entries in folds]
    columns = [entries for _, entries in folds]
    for number in range(int(trees.size.max()).bit_length() if len(trees.size) else 0):
        width, half = 1 << number, 1 << number >> 1
        # Those of at least `width` vertices, but not of twice that.
        vertex = xp.flatnonzero(trees.size >> np.uint32(number) == 1)
        begin = trees.order[vertex].astype(np.int64)
        end = begin + trees.size[vertex] - width
        for place, (function, _) in enumerate(folds):
            if half:
                columns[place] = function(columns[place][:-half], columns[place][half:])  # of `width` vertices
            folded[place][vertex] = function(columns[place][begin], columns[place][end])
    return folded
