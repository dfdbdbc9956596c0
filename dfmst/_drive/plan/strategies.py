"""The strategies of a plan: memory, bytes moved and rounds of each, whether it fits, and which ``"auto"`` chooses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dfmst._drive.plan import formulas as size
from dfmst._drive.plan.formulas import (
    Effort,
    Work,
    batch_of,
    fitting_vertices,
    fold_room,
    groups_of,
    owners_of,
    reading_group,
    slice_memory,
    slice_vertices,
    task_limit,
)
from dfmst._drive.plan.prediction import STREAMS, Plan
from dfmst._fold import budget
from dfmst._fold.budget import Term, distinct, least, most
from dfmst._fold.fold import COMPACT
from dfmst.errors import CapacityError


def _peak(work: Work) -> Term:
    """The maximum of reading next to a full buffer, solving the buffer, and merging the last two forests."""
    (n, m, _), g = work.symbols, work.group_vertices
    b = least(size.BUFFER * n, work.share).named("b", "rows")
    folding = most(work.reading + size.EDGE * b, size.FOLD * b + budget.VERTEX * g) + work.dictionary * g
    if work.workers == 1:
        return size.BASE + folding
    row, vertex = size.MERGE_EDGES * work.edge // 2 + budget.SOLVE, budget.VERTEX + work.dictionary
    merging = row * least(2 * n, m) + vertex * n
    return size.BASE + most(folding.named("folding"), merging.named("merging"))


def _tree(work: Work, share: Term) -> tuple[Term, Term]:
    """Rows that a tree of merges sends, and those that one merge after the other solves; `share`: of a worker."""
    n, forests, step, sent, in_turn = work.symbols[0], work.workers, 1, Term(0, "0"), Term(0, "0")
    while forests > 1:
        half = least(n, step * share)
        sent, in_turn = sent + forests // 2 * half, in_turn + 2 * half
        forests, step = forests - forests // 2, 2 * step
    return sent.named("sent", "rows"), in_turn.named("merged in turn", "rows")


def _folding(work: Work, rows: Term) -> Term:
    """Seconds to fold rows that all workers share: each worker solves some rows a vertex, and filters the others."""
    n, _, w = work.symbols
    return work.numbering(rows) + work.per("fold", rows) + work.per("solve", least(rows, size.SOLVED * w * n))


def _merging(work: Work, rows: Term) -> Term:
    return work.numbering(rows) + work.per("solve", rows)


def merge_plan(work: Work) -> Plan:
    """Forests of all workers, merged in a tree; in slices if only those fit."""
    n, m, w = work.symbols
    sent, in_turn = _tree(work, m / w)
    positions = (w - 1) * size.POSITION * n
    moved, peak = work.edge * sent + positions, _peak(work)
    shared = work.per("read", 2 * m, ids=True) + _folding(work, m)
    received = work.edge * in_turn / 2 + positions
    effort = Effort(shared, _merging(work, 2 * sent), in_turn, _merging(work, in_turn), received)
    quantities = {"bytes_moved": moved, "peak_memory": peak}
    tree = work.plan("merge", quantities, effort=effort, fits=peak.value <= task_limit(work))
    fits = tree.fits and (not work.device or work.group_vertices.value <= device_vertices(work.device))
    return tree if fits or not (sliced := sliced_merge_plan(work)).fits else sliced


def _solved(work: Work, kept: Term) -> tuple[Term, Term]:
    """Rows that are sent to be solved in slices, and the bytes of the flags by which workers drop the others.

    A component of most vertices is expected: without one, all rows are sent, as they are if the flags do not pay.
    """
    n, _, w = work.symbols
    first, flags = kept / Term(size.SLICE_ENDS[-1], str(size.SLICE_ENDS[-1])), size.FLAGS * n
    passing = least(kept, first + size.PASSING * n)
    if size.EDGE * (kept.value - passing.value) <= work.workers * flags.value:
        passing, flags = kept, Term(0, "0")
    return passing.named("solved", "rows"), (w - 1) * flags


def _solving(work: Work, rows: Term) -> Term:
    """Bytes to solve a slice of some rows: with a buffer as large as saves time, and less if memory is short."""
    n, s = work.symbols[0], work.usable
    fixed = least(budget.RUN_FIXED, size.EDGE * work.symbols[1]) + budget.RUN_VERTEX * n
    enough, room = n / budget.SHARE, (s - fixed) / size.SLICE_ROW
    r = least(rows, most(Term(1 << 20, "2^20"), enough), most(enough, room)).named("r", "rows of a slice")
    return (fixed + size.SLICE_ROW * r).named("solving")


def sliced_merge_plan(work: Work) -> Plan:
    """A merge whose forests are folded in runs and merged in slices (:mod:`dfmst._drive.shuffle`).

    Each of W workers cuts its forest of f rows into slices, and sends all but one W-th of the rows that pass the filter
    of earlier slices. Roots and flags are sent once, and each row's position to the worker that gathers the row.
    Measured on two workers by bench/cluster.py, on four by bench/limits/small_workers.py.
    """
    (n, m, w), s, g = work.symbols, work.usable, work.group_vertices
    room = budget.MemoryRunBudget(fold_room(work), 8)
    f = least(n, m / w).named("f", "rows")
    reading = reading_group(work).named("reading")
    row, vertex = size.EDGE + budget.SORT, room.vertex - budget.RUN_VERTEX
    held = (s - reading - budget.RUN_FIXED - budget.RUN_VERTEX * g) / row
    x = least(work.share, most(vertex / row * g, held)).named("x", "rows in runs")
    folding = reading + budget.RUN_FIXED + budget.RUN_VERTEX * g + row * x
    asked = (work.id_bytes + size.NUMBERING) * f if work.dictionary else 0
    solved, flags = _solved(work, w * f)
    sent = (w - 1) / w * (size.EDGE * solved) + flags
    moved = sent + (w - 1) * ((size.POSITION + size.STATE) * n / w + asked)
    peak = size.BASE + most(folding.named("folding"), _solving(work, solved))
    fits = _gpu_folds_runs(work) and work.workers > 1 and g.value <= room.most_vertices
    fits = fits and work.n_vertices <= slice_vertices(work.memory_limit)
    shared = work.per("read", 2 * m, ids=True) + _folding(work, m) + work.per("sort", least(m, size.SOLVED * w * n))
    quantities = {"bytes_moved": moved, "peak_memory": peak, **_in_runs(work, w * f, w * f, solved)}
    effort = _in_slices(work, shared, w * f, solved, sent)
    return work.plan("merge", quantities, effort=effort, rounds=size.SLICES, fits=fits)


def _in_runs(work: Work, kept: Term, numbered: Term, solved: Term) -> dict[str, Term]:
    """Bytes of runs and a slice, and of the ids that are numbered, on the disks of all workers and of one."""
    n, _, w = work.symbols
    longest = Term(6 / 32, "6 / 32")  # share of the rows in a slice, if all are sent
    slice_rows = least(solved, most(n, longest * (solved - n)))
    states = ((2 * size.STATE + 8) * n + size.EDGE * slice_rows).named("slice and states")
    ids = (2 * work.id_bytes + size.NUMBERING) * numbered
    runs = size.EDGE * kept
    whole = runs + (most(states, ids) if work.dictionary else states)  # states follow when the ids are gone
    return {"bytes_on_disk": whole, "peak_disk": whole / w + states}


def _in_slices(work: Work, shared: Term, kept: Term, solved: Term, sent: Term) -> Effort:
    """All workers filter the rows of a slice and sort those that pass; then one solves these, and stores the state."""
    n = work.symbols[0]
    in_turn = work.per("fold", solved + size.SLICES * n) + work.per("solve", least(n, solved))
    shared = shared + work.per("fold", kept) + work.per("sort", solved)
    return Effort(shared, in_turn, solved, in_turn, sent, size.EDGE * solved + size.SLICES * size.STATE * n)


def shuffle_plan(work: Work) -> Plan:
    """Rows sorted on the workers' disks, and slices of them solved one after the other."""
    n, m, w = work.symbols
    b = batch_of(work.usable).named("b", "rows")
    groups = least(groups_of(work.usable, w, m), Term(work.partitions, "P")).named("groups", "groups")
    kept = least(m, most(groups, m / b) * n).named("kept", "rows")  # a batch keeps its forest, a row a vertex at most
    known = least(n, 2 * m / groups).named("k", "vertices")
    numbered = (groups * distinct(n, 2 * m / groups)).named("numbered", "ids")
    asked = (work.id_bytes + size.NUMBERING) * numbered if work.dictionary else 0
    solved, flags = _solved(work, kept)
    sent = (w - 1) / w * (size.EDGE * solved) + flags
    moved = sent + (w - 1) / w * (size.PASSED * n + asked)
    reading = work.reading + size.BATCH * least(b, m) + work.dictionary * known
    solving = _solving(work, solved)
    peak = size.BASE + most(reading.named("reading"), solving)
    shared = work.per("read", 2 * m, ids=True) + work.numbering(m + 3 * numbered) + work.per("solve", m)
    effort = _in_slices(work, shared + work.per("sort", kept), kept, solved, sent)
    quantities = {"bytes_moved": moved, "peak_memory": peak, **_in_runs(work, kept, numbered, solved)}
    fits = solving.value <= slice_memory(work.memory_limit)
    return work.plan("shuffle", quantities, effort=effort, rounds=size.SLICES, fits=fits)


