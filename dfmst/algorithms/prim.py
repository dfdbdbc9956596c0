"""Prim's algorithm: trees grown vertex by vertex, in a form for the CPU and one for the GPU.

``"queues"`` is the parallel Prim of Knox and Knox (2025, section 3.3): one priority queue per thread, so that the
neighbours of a new vertex are offered in parallel without contention, and the lightest edge is the least of the
queues' tops. A fork and a join cost as much as thousands of offers, so that only the neighbours of a vertex of high
degree are shared out; one index grows the trees in between (kernels ``grow_trees`` and ``offer_neighbours``).

``"reduction"`` is that of Wang, Huang and Guo (2011): every round a minimum reduction over the candidates that carries
the index (any length, at most two launches), one candidate joins, and the new vertex's neighbours are relaxed. There
is one round a vertex, three launches each, and no parallelism beyond one vertex's neighbours and the candidates: it is
for small or dense graphs (the paper stops at 16,384 vertices; here only time does).

Either form begins a new tree where no edge leads out of the last one, so that forests need no second pass.

===================================  ===============================================================================
Wang, Huang and Guo (2011)           here
===================================  ===============================================================================
section III.C, figure 4 (A, B)       :class:`dfmst._primitives.adjacency.Adjacency`
section IV, kernel 1 (T1, T2)        kernel ``lightest_of_lanes``; step ``reduce`` of the trace
section IV, kernel 2; adding (C)     kernel ``join_lightest``; step ``join``
table II, R1 and R3; R2              columns ``lightest`` (edge and weight); ``vertex``
section V.C.2, kernel 3              kernel ``relax_neighbours``, a thread a neighbour; step ``relax``
figures 9 and 10                     ``Prim("reduction")`` against ``Prim("reduction", lanes=1)`` and ``Prim("queues")``
Knox and Knox (2025), figure 3       ``Prim("queues")`` at ``queues`` = 1, 2, ...; figures 10 and 13 likewise
===================================  ===============================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dfmst._columns.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._primitives.adjacency import Adjacency, adjacency
from dfmst._primitives.edges import Edges, gather_keys, key_edges
from dfmst._primitives.flags import exclusive_sum, flag_words
from dfmst.algorithms.base import chosen_rows
from dfmst.algorithms.trace import Trace
from dfmst.typing import Array

__all__ = ["Prim"]

_HUB = 1 << 15  # neighbours from which sharing them out pays for a fork and a join
_LANES = 128  # MAX_BLOCKS of Wang et al.: the measured best there
_RELAX_LANES = 1 << 14


@dataclass(frozen=True, slots=True)
class Prim:
    """Prim's algorithm.

    Parameters
    ----------
    form
        ``"queues"`` (CPU), ``"reduction"`` (GPU; for small or dense graphs), or ``None``: by engine.
    queues
        Priority queues, each filled by one thread. ``None``: the engine's threads; on the CUDA engine, where one of
        the device's threads grows the trees and looks at every queue, a single one.
    hub
        Neighbours from which a vertex's are shared out among the queues.
    lanes
        Partial minima of a reduction. ``None``: the square root of the vertices, at most 128.

    Notes
    -----
    **Differences from the paper**

    * Wang et al. need a connected graph of at most 16,384 vertices; here a new tree begins where the last one ends.
    * Their reduction is a tree within a block of threads. Ours is flat: `lanes` partial minima, each a scan, and one
      index that joins them. On the CPU a launch of 128 lanes is less than a thread's share and runs on one: shared
      among two threads, a reduction over 16,384 vertices took 2,900 to 3,500 ms of CPU time where one thread took
      1,900 to 2,200.
    * Knox and Knox share out every neighbour list among the queues. Ours shares those of `hub` neighbours or more: a
      fork costs as much as thousands of offers. From 256 neighbours on, two threads gain nothing (0.9 to 1.1 times
      the speed of one at densities of 5 to 100 %), so that the default shares none on such graphs.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm=dfmst.algorithms.Prim("reduction"))
    array([1, 2])

    References
    ----------
    Prim (1957); Wang, Huang, Guo: Design and implementation of GPU-based Prim's algorithm. IJMECS 2011; Knox and
    Knox (2025), section 3.
    """

    form: Literal["queues", "reduction"] | None = None
    queues: int | None = None
    hub: int = _HUB
    lanes: int | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown form and counts below one."""
        if self.form not in (None, "queues", "reduction"):
            message = f"form is {self.form!r}; it must be 'queues', 'reduction' or None"
            raise ValueError(message)
        for name in ("queues", "hub", "lanes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                message = f"{name} is {value}; it must be at least 1"
                raise ValueError(message)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        if len(table):
            trace.round(vertices=table.vertices, edges=len(table))
            with trace.step("gather"):
                edges = key_edges(engine, table.edges(), table.flip)
            self.grow(engine, edges, table.vertices, chosen, trace)
        return chosen_rows(engine, chosen)

    def grow(self, engine: Engine, edges: Edges, vertices: int, chosen: Array, trace: Trace) -> None:
        """Flag the rows of the forest of `edges` (see ``key_edges``), within the trace's current round."""
        with trace.step("adjacency"):
            lists = adjacency(engine, edges, vertices)
        form = self.form or ("queues" if engine.on_host else "reduction")
        grown = self._by_queues if form == "queues" else self._by_reduction
        found, joined, trees = grown(engine, edges, lists, trace)
        engine.launch("flag_chosen", joined, found, None, None, edges.row, chosen)
        trace.add(chosen=joined, components=trees)

    def _by_queues(self, engine: Engine, edges: Edges, lists: Adjacency, trace: Trace) -> tuple[Array, int, int]:
        xp, vertices = engine.xp, len(lists.offset) - 1
        with trace.step("gather"):
            key = gather_keys(engine, edges.key, lists.edge)
        most = engine.threads if engine.on_host else 1
        starts, hubs = _queue_starts(engine, lists, len(edges), self.queues or most, self.hub)
        queues = len(starts) - 1
        heap = (xp.empty(2 * int(starts[-1]), np.uint64), starts, xp.zeros(queues, np.uint64))
        columns = (lists.edge, lists.other, key)
        reached = (
            xp.full(vertices, np.iinfo(key.dtype).max, key.dtype),
            xp.full(vertices, np.iinfo(np.uint32).max, np.uint32),
            xp.zeros(vertices, np.uint8),
        )
        found, state = xp.empty(vertices, np.uint32), xp.zeros(4, np.uint64)
        while True:
            with trace.step("grow"):
                lengths = (vertices, self.hub)
                engine.launch("grow_trees", 1, lists.offset, *columns, *lengths, *heap, queues, *reached, found, state)
                vertex = int(state[3])
            if vertex == vertices:
                break
            with trace.step("offer"):
                begin, end = int(lists.offset[vertex]), int(lists.offset[vertex + 1])
                span = (begin, end, -(-(end - begin) // queues))
                engine.launch("offer_neighbours", queues, *columns, *span, *heap, *reached, grain=1)
        trace.add(queues=queues, hubs=hubs)
        return found, int(state[0]), int(state[2])

    def _by_reduction(self, engine: Engine, edges: Edges, lists: Adjacency, trace: Trace) -> tuple[Array, int, int]:
        xp, key, vertices = engine.xp, edges.key, len(lists.offset) - 1
        most = self.lanes or min(_LANES, max(1, math.isqrt(vertices)))
        partial = (xp.empty(most, np.uint64), xp.empty(most, np.uint32))
        lightest = xp.full(vertices, np.iinfo(np.uint64).max, np.uint64)
        vertex, place = (xp.arange(vertices, dtype=np.uint32) for _ in range(2))
        found, state = xp.empty(vertices, np.uint32), xp.zeros(3, np.uint64)
        neighbours = (lists.offset, lists.edge, lists.other)
        relax_lanes = min(_RELAX_LANES, int(xp.diff(lists.offset).max()))
        for front in range(vertices):
            lanes, minima = vertices - front, (lightest[front:], None)
            if lanes > most:
                lanes, minima = most, partial
                with trace.step("reduce"):
                    engine.launch("lightest_of_lanes", lanes, lightest, front, vertices, lanes, key, *partial)
            with trace.step("join"):
                columns = (lightest, vertex, place, found, state)
                engine.launch("join_lightest", 1, *minima, lanes, front, key, *columns)
            with trace.step("relax"):
                arguments = (relax_lanes, front, key, place, state, lightest)
                engine.launch("relax_neighbours", relax_lanes, *neighbours, *arguments)
        trace.add(lanes=most)
        return found, int(state[0]), int(state[2])


def _queue_starts(engine: Engine, lists: Adjacency, edges: int, queues: int, hub: int) -> tuple[Array, int]:
    """Where each queue begins and the last one ends, and how many vertices fill more than the first of them."""
    degree = engine.xp.diff(lists.offset)
    shared = degree[degree >= np.uint64(hub)]
    if not len(shared):
        queues = 1
    # An edge is offered once, when the first of its ends joins.
    lengths = engine.xp.full(queues, min(edges, int((shared // np.uint64(queues) + np.uint64(1)).sum())), np.uint64)
    lengths[0] = edges
    starts, total = exclusive_sum(engine, lengths)
    return engine.xp.append(starts, np.uint64(total)), len(shared)
