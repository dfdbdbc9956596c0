"""The steps of `Dataframe`, for edge tables and for frames of any library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import NarwhalsError

from dfmst._common.types import Array, Frame
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.host_frame import FrameView, open_frame, unwrap
from dfmst._edges.lazy_frame import (
    LazyView,
    Tables,
    as_lazy,
    lazy_edges,
    open_lazy_frame,
    open_tables,
    ordered_integers,
    rows_in_order,
)
from dfmst._edges.read import DEVICE, IN_MEMORY, EdgeColumns, check_columns
from dfmst._engines import Engine, select_engine
from dfmst.algorithms.base import Trace
from dfmst.errors import DfmstError, EngineUnavailableError, UnsupportedFrameError


def table_forest(engine: Engine, table: EdgeTable, trace: Trace) -> Array:
    """Return the rows of an edge table's forest, ascending ``int64``; on the host by pyarrow, on a GPU by cuDF."""
    columns = _edge_columns(engine, table.source, table.target, table.weight, None, table.maximum)
    native = pa.table(columns) if engine.on_host else _cudf().DataFrame(columns)
    rows: Array = engine.xp.sort(_rows(engine, _forest(as_lazy(native), None, trace, table.vertices)))
    return rows


def frame_forest(
    edges: Frame, columns: EdgeColumns, order: tuple[Any, ...], engine: str, threads: int | None, return_trace: bool
) -> tuple[Frame, Frame | None]:
    """Find the forest of a frame in its own library."""
    trace = Trace() if return_trace else None
    names = [name for name in columns.names if name is not None]
    native, as_user = unwrap(edges)
    with _supported(native, "numbering the rows"):
        lazy = open_lazy_frame(native, order, names)
    if lazy is not None:
        _same_place(select_engine(engine, threads), on_host=True)
        forest = _solve_lazy(lazy, columns, trace)
        forest = forest if as_user is None else as_user(forest)
        return forest, None if trace is None else pa.table(trace.columns())
    view = open_frame(native)
    view = replace(view, as_user=as_user) if isinstance(view, FrameView) else view
    runner = select_engine(engine, threads, on_device=view.on_device, rows=len(view))
    _same_place(runner, on_host=not view.on_device)
    with runner.guard(), _supported(edges, "Borůvka's rounds"):
        forest = _solve_view(runner, view, columns, order, trace)
        return forest, None if trace is None else view.build(trace.columns())


def _solve_lazy(view: LazyView, columns: EdgeColumns, trace: Trace | None) -> Frame:
    """The forest of a frame that stays in its engine."""
    try:
        with _supported(view.native, "reading ids and weights"):
            edges = lazy_edges(view, columns)
        with _supported(view.native, "Borůvka's rounds"):
            return view.take(_forest(edges, view.tables, trace, None))
    finally:
        view.tables.close()


def _solve_view(
    engine: Engine, view: FrameView | DeviceView, columns: EdgeColumns, order: tuple[Any, ...], trace: Trace | None
) -> Frame:
    """The forest of a frame in memory."""
    read = DEVICE if view.on_device else IN_MEMORY
    checked = check_columns(engine, read, view.column, len(view), columns.names, columns.invalid)
    source, target = checked.ids.source, checked.ids.target
    if not isinstance(source, engine.xp.ndarray):
        numbered = read.number(engine, source, target, in_order=False)
        source, target = numbered.source, numbered.target
    in_order = rows_in_order(view, order) if order else None
    row = checked.kept
    if in_order is not None:
        row = engine.xp.empty(len(view), np.int64)
        row[in_order] = engine.xp.arange(len(view))
        row = row if checked.kept is None else row[checked.kept]
    plain = replace(view, as_user=None) if isinstance(view, FrameView) else view
    native = plain.build(_edge_columns(engine, source, target, checked.weights.values, row, columns.maximum))
    rows = _rows(engine, _forest(as_lazy(native), None, trace, None))
    rows = rows if in_order is None else in_order[rows]
    return view.take(None, engine.xp.sort(rows))


def _edge_columns(
    engine: Engine, source: Array, target: Array, weight: Array, row: Array | None, maximum: bool
) -> dict[str, Array]:
    """Columns of the edges; the least weight comes first."""
    weight = ordered_integers(weight) if weight.dtype.kind == "f" else weight
    weight = ~weight if maximum else weight
    row = engine.xp.arange(len(source), dtype=np.int64) if row is None else row
    return {"row": row, "source": source, "target": target, "weight": weight}


def _forest(edges: Edges, tables: Tables | None, trace: Trace | None, vertices: int | None) -> Edges:
    """The column ``row`` of the forest's edges; vertices are counted only for a trace."""
    tables = open_tables(edges) if tables is None else tables
    rows = 0
    if trace is not None:
        rows = _count(edges)
        if vertices is None:
            ends = [edges.select(vertex=nw.col(end)) for end in ("source", "target")]
            vertices = _count(nw.concat(ends).unique("vertex"))
    ranked = tables.number(_without_loops(edges), "rank", ("weight", "row"), "ranked")
    ranked = ranked.select("rank", "row", "source", "target")
    ranks = _forest_ranks(ranked, tables.keep, Trace() if trace is None else trace, rows, vertices or 0)
    return ranked.join(ranks, on="rank", how="semi").select("row")


def _rows(engine: Engine, forest: Edges) -> Array:
    """Rows as an array in the engine's memory, in no order."""
    rows = forest.collect().get_column("row")
    column: Array = rows.to_numpy() if engine.on_host else engine.xp.asarray(nw.to_native(rows).values)
    return column.astype(np.int64)


