"""A forest's edges in their order, between places in a list of vertices.

Clusters with conditions come from Kruskal's scan of all rows, which refuses some merges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name, plural, whole_number
from dfmst._common.types import Array, ColumnName, Frame, Vertices
from dfmst._edges.device_frame import DeviceEntries
from dfmst._edges.edge_table import EdgeTable, Input
from dfmst._edges.frames import open_frame
from dfmst._edges.read import read_table
from dfmst._edges.vertex_list import VertexList, check_one_graph, find_places, list_vertices, read_groups
from dfmst._edges.view import View
from dfmst._edges.weights import weight_floats
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.contract import component_labels, count_roots, flatten, unite
from dfmst._engines.primitives.edges import gather_ends, gather_keys
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.cut import SortedForest, VertexOrder, Weights, places_in_groups
from dfmst._trees.forest import open_edge_frame
from dfmst._trees.request import Request
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import solve_table
from dfmst.errors import InvalidEdgesError, missing_column

_SAFE = 2.0**62  # a sum of float64s below it is that of integers of 64 bits


@dataclass(frozen=True, slots=True)
class OrderedForest(SortedForest[Array]):
    """The forest of a frame, lightest edge first (heaviest, for a maximum forest); in the frame's memory."""

    engine: Engine  # of that memory
    view: View
    listed: VertexList
    rows: Array  # the edges' rows of the frame, in order, ``int64``
    source: Array  # their ends, as places in the list, ``uint32``
    target: Array
    weight: Array | None = None  # ``float64`` in place of those of a column
    sets: Array | None = None  # disjoint sets of the places, which the edges have united; None: not united yet

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return len(self.listed)

    @property
    def trees(self) -> int:
        """The number of trees; a vertex without edges is one."""
        return self.vertices - len(self)

    def to_host(self) -> OrderedForest:
        """Return the forest with its columns on the host, to be walked there; the frame is not copied."""
        if self.engine.on_host:
            return self
        rows, source, target = map(self.engine.to_host, (self.rows, self.source, self.target))
        sets = None if self.sets is None else self.engine.to_host(self.sets)
        return replace(self, engine=host_engine(self.engine), rows=rows, source=source, target=target, sets=sets)

    def labels(self, edges: int | Array | None = None) -> Array:
        """Return the smallest place of each place's component, by all edges, by the first ones, or by those flagged."""
        if edges is None and self.sets is not None:
            label = self.sets.copy()
            flatten(self.engine, label)
            return label
        chosen = slice(edges) if edges is None or isinstance(edges, int) else edges
        source, target = self.source[chosen], self.target[chosen]
        return component_labels(self.engine, EdgeTable(source, target, source, self.vertices))

    def groups(self) -> Array:
        groups = self.listed.groups
        assert groups is not None
        of_place = self.listed.engine.to_host(groups.of_place) if self.engine.on_host else groups.of_place
        return of_place[self.source]

    def places_in_groups(self) -> tuple[Array, Array, Array]:
        """Return the group of each edge, its place among the group's edges, and all edges by group."""
        group = self.groups()
        assert self.listed.groups is not None
        return group, *places_in_groups(self.engine, group, len(self.listed.groups.row))

    def column(self, name: ColumnName) -> Any:
        """Return a column's entries of the edges, in order, without an index."""
        return self.view.entries(name, self.rows, self.listed.engine)

    def build(self, weight: ColumnName, columns: Mapping[str, Array | None], begin: Mapping[Any, Any]) -> Frame:
        """Return a frame of the user's kind; a column that is ``None`` holds the weights of the edges.

        `begin` are columns that come first, as of :meth:`dfmst._edges.vertex_list.Groups.columns`.
        """
        given = {name: self.column(weight) if column is None else column for name, column in columns.items()}
        return self.view.build({**begin, **given})

    def weights(self, name: ColumnName) -> Array | pa.Array | DeviceEntries:
        """Return the weights of the edges, in order, as :func:`plain_weights` has them; on a GPU to read entries."""
        return self.view.weights(name, self.listed.engine.from_host(self.rows))

    def distances(self, weight: ColumnName) -> Array:
        """Return the weights of the edges, in order, as the nearest ``float64``; 1 if there is no column."""
        if self.weight is not None:
            return self.weight
        if weight is None:
            return self.engine.xp.ones(len(self))  # type: ignore[no-any-return]
        return self.listed.engine.from_host(_distances(weight, self.weights(weight)))


def _distances(name: ColumnName, weights: Array | pa.Array | DeviceEntries) -> Array:
    if len(weights) and not isinstance(weights, np.ndarray) and pa.types.is_temporal(weights.type):
        message = f"column {name!r} holds {weights.type} weights, and distances are numbers"
        raise InvalidEdgesError(message, "subtract the earliest one, and cast the differences to numbers")
    if isinstance(weights, DeviceEntries):
        return weights.floats() if weights.numbers else weight_floats(weights.arrow())
    return weight_floats(weights)


