"""The facts that a page shows of the graph and of its forest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array, Column, ColumnName, Frame
from dfmst._edges.arrow_values import moments, readable
from dfmst._edges.frames import open_host_frame
from dfmst._edges.host_frame import host_column
from dfmst._edges.read import EdgeColumns
from dfmst._edges.view import View
from dfmst._edges.weights import plain_weights, total_weight, weight_floats
from dfmst._engines import host_engine
from dfmst._engines.primitives.kruskal_tree import Merges, merge_clusters
from dfmst._report.words import clock, grouped, label, moment
from dfmst._trees.forest import FrameRows
from dfmst._trees.ordered import order_forest
from dfmst._trees.points.read import geometry_names
from dfmst._trees.request import Request, Solver
from dfmst._trees.result import Forest, kind_of
from dfmst.formats.text_rows import LINE

LONGEST = 5  # edges that a picture numbers


def as_floats(name: ColumnName, column: Column) -> Array:
    """Return weights as ``float64``, nulls and NaNs left out; dates and times in seconds."""
    weights = plain_weights(name, column)
    if isinstance(weights, pa.Array):
        weights = weights.drop_null()
        if pa.types.is_temporal(weights.type):
            return moments(weights)
    floats = weight_floats(weights)
    return floats[~np.isnan(floats)] if np.isnan(floats).any() else floats


def number_of_root(root: Array) -> Array:
    """Number the roots of vertices from 0 on, and return that of each vertex."""
    number: Array = np.cumsum(root == np.arange(len(root))) - 1
    return number[root]


class ForestFacts:
    """A forest on the host, lightest edge first (heaviest, for a maximum forest)."""

    def __init__(self, forest: Frame, columns: EdgeColumns) -> None:
        plain = EdgeColumns(columns.source, columns.target, columns.weight, columns.maximum, columns.invalid)
        # Edges between places in the list of vertices.
        self.ordered = order_forest(forest, Request(plain, Solver(engine="cpu")))
        self.vertices = self.ordered.vertices  # number of vertices with an edge of the forest
        self.weight_name = columns.weight  # None: all weights are equal
        self.maximum = columns.maximum

    @property
    def view(self) -> View:
        return self.ordered.view

    @cached_property
    def weight(self) -> Array:
        """Weights in the forest's order, ``float64``; empty if all are equal."""
        if self.weight_name is None:
            return np.empty(0)
        return as_floats(self.weight_name, self.ordered.weights(self.weight_name))

    @cached_property
    def ranked(self) -> bool:
        """Whether some edges are heavier than others."""
        return len(self.weight) > 0 and bool(self.weight[0] != self.weight[-1])

    @cached_property
    def weight_words(self) -> Callable[[float], str]:
        """Show a weight: a number, a date or a time of day."""
        weights = None if self.weight_name is None else self.ordered.weights(self.weight_name)
        kind = weights.type if isinstance(weights, pa.Array) else pa.null()
        if not pa.types.is_temporal(kind) or pa.types.is_duration(kind):
            return grouped
        return clock if pa.types.is_time(kind) else moment

    @cached_property
    def degree(self) -> Array:
        ends = self.ordered.source, self.ordered.target
        return sum(np.bincount(end, minlength=self.vertices) for end in ends)  # type: ignore[return-value]

    @cached_property
    def root(self) -> Array:
        return self.ordered.labels()

    @cached_property
    def tree(self) -> Array:
        """Number of each vertex's tree, 0 the largest, ``int64``."""
        member = number_of_root(self.root)
        count = np.bincount(member)
        rank = np.empty(len(count), np.int64)
        rank[np.argsort(-count, kind="stable")] = np.arange(len(count))
        return rank[member]

    @cached_property
    def tree_sizes(self) -> Array:
        return np.bincount(self.tree)

    def hubs(self, part: Array, count: int) -> Array:
        """Return the vertex of most edges in each part, of equal ones the smallest."""
        most = np.zeros(count, np.int64)
        np.maximum.at(most, part, self.degree)
        among = np.flatnonzero(self.degree == most[part])[::-1]
        hub = np.empty(count, np.int64)
        hub[part[among]] = among  # of equal parts the last one counts
        return hub

    @cached_property
    def merges(self) -> Merges:
        return merge_clusters(self.ordered.engine, self.ordered.source, self.ordered.target, self.vertices)

    def names(self, places: Sequence[int] | Array) -> list[str]:
        ids = self.ordered.listed.values().take(pa.array(np.asarray(places, np.int64)))
        return [label(value) for value in readable(ids)]

    def ends(self, at: int) -> list[str]:
        return self.names([int(self.ordered.source[at]), int(self.ordered.target[at])])

    def extreme(self, count: int) -> Array:
        """Return places in the order of the last edges, the last one first: the longest of a minimum forest."""
        return np.arange(len(self.ordered) - 1, max(-1, len(self.ordered) - 1 - count), -1)

    def table(self, edges: Array, most: int) -> tuple[list[str], list[list[Any]], int]:
        """Return names and values of columns for some edges, and how many columns were left out.

        Geometries are left out: they are drawn.
        """
        view, drawn = self.view, set(geometry_names(self.view.native))
        first = [name for name in (*self.ordered.listed.names, self.weight_name) if name is not None]
        columns = [name for name in view.frame.columns if name != LINE]
        names = first + [name for name in columns if name not in drawn.union(first)]
        rows: nw.DataFrame[Any] = view.rows(self.ordered.engine, self.ordered.rows[edges]).frame
        values = [_listed(rows.get_column(name)) for name in names[:most]]
        return [label(name) for name in names[:most]], values, len(columns) - len(values)


