"""The facts that a page shows of the graph and of its forest, and the coordinates and colors of vertices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name, plural
from dfmst._common.deferred import cached_property, pc
from dfmst._common.types import Array, Column, ColumnName, EndNames, Frame
from dfmst._edges.arrow_values import moments, readable
from dfmst._edges.frames import open_host_frame
from dfmst._edges.host_frame import host_column
from dfmst._edges.read import EdgeColumns
from dfmst._edges.unify import family_of
from dfmst._edges.view import View
from dfmst._edges.weights import plain_weights, total_weight, weight_floats
from dfmst._engines import host_engine
from dfmst._engines.primitives.kruskal_tree import Merges, merge_clusters
from dfmst._report.drawing import clip, clock, grouped, label, moment
from dfmst._trees.clusters import NOISY
from dfmst._trees.forest import FrameRows
from dfmst._trees.ordered import order_forest
from dfmst._trees.points.read import (
    LINE,
    POINT,
    Lines,
    geometry_column,
    geometry_name,
    geometry_names,
    is_degrees,
    read_geometry,
    read_lines,
)
from dfmst._trees.points.search import degrees_among, latitude_of
from dfmst._trees.request import Request, Solver
from dfmst._trees.result import Forest, kind_of
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError, missing_column
from dfmst.formats.text_rows import LINE as TEXT_LINE

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
        columns = [name for name in view.frame.columns if name != TEXT_LINE]
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


_OWN = np.array([0, 1, 2, 4, 5, 6, 7])  # styles s0 to s7 of the categories with a color of their own
_OTHER = 3  # the style of all others

Legend = list[tuple[str, str, str]]  # class of the sign, its color, and the words


@dataclass(frozen=True, slots=True)
class DrawnPoints:
    """Coordinates by id."""

    ids: pa.ChunkedArray  # of equal ids, which are in one place, the first counts
    x: Array  # coordinates, float64
    y: Array
    degrees: bool  # whether they are longitudes and latitudes, if their values may be
    lines: Lines | None = None  # the lines of the forest's rows, if they have any

    @property
    def geographic(self) -> bool:
        """Whether the finite coordinates are degrees of longitude and latitude."""
        x, y = self.x[np.isfinite(self.x)], self.y[np.isfinite(self.y)]
        return self.degrees and bool(len(x)) and bool((np.abs(x) <= 360).all() and (np.abs(y) <= 90).all())

    def of(self, values: pa.Array) -> tuple[Array, Array]:
        """Return x and y of vertices, NaN for vertices without coordinates."""
        at = match_ids(values, self.ids, "points")
        return np.append(self.x, np.nan)[at], np.append(self.y, np.nan)[at]


def match_ids(values: pa.Array, ids: pa.ChunkedArray, kind: str) -> Array:
    """Return the place of each vertex among ids, -1 if it is not there."""
    try:
        common = ids.type if family_of(ids.type) == "text" else values.type  # "0170" is no 170
        match = pc.index_in(values.cast(common), value_set=ids.cast(common))
    except (pa.ArrowException, NotImplementedError):
        match = pa.nulls(len(values), pa.int32())
    if len(values) and match.null_count == len(values):
        message = f"none of the {len(values):,} vertices is among the {len(ids):,} {kind}"
        example = f"a vertex is {label(values[0].as_py())!r}"
        raise InvalidEdgesError(message, f"{example}: name the points' column of such ids with ids=")
    return np.asarray(pc.fill_null(match, -1))


def frame_points(points: Frame, id: Any = None, coordinates: Column = None) -> DrawnPoints:
    view = open_host_frame(points, "points")
    ids = column_of(view, view.frame.columns[0] if id is None else id, "ids=")
    names = [] if coordinates is None else _names(coordinates)
    if len(names) == 2:
        x, y = (_numbers(view, name) for name in names)
        return _in_one_place(_of_columns(ids, x, y, *map(str, names)))
    name = names[0] if names else geometry_name(view.native)
    if name is None:
        message = "the points have no geometry, and no columns of coordinates are named"
        option = "coordinates=('lon', 'lat')", "--coordinates lon lat"
        raise InvalidEdgesError(message, f"name two columns: {option[0]}", option=option)
    geometry = read_geometry(_geometries(view, name), name)
    if not (geometry.kind == POINT).any() and len(ids):
        message = f"column {name!r} holds no points"
        raise InvalidEdgesError(message, "store points as WKB, or name two columns of numbers")
    x, y = np.where(geometry.kind == POINT, geometry.first, np.nan)
    return _in_one_place(DrawnPoints(ids, x, y, is_degrees(view.native, name)))


def _in_one_place(points: DrawnPoints) -> DrawnPoints:
    try:
        chunks = pc.dictionary_encode(points.ids).unify_dictionaries().chunks
    except pa.ArrowException:  # no vertex has such an id
        return points
    codes = np.concatenate([np.zeros(0, np.int64), *(np.asarray(chunk.indices.fill_null(-1)) for chunk in chunks)])
    first, number = np.unique(codes, return_index=True, return_inverse=True)[1:]
    at, places = first[number], np.stack([points.x, points.y])
    differ = (codes >= 0) & (np.abs(places - places[:, at]) > 0).any(axis=0)
    if differ.any():
        row = int(differ.argmax())
        message = f"the points have {points.ids[row].as_py()!r} in two places, in rows {at[row]} and {row}"
        raise InvalidEdgesError(message, "pass one row a point")
    return points


def edge_points(view: View, ends: EndNames, coordinates: Column) -> DrawnPoints:
    """Read coordinates of both ends from the edges' columns: ``source_lon`` for ``lon``, and so on."""
    names = _names(coordinates)
    if len(names) == 1:
        return _of_lines(view, ends, names[0])
    x, y = (np.concatenate([_numbers(view, f"{end}_{name}") for end in ends]) for name in names)
    return _of_columns(both_ends(view, ends), x, y, *map(str, names))


