"""Kruskal's algorithm over slices of all groups' edges, one after the other: each task goes on where the last has come.

A slice holds pieces of every group in files of the worker that solves it, and is read from there in bounded spans
(:mod:`dfmst._fold.slices`): no task holds more than 4 bytes and a bit a vertex, and a buffer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dfmst._common.types import Array
from dfmst._drive.cluster.checkpoint import false_checkpoint
from dfmst._drive.cluster.devices import TaskColumns, on_device, register_for_gpus, rows_that_fit
from dfmst._drive.cluster.shuffle_edges import GroupEdges, Survey, waits_on_gpu, where_they_wait
from dfmst._drive.cluster.shuffle_numbering import Numbering
from dfmst._drive.cluster.shuffle_runs import LeftArray, leave, leave_sorted, load, local_directory, on_side
from dfmst._drive.cluster.solve import task_engine, worker_engine
from dfmst._drive.cluster.tables import POSITION_BITS, reserve
from dfmst._drive.plan.formulas import GPU_SLICE_ROW, LEAST_ROWS
from dfmst._engines import Engine
from dfmst._engines.primitives.flags import count_set, flag_words
from dfmst._fold.budget import SHARE, RunBudget
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run, StoredArray
from dfmst._fold.slices import Cut, SliceKruskal, cuts_of, read_spans
from dfmst.algorithms.base import Trace

#: Columns of the trace: a round is a slice.
RECORD = ["round", "vertices", "edges", "chosen", "components", "bytes", "largest_partition"]
_ENOUGH = 1 << 20  # rows of a buffer on the host
_SPANS = 8  # that a full buffer is read in


@register_for_gpus
class SliceState(NamedTuple):
    """Where the slices so far have come to.

    Attributes
    ----------
    parent
        Root of each vertex.
    used
        Flags of the vertices that chosen edges end in.
    components
        Roots, those of vertices that no edge ends in included.
    edges, chosen, bytes, largest
        Of this slice: its edges, those that were chosen, the bytes of its pieces, and the edges of the largest.
    """

    parent: LeftArray
    used: LeftArray
    components: int
    edges: int
    chosen: int
    bytes: int
    largest: int


def cuts(found: Survey, slices: int) -> list[Cut]:
    """Cut all runs into so many slices of about equal length, or fewer (a task)."""
    rows = sum(len(index.key) * index.grain for index in found.indexes)
    grain = max((index.grain for index in found.indexes), default=1)
    wanted = cuts_of(found.indexes, max(1, rows // slices) + grain * len(found.indexes))
    return wanted[: slices - 1]


def cut(
    edges: GroupEdges, group: int, found: Survey, places: list[Cut], numbering: Numbering, slices: range
) -> list[Run | None]:
    """Return a group's pieces of these slices, its vertices numbered as in all groups (a task)."""
    # Where the runs lie: from files a piece is read, brought in order and written to files on the host.
    arguments = (edges, group, found, places, numbering, slices)
    return where_they_wait(waits_on_gpu(edges), lambda engine: _cut(engine, *arguments))


def _cut(
    engine: Engine, edges: GroupEdges, group: int, found: Survey, places: list[Cut], numbering: Numbering, slices: range
) -> list[Run | None]:
    numbers = None if numbering.numbers is None else load(engine, numbering.numbers)
    if numbering.total != found.dense if numbers is None else len(numbers) != edges.vertices:
        raise false_checkpoint()
    bounds = [_places(edges.runs, found.first[group], place) for place in places]
    bounds = [[0] * len(edges.runs), *bounds, [len(run) for run in edges.runs]]
    pieces: list[Run | None] = []
    for slice_ in slices:
        begins, ends = (bounds[min(place, len(bounds) - 1)] for place in (slice_, slice_ + 1))
        spans = list(zip(begins, ends, strict=True))
        pieces.append(_piece(engine, edges.runs, spans, numbers) if ends != begins else None)
    return pieces


def _places(runs: list[Run], first: int, place: Cut) -> list[int]:
    """Rows of each run that come before a cut; the first run has this number."""
    return [place.place_in(run, number) for number, run in enumerate(runs, first)]


def _piece(engine: Engine, runs: list[Run], spans: list[tuple[int, int]], numbers: Array | None) -> Run:
    parts = [on_side(engine, rows).arrays for rows in read_spans(runs, spans)]
    rows = Rows(*map(engine.xp.concatenate, zip(*parts, strict=True)))
    if numbers is not None:
        rows = Rows(numbers[rows.source], numbers[rows.target], rows.weight, rows.locator)
    return leave_sorted(engine, rows, None, max(run.grain for run in runs))


