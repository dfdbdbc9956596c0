"""Plans of strategies: memory, disk, bytes moved and CPU-seconds, whether it fits, and which ``"auto"`` chooses.

The tasks of a cluster take their sizes from here. Constants were measured (bench/results/cpu: cluster, planned).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from html import escape
from typing import Any

from dfmst._fold import budget
from dfmst._fold.budget import Number, Term, distinct, least, most
from dfmst._fold.fold import COMPACT
from dfmst.errors import CapacityError

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

# CPU time
RATE = 2.5e8  # bytes of edges that a core reads, and filters or drops, in a second
SOLVED = 10  # times that of a row, for each row of a worker's forest: it is solved and merged
SORTED = 10  # the same for a row that a shuffle keeps: it is sorted, sent and solved
LABELLING = 80  # the same for a vertex that is labelled, at 24 bytes a row

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


#: Strategies of one process without a cluster.
STREAMS = ("stream", "spill", "components", "clusters")
_QUANTITIES = {
    "peak_memory": "peak memory of a process",
    "peak_disk": "on disk of a worker",
    "bytes_on_disk": "on disk in all",
    "peak_gpu_memory": "peak memory of a GPU",
    "bytes_moved": "moved between workers",
    "rows_in_turn": "rows solved in turn",
    "cpu_seconds": "CPU time of all workers",
}
_FIRST = ("peak_memory", "peak_disk", "peak_gpu_memory", "cpu_seconds")  # shown without details
_LABELS = ("components", "clusters", "labels")  # strategies that write no rows
_LIMITS = {"peak_memory": "memory_limit", "peak_disk": "disk_limit", "peak_gpu_memory": "gpu_memory_limit"}


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
        Whether each process has enough memory, and enough disk if its limit is known.
    usable_memory
        Bytes of the limit that tasks may use: on a cluster less than the limit, at which Dask ends a worker.
    peak_memory
        Bytes of one process.
    formulas
        Name of a quantity -> its formula: a term with the attributes `value` and `text`, and with the formulas of its
        `parts`.
    bytes_moved, bytes_on_disk, peak_disk
        Bytes between the workers of a cluster; most bytes on the disks of all processes, and of one worker.
    disk_limit
        Bytes of each worker's disk; 0: not known.
    rows_in_turn
        Rows that one task after the other solves, however many workers there are.
    cpu_seconds
        CPU-seconds of all workers of a cluster without GPUs, at a rate that was measured; ``None``: not predicted.
    gpu_memory_limit, peak_gpu_memory
        Memory of each worker's GPU (0: no GPU), and the bytes used of it.
    counted
        How the vertices of files were counted, if many rows were read for it.
    details
        Whether it prints all quantities with their formulas, or peaks and time only.
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
    peak_disk: int = 0
    disk_limit: int = 0
    rows_in_turn: int = 0
    cpu_seconds: float | None = None
    gpu_memory_limit: int = 0
    peak_gpu_memory: int = 0
    counted: str = field(default="", compare=False)
    details: bool = field(default=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values, formulas as text."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "details"}
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
        disk = f", and {_size(self.disk_limit)} of disk" if self.disk_limit else ""
        n, m, p, w, memory = ("n = ", "m = ", "P = ", "W = ", "M = ") if self.details else [""] * 5
        process = "1 process" if self.strategy in STREAMS else f"{w}{self.workers:,} worker{'s' * (self.workers > 1)}"
        read = "once" if self.reads == 1 else f"{self.reads} times"
        slices, passed = f", in {self.rounds} slices" if self.rounds else "", self._passed()
        partitions = f"{p}{self.partitions:,} partition{'s' * (self.partitions > 1)}"
        return [
            f"{self.strategy}{slices}: {'fits' if self.fits else 'does not fit'} ({self.reason})",
            f"{n}{self.n_vertices:,} vertices, {m}{self.n_edges:,} edges in {partitions}",
            *filter(None, [self.counted]),
            f"{process} of {memory}{_size(self.memory_limit)}{disk}{gpu}",
            f"rows are read {read}" + ("" if self.strategy in _LABELS else " to find the forest, and once to write it"),
            *([f"{_QUANTITIES[passed]} decides: {_size(getattr(self, passed))} do not fit"] if passed else []),
        ]

    def _limit(self, quantity: str) -> int:
        """The limit of a quantity; 0: there is none."""
        return int(getattr(self, _LIMITS[quantity])) if quantity in _LIMITS else 0

    def _passed(self) -> str:
        """The quantity that passes its limit, or nothing."""
        if self.fits:
            return ""
        limits = {quantity: self._limit(quantity) for quantity in _LIMITS} | {"peak_memory": self.usable_memory}
        return next((name for name, limit in limits.items() if 0 < limit < getattr(self, name)), "")

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Quantities with values and limits, one that passes its limit first; or all with formulas and their parts."""
        shown: set[str] = set()
        passed = self._passed()
        for quantity in sorted(self.formulas, key=lambda name: (name != passed, [*_QUANTITIES].index(name))):
            term = self.formulas[quantity]
            if not self.details:
                if quantity in _FIRST:
                    limit = self.usable_memory if quantity == "peak_memory" else self._limit(quantity)
                    yield _QUANTITIES[quantity], _shown(term), f"of {_size(limit)}" if limit else ""
                continue
            yield _QUANTITIES[quantity], _shown(term), term.text
            for name, part in term.parts.items():
                if name not in shown:
                    yield f"  {name}", _shown(part), part.text
            shown |= set(term.parts)
            if limit := self._limit(quantity):
                shares = f"{_size(self.usable_memory)} for tasks" if quantity == "peak_memory" else ""
                yield "  limit", _size(limit), shares


