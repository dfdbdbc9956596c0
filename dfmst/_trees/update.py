"""The forest of old and new rows, from the old forest, the new rows and the removed ones.

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

from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import whole_number
from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName, Columns, Frame, FrameT
from dfmst._edges.arrow_values import arrow_column
from dfmst._edges.composite import compose
from dfmst._edges.conditions import group_codes, group_entries
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.frame_rows import check_stackable, in_types_of, stack_frames
from dfmst._edges.frames import host_only, in_memory_of, open_frame
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.unify import alike, common_id_type
from dfmst._edges.view import View
from dfmst._engines import Engine, select_engine
from dfmst._engines.primitives.edges import gather_edges
from dfmst._engines.primitives.kruskal_tree import build_kruskal_tree, rank_forest
from dfmst._trees.layers import edge_layers, without
from dfmst._trees.optimality import first_lighter
from dfmst._trees.request import Request, Solving, with_options
from dfmst.algorithms import Algorithm
from dfmst.algorithms.base import Trace
from dfmst.algorithms.solve import resolve, solve_frame
from dfmst.errors import InvalidEdgesError, missing_column
from dfmst.formats.provenance import Provenance, read_provenance, with_provenance, without_provenance


@with_options("memory", Solving, "forest", "new_edges")
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
        view = compose(runner, old if new is None else _stacked(old, new), columns)
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
    later = Provenance(columns.given, columns.maximum, record.rows + len(new), _locators(record, len(old), rows))
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
    view = compose(engine, view if new is None else _stacked(view, new), columns)
    rows: Any = rows_after_removal(engine, view, len(old), gone, columns, algorithm, certain=True)
    return view.take(engine, rows)


def _in_memory_of(forest: View, frame: Frame, argument: str) -> View:
    """Open a frame in the memory of the forest; one on the host is copied to a GPU, and none is copied back."""
    if not forest.on_device:
        return host_only(frame, argument, "the forest is on the host")
    return in_memory_of(forest, open_frame(frame, argument))


def _stacked(old: View, new: View) -> View:
    new = in_types_of(old, new)
    check_stackable(("forest", old), ("new_edges", new))
    return old.of(stack_frames([("forest", old), ("new_edges", new.select(old.names))]))


def _locators(record: Provenance, old: int, rows: Array) -> Array | None:
    """Return the positions of the rows among all old and new rows."""
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
