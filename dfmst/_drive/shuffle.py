"""``strategy="shuffle"``: semi-external Kruskal on the workers' disks, for forests that do not fit one worker.

Every group of partitions becomes sorted runs in its worker's files. Slices of the total order are solved one after the
other: the task of a slice starts from the state of the one before, and holds 4 bytes and a bit a vertex, and a buffer.

All groups have one numbering of their vertices. Each id has an owner by its hash, with random keys: the task that
numbers it. If all ids are dense integers, they are the numbers, and these tasks have nothing to do. A GPU numbers
integers if it has the edges of a group.

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

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.records import is_count
from dfmst._common.types import Array, Column
from dfmst._drive.devices import (
    TaskColumns,
    local_directory,
    near_columns,
    register_for_gpus,
    reserve,
    rows_on,
    rows_that_fit,
    run_on_device,
    task_engine,
    worker_engine,
)
from dfmst._drive.graph import TaskGraph, false_checkpoint
from dfmst._drive.parts import FileRows
from dfmst._drive.runs import GroupEdges, GroupSizes, are_within, distribute, edges_layout, sorted_run
from dfmst._drive.strategies import EDGE, GPU_SLICE_ROW, LEAST_ROWS
from dfmst._drive.tables import POSITION_BITS, check_kinds
from dfmst._drive.tasks import Group, Portion, portions, unite_locators
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.dictionary import Dictionary, different_types, hash_ids, plain
from dfmst._edges.encode import DeviceDictionary, DeviceEncoder
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine, Engine, host_engine
from dfmst._engines.primitives.contract import Inside, find_inside, leaving_flags
from dfmst._engines.primitives.flags import compact, count_set, flag_length, flag_words
from dfmst._engines.primitives.id_table import HashKeys
from dfmst._fold.budget import SHARE, RunBudget
from dfmst._fold.checkpoint import Check, CheckpointLayout, check, is_below, strictly_ascends
from dfmst._fold.fold import RunIndex, SliceCut, SliceKruskal, cuts_at, largest_component, read_spans
from dfmst._fold.rows import Rows, Run, StoredColumn
from dfmst.algorithms.base import Trace


class GroupStatistics(NamedTuple):
    """Statistics of a group's edges."""

    indexes: list[RunIndex]
    kind: str
    dense: int
    type: pa.DataType | None


class Statistics(NamedTuple):
    """Statistics of all edges."""

    cuts: list[SliceCut]  # of all runs, group by group
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


def _numbering_parts(numbering: Numbering) -> tuple[dict[str, object], Iterable[pa.Table]]:
    numbers, total = numbering
    return {"total": total, "numbers": numbers is not None}, () if numbers is None else numbers.tables()


def _numbering(record: dict[str, Any], tables: Iterator[pa.Table]) -> Numbering:
    numbers = TaskColumns.read(tables, pa.types.is_uint32) if record["numbers"] else None
    # If all rows are self-loops, no vertex has a number, and all are 0.
    check(numbers is None or is_below(numbers.load(), max(1, record["total"])), "numbers beyond their total")
    return Numbering(numbers, record["total"])


_NUMBERING_FIELDS: dict[str, Check] = {
    "total": lambda value: is_count(value) and value <= 1 << 32,
    "numbers": lambda value: isinstance(value, bool),
}

NUMBERING = CheckpointLayout("numbering", _NUMBERING_FIELDS, _numbering_parts, _numbering)


def owned_ids(edges: GroupEdges, statistics: Statistics, owners: int, keys: HashKeys) -> list[TaskColumns | None]:
    """Return vertices and ids of a group for each owner to number (a task)."""
    if statistics.dense is not None or not edges.runs:
        return [None] * owners
    return near_columns(edges.on_gpu, lambda engine: _owned_ids(engine, edges, owners, keys))


def _owned_ids(engine: Engine, edges: GroupEdges, owners: int, keys: HashKeys) -> list[TaskColumns | None]:
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


def number_owned(groups: list[TaskColumns | None]) -> list[Any]:
    """Number an owner's ids of all groups (a task): the count of numbers, then the numbers of each group."""
    on_gpu = any(columns is not None and not columns.engine.on_host for columns in groups)
    return near_columns(on_gpu, lambda engine: _number_owned(engine, groups))


def _number_owned(engine: Engine, groups: list[TaskColumns | None]) -> list[Any]:
    dictionary = Dictionary(engine) if engine.on_host else DeviceDictionary(engine)

    def number(ids: Column) -> Array:
        if isinstance(dictionary, DeviceDictionary):  # ids of one group are integers: those of all groups are
            return dictionary.numbers(ids)
        return dictionary.look_up(arrow_numbers(ids) if isinstance(ids, np.ndarray) else ids)

    numbers = [None if each is None else TaskColumns.stored(engine, number(each.load(engine, 1))) for each in groups]
    return [dictionary.count, *numbers]