def _shown(term: Term) -> str:
    """Format a term's value in its unit."""
    if term.unit != "s":
        return f"{term.value:,.0f} {term.unit}" if term.unit else _size(term.value)
    unit, size = next(((name, size) for name, size in _TIMES.items() if term.value >= 2 * size), ("s", 1))
    return f"{term.value / size:,.3g} {unit}"


_TIMES = {"days": 86_400, "h": 3600, "min": 60}


def _size(count: float) -> str:
    """Format bytes with three digits."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.0f} PB"


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
    largest: int = 0  # rows of the largest partition; 0: all are equally large
    disk_limit: int = 0  # bytes of a worker's disk; 0: not known

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

    def cpu(self, rows: Number, bytes_a_row: int = 0) -> Term:
        """CPU-seconds to handle a number of rows, of the bytes of an edge that is sent by default."""
        return ((bytes_a_row or self.edge) * rows / Term(RATE, f"{RATE:.3g}").named("rate", "bytes/s")).of("s")

    def plan(self, strategy: str, formulas: dict[str, Term], *, fits: bool, reads: int = 1, rounds: int = 0) -> Plan:
        """Return the plan with these formulas. It does not fit if its peaks do not."""
        if self.device:
            formulas = {name: term for name, term in formulas.items() if name != "cpu_seconds"}
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


def batch_of(memory: Number) -> Term:
    """Rows that a task reads before it drops those that lighter rows of the batch make superfluous."""
    return most(LEAST_ROWS, memory / (3 * BATCH))


def owners_of(memory: Number, workers: Number, vertices: Number, partitions: Number) -> Term:
    """Number of tasks that share the vertices: a few for each worker, more if memory is short."""
    return least(MOST_OWNERS, partitions, most(2 * workers, 2 * LABELLED * vertices / memory))


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


def _peak(work: Work) -> Term:
    """The maximum of reading next to a full buffer, solving the buffer, and merging the last two forests."""
    (n, m, _), g = work.symbols, work.group_vertices
    b = least(BUFFER * n, work.share).named("b", "rows")
    folding = most(work.reading + EDGE * b, FOLD * b + budget.VERTEX * g) + work.dictionary * g
    if work.workers == 1:
        return BASE + folding
    row, vertex = MERGE_EDGES * work.edge // 2 + budget.SOLVE, budget.VERTEX + work.dictionary
    merging = row * least(2 * n, m) + vertex * n
    return BASE + most(folding.named("folding"), merging.named("merging"))


def _tree(work: Work, share: Term) -> tuple[Term, Term]:
    """Rows that a tree of merges sends, and those that one merge after the other solves; `share`: of a worker."""
    n, forests, step, sent, in_turn = work.symbols[0], work.workers, 1, Term(0, "0"), Term(0, "0")
    while forests > 1:
        half = least(n, step * share)
        sent, in_turn = sent + forests // 2 * half, in_turn + 2 * half
        forests, step = forests - forests // 2, 2 * step
    return sent.named("sent", "rows"), in_turn.named("merged in turn", "rows")


def merge_plan(work: Work) -> Plan:
    """Forests of all workers, merged in a tree; in slices if only those fit."""
    n, m, w = work.symbols
    sent, in_turn = _tree(work, m / w)
    quantities = {"bytes_moved": work.edge * sent + (w - 1) * POSITION * n, "peak_memory": _peak(work)}
    quantities |= {"rows_in_turn": in_turn.of("rows"), "cpu_seconds": work.cpu(m + SOLVED * w * least(n, m / w))}
    tree = work.plan("merge", quantities, fits=quantities["peak_memory"].value <= task_limit(work))
    fits = tree.fits and (not work.device or work.group_vertices.value <= device_vertices(work.device))
    return tree if fits or not (sliced := sliced_merge_plan(work)).fits else sliced


def _solved(work: Work, kept: Term) -> tuple[Term, Term]:
    """Rows that are sent to be solved in slices, and the bytes of the flags by which workers drop the others.

    A component of most vertices is expected: without one, all rows are sent, as they are if the flags do not pay.
    """
    n, _, w = work.symbols
    first, flags = kept / Term(SLICE_ENDS[-1], str(SLICE_ENDS[-1])), FLAGS * n
    passing = least(kept, first + PASSING * n)
    if EDGE * (kept.value - passing.value) <= work.workers * flags.value:
        passing, flags = kept, Term(0, "0")
    return passing.named("solved", "rows"), (w - 1) * flags


def _solving(work: Work, rows: Term) -> Term:
    """Bytes to solve a slice of some rows: with a buffer as large as saves time, and less if memory is short."""
    n, s = work.symbols[0], work.usable
    fixed = least(budget.RUN_FIXED, EDGE * work.symbols[1]) + budget.RUN_VERTEX * n
    enough, room = n / budget.SHARE, (s - fixed) / SLICE_ROW
    r = least(rows, most(Term(1 << 20, "2^20"), enough), most(enough, room)).named("r", "rows of a slice")
    return (fixed + SLICE_ROW * r).named("solving")


def sliced_merge_plan(work: Work) -> Plan:
    """A merge whose forests are folded in runs and merged in slices (:mod:`dfmst._drive.shuffle`).

    Each of W workers cuts its forest of f rows into slices, and sends all but one W-th of the rows that pass the filter
    of earlier slices. Roots and flags are sent once, and each row's position to the worker that gathers the row.
    Measured on two workers by bench/cluster.py, on four by bench/limits/small_workers.py.
    """
    (n, m, w), s, g = work.symbols, work.usable, work.group_vertices
    room = budget.RunBudget(fold_room(work), 8, in_memory=True)
    f = least(n, m / w).named("f", "rows")
    reading = reading_group(work).named("reading")
    row, vertex = EDGE + budget.SORT, room.vertex - budget.RUN_VERTEX
    held = (s - reading - budget.RUN_FIXED - budget.RUN_VERTEX * g) / row
    x = least(work.share, most(vertex / row * g, held)).named("x", "rows in runs")
    folding = reading + budget.RUN_FIXED + budget.RUN_VERTEX * g + row * x
    asked = (work.id_bytes + NUMBERING) * f if work.dictionary else 0
    solved, flags = _solved(work, w * f)
    sent = (w - 1) / w * (EDGE * solved) + flags
    moved = sent + (w - 1) * ((POSITION + STATE) * n / w + asked)
    peak = BASE + most(folding.named("folding"), _solving(work, solved))
    fits = _gpu_folds_runs(work) and work.workers > 1 and g.value <= room.most_vertices
    fits = fits and work.n_vertices <= slice_vertices(work.memory_limit)
    quantities = {"bytes_moved": moved, "peak_memory": peak, **_in_runs(work, w * f, w * f, solved)}
    quantities |= {"rows_in_turn": solved.of("rows"), "cpu_seconds": work.cpu(m + (SOLVED + SORTED) * w * f)}
    return work.plan("merge", quantities, rounds=SLICES, fits=fits)


def _in_runs(work: Work, kept: Term, numbered: Term, solved: Term) -> dict[str, Term]:
    """Bytes of runs and a slice, and of the ids that are numbered, on the disks of all workers and of one."""
    n, _, w = work.symbols
    longest = Term(6 / 32, "6 / 32")  # share of the rows in a slice, if all are sent
    slice_rows = least(solved, most(n, longest * (solved - n)))
    states = ((2 * STATE + 8) * n + EDGE * slice_rows).named("slice and states")
    ids = (2 * work.id_bytes + NUMBERING) * numbered
    runs = EDGE * kept
    whole = runs + (most(states, ids) if work.dictionary else states)  # states follow when the ids are gone
    return {"bytes_on_disk": whole, "peak_disk": whole / w + states}


def shuffle_plan(work: Work) -> Plan:
    """Rows sorted on the workers' disks, and slices of them solved one after the other."""
    n, m, w = work.symbols
    b = batch_of(work.usable).named("b", "rows")
    groups = least(groups_of(work.usable, w, m), Term(work.partitions, "P")).named("groups", "groups")
    kept = least(m, most(groups, m / b) * n).named("kept", "rows")  # a batch keeps its forest, a row a vertex at most
    known = least(n, 2 * m / groups).named("k", "vertices")
    numbered = (groups * distinct(n, 2 * m / groups)).named("numbered", "ids")
    asked = (work.id_bytes + NUMBERING) * numbered if work.dictionary else 0
    solved, flags = _solved(work, kept)
    sent = (w - 1) / w * (EDGE * solved) + flags
    moved = sent + (w - 1) / w * (PASSED * n + asked)
    reading = work.reading + BATCH * least(b, m) + work.dictionary * known
    solving = _solving(work, solved)
    peak = BASE + most(reading.named("reading"), solving)
    quantities = {"bytes_moved": moved, "peak_memory": peak, **_in_runs(work, kept, numbered, solved)}
    quantities |= {"rows_in_turn": solved.of("rows"), "cpu_seconds": work.cpu(m + SORTED * kept)}
    fits = int(solving.value) <= slice_memory(work.memory_limit)
    return work.plan("shuffle", quantities, rounds=SLICES, fits=fits)


