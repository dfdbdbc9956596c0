"""A plan, the work that is planned, and the sizes that tasks of a cluster and their predictions share.

Constants defined here were measured (bench/results/cpu/cluster.json).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any

from dfmst._fold import budget
from dfmst._fold.slices import COMPACT
from dfmst._fold.terms import Number, Term, least, most

# Bytes of a process
BASE = 230_000_000  # a worker that has loaded Python, Dask, Arrow and pandas

# Bytes an id
DENSE_ID = 4  # an id that is its own vertex, as it is sent
SPARSE_ID = 8  # another integer; a string takes its bytes in addition
DICTIONARY = 27  # an integer in a dictionary, at most (dfmst._engines.primitives.id_table)
GPU_DICTIONARY = 30  # the same on a GPU: 8 / 0.6 of slots and the id, both with room for 1.4 times as many
NUMBERING = 12  # next to an id that a shuffle numbers: its vertex twice, and its number
NUMBERED = 100  # an id in the task of a shuffle that numbers it

# Bytes a row
EDGE = budget.ROW + 8  # in a fold's buffer or a run: two vertices, a 64-bit locator, a 64-bit key
SENT = 16  # that is sent, without its two ids: the locator and the key
CHECKED = 28  # of a partition that is checked
FOLD = EDGE + budget.SOLVE  # in a fold's buffer, with the memory to solve it
BATCH = 120  # that a shuffle reads, solves and sorts
SLICE_ROW = budget.ROW + budget.SCAN + 2 * 8  # in the buffer that solves a slice
GPU_SLICE_ROW = 2 * EDGE + COMPACT  # the same on a GPU: the buffer, its forest, and filtered rows
GPU_SOLVED = 16  # that a GPU solves or filters: its vertices and its key
POSITION = 4  # of the forest, sent to the workers that gather it

# Bytes a vertex
STATE = 4.125  # of a slice: its root and a flag
SLICE_VERTEX = budget.RunBudget(0, 8).vertex  # of a shuffle's slice
PASSED = 2 * STATE + 8 + POSITION  # sent from slice to slice: the state about twice, the locator and the position

LABELLED = 300  # in a task that contracts a block of edges, or that labels an owner's vertices

# Rows a vertex
BUFFER = 4  # in a fold's buffer
SMALL_BUFFER = 2  # the same on a GPU that has too little memory
LIGHT = 4.0  # folded by a first pass
DENSE = 8  # from which a second read pays
RESIDUE = 0.05  # that pass the filter of the first pass

# Shares and counts
USABLE = 0.85  # of a worker's memory beyond `BASE`, for tasks: Dask ends a worker at 0.95 of all
DEVICE_SHARE = 0.95  # of a GPU's memory: the rest is CUDA's own, and lost between allocations
TAKEN = 0.25  # of the groups whose edges Dask sends to an idle worker
MERGE_EDGES = 4  # copies of a forest's rows in a merge of two: both, and both in one table
SLICES = 8  # that a shuffle solves one after the other
MOST_OWNERS = 64  # tasks that share the vertices which are numbered or labelled
GROUPS = 4  # of partitions, at least, for each worker of a shuffle
MOVING = 8  # groups whose edges are in the memory of a worker at once, if others take over its tasks
LEAST_ROWS = 128  # of a batch, or of a buffer on a GPU
PIECE = 1 << 19  # rows of a Parquet file that a worker reads at a time


_QUANTITIES = {
    "bytes_moved": "moved between workers",
    "bytes_on_disk": "on disk",
    "peak_memory": "peak memory of a process",
    "peak_gpu_memory": "peak memory of a GPU",
    "bytes_over_bus": "between hosts and GPUs",
    "bytes_between_gpus": "from GPU to GPU",
}
_LABELS = ("components", "clusters", "labels")  # strategies that write no rows
_LIMITS = {"peak_memory": "memory_limit", "peak_gpu_memory": "gpu_memory_limit"}


@dataclass(frozen=True, slots=True)
class Plan:
    """A prediction of :func:`plan`, which prints as a table.

    Attributes
    ----------
    n_vertices, n_edges, partitions, workers, memory_limit
        The graph, and the processes that find its forest.
    strategy
        The strategy that is planned.
    reason
        Why ``"auto"`` chooses this strategy.
    reads
        How often the rows are read to find the forest. They are read once more to write it.
    rounds
        Number of slices that are solved one after the other; 0 if there are none.
    fits
        Whether each process has enough memory.
    usable_memory
        Bytes of the limit that tasks may use: on a cluster less than the limit, at which Dask ends a worker.
    peak_memory
        Bytes of one process.
    formulas
        Name of a quantity -> its formula: a term with the attributes `value` and `text`, and with the formulas of its
        `parts`.
    bytes_moved, bytes_on_disk
        Bytes between the workers of a cluster, and most bytes on the disk of a stream.
    gpu_memory_limit, peak_gpu_memory, bytes_over_bus
        Memory of each worker's GPU (0: no GPU), the bytes used of it, and the bytes between hosts and GPUs (PCIe).
    bytes_between_gpus
        Bytes that move from GPU to GPU (NVLink, if there is one) with ``protocol="ucx"``.
    """

    n_vertices: int
    n_edges: int
    partitions: int
    workers: int
    memory_limit: int
    strategy: str
    reason: str
    reads: int
    rounds: int
    fits: bool
    usable_memory: int
    peak_memory: int
    formulas: dict[str, Term]
    bytes_moved: int = 0
    bytes_on_disk: int = 0
    gpu_memory_limit: int = 0
    peak_gpu_memory: int = 0
    bytes_over_bus: int = 0
    bytes_between_gpus: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values, formulas as text."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**values, "formulas": {name: term.text for name, term in self.formulas.items()}}

    def __repr__(self) -> str:
        rows = list(self._rows())
        wide, size = (max(len(row[column]) for row in rows) for column in (0, 1))
        lines = [f"{name:{wide}}  {value:>{size}}  {formula}".rstrip() for name, value, formula in rows]
        return "\n".join([*self._head(), "", *lines])

    def _repr_html_(self) -> str:
        head = "<br>".join(map(escape, self._head()))
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._rows())
        return f"<p>{head}</p>\n<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    def _head(self) -> list[str]:
        gpu = f", each with a GPU of {_size(self.gpu_memory_limit)}" if self.gpu_memory_limit else ""
        read = "once" if self.reads == 1 else f"{self.reads} times"
        slices = f", in {self.rounds} slices" if self.rounds else ""
        return [
            f"{self.strategy}{slices}: {'fits' if self.fits else 'does not fit'} ({self.reason})",
            f"n = {self.n_vertices:,} vertices, m = {self.n_edges:,} edges in P = {self.partitions:,} partitions",
            f"W = {self.workers:,} workers of M = {_size(self.memory_limit)}{gpu}",
            f"rows are read {read}" + ("" if self.strategy in _LABELS else " to find the forest, and once to write it"),
        ]

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Quantities with their values and formulas, and below each the parts that no other has shown."""
        shown: set[str] = set()
        for quantity, term in self.formulas.items():
            yield _QUANTITIES[quantity], _size(term.value), term.text
            for name, part in term.parts.items():
                if name not in shown:
                    value = f"{part.value:,.0f} {part.unit}" if part.unit else _size(part.value)
                    yield f"  {name}", value, part.text
            shown |= set(term.parts)
            if quantity in _LIMITS:
                shares = f"{_size(self.usable_memory)} for tasks" if quantity == "peak_memory" else ""
                yield "  limit", _size(getattr(self, _LIMITS[quantity])), shares


