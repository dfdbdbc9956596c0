"""Kruskal's algorithm over slices of the total order, which arrive in ascending order and need not fit the memory.

The state is one array of parents, 4 bytes a vertex. Rows inside a component are dropped as they arrive (the filter of
Filter-Kruskal); the others wait in a buffer, which is sorted and scanned when the next slice does not fit.

References
----------
Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004.
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import crossing_flags, flatten
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import compact, flag_words
from dfmst._engines.primitives.kruskal_tree import CycleFilter, FilterTables
from dfmst._fold.buffer import RowBuffer, Rows
from dfmst._fold.runs import Run
from dfmst.algorithms._shared_steps import Level, scan_light
from dfmst.algorithms.base import Trace
from dfmst.algorithms.solve import solve_table

_PIECE = 1 << 18  # rows, or vertices, that are processed at a time


class Chosen(NamedTuple):
    """Rows of the buffer, and the ascending positions of the forest's rows."""

    rows: Rows
    positions: Array


class SliceKruskal:
    """The forest of rows that arrive slice by slice.

    `parent` points each vertex to the root of its component; `components` is the number of roots.
    """

    def __init__(
        self,
        engine: Engine,
        vertices: int,
        capacity: int,
        weight_dtype: DTypeLike,
        flip: int,
        state: tuple[Array, int] | None = None,
    ) -> None:
        self._engine, self._flip = engine, flip
        self._buffer = RowBuffer(engine, capacity, weight_dtype)
        self._scanned = state is not None
        self.parent: Array
        self.parent, self.components = state or (engine.xp.arange(vertices, dtype=np.uint32), vertices)

    def solve_runs(self, runs: Sequence[Run], rows: int) -> Iterator[Chosen]:
        """Take all rows of runs, in slices of `rows` rows, and release them; a result is valid until the next.

        Many runs cannot be cut short: a slice of one grain of each may be longer, and the buffer grows for it.
        """
        for spans in cut_runs(runs, rows):
            length = sum(end - begin for begin, end in spans)
            if length > self._buffer.free:
                yield self.solve()
            if length > len(self._buffer):
                self._buffer = RowBuffer(self._engine, length, self._buffer.rows.weight.dtype)
            # Short spans are filtered together: each step has a price, whatever its rows.
            together = length <= _PIECE and all(run.on_host for run in runs)
            for piece in [concat_spans(runs, spans)] if together else read_spans(runs, spans):
                self.add(piece)
            for run, (_, end) in zip(runs, spans, strict=True):
                run.release(end)
        yield self.solve()

    def add(self, rows: Rows) -> None:
        """Take rows of a slice; of equal weights, earlier ones come first."""
        rows, positions = Rows(*map(self._engine.from_host, rows.arrays)), None
        if self._scanned:
            flags = crossing_flags(self._engine, rows.source, rows.target, self.parent)
            positions = compact(self._engine, flags)
        self._buffer.append(rows, positions)

    def solve(self) -> Chosen:
        """Choose among the rows in the buffer and empty it; the result is valid until the next row is added."""
        rows = self._buffer.rows
        self._buffer.filled = 0
        return self.choose(rows)

    def choose(self, rows: Rows) -> Chosen:
        """Choose among the rows of a slice; their ends are ``uint32``."""
        if not self._engine.on_host:
            return self._choose_compact(rows)
        chosen = flag_words(self._engine, len(rows))
        if len(rows) and self.components > 1:
            edges = Edges(rows.source, rows.target, rows.weight, None)
            trace = Trace()
            trace.round(vertices=self.components, edges=len(edges))
            level = Level(self._engine, edges, self._flip, self.components, chosen, trace)
            self.components -= scan_light(level, None, self.parent)
            flatten(self._engine, self.parent)
            self._scanned = True
        return Chosen(rows, compact(self._engine, chosen))

    def _choose_compact(self, rows: Rows) -> Chosen:
        """Choose by any algorithm: a scan takes one step after the other."""
        if not len(rows):
            return Chosen(rows, self._engine.xp.empty(0, np.uint32))
        positions = forest_positions(self._engine, rows, self._flip, self.parent)
        self._engine.launch("unite", len(positions), rows.source, rows.target, positions, self.parent)
        flatten(self._engine, self.parent)
        self.components -= len(positions)
        self._scanned = True
        return Chosen(rows, positions)


Span = tuple[int, int]


class Cut(NamedTuple):
    """A place in the total order: before row `place` of run `number`, whose key is `key`."""

    key: int
    number: int
    place: int

    def place_in(self, run: Run, number: int) -> int:
        """Rows of a run that come before. Of equal keys those in earlier runs, and earlier in their run, come first."""
        return self.place if number == self.number else run.place(self.key, after_equal=number < self.number)


class RunIndex(NamedTuple):
    """Keys of every `grain` rows of a run."""

    key: Array
    grain: int


