"""A table with a row a vertex, in the order of the ids: the component or the cluster of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property, pc
from dfmst._common.directories import SpillDirectory
from dfmst._common.types import Array, Vertices
from dfmst._drive.stream.batches import IdKinds
from dfmst._drive.stream.deliver import Delivered
from dfmst._drive.stream.job import Job
from dfmst._drive.stream.sources import EdgeSource
from dfmst._edges.arrow_values import arrow_column, arrow_numbers, numbers_of_arrow
from dfmst._edges.composite import id_parts
from dfmst._edges.conditions import group_entries, value_codes
from dfmst._edges.encode import Encoder
from dfmst._edges.vertex_list import ascending_ids, id_column, words_of_group
from dfmst._edges.vertices import IdColumns, ids_like
from dfmst._engines import Engine
from dfmst._engines.primitives.flags import count_set
from dfmst._fold.budget import Budget
from dfmst._fold.checkpoint import Checkpoint
from dfmst._fold.sets import listed_vertices
from dfmst.errors import InvalidEdgesError

_PIECE = 1 << 18  # rows made at a time
_MEMBERS = 1 << 24  # groups whose members are counted at a time


class Ordered(Protocol):
    """The vertices of a result, in the order of their ids."""

    @property
    def types(self) -> Mapping[Any, pa.DataType]:
        """The types of the columns that name groups, then of the ids; empty: all rows are one graph."""

    @property
    def id_type(self) -> pa.DataType | None:
        """The type of the ids; ``None``: integers that are vertices."""

    def __len__(self) -> int: ...

    def pieces(self, engine: Engine) -> Iterator[Array]:
        """Yield the vertices, a bounded number at a time."""

    def rows(self, engine: Engine, leaders: Sequence[Array]) -> Iterator[list[pa.Array]]:
        """Yield the groups and ids of the vertices, and the ids of those that their sets are called after."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """The vertices of a result."""

    ids: pa.Array | None  # of each vertex; None: vertices are ids
    order: Array | None  # vertices in the order of their ids, ``uint32``; None: the flagged ones, ascending
    flags: Array
    total: int
    types: Mapping[Any, pa.DataType] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.total

    @property
    def id_type(self) -> pa.DataType | None:
        return None if self.ids is None else self.ids.type

    def pieces(self, engine: Engine) -> Iterator[Array]:
        if self.order is None:
            yield from listed_vertices(engine, self.flags)
        else:
            yield from (self.order[begin : begin + _PIECE] for begin in range(0, len(self.order), _PIECE))

    def rows(self, engine: Engine, leaders: Sequence[Array]) -> Iterator[list[pa.Array]]:
        for piece in self.pieces(engine):
            named = [self.decode(leader[piece]) for leader in leaders]
            if self.types:
                yield [*self._parts(piece), *(id_parts(ids, list(self.types.values()))[-1] for ids in named)]
            else:
                yield [self.decode(piece), *named]

    def decode(self, vertices: Array) -> pa.Array:
        """Return the ids of vertices."""
        return arrow_numbers(vertices) if self.ids is None else self.ids.take(arrow_numbers(vertices))

    def _parts(self, vertices: Array) -> list[pa.Array]:
        """Return the values that name the groups of vertices, and their ids in the groups."""
        return id_parts(self.decode(vertices), list(self.types.values()))

    @cached_property
    def groups(self) -> Array:
        """The group of each vertex, counted from 0 in the order of the result."""
        assert self.ids is not None
        assert self.order is not None
        begins = np.zeros(self.total, bool)
        for name, part in zip(self.types, self._parts(self.order)[:-1], strict=False):
            code = value_codes(name, [group_entries(name, part)])
            begins[1:] |= code[1:] != code[:-1]
        group = np.zeros(len(self.ids), np.uint32)
        group[self.order] = np.cumsum(begins)
        return group

    @property
    def group_sizes(self) -> Array | None:
        """Vertices of each group; ``None``: all rows are one graph."""
        return np.bincount(self.groups[self.order]) if self.types else None

    def group_called(self, group: int) -> str:
        """Return the columns and values that name a group."""
        assert self.order is not None
        first = self.order[np.argmax(self.groups[self.order] == group)]
        names = list(self.types)[:-1]
        return words_of_group(
            {name: part[0].as_py() for name, part in zip(names, self._parts(np.array([first]))[:-1], strict=True)}
        )


def number_vertices(
    source: EdgeSource,
    job: Job,
    engine: Engine,
    encoder: Encoder,
    flags: Array,
    vertices: Vertices | None,
    budget: Budget,
) -> Numbered:
    """Order the flagged vertices by group and id; or all `vertices`, which must include the flagged ones."""
    if job.columns.conditions:
        return _number_groups(source, job, engine, encoder, flags)
    count = count_set(engine, flags)
    listed = None if vertices is None else _encode_listed(engine, encoder, flags, vertices, budget)
    if encoder.values is None:
        return Numbered(None, listed, flags, count if listed is None else len(listed))
    every = encoder.values if not encoder.dense else encoder.decode(np.arange(encoder.count, dtype=np.uint32))
    if listed is not None:
        return Numbered(every, listed, flags, len(listed))
    if count == encoder.count:
        return Numbered(every, _ascending(every), flags, count)
    found = np.concatenate([np.zeros(0, np.uint32), *listed_vertices(engine, flags)])
    return Numbered(every, found[_ascending(every.take(arrow_numbers(found)))], flags, count)


def _ascending(ids: pa.Array) -> Array:
    """Return the positions of different ids in ascending order, ``uint32``."""
    if pa.types.is_integer(ids.type):
        return np.argsort(numbers_of_arrow(ids)).astype(np.uint32)
    return numbers_of_arrow(pc.sort_indices(ids)).astype(np.uint32)


def _encode_listed(engine: Engine, encoder: Encoder, flags: Array, vertices: Vertices | None, budget: Budget) -> Array:
    """Return the vertices of listed ids, in ascending order of the ids; ids of no row become new vertices."""
    ascending = listed_ids(vertices, encoder.type or (pa.int64() if encoder.count else pa.null()))
    known = encoder.count
    if pa.types.is_integer(ascending.type):
        plain: Any = numbers_of_arrow(ascending)
        plain = plain if plain.itemsize >= 4 else plain.astype(f"{plain.dtype.kind}4")
    else:
        plain = ascending
    listed, _ = encoder.encode(IdColumns(plain, plain, None, None))
    listed = listed.astype(np.uint32)
    budget.with_ids(encoder.id_bytes).check(encoder.count)
    missing = engine.to_host(flags).view(np.uint8).copy()
    within = listed[listed < known]
    # A bit a vertex: those of listed vertices are cleared.
    np.bitwise_and.at(missing, within >> 3, ~(np.uint8(1) << (within & 7).astype(np.uint8)))
    if missing.any():
        first = int(np.unpackbits(missing, bitorder="little").argmax())
        left = int(np.unpackbits(missing, bitorder="little").sum())
        vertex = encoder.decode(np.array([first], np.uint32))[0].as_py()
        message = f"rows end in {left:,} vertices that vertices= does not list, such as {vertex!r}"
        raise InvalidEdgesError(message, "list all vertices, or drop the rows")
    return listed


def listed_ids(vertices: Vertices | None, kind: pa.DataType) -> pa.Array:
    """Return listed ids in ascending order, in a type that compares with ids of another one."""
    ids = ids_like(("vertices", id_column(vertices)), ("ids", pa.nulls(0, kind)))
    if ids.null_source is not None:
        nulls, first = int(ids.null_source.sum()), int(ids.null_source.argmax())
        raise InvalidEdgesError(f"vertices has {nulls:,} null entries, the first at position {first}", "leave them out")
    return ascending_ids(arrow_column("vertices", ids.source))


def _number_groups(source: EdgeSource, job: Job, engine: Engine, encoder: Encoder, flags: Array) -> Numbered:
    """Order the flagged vertices by group and id."""
    names = [*job.columns.conditions.by, job.columns.source]
    if {"vertex", "component", "cluster"} & set(map(str, names[:-1])):
        raise InvalidEdgesError("by= names a column that the result has as well", "rename the column of the groups")
    found = np.concatenate([np.zeros(0, np.uint32), *listed_vertices(engine, flags)])
    ids = pa.array([], pa.large_binary())
    if encoder.count:
        ids = encoder.decode(np.arange(encoder.count, dtype=np.uint32))
    parts = id_parts(ids.take(pa.array(found)), [source.kinds_of([name]).plain_type(name) for name in names])
    table = pa.table(parts, list(map(str, range(len(parts)))))
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names]).to_numpy()
    types = dict(zip(names, (part.type for part in parts), strict=True))
    return Numbered(ids, found[order], flags, len(found), types)


def name_groups(numbered: Numbered, label: Array) -> Array:
    """Return the vertex with the smallest id of each vertex's group; `label` is the same for a group's vertices."""
    if numbered.order is None:
        return label
    order, first = numbered.order, np.empty(len(label), np.uint32)
    for begin in reversed(range(0, len(order), _PIECE)):
        piece = order[begin : begin + _PIECE][::-1]
        first[label[piece]] = piece  # of equal labels the last assignment stays
    for begin in range(0, len(label), _PIECE):
        label[begin : begin + _PIECE] = first[label[begin : begin + _PIECE]]
    return label


@dataclass(eq=False)
class Labels(Delivered):
    """The components or the clusters of a stream, with a row a vertex in ascending order.

    Attributes
    ----------
    source_rows, dropped
        Rows that were read, and invalid ones among them.
    vertices
        Number of vertices.
    """

    ascending: ClassVar[str | None] = "vertex"

    numbered: Ordered = field(repr=False)
    leaders: Mapping[str, Array] = field(repr=False)  # column -> the vertex that a vertex's set is called after
    kinds: IdKinds = field(repr=False)
    engine: Engine = field(repr=False)
    source_rows: int
    dropped: int
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    spill: SpillDirectory | None = field(default=None, repr=False)

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.numbered)

    @cached_property
    def groups(self) -> dict[str, int]:
        """Number of components, or of clusters in each column."""
        pieces = list(self._pieces()) if self.vertices <= _PIECE else None
        return {
            name: sum(int(np.count_nonzero(leader[piece] == piece)) for piece in pieces or self._pieces())
            for name, leader in self.leaders.items()
        }

    @cached_property
    def largest(self) -> int:
        """Vertices of the largest group of the first column; 0 without vertices."""
        leader, most = next(iter(self.leaders.values())), 0
        for first in range(0, len(leader), _MEMBERS):
            members = np.zeros(min(_MEMBERS, len(leader) - first), np.uint32)
            for piece in self._pieces():
                self.engine.launch("count_members", len(piece), piece, leader, first, len(members), members)
            most = max(most, int(members.max(initial=0)))
        return most

    def _frame(self) -> Any:
        return self.kinds.frame(self._rows().read_all(), self.numbered.types)

    def _pieces(self) -> Iterator[Array]:
        return self.numbered.pieces(self.engine)

    def _rows(self) -> pa.RecordBatchReader:
        numbered, types = self.numbered, self.numbered.types
        *groups, kind = types.values() or [self.kinds.arrow(numbered.id_type)]
        schema = pa.schema(
            [*zip(map(str, types), groups, strict=False), *((name, kind) for name in ("vertex", *self.leaders))]
        )
        rows: Any = numbered.rows(self.engine, list(self.leaders.values()))
        if not types:
            rows = ([self.kinds.cast(ids, kind) for ids in columns] for columns in rows)
        batches = (pa.record_batch(columns, schema=schema) for columns in rows)
        return pa.RecordBatchReader.from_batches(schema, batches)