def device_vertices(usable: int) -> int:
    """Vertices whose forest a GPU folds in this memory."""
    return usable // (SMALL_BUFFER * (EDGE + budget.GPU_SOLVE) + budget.VERTEX)


def _gpu_folds_runs(work: Work) -> bool:
    """Whether a GPU, if there is one, folds a group's forest in runs and solves slices."""
    fits = work.group_vertices.value <= budget.RunBudget(work.device, 8, in_memory=True).most_vertices
    return not work.device or (fits and _gpu_solves_slices(work))


def _gpu_solves_slices(work: Work) -> bool:
    return STATE * work.n_vertices + GPU_SLICE_ROW * LEAST_ROWS <= work.device


def add_gpus(work: Work, plan: Plan) -> Plan:
    """Add the memory of each worker's GPU.

    The host's memory stays an upper bound: columns are read and some ids numbered on the host, and forests wait there.
    """
    peak, fits = _gpu_peak(work, plan)
    return replace(
        plan,
        fits=plan.fits and fits,
        formulas={**plan.formulas, "peak_gpu_memory": peak},
        gpu_memory_limit=round(work.device / DEVICE_SHARE),
        peak_gpu_memory=int(peak.value),
    )


def _gpu_peak(work: Work, plan: Plan) -> tuple[Term, bool]:
    """Memory of a GPU, and whether that fits. Slices are solved in a buffer of all free memory."""
    n, *_ = work.symbols
    if plan.rounds:
        free = Term(work.device, f"{DEVICE_SHARE} · limit").named("G")
        r = most(LEAST_ROWS, (free - STATE * n) / GPU_SLICE_ROW).named("r", "rows")
        slices = STATE * n + GPU_SLICE_ROW * r
        if plan.strategy == "shuffle":
            first, fits = (EDGE + COMPACT) * batch_of(work.usable).named("b", "rows"), _gpu_solves_slices(work)
        else:
            vertex = budget.RunBudget(work.device, 8, in_memory=True).vertex
            first, fits = vertex * work.group_vertices, _gpu_folds_runs(work)
        return least(free, most(first, slices)) if fits else most(first, slices), fits
    folds = [buffer * (EDGE + budget.GPU_SOLVE) + budget.VERTEX for buffer in (BUFFER, SMALL_BUFFER)]
    if work.id_bytes == SPARSE_ID:  # if the dictionary does not fit, the host numbers the ids
        folds = [folds[0] + GPU_DICTIONARY, folds[1] + GPU_DICTIONARY, folds[1]]
    vertex = next((fold for fold in folds if fold * work.n_vertices <= work.device), folds[-1])
    return vertex * n, work.group_vertices.value <= device_vertices(work.device)


