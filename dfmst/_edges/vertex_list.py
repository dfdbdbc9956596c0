"""The vertices of a result in ascending order, and frames with a row for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import nw, pc
from dfmst._common.types import Array, Column, ColumnName, EndNames, Frame
from dfmst._edges.arrow_values import arrow_column, arrow_numbers, listed_values, numbers_of_arrow
from dfmst._edges.conditions import NO_CONDITIONS, group_codes, pair_vertices
from dfmst._edges.device_frame import device_ids, device_series, is_device_column
from dfmst._edges.edge_table import Input, move_table
from dfmst._edges.frames import open_frame, open_host_frame
from dfmst._edges.host_frame import host_column
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.vertices import IdColumns, Vertices, dense_vertices, ids_like, is_cupy_array
from dfmst._edges.view import View
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.sort import different_values
from dfmst.errors import InvalidEdgesError, missing_column, nearest

_COMPARED = 10_000  # ids among which a message looks for a similar one


class Groups(NamedTuple):
    """Groups of rows in ascending order, whose vertices are listed one group after the other; in the frame's memory."""

    names: tuple[Any, ...]  # columns of the groups
    row: Array  # a row of the frame for each group
    begin: Array  # first place of each group, and the number of places; ``int64``
    of_place: Array  # the group of each place, ``int64``

    @property
    def sizes(self) -> Array:
        return self.begin[1:] - self.begin[:-1]

    def columns(self, view: View, groups: Array, others: Iterable[str]) -> dict[Any, Any]:
        """Return columns of a result that name groups.

        `others` are the names of the result's other columns.
        """
        both = [name for name in self.names if name in list(others)]
        if both:
            message = f"by= names the column {both[0]!r}, and the result has a column of this name"
            raise InvalidEdgesError(message, "rename the column of the groups")
        return {name: view.entries(name, self.row[groups]) for name in self.names}


@dataclass(frozen=True, slots=True)
class VertexList:
    """Vertices in the order of their ids, each with a place from 0; in the frame's memory."""

    engine: Engine  # of that memory
    view: View
    names: tuple[Any, Any]  # id columns
    input: Input  # its table numbers vertices in the order of their ids
    vertex: Array  # place -> vertex of the table, ``int64``; -1 if it is in no row
    place: Array  # vertex of the table -> place, ``uint32``
    ids: Any  # place -> id; None if the user did not list the vertices
    groups: Groups | None = None  # None: all rows are one graph

    def __len__(self) -> int:
        return len(self.vertex)

    @property
    def is_whole(self) -> bool:
        """Whether the list has all vertices of the table and no others, each at the place of its number."""
        return self.ids is None and len(self.vertex) == len(self.place)

    @property
    def group_sizes(self) -> Array | None:
        """Vertices of each group; ``None``: all rows are one graph."""
        return None if self.groups is None else self.groups.sizes

    def group_called(self, group: int) -> str:
        assert self.groups is not None
        row = int(self.groups.row[group])
        return words_of_group({name: self.view.entry(name, row) for name in self.groups.names})

    def frame(self, columns: Mapping[str, Array], numbers: Mapping[str, Column] | None = None) -> Frame:
        """Build a frame of the user's kind from columns of places, which become ids, and columns of numbers."""
        places = {name: self.engine.from_host(column) for name, column in columns.items()}
        by_number = self.ids is None and not (self.is_whole and self.groups is None)
        vertices = {name: self.vertex[at] for name, at in places.items()} if by_number else places
        groups, numbers = self.groups, dict(numbers or {})
        named = {} if groups is None else groups.columns(self.view, groups.of_place, [*columns, *numbers])
        for name, column in numbers.items():
            numbers[name] = self.engine.from_host(column) if isinstance(column, np.ndarray) else column
        return self.view.build_vertices(self.names, self.input, self.ids, vertices, named, numbers)

    def values(self) -> Any:
        """Return the ids in ascending order: Arrow, and on a GPU CuPy or cuDF."""
        if self.ids is not None:
            return self.ids
        return _ids_of(self.engine, self.input, self.vertex)

    def arrow(self) -> pa.Array:
        """Return the ids in ascending order on the host."""
        values = self.values()
        if isinstance(values, pa.Array):
            return values
        return pa.array(self.engine.to_host(values)) if is_cupy_array(values) else values.to_arrow()


def words_of_group(values: Mapping[object, object]) -> str:
    return ", ".join(
        f"{name} {'null' if value is None else repr(value) if isinstance(value, str) else value}"
        for name, value in values.items()
    )


