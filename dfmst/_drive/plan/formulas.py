"""The formulas of a plan: memory, bytes moved and rounds of each strategy, and which strategy fits.

They are short on purpose: they stand beside their results, and ``strategy="auto"`` decides by them. Their constants
were measured (bench/results/cpu/cluster.json; those of a fold: :mod:`dfmst._fold.budget`).
"""

from __future__ import annotations

import math

from dfmst._drive.plan.gpu_formulas import device_vertices, on_gpus, sliced_fits
from dfmst._drive.plan.work import DENSE_ID, LIGHT, Plan, Work, dictionary_bytes, edge_bytes
from dfmst._fold.budget import ROW, RUN_VERTEX, SCAN, SOLVE, SORT, VERTEX, MemoryRunBudget, RunBudget
from dfmst.errors import CapacityError

BASE = 230_000_000  # bytes of a worker that has loaded Python, Dask, Arrow and pandas
EDGE = ROW + 8  # bytes of a row in a fold's buffer or a run: two vertices, a 64-bit locator, a 64-bit key
BUFFER = 4  # rows that a fold's buffer holds, a vertex
FOLD = EDGE + SOLVE  # bytes a row of a fold's buffer, solving it included
MERGE_EDGES = 4  # copies of a forest's rows that a merge of two holds: both, and both in one table
RESIDUE = 0.05  # rows that pass the filter and survive, a vertex
DENSE = 8  # rows a vertex from which a second read pays
USABLE = 0.85  # share of a worker's memory beyond `BASE` that tasks use: Dask ends a worker at 0.95 of all
_LEAST_BATCH = 128  # rows
BATCH = 120  # bytes a row that is read, solved and sorted by a shuffle
_SHARE = 3 * BATCH  # bytes of a worker's memory for each row of a batch
SLICE_VERTEX = RunBudget(0, 8).vertex  # bytes a vertex of a shuffle's slice
_PIECES = RunBudget(0, 8).least(0)  # bytes of the pieces that a slice's task reads and writes
SLICES = 8  # that a shuffle solves one after the other
_TAKEN = 0.25  # share of the groups whose edges Dask takes to a worker that has nothing else to do
_STATE, _LOCATOR = 4.125, 8  # bytes a vertex: its root and a flag; its row in the forest
GROUPS = 4  # of partitions, for each worker that shuffles, at least
_MOVING = 8  # groups whose edges are in the memory of a worker at once, as others take over tasks of it
SLICE_ROW = ROW + SCAN + 2 * 8  # bytes a row of the buffer that a slice is solved in
_POSITION = 4  # bytes of a forest's row, for the workers that gather it
_SOLVED = 2 * _STATE + _LOCATOR + _POSITION  # bytes a vertex that slices pass on: their state moves twice, about
_ANSWER = 12  # bytes beside an id that is numbered: its vertex twice, and its number
NUMBERED = 100  # bytes an id of those that a task of a shuffle numbers


def automatic_strategy(work: Work) -> str:
    """What ``"auto"`` takes, or comes closest to."""
    chosen = choose_strategy(work)
    return "shuffle" if not plan_of(work, chosen).fits and plan_of(work, "shuffle").fits else chosen


def choose_strategy(work: Work, rereadable: bool = True) -> str:
    """The strategy that ``"auto"`` stands for."""
    in_tree = _tree_fits(work)
    if rereadable and work.edges >= DENSE * work.vertices and (in_tree or plan_of(work, "two-pass").fits):
        return "two-pass"
    if in_tree:
        return "merge"
    sliced = _sliced_merge(work)
    return "merge" if sliced.fits and sliced.bytes_moved <= _shuffle(work).bytes_moved else "shuffle"


def _tree_fits(work: Work) -> bool:
    """Whether a worker, and its GPU, fold and merge a forest of all vertices."""
    on_device = not work.device or work.vertices <= device_vertices(work.device)
    return on_device and work.vertices <= fitting_vertices(work.memory, work.id_bytes)


