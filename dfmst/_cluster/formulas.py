"""The formulas of a plan: memory, bytes moved and rounds of each strategy, and which strategy fits.

They are short on purpose: they stand beside their results, and ``strategy="auto"`` decides by them. Their constants
were measured (bench/results/cpu/cluster.json; those of a fold: :mod:`dfmst._folding.memory`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

from dfmst._folding.memory import ROW, SOLVE, VERTEX
from dfmst._slices.memory import Room
from dfmst.errors import CapacityError

__all__ = [
    "BASE",
    "BUFFER",
    "LIGHT",
    "NUMBERED",
    "PLANS",
    "SLICES",
    "Plan",
    "Work",
    "automatic_strategy",
    "batch_rows",
    "choose_strategy",
    "fitting_strategy",
    "fitting_vertices",
    "slice_memory",
    "slice_vertices",
]

BASE = 210_000_000  # bytes of a worker that has loaded Python, Dask, Arrow and pandas
EDGE = ROW + 8  # bytes of an edge that travels or waits: two 32-bit ids, a 64-bit locator, a 64-bit key
WIDE = 32  # the same with 64-bit ids, as a shuffle sends them
PART = 52  # bytes a row of the partition that is being read
BUFFER = 4  # rows that a fold's buffer holds, a vertex
FOLD = EDGE + SOLVE  # bytes a row of a fold's buffer, solving it included
MERGE = 2 * (3 * EDGE + SOLVE) + VERTEX  # bytes a vertex of two forests that one task merges
LIGHT = 4.0  # rows that a first pass folds, a vertex
RESIDUE = 0.05  # rows that pass the filter and survive, a vertex
DENSE = 8  # rows a vertex from which a second read pays
_FOREST = max(BUFFER * FOLD + VERTEX, MERGE)  # bytes a vertex of the forest that a worker holds
USABLE = 0.85  # share of a worker's memory beyond `BASE` that a shuffle uses: Dask ends a worker at 0.95 of all
_LEAST_BATCH = 128  # rows
BATCH = 120  # bytes a row that is read, solved and sorted by a shuffle
_SHARE = 3 * BATCH  # bytes of a worker's memory for each row of a batch
SLICE_VERTEX = Room(0, 8).vertex  # bytes a vertex of a shuffle's slice
SLICES = 8  # that a shuffle solves one after the other
NUMBERED = 100  # bytes an id of those that a task of a shuffle numbers


@dataclass(frozen=True, slots=True)
class Plan:
    """A prediction; see :func:`plan`.

    Attributes
    ----------
    vertices, edges, partitions, workers, memory
        What it is for.
    strategy
        The strategy it is for.
    reads
        How often the rows are read to find the forest; once more to write it.
    rounds
        Slices of a shuffle, which are solved one after the other.
    bytes_moved
        Between workers.
    peak_memory
        Of one worker, in bytes.
    fits
        Whether that is within what the worker may use.
    formulas
        Quantity -> how it was computed.
    """

    vertices: int
    edges: int
    partitions: int
    workers: int
    memory: int
    strategy: str
    reads: int
    rounds: int
    bytes_moved: int
    peak_memory: int
    fits: bool
    formulas: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done, and what there is to do it with."""

    vertices: int
    edges: int
    partitions: int
    workers: int
    memory: int

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                message = f"{name} is {value}; it must be at least 1"
                raise ValueError(message)

    @property
    def rows(self) -> int:
        """Rows of a partition."""
        return math.ceil(self.edges / self.partitions)

    def plan(
        self, strategy: str, moved: float, peak: int, formulas: dict[str, str], *, reads: int = 1, rounds: int = 0
    ) -> Plan:
        """The plan with these figures."""
        size = (self.vertices, self.edges, self.partitions, self.workers, self.memory)
        return Plan(*size, strategy, reads, rounds, int(moved), peak, peak <= self.memory, formulas)


def automatic_strategy(work: Work) -> str:
    """What ``"auto"`` takes, or comes closest to."""
    chosen = choose_strategy(work.vertices, work.edges, work.memory)
    return "shuffle" if not PLANS[chosen](work).fits and _shuffle(work).fits else chosen


def choose_strategy(vertices: int, edges: int, memory: int, rereadable: bool = True) -> str:
    """The strategy that ``"auto"`` stands for."""
    if vertices > fitting_vertices(memory):
        return "shuffle"
    return "two-pass" if rereadable and edges >= DENSE * vertices else "merge"