def list_vertices(
    engine: Engine, view: View, names: EndNames, input: Input, vertices: object = None, spanning: Any = None
) -> VertexList:
    """List the vertices that occur in a table, or those of `vertices`; for `spanning`, see :func:`used_vertices`."""
    occurs = input.used_vertices(engine, spanning)
    engine = view.engine(engine)
    xp = engine.xp
    present: Array = xp.flatnonzero(occurs)
    if vertices is None:
        place = xp.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
        return VertexList(engine, view, names, input, present, place, None)
    ids = _listed_ids(engine, names[0], input, present, "vertices", vertices)
    numbered = _number_in_order(engine, ids)
    unlisted = xp.ones(numbered.total, bool)
    unlisted[numbered.source] = False
    if numbered.total - int(xp.count_nonzero(unlisted)) < len(numbered.source):
        _check_different(engine, numbered)
    _check_ends(engine, input, names, present[unlisted[numbered.target]])
    place, vertex = xp.zeros(len(occurs), np.uint32), xp.full(numbered.total, -1, np.int64)
    place[present], vertex[numbered.target] = numbered.target, present
    return VertexList(engine, view, names, input, vertex, place, numbered.values)


def find_vertices(engine: Engine, names: EndNames, input: Input, argument: str, ids: Column) -> Array:
    """Return the vertices of a table that have these ids, ascending, each once; all ids must be ends of rows."""
    occurs = input.used_vertices(engine)
    engine = engine if input.moved_by is None else host_engine(engine)
    present: Array = engine.xp.flatnonzero(occurs)
    wanted = _listed_ids(engine, names[0], input, present, argument, ids)
    numbered = _number_any(engine, wanted)
    place = engine.xp.full(numbered.total, -1, np.int64)
    place[numbered.target] = present
    vertices: Array = place[numbered.source]
    absent = engine.to_host(engine.xp.flatnonzero(vertices < 0))
    if len(absent):
        shown = ", ".join(repr(_entry(engine, wanted.source, int(at))) for at in absent[:5])
        shown += " ..." if len(absent) > 5 else ""
        message = f"{argument}: {len(absent):,} of {len(vertices):,} ids are in no row: {shown}"
        raise InvalidEdgesError(message, f"leave them out, or name ends of rows in {names[0]!r} and {names[1]!r}")
    different: Array = different_values(engine.xp, vertices)
    return different


def _listed_ids(
    engine: Engine, name: ColumnName, input: Input, present: Array, argument: str, ids: Column
) -> IdColumns:
    """Return listed ids, none of them null, and the ids of the vertices of a table that occur, in one type."""
    listed, known = _column_in(engine, argument, ids), _ids_of(engine, input, present)
    # An empty column may have any type.
    listed = listed if len(listed) else _entries(engine, known, slice(0))
    known = known if len(known) else _entries(engine, listed, slice(0))
    columns = compared_ids(engine, (argument, listed), (name, known))
    if columns.null_source is not None:
        count, first = int(columns.null_source.sum()), int(columns.null_source.argmax())
        message = f"{argument} has {count:,} null entries, the first at position {first}"
        raise InvalidEdgesError(message, "leave them out")
    return columns


def _ids_of(engine: Engine, input: Input, vertices: Array) -> Any:
    values = input.vertices.values
    if engine.on_host:  # `pa.array` would import pandas
        vertices = arrow_numbers(vertices)
    return vertices if values is None else values.take(vertices)


def compared_ids(engine: Engine, listed: tuple[ColumnName, Column], known: tuple[ColumnName, Column]) -> IdColumns:
    """Cast listed ids and ids of a table's vertices, each with a name, to one type."""
    return ids_like(listed, known) if engine.on_host else device_ids(listed, known, invalid="drop")


def _number_any(engine: Engine, ids: IdColumns) -> Vertices:
    """Number listed ids and known ones in any order; integers below twice the known ones are their own numbers."""
    target, source, *more = dense_vertices(engine, IdColumns(ids.target, ids.source, None, None))
    return Vertices(source, target, *more)


def _number_in_order(engine: Engine, ids: IdColumns) -> Vertices:
    """Number listed ids and known ones by their order, without gaps."""
    target, source, total, values = dense_vertices(engine, IdColumns(ids.target, ids.source, None, None), in_order=True)
    if values is not None:
        return Vertices(source, target, total, values)
    occurs = engine.xp.zeros(total, bool)
    occurs[source] = occurs[target] = True
    rank = engine.xp.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
    found = engine.xp.flatnonzero(occurs).astype(ids.source.dtype)
    return Vertices(rank[source], rank[target], len(found), arrow_numbers(found) if engine.on_host else found)


