"""The steps of `Dataframe`, for edge tables and for frames of any library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import NarwhalsError

from dfmst._common.types import Array, Frame
from dfmst._edges.dictionary import plain
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.frames import open_frame, unwrap
from dfmst._edges.lazy_frame import LazyView, lazy_edges, open_lazy_frame, rows_in_order
from dfmst._edges.lazy_tables import Tables, as_lazy, collected, open_tables, ordered_integers
from dfmst._edges.read import EdgeColumns, check_columns, names_missing_columns
from dfmst._edges.vertices import factorize
from dfmst._edges.view import View
from dfmst._engines import Engine, select_engine
from dfmst.algorithms.base import Trace
from dfmst.algorithms.frame_rounds import Edges, boruvka_ranks, bsp_ranks, count, mastiff_ranks, without_loops
from dfmst.errors import EngineUnavailableError, UnsupportedFrameError


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
