"""Clusters with conditions: Kruskal's scan of all rows that refuses merges."""

from __future__ import annotations

import numpy as np

from dfmst._common.arguments import check_column_name, plural, whole_number
from dfmst._common.types import Array, ColumnName, Vertices
from dfmst._edges.frames import open_frame
from dfmst._edges.vertex_list import find_places
from dfmst._edges.view import View
from dfmst._engines.primitives.contract import flatten
from dfmst._trees.cut import SortedForest, VertexOrder, Weights
from dfmst._trees.ordered import OrderedForest
from dfmst.errors import InvalidEdgesError, missing_column

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