def _used(work: Work, limits: budget.Budget) -> Term:
    """Bytes that one process takes; with too low a limit, the least that it needs."""
    n, m, _ = work.symbols
    fixed = limits.least(0)
    needed = fixed + (limits.least(1) - fixed) * n
    return needed if needed.value > work.memory_limit else limits.used(n, m)


def stream_plan(work: Work) -> Plan:
    """One process with its rows in a buffer, or in runs in memory if those fit."""
    limits = _limits(work)
    if work.n_vertices > limits.most_vertices:
        limits = _limits(work, "memory")
    return work.plan("stream", {"peak_memory": _used(work, limits)}, fits=work.n_vertices <= limits.most_vertices)


def spill_plan(work: Work) -> Plan:
    """One process with its rows in runs on disk."""
    (n, m, _), limits = work.symbols, _limits(work, "disk")
    fits, on_disk = work.n_vertices <= limits.most_vertices, limits.runs().on_disk(n, m)
    return work.plan(
        "spill", {"peak_memory": _used(work, limits), "bytes_on_disk": on_disk, "peak_disk": on_disk}, fits=fits
    )


def components_plan(work: Work) -> Plan:
    """One process that unites the ends of the rows."""
    limits = _limits(work, sets=True)
    return work.plan("components", {"peak_memory": _used(work, limits)}, fits=work.n_vertices <= limits.most_vertices)


