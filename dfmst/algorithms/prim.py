"""Prim's algorithm: trees grown vertex by vertex, in a form for the CPU and one for the GPU.

``"queues"`` is the parallel Prim of Knox and Knox (2025, section 3.3): one priority queue per thread, so that the
neighbors of a new vertex are offered in parallel without contention, and the lightest edge is the least of the
queues' tops. One native call runs it all (kernel ``grow_trees``); it forks within the thread pool for the neighbors of
a hub, a vertex with enough of them that a fork and a join cost less than they save.

``"reduction"`` is that of Wang, Huang and Guo (2011): every round a minimum reduction over the candidates that carries
the index (any length, at most two launches), one candidate joins, and the new vertex's neighbors are relaxed. There
is one round a vertex, and no parallelism beyond one vertex's neighbors and the candidates: it is for small or dense
graphs (the paper stops at 16,384 vertices; here only time does). A GPU takes three launches a round. On a CPU a launch
takes longer than a round, so that one native call runs them all (kernel ``reduce_rounds``), of the same steps.

Either form begins a new tree when no edge leads out of the last one, so that forests need no second pass.

===================================  ===============================================================================
Wang, Huang and Guo (2011)           here
===================================  ===============================================================================
section III.B, figure 3a             :class:`dfmst._engines.primitives.edges.Adjacency`, ``lists="columns"``
section III.C, figure 4 (A, B)       kernels ``list_spans`` and ``list_pairs``
section IV, kernel 1 (T1, T2)        kernel ``least_of_groups``, a tree in each warp; step ``reduce`` of the trace
section IV, kernel 2; adding (C)     kernel ``join_lightest``, a tree in one warp; step ``join``
table II, R1 and R3; R2              columns ``lightest`` (edge and weight); ``vertex``
section V.C.2, kernel 3              kernel ``relax_neighbors``, a thread a neighbor; step ``relax``
figures 9 and 10                     ``Prim("reduction")`` against ``Prim("reduction", lanes=1)`` and ``Prim("queues")``
Knox and Knox (2025), figure 3       ``Prim("queues")`` at ``queues`` = 1, 2, ...; figures 10 and 13 as well
===================================  ===============================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.kernels import constants_of
from dfmst._engines.primitives.edges import Adjacency, Edges, adjacency, key_edges
from dfmst._engines.primitives.flags import exclusive_sum, flag_words
from dfmst.algorithms.base import Trace, chosen_rows

_HUB_SHARE = 1 << 12  # neighbors a queue must get before a fork and a join pay: 1.6 ns each
_LANES = 128  # MAX_BLOCKS of Wang et al., the best that they measured
_WARP = 32  # threads that reduce together
_RELAX_LANES = 1 << 14
_SHARE = 1 << 12  # candidates or neighbors that a thread of a CPU takes at a time


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
        Neighbors from which a vertex's are shared out among the queues. ``None``: 4,096 for each queue.
    lanes
        Partial minima of a reduction. ``None``: one for each thread of a CPU; on a GPU the square root of the vertices,
        at most 128. With one, a single thread of a CPU looks at all candidates, and a single warp of a GPU.
    lists
        Neighbor lists of a reduction: ``"pairs"`` keeps a neighbor next to its weight, and a vertex's degree next to
        the begin of its list, as published; ``"columns"`` has them in columns of their own.

    Notes
    -----
    **Differences from the paper**

    * Wang et al. need a connected graph of at most 16,384 vertices; here a new tree begins when the last one ends.
    * Their reduction is a tree in the shared memory of a block of threads. Ours is one of exchanges between the 32
      threads of a warp, twice: no barrier, and two launches reduce any length as well. Of 16,384 candidates a warp
      takes 155 instructions, a thread alone 875. On a CPU a thread scans in the place of each warp.
    * On a CPU all rounds run in one call, and a thread takes no less than 4,096 candidates at a time.
    * Knox and Knox share out neighbor lists of any length among the queues. Ours shares those of `hub` neighbors or
      more.

    The record adds ``queues``, ``hubs`` and ``shared``, the neighbors that several queues were offered
    (``seconds_offer``, a part of ``seconds_grow``), or ``lanes``.

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
    hub: int | None = None
    lanes: int | None = None
    lists: Literal["pairs", "columns"] = "pairs"

    def __post_init__(self) -> None:
        """Refuse an unknown form and counts below one."""
        if self.form not in (None, "queues", "reduction"):
            raise ValueError(f"form is {self.form!r}; it must be 'queues', 'reduction' or None")
        if self.lists not in ("pairs", "columns"):
            raise ValueError(f"lists is {self.lists!r}; it must be 'pairs' or 'columns'")
        for name in ("queues", "hub", "lanes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1")

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        if len(table):
            trace.round(vertices=table.vertices, edges=len(table))
            with trace.step("gather"):
                edges = key_edges(engine, table.edges(), table.flip)
            self.grow(engine, edges, table.vertices, chosen, trace)
        return chosen_rows(engine, chosen)

    def grow(self, engine: Engine, edges: Edges, n_vertices: int, chosen: Array, trace: Trace) -> None:
        """Flag the rows of the forest of `edges` (see ``key_edges``), within the trace's current round."""
        with trace.step("adjacency"):
            lists = adjacency(engine, edges, n_vertices)
        form = self.form or ("queues" if engine.on_host else "reduction")
        grown = self._by_queues if form == "queues" else self._by_reduction
        found, joined, trees = grown(engine, edges, lists, trace)
        engine.launch("flag_chosen", joined, found, None, None, edges.row, chosen)
        trace.add(chosen=joined, components=trees)

    def _by_queues(self, engine: Engine, edges: Edges, lists: Adjacency, trace: Trace) -> tuple[Array, int, int]:
        xp, vertices = engine.xp, len(lists.offset) - 1
        most = self.queues or (engine.threads if engine.on_host else 1)
        hub = self.hub or _HUB_SHARE * most
        starts, shared = _queue_starts(engine, lists, len(edges), most, hub)
        queues = len(starts) - 1
        heap = (xp.empty(2 * int(starts[-1]), np.uint64), starts, xp.zeros(queues, np.uint64))
        reached = (
            xp.full(vertices, np.iinfo(lists.key.dtype).max, lists.key.dtype),
            xp.full(vertices, np.iinfo(np.uint32).max, np.uint32),
            xp.zeros(vertices, np.uint8),
        )
        found, state = xp.empty(vertices, np.uint32), _counters(xp)
        with trace.step("grow"):
            engine.launch("grow_trees", 1, *lists, vertices, hub, *heap, queues, *reached, found, state)
            joined, trees, hubs, nanoseconds = _counted(state, "JOINED", "TREES", "HUBS", "NANOSECONDS")
        trace.add(queues=queues, hubs=hubs, shared=shared, seconds_offer=nanoseconds / 1e9)
        return found, joined, trees

    def _by_reduction(self, engine: Engine, edges: Edges, lists: Adjacency, trace: Trace) -> tuple[Array, int, int]:
        xp, vertices = engine.xp, len(lists.offset) - 1
        # A thread of a CPU takes a whole lane: more lanes than threads only lengthen the second reduction.
        lanes = self.lanes or (engine.threads if engine.on_host else min(_LANES, max(1, math.isqrt(vertices))))
        with trace.step("adjacency"):
            graph = (*lists, *(_records(engine, lists) if self.lists == "pairs" else (None, None)))
        lightest = xp.full(vertices, np.iinfo(np.uint64).max, np.uint64)
        vertex, place = (xp.arange(vertices, dtype=np.uint32) for _ in range(2))
        partial = xp.empty(lanes, np.uint64), xp.empty(lanes, np.uint32)
        found, state = xp.empty(vertices, np.uint32), _counters(xp)
        candidates = (lightest, vertex, place, *partial, found, state)
        if engine.on_host:
            # A single lane is the scan without a reduction: nobody shares it.
            share, spent = _SHARE if lanes > 1 else vertices, xp.zeros(3, np.uint64)
            engine.launch("reduce_rounds", 1, *graph, vertices, lanes, share, edges.key, *candidates, spent)
            seconds = zip(("reduce", "join", "relax"), spent.tolist(), strict=True)
            trace.add(**{f"seconds_{step}": nanoseconds / 1e9 for step, nanoseconds in seconds})
        else:
            _rounds_by_launches(engine, edges.key, graph, candidates, trace)
        trace.add(lanes=lanes)
        joined, trees = _counted(state, "JOINED", "TREES")
        return found, joined, trees


