"""The labels of a stream's vertices, in the order of the ids: the components of its rows, or clusters of its forest.

Components need no forest: rows are read once, and folded into disjoint sets. A forest is cut by its weights.

If the ids of all rows do not fit the memory, rows are folded in parts whose ids fit. A part leaves its ids in ascending
order, and next to each the place of the smallest id of its component, in files. At the end these sorted runs are
merged, which numbers all ids in their order, and the components of the parts are united by these numbers: 4 to 8 bytes
a vertex. The rows are read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property, pc
from dfmst._common.directories import SpillDirectory
from dfmst._common.types import Array, ColumnName, DType, Frame, Vertices
from dfmst._drive.parts import IdKinds
from dfmst._drive.passes import EncoderState, FoldedForest, Pass, StreamJob, opened_job
from dfmst._drive.rows import Delivered, StreamRows, find_stream_rows
from dfmst._drive.sources import EdgeSource
from dfmst._edges.arrow_values import arrow_column, arrow_numbers, numbers_of_arrow
from dfmst._edges.composite import id_parts
from dfmst._edges.conditions import group_entries, value_codes
from dfmst._edges.dictionary import in_common_type
from dfmst._edges.encode import Encoder
from dfmst._edges.vertex_list import ascending_ids, check_one_graph, id_column, words_of_group
from dfmst._edges.vertices import IdColumns, ids_like
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.flags import count_set
from dfmst._fold.budget import Budget
from dfmst._fold.checkpoint import Checkpoint, FoldState
from dfmst._fold.fold import SetsFold, listed_vertices
from dfmst._fold.rows import MemoryRun, Rows, StoredColumn, read_pieces
from dfmst._trees.cut import SortedForest, Thresholds, Weights, cut
from dfmst._trees.request import Request
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
    job: StreamJob,
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
    encoder.close()  # to sort the ids takes as much
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


def _number_groups(source: EdgeSource, job: StreamJob, engine: Engine, encoder: Encoder, flags: Array) -> Numbered:
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


class _Run(NamedTuple):
    """A part's ids in ascending order, and the place of each one's component."""

    ids: list[StoredColumn]
    type: pa.DataType
    leader: StoredColumn  # ``uint32``
    rank: StoredColumn  # ``uint32``: the number of each id among those of all runs, once they are merged


class IdRuns:
    """The sorted runs of a stream's parts."""

    def __init__(self, engine: Engine, directory: SpillDirectory) -> None:
        self._engine, self._directory = engine, directory
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def type(self) -> pa.DataType:
        """The type that holds the ids of all runs."""
        kind: pa.DataType = in_common_type([pa.array([], run.type) for run in self._runs])[0].type
        return kind

    def add(self, numbered: Numbered, label: Array) -> None:
        """Write the ids of a part; `label` is the same for the vertices of a component."""
        leader, none = name_groups(numbered, label), np.zeros(0, np.uint32)
        columns = (StoredColumn(self._directory, none) for _ in range(2))
        run = _Run([], numbered.decode(none).type, *columns)
        place, begin = np.empty(len(label), np.uint32), 0
        for piece in numbered.pieces(self._engine):
            place[piece] = np.arange(begin, begin + len(piece), dtype=np.uint32)
            begin += len(piece)
            run.ids.append(StoredColumn(self._directory, numbered.decode(piece)))
        for piece in numbered.pieces(self._engine):
            run.leader.append(place[leader[piece]])
        self._runs.append(run)

    def merge(self) -> tuple[list[StoredColumn], int]:
        """Number all ids in ascending order; return them in pieces, and their number."""
        readers, merged, count = [_Reader(run.ids, self.type) for run in self._runs], list[StoredColumn](), 0
        while parts := _first(readers):
            taken = pa.concat_arrays([ids for _, ids in parts])
            order = pc.sort_indices(taken).to_numpy()
            ascending = taken.take(pa.array(order))
            new = np.ones(len(taken), bool)
            new[1:] = pc.not_equal(ascending[1:], ascending[:-1]).to_numpy(zero_copy_only=False)
            rank = np.empty(len(taken), np.uint32)
            rank[order] = count + np.cumsum(new) - 1
            begin = 0
            for number, ids in parts:
                self._runs[number].rank.append(rank[begin : begin + len(ids)])
                begin += len(ids)
            merged.append(StoredColumn(self._directory, ascending.filter(pa.array(new))))
            count += len(merged[-1])
        return merged, count

    def unite(self, vertices: int) -> SetsFold:
        """Unite the components of all runs by the numbers of their ids; the runs end."""
        sets = SetsFold(self._engine, vertices)
        while self._runs:
            run = self._runs.pop()
            rank = run.rank.load()
            for begin in range(0, len(rank), _PIECE):
                leader = run.leader.load(begin, _PIECE)
                sets.unite(rank[begin : begin + len(leader)], rank[leader])
        return sets