def _size(count: float) -> str:
    """Format bytes with three digits."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.0f} PB"


#: Strategies of one process without a cluster.
STREAMS = ("stream", "spill", "components", "clusters")


@dataclass(frozen=True, slots=True)
class Work:
    """A graph, and the workers that find its forest."""

    n_vertices: int
    n_edges: int
    partitions: int
    workers: int
    memory_limit: int
    id_bytes: int = DENSE_ID
    device: int = 0  # bytes that tasks may use of a worker's GPU; 0: no GPU
    direct: int = 0  # 1: workers send columns from GPU to GPU; 0: through their hosts

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < (name not in ("device", "direct")):
                raise ValueError(f"{name} is {value}; it must be at least 1")

    @property
    def symbols(self) -> tuple[Term, Term, Term]:
        """Numbers of vertices, edges and workers."""
        return Term(self.n_vertices, "n"), Term(self.n_edges, "m"), Term(self.workers, "W")

    @property
    def usable(self) -> Term:
        """Bytes that a task may use."""
        return most(1, _usable(self.memory_limit)).named("s")

    @property
    def edge(self) -> int:
        """Bytes of an edge that is sent."""
        return 2 * self.id_bytes + SENT

    @property
    def dictionary(self) -> int:
        """Bytes of an id in a dictionary: a string's own bytes twice, as it is copied if the dictionary grows."""
        return 0 if self.id_bytes <= DENSE_ID else DICTIONARY + 2 * max(0, self.id_bytes - SPARSE_ID)

    @property
    def group_vertices(self) -> Term:
        """Vertices of one worker's share of the rows: all, if ids are vertices; else two a row at most."""
        n, m, w = self.symbols
        return least(n, 2 * m / w).named("g", "vertices") if self.dictionary else n

    @property
    def reading(self) -> Term:
        """Bytes to read a partition: the file and its columns; of a piece also the columns sent and those checked."""
        columns = 2 * (2 * (8 if self.id_bytes <= SPARSE_ID else self.id_bytes - 4) + 8)  # in the file and in memory
        rows, row = self.symbols[1] / Term(self.partitions, "P"), columns + self.edge + CHECKED
        return row * rows if rows.value <= PIECE else most(row * Term(PIECE, "2^19"), columns * rows)

    def plan(self, strategy: str, *, fits: bool, reads: int = 1, rounds: int = 0, **formulas: Term) -> Plan:
        """Return the plan with these formulas. It does not fit if its peak does not."""
        figures = {name: int(term.value) for name, term in formulas.items()}
        size = (self.n_vertices, self.n_edges, self.partitions, self.workers, self.memory_limit)
        fits = fits and figures["peak_memory"] <= self.memory_limit
        usable = self.memory_limit if strategy in STREAMS else min(self.memory_limit, task_limit(self))
        return Plan(*size, strategy, "as asked", reads, rounds, fits, usable, formulas=formulas, **figures)