def device_vertices(usable: int) -> int:
    """Vertices whose forest a GPU folds in this memory."""
    return usable // (size.SMALL_BUFFER * (size.EDGE + budget.GPU_SOLVE) + budget.VERTEX)


def _gpu_folds_runs(work: Work) -> bool:
    """Whether a GPU, if there is one, folds a group's forest in runs and solves slices."""
    fits = work.group_vertices.value <= budget.MemoryRunBudget(work.device, 8).most_vertices
    return not work.device or (fits and _gpu_solves_slices(work))


def _gpu_solves_slices(work: Work) -> bool:
    return size.STATE * work.n_vertices + size.GPU_SLICE_ROW * size.LEAST_ROWS <= work.device


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
        gpu_memory_limit=round(work.device / size.DEVICE_SHARE),
        peak_gpu_memory=int(peak.value),
        bytes_over_bus=int(bus.value),
        bytes_between_gpus=int(links.value),
    )


def _gpu_peak(work: Work, plan: Plan) -> tuple[Term, bool]:
    """Memory of a GPU, and whether that fits. Slices are solved in a buffer of all free memory."""
    n, *_ = work.symbols
    if plan.rounds:
        free = Term(work.device, f"{size.DEVICE_SHARE} · limit").named("G")
        r = most(size.LEAST_ROWS, (free - size.STATE * n) / size.GPU_SLICE_ROW).named("r", "rows")
        slices = size.STATE * n + size.GPU_SLICE_ROW * r
        if plan.strategy == "shuffle":
            first, fits = (size.EDGE + COMPACT) * batch_of(work.usable).named("b", "rows"), _gpu_solves_slices(work)
        else:
            first, fits = budget.MemoryRunBudget(work.device, 8).vertex * work.group_vertices, _gpu_folds_runs(work)
        return least(free, most(first, slices)), fits
    folds = [buffer * (size.EDGE + budget.GPU_SOLVE) + budget.VERTEX for buffer in (size.BUFFER, size.SMALL_BUFFER)]
    if work.id_bytes == size.SPARSE_ID:  # if the dictionary does not fit, the host numbers the ids
        folds = [folds[0] + size.GPU_DICTIONARY, folds[1] + size.GPU_DICTIONARY, folds[1]]
    vertex = next((fold for fold in folds if fold * work.n_vertices <= work.device), folds[-1])
    return vertex * n, work.group_vertices.value <= device_vertices(work.device)