def _counters(xp: ModuleType) -> Array:
    """Return cleared counters of both forms, by the names of the kernels' text."""
    counters: Array = xp.zeros(constants_of("common")["TREE_COUNTERS"], np.uint64)
    return counters


def _counted(counters: Array, *names: str) -> list[int]:
    words = counters.tolist()
    return [words[constants_of("common")[name]] for name in names]


def _records(engine: Engine, lists: Adjacency) -> tuple[Array, Array]:
    """Return a word a vertex with degree and begin of its list, and records of neighbor and key."""
    vertices, entries = len(lists.offset) - 1, len(lists.edge)
    spans = engine.xp.empty(vertices, np.uint64)
    pairs = engine.xp.empty(entries * lists.key.dtype.itemsize // 4, np.uint64)
    engine.launch("list_spans", vertices, lists.offset, spans)
    engine.launch("list_pairs", entries, lists.other, lists.key, pairs)
    return spans, pairs


def _rounds_by_launches(
    engine: Engine, key: Array, graph: tuple[Any, ...], candidates: tuple[Array, ...], trace: Trace
) -> None:
    """Run the rounds, three launches each at most; columns are named as in ``prim_reduction.cuh``."""
    lightest, vertex, place, *partial, found, state = candidates
    offset, vertices, most = graph[0], len(vertex), len(partial[0])
    relax_lanes = min(_RELAX_LANES, int(engine.xp.diff(offset).max()))
    for front in range(vertices):
        minima: list[Array | None] = [lightest[front:], None]
        length = vertices - front
        if length > most:
            length, minima = most, [*partial]
            with trace.step("reduce"):
                engine.launch("least_of_groups", _WARP * most, lightest, front, vertices, most, key, *partial)
        with trace.step("join"):
            columns = (lightest, vertex, place, found, state)
            engine.launch("join_lightest", _WARP, *minima, length, front, key, *columns)
        with trace.step("relax"):
            engine.launch("relax_neighbors", relax_lanes, *graph, relax_lanes, front, key, place, state, lightest)


def _queue_starts(engine: Engine, lists: Adjacency, edges: int, queues: int, hub: int) -> tuple[Array, int]:
    """Begin of each queue and end of the last one, and how many list entries the queues share."""
    degree = engine.xp.diff(lists.offset)
    shared = degree[degree >= np.uint64(hub)]
    if not len(shared):
        queues = 1
    # An edge is offered once, when the first of its ends joins.
    lengths = engine.xp.full(queues, min(edges, int((shared // np.uint64(queues) + np.uint64(1)).sum())), np.uint64)
    lengths[0] = edges
    starts, total = exclusive_sum(engine, lengths)
    return engine.xp.append(starts, np.uint64(total)), int(shared.sum()) if queues > 1 else 0
