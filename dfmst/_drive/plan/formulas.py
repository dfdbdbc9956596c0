"""Formulas of a plan: memory, bytes moved and rounds of each strategy of a cluster, and whether it fits.

``strategy="auto"`` decides by them. Constants defined here were measured (bench/results/cpu/cluster.json, stream.json).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

from dfmst._drive.plan.terms import Number, Plan, Term, least, most
from dfmst._fold import budget
from dfmst._fold.slices import COMPACT

# Bytes of a process
BASE = 230_000_000  # a worker that has loaded Python, Dask, Arrow and pandas
STREAM_BASE = 200_000_000  # a process that reads batches
PIECES = budget.RunBudget(0, 8).least(0)  # pieces of runs that a slice's task reads and writes

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
STREAM_SOLVE = 12  # solving a stream's buffer, except for the worst graphs
BATCH = 120  # that a shuffle reads, solves and sorts
SLICE_ROW = budget.ROW + budget.SCAN + 2 * 8  # in the buffer that solves a slice
GPU_SLICE_ROW = 2 * EDGE + COMPACT  # the same on a GPU: the buffer, its forest, and filtered rows
GPU_SOLVED = 16  # that a GPU solves or filters: its vertices and its key
POSITION = 4  # of the forest, sent to the workers that gather it
ORDERED = POSITION  # of a vertex in the order of the ids
CUT = 8 + 2 * ORDERED  # of a forest that is cut: its sorted weights, the order of the vertices, and their clusters

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
        usable = self.memory_limit if strategy in STREAMS else min(self.memory_limit, _task_limit(self))
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
    return int(_batch(slice_memory(memory) / tasks).value)


def _batch(memory: Number) -> Term:
    """Rows that a task reads before it drops those that lighter rows of the batch make superfluous."""
    return most(LEAST_ROWS, memory / (3 * BATCH))


def owner_count(memory: int, workers: int, vertices: int, partitions: int) -> int:
    """Tasks that share the vertices which are labelled: a few for each worker, more if memory is short."""
    most = max(2 * workers, math.ceil(2 * LABELLED * vertices / max(1, slice_memory(memory))))
    return max(1, min(MOST_OWNERS, most, partitions))


def group_count(memory: int, workers: int, edges: int = 0) -> int:
    """Groups of partitions of a shuffle."""
    return math.ceil(_groups(max(1, slice_memory(memory)), workers, edges).value)


def _groups(memory: Number, workers: Number, edges: Number) -> Term:
    """Number of groups, so that several fit a worker: Dask moves a group's edges in one piece to an idle worker."""
    return most(GROUPS * workers, MOVING * EDGE * edges / memory)


def fold_room(work: Work) -> int:
    """Bytes that the fold of a group may use in a merge in slices."""
    return max(0, slice_memory(work.memory_limit) - int(_reading_group(work).value))


def _reading_group(work: Work) -> Term:
    return work.reading + work.dictionary * work.group_vertices