def _bus(work: Work, plan: Plan) -> tuple[Term, Term]:
    """Bytes between hosts and GPUs (PCIe), and from GPU to GPU (NVLink, if there is one), all workers together."""
    n, m, w = work.symbols
    nothing = Term(0, "0")
    if plan.rounds:
        kept = m if plan.strategy == "shuffle" else w * least(n, m / w)
        return size.EDGE * (m + 2 * kept) + (2 * size.STATE * plan.rounds + 8) * n, nothing
    on_host = work.id_bytes > size.SPARSE_ID  # ids that the host numbers; forests then wait on the host
    forest, reading = least(n, m / w), (size.EDGE if on_host else work.edge) * m
    if on_host:
        # A fold's forest comes back. Of each merged row, vertices and key go and a position comes back.
        merged = size.EDGE * w + (2 * size.GPU_SOLVED + size.POSITION) * (w - 1)
        return reading + merged * forest, nothing
    # Forests move once from GPU to GPU, or over both buses. The forest's positions come back.
    if work.direct:
        return reading + size.POSITION * n, (w - 1) * work.edge * forest
    return reading + 2 * (w - 1) * work.edge * forest + size.POSITION * n, nothing


def stream_plan(work: Work) -> Plan:
    """One process with its rows in a buffer, or in runs in memory if those fit."""
    (n, m, _), limits = work.symbols, _limits(work)
    if work.n_vertices > limits.most_vertices:
        limits = _limits(work, "memory")
    return work.plan("stream", {"peak_memory": limits.used(n, m)}, fits=work.n_vertices <= limits.most_vertices)


def spill_plan(work: Work) -> Plan:
    """One process with its rows in runs on disk."""
    (n, m, _), limits = work.symbols, _limits(work, "disk")
    fits, on_disk = work.n_vertices <= limits.most_vertices, limits.runs().on_disk(n, m)
    return work.plan(
        "spill", {"peak_memory": limits.used(n, m), "bytes_on_disk": on_disk, "peak_disk": on_disk}, fits=fits
    )


