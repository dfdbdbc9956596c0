"""Folds: the forest, or the components, of any number of rows, in bounded memory.

The forest of A and B is the forest of (the forest of A) and B. Rows arrive in ascending order of their locators. After
the first solve, rows that the forest beats (:mod:`dfmst._engines.primitives.kruskal_tree`) are dropped as they arrive.

Kruskal's algorithm takes slices of the total order, which arrive in ascending order and need not fit the memory. Its
state is one array of parents, 4 bytes a vertex. Rows inside a component are dropped as they arrive (the filter of
Filter-Kruskal). The others wait in a buffer, which is sorted and scanned when the next slice does not fit.

A fold into disjoint sets takes rows in any order, with 4 bytes and 2 bits a vertex: a set's root is its smallest
vertex. Once most rows begin in one component, a bit a vertex says which vertices are in it. A row with both ends in it
joins nothing, and its parents are not read. That table is 32 times smaller than the parents, and may fit a cache.

References
----------
Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004.
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from dfmst._common.directories import SpillDirectory
from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable, flip_bits
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import (
    Inside,
    common_label,
    crossing_flags,
    find_inside,
    flatten,
    leaving_flags,
    unite,
)
from dfmst._engines.primitives.edges import Edges, gather_keys
from dfmst._engines.primitives.flags import compact, flag_words
from dfmst._engines.primitives.kruskal_tree import CycleFilter, FilterTables
from dfmst._fold.budget import RunBudget
from dfmst._fold.rows import GRAIN, Order, RowBuffer, Rows, Run, new_run, read_pieces, write_sorted
from dfmst.algorithms import Algorithm
from dfmst.algorithms._shared_steps import Level, scan_light
from dfmst.algorithms.base import Trace
from dfmst.algorithms.solve import solve_table
from dfmst.errors import CapacityError

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


class SliceCut(NamedTuple):
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


def cuts_of(runs: Sequence[RunIndex], rows: int) -> list[SliceCut]:
    """Choose cuts with at most `rows` rows between them, or the grain of all runs together if that is more.

    The order is total, so equal keys are cut like others.
    """
    if not runs:
        return []
    columns, order = _in_order(runs)
    step = max(1, rows // max(run.grain for run in runs) - len(runs))
    return _cuts(columns, order[step::step])


def cuts_at(runs: Sequence[RunIndex], shares: Sequence[float]) -> list[SliceCut]:
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


def _cuts(columns: list[Array], chosen: Array) -> list[SliceCut]:
    return [SliceCut(*entry) for entry in zip(*(column[chosen].tolist() for column in columns), strict=True)]


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
    return Rows.joined([*read_spans(runs, spans)], xp=runs[0].xp)


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


_MOVED = 1 << 20  # rows moved at a time
_FULL = 4  # rows a vertex at which a buffer is solved even if it has room: an early filter saves time
_VERTEX_LIMIT = 1 << 32
_SLICES = 4  # slices of a full buffer: shorter ones need more reads, longer ones leave more of the buffer empty
_CUTS = 2048  # places at which a run as long as the buffer can be cut: many more than there are runs
_LEAST_GRAIN = 16  # rows


class Fold(ABC):
    """Folds rows into their minimum spanning forest; `vertices` is an exclusive upper bound of their ends."""

    piece: ClassVar[int]  # rows filtered at a time: their levels and flags take little memory

    def __init__(self, engine: Engine, weight_dtype: DTypeLike, *, maximum: bool) -> None:
        self._engine, self._maximum = engine, maximum
        self._flip = flip_bits(np.dtype(weight_dtype), maximum)
        self._filter: CycleFilter | None = None
        self.vertices = 0

    def add(self, rows: Rows) -> None:
        """Add rows that come after all rows before them; their weights have the fold's type."""
        if len(rows):
            self.grow(1 + int(max(rows.source.max(), rows.target.max())))
        for begin in range(0, len(rows), self.piece):
            self._take(rows.part(begin, min(begin + self.piece, len(rows))))

    def merge(self, forest: Rows | Run) -> None:
        """Add the forest of another fold, whose rows come after all rows before them."""
        for rows in read_pieces(forest):
            self.add(rows)

    @abstractmethod
    def forest(self) -> Rows | Run:
        """Return the forest of all rows so far, in the order of their locators."""

    def grow(self, vertices: int) -> None:
        """Raise the bound of the vertices."""
        if vertices > _VERTEX_LIMIT:
            message = f"vertices up to {vertices - 1:,} were given; a fold numbers at most {_VERTEX_LIMIT:,}"
            raise CapacityError(message, "number the vertices densely first")
        if vertices > self.vertices:
            self.vertices = vertices
            if self._filter:
                self._filter.grow(vertices)

    @abstractmethod
    def _take(self, rows: Rows) -> None: ...

    def _passing(self, rows: Rows) -> Array | None:
        """Positions of the rows that may enter the forest (``None``: all)."""
        if self._filter is None:
            return None
        return compact(self._engine, self._filter.passing(rows.source, rows.target, rows.weight, self._flip))


