"""Borůvka's algorithm from data-parallel primitives, as Vineet et al. (2009) put it on a GPU: the baseline of PMA.

===========================================  ==================================================================
primitive                                    here
===========================================  ==================================================================
segmented minimum: a vertex's lightest edge  kernel ``hook_lightest``, a thread a segment
successors, two-cycles, pointer doubling     kernels ``break_cycles``, ``halve_paths``, ``flatten``
scan: numbers of the new vertices            ``contract`` (contract.py), prefix sums over the flags of roots
split: edges to the lists of new vertices    ``adjacency`` (adjacency.py), a stable radix sort by vertex
parallel edges                               ``drop_parallel`` (contract.py)
===========================================  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst.algorithms.base import Trace
from dfmst.algorithms.pma import UNVISITED, Growth, RoundGraph, grow_and_unify


@dataclass(frozen=True, slots=True)
class Vineet:
    """The data-parallel Borůvka of Vineet et al., a baseline for :class:`~dfmst.algorithms.PMA`.

    Parameters
    ----------
    drop_parallel
        Whether to keep only the lightest of the edges between two components.

    Notes
    -----
    **Differences from the paper**

    * A key and its edge are compared whole; there they share the bits of one word, which limits the number of edges
      (Nobari et al. 2012, section 6.5).
    * A thread goes through the segment of a vertex alone; a segmented scan shares out long ones.
    * Forests as well as trees: vertices without an edge leave the graph.

    :class:`~dfmst.algorithms.Boruvka` works on the edge table, without lists. The records are those of PMA, without
    conflicts.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm="vineet")
    array([1, 2])

    References
    ----------
    Vineet, Harish, Patidar, Narayanan: Fast minimum spanning tree for large graphs on the GPU. HPG 2009.
    """

    drop_parallel: bool = True

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""

        def growth(graph: RoundGraph) -> Growth:
            parent = engine.xp.arange(graph.vertices, dtype=np.uint32)
            taken = engine.xp.full(graph.vertices, UNVISITED, np.uint32)
            lists = graph.lists
            engine.launch("hook_lightest", graph.vertices, lists.offset, lists.other, lists.key, parent, taken)
            return Growth(parent, parent, taken, 0)

        return grow_and_unify(engine, table, trace, growth, sort_from=None, lightest_only=self.drop_parallel)
