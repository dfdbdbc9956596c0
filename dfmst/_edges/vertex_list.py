"""The vertices of a result in ascending order, and frames with a row for each of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array, Frame
from dfmst._edges.arrow_values import arrow_column, listed_values
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.edge_table import Input
from dfmst._edges.host_frame import FrameView, host_column, open_host_frame
from dfmst._edges.unify import native_type, series_type
from dfmst._edges.vertices import ids_like
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import used_vertices
from dfmst.errors import InvalidEdgesError


class Groups(NamedTuple):
    """Groups of rows in ascending order, whose vertices are listed one group after the other."""

    names: tuple[Any, ...]  # columns of the groups
    row: Array  # a row of the frame for each group
    begin: Array  # first place of each group, and the number of places; ``int64``

    @property
    def sizes(self) -> Array:
        """Vertices of each group."""
        return np.diff(self.begin)

    def of_places(self) -> Array:
        """Return the group of each place."""
        return np.repeat(np.arange(len(self.row)), self.sizes)

    def columns(self, view: FrameView, groups: Array, others: Iterable[str]) -> list[nw.DataFrame[Any]]:
        """Return columns of a result that name groups, each as a frame; `others` are the names of its other columns."""
        both = [name for name in self.names if name in list(others)]
        if both:
            message = f"by= names the column {both[0]!r}, and the result has a column of this name"
            raise InvalidEdgesError(message, "rename the column of the groups")
        parts = []
        for name in self.names:
            column = replace(view, native=nw.to_native(view.series(name).to_frame()))
            parts.append(nw.maybe_reset_index(column.rows(None, self.row[groups]).frame))
        return parts


@dataclass(frozen=True, slots=True)
class VertexList:
    """Vertices in the order of their ids, each with a place from 0; all on the host."""

    view: FrameView
    names: tuple[Any, Any]  # id columns
    input: Input  # its table numbers vertices in the order of their ids
    vertex: Array  # place -> vertex of the table, ``int64``; -1 if it is in no row
    place: Array  # vertex of the table -> place, ``uint32``
    ids: pa.Array | None  # place -> id; None if the user did not list the vertices
    groups: Groups | None = None  # None: all rows are one graph

    def __len__(self) -> int:
        return len(self.vertex)

    def frame(self, columns: Mapping[str, Array], numbers: Mapping[str, Array] | None = None) -> Frame:
        """Build a frame of the user's kind from columns of places, which become ids, and columns of numbers."""
        further = bool(numbers) or self.groups is not None
        view = replace(self.view, lazy=False, as_user=None) if further else self.view
        if self.ids is None:
            vertices = {name: self.vertex[at] for name, at in columns.items()}
            frame = vertex_frame(view, self.names, self.input, vertices)
        else:
            frame = _id_frame(view, self.names, {name: self.ids.take(pa.array(at)) for name, at in columns.items()})
        if not further:
            return frame
        parts = [nw.from_native(frame, eager_only=True)]
        if numbers:
            parts.append(nw.from_dict(dict(numbers), backend=view.frame.implementation))
        if self.groups is not None:
            names = [*columns, *(numbers or ())]
            parts = [*self.groups.columns(self.view, self.groups.of_places(), names), *parts]
        return self.view.finish(nw.concat(parts, how="horizontal"))

    def values(self) -> pa.Array:
        """Return the ids in ascending order."""
        if self.ids is not None:
            return self.ids
        values = self.input.vertices.values
        return pa.array(self.vertex) if values is None else values.take(pa.array(self.vertex))