class BufferFold(Fold):
    """A fold in a buffer of fixed size: when it is full, only the forest stays in it, in row order."""

    piece = 1 << 20

    def __init__(
        self,
        engine: Engine,
        vertices: int,
        capacity: int,
        *,
        weight_dtype: DTypeLike,
        maximum: bool = False,
        algorithm: str | Algorithm = "auto",
    ) -> None:
        super().__init__(engine, weight_dtype, maximum=maximum)
        self._algorithm = algorithm
        self._buffer = RowBuffer(engine, capacity, weight_dtype)
        self._solved = 0  # rows at the beginning that are a forest already
        self.grow(vertices)

    def __len__(self) -> int:
        return self._buffer.filled

    def forest(self) -> Rows:
        """Return the forest of all rows so far: views into the buffer, valid until the next row is added."""
        self._solve()
        return self._buffer.part(0, self._solved)

    def _take(self, rows: Rows) -> None:
        positions = self._passing(rows)
        count = len(rows) if positions is None else len(positions)
        if count > self._wanted and self._buffer.filled > self._solved:
            self._solve()
            self._refilter()
            self._take(rows)
        elif count <= self._buffer.free:
            self._buffer.append(rows, positions)
        elif not self._buffer.free:
            message = f"the forest fills the buffer of {self._buffer.filled:,} rows, and more rows come"
            raise CapacityError(message, f"fold into a larger buffer: twice the vertices ({self.vertices:,}) or more")
        else:
            half = len(rows) // 2
            self._take(rows.part(0, half))
            self._take(rows.part(half, len(rows)))

    @property
    def _wanted(self) -> int:
        """Rows that go into the buffer before it is solved."""
        full = max(_FULL * self.vertices, self.piece)
        return min(self._buffer.free, max(0, full - self._buffer.filled))

    def _solve(self) -> None:
        """Leave only the forest, in row order, at the buffer's beginning."""
        if self._buffer.filled == self._solved:
            return
        every = self._buffer.rows
        table = EdgeTable(every.source, every.target, every.weight, self.vertices, self._maximum)
        rows = solve_table(self._engine, table, self._algorithm)
        # Rows only move towards the beginning, so that a piece never overwrites rows that have not moved yet.
        for begin in range(0, len(rows), _MOVED):
            piece = rows[begin : begin + _MOVED]
            for column in every.arrays:
                column[begin : begin + len(piece)] = column[piece]
        self._solved = self._buffer.filled = len(rows)

    def _refilter(self) -> None:
        forest = self._buffer.part(0, self._solved)
        rows = self._engine.xp.arange(self._solved, dtype=np.uint32)
        key = gather_keys(self._engine, forest.weight, None, self._flip)
        self._filter = None  # free its memory first
        if self._solved:
            edges = Edges(forest.source, forest.target, key, rows)
            self._filter = CycleFilter.of_forest(self._engine, edges, self.vertices)