def components_plan(work: Work) -> Plan:
    """One process that unites the ends of the rows."""
    (n, m, _), limits = work.symbols, _limits(work, sets=True)
    return work.plan("components", {"peak_memory": limits.used(n, m)}, fits=work.n_vertices <= limits.most_vertices)


def clusters_plan(work: Work) -> Plan:
    """One process that folds a forest in a buffer or in memory, and cuts it at one threshold."""
    fold, limits = stream_plan(work), _limits(work, sets=True)
    cut = limits.used_for_cut(work.symbols[0]).named("cutting")
    peak = most(fold.formulas["peak_memory"].named("folding"), cut)
    fits = fold.fits and limits.needed_for_cut(work.n_vertices, 1, in_memory=True) <= work.memory_limit
    return work.plan("clusters", {"peak_memory": peak}, fits=fits)


def _limits(work: Work, store: budget.Store = "buffer", *, sets: bool = False) -> budget.Budget:
    return budget.Budget(Term(work.memory_limit, "M"), 8, work.dictionary, store, sets)


_OF_FOREST = {
    **{"peak_memory": "memory", "peak_disk": "a disk", "bytes_on_disk": "disk", "bytes_moved": "moved"},
    **{"rows_in_turn": "rows", "seconds": "time", "cpu_seconds": "CPU time"},
}


def labels_plan(work: Work) -> Plan:
    """Components of a Dask frame: the forest of all partitions, then rounds of contraction among owners.

    Owners share the ids, sorted, in files of their workers. Blocks of the forest's rows send their k different ids to
    these; numbers, offers and hooks of the rounds return (:mod:`dfmst._drive.components`).
    """
    forest = automatic_plan(work)
    n, m, w = work.symbols
    owners = owners_of(work.usable, w, n, Term(work.partitions, "P")).named("owners", "tasks")
    known, width = (
        (owners * distinct(n, 2 * n / owners)).named("k", "ids in blocks"),
        max(size.SPARSE_ID, work.id_bytes),
    )
    text = 4 * (width - size.SPARSE_ID)
    labelling = (size.BASE + (size.LABELLED + text) * n / owners).named("labelling")
    found = {name: forest.formulas[name] for name in _OF_FOREST if name in forest.formulas}
    found = {name: term.named(f"{_OF_FOREST[name]} of forest", term.unit) for name, term in found.items()}
    ids, tables = (width * n).named("ids of owners"), ((width + size.LABEL) * known).named("blocks")
    on_disk = most(found.get("bytes_on_disk", 0), ids + tables + (2 * size.LABEL * n).named("edges and labels"))
    sent = (w - 1) / w * ((width + size.LABEL + size.OFFERED) * known + size.HOOKED * n)
    quantities = {
        "peak_memory": most(found["peak_memory"], labelling),
        "bytes_moved": found["bytes_moved"] + sent,
        "bytes_on_disk": on_disk,
        "peak_disk": most(found.get("peak_disk", 0), least(1, 1.5 / w) * on_disk),
    }
    if "seconds" in found:
        labels = work.per("sort", size.LABEL_SORTS * known) + work.numbering(2 * known)
        seconds = 2 * size.BEGIN * w + work.per("read", m, ids=True) + labels
        shared = (seconds / w + sent / (w * work.rates.term("network"))).named("labels of all", "s")
        quantities |= {"rows_in_turn": (found["rows_in_turn"] + n / owners).of("rows")}
        quantities |= {"seconds": (found["seconds"] + shared).of("s")}
        quantities |= {"cpu_seconds": (found["cpu_seconds"] + seconds).of("s")}
    return work.plan("labels", quantities, reads=forest.reads + 2, rounds=forest.rounds, fits=forest.fits)


PLANS: dict[str, Callable[[Work], Plan]] = {
    **{"merge": merge_plan, "shuffle": shuffle_plan, "labels": labels_plan},
    **{"stream": stream_plan, "spill": spill_plan, "components": components_plan, "clusters": clusters_plan},
}


def fitting_plan(work: Work) -> Plan:
    """Return the plan of ``"auto"``, or raise if no strategy fits."""
    plan = automatic_plan(work)
    if plan.fits:
        return plan
    needed = math.ceil(plan_of(work, "shuffle").peak_memory / 1e6 * 1.2)
    message = (
        f"{work.n_vertices:,} vertices in partitions of {math.ceil(work.n_edges / work.partitions):,} rows do not fit "
        f"workers of {work.memory_limit // 1_000_000:,} MB, by any strategy"
    )
    hint = f"use workers of {needed:,} MB, or more and smaller partitions; dfmst forest --spill-dir needs one machine"
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
