"""What PMA and MST-BC share: rounds that grow many subtrees at once and then unify each component.

The rounds are algorithm 1 of Nobari et al. (2012), the unification is their algorithm 5. The two algorithms differ in
how a subtree grows and in when it stops, and so in one kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.adjacency import Adjacency, adjacency
from dfmst._engines.primitives.contract import contract_edges, count_roots, drop_parallel, flatten
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_keys
from dfmst._engines.primitives.flags import flag_words
from dfmst._engines.primitives.sort import sort_order
from dfmst.algorithms.base import chosen_rows
from dfmst.algorithms.trace import Trace

UNVISITED = np.iinfo(np.uint32).max

_GRAIN = 4096  # start vertices a thread takes at a time


class RoundGraph(NamedTuple):
    """A round's graph; `ordered` says whether the edges, and so all lists, ascend by weight."""

    edges: Edges
    lists: Adjacency
    vertices: int
    ordered: bool


class Growth(NamedTuple):
    """The subtrees of a round.

    Attributes
    ----------
    tree
        The start vertex of each vertex's subtree, or `UNVISITED`.
    parent
        The same start vertex; at it, the vertex that the subtree hooked onto. A vertex in no subtree is its own parent.
    conflicts
        How many subtrees met another one; it may depend on the timing of the threads, the forest never does.
    """

    tree: Array
    parent: Array
    conflicts: int


def grow(
    engine: Engine, kernel: str, graph: RoundGraph, span: int, rule: tuple[Array | int, int | Array], chosen: Array
) -> Growth:
    """Run Prim's algorithm from parts of `span` start vertices, every subtree of at most as many vertices."""
    xp, parts = engine.xp, -(-graph.vertices // span)
    tree = xp.full(graph.vertices, UNVISITED, np.uint32)
    parent = xp.arange(graph.vertices, dtype=np.uint32)
    heap = xp.empty(parts * span, graph.edges.key.dtype), xp.empty(parts * span, np.uint64)
    conflicts = xp.zeros(1, np.uint64)
    lists, edges = graph.lists, graph.edges
    # A list's keys side by side: a thread reads them one after the other, and would wait for each.
    key = gather_keys(engine, edges.key, lists.edge)
    arguments = (lists.offset, lists.edge, lists.other, key, edges.row, graph.vertices, span, *rule)
    grain = max(1, _GRAIN // span)
    engine.launch(kernel, parts, *arguments, tree, parent, *heap, chosen, conflicts, grain=grain)
    return Growth(tree, parent, int(conflicts[0]))


class Rounds(NamedTuple):
    """What an algorithm does in its rounds.

    Attributes
    ----------
    growth
        Grows a round's subtrees, and sets the flags of the rows they choose.
    sort_from
        The round that begins with a sort of the edges by weight (``None``: none); later rounds keep the order.
    drop_parallel
        Whether to keep only the lightest of the edges between two components.
    """

    growth: Callable[[RoundGraph, Array], Growth]
    sort_from: int | None
    drop_parallel: bool


def grow_and_unify(engine: Engine, table: EdgeTable, trace: Trace, rounds: Rounds) -> Array:
    """Grow subtrees and unify what they joined, until no edge is left; the forest's rows, ascending ``int64``."""
    chosen = flag_words(engine, len(table))
    components, number = table.vertices, 0
    itself = engine.xp.arange(table.vertices, dtype=np.uint32)
    trace.round(vertices=components, edges=len(table), chosen=0, components=components)
    with trace.step("unify"):
        edges, vertices = contract_edges(engine, table.edges(), itself, table.flip, drop_isolated=True)
    trace.add(vertices=vertices)
    while len(edges):
        number += 1
        if number > 1:
            trace.round(vertices=vertices, edges=len(edges))
        if number == rounds.sort_from:
            with trace.step("sort"):
                edges = gather_edges(engine, edges, sort_order(engine, edges.key), None)
        with trace.step("lists"):
            lists = adjacency(engine, edges, vertices)
        ordered = rounds.sort_from is not None and number >= rounds.sort_from
        parent, joined = _join(engine, rounds.growth, RoundGraph(edges, lists, vertices, ordered), chosen, trace)
        components -= joined
        trace.add(chosen=joined, components=components, reduction=joined / vertices)
        edges, vertices = _unify(engine, edges, parent, rounds.drop_parallel, trace)
    return chosen_rows(engine, chosen)


def _join(
    engine: Engine, growth: Callable[[RoundGraph, Array], Growth], graph: RoundGraph, chosen: Array, trace: Trace
) -> tuple[Array, int]:
    """Grow the subtrees; every vertex's component, and how many vertices joined another one."""
    with trace.step("grow"):
        grown = growth(graph, chosen)
        trace.add(conflicts=grown.conflicts)
    with trace.step("jump"):
        engine.launch("break_cycles", graph.vertices, grown.parent)
        flatten(engine, grown.parent)
        return grown.parent, graph.vertices - count_roots(engine, grown.parent)


def _unify(engine: Engine, edges: Edges, parent: Array, lightest_only: bool, trace: Trace) -> tuple[Edges, int]:
    """Make each component a vertex; drop self-loops, vertices without edges and parallel edges."""
    with trace.step("unify"):
        edges, vertices = contract_edges(engine, edges, parent, drop_isolated=True)
    trace.add(crossing=len(edges))
    if lightest_only:
        with trace.step("parallel"):
            edges = drop_parallel(engine, edges, vertices)
    trace.add(kept=len(edges))
    return edges, vertices
