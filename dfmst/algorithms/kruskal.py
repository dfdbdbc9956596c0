"""Kruskal's algorithm: a parallel sort, then the sequential scan with helpers that exclude edges ahead of it.

Helper threads are due to Katsigiannis, Anastopoulos, Nikas and Koziris (2012); this is the form of Knox and Knox
(2025, section 4.3) in rounds. A round is a stretch of the sorted edges: the scan takes the edges of the last stretch
that the helpers did not exclude and the first 1 / (helpers + 1) of the new one, and at the same time the helpers check
the others, each as many edges as the scan. An edge closes a cycle of lighter edges if its ends were in one component
when the round began: it is flagged, and the scan passes over it. Rounds stop with the last join.

So the scan does 1 / (helpers + 1) of the checks that come after the components have grown: helpers exclude at most
1/2, 3/4 and 7/8 of the edges with 1, 3 and 7 of them. On a random graph of figure 6's size, with an isolated vertex so
that the scan does not end early, they exclude 46, 69 and 81 % (published: 47, 67 and 86 %).

======================  =========================================================================
Knox and Knox (2025)    here
======================  =========================================================================
section 4.2, figure 5   step ``sort`` of the trace (radix, not merge)
section 4.3, figure 6   ``excluded`` and ``scanned`` of the trace: share = excluded / (excluded + scanned)
algorithm 2             :class:`KruskalScan`, kernel ``scan_edges``
======================  =========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.flags import count_set, flag_words
from dfmst.algorithms._shared_steps import KruskalScan
from dfmst.algorithms.base import Trace, chosen_rows

_ROUNDS = 32  # rounds at most: each labels all vertices
_SHORTEST_STRETCH = 1 << 12  # below it, a launch costs more than its checks


@dataclass(frozen=True, slots=True)
class Kruskal:
    """Kruskal's algorithm with helpers.

    Parameters
    ----------
    helpers
        Edges that helpers check ahead for each edge that the scan checks. ``None``: one fewer than the engine's
        threads. The rows never depend on it; the trace depends on nothing else. On the CUDA engine ``None`` is 0: the
        edges are sorted on the device, and the scan, which is sequential, runs on the host, with columns of 8 bytes a
        row and 4 bytes a vertex copied there. Otherwise one of the device's threads scans while the helpers check.

    Notes
    -----
    **Differences from the paper**

    * Helpers work in rounds with the scan, over stretches of the sorted edges; there they run freely. The
      share that they exclude is within 5 points of figure 6's, and does not depend on timing.
    * A parallel radix sort takes the place of figure 5's merge sort (``bench/papers.py`` measures both): the
      order is the same.
    * The scan stops with the forest's last edge.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm=dfmst.algorithms.Kruskal(helpers=3))
    array([1, 2])

    References
    ----------
    Kruskal (1956); Katsigiannis, Anastopoulos, Nikas, Koziris: An approach to parallelize Kruskal's algorithm using
    helper threads. IPDPSW 2012; Knox and Knox (2025), section 4.
    """

    helpers: int | None = None

    def __post_init__(self) -> None:
        """Refuse a negative number."""
        if self.helpers is not None and self.helpers < 0:
            message = f"helpers is {self.helpers}; it must be at least 0, or None for one fewer than the threads"
            raise ValueError(message)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        parent = engine.xp.arange(table.vertices, dtype=np.uint32)
        edges, components = len(table), table.vertices
        if not edges or components == 1:
            return chosen_rows(engine, chosen)
        trace.round(vertices=components, edges=edges)
        with trace.step("sort"):
            scan = KruskalScan(engine, table.edges(), None, table.flip, parent, components - 1, chosen)
        excluded = flag_words(engine, edges)
        own, stretch = self._lengths(engine, edges, components)
        begin = fresh = 0
        while components > 1 and begin < edges:
            if begin:
                trace.round(vertices=components, edges=edges - begin)
            end, ahead = min(fresh + own, edges), min(fresh + stretch, edges)
            label = None
            with trace.step("gather"):
                scan.gather(ahead)
            if ahead > end:
                with trace.step("label"):
                    flatten(engine, parent)
                    label = parent.copy()  # the scan changes `parent` while the helpers read
            with trace.step("scan"):
                left = table.vertices - scan.scan(begin, end, ahead, label, excluded)
            reached = scan.reached(end)
            passed = count_set(engine, excluded[begin // 64 : -(-reached // 64)])
            trace.add(scanned=max(0, reached - begin - passed), excluded=passed)
            trace.add(chosen=components - left, components=left)
            begin, fresh, components = end, ahead, left
        scan.mark()
        return chosen_rows(engine, chosen)

    def _lengths(self, engine: Engine, edges: int, vertices: int) -> tuple[int, int]:
        """Edges of a round that the scan takes itself, and all of them; multiples of 64."""
        if self.helpers is None and not engine.on_host:
            return edges, edges  # one scan: its columns are copied to the host only once
        helpers = engine.threads - 1 if self.helpers is None else self.helpers
        # No shorter than the labeling that helpers need: a round then costs no more than it checks.
        stretch = max(_SHORTEST_STRETCH, vertices, edges // _ROUNDS)
        own = -(-stretch // (64 * (helpers + 1))) * 64
        return own, own * (helpers + 1)
