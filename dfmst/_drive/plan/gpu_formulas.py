"""What a plan says of workers with a GPU: bytes of its memory, and bytes over its bus.

The folds, merges, batches and slices are on the device, and the account of the host stays an upper bound: columns are
read and ids numbered there, and forests wait there. Constants are those of the tasks themselves.
"""

from __future__ import annotations

from dataclasses import replace

from dfmst._drive.plan.work import LIGHT, SPARSE_ID, Plan, Work
from dfmst._fold.budget import ROW, VERTEX, MemoryRunBudget
from dfmst._fold.slices import COMPACT

DEVICE_SHARE = 0.95  # of a GPU's memory: the rest is CUDA's own, and lost between allocations
_EDGE = ROW + 8
_SOLVE = 36  # bytes a row that solving takes on a GPU
_BUFFERS = (4, 2)  # rows of a fold's buffer, a vertex: the second where the first is too large
_DICTIONARY = 30  # bytes of a sparse integer id: 8 / 0.6 of slots and the id, both with room for 1.4 times as many
_SLICE = 2 * _EDGE + COMPACT  # bytes a row of the buffer that a slice is solved in
_ROOTS = 4.125  # bytes a vertex of a slice: its root, and a flag
_LEAST = 128  # rows of that buffer
_SOLVED = 16  # bytes a row that is solved or filtered: its vertices and its key
_POSITION = 4  # bytes of a forest's row, at the end


def device_vertices(usable: int) -> int:
    """Vertices whose forest a GPU folds within so many bytes."""
    return usable // (_BUFFERS[1] * (_EDGE + _SOLVE) + VERTEX)


def sliced_fits(work: Work) -> bool:
    """Whether a GPU folds a group's forest in runs, and solves slices; a worker without has no such bound."""
    fits = work.group_vertices <= MemoryRunBudget(work.device, 8).most_vertices
    return not work.device or (fits and _slices_fit(work))


def _slices_fit(work: Work) -> bool:
    return _ROOTS * work.vertices + _SLICE * _LEAST <= work.device


def on_gpus(work: Work, plan: Plan) -> Plan:
    """The plan with what it takes of each worker's GPU."""
    peak, formula, fits = _peak(work, plan)
    bus, bus_formula = _bus(work, plan)
    formulas = {**plan.formulas, "peak_gpu_memory": formula, "bytes_over_bus": bus_formula}
    return replace(
        plan,
        fits=plan.fits and fits,
        formulas=formulas,
        gpu_memory=round(work.device / DEVICE_SHARE),
        peak_gpu_memory=int(peak),
        bytes_over_bus=int(bus),
    )


def _peak(work: Work, plan: Plan) -> tuple[float, str, bool]:
    slices = f"{_ROOTS} · n + {_SLICE} · r), r: rows of a buffer, as many as fit, of G = {DEVICE_SHARE} of the GPU"
    if plan.strategy == "shuffle":
        return work.device, f"min(G, max({_EDGE + COMPACT} · b, {slices}", _slices_fit(work)
    if plan.rounds:
        room = MemoryRunBudget(work.device, 8)
        return work.device, f"min(G, max({room.vertex} · n and more, {slices}", sliced_fits(work)
    folds = [buffer * (_EDGE + _SOLVE) + VERTEX for buffer in _BUFFERS]
    if work.id_bytes == SPARSE_ID:  # where there is no room for the dictionary, the host numbers the ids
        folds = [folds[0] + _DICTIONARY, folds[1] + _DICTIONARY, folds[1]]
    vertex = next((fold for fold in folds if fold * work.vertices <= work.device), folds[-1])
    return vertex * work.vertices, f"{vertex} · n", work.group_vertices <= device_vertices(work.device)


def _bus(work: Work, plan: Plan) -> tuple[float, str]:
    """Bytes between hosts and GPUs, all workers together."""
    if not plan.rounds:
        return (_bus_of_texts if work.id_bytes > SPARSE_ID else _bus_of_integers)(work, plan)
    read, forests = _EDGE * work.edges, work.workers * min(work.vertices, work.edges / work.workers)
    kept = work.edges if plan.strategy == "shuffle" else forests
    name = "m" if plan.strategy == "shuffle" else "W · min(n, m / W)"
    states = 2 * _ROOTS * plan.rounds + 8
    formula = f"{_EDGE} · m + {2 * _EDGE} · {name} + {states:g} · n"
    return read + 2 * _EDGE * kept + states * work.vertices, formula


def _bus_of_integers(work: Work, plan: Plan) -> tuple[float, str]:
    """The same for a merge and two passes, whose forests stay on the GPUs.

    Every row that is read goes there, the light ones twice, and the forest's positions come back. What a worker sends,
    TCP takes to the host, and from there to the other worker's GPU: forests, and a filter; UCX does not.
    """
    reading, folded = _folded(work, plan, work.edge, work.edge)
    sent = 2 * work.edge * min(work.vertices, folded / work.workers)
    formula, name = reading[1], "l" if plan.reads == 2 else "m"
    travelling = f"{2 * work.edge} · min(n, {name} / W)"
    if plan.reads == 2:
        flags = 2 * (1 + (SPARSE_ID if work.dictionary else 0))
        sent += flags * work.vertices
        travelling += f" + {flags} · n"
    bus = reading[0] + (work.workers - 1) * sent + _POSITION * work.vertices
    return bus, f"{formula} + (W - 1) · ({travelling}) + {_POSITION} · n"


def _bus_of_texts(work: Work, plan: Plan) -> tuple[float, str]:
    """The same for ids that the host numbers: forests wait there.

    A fold's forest comes back. Of each row that is filtered or merged, its vertices and its key go to the GPU, and the
    positions of those that are left come back.
    """
    reading, folded = _folded(work, plan, _EDGE, _SOLVED)
    formula, name = reading[1], "l" if plan.reads == 2 else "m"
    merged = 2 * _SOLVED + _POSITION
    each = _EDGE * work.workers + merged * (work.workers - 1)
    bus = reading[0] + each * min(work.vertices, folded / work.workers)
    formula += f" + ({_EDGE} · W + {merged} · (W - 1)) · min(n, {name} / W)"
    if plan.reads == 2:  # with what has passed the filter
        bus += (_SOLVED + _POSITION) * work.vertices
        formula += f" + {_SOLVED + _POSITION} · n"
    return bus, formula


def _folded(work: Work, plan: Plan, row: int, filtered: int) -> tuple[tuple[float, str], float]:
    """Bytes of the rows that go to the GPUs to be folded, or filtered, and how many are folded of those read first."""
    if plan.reads == 1:
        return (row * work.edges, f"{row} · m"), work.edges
    light = min(work.edges, LIGHT * work.vertices)
    rest = filtered * work.edges if light < work.edges else 0  # all are light: they are not read again
    return (row * light + rest, f"{row} · l + {filtered} · m where l < m, l = min(m, {LIGHT:g} · n)"), light
