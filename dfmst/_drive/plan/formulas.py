"""The work that is planned, and the sizes that tasks of a cluster and their predictions share.

Constants defined here were measured (bench/results/cpu/cluster.json).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from dfmst._common.arguments import check_choice, real_number
from dfmst._drive.plan.prediction import STREAMS, Plan
from dfmst._fold import budget
from dfmst._fold.budget import Number, Term, least, most
from dfmst._fold.fold import COMPACT

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
PASSED = 8 + POSITION  # sent from the slices: the locator and the position; their state stays on its worker
FLAGS = 3 / 8  # of largest components, sent to each worker: a bit for each vertex after three slices

LABELLED = 300  # in a task that contracts a block of edges, or that labels an owner's vertices
OFFERED = 72  # of a block, sent: an offer and its answer, 12 bytes for each vertex, in three rounds' worth
LABEL = SPARSE_ID  # a vertex, or its label, in the file of a task
HOOKED = 4 + LABEL  # sent to ask for a label and to answer, as labels return through the rounds

# Rows a vertex
BUFFER = 4  # in a fold's buffer
SMALL_BUFFER = 2  # the same on a GPU that has too little memory
PASSING = 1  # of all slices but the first that pass the filter of a slice's largest component

# Times
SOLVED = 6  # rows a vertex that a fold solves: those of its first buffer, and later ones that pass its filter
LABEL_SORTS = 25  # times that a block's vertex is sorted while it is labelled
BEGIN = 0.3  # seconds of a worker's core for imports and messages
UNIT = 3 * SPARSE_ID  # bytes of a row that the rates are for: two integers and a weight

# Shares and counts
USABLE = 0.85  # of a worker's memory beyond `BASE`, for tasks: Dask ends a worker at 0.95 of all
DEVICE_SHARE = 0.95  # of a GPU's memory: the rest is CUDA's own, and lost between allocations
MERGE_EDGES = 4  # copies of a forest's rows in a merge of two: both, and both in one table
SLICE_ENDS = (1, 2, 4, 8, 14, 20, 26, 32)  # of slices that are solved one after the other, in 32nds of the rows
SLICES = len(SLICE_ENDS)
MOST_OWNERS = 64  # tasks that share the vertices which are numbered or labelled
GROUPS = 4  # of partitions, at least, for each worker of a shuffle
MOVING = 8  # groups whose edges are in the memory of a worker at once, if others take over its tasks
LEAST_ROWS = 128  # of a batch, or of a buffer on a GPU
PIECE = 1 << 19  # rows of a Parquet file that a worker reads at a time


@dataclass(frozen=True, slots=True)
class Rates:
    """Rows a second of a core, and bytes a second of a worker, as measured (bench/results/cpu/planned.json).

    The unit is a row of two integers and a weight. Longer ones take proportionally longer to read and to number.
    """

    read: float = 26e6  # of a file, and checked
    number: float = 9e6  # whose ids are looked up in a dictionary
    fold: float = 80e6  # filtered by a forest, and dropped or kept in a buffer
    sort: float = 8e6  # by weight, and written
    solve: float = 8e6  # in a buffer, in a slice, or in a merge of forests
    network: float = 1.2e8  # sent to another worker
    disk: float = 2e8  # written or read

    @classmethod
    def of(cls, given: Mapping[str, float]) -> Rates:
        """Return the default rates with those that are given."""
        if not isinstance(given, Mapping):
            raise TypeError(f"rates is a {type(given).__name__}, not a dictionary")
        known = tuple(each.name for each in fields(cls))
        for name, rate in given.items():
            check_choice(name, known, f"unknown rate {name!r}; known: {', '.join(map(repr, known))}")
            if not 0 < real_number(f"rate {name!r}", rate) < float("inf"):
                raise ValueError(f"rate {name!r} is {rate}; it must be more than 0, and finite")
        return cls(**given)

    def term(self, name: str) -> Term:
        """Return a rate as a term."""
        rate = getattr(self, name)
        return Term(rate, f"{rate:.3g}").named(name, "bytes/s" if name in ("network", "disk") else "rows/s")


class Effort(NamedTuple):
    """Seconds of cores, and what one worker after the other does, however many there are."""

    shared: Term  # seconds of work that all workers share
    merging: Term  # seconds of all other work
    rows_in_turn: Term  # that one task after the other solves
    in_turn: Term  # seconds of these
    sent: Term  # bytes that one worker after the other receives or sends
    stored: Number = 0  # bytes that one worker after the other writes

    def times(self, rates: Rates, workers: Term, on_disk: Term) -> dict[str, Term]:
        """Return the rows solved in turn, the least seconds of a run, and the CPU-seconds of all workers.

        Bytes on disk are written once and read once.
        """
        shared = self.shared.named("shared", "s")
        sending = self.sent / rates.term("network")
        storing = 2 * (on_disk / workers + self.stored) / rates.term("disk")
        seconds = BEGIN + shared / workers
        for name, share in (("in turn", self.in_turn), ("sending", sending), ("storing", storing)):
            seconds += share.named(name, "s") if share.value else 0
        return {
            "rows_in_turn": self.rows_in_turn.of("rows"),
            "seconds": seconds.of("s"),
            "cpu_seconds": (BEGIN * workers + shared + self.merging).of("s"),
        }


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
    largest: int = 0  # rows of the largest partition; 0: all are equally large
    disk_limit: int = 0  # bytes of a worker's disk; 0: not known
    rates: Rates = Rates()

    def __post_init__(self) -> None:
        for name in [each.name for each in fields(self)][:6]:
            if (value := getattr(self, name)) < 1:
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
    def columns(self) -> int:
        """Bytes of a row's ids and weight in a file, and in memory."""
        return 2 * (8 if self.id_bytes <= SPARSE_ID else self.id_bytes - 4) + 8

    @property
    def dictionary(self) -> int:
        """Bytes of an id in a dictionary: a string's own bytes twice, as it is copied if the dictionary grows."""
        return 0 if self.id_bytes <= DENSE_ID else DICTIONARY + 2 * max(0, self.id_bytes - SPARSE_ID)

    @property
    def partition(self) -> Term:
        """Rows of the largest partition."""
        mean = self.symbols[1] / Term(self.partitions, "P")
        if self.largest <= mean.value:
            return mean
        return most(mean, Term(self.largest, f"{self.largest:_}")).named("p", "rows")

    @property
    def share(self) -> Term:
        """Rows of the largest share of a worker, which has whole partitions."""
        mean = self.symbols[1] / self.symbols[2]
        return self.partition if self.partition.value > mean.value else mean

    @property
    def group_vertices(self) -> Term:
        """Vertices of one worker's share of the rows: all, if ids are vertices; else two a row at most."""
        n = self.symbols[0]
        return least(n, 2 * self.share).named("g", "vertices") if self.dictionary else n

    @property
    def reading(self) -> Term:
        """Bytes to read a piece of a partition: the file and its columns, the columns sent and those checked."""
        row = 2 * self.columns + self.edge + CHECKED
        return row * least(self.partition, Term(PIECE, "2^19"))

    def per(self, rate: str, rows: Number, *, ids: bool = False) -> Term:
        """Seconds that a core takes for a number of rows; `ids`: longer ones take longer."""
        longer = Term(self.columns / UNIT, f"{self.columns} / {UNIT}").named("c", "times 24 bytes a row")
        return (longer * rows if ids and self.columns != UNIT else rows) / self.rates.term(rate)

    def numbering(self, rows: Number) -> Term | int:
        """Seconds that a core takes to look up the ids of a number of rows."""
        return self.per("number", rows, ids=True) if self.dictionary else 0

    def plan(
        self,
        strategy: str,
        formulas: dict[str, Term],
        *,
        fits: bool,
        reads: int = 1,
        rounds: int = 0,
        effort: Effort | None = None,
    ) -> Plan:
        """Return the plan with these formulas. It does not fit if its peaks do not."""
        if effort is not None and not self.device:
            formulas = formulas | effort.times(self.rates, self.symbols[2], formulas.get("bytes_on_disk", Term(0, "0")))
        figures: dict[str, Any] = {
            name: term.value if term.unit == "s" else int(term.value) for name, term in formulas.items()
        }
        size = (self.n_vertices, self.n_edges, self.partitions, self.workers, self.memory_limit)
        fits = fits and figures["peak_memory"] <= self.memory_limit
        fits = fits and (not self.disk_limit or figures.get("peak_disk", 0) <= self.disk_limit)
        usable = self.memory_limit if strategy in STREAMS else min(self.memory_limit, task_limit(self))
        figures |= {"disk_limit": self.disk_limit, "formulas": formulas}
        return Plan(*size, strategy, "as asked", reads, rounds, fits, usable, **figures)


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