def _usable(memory: int) -> Term:
    return USABLE * (Term(memory, "M") - BASE)


def slice_memory(memory: int) -> int:
    """Bytes that a task may use."""
    return max(0, int(_usable(memory).value))


def fitting_vertices(memory: int, id_bytes: int = DENSE_ID) -> int:
    """Vertices whose forest one worker folds and merges with this memory."""
    work = Work(1, 1, 1, 1, 1, id_bytes)
    folding, merging = BUFFER * FOLD + budget.VERTEX, MERGE_EDGES * work.edge + 2 * budget.SOLVE + budget.VERTEX
    return max(1, slice_memory(memory) // (max(folding, merging) + work.dictionary))


def slice_vertices(memory: int) -> int:
    """Vertices that a shuffle solves with workers of this memory."""
    return slice_memory(memory) // SLICE_VERTEX


def batch_rows(memory: int, tasks: int = 1) -> int:
    """Rows of a batch of a shuffle, if a worker runs this number of tasks at once."""
    return int(batch_of(slice_memory(memory) / tasks).value)


def batch_of(memory: Number) -> Term:
    """Rows that a task reads before it drops those that lighter rows of the batch make superfluous."""
    return most(LEAST_ROWS, memory / (3 * BATCH))


def owner_count(memory: int, workers: int, vertices: int, partitions: int) -> int:
    """Tasks that share the vertices which are labelled."""
    return math.ceil(owners_of(most(1, slice_memory(memory)), workers, vertices, partitions).value)


def owners_of(memory: Number, workers: Number, vertices: Number, partitions: Number) -> Term:
    """Number of tasks that share the vertices: a few for each worker, more if memory is short."""
    return least(MOST_OWNERS, partitions, most(2 * workers, 2 * LABELLED * vertices / memory))


def group_count(memory: int, workers: int, edges: int = 0) -> int:
    """Groups of partitions of a shuffle."""
    return math.ceil(groups_of(max(1, slice_memory(memory)), workers, edges).value)


def groups_of(memory: Number, workers: Number, edges: Number) -> Term:
    """Number of groups, so that several fit a worker: Dask moves a group's edges in one piece to an idle worker."""
    return most(GROUPS * workers, MOVING * EDGE * edges / memory)


def fold_room(work: Work) -> int:
    """Bytes that the fold of a group may use in a merge in slices."""
    return max(0, slice_memory(work.memory_limit) - int(reading_group(work).value))


def reading_group(work: Work) -> Term:
    """Bytes to read a group's partitions, with its dictionary."""
    return work.reading + work.dictionary * work.group_vertices


def task_limit(work: Work) -> int:
    """Bytes of a worker that a task may fill."""
    return BASE + slice_memory(work.memory_limit)
