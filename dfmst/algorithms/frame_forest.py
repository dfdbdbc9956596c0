"""The steps of `Dataframe`, for edge tables and for frames of any library, and its rounds in three forms.

Edges have the columns ``source``, ``target`` and ``rank``, their place in the total order. Besides Borůvka's rounds:

**BSP/CGM** (Vasconcellos, Cáceres, Mongelli, Song, Dehne and Szwarcfiter 2018): every edge becomes a vertex u between
its two ends. The strut takes the lightest edge at each vertex, so that a u of it has degree 1 or 2. Each tree of the
strut has one u of degree 2, a zero-difference vertex, which becomes a vertex of the compacted graph. If there is one,
the tree is complete (lemma 2). As in the paper, parallel edges stay, and a small graph is finished in one process.

**Mastiff** (Koohi Esfahani, Kilpatrick and Vandierendonck 2022): no edge is rewritten. A row of ``lists`` is an entry
of a neighbor list: a vertex, the other end of an edge, and the edge's rank. Every round joins the entries with the
components of their ends and drops those inside a component, as in step 1 of algorithm 1. Here a single component is
exempt, the largest of all. As soon as it holds more than half of the vertices it stays the largest: the entries of its
vertices are dropped for good, by an anti-join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import NarwhalsError

from dfmst._common.types import Array, Frame
from dfmst._edges.dictionary import plain
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.frames import open_frame, unwrap
from dfmst._edges.lazy_frame import (
    LazyView,
    Tables,
    as_lazy,
    collected,
    lazy_edges,
    open_lazy_frame,
    open_tables,
    ordered_integers,
    rows_in_order,
)
from dfmst._edges.read import EdgeColumns, check_columns, names_missing_columns
from dfmst._edges.vertices import factorize
from dfmst._edges.view import View
from dfmst._engines import CpuEngine, Engine, select_engine
from dfmst.algorithms.base import Trace
from dfmst.algorithms.filter_kruskal import FilterKruskal
from dfmst.errors import EngineUnavailableError, UnsupportedFrameError

Edges: TypeAlias = "nw.LazyFrame[Any]"

#: Makes a table of a frame. The second argument names a slot: a slot's next table takes the place of the last one.
Keep: TypeAlias = Callable[[Edges, str], Edges]

_FEW = 1 << 13  # edges that one process finishes faster than a round of joins
_ENDS = ("source", "target")
_SOURCE, _TARGET, _RANK, _VERTEX, _PARENT, _OTHER = map(nw.col, (*_ENDS, "rank", "vertex", "parent", "other"))
_COMPONENT, _ACROSS, _SIZE, _ABOVE = map(nw.col, ("component", "across", "size", "above"))


def count(frame: Edges) -> int:
    """Return the number of rows."""
    return int(collected(frame.select(nw.len())).item())


def without_loops(edges: Edges) -> Edges:
    """Return the edges between different vertices."""
    return edges.filter(_SOURCE != _TARGET)


def boruvka_ranks(ranked: Edges, keep: Keep, trace: Trace, rows: int, vertices: int) -> Edges:
    """Find the ranks of the forest's edges by Borůvka's rounds."""
    edges = ranked.select(*_ENDS, "rank")
    chosen, joined, edge_count = ranked.select("rank").head(0), 0, count(edges)
    while edge_count:
        trace.round(vertices=vertices - joined, edges=edge_count if joined else rows)
        with trace.step("lightest"):
            lightest = keep(_lightest(edges), "lightest")
        with trace.step("hook"):
            strut = keep(_sizes(lightest, "rank"), "strut")
            parent = keep(_hook(_with_other_end(lightest, edges), strut), "parent")
            chosen = keep(nw.concat([chosen, strut.select("rank")]), "chosen")
        with trace.step("jump"):
            parent = _jump(parent, keep)
        with trace.step("contract"):
            edges = keep(_lightest_of_parallel(_relabel(edges, parent, keep)), "edges")
            edge_count = count(edges)
        before, joined = joined, count(chosen)
        trace.add(chosen=joined - before, components=vertices - joined)
    return chosen


def bsp_ranks(ranked: Edges, keep: Keep, trace: Trace, rows: int, vertices: int) -> Edges:
    """Find the ranks of the forest's edges by the rounds of BSP/CGM."""
    edges = ranked.select(*_ENDS, "rank")
    # A graph on a GPU stays there: rounds continue to the end.
    few = 0 if edges.implementation.is_cudf() else _FEW
    chosen, joined, edge_count = ranked.select("rank").head(0), 0, count(edges)
    while edge_count:
        trace.round(vertices=vertices - joined, edges=edge_count if joined else rows)
        if edge_count <= few:
            with trace.step("finish"):
                chosen = keep(nw.concat([chosen, _finish(edges)]), "chosen")
            trace.add(chosen=count(chosen) - joined, components=vertices - count(chosen))
            return chosen
        with trace.step("strut"):
            lightest = keep(_lightest(edges), "lightest")
            strut = keep(_sizes(lightest, "rank"), "strut")
            chosen = keep(nw.concat([chosen, strut.select("rank")]), "chosen")
            zero_difference = count(strut.filter(_SIZE == 2))
        before, joined = joined, count(chosen)
        trace.add(chosen=joined - before, components=vertices - joined, zero_difference=zero_difference)
        if zero_difference == 1:
            return chosen
        with trace.step("compact"):
            parent = _jump(keep(_hook(_with_other_end(lightest, edges), strut), "parent"), keep)
            edges = keep(_relabel(edges, parent, keep), "edges")
            edge_count = count(edges)
    return chosen