def join_numbers(
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
        layout = edges_layout(group.first, len(group.parts), sizes.group.dense)
        edges.append(graph.add("distribute", number, *task, durable=layout))
    of_groups = graph.each("summary", group_statistics, edges, stays=True)
    statistics = graph.add("survey", 0, all_statistics, of_groups, sizes.shares[:-1])
    numberings = _add_numbering(graph, edges, statistics, sizes.owners)
    slices, states = _add_slices(graph, groups, edges, statistics, numberings, sizes)
    trace = graph.add("trace", 0, records, graph.each("counts", getitem, states, more=(slice(1, None),)), states[-1])
    rows = []
    for number, (group, locators) in enumerate(
        zip(groups, graph.sent("locators", slices, len(groups), 1), strict=True)
    ):
        hashes: Any = [None] * len(group.parts)
        if not isinstance(group.parts[0], FileRows):
            hashes = graph.add("hashes", number, getattr, edges[number], "hashes")
        chosen = graph.add("chosen-rows", number, unite_locators, locators, group.first, hashes)
        rows += portions(graph, group.first, len(group.parts), portion, chosen)
    graph.use_checkpoints([*(each.rows for each in rows), trace])
    return rows, trace


def _add_numbering(graph: TaskGraph, edges: list[Any], statistics: Any, owners: int) -> list[Any]:
    """Add the tasks that number the vertices of all groups, and return references to each group's numbering."""
    ids = graph.each("ids", owned_ids, edges, near=[statistics, owners, graph.hash_keys])
    numbered, answers = graph.exchange("number", ids, owners, number_owned, first=1)
    counts = graph.each("count", getitem, numbered, more=(0,))
    return [
        graph.add("name", group, join_numbers, each, durable=NUMBERING, near=[statistics, ids[group], counts, numbers])
        for group, (each, numbers) in enumerate(zip(edges, answers, strict=True))
    ]


def _add_slices(
    graph: TaskGraph, groups: list[Group], edges: list[Any], statistics: Any, numberings: list[Any], sizes: ShuffleSizes
) -> tuple[list[Any], list[Any]]:
    """Add the tasks that filter and solve the slices; return references to each solved slice and the state after it."""
    totals = graph.each("total", getattr, numberings, more=("total",))
    bounds = [group.first for group in groups[1:]]
    first = graph.count_complete("slice", len(sizes.slices))  # only pieces of slices from this one on are needed
    layout = slice_layout([(group.first, len(group.parts)) for group in groups])
    states: list[Any] = [None]
    slices, giants = [], list[Any]()
    for place in range(len(sizes.slices)):
        if place:
            near = [statistics, giants, 1 - sizes.shares[place - 1], sizes.workers]
            giants = [*giants, graph.add("giant", place, giant_of_slice, states[-1], near=near)]
        pieces = []
        for number, each in enumerate(edges) if place >= first else ():
            near = [statistics, numberings[number], totals, place, giants]
            pieces.append(graph.add("cut", (place, number), rows_of_slice, each, number, near=near))
        state = (states[-1], pieces, totals, bounds, sizes.memory)
        slices.append(graph.add("slice", place, solve_slice, *state, durable=layout))
        states.append(graph.add("state", place, getitem, slices[-1], 0))
    return slices, states[1:]


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


def slice_layout(bounds: list[tuple[int, int]]) -> CheckpointLayout:
    """Layout of a solved slice, of groups with these first partitions and numbers of partitions."""
    return CheckpointLayout("slice", dict.fromkeys(_COUNTS, is_count), _slice_parts, partial(_solved, bounds))


def _slice_parts(solved: list[Any]) -> tuple[dict[str, object], Iterable[pa.Table]]:
    (vertices, *counts), *locators = solved
    tables = chain.from_iterable(columns.tables() for columns in (vertices, *locators))
    return dict(zip(_COUNTS, map(int, counts), strict=True)), tables


def _solved(bounds: list[tuple[int, int]], record: dict[str, Any], tables: Iterator[pa.Table]) -> list[Any]:
    vertices = TaskColumns.read(tables, pa.types.is_uint32, pa.types.is_uint64)
    roots, used = vertices.on(CpuEngine(1))
    check(len(used) == flag_length(len(roots)) and is_below(roots, len(roots)), "parents beyond the vertices")
    is_root = roots == np.arange(len(roots), dtype=np.uint32)
    check(bool(is_root[roots].all()) and np.count_nonzero(is_root) == record["components"], "parents that are no roots")
    locators = [TaskColumns.read(tables, pa.types.is_uint64) for _ in bounds]
    for columns, bound in zip(locators, bounds, strict=True):
        locator = columns.load()
        check(
            strictly_ascends(locator) and are_within(locator, *bound), "rows of other partitions, or in another order"
        )
    return [SliceState(vertices, *(record[name] for name in _COUNTS)), *locators]


@register_for_gpus
class Giant(NamedTuple):
    """Flags of the vertices in the largest component, and their number."""

    flags: TaskColumns
    members: int


def giant_of_slice(
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


def rows_of_slice(
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

    return run_on_device(engine, capacity, solve)


def _solve(
    engine: Engine, kruskal: SliceKruskal, runs: list[Run], rows: int, used: Array, firsts: Array
) -> list[TaskColumns]:
    """Return the chosen locators of each group, ascending, and flag the ends of chosen edges in `used`.

    `firsts` are the first locators of all groups but the first. Chosen locators go to files at once: those of a slice
    may be a third of the memory.
    """
    files = [StoredColumn(local_directory(), np.zeros(0, np.uint64)) for _ in range(1 + len(firsts))]
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