class RunFold(Fold):
    """A fold in sorted runs, on disk or (without a directory) in memory.

    A full buffer is sorted by weight and becomes a run. When the runs hold several rows a vertex, they are cut into
    slices of ascending weight, which Kruskal's algorithm solves with 4 bytes a vertex; the forest is a run again.
    Sorted runs can be cut exactly, whatever the order of the rows, the weights' distribution and their ties; slices by
    sampled thresholds cannot.
    """

    piece = _PIECE

    def __init__(
        self,
        engine: Engine,
        directory: SpillDirectory | None,
        budget: RunBudget,
        vertices: int,
        weight_dtype: DTypeLike,
        *,
        maximum: bool = False,
    ) -> None:
        super().__init__(engine, weight_dtype, maximum=maximum)
        self._directory, self._budget, self._weight = directory, budget, np.dtype(weight_dtype)
        self._ascending = Order("weight", self._flip)
        self._capacity = budget.run_rows(vertices)
        # Slices of a short buffer would be longer than they should be, or a grain long.
        self._grain = min(GRAIN, max(_LEAST_GRAIN, budget.slice_rows(vertices) // _CUTS))
        self._buffer: RowBuffer | None = None
        self._runs: list[Run] = []

    def move_to(self, budget: RunBudget) -> None:
        """Continue with another budget, and any number of vertices that fit it."""
        self._write()
        self._buffer, self._budget, self._capacity = None, budget, budget.run_rows(budget.most_vertices)

    def forest(self) -> Run:
        """Return the forest of all rows, in the order of their locators; the fold ends."""
        self._write()
        self._buffer = self._filter = None
        order = Order("locator")
        parts: list[Run] = []
        for chosen in self._choose(None):
            if len(chosen.positions):
                parts.append(self._new_run(order))
                write_sorted(self._engine, parts[-1], order, *chosen)
        self._clear()
        return self._merged(parts, order)

    def so_far(self) -> Run:
        """Return the forest of all rows so far by ascending weight, valid until the next row is added."""
        self._write()
        self._buffer = None
        self._solve()
        return self._runs[0]

    def ascending(self) -> Run:
        """Return the forest of all rows by ascending weight; the fold ends."""
        forest, self._runs, self._filter = self.so_far(), [], None
        return forest

    def _take(self, rows: Rows) -> None:
        positions = self._passing(rows)
        begin, count = 0, len(rows) if positions is None else len(positions)
        while begin < count:
            if self._buffer is None:
                self._buffer = RowBuffer(self._engine, self._capacity, self._weight)
            end = min(count, begin + self._buffer.free)
            part = (rows.part(begin, end), None) if positions is None else (rows, positions[begin:end])
            self._buffer.append(*part)
            begin = end
            if not self._buffer.free:
                self._write()
                if self._is_full():
                    self._buffer = None  # free its memory first
                    self._solve()

    def _write(self) -> None:
        if self._buffer and self._buffer.filled:
            self._runs.append(self._new_run(self._ascending))
            write_sorted(self._engine, self._runs[-1], self._ascending, self._buffer.rows)
            self._buffer.filled = 0

    def _is_full(self) -> bool:
        """Whether the runs hold several rows a vertex, or are too many to be cut into short slices."""
        rows = sum(map(len, self._runs))
        runs = self._budget.slice_rows(self.vertices) // (2 * _SLICES * self._grain)
        return rows >= self._budget.most_rows(self.vertices, self._capacity) or len(self._runs) >= max(2, runs)

    def _solve(self) -> None:
        """Leave only the forest, as a run, and make its filter."""
        self._filter = None
        levels = LevelMarks(self._engine, self.vertices)
        forest = self._new_run(self._ascending)
        for chosen in self._choose(levels):
            write_sorted(self._engine, forest, self._ascending, *chosen)
        self._clear()
        self._runs.append(forest)
        self._filter = levels.filter()

    def _choose(self, levels: LevelMarks | None) -> Iterator[Chosen]:
        """Solve the runs slice by slice; each result is valid until the next."""
        capacity = self._budget.slice_rows(self.vertices)
        kruskal = SliceKruskal(self._engine, self.vertices, capacity, self._weight, self._flip)
        for chosen in kruskal.solve_runs(self._runs, max(1, capacity // _SLICES)):
            if levels and len(chosen.rows):
                levels.mark(kruskal.parent, self._heaviest(chosen.rows))
            yield chosen

    def _heaviest(self, rows: Rows) -> int:
        pieces = (rows.weight[begin : begin + _PIECE] for begin in range(0, len(rows), _PIECE))
        return max(int(gather_keys(self._engine, piece, None, self._flip).max()) for piece in pieces)

    def _merged(self, parts: list[Run], order: Order) -> Run:
        if len(parts) == 1:
            return parts[0]
        merged = self._new_run(order)
        for spans in cut_runs(parts, _PIECE):
            write_sorted(self._engine, merged, order, concat_spans(parts, spans))
            for part, (_, end) in zip(parts, spans, strict=True):
                part.release(end)
        for part in parts:
            part.remove()
        return merged

    def _new_run(self, order: Order) -> Run:
        return new_run(self._engine, self._directory, order, self._weight, self._grain)

    def _clear(self) -> None:
        for run in self._runs:
            run.remove()
        self._runs = []


_LEAST = 1 << 16  # vertices of an array of parents
_GROWTH = 1.25
_FILL = 1 << 20  # entries written at a time
_LIST = 1 << 18  # vertices listed at a time


class SetsFold:
    """Folds rows into the components of their vertices; `parent` is that of an earlier fold."""

    piece: ClassVar[int] = 1 << 20  # rows filtered at a time

    def __init__(self, engine: Engine, vertices: int = 0, parent: Array | None = None) -> None:
        self._engine = engine
        self._parent: Array = engine.xp.empty(0, np.uint32)
        self._looped: Array = flag_words(engine, 0)  # flags of vertices with a self-loop
        self._inside: Inside | None = None  # the giant component when it was last looked for
        self._united = 0  # rows since then
        self._pause = 1  # rows a vertex until it is looked for again
        self.vertices = 0
        self.grow(vertices if parent is None else max(vertices, len(parent)))
        if parent is not None:
            self._parent[: len(parent)] = engine.from_host(parent)

    @property
    def parent(self) -> Array:
        """The parent of each vertex, ``uint32``: a vertex of its set that is not larger. Valid until the fold grows."""
        return self._parent[: self.vertices]

    @property
    def looped(self) -> Array:
        """Vertices with a self-loop, ascending."""
        return compact(self._engine, self._looped)

    def add(self, rows: Rows) -> None:
        """Add rows, in any order; their ends are below `vertices`."""
        for begin in range(0, len(rows), self.piece):
            part = rows.part(begin, min(begin + self.piece, len(rows)))
            self.note_loops(part.source[part.source == part.target])
            self.unite(part.source, part.target)

    def note_loops(self, vertices: Array) -> None:
        """Note vertices that may have no row but a self-loop."""
        if len(vertices):
            self._engine.launch("set_flags", len(vertices), vertices.astype(np.uint32), self._looped)

    def grow(self, vertices: int) -> None:
        """Raise the number of vertices."""
        known = len(self._parent)
        if vertices > known:
            length = max(vertices, _LEAST, int(_GROWTH * known) if known else 0)
            self._parent = _longer(self._engine, self._parent, length)
            for begin in range(known, length, _FILL):
                end = min(begin + _FILL, length)
                self._parent[begin:end] = self._engine.xp.arange(begin, end, dtype=np.uint32)
            looped = flag_words(self._engine, length)
            looped[: len(self._looped)] = self._looped
            # Flags of the giant component are too short now.
            self._looped, self._inside, self._united = looped, None, length
        self.vertices = max(self.vertices, vertices)

    def labels(self) -> Array:
        """Return the smallest vertex of each vertex's component: a view, valid until the next row is added."""
        self._inside = None
        flatten(self._engine, self._parent)
        return self.parent

    def occurring(self) -> Array:
        """Return flags of the vertices that occur in a row; :meth:`labels` must have been called."""
        flags = self._looped.copy()
        words = -(-self.vertices // 64)
        self._engine.launch("flag_joined", words, self._parent, self.vertices, flags, grain=64)
        return flags[:words]

    def unite(self, source: Array, target: Array) -> None:
        """Unite the ends of edges without self-loops, or with noted ones."""
        positions = None
        if self._inside is not None:
            positions = compact(self._engine, leaving_flags(self._engine, source, target, self._inside))
        count = len(source) if positions is None else len(positions)
        unite(self._engine, source, target, positions, self._parent)
        self._united += count
        if self._united >= self._pause * len(self._parent):
            self._find_giant(source)

    def _find_giant(self, source: Array) -> None:
        """Find the giant component again: it costs as much as to unite a row a vertex."""
        flatten(self._engine, self._parent)
        giant = common_label(self._engine, source, self._parent)
        self._united = 0
        if giant is None:
            self._pause *= 2
        else:
            self._inside = find_inside(self._engine, self._parent, giant, listed=False)


def listed_vertices(engine: Engine, flags: Array) -> Iterator[Array]:
    """Yield the flagged vertices, ascending, a bounded number at a time, on the host."""
    for begin in range(0, len(flags), _LIST // 64):
        found: Any = engine.to_host(compact(engine, flags[begin : begin + _LIST // 64]))
        yield found + np.uint32(64 * begin)


def _longer(engine: Engine, column: Array, length: int) -> Array:
    """Return a longer column with the entries of this one, which must not be used again."""
    if engine.on_host and column.flags.owndata:
        column.resize(length, refcheck=False)  # the system moves its pages, if it can, and copies nothing
        return column
    longer: Array = engine.xp.empty(length, column.dtype)
    longer[: len(column)] = column
    return longer