def find_ids(engine: Engine, listed: tuple[ColumnName, Column], known: tuple[ColumnName, Column]) -> Array:
    """Return the position of each listed id among known ids of vertices, ``int64``; -1 if it is not among them."""
    xp = engine.xp
    found: Array = xp.full(len(listed[1]), -1, np.int64)
    if not len(found) or not len(known[1]):  # an empty column may have any type
        return found
    rows, ids = slice(None), compared_ids(engine, listed, known)
    if ids.null_source is not None:
        rows = xp.flatnonzero(~ids.null_source)
        ids = ids._replace(source=ids.source.take(arrow_numbers(rows) if isinstance(ids.source, pa.Array) else rows))
    numbered = _number_any(engine, ids)
    position = xp.full(numbered.total, -1, np.int64)
    position[numbered.target] = xp.arange(len(ids.target))
    found[rows] = position[numbered.source]
    return found


def find_places(listed: VertexList, argument: str, ids: Column) -> Array:
    """Return the places of ids (a list, an array or a column), ``int64``, in the list's memory."""
    engine, column, known = listed.engine, _column_in(listed.engine, argument, ids), listed.values()
    reason = f"no row has it in column {' or '.join(map(repr, listed.names))}"
    try:
        places = find_ids(engine, (argument, column), ("ids", known))
    except InvalidEdgesError as error:  # ids of another type
        if not engine.on_host:
            raise
        places, reason = np.full(len(column), -1), error.message
    unknown = places < 0
    if unknown.any():
        count, row = int(unknown.sum()), int(unknown.argmax())
        vertex = _entry(engine, column, row)
        place = f" ({count:,} of {len(unknown):,} ids are not, the first in row {row})" if len(unknown) > 2 else ""
        message = f"{argument}: {vertex!r} is not a vertex of the table{place}"
        listing = ", or list it in vertices=" if argument == "root" else ""
        hint = f"name an end of a row{listing}"
        near = _similar(known, vertex) if engine.on_host else None
        hint = hint if near is None else f"did you mean {near!r}? Else {hint}"
        option = (listing, "") if listing else None  # which the command does not have
        raise InvalidEdgesError(f"{message}: {reason}", hint, row=row if place else None, option=option)
    return places


def _similar(known: Any, vertex: object) -> object | None:
    """Return the id that was perhaps meant: the same text of another type, case or blanks, else a similar text."""
    whole = int(vertex) if isinstance(vertex, float) and vertex.is_integer() else vertex
    word = (whole.decode(errors="replace") if isinstance(whole, bytes) else str(whole)).strip()
    try:
        texts = known.cast(pa.large_string())
        place = pc.index(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), word.lower()).as_py()
    except (pa.ArrowException, UnicodeError):  # ids without a text
        return None
    if place >= 0 or not isinstance(vertex, str):
        return None if place < 0 else known[place].as_py()
    return nearest(vertex, texts[:_COMPARED].to_pylist())  # type: ignore[no-any-return]


def _column_in(engine: Engine, argument: str, ids: Column) -> Any:
    """Return a list, an array or a column of ids as a column in the engine's memory."""
    if engine.on_host:
        return id_column(ids, argument)
    if hasattr(ids, "columns"):
        ids = _vertex_column(open_frame(ids, argument), argument)
    if is_device_column(ids):
        return ids
    column = arrow_column(argument, id_column(ids, argument))
    integers = pa.types.is_integer(column.type) and not column.null_count
    return engine.from_host(numbers_of_arrow(column)) if integers else device_series(argument, column)