def fitting_vertices(memory: int) -> int:
    """Vertices whose forest one worker folds and merges within so much memory."""
    return max(1, (memory - BASE) // _FOREST)


def slice_memory(memory: int) -> int:
    """Bytes that a task of a shuffle may hold."""
    return max(0, int(USABLE * (memory - BASE)))


def slice_vertices(memory: int) -> int:
    """Vertices that a shuffle solves with workers of so much memory."""
    return slice_memory(memory) // SLICE_VERTEX


def batch_rows(memory: int, tasks: int = 1) -> int:
    """Rows that each of so many tasks of a shuffle reads before it drops what cycles among them beat."""
    return max(_LEAST_BATCH, slice_memory(memory) // _SHARE // tasks)


def fitting_strategy(
    vertices: int, edges: int, partitions: int, workers: int, memory: int, rereadable: bool = True
) -> str:
    """The strategy that ``"auto"`` stands for, of those that fit.

    Raises
    ------
    CapacityError
        None does; with what would do.
    """
    work = Work(max(1, vertices), max(1, edges), max(1, partitions), max(1, workers), memory)
    for strategy in (choose_strategy(vertices, edges, memory, rereadable), "shuffle"):
        if PLANS[strategy](work).fits:
            return strategy
    least = math.ceil(_shuffle(work).peak_memory / 1e6 * 1.2)
    message = (
        f"{vertices:,} vertices in partitions of {work.rows:,} rows do not fit workers of {memory // 1_000_000:,} MB, "
        "by any strategy"
    )
    hint = f"use workers of {least:,} MB, or more and smaller partitions; dfmst forest --spill-dir needs one machine"
    raise CapacityError(message, hint)


def _gathering(vertices: int, workers: int) -> float:
    """Bytes of the positions that go back to the workers that gather the rows."""
    return (workers - 1) / workers * vertices * 4


def _peak(vertices: int, rows: int, buffered: float, workers: int) -> int:
    merging = MERGE * vertices if workers > 1 else 0
    return int(BASE + max(PART * rows + FOLD * buffered + VERTEX * vertices, merging))


def _merge(work: Work) -> Plan:
    forest = min(work.vertices, work.edges / work.workers)
    moved = (work.workers - 1) * forest * EDGE + _gathering(work.vertices, work.workers)
    peak = _peak(int(forest), work.rows, min(BUFFER * work.vertices, work.edges / work.workers), work.workers)
    formulas = {
        "bytes_moved": f"(W - 1) · min(n, m / W) · {EDGE} + (W - 1) / W · n · 4",
        "peak_memory": _peak_formula(f"min({BUFFER} · n, m / W)"),
    }
    return work.plan("merge", moved, peak, formulas)


def _two_pass(work: Work) -> Plan:
    vertices, workers = work.vertices, work.workers
    moved = (workers - 1) * vertices * (EDGE + 1 + EDGE * RESIDUE) + _gathering(vertices, workers)
    peak = _peak(vertices, work.rows, min(BUFFER, LIGHT / workers) * vertices, workers)
    formulas = {
        "bytes_moved": f"(W - 1) · n · ({EDGE} + 1 + {EDGE} · {RESIDUE}) + (W - 1) / W · n · 4",
        "peak_memory": _peak_formula(f"min({BUFFER}, {LIGHT:g} / W) · n"),
    }
    return work.plan("two-pass", moved, peak, formulas, reads=2)


def _peak_formula(buffered: str) -> str:
    fold = f"{PART} · m / P + {FOLD} · {buffered} + {VERTEX} · n"
    return f"{BASE // 1_000_000} MB + max({fold}, {MERGE} · n where W > 1)"


def _shuffle(work: Work) -> Plan:
    batch, workers = batch_rows(work.memory), work.workers
    # A batch leaves its own forest, at most its vertices.
    kept = min(work.edges, math.ceil(work.edges / batch) * work.vertices)
    moved = (workers - 1) / workers * (kept * EDGE + work.vertices * 8)
    reading = PART * work.rows + BATCH * min(batch, work.edges)
    solving = SLICE_VERTEX * work.vertices
    peak = BASE + max(reading, solving)
    reading_formula = f"{PART} · m / P + {BATCH} · min(b, m)"
    formulas = {
        "bytes_moved": f"(W - 1) / W · (min(m, m / b · n) · {EDGE} + 8 · n), b = {USABLE} · (M - BASE) / {_SHARE}",
        "peak_memory": f"{BASE // 1_000_000} MB + max({reading_formula}, {SLICE_VERTEX} · n)",
    }
    return work.plan("shuffle", moved, int(peak), formulas, rounds=SLICES)


PLANS = {"merge": _merge, "two-pass": _two_pass, "shuffle": _shuffle}
