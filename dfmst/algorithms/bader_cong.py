"""MST-BC: Prim trees grown at once under colors, Borůvka for the vertices between them, contraction, repeat.

An instance colors the neighbors of each vertex that its tree takes in, and stops if one of them already has
another color (kernel ``grow_apart``); the trees never touch. A vertex that no tree has taken in chooses its lightest
edge (kernel ``hook_unvisited``). Components become vertices, and their graph is solved in the same way, a small one by
a single tree.

Nobari et al. (2012, section 6.4) ran it without colors: an atomic operation takes the vertex itself, so that trees
grow until they meet. That is ``colors=False``.

With one tree this is Prim's algorithm, with a tree for every vertex it is Borůvka's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst.algorithms.base import Trace
from dfmst.algorithms.pma import UNVISITED, Growth, RoundGraph, grow, grow_and_unify

_TREES_PER_THREAD = 4  # so that a long tree does not leave the other threads idle
_SMALL = 1024  # vertices that a single tree is grown over faster than several and another round


@dataclass(frozen=True, slots=True)
class BaderCong:
    """The algorithm of Bader and Cong, a baseline for :class:`~dfmst.algorithms.PMA`.

    Parameters
    ----------
    trees
        Number of trees that grow at once. ``None`` takes a few for every thread of the engine, and one for a small
        graph: trees stop when they meet, so that more trees leave more work to later rounds.
    colors
        Whether a tree stops next to another one's vertices, as published. Without colors it stops only where its
        lightest edge leads into another tree, as Nobari et al. (2012, section 6.4) ran it.

    Notes
    -----
    **Differences from the paper**

    * Colors are taken by an atomic operation, and no barrier separates coloring from growing.
    * A tree stops at the size of its part of the vertices, which bounds all heaps by the number of vertices.
    * A start vertex whose neighbors were taken counts as unvisited.

    The records are those of PMA; parallel edges stay.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm="bader-cong")
    array([1, 2])

    References
    ----------
    Bader, Cong: Fast shared-memory algorithms for computing the minimum spanning forest of sparse graphs. JPDC 2006.
    """

    trees: int | None = None
    colors: bool = True

    def __post_init__(self) -> None:
        """Refuse less than one tree."""
        if self.trees is not None and self.trees < 1:
            raise ValueError(f"trees is {self.trees!r}; it must be at least 1, or None to choose by the threads")

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""

        def growth(graph: RoundGraph) -> Growth:
            trees = self.trees or (1 if graph.vertices <= _SMALL else _TREES_PER_THREAD * engine.threads)
            span = -(-graph.vertices // trees)
            color = engine.xp.full(graph.vertices, UNVISITED, np.uint32)
            grown = grow(engine, "grow_apart", graph, span, (int(self.colors), color))
            columns = (graph.lists.offset, graph.lists.other, grown.tree, grown.parent, grown.taken)
            engine.launch("hook_unvisited", graph.vertices, *columns)
            return grown

        return grow_and_unify(engine, table, trace, growth, sort_from=1, lightest_only=False)
