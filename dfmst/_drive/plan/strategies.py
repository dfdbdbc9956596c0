"""The strategies of a plan, and which of them ``"auto"`` chooses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dfmst._drive.plan.formulas import (
    BASE,
    DENSE,
    LABELLED,
    MOST_OWNERS,
    Work,
    add_gpus,
    device_vertices,
    fitting_vertices,
    merge_plan,
    owner_count,
    shuffle_plan,
    sliced_merge_plan,
    two_pass_plan,
)
from dfmst._drive.plan.streams import clusters_plan, components_plan, spill_plan, stream_plan
from dfmst._drive.plan.terms import Plan, Term, most
from dfmst.errors import CapacityError


def labels_plan(work: Work) -> Plan:
    """Components of a Dask frame: the forest of all partitions, then rounds of contraction among owners."""
    forest = automatic_plan(work)
    owners = owner_count(work.memory_limit, work.workers, work.n_vertices, work.partitions)
    shares = Term(owners, f"min({MOST_OWNERS}, P, max(2 · W, {2 * LABELLED} · n / s))").named("owners", "tasks")
    labelling = (BASE + LABELLED * work.symbols[0] / shares).named("labelling")
    peak = most(forest.formulas["peak_memory"].named("forest"), labelling)
    return work.plan("labels", peak_memory=peak, reads=forest.reads, rounds=forest.rounds, fits=forest.fits)


PLANS: dict[str, Callable[[Work], Plan]] = {
    **{"merge": merge_plan, "two-pass": two_pass_plan, "shuffle": shuffle_plan, "labels": labels_plan},
    **{"stream": stream_plan, "spill": spill_plan, "components": components_plan, "clusters": clusters_plan},
}


def fitting_plan(work: Work, rereadable: bool = True) -> Plan:
    """Return the plan of ``"auto"``, or raise if no strategy fits."""
    plan = automatic_plan(work, rereadable)
    if plan.fits:
        return plan
    needed = math.ceil(plan_of(work, "shuffle").peak_memory / 1e6 * 1.2)
    message = (
        f"{work.n_vertices:,} vertices in partitions of {math.ceil(work.n_edges / work.partitions):,} rows do not fit "
        f"workers of {work.memory_limit // 1_000_000:,} MB, by any strategy"
    )
    hint = f"use workers of {needed:,} MB, or more and smaller partitions; dfmst forest --spill-dir needs one machine"
    raise CapacityError(message, hint)


def automatic_plan(work: Work, rereadable: bool = True) -> Plan:
    """Return the plan of ``"auto"``: the first choice if it fits, else the shuffle if that fits."""
    strategy, reason = _choose(work, rereadable)
    plan = replace(plan_of(work, strategy), reason=reason)
    if plan.fits:
        return plan
    shuffle = replace(plan_of(work, "shuffle"), reason="nothing else fits")
    return shuffle if shuffle.fits else replace(plan, reason="no strategy fits")


def _choose(work: Work, rereadable: bool) -> tuple[str, str]:
    """The first choice of ``"auto"``, and why."""
    whole = work.n_vertices <= fitting_vertices(work.memory_limit, work.id_bytes)
    whole = whole and (not work.device or work.n_vertices <= device_vertices(work.device))
    if rereadable and work.n_edges >= DENSE * work.n_vertices and (whole or plan_of(work, "two-pass").fits):
        return "two-pass", f"{DENSE} edges a vertex or more, so a second read of the rows pays"
    if whole:
        return "merge", "a forest of all vertices fits one worker"
    sliced = sliced_merge_plan(work)
    if sliced.fits and sliced.bytes_moved <= shuffle_plan(work).bytes_moved:
        return "merge", "a forest of all vertices fits no worker, and slices move fewer bytes than a shuffle"
    return "shuffle", "a forest of all vertices fits no worker"


def plan_of(work: Work, strategy: str) -> Plan:
    """Return the plan of a strategy."""
    plan = PLANS[strategy](work)
    return add_gpus(work, plan) if work.device else plan