def fitting_vertices(memory: int, id_bytes: int = DENSE_ID) -> int:
    """Vertices whose forest one worker folds and merges within so much memory."""
    folding, merging = BUFFER * FOLD + VERTEX, MERGE_EDGES * edge_bytes(id_bytes) + 2 * SOLVE + VERTEX
    return max(1, slice_memory(memory) // (max(folding, merging) + dictionary_bytes(id_bytes)))


def slice_memory(memory: int) -> int:
    """Bytes that a task may hold."""
    return max(0, int(USABLE * (memory - BASE)))


def slice_vertices(memory: int) -> int:
    """Vertices that a shuffle solves with workers of so much memory."""
    return slice_memory(memory) // SLICE_VERTEX


def batch_rows(memory: int, tasks: int = 1) -> int:
    """Rows that each of so many tasks of a shuffle reads before it drops what cycles among them beat."""
    return max(_LEAST_BATCH, slice_memory(memory) // _SHARE // tasks)


def group_count(memory: int, workers: int, edges: int = 0) -> int:
    """Groups of partitions of a shuffle: so many that some of them fit a worker's memory beside each other.

    Dask moves a group's edges in one piece to a worker that has nothing else to do.
    """
    return max(GROUPS * workers, -(-_MOVING * EDGE * edges // max(1, slice_memory(memory))))


def fitting_strategy(work: Work, rereadable: bool = True) -> str:
    """The strategy that ``"auto"`` stands for, of those that fit."""
    for strategy in (choose_strategy(work, rereadable), "shuffle"):
        if plan_of(work, strategy).fits:
            return strategy
    least = math.ceil(_shuffle(work).peak_memory / 1e6 * 1.2)
    message = (
        f"{work.vertices:,} vertices in partitions of {work.rows:,} rows do not fit workers of "
        f"{work.memory // 1_000_000:,} MB, by any strategy"
    )
    hint = f"use workers of {least:,} MB, or more and smaller partitions; dfmst forest --spill-dir needs one machine"
    raise CapacityError(message, hint)


def _peak(work: Work, buffered: float) -> int:
    """The most of reading next to a full buffer, solving that, and merging the last two forests."""
    group = work.group_vertices
    reading = work.part * work.rows + EDGE * buffered
    folding = max(reading, FOLD * buffered + VERTEX * group) + work.dictionary * group
    merged = min(2 * work.vertices, work.edges)
    row = MERGE_EDGES * work.edge // 2 + SOLVE
    merging = row * merged + (VERTEX + work.dictionary) * work.vertices if work.workers > 1 else 0
    return int(BASE + max(folding, merging))


def _peak_formula(work: Work, buffered: str) -> str:
    group = "min(n, 2 · m / W)" if work.dictionary else "n"
    fold = f"{work.part} · m / P + {EDGE} · {buffered}, {FOLD} · {buffered} + {VERTEX} · {group}"
    merging = f"{MERGE_EDGES * work.edge // 2 + SOLVE} · min(2 · n, m) + {VERTEX + work.dictionary} · n if W > 1"
    fold = f"max({fold}){_dictionary_formula(work, group)}"
    return f"{BASE // 1_000_000} MB + max({fold}, {merging})"


def _dictionary_formula(work: Work, vertices: str) -> str:
    return f" + {work.dictionary} · {vertices}" if work.dictionary else ""


def _merge(work: Work) -> Plan:
    forests, rows = work.workers, work.edges / work.workers
    moved: float = (forests - 1) * work.vertices * _POSITION
    while forests > 1:
        moved += forests // 2 * min(work.vertices, rows) * work.edge
        forests, rows = forests - forests // 2, 2 * rows
    peak = _peak(work, min(BUFFER * work.vertices, work.edges / work.workers))
    formulas = {
        "bytes_moved": f"(W / 2 · min(n, m / W) + W / 4 · min(n, 2 · m / W) + … + min(n, m / 2)) · {work.edge} "
        f"+ (W - 1) · n · {_POSITION}",
        "peak_memory": _peak_formula(work, f"min({BUFFER} · n, m / W)"),
    }
    tree = work.plan("merge", moved, peak, formulas, fits=peak <= BASE + slice_memory(work.memory))
    sliced = _sliced_merge(work)
    fits = tree.fits and (not work.device or work.group_vertices <= device_vertices(work.device))
    return sliced if not fits and sliced.fits else tree


def _sliced_merge(work: Work) -> Plan:
    """A merge whose forests are folded in runs, and merged in slices (:mod:`…shuffle.folded`).

    Of M bytes a task holds s = 0.85 · (M - BASE). It folds a group beside the partition that it reads: 33 MB of pieces,
    5 bytes a vertex (parent, level), 54 a row that waits or is sorted. Later it solves a slice: 5 bytes a vertex, and
    70 a row of at most a slice of the forests.

    A group is cut where it lies, and of the W pieces of a slice W - 1 travel: (W - 1) · 24 · f. Roots and flags move
    once, 4.125 · n, and a row's position to where the row is gathered, 4 · n: both but for one worker of W. The
    locators are put in order where their group lies. Measured on two workers by bench/cluster.py, on four by
    bench/limits/small_workers.py.
    """
    size, workers = slice_memory(work.memory), work.workers
    forest = min(work.vertices, work.edges / workers)
    group, room = work.group_vertices, MemoryRunBudget(fold_room(work), 8)
    reading = work.part * work.rows + work.dictionary * group
    held = room.least(0) + RUN_VERTEX * group + (EDGE + SORT) * work.edges / workers
    folding = min(room.size, held)
    solving = min(size, RUN_VERTEX * work.vertices + SLICE_ROW * workers * forest / SLICES)
    asked = workers * forest * (work.id_bytes + _ANSWER) if work.dictionary else 0
    asking = f" + f · {work.id_bytes + _ANSWER}" if work.dictionary else ""
    row = _POSITION + _STATE
    moved = (workers - 1) * (forest * EDGE + (row * work.vertices + asked) / workers)
    formulas = {
        "bytes_moved": f"(W - 1) · ({EDGE} · f + {row} / W · n{asking}), f = min(n, m / W)",
        "peak_memory": f"{BASE // 1_000_000} MB + max({work.part} · m / P{_dictionary_formula(work, 'g')} + "
        f"min(s, {room.least(0) // 1_000_000} MB + {RUN_VERTEX} · g + {EDGE + SORT} · m / W), "
        f"min(s, {RUN_VERTEX} · n + {SLICE_ROW} · W · f / {SLICES})), s = {USABLE} · (M - BASE), at least "
        f"{room.vertex} · g, g = {'min(n, 2 · m / W)' if work.dictionary else 'n'}",
    }
    fits = sliced_fits(work) and workers > 1 and group <= room.most_vertices and work.vertices <= size // SLICE_VERTEX
    return work.plan("merge", moved, int(BASE + max(reading + folding, solving)), formulas, rounds=SLICES, fits=fits)


def fold_room(work: Work) -> int:
    """Bytes that the fold of a group may hold in a merge in slices."""
    reading = work.part * work.rows + work.dictionary * work.group_vertices
    return max(0, slice_memory(work.memory) - reading)


def _two_pass(work: Work) -> Plan:
    vertices, workers = work.vertices, work.workers
    broadcast = 1 + (work.id_bytes if work.dictionary else 0)
    moved = (workers - 1) * vertices * (work.edge * (1 + RESIDUE) + broadcast + _POSITION)
    peak = _peak(work, min(BUFFER, LIGHT / workers) * vertices)
    formulas = {
        "bytes_moved": f"(W - 1) · n · ({work.edge} + {broadcast} + {work.edge} · {RESIDUE} + {_POSITION})",
        "peak_memory": _peak_formula(work, f"min({BUFFER}, {LIGHT:g} / W) · n"),
    }
    return work.plan("two-pass", moved, peak, formulas, reads=2, fits=peak <= BASE + slice_memory(work.memory))


def _shuffle(work: Work) -> Plan:
    batch, workers = batch_rows(work.memory), work.workers
    # A batch leaves its own forest, at most its vertices.
    groups = min(group_count(work.memory, workers, work.edges), work.partitions)
    kept = min(work.edges, max(groups, math.ceil(work.edges / batch)) * work.vertices)
    known = min(work.vertices, 2 * math.ceil(work.edges / groups))
    asked = groups * known * (work.id_bytes + _ANSWER) if work.dictionary else 0
    moved = (workers - 1) / workers * ((1 + _TAKEN) * kept * EDGE + work.vertices * _SOLVED + asked)
    reading = work.part * work.rows + BATCH * min(batch, work.edges) + work.dictionary * known
    pieces = min(_PIECES, EDGE * work.edges)
    solving = SLICE_VERTEX * work.vertices + pieces
    peak = BASE + max(reading, solving)
    asking = f" + G · k · {work.id_bytes + _ANSWER}" if work.dictionary else ""
    reading_formula = f"{work.part} · m / P + {BATCH} · min(b, m){_dictionary_formula(work, 'k')}"
    most = f"max({GROUPS} · W, {_MOVING * EDGE / USABLE:.3g} · m / (M - BASE))"
    groups_formula = f", G = min({most}, P){', k = min(n, 2 · m / G)' if work.dictionary else ''}"
    formulas = {
        "bytes_moved": f"(W - 1) / W · (min(m, max(G, m / b) · n) · {(1 + _TAKEN) * EDGE:g} + {_SOLVED} · n"
        f"{asking}), b = {USABLE} · (M - BASE) / {_SHARE}{groups_formula}",
        "peak_memory": f"{BASE // 1_000_000} MB + max({reading_formula}, {SLICE_VERTEX} · n + "
        f"min({_PIECES // 1_000_000} MB, {EDGE} · m))",
    }
    fits = solving <= slice_memory(work.memory)
    return work.plan("shuffle", moved, int(peak), formulas, rounds=SLICES, fits=fits)


def plan_of(work: Work, strategy: str) -> Plan:
    """The plan of one of these strategies, on GPUs where the workers have some."""
    plan = PLANS[strategy](work)
    return on_gpus(work, plan) if work.device else plan


PLANS = {"merge": _merge, "two-pass": _two_pass, "shuffle": _shuffle}