def _of_lines(view: View, ends: EndNames, name: ColumnName) -> DrawnPoints:
    """Coordinates of both ends of edges that have lines from source to target."""
    column = _geometries(view, name)
    lines = read_geometry(column, name)
    if not (lines.kind == LINE).any() and len(view):
        message = f"column {name!r} holds no lines"
        raise InvalidEdgesError(message, "name a column of LineStrings from source to target, or two columns")
    first, last = (np.where(lines.kind == LINE, places, np.nan) for places in (lines.first, lines.last))
    x, y = np.concatenate([first, last], axis=1)
    drawn = read_lines(column, name)
    finite = bool(np.isfinite(drawn.x).all() and np.isfinite(drawn.y).all())
    return DrawnPoints(both_ends(view, ends), x, y, is_degrees(view.native, name), drawn if finite else None)


def both_ends(view: View, names: tuple[ColumnName, ...]) -> pa.ChunkedArray:
    """Return the values of two columns, one after the other, in the type of the first."""
    columns = [column_of(view, name, "") for name in names]
    kind = columns[0].type
    return pa.chunked_array([chunk for column in columns for chunk in column.cast(kind).chunks], kind)


def _names(coordinates: Column) -> list[Any]:
    if isinstance(coordinates, str):
        return [coordinates]
    names = list(coordinates) if isinstance(coordinates, (list, tuple)) else []
    if not 0 < len(names) <= 2:
        raise TypeError("coordinates must be one or two columns' names, such as ('lon', 'lat')")
    for name in names:
        check_column_name("coordinates", name)
    return names


def _of_columns(ids: Column, x: Array, y: Array, first: str, second: str) -> DrawnPoints:
    """Points of two columns: x and y, or if their names say so the longitude and the latitude, in either order."""
    degrees = degrees_among((first, second)) is not None
    if degrees and not latitude_of(first, second):
        x, y = y, x
    return DrawnPoints(ids, x, y, degrees)


def column_of(view: View, name: ColumnName, argument: str) -> pa.ChunkedArray:
    """Return a column as Arrow; `argument` named it."""
    check_column_name(argument or "id", name)
    if name not in view.frame.columns:
        hint = f"name the column with {argument}" if argument else ""
        raise missing_column(name, view.frame.columns, hint, option=(argument, f"--{argument[:-1]}"))
    column = view.column(name)
    if isinstance(column, pa.ChunkedArray):
        return column
    try:
        return pa.chunked_array([pa.array(column, from_pandas=True)])
    except pa.ArrowException as error:
        message = f"column {name!r} holds values of several types"
        raise InvalidEdgesError(message, "convert them to one type, such as strings") from error


def _numbers(view: View, name: ColumnName) -> Array:
    column: Any = column_of(view, name, "coordinates=")
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except (pa.ArrowException, NotImplementedError) as error:
        message = f"column {name!r} holds {column.type} values, not coordinates"
        option = "coordinates=", "--coordinates"
        raise InvalidEdgesError(message, "name columns of numbers with coordinates=", option=option) from error


def _geometries(view: View, name: ColumnName) -> pa.ChunkedArray:
    check_column_name("coordinates=", name)
    if name not in view.frame.columns:
        raise missing_column(name, view.frame.columns, "name the column with coordinates=")
    column = geometry_column(view, name)
    if column is None:
        kind = view.series(name).dtype
        raise UnsupportedFrameError(f"column {name!r} holds {kind} values, not points", "name two columns of numbers")
    return column


@dataclass(frozen=True, slots=True)
class Colors:
    """A style for each vertex and each edge."""

    family: str  # first letter of the styles
    vertex: Array  # number of the style
    edge: Array  # the same, in the forest's order
    legend: Legend
    words: str = ""  # description of the colors

    def order(self) -> list[int]:
        """Return the styles in the order in which they are drawn: those of few vertices last."""
        return [2, 1, 0] if self.family == "c" else [_OTHER, *_OWN[::-1].tolist()]

    def of_parts(self, part: Array, count: int) -> Array:
        """Return the style of most vertices of each part."""
        return np.bincount(part * 8 + self.vertex, minlength=8 * count).reshape(count, 8).argmax(axis=1)  # type: ignore[no-any-return]