def _peak(work: Work, buffered: Term) -> Term:
    """The maximum of reading next to a full buffer, solving the buffer, and merging the last two forests."""
    (n, m, _), g, b = work.symbols, work.group_vertices, buffered.named("b", "rows")
    folding = most(work.reading + EDGE * b, FOLD * b + budget.VERTEX * g) + work.dictionary * g
    if work.workers == 1:
        return BASE + folding
    merging = (MERGE_EDGES * work.edge // 2 + budget.SOLVE) * least(2 * n, m) + (budget.VERTEX + work.dictionary) * n
    return BASE + most(folding.named("folding"), merging.named("merging"))


def _task_limit(work: Work) -> int:
    return BASE + slice_memory(work.memory_limit)


def merge_plan(work: Work) -> Plan:
    """Forests of all workers, merged in a tree; in slices if only those fit."""
    n, m, w = work.symbols
    forests, step, sent = work.workers, 1, Term(0, "0")
    while forests > 1:
        sent += forests // 2 * least(n, step * m / w)
        forests, step = forests - forests // 2, 2 * step
    moved, peak = work.edge * sent + (w - 1) * POSITION * n, _peak(work, least(BUFFER * n, m / w))
    tree = work.plan("merge", bytes_moved=moved, peak_memory=peak, fits=peak.value <= _task_limit(work))
    fits = tree.fits and (not work.device or work.group_vertices.value <= device_vertices(work.device))
    return tree if fits or not (sliced := sliced_merge_plan(work)).fits else sliced


def sliced_merge_plan(work: Work) -> Plan:
    """A merge whose forests are folded in runs and merged in slices (:mod:`dfmst._drive.cluster.shuffle_edges`).

    Each of W workers cuts its forest of f rows into slices, and sends all but one W-th of the rows. Roots and flags are
    sent once, and each row's position to the worker that gathers the row. Measured on two workers by bench/cluster.py,
    on four by bench/limits/small_workers.py.
    """
    (n, m, w), s, g = work.symbols, work.usable, work.group_vertices
    room = budget.MemoryRunBudget(fold_room(work), 8)
    f = least(n, m / w).named("f", "rows")
    reading = _reading_group(work).named("reading")
    folding = reading + least(most(0, s - reading), PIECES + budget.RUN_VERTEX * g + (EDGE + budget.SORT) * m / w)
    solving = least(s, budget.RUN_VERTEX * n + SLICE_ROW / SLICES * w * f)
    asked = (work.id_bytes + NUMBERING) * f if work.dictionary else 0
    moved = (w - 1) * (EDGE * f + (POSITION + STATE) * n / w + asked)
    peak = BASE + most(folding.named("folding"), solving.named("solving"))
    fits = _gpu_folds_runs(work) and work.workers > 1 and g.value <= room.most_vertices
    fits = fits and work.n_vertices <= slice_vertices(work.memory_limit)
    return work.plan("merge", bytes_moved=moved, peak_memory=peak, rounds=SLICES, fits=fits)


def two_pass_plan(work: Work) -> Plan:
    """A forest of the light rows, sent to all workers as a filter of the others."""
    n, _, w = work.symbols
    mark = 1 + (work.id_bytes if work.dictionary else 0)  # bytes a vertex of the filter
    moved = (w - 1) * (work.edge * (1 + RESIDUE) * n + mark * n + POSITION * n)
    peak = _peak(work, least(BUFFER, LIGHT / w) * n)
    return work.plan("two-pass", bytes_moved=moved, peak_memory=peak, reads=2, fits=peak.value <= _task_limit(work))


def shuffle_plan(work: Work) -> Plan:
    """Rows sorted on the workers' disks, and slices of them solved one after the other."""
    n, m, w = work.symbols
    b = _batch(work.usable).named("b", "rows")
    groups = least(_groups(work.usable, w, m), Term(work.partitions, "P")).named("groups", "groups")
    kept = least(m, most(groups, m / b) * n).named("kept", "rows")  # a batch keeps its forest, a row a vertex at most
    known = least(n, 2 * m / groups).named("k", "vertices")
    asked = (work.id_bytes + NUMBERING) * groups * known if work.dictionary else 0
    moved = (w - 1) / w * ((1 + TAKEN) * EDGE * kept + PASSED * n + asked)
    reading = work.reading + BATCH * least(b, m) + work.dictionary * known
    solving = SLICE_VERTEX * n + least(PIECES, EDGE * m)
    peak = BASE + most(reading.named("reading"), solving.named("solving"))
    fits = solving.value <= slice_memory(work.memory_limit)
    return work.plan("shuffle", bytes_moved=moved, peak_memory=peak, rounds=SLICES, fits=fits)


def device_vertices(usable: int) -> int:
    """Vertices whose forest a GPU folds in this memory."""
    return usable // (SMALL_BUFFER * (EDGE + budget.GPU_SOLVE) + budget.VERTEX)


def _gpu_folds_runs(work: Work) -> bool:
    """Whether a GPU, if there is one, folds a group's forest in runs and solves slices."""
    fits = work.group_vertices.value <= budget.MemoryRunBudget(work.device, 8).most_vertices
    return not work.device or (fits and _gpu_solves_slices(work))


def _gpu_solves_slices(work: Work) -> bool:
    return STATE * work.n_vertices + GPU_SLICE_ROW * LEAST_ROWS <= work.device


def add_gpus(work: Work, plan: Plan) -> Plan:
    """Add the memory of each worker's GPU, the bytes over its bus, and those from GPU to GPU.

    The host's memory stays an upper bound: columns are read and some ids numbered on the host, and forests wait there.
    """
    (peak, fits), (bus, links) = _gpu_peak(work, plan), _bus(work, plan)
    formulas = {**plan.formulas, "peak_gpu_memory": peak, "bytes_over_bus": bus}
    return replace(
        plan,
        fits=plan.fits and fits,
        formulas={**formulas, "bytes_between_gpus": links} if links.value else formulas,
        gpu_memory_limit=round(work.device / DEVICE_SHARE),
        peak_gpu_memory=int(peak.value),
        bytes_over_bus=int(bus.value),
        bytes_between_gpus=int(links.value),
    )


def _gpu_peak(work: Work, plan: Plan) -> tuple[Term, bool]:
    """Memory of a GPU, and whether that fits. Slices are solved in a buffer of all free memory."""
    n, *_ = work.symbols
    if plan.rounds:
        free = Term(work.device, f"{DEVICE_SHARE} · limit").named("G")
        slices = STATE * n + GPU_SLICE_ROW * most(LEAST_ROWS, (free - STATE * n) / GPU_SLICE_ROW).named("r", "rows")
        if plan.strategy == "shuffle":
            first, fits = (EDGE + COMPACT) * _batch(work.usable).named("b", "rows"), _gpu_solves_slices(work)
        else:
            first, fits = budget.MemoryRunBudget(work.device, 8).vertex * work.group_vertices, _gpu_folds_runs(work)
        return least(free, most(first, slices)), fits
    folds = [buffer * (EDGE + budget.GPU_SOLVE) + budget.VERTEX for buffer in (BUFFER, SMALL_BUFFER)]
    if work.id_bytes == SPARSE_ID:  # if the dictionary does not fit, the host numbers the ids
        folds = [folds[0] + GPU_DICTIONARY, folds[1] + GPU_DICTIONARY, folds[1]]
    vertex = next((fold for fold in folds if fold * work.n_vertices <= work.device), folds[-1])
    return vertex * n, work.group_vertices.value <= device_vertices(work.device)


def _bus(work: Work, plan: Plan) -> tuple[Term, Term]:
    """Bytes between hosts and GPUs (PCIe), and from GPU to GPU (NVLink, if there is one), all workers together."""
    n, m, w = work.symbols
    nothing = Term(0, "0")
    if plan.rounds:
        kept = m if plan.strategy == "shuffle" else w * least(n, m / w)
        return EDGE * m + 2 * EDGE * kept + (2 * STATE * plan.rounds + 8) * n, nothing
    on_host = work.id_bytes > SPARSE_ID  # ids that the host numbers; forests then wait on the host
    row, filtered = (EDGE, GPU_SOLVED) if on_host else (work.edge, work.edge)
    rows, reading = m, row * m
    if plan.reads == 2:
        rows = least(m, LIGHT * n).named("l", "rows")
        reading = row * rows + (filtered * m if rows.value < work.n_edges else 0)
    forest = least(n, rows / w)
    if on_host:
        # A fold's forest comes back. Of each merged or filtered row, vertices and key go and a position comes back.
        merged = EDGE * w + (2 * GPU_SOLVED + POSITION) * (w - 1)
        return reading + merged * forest + ((GPU_SOLVED + POSITION) * n if plan.reads == 2 else 0), nothing
    # Forests and filters move once from GPU to GPU, or over both buses. The forest's positions come back.
    flags = 1 + (SPARSE_ID if work.dictionary else 0) if plan.reads == 2 else 0
    if work.direct:
        return reading + POSITION * n, (w - 1) * (work.edge * forest + flags * n)
    return reading + (w - 1) * (2 * work.edge * forest + 2 * flags * n) + POSITION * n, nothing
