"""PMA: partial Prim from many start vertices at once, then unification, until no edge remains.

The steps of Nobari, Cao, Karras and Bressan (2012), and their places:

==================================================  ===========================================================
algorithm 1, and 5 (unification)                    ``grow_and_unify`` (below)
algorithm 2, lines 1 to 4: an unvisited vertex      kernel ``grow_subtrees``: compare-and-swap on ``tree``
algorithm 2, line 7: the lightest edge out          ``lightest_by_scan``; ``lightest_leaving``, from a heap
algorithm 2, lines 11 to 16: join, or hook, stop    kernel ``grow_subtrees``: compare-and-swap, ``parent``
algorithm 3 (MinPMA), 5.4: lightest to the front    ``lightest_arc``, ``sorted`` = 0, kept in the vertex's entry
algorithm 4 (SortPMA), ``Last``                     ``lightest_arc``, ``sorted`` = 1, from the vertex's entry on
algorithm 5, line 1, and two-cycles                 kernels ``break_cycles``, ``halve_paths``, ``flatten``
algorithm 5, lines 2 to 4, and 5.4: degree 0        ``contract_edges`` (contract.py)
section 5.3: parallel edges                         ``drop_parallel`` (contract.py)
==================================================  ===========================================================

The docstring of :class:`PMA` lists the differences from the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import contract_edges, count_roots, flatten
from dfmst._engines.primitives.edges import Adjacency, Edges, adjacency, gather_edges
from dfmst._engines.primitives.flags import flag_words
from dfmst._engines.primitives.sort import sort_order
from dfmst.algorithms._shared_steps import contract_round
from dfmst.algorithms.base import Trace, chosen_rows

_SORT_FROM: dict[str, int | None] = {"min": None, "sort": 1, "hybrid": 2}
_LEAST_SPAN, _MOST_SPAN, _SPAN_PER_DEGREE = 8, 256, 4


@dataclass(frozen=True, slots=True)
class PMA:
    """The parallel minimum spanning forest algorithm of Nobari et al.

    Parameters
    ----------
    lightest
        Search of a vertex's lightest edge out of its subtree: ``"min"`` searches its list, ``"sort"`` continues in a
        list sorted by weight, ``"hybrid"`` searches in the first round and sorts for the later, denser ones.
    max_subtree
        γ, the largest number of vertices of a subtree, at least 2. ``None`` takes four times the average degree of the
        round's graph, from 8 to 256. With 2, every subtree finds a single edge: always the slowest choice.
    drop_parallel
        Whether to keep only the lightest of the edges between two components.
    search
        Search of a subtree's lightest edge: ``"scan"`` reads all of its vertices, as published, so that a large
        `max_subtree` takes long; ``"heap"`` keeps them in a heap.

    Notes
    -----
    **Differences from the paper**

    * The paper's ``successor`` holds both the subtree of a vertex and the vertex that a subtree hooked onto. A start
      vertex that hooked onto a subtree then looks like one of its own, and the subtree's lightest edge may be missed.
      Here ``tree`` never changes once set, and hooking goes to ``parent``.
    * The edges are sorted by weight once, not once a round: contraction keeps their order.
    * By default the subtree's lightest edge comes from a heap with an entry for each vertex, so that a large
      ``max_subtree`` costs a logarithm; the paper's section 5.2.3 finds a heap of edges slower. ``search="scan"`` is
      the paper's, but skips vertices whose edges all lead inside.
    * With ``max_subtree=2`` the paper expects Vineet's algorithm. Here a vertex that a subtree takes chooses no edge of
      its own, so that a round joins fewer vertices than one of :class:`~dfmst.algorithms.Vineet`.
    * Self-loops and vertices of degree 0 leave the graph before the first round as well.

    Subtrees of sparse graphs meet late and leave the cache as they grow; on dense graphs large ones save rounds.
    Figures 4(a) and 7 have the best γ at 5 to 8 on sparse graphs and up to 200 on dense ones. So does the CPU engine: 8
    on a road network, 64 for a degree of 10 to 30, 256 for 2,000.

    A round's record adds ``conflicts`` (subtrees that met another one), ``reduction`` (share of the round's vertices
    that were joined away, figure 8), ``crossing`` (edges between components) and ``kept`` (those after parallel ones
    are dropped, figure 4b). ``vertices`` counts those with an edge. ``components`` of all but the last round may vary
    with the timing of the threads; the forest does not.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm=dfmst.algorithms.PMA("sort"))
    array([1, 2])

    References
    ----------
    Nobari, Cao, Karras, Bressan: Scalable parallel minimum spanning forest computation. PPoPP 2012.
    """

    lightest: Literal["min", "sort", "hybrid"] = "hybrid"
    max_subtree: int | None = None
    drop_parallel: bool = True
    search: Literal["heap", "scan"] = "heap"

    def __post_init__(self) -> None:
        """Refuse unknown choices, and subtrees that could not grow."""
        if self.lightest not in _SORT_FROM:
            raise ValueError(f"lightest is {self.lightest!r}; it must be 'min', 'sort' or 'hybrid'")
        if self.search not in ("heap", "scan"):
            raise ValueError(f"search is {self.search!r}; it must be 'heap' or 'scan'")
        if self.max_subtree is not None and self.max_subtree < 2:
            message = f"max_subtree is {self.max_subtree!r}; it must be at least 2, or None to choose by the degree"
            raise ValueError(message)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""

        def growth(graph: RoundGraph) -> Growth:
            rule = (int(graph.ordered), int(self.search == "scan"))
            return grow(engine, "grow_subtrees", graph, self._span(graph), rule)

        return grow_and_unify(engine, table, trace, growth, _SORT_FROM[self.lightest], self.drop_parallel)

    def _span(self, graph: RoundGraph) -> int:
        """γ, which is also how many start vertices an instance has to itself."""
        by_degree = round(_SPAN_PER_DEGREE * len(graph.lists.edge) / graph.vertices)
        return min(self.max_subtree or min(max(_LEAST_SPAN, by_degree), _MOST_SPAN), graph.vertices)


UNVISITED = np.iinfo(np.uint32).max

_GRAIN = 4096  # start vertices a thread takes at a time


class RoundGraph(NamedTuple):
    """A round's graph; `ordered` says whether the edges, and so all lists, ascend by weight."""

    edges: Edges
    lists: Adjacency
    vertices: int
    ordered: bool