def id_column(vertices: object, argument: str = "vertices") -> Any:
    """Return a list, an array or a column of ids, or the column ``vertex`` of a frame, as an array."""
    if isinstance(vertices, (pa.Array, pa.ChunkedArray)):
        return vertices
    if hasattr(vertices, "columns"):
        return _vertex_column(open_host_frame(vertices, argument), argument)
    if isinstance(vertices, range) and max(vertices.start.bit_length(), vertices.stop.bit_length()) < 63:
        return np.arange(vertices.start, vertices.stop, vertices.step) if vertices else pa.nulls(0)
    series = nw.from_native(vertices, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return host_column(argument, series)
    if not hasattr(vertices, "__array__") and (isinstance(vertices, str) or not isinstance(vertices, Iterable)):
        raise TypeError(f"{argument} is {vertices!r}; it must be a list, an array or a column of ids")
    column = listed_values(argument, vertices)
    if column.ndim != 1:
        raise InvalidEdgesError(f"{argument} has {column.ndim} dimensions; it must have one", "pass one id a vertex")
    return column if len(column) else pa.nulls(0)


def _vertex_column(view: View, argument: str) -> Any:
    names = view.names
    if "vertex" not in names:
        hint = f"rename the column of ids to 'vertex', or pass it alone: {argument}[{names[0] if names else 'id'!r}]"
        raise missing_column("vertex", names, hint, argument)
    return view.column("vertex")


def ascending_ids(ids: pa.Array) -> pa.Array:
    """Sort listed ids; raise an error if one is listed twice."""
    ids = ids.take(pc.sort_indices(ids))
    twice = pc.equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    if twice.any():
        raise _listed_twice(int(twice.sum()), ids[int(twice.argmax())].as_py())
    return ids


def _listed_twice(count: int, first: object) -> InvalidEdgesError:
    message = f"vertices lists ids more than once: {count:,} too many, the first is {first!r}"
    return InvalidEdgesError(message, "list every vertex once")


def _check_different(engine: Engine, numbered: Vertices) -> None:
    """Raise an error if the numbered ids, whose sources are a list, are listed more than once."""
    order = engine.xp.sort(numbered.source)
    twice = order[1:] == order[:-1]
    if twice.any():
        raise _listed_twice(int(twice.sum()), _entry(engine, numbered.values, int(order[1:][twice][0])))


def _entries(engine: Engine, column: Column, part: slice) -> Any:
    if engine.on_host or is_cupy_array(column):
        return column[part]
    return column.take(engine.xp.arange(*part.indices(len(column))))


def _entry(engine: Engine, values: Column, place: int) -> Any:
    """One of the ids, as Python has it."""
    part = _entries(engine, values, slice(place, place + 1))
    if isinstance(part, (pa.Array, pa.ChunkedArray)):
        return part[0].as_py()
    return part.tolist()[0] if is_cupy_array(part) else part.to_arrow()[0].as_py()


def _check_ends(engine: Engine, input: Input, names: EndNames, unlisted: Array) -> None:
    if not len(unlisted):
        return
    xp, ends = engine.xp, (input.vertices.source, input.vertices.target)
    flags = xp.zeros(input.vertices.total, bool)
    flags[unlisted] = True
    rows = xp.flatnonzero(flags[ends[0]] | flags[ends[1]])
    first = int(rows[0])
    side = 0 if bool(flags[ends[0][first]]) else 1
    vertex = int(ends[side][first])
    value = vertex if input.vertices.values is None else _entry(engine, input.vertices.values, vertex)
    row = first if input.kept is None else int(input.kept[first])
    message = f"{len(rows):,} rows end in vertices that vertices= does not list, the first in column {names[side]!r}"
    raise InvalidEdgesError(f"{message}: {value!r} in row {row}", "list all vertices, or drop the rows")


def check_one_graph(vertices: object) -> None:
    if vertices is not None:
        raise ValueError("vertices= lists the vertices of one graph; leave it out with by=")


def read_groups(engine: Engine, view: View, columns: EdgeColumns) -> tuple[Input, VertexList, Array]:
    """Read a table whose vertices are pairs, and list them by group and id, both ascending; nulls are the last group.

    The third entry is the table's vertex at each place.
    """
    reader = view.engine(engine)
    xp = reader.xp
    base = read_table(reader, view, replace(columns, conditions=NO_CONDITIONS), in_order=True)
    code, row = _ranked_groups(reader, view, columns.conditions.by, base.kept)
    total = base.table.vertices
    pairs = pair_vertices(reader, code, base.table.source, base.table.target, total, in_order=True)
    table = replace(base.table, source=pairs.source, target=pairs.target, vertices=pairs.total)
    occurs = replace(base, table=table, vertices=pairs).used_vertices(reader)
    pair = value = xp.flatnonzero(occurs)
    if pairs.values is not None:
        values = pairs.values if view.on_device else np.asarray(pairs.values)
        value = values[pair].astype(np.int64)
    begin = xp.searchsorted(value, xp.arange(len(row) + 1) * total)
    place = xp.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
    groups = Groups(columns.conditions.by, row, begin, value // max(total, 1))
    names = columns.source, columns.target
    listed = VertexList(reader, view, names, base, value % max(total, 1), place, None, groups)
    input = replace(base, table=table, vertices=pairs)
    moved = not engine.on_host and not view.on_device
    return replace(input, table=move_table(engine, table), moved_by=engine) if moved else input, listed, pair


def _ranked_groups(
    engine: Engine, view: View, names: tuple[ColumnName, ...], kept: Array | None
) -> tuple[Array, Array]:
    """Number the rows' groups in ascending order, and return a row of each group."""
    (code,) = group_codes(names, (view, kept))
    row = engine.xp.unique(code, return_index=True)[1]
    row = row if kept is None else kept[row]
    order = view.order(engine, names, row)
    rank = engine.xp.empty(len(row), np.uint64)
    rank[order] = engine.xp.arange(len(row), dtype=np.uint64)
    return rank[code], row[order]