def order_forest(
    edges: Frame,
    request: Request,
    vertices: Vertices | None = None,
    *,
    argument: str = "edges",
    all_rows: bool = False,
    reweigh: Callable[[Engine, EdgeTable, Array], Array] | None = None,
) -> OrderedForest:
    """Find the forest of a frame, and put its edges (or all rows of the frame) in order.

    `reweigh` makes other weights, ``float64``, of an engine, the table there and its weights as ``float64``.
    """
    columns, solver = request.columns, request.solver
    view, runner = open_edge_frame(edges, solver.engine, solver.threads, argument)
    with runner.guard():
        listed, weight = None, None
        if columns.conditions.by:
            check_one_graph(vertices)
            input, listed, _ = read_groups(runner, view, columns)
        else:
            input = read_table(runner, view, columns, in_order=True)
        if reweigh is not None:
            distance = runner.from_host(_row_distances(runner, view, columns.weight, input))
            weight = reweigh(runner, input.table, distance)
            input = replace(input, table=replace(input.table, weight=weight, span=None))
        scratch = runner.in_scratch()
        rows, sets = (None, None) if all_rows else _forest_rows(runner, input.table, solver.algorithm)
        order = sort_order(scratch, gather_keys(runner, input.table.weight, rows, input.table.flip))
        reader, ranked = view.engine(runner), input.to_frame_memory(order)
        ends, places = (input.vertices.source, input.vertices.target), ranked
        if rows is not None:  # read first in the order of the table, then from short columns
            rows = input.to_frame_memory(rows)
            ends, ranked = gather_ends(reader, *ends, rows, None), rows[places]
        if listed is None:
            spanning = None if rows is None or input.moved_by is not None else ends
            listed = list_vertices(runner, view, columns.names[:2], input, vertices, spanning)
        source, target = gather_ends(reader, *ends, places, None if listed.is_whole else listed.place)
        frame_rows = ranked.astype(np.int64) if input.kept is None else input.kept[ranked]
        weight = None if weight is None else input.to_frame_memory(weight)[ranked]
        sets = None if sets is None or not listed.is_whole else input.to_frame_memory(sets)
    return OrderedForest(reader, view, listed, frame_rows, source, target, weight, sets)


def _forest_rows(engine: Engine, table: EdgeTable, algorithm: str | Algorithm) -> tuple[Array | None, Array | None]:
    """Return the table's rows in the forest, ascending ``uint32``.

    If no row closes a cycle, nothing is solved: they are ``None``, and the second entry has the sets of vertices that
    they unite.
    """
    if len(table) < table.vertices:
        sets = engine.xp.arange(table.vertices, dtype=np.uint32)
        unite(engine, table.source, table.target, None, sets)
        if count_roots(engine, sets) == table.vertices - len(table):
            return None, sets
    return solve_table(engine.in_scratch(), table, algorithm).astype(np.uint32), None


def _row_distances(engine: Engine, view: View, name: ColumnName, input: Input) -> Array:
    """Weights of the rows of a table as the nearest ``float64``, in the frame's memory."""
    if name is None:
        return view.xp.ones(len(input.table))  # type: ignore[no-any-return]
    return view.engine(engine).from_host(_distances(name, view.weights(name, input.kept)))


def summable(name: ColumnName, weights: Array | pa.Array | DeviceEntries) -> Array:
    """Return plain weights as numbers that have a sum; Python's integers if 64 bits may not hold it.

    On a GPU, numbers stay there; decimals, and integers that 64 bits may not hold, go to the host.
    """
    if not len(weights):  # an empty column may have any type
        return np.zeros(0, np.int64)
    if isinstance(weights, np.ndarray):
        return weight_floats(weights)
    kind = weights.type
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or (pa.types.is_decimal(kind) and not kind.scale)
    if not whole and not pa.types.is_floating(kind) and not pa.types.is_decimal(kind):
        message = f"column {name!r} holds {kind} weights, which have no sum along a path"
        raise InvalidEdgesError(message, "cast it to integers or floats")
    if isinstance(weights, DeviceEntries) and not weights.numbers:
        weights = weights.arrow()
    floats = weights.floats() if isinstance(weights, DeviceEntries) else weight_floats(weights)
    if not whole:
        return floats
    safe = not len(weights) or float(abs(floats).sum()) < _SAFE
    if safe and isinstance(weights, DeviceEntries):
        return weights.values().astype(np.int64)
    column = weights.arrow() if isinstance(weights, DeviceEntries) else weights
    if safe:
        return np.asarray(column.cast(pa.int64()))
    return np.array([int(value) for value in column.to_pylist()], object)


_NONE = int(np.iinfo(np.uint32).max)
_HINT = "name source, target, a pair of columns of the edges, or a column of vertices= as a frame with 'vertex'"


