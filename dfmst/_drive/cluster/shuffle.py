"""``strategy="shuffle"``: semi-external Kruskal on the workers' disks, for forests that do not fit one worker.

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

from collections.abc import Callable, Iterator
from functools import partial
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.records import is_count
from dfmst._common.types import Array
from dfmst._drive.cluster import shuffle_numbering as numbering
from dfmst._drive.cluster.devices import (
    TaskColumns,
    local_directory,
    on_device,
    register_for_gpus,
    reserve,
    rows_on,
    rows_that_fit,
    task_engine,
    worker_engine,
)
from dfmst._drive.cluster.graph import TaskGraph, false_checkpoint
from dfmst._drive.cluster.groups import Group
from dfmst._drive.cluster.partitions import FileRows
from dfmst._drive.cluster.rows import Portion, portions, unite
from dfmst._drive.cluster.shuffle_edges import (
    GroupEdges,
    GroupSizes,
    are_within,
    distribute,
    edges_codec,
    near_columns,
    sorted_run,
)
from dfmst._drive.cluster.shuffle_numbering import Numbering, Statistics
from dfmst._drive.cluster.tables import POSITION_BITS
from dfmst._drive.plan.formulas import EDGE, GPU_SLICE_ROW, LEAST_ROWS
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine, Engine
from dfmst._engines.primitives.contract import Inside, find_inside, leaving_flags
from dfmst._engines.primitives.flags import compact, count_set, flag_length, flag_words
from dfmst._fold.budget import SHARE, RunBudget
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import Codec, ascends, check, is_below, record_of, with_record
from dfmst._fold.runs import Run, StoredArray
from dfmst._fold.slices import SliceKruskal, largest_component, read_spans
from dfmst.algorithms.base import Trace


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
    of_groups = _add_each(graph, "summary", numbering.group_statistics, edges)
    statistics = graph.add("survey", 0, numbering.all_statistics, of_groups, sizes.shares[:-1])
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
    ids = [graph.add("ids", group, numbering.split_ids, each, near=shared) for group, each in enumerate(edges)]
    numbered = [
        graph.add("number", owner, numbering.number_ids, _add_each(graph, "own-ids", getitem, ids, owner, of=owner))
        for owner in range(owners)
    ]
    counts = _add_each(graph, "count", getitem, numbered, 0)
    numberings = []
    for group, each in enumerate(edges):
        numbers = _add_each(graph, "numbers", getitem, numbered, 1 + group, of=group)
        near = [statistics, ids[group], counts, numbers]
        task = (numbering.number_group, each)
        numberings.append(graph.add("name", group, *task, durable=numbering.NUMBERING, near=near))
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
    return Codec(_tables, partial(_solved, bounds))


def _tables(solved: list[Any]) -> Iterator[pa.Table]:
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