def tree_colors(forest: ForestFacts) -> Colors:
    """Color the largest tree, the second, and all others."""
    rank = np.minimum(forest.tree, 2)
    more = len(forest.tree_sizes) - 2
    legend = [("k0", "forest", "largest tree"), ("k1", "c1", "second")]
    legend += [("k2", "c2", "third" if more == 1 else f"the other {more:,}")] if more > 0 else []
    return Colors("c", rank, rank[forest.ordered.source], legend if more >= 0 else [])


def read_colors(forest: ForestFacts, columns: EdgeColumns, points: Frame, id: Any, color: Any) -> Colors:
    """Read the categories of vertices, or of rows, that `color` names."""
    if hasattr(color, "columns") or hasattr(color, "column_names"):
        view = open_host_frame(color, "color")
        names = view.frame.columns
        if len(names) < 2:
            raise InvalidEdgesError("the frame of colors has one column", "pass vertices and their groups")
        return _of_vertices(forest, column_of(view, names[0], ""), column_of(view, names[1], ""), str(names[1]))
    check_column_name("color=", color)
    names = forest.view.frame.columns
    if points is not None:
        view = open_host_frame(points, "points")
        if color in view.frame.columns:
            ids = column_of(view, view.frame.columns[0] if id is None else id, "ids=")
            return _of_vertices(forest, ids, column_of(view, color, ""), str(color))
        names = [*view.frame.columns, *names]
    ends = columns.source, columns.target
    if all(f"{end}_{color}" in names for end in ends):
        values = both_ends(forest.view, tuple(f"{end}_{color}" for end in ends))
        return _of_vertices(forest, both_ends(forest.view, ends), values, str(color))
    if color not in forest.view.frame.columns:
        hint = "name a column of the points or of the edges with color="
        raise missing_column(color, names, hint, option=("color=", "--color"))
    return _of_rows(forest, column_of(forest.view, color, ""), str(color))


def _of_vertices(forest: ForestFacts, ids: pa.ChunkedArray, values: pa.ChunkedArray, name: str) -> Colors:
    style, words = _categories(values, name)
    vertex = np.append(style, _OTHER)[match_ids(forest.ordered.listed.values(), ids, "rows of colors")]
    one, other = vertex[forest.ordered.source], vertex[forest.ordered.target]
    legend = _legend(words, np.bincount(vertex, minlength=8), "vertex", "vertices")
    return Colors("s", vertex, np.where(one == other, one, _OTHER), legend, f"Vertices by {label(name)}")


def _of_rows(forest: ForestFacts, values: pa.ChunkedArray, name: str) -> Colors:
    """Color edges; a vertex has the color of its edges if they have the same."""
    style, words = _categories(values, name)
    edge = style[forest.ordered.rows]
    least, most = np.full(forest.vertices, 8), np.full(forest.vertices, -1)
    for end in (forest.ordered.source, forest.ordered.target):
        np.minimum.at(least, end, edge)
        np.maximum.at(most, end, edge)
    legend = _legend(words, np.bincount(edge, minlength=8), "edge", "edges")
    return Colors("s", np.where(least == most, least, _OTHER), edge, legend, f"Edges by {label(name)}")


def _categories(values: pa.ChunkedArray, name: str) -> tuple[Array, list[str]]:
    """Return the style of each value, and the words of the most frequent ones."""
    try:
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if NOISY.fullmatch(name) and pa.types.is_signed_integer(values.type):
            values = pc.if_else(pc.equal(values, -1), None, values)
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    except (pa.ArrowException, NotImplementedError) as error:
        message = f"column {name!r} holds {values.type} values, not categories"
        raise InvalidEdgesError(message, "name another column with color=") from error
    code = pc.fill_null(coded.indices.cast(pa.int64()), len(coded.dictionary)).to_numpy(zero_copy_only=False)
    count = np.bincount(code, minlength=len(coded.dictionary) + 1)[:-1]
    chosen = np.argsort(-count, kind="stable")[: len(_OWN)]
    chosen = chosen[count[chosen] > 0]
    style = np.full(len(count) + 1, _OTHER)
    style[chosen] = _OWN[: len(chosen)]
    words = [clip(label(value), 30) for value in readable(coded.dictionary.take(pa.array(chosen)))]
    return style[code], words


def _legend(words: list[str], count: Array, one: str, more: str) -> Legend:
    named = list(zip(words, _OWN.tolist(), strict=False)) + ([("others", _OTHER)] if count[_OTHER] else [])
    return [("", f"s{style}", f"{text}: {plural(int(count[style]), one, more)}") for text, style in named]