def constrained(
    ordered: OrderedForest, max_size: int | None, one_per: object, vertices: Vertices | None
) -> ConstrainedMerges:
    """Return the merges of all rows that the conditions allow; `ordered` are all rows, and one thread scans them."""
    ordered = ordered.to_host()
    return ConstrainedMerges(ordered, max_size, _read_marks(ordered, vertices, one_per))


class ConstrainedMerges(SortedForest[Array]):
    """Merges of all rows in their order that the conditions allow; each call continues the last one."""

    def __init__(self, ordered: OrderedForest, max_size: int | None, mark: Array | None) -> None:
        self._ordered, self.engine, n = ordered, ordered.engine, ordered.vertices
        self._most = n if max_size is None else whole_number("max_size", max_size)
        if self._most < 1 and n:
            raise ValueError(f"max_size is {max_size}; it must be at least 1")
        self._mark, self._marks = mark, 0 if mark is None or not n else int((mark + np.uint32(1)).max())
        self._parent, self._size = np.arange(n, dtype=np.uint32), np.ones(n, np.uint32)
        self._signature = self._next = self._stamp = None
        if mark is not None:
            bits = np.uint64(1) << (mark.astype(np.uint64) & np.uint64(63))
            self._signature = np.where(mark == _NONE, np.uint64(0), bits)
            self._next, self._stamp = self._parent.copy(), np.zeros(self._marks, np.uint32)
        self._state = np.array([0, n], np.uint64)  # rows that were scanned, and clusters

    def __len__(self) -> int:
        return len(self._ordered)

    def weights(self, name: ColumnName) -> Weights:
        return self._ordered.weights(name)

    def labels(self, edges: int | Array) -> Array:
        self._scan(edges, 1)
        label = self._parent.copy()
        flatten(self.engine, label)
        return label

    def kept(self, order: VertexOrder, clusters: int) -> int:
        self._scan(len(self), clusters)
        scanned, made = map(int, self._state)
        if made != clusters:
            message = f"{clusters:,} clusters cannot be made of {len(order):,} vertices under these conditions"
            raise InvalidEdgesError(message, f"make {made:,} to {len(order):,}")
        return scanned

    def _scan(self, rows: int | Array, wanted: int) -> None:
        """Merge rows until this number is scanned, or this number of clusters is left."""
        conditions = (self._most, self._mark, self._marks, self._parent, self._size)
        columns = (self._signature, self._next, self._stamp, self._state)
        ends = self._ordered.source, self._ordered.target
        self.engine.launch_alone("merge_within", *ends, rows, wanted, *conditions, *columns)


def _read_marks(ordered: OrderedForest, vertices: Vertices | None, one_per: object) -> Array | None:
    """Return a number for each place; a cluster may hold one place of each number; 2^32 - 1 for places without one."""
    names = ordered.listed.names
    if one_per is None:
        return None
    if isinstance(one_per, (list, tuple)) and len(one_per) == 2:
        return _marks_of_rows(ordered, list(one_per))
    check_column_name("one_per", one_per)
    if one_per in names:
        mark = np.full(ordered.vertices, _NONE, np.uint32)
        mark[ordered.source if one_per == names[0] else ordered.target] = 0
        return mark
    if not hasattr(vertices, "columns"):
        raise missing_column(one_per, list(names), _HINT)
    view = open_frame(vertices, "vertices")
    code, null = _codes(ordered, view, [one_per])
    mark = np.full(ordered.vertices, _NONE, np.uint32)
    place = ordered.listed.engine.to_host(find_places(ordered.listed, "vertices", vertices))
    mark[place] = np.where(null, _NONE, code)
    return mark


def _codes(ordered: OrderedForest, view: View, names: list[ColumnName]) -> tuple[Array, Array]:
    """Number the values of columns alike, and flag nulls; on the host."""
    to_host = ordered.listed.engine.to_host
    codes = to_host(view.codes(*((view, name, None) for name in names))).astype(np.uint32)
    return codes, np.concatenate([to_host(view.nulls(name)) for name in names])


def _marks_of_rows(ordered: OrderedForest, names: list[ColumnName]) -> Array:
    """Marks of both ends of each row; those of a vertex must be equal in all its rows."""
    code, null = (np.split(column, 2) for column in _codes(ordered, ordered.view, names))
    mark = np.full(ordered.vertices, _NONE, np.uint32)
    ends = (ordered.source, ordered.target)
    for end, values, missing in zip(ends, code, null, strict=True):
        mark[end] = np.where(missing, _NONE, values)[ordered.rows]
    for name, end, values, missing in zip(names, ends, code, null, strict=True):
        other = np.flatnonzero(np.where(missing, _NONE, values)[ordered.rows] != mark[end])
        if len(other):
            row = int(ordered.rows[other].min())
            message = (
                f"column {name!r} gives a vertex a second value in {plural(len(other), 'row')}, the first is row {row}"
            )
            raise InvalidEdgesError(message, "give every vertex one value in all its rows", row=row)
    return mark
