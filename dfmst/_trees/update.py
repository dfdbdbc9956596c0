"""Rows of a table by the forest that they are in: the first, or that of the rows outside all earlier ones.

The forest of old and new rows, from the old forest, the new rows and the removed ones.

A reserve has the rows of the first layers of a table. A row that is in no layer closes a cycle with rows before it in
every layer. So it enters no later forest as long as one layer is whole, or joins what its removed rows joined by rows
that come before them: a cycle of the layer is then still one of rows before it.

References
----------
Anderson, Blelloch, Tangwongsan: Work-efficient batch-incremental minimum spanning trees with applications to the
sliding-window model. SPAA 2020. Eppstein, Galil, Italiano, Nissenzweig: Sparsification - a technique for speeding up
dynamic graph algorithms. Journal of the ACM 44 (1997).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import whole_number
from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName, Columns, Frame, FrameT
from dfmst._edges.arrow_values import arrow_column
from dfmst._edges.composite import compose
from dfmst._edges.conditions import group_codes, group_entries
from dfmst._edges.edge_table import EdgeTable, move_table
from dfmst._edges.frame_rows import check_stackable, in_types_of, result_column, stack_frames
from dfmst._edges.frames import host_only, in_memory_of, open_frame
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.unify import alike, common_id_type
from dfmst._edges.view import View
from dfmst._engines import Engine, select_engine
from dfmst._engines.primitives.edges import Edges, gather_edges
from dfmst._engines.primitives.flags import compact, flag_words, numbered
from dfmst._engines.primitives.kruskal_tree import build_kruskal_tree, rank_forest
from dfmst._trees.certificate import first_lighter
from dfmst._trees.forest import find_rows
from dfmst._trees.request import Options, Request, Solving, with_options
from dfmst.algorithms import Algorithm
from dfmst.algorithms._shared_steps import Level, label_components, scan_light, select_light, survivors
from dfmst.algorithms.base import Trace, chosen_rows
from dfmst.algorithms.solve import Solved, resolve, solve_frame
from dfmst.errors import InvalidEdgesError, missing_column
from dfmst.formats.provenance import Provenance, read_provenance, with_provenance, without_provenance


@with_options("memory", "edges")
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


@with_options("memory", "forest", "new_edges")
def update(
    forest: FrameT,
    new_edges: FrameT | None = None,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    removed: Frame | None = None,
    edges: Frame | None = None,
    layers: int | None = None,
    maximum: bool = False,
    **options: Unpack[Solving],
) -> FrameT:
    """Return the forest of all rows, from the forest of the old ones, rows that are new and rows that are removed.

    The rows are those of :func:`dfmst.minimum_spanning_forest` on the old rows, less the removed ones, followed by the
    new ones. A row outside the old forest is in no later one, unless rows of the forest are removed. Their replacements
    are in a reserve: the rows of the first k layers of :func:`in_forest`, passed as `forest`.

    The result is exact without other rows if one of the layers of `forest` lost no row, or lost only rows whose ends
    are still joined by rows that come before them. So k layers are enough for any k - 1 removed rows. Else all old rows
    must be read: they are, if `edges` is given.

    Parameters
    ----------
    forest
        The forest of the old rows, in row order, as dfmst returned it; or a reserve of several layers.
    new_edges
        Rows that come after all old ones: a frame of the same kind with the same columns. Frames of cuDF stay on the
        GPU.
    source, target, weight, algorithm, engine, invalid, threads
        As for :func:`dfmst.minimum_spanning_forest`, and as the forest was made.
    removed
        Old rows that are removed: a frame with some of the columns. A row is removed if it agrees with one of these in
        all columns that they have. Rows outside `forest` may be among them. For a forest on a GPU, a frame on the host
        is copied there.
    edges
        All old rows, with or without the removed ones, to read if that is necessary; a polars LazyFrame is computed
        then only.
    layers
        Layers that `forest` was made with. If it has fewer, it holds all old rows. ``None``: those that it has.
    maximum
        Whether it is the maximum spanning forest.

    Returns
    -------
    forest
        The same kind of frame. A ``pyarrow.Table`` that was read from a file of dfmst keeps its record up to date,
        unless rows are removed.

    Raises
    ------
    InvalidEdgesError
        All old rows must be read, and `edges` is not given. The forest says that it was made with other columns or in
        another order (files of dfmst do); columns that differ; and as for :func:`dfmst.minimum_spanning_forest`.
    UnsupportedFrameError
        Frames of two kinds.
    ColumnNotFoundError, EngineUnavailableError, CapacityError
        As for :func:`dfmst.minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> monday = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> tuesday = pd.DataFrame({"source": [0], "target": [1], "weight": [1]}, index=[3])
    >>> dfmst.update(dfmst.minimum_spanning_forest(monday), tuesday)
       source  target  weight
    1       1       2       1
    3       0       1       1
    >>> reserve = monday[dfmst.in_forest(monday, layers=2) > 0]
    >>> dfmst.update(reserve, removed=monday.loc[[1]])
       source  target  weight
    0       0       1       3
    2       0       2       2
    """
    if new_edges is None and removed is None:
        raise ValueError("give new_edges=, removed= or both")
    request = Request.of(source, target, weight, maximum=maximum, **options)
    columns, algorithm = request.columns, request.solver.algorithm
    old = open_frame(forest, "forest")
    new = None if new_edges is None else open_frame(new_edges, "new_edges")
    engine, threads = request.solver.engine, request.solver.threads
    runner = select_engine(engine, threads, on_device=old.on_device and (new is None or new.on_device))
    native = old.native
    record = read_provenance(native.schema, native.num_rows) if isinstance(native, pa.Table) else None
    if record is not None:
        record.require("the forest", columns.given, columns.maximum)
    with runner.guard():
        view = compose(runner, old if new is None else stacked(old, new), columns)
        if removed is not None:
            gone = _in_memory_of(old, removed, "removed")
            rows = rows_after_removal(runner, view, len(old), gone, columns, algorithm, layers=layers)
            if isinstance(rows, InvalidEdgesError):
                if edges is None:
                    raise rows
                return _anew(runner, edges, gone, old, new, columns, algorithm)  # type: ignore[no-any-return]
            later = view.take(runner, rows)
            return later if record is None else later.replace_schema_metadata(without_provenance(later.schema).metadata)  # type: ignore[no-any-return]
        assert new is not None
        solved = solve_frame(runner, view, columns, algorithm)
        rows = solved.input.frame_rows(solved.rows)
        updated = view.take(runner, rows)
    if record is None:
        return updated  # type: ignore[no-any-return]
    later = Provenance(columns.given, columns.maximum, record.rows + len(new), updated_locators(record, len(old), rows))
    return updated.replace_schema_metadata(with_provenance(updated.schema, later, len(rows)).metadata)  # type: ignore[no-any-return]


def _anew(
    engine: Engine,
    edges: Frame,
    gone: View,
    forest: View,
    new: View | None,
    columns: EdgeColumns,
    algorithm: str | Algorithm,
) -> Any:
    """Find the forest of all rows, a frame of the forest's kind."""
    old = _in_memory_of(forest, edges, "edges")
    check_stackable(("forest", forest), ("edges", old))
    view = forest.of(old.frame)
    view = compose(engine, view if new is None else stacked(view, new), columns)
    rows: Any = rows_after_removal(engine, view, len(old), gone, columns, algorithm, certain=True)
    return view.take(engine, rows)


def _in_memory_of(forest: View, frame: Frame, argument: str) -> View:
    """Open a frame in the memory of the forest; one on the host is copied to a GPU, and none is copied back."""
    if not forest.on_device:
        return host_only(frame, argument, "the forest is on the host")
    return in_memory_of(forest, open_frame(frame, argument))


def stacked(old: View, new: View) -> View:
    """Return old rows and new ones, in the columns and types of the old ones."""
    new = in_types_of(old, new)
    check_stackable(("forest", old), ("new_edges", new))
    return old.of(stack_frames([("forest", old), ("new_edges", new.select(old.names))]))


def updated_locators(record: Provenance, old: int, rows: Array) -> Array | None:
    """Return the positions of the rows among all old and new rows; the first `old` rows are those of the forest."""
    if record.locator is None:
        return None
    kept = rows[rows < old]
    added = (rows[rows >= old] - old).astype(np.uint64) + np.uint64(record.rows)
    return np.concatenate([record.locator[kept], added])


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


def _may_be_among(name: ColumnName, column: Column, values: Column, rows: Array) -> Array:
    """Flag the rows of a column whose entry is among the values; all rows of types that Arrow cannot look up."""
    entries, among = (
        group_entries(name, each) for each in alike(arrow_column(name, column), arrow_column(name, values))
    )
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
            return _uncertain(input.frame_row(engine, row))
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
        row = first_lighter(engine, table, layer[flags[layer]].astype(np.uint32), forest, trees)
        if row is None:
            return None
        uncertain, found = row if uncertain is None else uncertain, found + 1
    return None if depth is not None and found < depth else uncertain


def _uncertain(row: int) -> InvalidEdgesError:
    message = f"row {row} of the forest is removed, and the row that replaces it may be outside these rows"
    hint = "pass all old rows with edges=, or more layers of dfmst.in_forest as the forest"
    return InvalidEdgesError(message, hint, row=row)