def mastiff_ranks(ranked: Edges, keep: Keep, trace: Trace, rows: int, vertices: int) -> Edges:
    """Find the ranks of the forest's edges by Mastiff's rounds."""
    entries = [ranked.select("rank", vertex=nw.col(a), other=nw.col(b)) for a, b in (_ENDS, _ENDS[::-1])]
    lists = keep(nw.concat(entries), "lists")
    chosen, joined, settled = ranked.select("rank").head(0), 0, False
    # The vertex of highest degree is exempt first.
    exempt, _ = _largest(lists.select(component=_VERTEX), keep)
    label: Edges | None = None  # of a vertex: its component; at first, vertices are components
    while True:
        trace.round(vertices=vertices - joined, edges=rows)
        with trace.step("lightest"):
            crossing = keep(_crossing(lists, label, exempt, settled), "entries")
            lightest = keep(crossing.group_by("component").agg(_RANK.min()), "lightest")
            looking = count(lightest)
        if not looking:
            trace.records.pop()
            return chosen
        trace.add(touched=count(crossing), root=looking)
        with trace.step("append"):
            across = lightest.join(crossing, on=["component", "rank"], how="inner")
            strut = _sizes(lightest, "rank")
            hooked = _hook(across.select("rank", vertex=_COMPONENT, other=_ACROSS), strut)
            roots = exempt.select(vertex=_COMPONENT, parent=_COMPONENT)
            parent = keep(nw.concat([hooked, roots]), "parent")
            chosen = keep(nw.concat([chosen, strut.select("rank")]), "chosen")
        with trace.step("update"):
            label = keep(_give(label, _jump(parent, keep)), "label")
        with trace.step("exempt"):
            if not settled:
                exempt, settled = _largest(label.select("component"), keep)
            if settled:
                inside = label.join(exempt, on="component", how="semi").select("vertex")
                lists = keep(lists.join(inside, on="vertex", how="anti"), "lists")
        before, joined = joined, count(chosen)
        trace.add(chosen=joined - before, components=vertices - joined)


def _lightest(edges: Edges) -> Edges:
    """Columns ``vertex`` and ``rank``: the lightest edge of every vertex."""
    ends = [edges.group_by(end).agg(_RANK.min()).rename({end: "vertex"}) for end in _ENDS]
    return nw.concat(ends).group_by("vertex").agg(_RANK.min())


def _with_other_end(lightest: Edges, edges: Edges) -> Edges:
    """Columns ``vertex``, ``rank`` and ``other``, the other end of the vertex's lightest edge."""
    other = nw.when(_VERTEX == _SOURCE).then(_TARGET).otherwise(_SOURCE)
    return lightest.join(edges, on="rank", how="inner").select("vertex", "rank", other=other)


def _sizes(frame: Edges, column: str) -> Edges:
    """The values of a column, and the ``size`` of each: its number of rows."""
    return frame.group_by(column).agg(size=nw.len())


def _hook(lightest: Edges, strut: Edges) -> Edges:
    """Columns ``vertex`` and ``parent``; of two that chose the same edge, the smaller stays a root."""
    parent = nw.when((_SIZE == 2) & (_VERTEX < _OTHER)).then(_VERTEX).otherwise(_OTHER)
    return lightest.join(strut, on="rank", how="inner").select("vertex", parent=parent)


def _jump(parent: Edges, keep: Keep) -> Edges:
    """Let every vertex point at its root: each pass halves the way there."""
    moved = 1
    while moved:
        above = parent.rename({"vertex": "parent", "parent": "above"})
        steps = keep(parent.join(above, on="parent", how="inner"), "steps")
        moved = count(steps.filter(_ABOVE != _PARENT))
        parent = keep(steps.select("vertex", parent=_ABOVE), "parent")
    return parent