class Growth(NamedTuple):
    """The subtrees of a round."""

    tree: Array  # the start vertex of each vertex's subtree, or `UNVISITED`
    # The same start vertex; at it, the vertex that the subtree hooked onto. A vertex in no subtree is its own parent.
    parent: Array
    taken: Array  # the list entry by which a vertex joined, or by which its subtree hooked; `UNVISITED`: none
    # How many subtrees met another one; it may depend on the timing of the threads, the forest never does.
    conflicts: int


def grow(engine: Engine, kernel: str, graph: RoundGraph, span: int, rule: tuple[Array | int, int | Array]) -> Growth:
    """Run Prim's algorithm from parts of `span` start vertices, every subtree of at most as many vertices."""
    xp, parts = engine.xp, -(-graph.vertices // span)
    tree = xp.full(graph.vertices, UNVISITED, np.uint32)
    parent = xp.arange(graph.vertices, dtype=np.uint32)
    heap = xp.empty(parts * span, graph.edges.key.dtype), xp.empty(parts * span, np.uint64)
    conflicts = xp.zeros(1, np.uint64)
    taken = xp.full(graph.vertices, UNVISITED, np.uint32)
    arguments = (*graph.lists, graph.vertices, span, *rule)
    grain = max(1, _GRAIN // span)
    engine.launch(kernel, parts, *arguments, tree, parent, *heap, taken, conflicts, grain=grain)
    return Growth(tree, parent, taken, int(conflicts[0]))


def grow_and_unify(
    engine: Engine,
    table: EdgeTable,
    trace: Trace,
    growth: Callable[[RoundGraph], Growth],
    sort_from: int | None,
    lightest_only: bool,
) -> Array:
    """Grow subtrees and unify the joined vertices, until no edge remains; the forest's rows, ascending ``int64``.

    `growth` grows a round's subtrees. The edges are sorted by weight at the beginning of round `sort_from`, and later
    rounds keep the order. With `lightest_only`, parallel edges are dropped.
    """
    chosen = flag_words(engine, len(table))
    components, number = table.vertices, 0
    itself = engine.xp.arange(table.vertices, dtype=np.uint32)
    trace.round(vertices=components, edges=len(table), chosen=0, components=components)
    with trace.step("prepare"):
        edges, vertices = contract_edges(engine, table.edges(), itself, table.flip, drop_isolated=True)
    trace.add(vertices=vertices)
    while len(edges):
        number += 1
        if number > 1:
            trace.round(vertices=vertices, edges=len(edges))
        if number == sort_from:
            with trace.step("sort"):
                edges = gather_edges(engine, edges, sort_order(engine, edges.key), None)
        with trace.step("lists"):
            lists = adjacency(engine, edges, vertices)
        ordered = sort_from is not None and number >= sort_from
        with trace.step("grow"):
            grown = growth(RoundGraph(edges, lists, vertices, ordered))
            engine.launch("flag_taken", vertices, grown.taken, lists.edge, edges.row, chosen)
        with trace.step("jump"):
            engine.launch("break_cycles", vertices, grown.parent)
            flatten(engine, grown.parent)
            joined = vertices - count_roots(engine, grown.parent)
        components -= joined
        trace.add(conflicts=grown.conflicts, chosen=joined, components=components, reduction=joined / vertices)
        contracted = contract_round(engine, edges, grown.parent, trace, "unify", lightest_only, isolated=False)
        edges, crossing, vertices = contracted
        trace.add(crossing=crossing, kept=len(edges))
    return chosen_rows(engine, chosen)