def solve_slice(
    before: SliceState | None, pieces: list[Run | None], totals: list[int], bounds: list[int], size: int
) -> list[Any]:
    """Solve a slice (a task): the state after it, then the locators of the edges that each group has in the forest."""
    if len(set(totals)) > 1 or not (before is None or len(before.parent) == totals[0]):
        raise false_checkpoint()
    engine, runs = worker_engine(), [piece for piece in pieces if piece is not None and len(piece)]
    vertices = max(totals, default=0)
    lengths = [len(run) for run in runs]
    weight = runs[0].part(0, 0).weight.dtype if runs else np.dtype(np.uint32)
    # More rows would take memory and save no time.
    enough = min(max(_ENOUGH, vertices // SHARE), max(1, sum(lengths)))
    capacity = min(RunBudget(size, weight.itemsize).slice_rows(vertices), enough)
    if not engine.on_host:
        beside = 4 * vertices + vertices // 8 + reserve(engine)
        fitting = rows_that_fit(engine, max(LEAST_ROWS, sum(lengths)), GPU_SLICE_ROW, beside)
        engine, capacity = (engine, fitting) if fitting else (task_engine(), capacity)
    firsts = np.array(bounds, np.uint64) << np.uint64(POSITION_BITS)

    def solve(most: int) -> _Solved:
        return _solve(engine, before, runs, vertices, _Buffer(most, weight), firsts)

    solved = on_device(engine, capacity, solve)
    counts = (sum(lengths), sum(map(len, solved.locators)), sum(run.nbytes for run in runs), max(lengths, default=0))
    return [SliceState(*solved[:3], *counts), *solved.locators]


class _Buffer(NamedTuple):
    """Rows that are solved at a time, and the type of their weights."""

    rows: int
    weight: np.dtype[Any]


class _Solved(NamedTuple):
    """The roots, the flags of used vertices, how many roots there are, and each group's chosen locators, ascending."""

    parent: LeftArray
    used: LeftArray
    components: int
    locators: list[StoredArray]


def _solve(
    engine: Engine, before: SliceState | None, runs: list[Run], vertices: int, buffer: _Buffer, firsts: Array
) -> _Solved:
    """Solve a slice whose groups' locators begin at `firsts`, but for the first group's.

    Chosen locators go to files at once: those of a slice may be a third of the memory.
    """
    state = None if before is None else (_own(engine, before.parent), before.components)
    used = flag_words(engine, vertices) if before is None else _own(engine, before.used)
    chosen = [StoredArray(local_directory(), np.zeros(0, np.uint64)) for _ in range(1 + len(firsts))]
    kruskal = SliceKruskal(engine, vertices, buffer.rows, buffer.weight, 0, state)
    for rows, positions in kruskal.solve_runs(runs, max(1, buffer.rows // (_SPANS if engine.on_host else 2))):
        for ends in (rows.source, rows.target):
            engine.launch("set_flags", len(positions), ends[positions], used)
        locator = _locators(engine, rows, positions)
        locator.sort()
        for part, own in zip(chosen, np.split(locator, np.searchsorted(locator, firsts)), strict=True):
            part.append(own)
    for part in chosen:
        part.sort()
    parent, components = kruskal.parent, kruskal.components
    del kruskal, rows, positions  # the buffer's memory
    return _Solved(leave(engine, parent), leave(engine, used), components, chosen)


def _locators(engine: Engine, rows: Rows, positions: Array) -> Array:
    """Locators of rows of the forest, on the host: they are the result."""
    return engine.to_host(rows.arrays[3][positions])


def _own(engine: Engine, left: LeftArray) -> Array:
    """A column that may be written to: a task may run again from the state before."""
    column = load(engine, left)
    return column.copy() if isinstance(left, TaskColumns) else column


def records(states: list[SliceState]) -> pd.DataFrame:
    """Return a frame with one record a slice (a task)."""
    trace = Trace()
    last = states[-1]
    unused = len(last.parent) - count_set(task_engine(), last.used.load())
    before = len(last.parent) - unused
    for state in states:
        trace.round(vertices=before, edges=state.edges, chosen=state.chosen)
        before -= state.chosen
        trace.add(components=before, bytes=state.bytes, largest_partition=state.largest)
    return pd.DataFrame(trace.columns(), columns=RECORD, dtype="int64")
