"""The edges of a group of partitions: sorted runs, on the GPU while that has room, otherwise in files.

A group of a sliced merge is folded in memory, with 48 bytes a vertex; its forest becomes one run. A merge of two
forests would hold both and a table of them. A group of a shuffle is sorted in batches.

Sanders, Schimek: Engineering massively parallel MST algorithms. IPDPS 2023 (local contraction first, then filtering);
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009 (light slices first).

Statistics of all groups' edges, and one numbering of their vertices.

Each id has an owner by its hash, with random keys: the task that numbers it. If all ids are dense integers, they are
the numbers, and these tasks have nothing to do. A GPU numbers integers if it has the edges of a group.

``strategy="shuffle"``: semi-external Kruskal on the workers' disks, for forests that do not fit one worker.

Every group of partitions becomes sorted runs in its worker's files. Slices of the total order are solved one after the
other: the task of a slice starts from the state of the one before, and holds 4 bytes and a bit a vertex, and a buffer.

Before a slice is solved, the workers that hold its rows drop in parallel those with both ends in the largest component
of the slices before, by one bit a vertex. So the rows that are sent and solved in turn grow with the vertices and not
with the edges. (The roots of all vertices would drop more rows, but cost every worker 32 bits a vertex.) The first
slices are short, as they make that component. If its bits would cost more bytes than they save, earlier ones are used.

Checkpoints hold a table without columns first, whose metadata is the record.

Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004 (the
semi-external base case); Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009 (the
filter, and slices that grow).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from operator import getitem
from types import NoneType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.records import is_count
from dfmst._common.types import Array, Column, DType
from dfmst._drive.devices import (
    BY_KEY,
    TaskColumns,
    device_bytes,
    has_room,
    local_directory,
    new_run,
    on_device,
    register_for_gpus,
    reserve,
    result_bytes,
    rows_on,
    rows_that_fit,
    task_engine,
    worker_engine,
)
from dfmst._drive.graph import Progress, TaskGraph, false_checkpoint
from dfmst._drive.parts import FileRows
from dfmst._drive.strategies import EDGE, GPU_SLICE_ROW, LEAST_ROWS
from dfmst._drive.tables import POSITION_BITS, EdgeTypes, check_kinds
from dfmst._drive.tasks import EncodedFold, Group, Portion, RowHashes, StoredEncoder, portions, unite
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.dictionary import Dictionary, different_types, hash_ids, plain
from dfmst._edges.encode import DeviceDictionary, DeviceEncoder, Encoder
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine, Engine, host_engine
from dfmst._engines.primitives.contract import Inside, find_inside, leaving_flags
from dfmst._engines.primitives.flags import compact, count_set, flag_length, flag_words
from dfmst._engines.primitives.id_table import HashKeys
from dfmst._engines.primitives.sort import sort_order
from dfmst._fold.budget import ROW, SHARE, MemoryRunBudget, RunBudget
from dfmst._fold.checkpoint import (
    Codec,
    ascends,
    check,
    checked_table,
    is_below,
    is_id_type,
    read_rows,
    record_of,
    row_tables,
    with_record,
)
from dfmst._fold.fold import (
    COMPACT,
    Cut,
    RunFold,
    RunIndex,
    SliceKruskal,
    cuts_at,
    forest_positions,
    largest_component,
    read_spans,
)
from dfmst._fold.rows import GRAIN, Rows, Run, StoredArray, read_pieces, write_sorted
from dfmst.algorithms.base import Trace
from dfmst.errors import CapacityError

_Result = TypeVar("_Result")
_KEYS = 256  # in the index of a short run
_DROPS = 0.9  # share of a batch that remains, above which later batches are only sorted
_GPU_SORT = 56  # bytes a row to sort on a GPU: keys, records twice, their halves and two orders
_GPU_SCAN = ROW + COMPACT + 24  # bytes a row to solve a slice on a GPU, without the weights of two buffers


class GroupSizes(NamedTuple):
    """Sizes of the fold of a group."""

    batch: int  # rows of a batch
    dense: int  # integer ids below are their own vertices
    memory: int = 0  # bytes for a fold in memory; 0: batches go to files
    vertices: int = 0  # of a fold in memory, as expected


@register_for_gpus
class DeviceRun(Run):
    """A sorted run on a GPU, in the host's memory after a spill."""

    def __init__(self, grain: int, columns: TaskColumns) -> None:
        self._begin(columns.engine, BY_KEY, np.dtype(columns.types[2].to_pandas_dtype()), grain)
        self._columns = columns
        self._count(Rows(*columns.on(columns.engine)))

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceRun, (self.grain, self._columns)

    @property
    def on_host(self) -> bool:
        """Whether the rows are in the host's memory."""
        return self._columns.engine.on_host

    @property
    def xp(self) -> Any:
        """The array module of its rows."""
        return self._columns.engine.xp

    def _read(self, columns: Sequence[str], begin: int, end: int) -> Iterator[Array]:
        rows = Rows(*self._columns.on(self._columns.engine))
        return (getattr(rows, name)[begin:end] for name in columns)


