"""What a forest on a cluster will take: memory, bytes moved, rounds; and which strategy fits.

The formulas are short on purpose: they are printed beside their results, and ``auto`` decides by them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["Plan", "fitting_vertices", "plan"]

BASE = 250 << 20  # a worker's Python, Dask, Arrow and pandas
EDGE = 24  # bytes of an edge that travels or waits: two 32-bit ids, a 64-bit key, a 64-bit locator
BUFFER = 4  # rows of a fold's buffer, a vertex
SOLVE = 12  # further bytes a buffered row while a full buffer is solved
VERTEX = 24  # bytes a vertex for numbers, parents and the filter
LIGHT = 4.0  # light rows of the first pass, a vertex
DENSE = 8  # rows a vertex from which a second read pays


@dataclass(frozen=True, slots=True)
class Plan:
    """A prediction; see :func:`plan`.

    Attributes
    ----------
    strategy
        What ``strategy="auto"`` would choose.
    rounds
        Reads of the table, or rounds of the shuffle before what is left fits one worker.
    bytes_moved
        Between workers.
    peak_memory
        Of one worker, in bytes.
    formulas
        Name -> how it was computed.
    """

    strategy: str
    rounds: int
    bytes_moved: int
    peak_memory: int
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
        That its rows come in.
    workers
        Processes.
    memory
        Bytes each may use.
    strategy
        ``"auto"``, or one of the strategies of :func:`dfmst.dask.minimum_spanning_forest`.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.plan(2_000_000, 96_000_000, partitions=48, workers=2, memory=3 << 30).strategy
    'two-pass'
    """
    rows = math.ceil(edges / max(partitions, 1))
    if strategy == "auto":
        strategy = choose(vertices, edges, memory)
    return _PREDICT[strategy](vertices, edges, rows, workers, memory)


def choose(vertices: int, edges: int, memory: int, rereadable: bool = True) -> str:
    """The strategy that ``auto`` stands for."""
    if vertices > fitting_vertices(memory):
        return "shuffle"
    return "two-pass" if rereadable and edges >= DENSE * vertices else "merge"


def fitting_vertices(memory: int) -> int:
    """Vertices whose forest one worker can fold and merge in so much memory."""
    return max(1, (memory - BASE) // (BUFFER * (EDGE + SOLVE) + VERTEX))


def _folding(vertices: int, rows: int) -> int:
    return BASE + BUFFER * vertices * (EDGE + SOLVE) + VERTEX * vertices + 2 * EDGE * rows


def _merge(vertices: int, edges: int, rows: int, workers: int, memory: int) -> Plan:
    moved = (workers - 1) * vertices * EDGE
    return Plan("merge", 1, moved, _folding(vertices, rows), {})


def _two_pass(vertices: int, edges: int, rows: int, workers: int, memory: int) -> Plan:
    return Plan("two-pass", 2, (workers - 1) * vertices * EDGE, _folding(vertices, rows), {})


def _shuffle(vertices: int, edges: int, rows: int, workers: int, memory: int) -> Plan:
    rounds = max(1, math.ceil(math.log2(max(2.0, vertices / fitting_vertices(memory)))))
    return Plan("shuffle", rounds, 2 * EDGE * edges * rounds, 2 * EDGE * edges // workers, {})


_PREDICT = {"merge": _merge, "two-pass": _two_pass, "shuffle": _shuffle}
