"""What a forest on a cluster will take: memory, bytes moved, rounds; and which strategy fits.

The formulas are short on purpose: they stand beside their results, and ``strategy="auto"`` decides by them. Their
constants were measured (bench/results/cpu/cluster.json).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["BASE", "Plan", "choose_strategy", "fitting_vertices", "plan"]

BASE = 210_000_000  # bytes of a worker that has loaded Python, Dask, Arrow and pandas
EDGE = 24  # bytes of an edge that travels or waits: two 32-bit ids, a 64-bit key, a 64-bit locator
WIDE = 32  # the same with 64-bit ids, as a shuffle sends them
PART = 52  # bytes a row of the partition that is being read
BUFFER = 4  # rows that a fold's buffer holds, a vertex
SOLVE = 22  # bytes a row that solving a buffer takes beside it
MERGE = 3 * EDGE + SOLVE  # bytes a row of the forests that one task merges
LIGHT = 4.0  # rows that a first pass folds, a vertex
RESIDUE = 0.05  # rows that pass the filter and survive, a vertex
DENSE = 8  # rows a vertex from which a second read pays
_FOREST = max(BUFFER * (EDGE + SOLVE), 2 * MERGE)  # bytes a vertex of the forest that a worker holds
ROUND = 3.0  # components that one round of a shuffle makes one of; at least 2


@dataclass(frozen=True, slots=True)
class Plan:
    """A prediction; see :func:`plan`.

    Attributes
    ----------
    strategy
        The strategy it is for.
    reads
        How often the rows are read to find the forest; once more to write it.
    rounds
        Rounds of a shuffle before what is left fits one worker.
    bytes_moved
        Between workers.
    peak_memory
        Of one worker, in bytes.
    fits
        Whether that is within what the worker may use.
    formulas
        Quantity -> how it was computed.
    """

    strategy: str
    reads: int
    rounds: int
    bytes_moved: int
    peak_memory: int
    fits: bool
    formulas: dict[str, str] = field(default_factory=dict)


def plan(
    vertices: int,
    edges: int,
    *,
    partitions: int = 1,
    workers: int = 1,
    memory: int = 4 << 30,
    strategy: str = "auto",
) -> Plan:
    """Predict what a forest on a cluster takes.

    Parameters
    ----------
    vertices, edges
        Of the graph.
    partitions
        That its rows come in, all of one size.
    workers
        Processes, one task at a time each.
    memory
        Bytes that each may use.
    strategy
        ``"auto"``, or one of the strategies of ``dfmst.dask.minimum_spanning_forest``.

    Returns
    -------
    Plan
        Strategy, reads, rounds, bytes moved, peak memory of a worker and whether that fits, and the formulas.

    Raises
    ------
    ValueError
        A count below 1, or an unknown strategy.

    Examples
    --------
    >>> import dfmst
    >>> found = dfmst.plan(2_000_000, 96_000_000, partitions=48, workers=2, memory=3 << 30)
    >>> found.strategy, found.reads, found.formulas["bytes_moved"]
    ('two-pass', 2, '(W - 1) · n · (24 + 1 + 24 · 0.05) + (W - 1) / W · n · 4')
    """
    counts = {"vertices": vertices, "edges": edges, "partitions": partitions, "workers": workers, "memory": memory}
    for name, value in counts.items():
        if value < 1:
            message = f"{name} is {value}; it must be at least 1"
            raise ValueError(message)
    chosen = choose_strategy(vertices, edges, memory) if strategy == "auto" else strategy
    if chosen not in _PLANS:
        message = f"unknown strategy {strategy!r}; known: 'auto', {', '.join(map(repr, _PLANS))}"
        raise ValueError(message)
    return _PLANS[chosen](vertices, edges, math.ceil(edges / partitions), workers, memory)


def choose_strategy(vertices: int, edges: int, memory: int, rereadable: bool = True) -> str:
    """The strategy that ``"auto"`` stands for."""
    if vertices > fitting_vertices(memory):
        return "shuffle"
    return "two-pass" if rereadable and edges >= DENSE * vertices else "merge"


def fitting_vertices(memory: int) -> int:
    """Vertices whose forest one worker folds and merges within so much memory."""
    return max(1, (memory - BASE) // _FOREST)


def _gathering(vertices: int, workers: int) -> float:
    """Bytes of the positions that go back to the workers that gather the rows."""
    return (workers - 1) / workers * vertices * 4


def _peak(vertices: int, rows: int, buffered: float, workers: int) -> int:
    merging = 2 * MERGE * vertices if workers > 1 else 0
    return int(BASE + max(PART * rows + (EDGE + SOLVE) * buffered, merging))


def _merge(vertices: int, edges: int, rows: int, workers: int, memory: int) -> Plan:
    forest = min(vertices, edges / workers)
    moved = (workers - 1) * forest * EDGE + _gathering(vertices, workers)
    peak = _peak(int(forest), rows, min(BUFFER * vertices, edges / workers), workers)
    formulas = {
        "bytes_moved": f"(W - 1) · min(n, m / W) · {EDGE} + (W - 1) / W · n · 4",
        "peak_memory": _peak_formula(f"min({BUFFER} · n, m / W)"),
    }
    return Plan("merge", 1, 0, int(moved), peak, peak <= memory, formulas)


def _two_pass(vertices: int, edges: int, rows: int, workers: int, memory: int) -> Plan:
    moved = (workers - 1) * vertices * (EDGE + 1 + EDGE * RESIDUE) + _gathering(vertices, workers)
    peak = _peak(vertices, rows, min(BUFFER, LIGHT / workers) * vertices, workers)
    formulas = {
        "bytes_moved": f"(W - 1) · n · ({EDGE} + 1 + {EDGE} · {RESIDUE}) + (W - 1) / W · n · 4",
        "peak_memory": _peak_formula(f"min({BUFFER}, {LIGHT:g} / W) · n"),
    }
    return Plan("two-pass", 2, 0, int(moved), peak, peak <= memory, formulas)


def _peak_formula(buffered: str) -> str:
    fold = f"{PART} · m / P + {EDGE + SOLVE} · {buffered}"
    return f"{BASE // 1_000_000} MB + max({fold}, {2 * MERGE} · n where W > 1)"


def _shuffle(vertices: int, edges: int, rows: int, workers: int, memory: int) -> Plan:
    fit = fitting_vertices(memory)
    shards = max(2, workers)
    rounds = max(0, math.ceil(math.log(max(vertices / fit, 1.0), ROUND)))
    # A batch of `fit` rows leaves its own forest, at most its vertices; parallel edges go with every round.
    kept = min(edges, math.ceil(edges / max(fit, 1)) * vertices)
    left = [min(kept, kept * (1 - 1 / shards) ** step) for step in range(rounds + 1)]
    moved = 2 * WIDE * (shards - 1) / shards * sum(left)
    peak = BASE + 2 * kept / shards * WIDE * 4
    formulas = {
        "rounds": f"log{ROUND:g}(n / fit), fit = (M - {BASE // 1_000_000} MB) / {_FOREST}",
        "bytes_moved": f"sum over rounds of 2 · {WIDE} · (S - 1) / S · edges left, S = max(2, W)",
        "peak_memory": f"{BASE // 1_000_000} MB + 4 · {WIDE} · 2 · min(m, m / fit · n) / S",
    }
    return Plan("shuffle", 1, rounds, int(moved), int(peak), peak <= memory, formulas)


_PLANS = {"merge": _merge, "two-pass": _two_pass, "shuffle": _shuffle}