def sorted_run(engine: Engine, rows: Rows, positions: Array | None, grain: int) -> Run:
    """Sort rows, or those at ascending positions, by key: on a GPU that has room for them, otherwise in a file."""
    count = len(rows) if positions is None else len(positions)
    if engine.on_host or not has_room(engine, count * sum(column.itemsize for column in rows.arrays)):
        run = new_run(rows.weight.dtype, grain)
        write_sorted(engine, run, BY_KEY, rows, positions)
        return run
    places = sort_order(engine, rows.weight if positions is None else rows.weight[positions])
    places = places if positions is None else positions[places]
    return DeviceRun(grain, TaskColumns(engine, *(column[places] for column in rows.arrays)))


def stored_run(engine: Engine, run: Run) -> Run:
    """Keep a run on a GPU that has room for it; otherwise move it from memory to a file."""
    if not run.on_host and has_room(engine, run.nbytes):
        return DeviceRun(run.grain, TaskColumns(engine, *run.part(0, len(run)).arrays))
    stored = new_run(run.part(0, 0).weight.dtype, run.grain)
    stored.append(Rows(*map(engine.to_host, piece.arrays)) for piece in read_pieces(run))
    return stored


class BatchFold(RunFold):
    """A fold whose runs are solved by later tasks: batches of rows, sorted.

    Rows that are the heaviest of a cycle within their batch are dropped, as long as they are many.
    """

    def __init__(self, engine: Engine, rows: int, weight: DType, runs: list[Run]) -> None:
        super().__init__(engine, local_directory(), RunBudget(0, weight.itemsize), 0, weight)
        self._capacity, self._runs, self._drops = rows, runs, True

    def runs(self) -> list[Run]:
        """Return all runs; the fold ends."""
        self._write()
        return self._runs

    def _is_full(self) -> bool:
        return False

    def _write(self) -> None:
        if not self._buffer or not self._buffer.filled:
            return
        rows, positions = self._buffer.rows, None
        if self._drops:
            positions = self._forest(rows)
            self._drops = len(positions) <= _DROPS * len(rows)
        count = len(rows) if positions is None else len(positions)
        grain = min(GRAIN, max(1, count // _KEYS))
        self._runs.append(sorted_run(self._engine, rows, positions, grain))
        self._buffer.filled = 0

    def _forest(self, rows: Rows) -> Array:
        """Positions of a batch's forest, with parents only for the range of its vertices."""
        if not self._engine.on_host:
            return forest_positions(self._engine, rows, 0)
        low = min(int(rows.source.min()), int(rows.target.min()))
        vertices = max(int(rows.source.max()), int(rows.target.max())) + 1 - low
        if low:
            rows = Rows(rows.source - np.uint32(low), rows.target - np.uint32(low), rows.weight, rows.locator)
        return SliceKruskal(self._engine, vertices, 0, rows.weight.dtype, 0).choose(rows).positions


class GroupFold(EncodedFold):
    """The fold of a group: its forest in memory, or batches in files if that does not fit."""

    def __init__(self, engine: Engine, encoder: Encoder, sizes: GroupSizes) -> None:
        super().__init__(engine, encoder, sizes.batch)
        self._sizes = sizes
        self._fold: RunFold | None = None

    @property
    def encoder(self) -> StoredEncoder:
        """The state of the encoder."""
        return StoredEncoder.of(self.engine, self._encoder)

    @property
    def in_memory(self) -> bool:
        """Whether the fold is a forest in memory."""
        return not isinstance(self._fold, BatchFold)

    def resume(self, runs: list[Run], kind: str) -> None:
        """Add the forest of earlier rows, whose ends are the encoder's vertices and whose weights are of a kind."""
        self.kind = kind
        for run in runs:
            for piece in read_pieces(run):
                self._fold_for(piece.weight.dtype).add(rows_on(self.engine, piece))
            run.remove()

    def runs_so_far(self) -> list[Run]:
        """Return the forest of all rows so far as a run, valid until the next row is added."""
        return [] if self._fold is None else [self._fold.so_far()]

    def runs(self) -> list[Run]:
        """Return the runs of all rows; the fold ends."""
        if isinstance(self._fold, BatchFold):
            return self._fold.runs()
        forests = [] if self._fold is None else [self._fold.ascending()]
        return [forest if forest.on_host else stored_run(self.engine, forest) for forest in forests]

    def _fold_for(self, weight: DType) -> RunFold:
        budget, vertices = self._budget(weight), self._encoder.count
        if vertices <= budget.most_vertices:
            if self._fold is None:
                expected = min(max(self._sizes.vertices, vertices), budget.most_vertices)
                self._fold = RunFold(self.engine, None, budget, expected, weight)
        elif self.in_memory:
            if self._sizes.memory:
                _warn()
            forests = [] if self._fold is None else [stored_run(self.engine, self._fold.ascending())]
            self._fold = BatchFold(self.engine, self._sizes.batch, weight, forests)
        assert self._fold is not None
        return self._fold

    def _budget(self, weight: DType) -> MemoryRunBudget:
        if self.engine.on_host or not self._sizes.memory:
            return MemoryRunBudget(self._sizes.memory, weight.itemsize)
        return MemoryRunBudget(device_bytes(self.engine) - result_bytes(), weight.itemsize, _GPU_SORT, _GPU_SCAN)


def _warn() -> None:
    """Warn, on the client as well, that a merge becomes a shuffle; equal warnings are shown once."""
    try:
        from distributed import warn
    except ImportError:
        from warnings import warn
    warn("more vertices than planned: the merge goes on as a shuffle, in files of the workers", stacklevel=3)


@register_for_gpus
class GroupEdges(NamedTuple):
    """The edges of a group that may be in the forest."""

    runs: list[Run]  # sorted by key; each has rows of later partitions than the one before
    encoder: StoredEncoder  # of the ends
    kind: str  # type of the weights; empty without rows
    hashes: list[RowHashes | None]  # of each partition; None for a file, which has a stamp, and without edges

    @property
    def on_gpu(self) -> bool:
        """Whether some of the edges are on a GPU."""
        return not all(run.on_host for run in self.runs)


def edges_codec(first: int, parts: int, dense: int) -> Codec:
    """Codec of the edges of `parts` partitions from `first` on, whose dense ids are less than `dense`."""
    return Codec(_edge_tables, partial(_edges, first, parts, dense))


def _edge_tables(edges: GroupEdges) -> Iterator[pa.Table]:
    """Yield a record, the ids, the rows of each run, and the row hashes of each partition with their types."""
    dense, ids = edges.encoder
    runs = [(len(run), run.grain, str(run.part(0, 0).weight.dtype)) for run in edges.runs]
    kinds = [each and each.types.kind for each in edges.hashes]
    record = {"dense": dense, "ids": ids is not None, "kind": edges.kind, "runs": runs, "hashes": kinds}
    yield with_record(pa.table({}), record)
    if ids is not None:
        yield from ids.tables()
    for run in edges.runs:
        for piece in read_pieces(run):
            yield from row_tables(rows_on(CpuEngine(1), piece))
    for hashes in filter(None, edges.hashes):
        yield from hashes.columns.tables()
        yield pa.schema({"source": hashes.types.source, "target": hashes.types.target}).empty_table()


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "dense": is_count,
    "ids": lambda value: isinstance(value, bool),
    "kind": lambda value: isinstance(value, str),
    "runs": lambda value: all(
        is_count(rows) and is_count(grain) and 0 < grain <= GRAIN and weight in ("uint32", "uint64")
        for rows, grain, weight in value
    ),
    "hashes": lambda value: all(isinstance(kind, str | NoneType) for kind in value),
}


def _edges(first: int, parts: int, dense: int, tables: Iterator[pa.Table]) -> GroupEdges:
    record, runs = record_of(next(tables), _FIELDS), []
    check(record["dense"] <= dense and len(record["hashes"]) == parts, "more vertices or partitions than the group has")
    check(bool(record["kind"]) or not record["runs"], "rows without weights")
    encoder = StoredEncoder(record["dense"], TaskColumns.read(tables, is_id_type) if record["ids"] else None)
    integers = encoder.type is None or pa.types.is_integer(encoder.type)
    check(integers or not encoder.dense, "dense ids next to others than integers")
    for rows, grain, weight in record["runs"]:
        runs.append(new_run(np.dtype(weight), grain))
        runs[-1].append(_by_key(read_rows(tables, rows, encoder.vertices), np.dtype(weight), first, parts))
    hashes = [None if kind is None else _hashes(tables, kind) for kind in record["hashes"]]
    return GroupEdges(runs, encoder, record["kind"], hashes)


def _hashes(tables: Iterator[pa.Table], kind: str) -> RowHashes:
    columns = TaskColumns.read(tables, pa.types.is_uint64)
    source, target = checked_table(next(tables), {"source": is_id_type, "target": is_id_type}).schema.types
    return RowHashes(columns, EdgeTypes(source, target, kind))


def _by_key(pieces: Iterator[Rows], weight: DType, first: int, parts: int) -> Iterator[Rows]:
    """Check that keys ascend, and that all rows are of the group's partitions."""
    last = 0
    for rows in pieces:
        key, locator = rows.arrays[2:]
        check(key.dtype == weight and int(key[0]) >= last, "keys of another type or order")
        check(bool((key[1:] >= key[:-1]).all()), "keys in another order")
        check(are_within(locator, first, parts), "rows of other partitions")
        last = int(key[-1])
        yield rows


def are_within(locator: Array, first: int, parts: int) -> bool:
    """Whether all locators are of `parts` partitions from `first` on."""
    below = is_below(locator, (first + parts) << POSITION_BITS)
    return below and (not len(locator) or int(locator.min()) >= first << POSITION_BITS)


def near_columns(on_gpu: bool, task: Callable[[Engine], _Result]) -> _Result:
    """Run a task on the GPU if `on_gpu`; on the host otherwise, or if the GPU is short of memory."""
    engine = worker_engine() if on_gpu else task_engine()
    if not engine.on_host:
        with suppress(CapacityError):
            return on_device(engine, 1, lambda _: task(engine), least=1)
    return task(task_engine())


def distribute(
    group: Group, frames: Any, columns: EdgeColumns, sizes: GroupSizes, progress: str | None = None
) -> GroupEdges:
    """Read a group of partitions and sort its edges (a task); a fold in memory is saved in the file `progress`."""
    engine, host = worker_engine(), task_engine()
    attempt = partial(_distribute, group, frames, columns, sizes, progress)
    batch = 0 if engine.on_host else rows_that_fit(engine, sizes.batch, EDGE + COMPACT, reserve(engine))
    if not batch:
        return attempt(host, host, sizes.batch)
    with suppress(CapacityError):  # the dictionary of the ids may not fit the GPU: the host numbers them then
        return on_device(engine, batch, lambda rows: attempt(engine, engine, rows), least=batch)
    return on_device(engine, batch, lambda rows: attempt(engine, host, rows))


def _distribute(
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    sizes: GroupSizes,
    progress: str | None,
    engine: Engine,
    numbering: Engine,
    batch: int,
) -> GroupEdges:
    """Read a group on an engine, in batches of `batch` rows, and number its ids on another."""
    parts = group.complete(frames).parts
    saved = Progress(progress if sizes.memory else None, edges_codec(group.first, len(parts), sizes.dense), len(parts))
    before: GroupEdges = saved.content or GroupEdges([], StoredEncoder(), "", [])
    fold = GroupFold(engine, before.encoder.on(numbering, sizes.dense), sizes._replace(batch=batch))
    fold.resume(before.runs, before.kind)
    hashes = before.hashes[: saved.done]

    def so_far() -> GroupEdges:
        return GroupEdges(fold.runs_so_far(), fold.encoder, fold.kind, hashes + [None] * (len(parts) - len(hashes)))

    for tables in group.tables(task_engine(), columns, frames, saved.done):
        hashed: RowHashes | None = None
        for table in tables:
            fold.add(table)
            if table.num_rows and not isinstance(parts[len(hashes)], FileRows):  # others have one piece
                hashed = RowHashes.of_table(table)
        hashes.append(hashed)
        if fold.in_memory:
            saved.save(len(hashes), so_far)
    return GroupEdges(fold.runs(), fold.encoder, fold.kind, hashes)


class GroupStatistics(NamedTuple):
    """Statistics of a group's edges."""

    indexes: list[RunIndex]
    kind: str
    dense: int
    type: pa.DataType | None


class Statistics(NamedTuple):
    """Statistics of all edges."""

    cuts: list[Cut]  # of all runs, group by group
    first: list[int]  # number of each group's first run
    rows: int  # of all runs, at most
    dense: int | None  # bound of the vertices if all ids are dense integers


def group_statistics(edges: GroupEdges) -> GroupStatistics:
    """Return the statistics of a group (a task)."""
    indexes = [RunIndex(run.index, run.grain) for run in edges.runs]
    return GroupStatistics(indexes, edges.kind, edges.encoder.dense, edges.encoder.type)


def all_statistics(groups: list[GroupStatistics], shares: Sequence[float] = ()) -> Statistics:
    """Join the statistics of all groups, and cut their runs after these shares of the rows (a task)."""
    filled = [group for group in groups if group.kind]
    check_kinds(group.kind for group in filled)
    types = {pa.int64() if group.type is None else group.type for group in filled}
    if len(types) > 1 and not all(map(pa.types.is_integer, types)):
        raise different_types(types)
    dense = None
    if all(group.type is None for group in filled):
        dense = max((group.dense for group in filled), default=0)
    first = np.cumsum([0, *(len(group.indexes) for group in groups)])[:-1].tolist()
    indexes = [index for group in groups for index in group.indexes]
    return Statistics(cuts_at(indexes, shares), first, sum(len(each.key) * each.grain for each in indexes), dense)


@register_for_gpus
class Numbering(NamedTuple):
    """The number of each of a group's vertices (``None``: the vertex itself), and the count of all numbers."""

    numbers: TaskColumns | None
    total: int


def _numbering_tables(numbering: Numbering) -> Iterator[pa.Table]:
    numbers, total = numbering
    yield with_record(pa.table({}), {"total": total, "numbers": numbers is not None})
    if numbers is not None:
        yield from numbers.tables()


def _numbering(tables: Iterator[pa.Table]) -> Numbering:
    record = record_of(next(tables), {"total": lambda value: is_count(value) and value <= 1 << 32})
    numbers = TaskColumns.read(tables, pa.types.is_uint32) if record.get("numbers") else None
    check(numbers is None or is_below(numbers.load(), record["total"]), "numbers beyond their total")
    return Numbering(numbers, record["total"])


NUMBERING = Codec(_numbering_tables, _numbering)


def split_ids(edges: GroupEdges, statistics: Statistics, owners: int, keys: HashKeys) -> list[TaskColumns | None]:
    """Return vertices and ids of a group for each owner to number (a task)."""
    if statistics.dense is not None or not edges.runs:
        return [None] * owners
    return near_columns(edges.on_gpu, lambda engine: _split_ids(engine, edges, owners, keys))


def _split_ids(engine: Engine, edges: GroupEdges, owners: int, keys: HashKeys) -> list[TaskColumns | None]:
    encoder = edges.encoder.on(engine)
    occurs = engine.xp.zeros(encoder.count, np.bool_)
    for rows in read_spans(edges.runs, [(0, len(run)) for run in edges.runs]):
        for ends in rows_on(engine, rows)[:2]:
            occurs[ends] = True
    vertices = engine.xp.flatnonzero(occurs).astype(np.uint32)
    if isinstance(encoder, DeviceEncoder):
        ids: Any = encoder.decode_there(vertices).astype(np.int64, copy=False)
        words = ids.view(np.uint64)
    else:
        engine, vertices = host_engine(engine), engine.to_host(vertices)
        ids = _plain(encoder.decode(vertices))
        words = hash_ids(ids, keys)
    # The owner of an id is the same in every process, on a GPU and on the host.
    words = words * np.uint64(keys.low)
    owner = ((words ^ words >> np.uint64(32)) * np.uint64(keys.high) >> np.uint64(32)) % np.uint64(owners)
    shares = (engine.xp.flatnonzero(owner == np.uint64(place)) for place in range(owners))
    return [TaskColumns.stored(engine, vertices[share], ids.take(share)) for share in shares]


def number_ids(groups: list[TaskColumns | None]) -> list[Any]:
    """Number an owner's ids of all groups (a task): the count of numbers, then the numbers of each group."""
    on_gpu = any(columns is not None and not columns.engine.on_host for columns in groups)
    return near_columns(on_gpu, lambda engine: _number_ids(engine, groups))


def _number_ids(engine: Engine, groups: list[TaskColumns | None]) -> list[Any]:
    dictionary = Dictionary(engine) if engine.on_host else DeviceDictionary(engine)

    def number(ids: Column) -> Array:
        if isinstance(dictionary, DeviceDictionary):  # ids of one group are integers: those of all groups are
            return dictionary.numbers(ids)
        return dictionary.look_up(arrow_numbers(ids) if isinstance(ids, np.ndarray) else ids)

    numbers = [None if each is None else TaskColumns.stored(engine, number(each.load(engine, 1))) for each in groups]
    return [dictionary.count, *numbers]


def number_group(
    edges: GroupEdges,
    statistics: Statistics,
    ids: list[TaskColumns | None],
    counts: list[int],
    numbers: list[TaskColumns | None],
) -> Numbering:
    """Join the numbers of a group's vertices from all owners (a task)."""
    if statistics.dense is not None:
        return Numbering(None, statistics.dense)
    first = np.cumsum([0, *counts])

    def task(engine: Engine) -> Numbering:
        own: Array = engine.xp.zeros(edges.encoder.vertices, np.uint32)
        for place, (question, answer) in enumerate(zip(ids, numbers, strict=True)):
            if question is not None and answer is not None:
                own[question.load(engine)] = answer.load(engine) + np.uint32(first[place])
        return Numbering(TaskColumns.stored(engine, own), int(first[-1]))

    return near_columns(edges.on_gpu, task)


def _plain(ids: pa.Array) -> pa.Array:
    """Integers as int64 in all tasks (those from 2**63 on wrap around); other ids as a dictionary takes them."""
    return pa.array(ids.to_numpy().astype(np.int64)) if pa.types.is_integer(ids.type) else plain(ids)


class ShuffleSizes(NamedTuple):
    """Sizes of the tasks of a shuffle."""

    group: GroupSizes
    owners: int  # number of tasks that number ids other than dense integers
    slices: tuple[int, ...]  # ends of the slices: shares of the rows, in units of which the last is all
    memory: int  # bytes that solving a slice may take
    workers: int

    @property
    def shares(self) -> list[float]:
        """The share of the rows before the end of each slice."""
        return [end / self.slices[-1] for end in self.slices]


def add_shuffle(
    graph: TaskGraph, groups: list[Group], columns: EdgeColumns, sizes: ShuffleSizes, portion: int
) -> tuple[list[Portion], Any]:
    """Add the tasks of this strategy; return the forest's rows, by `portion` partitions, and the trace's reference."""
    edges = []
    for number, group in enumerate(groups):
        task = (distribute, *group.arguments(), columns, sizes.group, graph.progress_file("distribute", number))
        codec = edges_codec(group.first, len(group.parts), sizes.group.dense)
        edges.append(graph.add("distribute", number, *task, durable=codec))
    of_groups = _add_each(graph, "summary", group_statistics, edges)
    statistics = graph.add("survey", 0, all_statistics, of_groups, sizes.shares[:-1])
    numberings = _add_numbering(graph, edges, statistics, sizes.owners)
    slices, states = _add_slices(graph, groups, edges, statistics, numberings, sizes)
    counts = _add_each(graph, "counts", getitem, states, slice(1, None))
    trace = graph.add("trace", 0, records, counts, states[-1])
    rows = []
    for number, group in enumerate(groups):
        hashes: Any = [None] * len(group.parts)
        if not isinstance(group.parts[0], FileRows):
            hashes = graph.add("hashes", number, getattr, edges[number], "hashes", stays=True)
        locators = _add_each(graph, "locators", getitem, slices, 1 + number, of=number)
        chosen = graph.add("chosen-rows", number, unite, locators, group.first, hashes)
        rows += portions(graph, group.first, len(group.parts), portion, chosen)
    graph.use_checkpoints([*(each.rows for each in rows), trace])
    return rows, trace


def _add_slices(
    graph: TaskGraph, groups: list[Group], edges: list[Any], statistics: Any, numberings: list[Any], sizes: ShuffleSizes
) -> tuple[list[Any], list[Any]]:
    """Add the tasks that filter and solve the slices; return references to each solved slice and the state after it."""
    totals = _add_each(graph, "total", getattr, numberings, "total")
    bounds = [group.first for group in groups[1:]]
    first = graph.count_complete("slice", len(sizes.slices))  # only pieces of slices from this one on are needed
    codec = slice_codec([(group.first, len(group.parts)) for group in groups])
    states: list[Any] = [None]
    slices, giants = [], list[Any]()
    for place in range(len(sizes.slices)):
        if place:
            near = [statistics, giants, 1 - sizes.shares[place - 1], sizes.workers]
            giants = [*giants, graph.add("giant", place, giant_component, states[-1], near=near)]
        pieces = []
        for number, each in enumerate(edges) if place >= first else ():
            near = [statistics, numberings[number], totals, place, giants]
            pieces.append(graph.add("cut", (place, number), cut, each, number, near=near))
        state = (states[-1], pieces, totals, bounds, sizes.memory)
        slices.append(graph.add("slice", place, solve_slice, *state, durable=codec))
        states.append(graph.add("state", place, getitem, slices[-1], 0, stays=True))
    return slices, states[1:]


def _add_each(
    graph: TaskGraph, name: str, task: Callable[..., Any], inputs: list[Any], *arguments: Any, of: int | None = None
) -> list[Any]:
    """Add a short task for each input; `of` is the number of a slice, owner or group that has its own such tasks."""
    return [
        graph.add(name, number if of is None else (of, number), task, each, *arguments, stays=True)
        for number, each in enumerate(inputs)
    ]


def _add_numbering(graph: TaskGraph, edges: list[Any], statistics: Any, owners: int) -> list[Any]:
    """Add the tasks that number the vertices of all groups, and return references to each group's numbering."""
    shared = [statistics, owners, graph.hash_keys]
    ids = [graph.add("ids", group, split_ids, each, near=shared) for group, each in enumerate(edges)]
    numbered = [
        graph.add("number", owner, number_ids, _add_each(graph, "own-ids", getitem, ids, owner, of=owner))
        for owner in range(owners)
    ]
    counts = _add_each(graph, "count", getitem, numbered, 0)
    numberings = []
    for group, each in enumerate(edges):
        numbers = _add_each(graph, "numbers", getitem, numbered, 1 + group, of=group)
        near = [statistics, ids[group], counts, numbers]
        task = (number_group, each)
        numberings.append(graph.add("name", group, *task, durable=NUMBERING, near=near))
    return numberings


#: Columns of the trace: a round is a slice.
RECORD = ["round", "vertices", "edges", "chosen", "components", "bytes", "largest_partition"]
_ENOUGH = 1 << 20  # rows of a buffer on the host
_SPANS = 8  # that a full buffer is read in


@register_for_gpus
class SliceState(NamedTuple):
    """The state after a slice, and the sizes of the slice."""

    vertices: TaskColumns  # the root of each, and flags of those that chosen edges end in
    components: int  # number of roots, with those of vertices that no edge ends in
    edges: int
    chosen: int  # edges
    bytes: int
    largest: int  # edges of its largest piece


_COUNTS = SliceState._fields[1:]


def slice_codec(bounds: list[tuple[int, int]]) -> Codec:
    """Codec of a solved slice, of groups with these first partitions and numbers of partitions."""
    return Codec(_slice_tables, partial(_solved, bounds))


def _slice_tables(solved: list[Any]) -> Iterator[pa.Table]:
    (vertices, *counts), *locators = solved
    yield with_record(pa.table({}), dict(zip(_COUNTS, map(int, counts), strict=True)))
    for columns in (vertices, *locators):
        yield from columns.tables()


def _solved(bounds: list[tuple[int, int]], tables: Iterator[pa.Table]) -> list[Any]:
    record = record_of(next(tables), dict.fromkeys(_COUNTS, is_count))
    vertices = TaskColumns.read(tables, pa.types.is_uint32, pa.types.is_uint64)
    roots, used = vertices.on(CpuEngine(1))
    check(len(used) == flag_length(len(roots)) and is_below(roots, len(roots)), "parents beyond the vertices")
    is_root = roots == np.arange(len(roots), dtype=np.uint32)
    check(bool(is_root[roots].all()) and np.count_nonzero(is_root) == record["components"], "parents that are no roots")
    locators = [TaskColumns.read(tables, pa.types.is_uint64) for _ in bounds]
    for columns, bound in zip(locators, bounds, strict=True):
        locator = columns.load()
        check(ascends(locator) and are_within(locator, *bound), "rows of other partitions, or in another order")
    return [SliceState(vertices, *(record[name] for name in _COUNTS)), *locators]


@register_for_gpus
class Giant(NamedTuple):
    """Flags of the vertices in the largest component, and their number."""

    flags: TaskColumns
    members: int


def giant_component(
    state: SliceState, statistics: Statistics, before: list[Giant | None], share: float, workers: int
) -> Giant | None:
    """Return the largest component after a slice (a task), if its flags save bytes; a `share` of the rows is left.

    Random rows have both ends in it as often as the square of its share of the vertices says. Others do more often.
    """
    known = max((each.members for each in before if each is not None), default=0)

    def task(engine: Engine) -> Giant | None:
        parent = state.vertices.load(engine)
        root, members = largest_component(engine, parent)
        more = (members**2 - known**2) / max(1, len(parent)) ** 2
        if EDGE * more * share * statistics.rows <= workers * len(parent) / 8:
            return None
        flags = find_inside(engine, parent, root, listed=False).flags
        assert flags is not None
        return Giant(TaskColumns.stored(engine, flags), members)

    return near_columns(not state.vertices.engine.on_host, task)


def cut(
    edges: GroupEdges,
    group: int,
    statistics: Statistics,
    numbering: Numbering,
    totals: list[int],
    slice_: int,
    giants: list[Giant | None],
) -> Run | None:
    """Return a group's rows of a slice that may be in the forest, with the vertices of all groups (a task).

    It begins when all groups have their numbers: Dask would move a group away from others that are being numbered.
    """

    def task(engine: Engine) -> Run | None:
        numbers = None if numbering.numbers is None else numbering.numbers.load(engine)
        if numbers is None:
            false = numbering.total != statistics.dense
        else:  # every vertex is an end of a row
            false = len(numbers) != edges.encoder.vertices or numbering.total > 2 * statistics.rows
        if false or set(totals) != {numbering.total}:
            raise false_checkpoint()
        numbered, cuts = list(enumerate(edges.runs, statistics.first[group])), statistics.cuts
        begins, ends = [0] * len(numbered), [len(run) for run in edges.runs]
        if slice_ and cuts:  # no cuts: no run has a row
            begins = [cuts[slice_ - 1].place_in(run, at) for at, run in numbered]
        if slice_ < len(cuts):
            ends = [cuts[slice_].place_in(run, at) for at, run in numbered]
        spans = list(zip(begins, ends, strict=True))
        giant = next((each for each in reversed(giants) if each is not None), None)
        inside = Inside(None if giant is None else giant.flags.load(engine), None, None)
        parts = [rows.arrays for rows in _passing(engine, edges.runs, spans, numbers, inside) if len(rows)]
        if not parts:
            return None
        rows = Rows(*map(engine.xp.concatenate, zip(*parts, strict=True)))
        return sorted_run(engine, rows, None, max(run.grain for run in edges.runs))

    # Pieces of files are read, sorted and written on the host.
    return near_columns(edges.on_gpu, task)


def _passing(
    engine: Engine, runs: list[Run], spans: list[tuple[int, int]], numbers: Array | None, giant: Inside
) -> Iterator[Rows]:
    """Yield the rows of some spans that have an end outside the giant component, with the vertices of all groups."""
    for piece in read_spans(runs, spans):
        rows = rows_on(engine, piece)
        if numbers is not None:
            rows = Rows(numbers[rows.source], numbers[rows.target], rows.weight, rows.locator)
        if giant.flags is not None:
            positions = compact(engine, leaving_flags(engine, rows.source, rows.target, giant))
            rows = Rows(*(column[positions] for column in rows.arrays))
        yield rows


def solve_slice(
    before: SliceState | None, pieces: list[Run | None], totals: list[int], bounds: list[int], size: int
) -> list[Any]:
    """Solve a slice (a task): the state after it, then the chosen locators of each group.

    `bounds` are the first partitions of all groups but the first; `size` is the memory of the task, in bytes.
    """
    if len(set(totals)) > 1 or not (before is None or len(before.vertices) == totals[0]):
        raise false_checkpoint()
    engine, runs = worker_engine(), [piece for piece in pieces if piece is not None and len(piece)]
    vertices = max(totals, default=0)
    if not runs and before is not None:
        none = (TaskColumns.stored(CpuEngine(1), np.zeros(0, np.uint64)) for _ in range(1 + len(bounds)))
        return [SliceState(before.vertices, before.components, 0, 0, 0, 0), *none]
    lengths = [len(run) for run in runs]
    weight = runs[0].part(0, 0).weight.dtype if runs else np.dtype(np.uint32)
    # More rows would take memory and save no time.
    enough = min(max(_ENOUGH, vertices // SHARE), max(1, sum(lengths)))
    capacity = min(RunBudget(size, weight.itemsize).slice_rows(vertices), enough)
    if not engine.on_host:
        others = 4 * vertices + vertices // 8 + reserve(engine)
        fitting = rows_that_fit(engine, max(LEAST_ROWS, sum(lengths)), GPU_SLICE_ROW, others)
        engine, capacity = (engine, fitting) if fitting else (task_engine(), capacity)
    firsts = np.array(bounds, np.uint64) << np.uint64(POSITION_BITS)

    def solve(rows: int) -> list[Any]:
        state = None
        used = flag_words(engine, vertices)
        if before is not None:
            parent, used = before.vertices.on(engine, writable=True)
            state = parent, before.components
        kruskal = SliceKruskal(engine, vertices, rows, weight, 0, state)
        locators = _solve(engine, kruskal, runs, rows, used, firsts)
        parent, components = kruskal.parent, kruskal.components
        del kruskal  # the buffer's memory
        counts = sum(lengths), sum(map(len, locators)), sum(run.nbytes for run in runs), max(lengths, default=0)
        return [SliceState(TaskColumns.stored(engine, parent, used), components, *counts), *locators]

    return on_device(engine, capacity, solve)


def _solve(
    engine: Engine, kruskal: SliceKruskal, runs: list[Run], rows: int, used: Array, firsts: Array
) -> list[TaskColumns]:
    """Return the chosen locators of each group, ascending, and flag the ends of chosen edges in `used`.

    `firsts` are the first locators of all groups but the first. Chosen locators go to files at once: those of a slice
    may be a third of the memory.
    """
    files = [StoredArray(local_directory(), np.zeros(0, np.uint64)) for _ in range(1 + len(firsts))]
    for chosen, positions in kruskal.solve_runs(runs, max(1, rows // (_SPANS if engine.on_host else 2))):
        for ends in (chosen.source, chosen.target):
            engine.launch("set_flags", len(positions), ends[positions], used)
        locator = _locators(engine, chosen, positions)
        locator.sort()
        for file, own in zip(files, np.split(locator, np.searchsorted(locator, firsts)), strict=True):
            file.append(own)
    for file in files:
        file.sort()
    return [TaskColumns(CpuEngine(1), file) for file in files]


def _locators(engine: Engine, rows: Rows, positions: Array) -> Array:
    """Locators of rows of the forest, on the host: they are the result."""
    return engine.to_host(rows.arrays[3][positions])


def records(counts: list[tuple[int, ...]], last: SliceState) -> pd.DataFrame:
    """Return a frame with one record a slice (a task), from the counts of each state and the last state."""
    trace = Trace()
    before = count_set(task_engine(), last.vertices.load(None, 1))
    for _, edges, chosen, size, largest in counts:
        trace.round(vertices=before, edges=edges, chosen=chosen)
        before -= chosen
        trace.add(components=before, bytes=size, largest_partition=largest)
    return pd.DataFrame(trace.columns(), columns=RECORD, dtype="int64")


def no_records() -> pd.DataFrame:
    """Return the trace of a strategy without rounds (a task)."""
    return pd.DataFrame(columns=RECORD, dtype="int64")