def _relabel(edges: Edges, parent: Edges, keep: Keep) -> Edges:
    """Give every edge the roots of its ends, and drop those inside a component."""
    for end in _ENDS:
        label = parent.rename({"vertex": end, "parent": "root"})
        # A table after each end: in one query, DuckDB joins the labels of both ends first, by their difference.
        edges = keep(edges.join(label, on=end, how="inner").drop(end).rename({"root": end}), end)
    return without_loops(edges)


def _lightest_of_parallel(edges: Edges) -> Edges:
    """Keep the lightest of the edges between two components."""
    low, high = (nw.when(_SOURCE < _TARGET).then(a).otherwise(b) for a, b in ((_SOURCE, _TARGET), (_TARGET, _SOURCE)))
    return edges.select("rank", source=low, target=high).group_by(*_ENDS).agg(_RANK.min())


def _finish(edges: Edges) -> Edges:
    """Find the ranks of the forest of few edges by Kruskal's algorithm, in this process."""
    few = collected(edges).to_arrow()
    numbers = pa.chunked_array([few[name].combine_chunks() for name in _ENDS]).dictionary_encode().combine_chunks()
    source, target = np.split(numbers.indices.to_numpy().astype(np.uint32), 2)
    rank = few["rank"].to_numpy().astype(np.int64)
    table = EdgeTable(source, target, rank, len(numbers.dictionary))
    found = FilterKruskal().run(CpuEngine(1), table, Trace(counts=False))
    return edges.select("rank").filter(_RANK.is_in(rank[found].tolist()))


def _largest(components: Edges, keep: Keep) -> tuple[Edges, bool]:
    """Return the component with most rows, and whether it has more than half of them."""
    sizes = keep(_sizes(components, "component"), "sizes")
    found = collected(sizes.select(most=_SIZE.max(), all=_SIZE.sum())).to_dict(as_series=False)
    # Of no rows, libraries return null or NaN.
    most, all_rows = (int(value) if (value := found[name][0] or 0) == value else 0 for name in ("most", "all"))
    largest = sizes.filter(nw.lit(most) == _SIZE).select("component").head(1)
    return keep(largest, "exempt"), 2 * most > all_rows


def _crossing(lists: Edges, label: Edges | None, exempt: Edges, settled: bool) -> Edges:
    """Entries from a component that looks for an edge to another one, with both as ``component`` and ``across``."""
    if label is None:
        entries = lists.select("rank", component=_VERTEX, across=_OTHER)
        return entries.join(exempt, on="component", how="anti")
    looking = label if settled else label.join(exempt, on="component", how="anti")
    theirs = label.rename({"vertex": "other", "component": "across"})
    entries = lists.join(looking, on="vertex", how="inner").join(theirs, on="other", how="inner")
    return entries.filter(_COMPONENT != _ACROSS).select("rank", "component", "across")


def _give(label: Edges | None, parent: Edges) -> Edges:
    """Give the vertices their new components; vertices of a component without an edge to another one leave."""
    if label is None:
        return parent.select("vertex", component=_PARENT)
    above = parent.rename({"vertex": "component"})
    return label.join(above, on="component", how="inner").select("vertex", component=_PARENT)


class Steps(Protocol):
    """The parameters of `Dataframe`."""

    @property
    def form(self) -> str:
        """The name of the rounds."""

    @property
    def order_columns(self) -> tuple[Any, ...]:
        """The columns of the order; an empty tuple: positions."""


def table_forest(engine: Engine, table: EdgeTable, form: str, trace: Trace) -> Array:
    """Return the rows of an edge table's forest, ascending ``int64``; on the host by pyarrow, on a GPU by cuDF."""
    columns = _edge_columns(engine, table.source, table.target, table.weight, None, table.maximum)
    native = pa.table(columns) if engine.on_host else _cudf().DataFrame(columns)
    rows: Array = engine.xp.sort(_rows(engine, _forest(as_lazy(native), None, form, trace, table.vertices)))
    return rows


