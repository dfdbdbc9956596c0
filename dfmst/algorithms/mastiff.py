"""Mastiff: Borůvka's rounds without rewriting the graph, the largest component of each graph component exempt.

Koohi Esfahani, Kilpatrick and Vandierendonck (2022). Of the c components of a graph component at most c - 1 choose an
edge that no other has chosen, so one of them need not look (section 4.1): the largest, whose edges are the most.
Vertices are ROOT, MERGED or EXEMPT (figure 5); components are disjoint sets, and neither vertices nor edges are
renumbered or merged.

=========================  =====================================================================================
Algorithm 1                here
=========================  =====================================================================================
line 8, graph components   kernel ``unite_neighbors``
lines 9-13, max degree     kernels ``stand`` and ``elect`` by degree: each graph component's vertex of highest degree
                           is the first to be exempt
lines 14-21                :class:`_Forest`
step 1, lines 23-29        kernel ``lightest_in_lists``
steps 2-3, lines 30-37     kernels ``find_across`` and ``append_across``
step 4, lines 38-43        kernels ``compress_looking`` and ``add_sizes``
step 5, lines 44-49        kernels ``stand`` and ``elect``
section 5.1                an entry of a list holds neighbor and weight; each thread reads equally many entries
section 5.5, figure 9      steps 2, 3 and 5 visit a list of the components that look for an edge
=========================  =====================================================================================

``drop_inside=True`` is ours: edge by edge, kernels ``lightest_of_roots``, ``append``, ``find_tops`` and
``compress_paths``.

The docstring of :class:`Mastiff` lists the differences from the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels, flatten, giant_component
from dfmst._engines.primitives.edges import Adjacency, Edges, adjacency, gather_edges, key_edges, spread_positions
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flag_words
from dfmst.algorithms.base import Trace, chosen_rows

_DEPTH_LIMIT = 64  # steps to a root that are counted; a chain of n vertices would take n * n / 2 of them
_NO_LIMIT = (1 << 32) - 1
_SHARE = 1 << 12  # list entries that a thread reads at a time
_SHORT = 16  # entries of a list that are all looked up, if the mean is at most half of that
_FIRST_NEIGHBORS = 2
_DEGREE_SAMPLE = 1 << 18
_SHARE_SAMPLE = 1 << 10
_LARGEST_SHARE = 0.95  # of the edges between components, above which the edges stay as they are
_ONE = np.uint64(1 << 32)  # size 1 in a candidate of an election


@dataclass(frozen=True, slots=True)
class Mastiff:
    """Mastiff.

    Parameters
    ----------
    drop_inside
        Drop the edges inside components once a twentieth of the remaining ones are, and read the edges instead of
        neighbor lists. Otherwise, as published, each round reads the neighbor lists of the vertices whose component is
        not exempt; no edge is rewritten, and apart from the lists, memory grows with the vertices only.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm=dfmst.algorithms.Mastiff())
    array([1, 2])

    Notes
    -----
    **Differences from the paper**

    * Ties go to the smaller row (there: to the smaller parent), so that the forest is unique and steps 2 and 3 are one;
      of two components that chose each other, the smaller vertex stays a root.
    * An entry is compared with the lightest edge of its component before its own component is looked up (lines 26 and
      27 the other way round): most entries are heavier, and a look-up is a cache miss.
    * The first round looks up no component, since all vertices are their own, and needs no atomic minimum for a list
      that one thread reads.
    * In graphs of mean degree up to 8, a list of at most 16 entries is looked up whole, and not read again once all its
      neighbors are in its component (``touched`` counts it all the same).
    * Vertices right below an exempt component are not compressed again in step 4: such a component never hooks.
    * Steps 2, 3 and 5 visit the components only, as section 5.5 proposes for future work.
    * The input is an edge table, so that neighbor lists are made of it first (step ``lists``); there the graph comes as
      lists.
    * ``drop_inside=True`` is ours. It counts the degrees of large graphs over a sample of the edges: which vertex is
      exempt never changes the rows.

    The trace adds, for each round: ``touched``, the entries of neighbor lists of the components that look for an edge
    (`drop_inside`: the edges read, once from each end that read them; Borůvka's algorithm: from both); ``root``,
    ``exempt``, ``merged_root`` and ``merged_exempt``, the vertices of each status at its end, those merged by the
    status above them (figure 6); ``largest``, the size of the largest component (figure 3); ``depth``, the longest
    path to a root (figure 10; 65 stands for more than 64); and the seconds of the steps (figure 7), of which
    ``components``, ``degrees`` and ``init`` come before the first round. A trace without counts has the seconds,
    ``chosen`` and ``components`` only.

    References
    ----------
    Koohi Esfahani, Kilpatrick, Vandierendonck: MASTIFF: structure-aware minimum spanning tree/forest. ICS 2022.
    """

    drop_inside: bool = False

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        if not len(table):
            return chosen_rows(engine, chosen)
        trace.round(vertices=table.vertices, edges=len(table), chosen=0, components=table.vertices)
        with trace.step("init" if self.drop_inside else "lists"):
            edges = key_edges(engine, table.edges(), table.flip)
        rounds = _rounds_by_edges if self.drop_inside else _rounds_by_lists
        rounds(engine, table, edges, chosen, trace)
        return chosen_rows(engine, chosen)


def _rounds_by_lists(engine: Engine, table: EdgeTable, edges: Edges, chosen: Array, trace: Trace) -> None:
    """Rounds over neighbor lists, as published."""
    xp, vertices = engine.xp, table.vertices
    with trace.step("lists"):
        lists = adjacency(engine, edges, vertices)
    with trace.step("components"):
        group = _labels_of_lists(engine, lists, edges.source)
    with trace.step("degrees"):
        degree = xp.diff(lists.offset).astype(np.uint32)
    forest = _Forest(engine, group, degree, trace)
    across, inside = xp.empty(vertices, np.uint32), xp.zeros(vertices, np.uint8)
    parent = listed = None  # at first, vertices are components, and all of them search an edge
    share, short = engine.stretch(_SHARE), _SHORT if len(lists.edge) <= _SHORT * vertices // 2 else 0
    while len(forest.roots):
        if trace.counts:
            looking = forest.exempt[forest.parent] == 0
            trace.add(touched=int(xp.diff(lists.offset)[looking].sum()))
        with trace.step("lightest"):
            searched = (*lists, vertices, share, short, edges.key, parent, forest.exempt)
            engine.launch("lightest_in_lists", -(-len(lists.edge) // share), *searched, forest.best, inside, grain=1)
        with trace.step("append"):
            count, ends = forest.count(listed), (edges.source, edges.target)
            engine.launch("find_across", count, listed, *ends, forest.best, forest.parent, across)
            engine.launch("append_across", count, listed, across, forest.best, forest.parent, chosen)
        longest = None
        if trace.counts:
            longest, _ = forest.find_tops(engine, None, _DEPTH_LIMIT)
        with trace.step("update"):
            engine.launch("compress_looking", vertices, forest.exempt, forest.parent)
            engine.launch("add_sizes", count, listed, forest.parent, forest.size)
        forest.merge(engine, listed, longest, trace)
        parent, listed = forest.parent, forest.roots
        if len(listed):
            trace.round(vertices=forest.groups + len(listed), edges=len(edges))


def _labels_of_lists(engine: Engine, lists: Adjacency, source: Array) -> Array:
    """Return a vertex of each vertex's graph component.

    First every vertex is joined with two neighbors; afterwards only vertices outside the largest set read the rest of
    their lists (Sutton, Ben-Nun and Barak 2018: Afforest).
    """
    vertices = len(lists.offset) - 1
    label: Array = engine.xp.arange(vertices, dtype=np.uint32)
    engine.launch("unite_neighbors", vertices, lists.offset, lists.other, 0, _FIRST_NEIGHBORS, _NO_LIMIT, label)
    flatten(engine, label)
    giant = giant_component(engine, source, label)
    rest = (_FIRST_NEIGHBORS, len(lists.edge), _NO_LIMIT if giant is None else giant)
    engine.launch("unite_neighbors", vertices, lists.offset, lists.other, *rest, label, grain=1024)
    flatten(engine, label)
    return label


def _rounds_by_edges(engine: Engine, table: EdgeTable, edges: Edges, chosen: Array, trace: Trace) -> None:
    """Rounds over the components that look for an edge, and the edges that are still of use."""
    xp = engine.xp
    with trace.step("components"):
        group = component_labels(engine, table)
    with trace.step("degrees"):
        degree = xp.zeros(table.vertices, np.uint32)
        size = min(len(edges), _DEGREE_SAMPLE)
        sample = None if size == len(edges) else spread_positions(xp, len(edges), size)
        engine.launch("count_ends", size, edges.source, edges.target, sample, degree)
    forest = _Forest(engine, group, degree, trace)
    ends = Edges(xp.empty_like(edges.source), xp.empty_like(edges.target), edges.key, edges.row)
    parent = listed = None  # as by lists
    while len(forest.roots):
        with trace.step("lightest"):
            words = -(-len(edges) // 64)
            touched = xp.empty(words, np.uint8) if trace.counts else None
            searched = (edges.source, edges.target, edges.key, len(edges), parent, forest.exempt)
            written = (ends.source, ends.target, forest.best, touched)
            engine.launch("lightest_of_roots", words, *searched, *written, grain=FLAG_GRAIN)
        if touched is not None:
            trace.add(touched=int(touched.sum()))
        with trace.step("append"):
            arguments = (ends.source, ends.target, forest.best, ends.row, forest.parent, chosen)
            engine.launch("append", forest.count(listed), listed, *arguments)
        with trace.step("update"):
            longest, top = forest.find_tops(engine, listed, _DEPTH_LIMIT)
            if longest > _DEPTH_LIMIT:
                engine.launch("halve_paths", len(forest.parent), forest.parent)
                _, top = forest.find_tops(engine, listed, _NO_LIMIT)
            columns = (forest.best, forest.parent, forest.size)
            engine.launch("compress_paths", forest.count(listed), listed, top, *columns)
        forest.merge(engine, listed, longest, trace)
        parent, listed = forest.parent, forest.roots
        if len(listed):
            with trace.step("frontier"):
                edges = ends = _still_of_use(engine, ends, forest)
            trace.round(vertices=forest.groups + len(listed), edges=len(edges))


class _Forest:
    """The growing forest: columns with an entry for each vertex, and the components that look for an edge (`roots`).

    At first every vertex is a component; in each graph component the one of highest degree is exempt.
    """

    def __init__(self, engine: Engine, group: Array, degree: Array, trace: Trace) -> None:
        xp, vertices = engine.xp, len(group)
        with trace.step("init"):
            self.group = group
            self.parent: Array = xp.arange(vertices, dtype=np.uint32)
            self.size = degree  # afterwards the vertices of a component, at its root
            self.largest: Array = xp.zeros(vertices, np.uint64)  # at a graph component: size << 32 | root
            self.winner: Array = xp.zeros(vertices, np.uint32)  # at a graph component: its exempt component
            self.best: Array = xp.empty(vertices, np.uint64)
            self.exempt: Array = xp.empty(vertices, np.uint8)
            self._elect(engine, None)
            self.size, self.largest = xp.ones_like(degree), self.winner | _ONE
            self.groups = vertices - len(self.roots)

    def count(self, listed: Array | None) -> int:
        """Return the number of listed components (``None``: all vertices)."""
        return len(self.parent) if listed is None else len(listed)

    def find_tops(self, engine: Engine, listed: Array | None, limit: int) -> tuple[int, Array]:
        """Return the longest path to a root, and the roots above the listed components (``None``: all vertices).

        If a path is longer than the limit, the longest is one more than the limit, and the roots are not complete.
        """
        count = self.count(listed)
        top, depth = engine.xp.empty(count, np.uint32), engine.xp.zeros(1, np.uint32)
        engine.launch("find_tops", count, listed, self.parent, limit, top, depth)
        return min(int(depth[0]), limit + 1), top

    def merge(self, engine: Engine, listed: Array | None, longest: int | None, trace: Trace) -> None:
        """Step 5, after components that hooked have become one: the largest are exempt."""
        before = len(self.roots)
        with trace.step("exempt"):
            self._elect(engine, listed)
        looking = len(self.roots)
        trace.add(chosen=before - looking, components=self.groups + looking)
        if trace.counts:
            under_roots = int(self.size[self.roots].sum(dtype=np.int64)) - looking
            merged = len(self.parent) - self.groups - looking
            trace.add(depth=longest, root=looking, exempt=self.groups, largest=int(self.largest.max()) >> 32)
            trace.add(merged_root=under_roots, merged_exempt=merged - under_roots)

    def _elect(self, engine: Engine, listed: Array | None) -> None:
        count = self.count(listed)
        following, flags = engine.xp.empty(count, np.uint32), flag_words(engine, count)
        common = (listed, self.parent, self.group)
        engine.launch("stand", count, *common, self.size, self.largest)
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