def clusters_plan(work: Work) -> Plan:
    """One process that folds a forest in a buffer or in memory, and cuts it at one threshold."""
    fold, limits = stream_plan(work), _limits(work, sets=True)
    more = limits.cut_bytes(1, in_memory=True)
    peak = most(
        fold.formulas["peak_memory"].named("folding"), limits.used_by_sets(work.symbols[0], more).named("cutting")
    )
    fits = fold.fits and limits.least(work.n_vertices, more) <= work.memory_limit
    return work.plan("clusters", {"peak_memory": peak}, fits=fits)


def _limits(work: Work, store: budget.Store = "buffer", *, sets: bool = False) -> budget.Budget:
    return budget.Budget(Term(work.memory_limit, "M"), 8, work.dictionary, store, sets)


_OF_FOREST = {
    **{"peak_memory": "memory", "peak_disk": "a disk", "bytes_on_disk": "disk", "bytes_moved": "moved"},
    **{"rows_in_turn": "rows", "cpu_seconds": "CPU time"},
}


def labels_plan(work: Work) -> Plan:
    """Components of a Dask frame: the forest of all partitions, then rounds of contraction among owners.

    Owners share the ids, sorted, in files of their workers. Blocks of the forest's rows send their k different ids to
    these; numbers, offers and hooks of the rounds return (:mod:`dfmst._drive.components`).
    """
    forest = automatic_plan(work)
    n, _, w = work.symbols
    owners = owners_of(work.usable, w, n, Term(work.partitions, "P")).named("owners", "tasks")
    known, width = (owners * distinct(n, 2 * n / owners)).named("k", "ids in blocks"), max(SPARSE_ID, work.id_bytes)
    text = 4 * (width - SPARSE_ID)
    labelling = (BASE + (LABELLED + text) * n / owners).named("labelling")
    found = {name: forest.formulas[name] for name in _OF_FOREST if name in forest.formulas}
    found = {name: term.named(f"{_OF_FOREST[name]} of forest", term.unit) for name, term in found.items()}
    ids, tables = (width * n).named("ids of owners"), ((width + LABEL) * known).named("blocks")
    on_disk = most(found.get("bytes_on_disk", 0), ids + tables + (2 * LABEL * n).named("edges and labels"))
    sent = (w - 1) / w * ((width + LABEL + OFFERED) * known + HOOKED * n)
    quantities = {
        "peak_memory": most(found["peak_memory"], labelling),
        "bytes_moved": found["bytes_moved"] + sent,
        "bytes_on_disk": on_disk,
        "peak_disk": most(found.get("peak_disk", 0), least(1, 1.5 / w) * on_disk),
    }
    quantities |= {"rows_in_turn": (found["rows_in_turn"] + n / owners).of("rows")}
    if "cpu_seconds" in found:
        quantities |= {"cpu_seconds": (found["cpu_seconds"] + work.cpu(LABELLING * n, 24)).of("s")}
    return work.plan("labels", quantities, reads=forest.reads + 2, rounds=forest.rounds, fits=forest.fits)