def list_vertices(
    engine: Engine, view: FrameView, names: tuple[Any, Any], input: Input, vertices: Any = None
) -> VertexList:
    """List the vertices that occur in a table, or those of `vertices`."""
    occurs = input.to_frame_memory(used_vertices(engine, input.table))
    if vertices is None:
        vertex = np.flatnonzero(occurs)
        place = np.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
        return VertexList(view, names, input, vertex, place, None)
    ids, values = _in_one_type(names[0], input, vertices)
    ids = ascending_ids(ids)
    match = pc.index_in(values, value_set=ids)
    listed = match.is_valid().to_numpy(zero_copy_only=False)
    _check_ends(input, names, occurs.astype(bool) & ~listed, values)
    place = pc.fill_null(match, 0).to_numpy().astype(np.uint32)
    vertex = np.full(len(ids), -1, np.int64)
    vertex[place[listed]] = np.flatnonzero(listed)
    return VertexList(view, names, input, vertex, place, ids)


def find_places(listed: VertexList, argument: str, ids: Any) -> Array:
    """Return the places of ids (a list, an array or a column), ``int64``."""
    wanted = ids_like((argument, id_column(ids)), ("ids", listed.values()))
    match = pc.index_in(arrow_column(argument, wanted.source), value_set=arrow_column("ids", wanted.target))
    unknown = np.asarray(match.is_null())
    if wanted.null_source is not None:  # null integers read as 0
        unknown = unknown | wanted.null_source
    if unknown.any():
        count, row = int(unknown.sum()), int(unknown.argmax())
        vertex = ids[row]
        vertex = vertex.as_py() if isinstance(vertex, pa.Scalar) else getattr(vertex, "item", lambda: vertex)()
        place = f" ({count:,} of {len(unknown):,} ids are not, the first in row {row})" if len(unknown) > 2 else ""
        message = f"{argument}: {vertex!r} is not a vertex of the table{place}"
        raise InvalidEdgesError(message, "name an end of a row, or list it in vertices=", row=row if place else None)
    return np.asarray(match).astype(np.int64)


def find_vertices(engine: Engine, names: tuple[Any, Any], input: Input, argument: str, ids: Any) -> Array:
    """Return the vertices of a table that have these ids, ascending, each once; all ids must be ends of rows."""
    wanted, values = _in_one_type(names[0], input, ids, argument)
    match = pc.index_in(values, value_set=wanted)
    occurs = input.to_frame_memory(used_vertices(engine, input.table)).astype(bool)
    vertex = np.flatnonzero(np.asarray(match.is_valid()) & occurs)
    unknown = np.asarray(pc.invert(pc.is_in(wanted, value_set=values.take(pa.array(vertex)))))
    if unknown.any():
        absent = wanted.filter(pa.array(unknown))
        shown = ", ".join(map(repr, absent[:5].to_pylist())) + (" ..." if len(absent) > 5 else "")
        message = f"{argument}: {len(absent):,} of {len(wanted):,} ids are in no row: {shown}"
        raise InvalidEdgesError(message, f"leave them out, or name ends of rows in {names[0]!r} and {names[1]!r}")
    return vertex


def _in_one_type(name: Any, input: Input, vertices: Any, argument: str = "vertices") -> tuple[pa.Array, pa.Array]:
    """Return listed ids and the ids of the table's vertices in one type."""
    listed, values, total = id_column(vertices, argument), input.vertices.values, input.vertices.total
    if values is None:  # a table without vertices takes ids of any type
        values = pa.array(np.arange(total, dtype=np.int64)) if total or not len(listed) else pa.nulls(0)
    ids = ids_like((argument, listed), (name, values))
    if ids.null_source is not None:
        count, first = int(ids.null_source.sum()), int(ids.null_source.argmax())
        message = f"{argument} has {count:,} null entries, the first at position {first}"
        raise InvalidEdgesError(message, "leave them out")
    return arrow_column(argument, ids.source), arrow_column(name, ids.target)


