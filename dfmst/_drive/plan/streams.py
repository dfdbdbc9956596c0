"""Formulas of processes without a cluster: forests, components and clusters of a stream."""

from __future__ import annotations

from dfmst._drive.plan import formulas
from dfmst._drive.plan.formulas import CUT, EDGE, ORDERED, PIECES, Work
from dfmst._drive.plan.terms import Plan, Term, least, most
from dfmst._fold import budget


def _budget(work: Work, store: budget.Store) -> tuple[budget.Budget, Term]:
    """Budget of a stream, and the bytes of its fold: all but the dictionary's share."""
    limits = budget.Budget(work.memory_limit, 8, work.dictionary, store)
    free = Term(work.memory_limit, "M") - (budget.FIXED + (budget.HASHING if work.dictionary else 0))
    size = limits.runs().size if limits.in_runs else limits.fold_bytes
    share = round(size / free.value, 4) if size > 0 else 0.0
    return limits, most(0, share * free).named("u")


def stream_plan(work: Work) -> Plan:
    """One process with its rows in a buffer, or in runs in memory if those fit."""
    n, m, _ = work.symbols
    limits, u = _budget(work, "buffer")
    room = (u - budget.VERTEX * n) / (EDGE + budget.SOLVE)
    if least(2 * n, m).value <= room.value and n.value <= limits.most_vertices:
        b = least(budget.MOST * n, m, room).named("b", "rows")
        fold = (EDGE + formulas.STREAM_SOLVE) * b + budget.VERTEX * n
    else:
        limits, u = _budget(work, "memory")
        fold = most(u, limits.runs().vertex * n)
    peak = formulas.STREAM_BASE + fold + work.dictionary * n
    return work.plan("stream", peak_memory=peak, fits=work.n_vertices <= limits.most_vertices)


def spill_plan(work: Work) -> Plan:
    """One process with its rows in runs on disk."""
    n, m, _ = work.symbols
    limits, u = _budget(work, "disk")
    fitting = most(0, (u - PIECES - budget.RUN_VERTEX * n) / (EDGE + budget.SORT))
    rows = least(fitting, Term(budget.MOST_RUN, "2^30"), m).named("r", "rows")
    peak = formulas.STREAM_BASE + least(u, budget.RUN_VERTEX * n + (EDGE + budget.SORT) * rows) + work.dictionary * n
    on_disk = EDGE * least((budget.ON_DISK + 1) * n, m + n)
    return work.plan("spill", peak_memory=peak, bytes_on_disk=on_disk, fits=work.n_vertices <= limits.most_vertices)


def components_plan(work: Work) -> Plan:
    """One process that unites the ends of the rows."""
    n, *_ = work.symbols
    limits = budget.Budget(work.memory_limit, 8, work.dictionary, sets=True)
    peak = formulas.STREAM_BASE + (budget.SETS + (ORDERED if work.dictionary else 0) + work.dictionary) * n
    return work.plan("components", peak_memory=peak, fits=work.n_vertices <= limits.most_vertices)


def clusters_plan(work: Work) -> Plan:
    """One process that folds a forest in a buffer or in memory, and cuts it at one threshold."""
    n, *_ = work.symbols
    fold = stream_plan(work)
    cut = formulas.STREAM_BASE + (budget.SETS + EDGE + CUT + work.dictionary) * n
    peak = most(fold.formulas["peak_memory"].named("folding"), cut.named("cutting"))
    limits = budget.Budget(work.memory_limit, 8, work.dictionary, sets=True)
    fits = fold.fits and limits.needed_for_cut(work.n_vertices, 1, in_memory=True) <= work.memory_limit
    return work.plan("clusters", peak_memory=peak, fits=fits)
