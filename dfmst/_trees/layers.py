"""Rows of a table by the forest that they are in: the first, or that of the rows outside all earlier ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Unpack

import numpy as np

from dfmst._common.arguments import whole_number
from dfmst._common.types import Array, Columns, Frame
from dfmst._edges.edge_table import EdgeTable, move_table
from dfmst._edges.frame_rows import result_column
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, gather_edges
from dfmst._engines.primitives.flags import compact, flag_words, numbered
from dfmst._trees.forest import find_rows
from dfmst._trees.request import Options, Request, with_options
from dfmst.algorithms import Algorithm
from dfmst.algorithms._shared_steps import Level, label_components, scan_light, select_light, survivors
from dfmst.algorithms.base import Trace, chosen_rows
from dfmst.algorithms.solve import Solved


@with_options("memory", Options, "edges")
def in_forest(
    edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    layers: int = 1,
    maximum: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Say of every row of an edge table whether it is in the forest: a column, in place of the rows alone.

    With `layers`, the column has the layer of each row: 1 in the forest, 2 in the forest of the other rows, and so on.
    Rows of the first k layers keep any two vertices joined after fewer than k of them are removed, if the table does.

    Parameters
    ----------
    edges, source, target, weight, by, keep, drop, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. Conditions of `keep` hold for the first layer: the others have no rows
        to keep. Rows of `drop`, and invalid rows with ``invalid="drop"``, are in no layer.
    layers
        Number of layers. With 1 the column is boolean.
    maximum
        Whether heavier edges come first.

    Returns
    -------
    column
        One entry a row, in row order: a series of pandas (with the frame's index), polars or cuDF, else an Arrow array.
        ``in_forest`` is boolean; ``layer``, with several layers, is an unsigned integer from 0 (in no layer) to
        `layers`.

    Raises
    ------
    ValueError
        Fewer than 1 layer.
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [0, 1, 0, 0], "target": [1, 2, 2, 1], "weight": [3, 1, 2, 4]})
    >>> dfmst.in_forest(roads).tolist()
    [False, True, True, False]
    >>> dfmst.in_forest(roads, layers=2).tolist()
    [2, 1, 1, 0]

    References
    ----------
    Nagamochi, Ibaraki: A linear-time algorithm for finding a sparse k-connected spanning subgraph of a k-connected
    graph. Algorithmica 7 (1992).
    """
    layers = whole_number("layers", layers)
    if layers < 1:
        raise ValueError(f"layers is {layers}; it must be at least 1")
    found = find_rows(edges, Request.of(source, target, weight, maximum=maximum, **options))
    with found.runner.guard():
        rows = [found.solved.input.frame_rows(each) for each in forest_layers(found.table_engine, found.solved, layers)]
        marks = found.view.xp.zeros(len(found.view), bool if layers == 1 else np.min_scalar_type(layers))
        for number, each in enumerate(rows, 1):
            marks[each] = number
    return result_column(edges, found.view, "in_forest" if layers == 1 else "layer", marks)


def forest_layers(engine: Engine, solved: Solved, layers: int) -> list[Array]:
    """Return the table's rows in each layer, the first of which is solved; fewer layers if no rows remain."""
    if layers == 1:
        return [solved.rows]
    table = unforced_table(engine, solved)
    further = edge_layers(engine, table, solved.algorithm, solved.rows)
    return [solved.rows, *islice(further, layers - 1)]


def edge_layers(engine: Engine, table: EdgeTable, algorithm: Algorithm, chosen: Array | None = None) -> Iterator[Array]:
    """Yield the table's rows in each layer, until no rows remain; after the first one, if it is `chosen`."""
    scratch, table = engine.in_scratch(), replace(table, deferred=None)
    if chosen is None:
        chosen = algorithm.run(scratch, table, Trace())
        yield chosen
    taken, total = flag_words(engine, len(table)), 0
    while len(chosen):  # the others are self-loops
        total += len(chosen)
        if total == len(table):
            return
        engine.launch("set_flags", len(chosen), chosen.astype(np.uint32), taken)
        chosen = _next_layer(scratch, table, taken, total, len(chosen), algorithm)
        if len(chosen):
            yield chosen


_LIGHT = 1.25  # rows to solve first, as a multiple of the last layer's
_MOST_LIGHT = 0.5  # share of light rows above which all rows are solved at once
_SMALL = 1 << 17  # rows below which all are


def _next_layer(engine: Engine, table: EdgeTable, taken: Array, total: int, last: int, algorithm: Algorithm) -> Array:
    """Return the rows in the forest of the rows that are not `taken`.

    Light rows are solved first, and then those of the others that join two of their trees (Filter-Kruskal). So a layer
    copies few rows of the table.
    """
    edges, flip = table.edges(), table.flip
    share = (total + _LIGHT * last) / len(table)
    if not engine.on_host or len(table) <= _SMALL or share > _MOST_LIGHT:
        rest = gather_edges(engine, edges, compact(engine, _inverted(taken, len(table))), None, flip)
        return _rows_of_forest(engine, rest, table.vertices, algorithm).astype(np.int64)
    trace, flags = Trace(), flag_words(engine, len(table))
    trace.round(vertices=table.vertices, edges=len(table) - total)
    level = Level(engine, edges, flip, table.vertices, flags, trace)
    light, _ = select_light(level, share)
    light &= ~taken
    parent = numbered(engine, table.vertices)
    scan_light(level, compact(engine, light), parent)
    light |= taken
    rest, vertices = survivors(level, light, *label_components(level, parent), solve_few=True)
    rows = _rows_of_forest(engine, rest, vertices, algorithm)
    engine.launch("set_flags", len(rows), rows, flags)
    return chosen_rows(engine, flags)


def _rows_of_forest(engine: Engine, edges: Edges, vertices: int, algorithm: Algorithm) -> Array:
    """Return the rows of the edges in their forest, ``uint32``."""
    places = algorithm.run(engine, EdgeTable(edges.source, edges.target, edges.key, vertices), Trace())
    assert edges.row is not None
    rows: Array = edges.row[places]
    return rows


def unforced_table(engine: Engine, solved: Solved) -> EdgeTable:
    """Return a solved table, its checks done, in which rows to keep unite no ends and rows to drop are self-loops."""
    input = solved.input
    table = replace(input.table, deferred=None)
    if input.forced is None:
        return table
    ends = move_table(engine, input.whole(barred=False))
    return replace(table, source=ends.source, target=ends.target, vertices=ends.vertices)


def without(engine: Engine, edges: Edges, chosen: Array, flip: int) -> Edges:
    """Return the edges that are not at these positions."""
    length = len(edges)
    flags = flag_words(engine, length)
    engine.launch("set_flags", len(chosen), chosen.astype(np.uint32), flags)
    rest = compact(engine, _inverted(flags, length))
    return gather_edges(engine, edges, rest, None, flip)


def _inverted(flags: Array, length: int) -> Array:
    """Return the opposite flags of a number of rows."""
    inverted = ~flags
    if length % 64:
        inverted[-1:] &= np.uint64((1 << length % 64) - 1)
    return inverted