def _listed(series: nw.Series[Any]) -> list[Any]:
    """Values of a column; dates and times as text, since not all are Python's."""
    if not series.dtype.is_temporal():
        return series.to_list()
    column = host_column(series.name, series)
    return readable(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


@dataclass(frozen=True, slots=True)
class GraphFacts:
    name: str  # of the graph and of the forest, as words
    kind: str
    rows: int  # counts
    dropped: int
    vertices: int
    total: Any  # the forest's total weight; None if all weights are equal
    maximum: bool  # whether heavier edges come first
    weight: Array | None = None  # weights of the rows, and degree -> vertices; None if only the forest was read
    degree: Array | None = None


def of_solution(solution: Forest, title: str | None) -> tuple[GraphFacts, ForestFacts]:
    rows = solution.store
    assert isinstance(rows, FrameRows)
    graph, forest = of_summary(rows.frame, rows.columns, solution.summary(), title)
    input = rows.solved.input
    table = input.table if input.forced is None else input.whole()
    on_device = rows.view.on_device or (input.forced is None and not rows.table_engine.on_host)
    degree = None
    if len(table):
        engine = rows.runner if on_device else host_engine(rows.runner)
        ends = (end.astype(np.int64, copy=False) for end in (table.source, table.target))  # NumPy 2.0 casts no uint64
        count = sum(engine.xp.bincount(end, minlength=table.vertices) for end in ends)
        degree = engine.to_host(engine.xp.bincount(count[count > 0]))
    return replace(graph, weight=_weights(rows), degree=degree), forest


def _weights(rows: FrameRows) -> Array | None:
    name, chosen = rows.columns.weight, rows.solved.input.kept
    if name is None:
        return None
    column: Any = rows.view.column(name)
    column = column.to_arrow() if rows.view.on_device else column
    if chosen is not None:
        column = column[chosen] if isinstance(column, np.ndarray) else column.take(chosen)
    return as_floats(name, column)


def of_summary(
    rows: Frame, columns: EdgeColumns, summary: Mapping[str, Any], title: str | None
) -> tuple[GraphFacts, ForestFacts]:
    """Read the forest from its rows, and the graph from the summary of the run that found the forest."""
    view = open_host_frame(rows)
    forest = ForestFacts(view.frame.to_native(), columns)
    graph = GraphFacts(
        name=title or f"{columns.source} – {columns.target}",
        kind=str(summary.get("kind", kind_of(columns))),
        rows=int(summary.get("input_rows", len(view))),
        dropped=int(summary.get("dropped_rows") or 0),
        vertices=int(summary.get("vertices") or forest.vertices),
        total=None if columns.weight is None else total_weight(view.column(columns.weight)),
        maximum=columns.maximum,
    )
    return graph, forest