def id_column(vertices: Any, argument: str = "vertices") -> Any:
    """Return a list, an array or a column of ids, or the column ``vertex`` of a frame, as an array."""
    if isinstance(vertices, (pa.Array, pa.ChunkedArray)):
        return vertices
    if hasattr(vertices, "columns"):
        return open_host_frame(vertices, argument).column("vertex")
    series = nw.from_native(vertices, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return host_column(argument, series)
    if not hasattr(vertices, "__array__") and (isinstance(vertices, str) or not isinstance(vertices, Iterable)):
        raise TypeError(f"{argument} is {vertices!r}; it must be a list, an array or a column of ids")
    column = listed_values(argument, vertices)
    if column.ndim != 1:
        raise InvalidEdgesError(f"{argument} has {column.ndim} dimensions; it must have one", "pass one id a vertex")
    return column if len(column) else pa.nulls(0)


def ascending_ids(ids: pa.Array) -> pa.Array:
    """Sort listed ids; raise an error if one is listed twice."""
    ids = ids.take(pc.sort_indices(ids))
    twice = pc.equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    if twice.any():
        first = ids[int(twice.argmax())]
        message = f"vertices lists ids more than once: {int(twice.sum()):,} too many, the first is {first.as_py()!r}"
        raise InvalidEdgesError(message, "list every vertex once")
    return ids


def _check_ends(input: Input, names: tuple[Any, Any], unlisted: Array, values: pa.Array) -> None:
    if not unlisted.any():
        return
    ends = input.vertices.source, input.vertices.target
    rows = np.flatnonzero(unlisted[ends[0]] | unlisted[ends[1]])
    first = int(rows[0])
    side = 0 if unlisted[ends[0][first]] else 1
    vertex = values[int(ends[side][first])].as_py()
    row = first if input.kept is None else int(input.kept[first])
    message = f"{len(rows):,} rows end in vertices that vertices= does not list, the first in column {names[side]!r}"
    raise InvalidEdgesError(f"{message}: {vertex!r} in row {row}", "list all vertices, or drop the rows")


def vertex_frame(
    view: FrameView | DeviceView, names: tuple[Any, Any], input: Input, columns: Mapping[str, Array]
) -> Frame:
    """Build a frame of the user's kind whose columns are vertices."""
    if isinstance(view, DeviceView):
        return view.build_vertices(names, input.vertices.values, columns)
    kind, values = _integer_type(view, names), input.vertices.values
    if values is None and kind is not None:
        return view.build({name: column.astype(kind) for name, column in columns.items()})
    source, target = (view.series(name) for name in names)
    if native_type(source) != native_type(target) and series_type(source, target) is None:
        ids = {name: pa.array(column) for name, column in columns.items()}
        return view.build_arrow(ids if values is None else {name: values.take(at) for name, at in ids.items()})
    positions = np.zeros(input.vertices.total, np.int64)  # of the first occurrence of each vertex
    row = np.arange(len(input.table), dtype=np.int64) if input.kept is None else input.kept
    for column, first in ((input.vertices.target, len(view)), (input.vertices.source, 0)):
        positions[column[::-1]] = row[::-1] + first  # later assignments win
    return view.build_from(names, {name: positions[column] for name, column in columns.items()})


def _id_frame(view: FrameView, names: tuple[Any, Any], columns: Mapping[str, Any]) -> Frame:
    """Build a frame of the user's kind from Arrow ids; integers get the type of the id columns if it holds them."""
    kind = _integer_type(view, names)
    if kind is not None and all(pa.types.is_integer(column.type) for column in columns.values()):
        exact = pa.from_numpy_dtype(kind.newbyteorder("="))
        with contextlib.suppress(pa.ArrowInvalid):
            return view.build({name: np.asarray(column.cast(exact)).astype(kind) for name, column in columns.items()})
    return view.build_arrow(columns)


def _integer_type(view: FrameView, names: tuple[Any, Any]) -> np.dtype | None:
    """Return the type of both id columns if they are NumPy integers of one type."""
    source, target = (view.column(name) for name in names)
    plain = isinstance(source, np.ndarray) and isinstance(target, np.ndarray) and source.dtype == target.dtype
    return source.dtype if plain and source.dtype.kind in "iu" else None