def cuts_of(runs: Sequence[RunIndex], rows: int) -> list[Cut]:
    """Choose cuts with at most `rows` rows between them, or the grain of all runs together if that is more.

    The order is total, so equal keys are cut like others.
    """
    if not runs:
        return []
    columns, order = _in_order(runs)
    step = max(1, rows // max(run.grain for run in runs) - len(runs))
    return _cuts(columns, order[step::step])


def cuts_at(runs: Sequence[RunIndex], shares: Sequence[float]) -> list[Cut]:
    """Choose cuts before which about these shares of all rows come."""
    if not any(len(run.key) for run in runs):
        return []
    columns, order = _in_order(runs)
    rows = np.cumsum(np.array([run.grain for run in runs])[columns[1][order]])
    return _cuts(columns, order[np.searchsorted(rows, rows[-1] * np.array(shares))])


def _in_order(runs: Sequence[RunIndex]) -> tuple[list[Array], Array]:
    """Keys, numbers and places of all indexes, and their order."""
    key = np.concatenate([run.key for run in runs])
    number = np.repeat(np.arange(len(runs)), [len(run.key) for run in runs])
    place = np.concatenate([np.arange(len(run.key)) * run.grain for run in runs])
    return [key, number, place], np.lexsort((place, number, key))


def _cuts(columns: list[Array], chosen: Array) -> list[Cut]:
    return [Cut(*entry) for entry in zip(*(column[chosen].tolist() for column in columns), strict=True)]


def cut_runs(runs: Sequence[Run], rows: int) -> Iterator[list[Span]]:
    """Yield slices of all runs in ascending order: a span of each run, at most `rows` rows together."""
    begins = [0] * len(runs)
    cuts = cuts_of([RunIndex(run.index, run.grain) for run in runs], rows)
    for cut in [*cuts, None]:
        ends = [len(run) if cut is None else cut.place_in(run, number) for number, run in enumerate(runs)]
        if ends != begins:
            yield list(zip(begins, ends, strict=True))
        begins = ends


def read_spans(runs: Sequence[Run], spans: Sequence[Span]) -> Iterator[Rows]:
    """Read a slice, run after run, a bounded number of rows at a time."""
    for run, (begin, end) in zip(runs, spans, strict=True):
        marks = [*range(begin, end, _PIECE), end]
        yield from (run.part(*span) for span in pairwise(marks))


def concat_spans(runs: Sequence[Run], spans: Sequence[Span]) -> Rows:
    """Read a slice that is not empty, run after run, into one."""
    return Rows(*map(runs[0].xp.concatenate, zip(*(rows.arrays for rows in read_spans(runs, spans)), strict=True)))


#: Bytes a row that `forest_positions` takes next to its columns. If all ends differ, the allocations add up to 88;
#: CuPy's `unique` allocates more itself: two orders, flags and sums of both ends.
COMPACT = 144


def forest_positions(engine: Engine, rows: Rows, flip: int, parent: Array | None = None) -> Array:
    """Return the ascending positions of the rows that form the forest; of equal weights, earlier rows come first."""
    xp, count = engine.xp, len(rows)
    ends = [column if parent is None else parent[column] for column in (rows.source, rows.target)]
    occurring, number = xp.unique(xp.concatenate(ends), return_inverse=True)
    number = number.astype(np.uint32)
    table = EdgeTable(number[:count], number[count:], rows.weight, len(occurring), bool(flip))
    del ends, occurring
    return solve_table(engine, table).astype(np.uint32)


_OUTSIDE = 255
_LAST = 254
_SAMPLE = 1 << 12


class LevelMarks:
    """Cycle filter of a forest that is found slice by slice: the slice in which a vertex joined the giant component.

    A later row whose ends both joined it by some slice, and that is at least as heavy as that slice's heaviest row,
    closes a cycle of earlier rows (:mod:`dfmst._engines.primitives.kruskal_tree`). One byte a vertex.
    """

    def __init__(self, engine: Engine, vertices: int) -> None:
        self._engine = engine
        self._level: Array = engine.xp.full(vertices, _OUTSIDE, np.uint8)
        self._limit: Array = engine.xp.zeros(256, np.uint64)
        self._used = 0

    def mark(self, parent: Array, heaviest: int) -> None:
        """Give the vertices that have joined the component of more than half of them the next level."""
        root, members = largest_component(self._engine, parent)
        if 2 * members <= len(parent):
            return
        self._used = min(self._used + 1, _LAST)
        self._limit[self._used] = heaviest
        for begin in range(0, len(parent), _PIECE):
            level = self._level[begin : begin + _PIECE]
            level[(parent[begin : begin + _PIECE] == root) & (level == _OUTSIDE)] = self._used

    def filter(self) -> CycleFilter | None:
        """Make the filter; ``None`` if it would drop nothing."""
        if not self._used:
            return None
        return CycleFilter(self._engine, FilterTables(self._level, self._limit, None, 0))


def largest_component(engine: Engine, parent: Array) -> tuple[int, int]:
    """Return the root that most vertices of a sample have, and the number of all vertices that have it.

    If these are more than half of the vertices, the root stays theirs.
    """
    xp = engine.xp
    roots, counts = xp.unique(parent[:: max(1, len(parent) // _SAMPLE)], return_counts=True)
    root = int(roots[counts.argmax()]) if len(roots) else 0
    pieces = (parent[begin : begin + _PIECE] for begin in range(0, len(parent), _PIECE))
    return root, sum(int(xp.count_nonzero(piece == root)) for piece in pieces)