class _Reader:
    """The ids of a run that are not merged yet."""

    def __init__(self, pieces: Sequence[StoredColumn], kind: pa.DataType) -> None:
        self._pieces, self._kind = iter(pieces), kind
        self.ids = pa.array([], kind)

    def fill(self) -> bool:
        """Read on if all ids are merged; return whether there are more."""
        while not len(self.ids) and (piece := next(self._pieces, None)) is not None:
            self.ids = piece.load().cast(self._kind)
        return len(self.ids) > 0

    def take(self, last: pa.Scalar) -> pa.Array:
        """Take the ids up to `last`."""
        count = pc.sum(pc.less_equal(self.ids, last)).as_py() or 0
        taken, self.ids = self.ids[:count], self.ids[count:]
        return taken


def _first(readers: Sequence[_Reader]) -> list[tuple[int, pa.Array]]:
    """Take the ids of all runs up to the least last one that was read, with the numbers of their runs."""
    filled = [(number, reader) for number, reader in enumerate(readers) if reader.fill()]
    if not filled:
        return []
    ends = pa.concat_arrays([reader.ids[-1:] for _, reader in filled])
    last = ends[pc.sort_indices(ends)[0].as_py()]
    return [(number, reader.take(last)) for number, reader in filled]


class StoredNumbers:
    """The vertices of a result, numbered in the order of their ids, which are in files.

    Ids of groups are gathered `held` ids at a time, each time from a part of all ids, into files of their own.
    """

    def __init__(self, directory: SpillDirectory, ids: list[StoredColumn], kind: pa.DataType, held: int) -> None:
        self._directory, self._ids, self._held, self.id_type = directory, ids, held, kind
        self.types: dict[Any, pa.DataType] = {}
        self._ends = np.cumsum([0, *map(len, ids)]).tolist()

    def __len__(self) -> int:
        return int(self._ends[-1])

    def pieces(self, engine: Engine) -> Iterator[Array]:
        for begin in range(0, len(self), _PIECE):
            yield np.arange(begin, min(begin + _PIECE, len(self)), dtype=np.uint32)

    def rows(self, engine: Engine, leaders: Sequence[Array]) -> Iterator[list[pa.Array]]:
        columns = [self._gathered(leader) for leader in leaders]
        for ids, span, *parts in zip(self._ids, pairwise(self._ends), *columns, strict=True):
            named = zip(leaders, parts, strict=True)
            yield [ids.load(), *(_in_order(files, leader[slice(*span)] // self._held) for leader, files in named)]

    def _gathered(self, leader: Array) -> list[tuple[StoredColumn, ...]]:
        """Gather the ids of vertices, in the pieces of all ids, from one part of all ids after the other."""
        files = []
        for first in range(0, len(self), self._held):
            known = self._read(first)
            pieces = (leader[slice(*span)].astype(np.int64) - first for span in pairwise(self._ends))
            chosen = (known.take(pa.array(piece[(piece >= 0) & (piece < len(known))])) for piece in pieces)
            files.append([StoredColumn(self._directory, ids) for ids in chosen])
        return list(zip(*files, strict=True))

    def _read(self, first: int) -> pa.Array:
        """Read the ids from a number on."""
        last, parts = first + self._held, []
        for ids, (begin, end) in zip(self._ids, pairwise(self._ends), strict=True):
            if begin < last and end > first:
                parts.append(ids.load()[max(0, first - begin) : last - begin])
        return pa.concat_arrays(parts)


def _in_order(files: Sequence[StoredColumn], part: Array) -> pa.Array:
    """Join files, in the order in which `part` names them."""
    joined = pa.concat_arrays([file.load() for file in files])
    place = np.empty(len(part), np.int64)
    place[np.argsort(part, kind="stable")] = np.arange(len(part))
    return joined.take(pa.array(place))


_GROUPED = 12  # columns of 4 bytes that are as large as the order of the edges of groups
_LEAST_HELD = 1 << 18  # ids of a part of the file that are held in memory


def label_stream(edges: Frame, request: Request, thresholds: Thresholds | None, vertices: Vertices | None) -> Labels:
    """Label the vertices of a stream by the clusters of its forest; without thresholds by their components."""
    if request.columns.conditions.by:
        check_one_graph(vertices)
    if thresholds is None:
        with opened_job(edges, request, "joining", sets=True, once=True) as (source, job):
            return _SetsPass(source, job).run(vertices)
    forest = find_stream_rows(edges, request)
    try:
        return _cut(forest, thresholds, vertices)
    except BaseException:
        forest.close()
        raise


def _cut(store: StreamRows, thresholds: Thresholds, vertices: Vertices | None) -> Labels:
    """Cut a forest, and label its vertices."""
    folded, job = store.folded, store.job
    engine, encoder = host_engine(job.engine), folded.encoder
    columns, in_memory = len(thresholds.counts) + len(thresholds.distances), isinstance(folded.rows, (Rows, MemoryRun))
    if job.columns.conditions and thresholds.counts:
        columns += _GROUPED
    memory = Budget(job.memory, sets=True).with_ids(encoder.id_bytes)
    memory.check_cut(encoder.count, columns, in_memory=in_memory)
    occurring = _sets(engine, encoder.count, ((rows.source, rows.target) for rows in read_pieces(folded.rows)))
    occurring.note_loops(folded.loops)
    flags = occurring.occurring()
    del occurring
    numbered = number_vertices(store.source, job, engine, encoder, flags, vertices, memory)
    leaders = cut(_StreamForest(engine, folded, numbered, maximum=thresholds.maximum), numbered, thresholds)
    if job.spill is not None:
        job.spill.remove()
    kinds = store.source.kinds_of(job.names[:2])
    return Labels(numbered, leaders, kinds, engine, folded.source_rows, folded.dropped, store.checkpoint)


def _sets(engine: Engine, vertices: int, edges: Iterator[tuple[Array, Array]]) -> SetsFold:
    """Unite the ends of edges."""
    sets = SetsFold(engine, vertices)
    for source, target in edges:
        sets.unite(source, target)
    sets.labels()
    return sets


class _StreamForest(SortedForest[Array]):
    """The forest of a stream, whose rows may be on disk; a label is the vertex that a set is called after."""

    def __init__(self, engine: Engine, folded: FoldedForest, numbered: Numbered, *, maximum: bool) -> None:
        self.engine, self._folded, self._numbered, self._maximum = engine, folded, numbered, maximum
        self._sorted = self._weights()
        self._sorted.sort()

    def _weights(self) -> Array:
        """Return the weights by row."""
        pieces = [part.weight for part in read_pieces(self._folded.rows)]
        return np.concatenate(pieces) if pieces else np.zeros(0, np.uint32)

    def __len__(self) -> int:
        return len(self._sorted)

    def weights(self, name: ColumnName) -> Weights:
        """Return the weights in order: times as Arrow's, other weights as Python's numbers."""
        ordered, kind = self._sorted[::-1] if self._maximum else self._sorted, self._folded.weight_types.get(name)
        if kind is not None and pa.types.is_temporal(kind):
            moments: Weights = arrow_numbers(ordered).view(kind)
            return moments
        return _Numbers(ordered, kind)

    def groups(self) -> Array:
        pieces = [self._numbered.groups[part.source] for part in read_pieces(self._folded.rows)]
        return np.concatenate([np.zeros(0, np.uint32), *pieces])[self._order]

    @cached_property
    def _order(self) -> Array:
        """The rows in order: of equal weights the earlier one first."""
        weight = self._weights()
        if not self._maximum:
            return np.argsort(weight, kind="stable")
        return len(weight) - 1 - np.argsort(weight[::-1], kind="stable")[::-1]

    def labels(self, edges: int | Array) -> Array:
        kept = self._first(edges) if isinstance(edges, int) else self._flagged(edges)
        return name_groups(self._numbered, _sets(self.engine, self._folded.encoder.count, kept).labels())

    def _first(self, edges: int) -> Iterator[tuple[Array, Array]]:
        """Yield the ends of the first edges, in the order of their rows."""
        if not edges:
            return
        last = self._sorted[-edges if self._maximum else edges - 1]
        below, up_to = (int(np.searchsorted(self._sorted, last, side)) for side in ("left", "right"))
        ties = edges - (len(self._sorted) - up_to if self._maximum else below)
        for rows in read_pieces(self._folded.rows):
            chosen = rows.weight > last if self._maximum else rows.weight < last
            equal = np.flatnonzero(rows.weight == last)[:ties]
            chosen[equal] = True
            ties -= len(equal)
            yield rows.source[chosen], rows.target[chosen]

    def _flagged(self, flags: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the ends of flagged edges, in the order of their rows."""
        chosen, at = np.empty(len(flags), bool), 0
        chosen[self._order] = flags
        for rows in read_pieces(self._folded.rows):
            here = chosen[at : at + len(rows.source)]
            at += len(here)
            yield rows.source[here], rows.target[here]


class _Numbers:
    """A column of weights whose entries are Python's numbers, which compare exactly with any other."""

    def __init__(self, values: Array, kind: pa.DataType | None) -> None:
        self._values = values
        self._scale = kind.scale if kind is not None and pa.types.is_decimal(kind) else None
        self.dtype = values.dtype if kind is None else kind

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> Any:
        value = self._values[place].item()
        return value if self._scale is None else Decimal(value).scaleb(-self._scale)


class _SetsPass(Pass):
    """The fold into disjoint sets."""

    fold: SetsFold | None

    def __init__(self, source: EdgeSource, job: StreamJob) -> None:
        super().__init__(source, job)
        self._runs = None if job.spill is None else IdRuns(host_engine(job.engine), job.spill)

    def run(self, vertices: Vertices | None) -> Labels:
        self.fold_all()
        if self.checkpoint and self.fold is not None:
            self._save(self.checkpoint)
        engine = host_engine(self.job.engine)
        kinds, figures = self.source.kinds_of(self.job.names), self.folded[:2]
        ordered: Ordered
        if self._runs:
            ordered, label = self._merged(self._runs, vertices)
        else:
            numbered, label = self._numbered(vertices)
            ordered, label = numbered, name_groups(numbered, label)
        return Labels(ordered, {"component": label}, kinds, engine, *figures, self.checkpoint, self.job.spill)

    def _numbered(self, vertices: Any) -> tuple[Numbered, Array]:
        """The vertices in the order of their ids, and a label of each; the fold ends."""
        encoder, engine = self.coder.encoder.on_host(), self.coder.engine
        fold, self.fold = self.fold or SetsFold(engine), None
        fold.grow(encoder.count)
        fold.labels()
        numbered = number_vertices(self.source, self.job, engine, encoder, fold.occurring(), vertices, self.memory)
        fold.grow(encoder.count)  # by vertices without rows
        return replace(numbered, flags=engine.to_host(numbered.flags)), engine.to_host(fold.parent)

    def _make_room(self) -> None:
        if self.coder.state is not EncoderState.NEEDS_PART:
            super()._make_room()
            return
        assert self._runs is not None
        self._runs.add(*self._numbered(None))
        self.coder.encoder = self.coder.new_encoder(0)

    def _merged(self, runs: IdRuns, vertices: Vertices | None) -> tuple[StoredNumbers, Array]:
        """The same of all ids that were put aside."""
        if self.fold is not None:
            runs.add(*self._numbered(None))
        kind, listed = runs.type, None
        self.coder.encoder = self.coder.new_encoder(0)
        if vertices is not None:
            listed = listed_ids(vertices, kind)
            place = np.arange(len(listed), dtype=np.uint32)
            runs.add(Numbered(listed, place, np.zeros(0, np.uint64), len(listed)), place.copy())
        ids, total = runs.merge()
        if listed is not None and total > len(listed):
            message = f"rows end in {total - len(listed):,} vertices that vertices= does not list"
            raise InvalidEdgesError(message, "list all vertices, or drop the rows")
        budget = Budget(self.job.memory, id_bytes=3, sets=True)  # 8 bytes a vertex, with the numbers of a run
        budget.check(total)
        held = max(_LEAST_HELD, (self.job.memory - budget.needed(total)) // max(1, 2 * self.memory.id_bytes))
        assert self.job.spill is not None
        return StoredNumbers(self.job.spill, ids, kind, held), runs.unite(total).labels()

    def _new_fold(self, kind: DType) -> SetsFold:
        return SetsFold(self.coder.engine, self.known or 0)

    def _take(self, rows: Rows) -> None:
        assert self.fold is not None
        self.fold.grow(self.coder.vertices)
        self.fold.add(rows)

    def _restore(self, state: FoldState) -> None:
        assert state.parent is not None
        self.coder.fit(self.coder.encoder.count)
        self.fold = SetsFold(self.coder.engine, self.coder.encoder.count, state.parent)
        self.fold.note_loops(self.coder.engine.from_host(self.coder.loops))

    def _refit(self) -> None:
        coder, fold = self.coder, self.fold
        # Of integers that are their own vertices, many may not occur.
        if fold is not None and self.memory.id_bytes and coder.encoder.count > self.memory.most_vertices // 2:
            fold.grow(coder.encoder.count)
            parent, engine = fold.labels(), coder.engine
            used = np.concatenate([np.zeros(0, np.uint32), *listed_vertices(engine, fold.occurring())])
            looped, parent = engine.to_host(fold.looped), engine.to_host(parent)[used]
            coder.number_only(used)
            parent, looped = (np.searchsorted(used, column).astype(np.uint32) for column in (parent, looped))
            self.fold = SetsFold(engine, len(used), parent)
            self.fold.note_loops(engine.from_host(looped))
        coder.fit(coder.encoder.count)

    def _save(self, checkpoint: Checkpoint) -> None:
        checkpoint.save(self._state)

    def _state(self) -> FoldState:
        assert self.fold is not None
        dense, values, _ = self.coder.known()
        parent, looped = (self.coder.engine.to_host(column) for column in (self.fold.parent, self.fold.looped))
        return FoldState(Rows.joined([]), dense, values, looped, *self.folded, parent=parent)
