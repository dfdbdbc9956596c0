"""What a plan says of workers with a GPU: bytes of its memory, and bytes over its bus.

The folds, merges, batches and slices are on the device, and the account of the host stays an upper bound: columns are
read and ids numbered there, and forests wait there. Constants are those of the tasks themselves.
"""

from __future__ import annotations

from dataclasses import replace

from dfmst._cluster.work import Plan, Work
from dfmst._folding.memory import ROW, VERTEX
from dfmst._slices.compact import COMPACT
from dfmst._slices.memory import HeldRoom

__all__ = ["DEVICE_SHARE", "device_vertices", "on_gpus", "sliced_fits"]

DEVICE_SHARE = 0.95  # of a GPU's memory: the rest is CUDA's own, and lost between allocations
_EDGE = ROW + 8
_SOLVE = 36  # bytes a row that solving takes on a GPU
_BUFFERS = (4, 2)  # rows of a fold's buffer, a vertex: the second where the first is too large
_SLICE = 2 * _EDGE + COMPACT  # bytes a row of the buffer that a slice is solved in
_ROOTS = 4.125  # bytes a vertex of a slice: its root, and a flag
_LEAST = 128  # rows of that buffer


def device_vertices(usable: int) -> int:
    """Vertices whose forest a GPU folds within so many bytes."""
    return usable // (_BUFFERS[1] * (_EDGE + _SOLVE) + VERTEX)


def sliced_fits(work: Work) -> bool:
    """Whether a GPU folds a group's forest in runs, and solves slices; a worker without has no such bound."""
    forest = min(work.vertices, work.edges / work.workers)
    return not work.device or (forest <= HeldRoom(work.device, 8).most_vertices and _slices_fit(work))


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
    forest = min(work.vertices, work.edges / work.workers)
    slices = f"{_ROOTS} · n + {_SLICE} · r), r: rows of a buffer, as many as fit, of G = {DEVICE_SHARE} of the GPU"
    if plan.strategy == "shuffle":
        return work.device, f"min(G, max({_EDGE + COMPACT} · b, {slices}", _slices_fit(work)
    if plan.rounds:
        room = HeldRoom(work.device, 8)
        return work.device, f"min(G, max({room.vertex} · f and more, {slices}, f = min(n, m / W)", sliced_fits(work)
    folds = [buffer * (_EDGE + _SOLVE) + VERTEX for buffer in _BUFFERS]
    vertex = folds[0] if folds[0] * work.vertices <= work.device else folds[1]
    return vertex * work.vertices, f"{vertex} · n", forest <= device_vertices(work.device)


def _bus(work: Work, plan: Plan) -> tuple[float, str]:
    """Bytes between hosts and GPUs, all workers together."""
    read, forests = plan.reads * _EDGE * work.edges, work.workers * min(work.vertices, work.edges / work.workers)
    if not plan.rounds:
        return read + 3 * _EDGE * forests, f"{plan.reads} · {_EDGE} · m + {3 * _EDGE} · W · min(n, m / W)"
    kept = work.edges if plan.strategy == "shuffle" else forests
    name = "m" if plan.strategy == "shuffle" else "W · min(n, m / W)"
    states = 2 * _ROOTS * plan.rounds + 8
    formula = f"{_EDGE} · m + {2 * _EDGE} · {name} + {states:g} · n"
    return read + 2 * _EDGE * kept + states * work.vertices, formula