PLANS: dict[str, Callable[[Work], Plan]] = {
    **{"merge": merge_plan, "shuffle": shuffle_plan, "labels": labels_plan},
    **{"stream": stream_plan, "spill": spill_plan, "components": components_plan, "clusters": clusters_plan},
}


def fitting_plan(work: Work, strategy: str = "auto") -> Plan:
    """Return the plan of a strategy, or raise if it does not fit; ``"auto"``: if no strategy fits."""
    chosen = strategy != "auto"
    plan = plan_of(work, strategy) if chosen else automatic_plan(work)
    if plan.fits:
        return plan
    needed = math.ceil(plan_of(work, strategy if chosen else "shuffle").peak_memory / 1e6 * 1.2)
    message = (
        f"{work.n_vertices:,} vertices in partitions of {math.ceil(work.n_edges / work.partitions):,} rows do not fit "
        f"workers of {work.memory_limit // 1_000_000:,} MB, by {f'strategy {strategy!r}' if chosen else 'any strategy'}"
    )
    other = "strategy 'auto' may fit" if chosen else "dfmst forest --spill-dir needs one machine"
    hint = f"use workers of {needed:,} MB, or more and smaller partitions; {other}"
    raise CapacityError(message, hint)


def automatic_plan(work: Work) -> Plan:
    """Return the plan of ``"auto"``: the first choice if it fits, else the shuffle if that fits."""
    strategy, reason = _choose(work)
    plan = replace(plan_of(work, strategy), reason=reason)
    if plan.fits:
        return plan
    shuffle = replace(plan_of(work, "shuffle"), reason="nothing else fits")
    return shuffle if shuffle.fits else replace(plan, reason="no strategy fits")


def _choose(work: Work) -> tuple[str, str]:
    """The first choice of ``"auto"``, and why."""
    whole = work.n_vertices <= fitting_vertices(work.memory_limit, work.id_bytes)
    whole = whole and (not work.device or work.n_vertices <= device_vertices(work.device))
    if whole:
        return "merge", "a forest of all vertices fits one worker"
    sliced = sliced_merge_plan(work)
    if sliced.fits and sliced.bytes_moved <= shuffle_plan(work).bytes_moved:
        return "merge", "a forest of all vertices fits no worker, and slices move fewer bytes than a shuffle"
    return "shuffle", "a forest of all vertices fits no worker"


def plan_of(work: Work, strategy: str) -> Plan:
    """Return the plan of a strategy; components and clusters of several workers are labels of a Dask frame."""
    if strategy in STREAMS and work.workers > 1:
        if strategy not in ("components", "clusters"):
            raise ValueError(f"strategy {strategy!r} is one process, and workers is {work.workers}")
        strategy = "labels"
    plan = PLANS[strategy](work)
    return add_gpus(work, plan) if work.device else plan