def frame_forest(
    edges: Frame, columns: EdgeColumns, steps: Steps, engine: str, threads: int | None, return_trace: bool
) -> tuple[Frame, Frame | None]:
    """Find the forest of a frame in its own library."""
    order = steps.order_columns
    trace = Trace() if return_trace else None
    names = [name for name in columns.names if name is not None]
    native, as_user = unwrap(edges)
    as_user = as_user or _unchanged
    with _supported(native, "numbering the rows"):
        lazy = open_lazy_frame(native, order, names)
    if lazy is not None:
        _same_place(select_engine(engine, threads), on_host=True)
        forest = _solve_lazy(lazy, columns, steps.form, trace)
        return as_user(forest), None if trace is None else pa.table(trace.columns())
    view = open_frame(native)
    runner = select_engine(engine, threads, on_device=view.on_device, rows=len(view))
    _same_place(runner, on_host=not view.on_device)
    with runner.guard(), _supported(edges, "a round"):
        forest = _solve_view(runner, view, columns, steps, trace)
        return as_user(forest), None if trace is None else as_user(view.build(trace.columns()))


def _unchanged(frame: Frame) -> Frame:
    return frame


def _solve_lazy(view: LazyView, columns: EdgeColumns, form: str, trace: Trace | None) -> Frame:
    """The forest of a frame that stays in its engine."""
    try:
        with _supported(view.native, "reading ids and weights"):
            edges = lazy_edges(view, columns)
        with _supported(view.native, "a round"):
            return view.take(_forest(edges, view.tables, form, trace, None))
    finally:
        view.tables.close()


@names_missing_columns
def _solve_view(engine: Engine, view: View, columns: EdgeColumns, steps: Steps, trace: Trace | None) -> Frame:
    """The forest of a frame in memory."""
    order = steps.order_columns
    checked = check_columns(engine, view.readers, view.column, len(view), columns.names, columns.invalid)
    source, target = checked.ids.source, checked.ids.target
    if not isinstance(source, engine.xp.ndarray):
        source, target = _numbered(engine, source, target)
    in_order = rows_in_order(view, order) if order else None
    row = checked.kept
    if in_order is not None:
        row = engine.xp.empty(len(view), np.int64)
        row[in_order] = engine.xp.arange(len(view))
        row = row if checked.kept is None else row[checked.kept]
    native = view.plain().build(_edge_columns(engine, source, target, checked.weights.values, row, columns.maximum))
    rows = _rows(engine, _forest(as_lazy(native), None, steps.form, trace, None))
    rows = rows if in_order is None else in_order[rows]
    return view.take(None, engine.xp.sort(rows))


def _numbered(engine: Engine, source: Any, target: object) -> tuple[Array, Array]:
    """Number ids without a kernel: on the host by Arrow, on a GPU by cuDF."""
    if not engine.on_host:
        numbered = factorize(engine, source, target, in_order=False)
        return numbered.source, numbered.target
    encoded = pa.chunked_array([plain(source), plain(target)]).dictionary_encode()
    codes = [chunk.indices.to_numpy().view(np.uint32) for chunk in encoded.chunks]  # none if there are no ids
    code = np.concatenate([np.zeros(0, np.uint32), *codes])
    return code[: len(source)], code[len(source) :]


def _edge_columns(
    engine: Engine, source: Array, target: Array, weight: Array, row: Array | None, maximum: bool
) -> dict[str, Array]:
    """Columns of the edges; the least weight comes first."""
    weight = ordered_integers(weight) if weight.dtype.kind == "f" else weight
    weight = ~weight if maximum else weight
    row = engine.xp.arange(len(source), dtype=np.int64) if row is None else row
    return {"row": row, "source": source, "target": target, "weight": weight}


_ROUNDS = {"boruvka": boruvka_ranks, "bsp": bsp_ranks, "mastiff": mastiff_ranks}


def _forest(edges: Edges, tables: Tables | None, form: str, trace: Trace | None, vertices: int | None) -> Edges:
    """The column ``row`` of the forest's edges; vertices are counted only for a trace."""
    tables = open_tables(edges) if tables is None else tables
    rows = 0
    if trace is not None:
        rows = count(edges)
        if vertices is None:
            ends = [edges.select(vertex=nw.col(end)) for end in ("source", "target")]
            vertices = count(nw.concat(ends).unique("vertex"))
    ranked = tables.number(without_loops(edges), "rank", ("weight", "row"), "ranked")
    ranked = ranked.select("rank", "row", "source", "target")
    ranks = _ROUNDS[form](ranked, tables.keep, Trace() if trace is None else trace, rows, vertices or 0)
    return ranked.join(ranks, on="rank", how="semi").select("row")


def _rows(engine: Engine, forest: Edges) -> Array:
    """Rows as an array in the engine's memory, in no order."""
    rows = collected(forest).get_column("row")
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
        library = type(edges).__module__.partition(".")[0]
        message = f"{library} lacks an operation that {doing} takes: {error}"
        hint = "collect the frame, as pandas, polars or pyarrow: dfmst then takes any algorithm"
        raise UnsupportedFrameError(message, hint) from error