def _cudf() -> Any:
    try:
        return import_module("cudf")
    except ImportError as error:
        message = f"algorithm='dataframe' needs cuDF for edges on a GPU: {error}"
        raise EngineUnavailableError(message, "pip install 'dfmst[cu13]', or 'dfmst[cu12]'") from error


def _same_place(engine: Engine, on_host: bool) -> None:
    """Refuse an engine of another memory: the steps run in the frame's own library."""
    if engine.on_host != on_host:
        place, other = ("on the host", "cuda") if on_host else ("on a GPU", "cpu")
        message = f"the frame is {place}, and so are the steps of algorithm='dataframe'; engine={other!r} is elsewhere"
        option = "engine='auto'", "--engine auto"
        raise UnsupportedFrameError(message, "leave engine='auto', or copy the frame yourself", option=option)


@contextmanager
def _supported(edges: Frame, doing: str) -> Iterator[None]:
    """Name the library and the operation that it lacks."""
    try:
        yield
    except (NotImplementedError, NarwhalsError) as error:
        if isinstance(error, DfmstError):
            raise
        library = type(edges).__module__.partition(".")[0]
        message = f"{library} lacks an operation that {doing} takes: {error}"
        hint = "collect the frame, as pandas, polars or pyarrow: dfmst then takes any algorithm"
        raise UnsupportedFrameError(message, hint) from error


Edges: TypeAlias = "nw.LazyFrame[Any]"

#: Makes a table of a frame. The second argument names a slot: a slot's next table takes the place of the last one.
Keep: TypeAlias = Callable[[Edges, str], Edges]

_SOURCE, _TARGET, _RANK, _VERTEX, _PARENT = map(nw.col, ("source", "target", "rank", "vertex", "parent"))


def _count(frame: Edges) -> int:
    return int(frame.select(nw.len()).collect().item())


def _without_loops(edges: Edges) -> Edges:
    return edges.filter(_SOURCE != _TARGET)


def _forest_ranks(ranked: Edges, keep: Keep, trace: Trace, rows: int, vertices: int) -> Edges:
    """Find the ranks of the forest's edges."""
    edges = ranked.select("source", "target", "rank")
    chosen, count, edge_count = ranked.select("rank").head(0), 0, _count(edges)
    while edge_count:
        trace.round(vertices=vertices - count, edges=edge_count if count else rows)
        with trace.step("lightest"):
            lightest = keep(_lightest_edges(edges), "lightest")
        with trace.step("hook"):
            parent = keep(_hook(edges, lightest), "parent")
            chosen = keep(nw.concat([chosen, lightest.select("rank").unique()]), "chosen")
        with trace.step("jump"):
            parent = _jump(parent, keep)
        with trace.step("contract"):
            edges = keep(_lightest_of_parallel(_relabel(edges, parent, keep)), "edges")
            edge_count = _count(edges)
        before, count = count, _count(chosen)
        trace.add(chosen=count - before, components=vertices - count)
    return chosen


def _lightest_edges(edges: Edges) -> Edges:
    """Columns ``vertex`` and ``rank``: the lightest edge of every vertex."""
    ends = [edges.group_by(end).agg(_RANK.min()).rename({end: "vertex"}) for end in ("source", "target")]
    return nw.concat(ends).group_by("vertex").agg(_RANK.min())


def _hook(edges: Edges, lightest: Edges) -> Edges:
    """Columns ``vertex`` and ``parent``: the other end of the lightest edge.

    If two vertices choose the same edge, the smaller one is its own parent: the root of its tree.
    """
    other = nw.when(_VERTEX == _SOURCE).then(_TARGET).otherwise(_SOURCE)
    hooked = lightest.join(edges, on="rank", how="inner").select("vertex", "rank", parent=other)
    theirs = lightest.rename({"vertex": "parent", "rank": "their_rank"})
    is_root = (nw.col("their_rank") == _RANK) & (_VERTEX < _PARENT)
    parent = nw.when(is_root).then(_VERTEX).otherwise(_PARENT)
    return hooked.join(theirs, on="parent", how="inner").select("vertex", parent=parent)


def _jump(parent: Edges, keep: Keep) -> Edges:
    """Let every vertex point at its root: each pass halves the way there."""
    moved = 1
    while moved:
        above = parent.rename({"vertex": "parent", "parent": "grandparent"})
        steps = keep(parent.join(above, on="parent", how="inner"), "steps")
        moved = _count(steps.filter(nw.col("grandparent") != _PARENT))
        parent = keep(steps.select("vertex", parent=nw.col("grandparent")), "parent")
    return parent


def _relabel(edges: Edges, parent: Edges, keep: Keep) -> Edges:
    """Give every edge the roots of its ends, and drop those inside a component."""
    for end in ("source", "target"):
        label = parent.rename({"vertex": end, "parent": "root"})
        # A table after each end: in one query, DuckDB joins the labels of both ends first, by their difference.
        edges = keep(edges.join(label, on=end, how="inner").drop(end).rename({"root": end}), end)
    return _without_loops(edges)


def _lightest_of_parallel(edges: Edges) -> Edges:
    """Keep the lightest of the edges between two components."""
    low = nw.when(_SOURCE < _TARGET).then(_SOURCE).otherwise(_TARGET)
    high = nw.when(_SOURCE < _TARGET).then(_TARGET).otherwise(_SOURCE)
    return edges.select("rank", source=low, target=high).group_by("source", "target").agg(_RANK.min())
