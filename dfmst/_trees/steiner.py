"""Steiner trees: light trees that join given vertices."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np

from dfmst._common.types import Array, ColumnName, Columns, FrameT, Vertices
from dfmst._edges.edge_table import EdgeTable, Input
from dfmst._edges.read import read_table
from dfmst._edges.vertex_list import find_vertices
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels, crossing_flags, flatten
from dfmst._engines.primitives.edges import adjacency, key_edges
from dfmst._engines.primitives.flags import compact, flag_words
from dfmst._engines.primitives.tour import root_trees
from dfmst._trees.forest import open_edge_frame
from dfmst._trees.ordered import summable
from dfmst._trees.request import Request, Running, with_options
from dfmst.algorithms.solve import solve_table
from dfmst.errors import InvalidEdgesError

_FAR = int(np.iinfo(np.uint64).max)
_GRAIN = 16  # vertices of a front that a thread takes at a time


@with_options("memory", "edges")
def steiner_tree(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    terminals: Vertices,
    **options: Unpack[Running],
) -> FrameT:
    """Return rows that join given vertices: a tree whose total weight is less than twice the least one.

    The least total is NP-hard to find. Terminals of several components give several trees. With all vertices as
    terminals it is the minimum spanning forest, with two of them a shortest path.

    Parameters
    ----------
    edges, source, target, weight, engine, invalid, threads
        As for :func:`minimum_spanning_forest`; weights are numbers of 0 or more. With ``weight=None`` every
        row has length 1.
    terminals
        The vertices to join: a list, an array or a column of ids.

    Returns
    -------
    rows
        The same kind of frame: rows of `edges` in input order, all columns, a pandas index kept. Every leaf is a
        terminal.

    Raises
    ------
    InvalidEdgesError
        Terminals that are in no row; negative weights; weights that have no sum; integers whose sum is above 2^62.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`.

    Notes
    -----
    Every vertex is led to its nearest terminal. Of the rows between the regions of two terminals, the forest of the
    lengths from terminal to terminal is taken, with the ways of its ends. Of all rows between the vertices of these
    ways, the minimum spanning forest is taken, and leaves that are not terminals are cut.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"a": [0, 1, 2, 0, 3], "b": [3, 3, 3, 1, 4], "km": [1.0, 1.0, 1.0, 1.9, 1.0]})
    >>> dfmst.steiner_tree(roads, "a", "b", "km", terminals=[0, 1, 2])
       a  b   km
    0  0  3  1.0
    1  1  3  1.0
    2  2  3  1.0

    References
    ----------
    Mehlhorn: A faster approximation algorithm for the Steiner problem in graphs. Information Processing Letters 27
    (1988).
    """
    request = Request.of(source, target, weight, joint_keys=False, **options)
    source, target, weight = request.columns.names
    view, runner = open_edge_frame(edges, request.solver.engine, request.solver.threads)
    with runner.guard():
        input = read_table(runner, view, request.columns)
        ends = runner.from_host(find_vertices(runner, (source, target), input, "terminals", terminals))
        length = runner.from_host(_lengths(runner, view, input, weight))
        return view.take(runner, input.frame_rows(steiner_rows(runner, input.table, length, ends)))  # type: ignore[no-any-return]


def _lengths(engine: Engine, view: View, input: Input, weight: ColumnName) -> Array:
    """Weights as distances: ``uint64``, or ``float64``."""
    if weight is None:
        return engine.xp.ones(len(input.table), np.uint64)  # type: ignore[no-any-return]
    lengths = summable(weight, view.weights(weight, input.kept))
    if lengths.dtype == object:
        message = f"column {weight!r} holds integers whose sum is above 2^62"
        raise InvalidEdgesError(message, "divide the weights, or cast them to float64 if rounding is meant")
    (negative,) = (lengths < 0).nonzero()
    if len(negative):
        row = int(negative[0] if input.kept is None else input.kept[int(negative[0])])
        message = f"column {weight!r} has {len(negative):,} negative weights, the first in row {row}"
        raise InvalidEdgesError(message, "lengths must not be negative: add a constant, or drop these rows", row=row)
    return lengths.view(np.uint64) if lengths.dtype.kind == "i" else lengths + 0.0  # no -0.0


class _Regions(NamedTuple):
    """Every vertex's way to its nearest terminal."""

    distance: Array  # ``uint64``, the bits of a float if lengths are floats
    parent: Array  # the next vertex on the way; a terminal or an unreached vertex: itself
    terminal: Array  # the terminal, or the vertex itself


def steiner_rows(engine: Engine, table: EdgeTable, length: Array, terminals: Array) -> Array:
    """Return the rows of a Steiner tree, ascending, of the lengths of the rows and the vertices to join."""
    xp = engine.xp
    regions = _regions(engine, table, length, terminals)
    crossing = compact(engine, crossing_flags(engine, table.source, table.target, regions.terminal))
    first, second = table.source[crossing], table.target[crossing]
    ends = [regions.distance[column] for column in (first, second)]
    known = ends[0] != np.uint64(_FAR)
    crossing, first, second = crossing[known], first[known], second[known]
    total = sum(column[known].view(length.dtype) for column in ends) + length[crossing]
    number = xp.zeros(table.vertices, np.uint32)
    number[terminals] = xp.arange(len(terminals), dtype=np.uint32)
    one, other = (number[regions.terminal[column]] for column in (first, second))
    taken = solve_table(engine, EdgeTable(one, other, total, len(terminals)))
    begin = xp.concatenate([first[taken], second[taken], terminals]).astype(np.uint32)
    flags = flag_words(engine, table.vertices)
    engine.launch("mark_ways", len(begin), begin, regions.parent, flags, grain=_GRAIN)
    return _without_leaves(engine, table, compact(engine, flags), terminals)


def _regions(engine: Engine, table: EdgeTable, length: Array, terminals: Array) -> _Regions:
    """Search for the nearest terminal of every vertex; of equal ways the one of the earliest row."""
    xp, n = engine.xp, table.vertices
    edges = key_edges(engine, table.edges())
    lists = adjacency(engine, edges, n)
    along = length[lists.edge]
    distance = xp.full(n, _FAR, np.uint64)
    distance[terminals] = 0
    front = terminals.astype(np.uint32)
    while len(front):
        waiting = flag_words(engine, n)
        columns = (lists.offset, lists.other, along, distance, waiting)
        engine.launch("search_around", len(front), front, *columns, grain=_GRAIN)
        front = compact(engine, waiting)
    parent, via, open = xp.empty(n, np.uint32), xp.empty(n, np.uint32), xp.empty(n, np.uint8)
    engine.launch("lead_back", n, lists.offset, lists.edge, lists.other, along, distance, parent, via, open)
    open[terminals] = 0
    if bool(open.any()):
        _lead_level(engine, table, length, distance, open, parent)
    terminal = parent.copy()
    flatten(engine, terminal)
    return _Regions(distance, parent, terminal)


def _lead_level(engine: Engine, table: EdgeTable, length: Array, distance: Array, open: Array, parent: Array) -> None:
    """Lead open vertices over rows that do not change the distance, along a forest of these rows."""
    xp = engine.xp
    first, second = table.source, table.target
    reach = (distance[first].view(length.dtype) + length).view(np.uint64)
    level = (distance[first] == distance[second]) & (reach == distance[second]) & (first != second)
    rows = xp.flatnonzero(level & ((open[first] | open[second]) == 1) & (distance[first] != np.uint64(_FAR)))
    part = EdgeTable(first[rows], second[rows], xp.zeros(len(rows), np.uint32), table.vertices)
    tree = solve_table(engine, part)
    source, target = part.source[tree].astype(np.uint32), part.target[tree].astype(np.uint32)
    label = component_labels(engine, EdgeTable(source, target, source, table.vertices))
    closed = xp.flatnonzero(open == 0)
    trees, first = xp.unique(label[closed], return_index=True)
    root = xp.arange(table.vertices, dtype=np.uint32)
    root[trees] = closed[first]  # the smallest closed vertex of each component
    root = root[label]
    above = root_trees(engine, source, target, root).parent
    parent[:] = xp.where(open == 1, above, parent)


def _without_leaves(engine: Engine, table: EdgeTable, vertices: Array, terminals: Array) -> Array:
    """Return the forest of all rows between some vertices, without the leaves that are not terminals."""
    xp = engine.xp
    chosen = xp.zeros(table.vertices, np.uint8)
    chosen[vertices] = 1
    number = xp.cumsum(chosen, dtype=np.uint32) - np.uint32(1)
    rows = xp.flatnonzero(chosen[table.source] & chosen[table.target])
    source, target = number[table.source[rows]], number[table.target[rows]]
    rows = rows[tree := solve_table(engine, EdgeTable(source, target, table.weight[rows], len(vertices)))]
    source, target = source[tree], target[tree]
    label = component_labels(engine, EdgeTable(source, target, source, len(vertices)))
    trees = root_trees(engine, source, target, label)
    ends = xp.zeros(len(vertices) + 1, np.int64)
    ends[trees.order[number[terminals]].astype(np.int64) + 1] = 1
    before = xp.cumsum(ends)
    below = before[trees.order + trees.size] - before[trees.order]
    whole = below[label]
    inner = xp.flatnonzero((trees.edge != np.uint32(0xFFFFFFFF)) & (below > 0) & (below < whole))
    kept: Array = xp.sort(rows[trees.edge[inner]])
    return kept
