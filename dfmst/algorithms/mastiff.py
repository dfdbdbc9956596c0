"""Mastiff: Borůvka's rounds without rewriting the graph, the largest component of each graph component exempt.

Koohi Esfahani, Kilpatrick and Vandierendonck (2022). Of the c components of a graph component at most c - 1 choose an
edge that no other has chosen, so one of them need not look (section 4.1): the largest, whose edges are the most.
Vertices are ROOT, MERGED or EXEMPT (figure 5); components are disjoint sets, and neither vertices nor edges are
renumbered or merged.

=========================  =====================================================================================
Algorithm 1                here
=========================  =====================================================================================
line 8, graph components   :func:`dfmst._engines.primitives.contract.component_labels`
lines 9-13, max degree     kernel ``count_ends``, then ``stand`` and ``elect`` by degree: each graph component's
                           vertex of highest degree is the first to be exempt
lines 14-21                :class:`_Forest`
step 1, lines 23-29        kernel ``lightest_in_lists``, vertex by vertex (``frontier``: ``lightest_of_roots``, edge by
                           edge, for both of its ends)
steps 2-3, lines 30-37     kernels ``find_across`` and ``append_across`` (``frontier``: ``append``)
step 4, lines 38-43        kernels ``find_tops`` and ``compress_paths``
step 5, lines 44-49        kernels ``stand`` and ``elect``
section 5.5, figure 9      ``frontier``: lists of the components and of the edges that are still of use
=========================  =====================================================================================

The docstring of :class:`Mastiff` lists the differences from the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels
from dfmst._engines.primitives.edges import Edges, adjacency, gather_edges, key_edges, spread_positions
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flag_words
from dfmst.algorithms.base import Trace, chosen_rows

_DEPTH_LIMIT = 64  # steps to a root that are counted; a chain of n vertices would take n * n / 2 of them
_NO_LIMIT = (1 << 32) - 1
_DEGREE_SAMPLE = 1 << 18
_SHARE_SAMPLE = 1 << 10
_LARGEST_SHARE = 0.95  # of the edges between components, above which the edges stay as they are
_ONE = np.uint64(1 << 32)  # size 1 in a candidate of an election


@dataclass(frozen=True, slots=True)
class Mastiff:
    """Mastiff.

    Parameters
    ----------
    frontier
        Visit only the components that look for an edge, edge by edge, and drop the edges inside components once a
        twentieth of the remaining ones are. Otherwise, as published, each round visits all vertices and reads the
        neighbor lists of those whose component is not exempt; no edge is rewritten, and apart from the lists, memory
        grows with the vertices only.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm=dfmst.algorithms.Mastiff(frontier=False))
    array([1, 2])

    Notes
    -----
    **Differences from the paper**

    * Ties go to the smaller row (there: to the smaller parent), so that the forest is unique and steps 2 and 3 are one;
      of two components that chose each other, the smaller vertex stays a root.
    * Degrees of large graphs are counted over a sample of the edges: which vertex is exempt never changes the rows.
    * The input is an edge table, so that the published form first makes neighbor lists of it (step ``lists``); there
      the graph comes as lists, and an entry holds the weight itself.
    * ``frontier=True``, the default, is ours, after section 5.5's outlook on sparse frontiers.

    The trace adds, for each round: ``touched``, the edges read, once from each end that read them (Borůvka's
    algorithm: from both), in the published form the entries of neighbor lists that the kernel read; ``root``,
    ``exempt``, ``merged_root`` and ``merged_exempt``, the vertices of each status at its end, those merged by the
    status above them (figure 6); ``largest``, the size of the largest component (figure
    3); ``depth``, the longest path to a root (figure 10; 65 stands for more than 64); and the seconds of the steps
    (figure 7), of which ``components``, ``degrees`` and ``init`` come before the first round.

    References
    ----------
    Koohi Esfahani, Kilpatrick, Vandierendonck: MASTIFF: structure-aware minimum spanning tree/forest. ICS 2022.
    """

    frontier: bool = True

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        if not len(table):
            return chosen_rows(engine, chosen)
        trace.round(vertices=table.vertices, edges=len(table), chosen=0, components=table.vertices)
        with trace.step("init"):
            edges = key_edges(engine, table.edges(), table.flip)
        forest = _Forest(engine, table, edges, trace)
        rounds = _sparse_rounds if self.frontier else _dense_rounds
        rounds(engine, edges, forest, chosen, trace)
        return chosen_rows(engine, chosen)


def _sparse_rounds(engine: Engine, edges: Edges, forest: _Forest, chosen: Array, trace: Trace) -> None:
    """Rounds over the components that look for an edge, and the edges that are still of use."""
    ends = Edges(engine.xp.empty_like(edges.source), engine.xp.empty_like(edges.target), edges.key, edges.row)
    parent = listed = None  # at first, vertices are components, and all of them search an edge
    while len(forest.roots):
        with trace.step("lightest"):
            words = -(-len(edges) // 64)
            touched = engine.xp.empty(words, np.uint8)
            searched = (edges.source, edges.target, edges.key, len(edges), parent, forest.exempt)
            written = (ends.source, ends.target, forest.best, touched)
            engine.launch("lightest_of_roots", words, *searched, *written, grain=FLAG_GRAIN)
        trace.add(touched=int(touched.sum()))
        with trace.step("append"):
            count = len(forest.parent) if listed is None else len(listed)
            arguments = (ends.source, ends.target, forest.best, ends.row, forest.parent, chosen)
            engine.launch("append", count, listed, *arguments)
        forest.merge(engine, listed, trace)
        parent, listed = forest.parent, forest.roots
        if len(listed):
            with trace.step("frontier"):
                edges = ends = _still_of_use(engine, ends, forest)
            trace.round(vertices=forest.groups + len(listed), edges=len(edges))


def _dense_rounds(engine: Engine, edges: Edges, forest: _Forest, chosen: Array, trace: Trace) -> None:
    """Rounds over all vertices, as published."""
    vertices = len(forest.parent)
    with trace.step("lists"):
        lists = adjacency(engine, edges, vertices)
    words = -(-vertices // 64)
    loads, across = engine.xp.empty(words, np.uint64), engine.xp.empty(vertices, np.uint32)
    while len(forest.roots):
        with trace.step("lightest"):
            graph = (*lists, edges.key, vertices)
            arguments = (*graph, forest.parent, forest.exempt, forest.best, loads)
            engine.launch("lightest_in_lists", words, *arguments, grain=4)
        trace.add(touched=int(loads.sum()))
        with trace.step("append"):
            ends = (edges.source, edges.target, forest.best, forest.parent, across)
            engine.launch("find_across", vertices, *ends)
            engine.launch("append_across", vertices, across, forest.best, forest.parent, chosen)
        forest.merge(engine, None, trace)
        if len(forest.roots):
            trace.round(vertices=forest.groups + len(forest.roots), edges=len(edges))


class _Forest:
    """The growing forest: columns with an entry for each vertex, and the components that look for an edge (`roots`).

    At first every vertex is a component; in each graph component the one of highest degree is exempt.
    """

    def __init__(self, engine: Engine, table: EdgeTable, edges: Edges, trace: Trace) -> None:
        xp, vertices = engine.xp, table.vertices
        with trace.step("components"):
            self.group = component_labels(engine, table)
        with trace.step("degrees"):
            degree = xp.zeros(vertices, np.uint32)
            size = min(len(edges), _DEGREE_SAMPLE)
            sample = None if size == len(edges) else spread_positions(engine.xp, len(edges), size)
            engine.launch("count_ends", size, edges.source, edges.target, sample, degree)
        with trace.step("init"):
            self.parent: Array = xp.arange(vertices, dtype=np.uint32)
            self.size = degree  # afterwards the vertices of a component, at its root
            self.largest: Array = xp.zeros(vertices, np.uint64)  # at a graph component: size << 32 | root
            self.winner: Array = xp.zeros(vertices, np.uint32)  # at a graph component: its exempt component
            self.best: Array = xp.empty(vertices, np.uint64)
            self.exempt: Array = xp.empty(vertices, np.uint8)
            self.greatest: Array = xp.zeros(1, np.uint32)
            self._elect(engine, None)
            self.size, self.largest = xp.ones_like(degree), self.winner | _ONE
            self.greatest[0] = 1
            self.groups = vertices - len(self.roots)

    def merge(self, engine: Engine, listed: Array | None, trace: Trace) -> None:
        """Steps 4 and 5: components that hooked become one, and the largest are exempt."""
        before = len(self.roots)
        with trace.step("update"):
            count = len(self.parent) if listed is None else len(listed)
            top, depth = engine.xp.empty(count, np.uint32), engine.xp.zeros(1, np.uint32)
            engine.launch("find_tops", count, listed, self.parent, _DEPTH_LIMIT, top, depth)
            longest = min(int(depth[0]), _DEPTH_LIMIT + 1)
            if longest > _DEPTH_LIMIT:
                engine.launch("halve_paths", len(self.parent), self.parent)
                engine.launch("find_tops", count, listed, self.parent, _NO_LIMIT, top, depth)
            engine.launch("compress_paths", count, listed, top, self.best, self.parent, self.size)
        with trace.step("exempt"):
            self._elect(engine, listed)
        looking = len(self.roots)
        under_roots = int(self.size[self.roots].sum(dtype=np.int64)) - looking
        merged = len(self.parent) - self.groups - looking
        trace.add(chosen=before - looking, components=self.groups + looking, depth=longest)
        trace.add(root=looking, exempt=self.groups, merged_root=under_roots, merged_exempt=merged - under_roots)
        trace.add(largest=int(self.greatest[0]))

    def _elect(self, engine: Engine, listed: Array | None) -> None:
        """Step 5."""
        count = len(self.parent) if listed is None else len(listed)
        following, flags = engine.xp.empty(count, np.uint32), flag_words(engine, count)
        common = (listed, self.parent, self.group)
        engine.launch("stand", count, *common, self.size, self.largest, self.greatest)
        engine.launch("elect", count, *common, self.largest, self.winner, self.best, self.exempt, following, flags)
        places = compact(engine, flags)
        self.roots: Array = engine.xp.empty(len(places), np.uint32)
        engine.launch("gather_rows", len(places), places, following, self.roots)


def _still_of_use(engine: Engine, edges: Edges, forest: _Forest) -> Edges:
    """Return the edges between components, or all edges if few others remain."""
    sample = spread_positions(engine.xp, len(edges), min(len(edges), _SHARE_SAMPLE))
    a, b = forest.parent[edges.source[sample]], forest.parent[edges.target[sample]]
    if float((a != b).mean()) > _LARGEST_SHARE:
        return edges
    flags = flag_words(engine, len(edges))
    arguments = (edges.source, edges.target, len(edges), forest.parent, None, flags)
    engine.launch("flag_crossing", len(flags), *arguments, grain=FLAG_GRAIN)
    return gather_edges(engine, edges, compact(engine, flags), None)
