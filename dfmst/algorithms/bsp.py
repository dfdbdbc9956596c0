"""BSP/CGM: struts of the bipartite graph, compaction, and a sequential finish after O(log p) rounds.

Vasconcellos, Cáceres, Mongelli, Song, Dehne and Szwarcfiter (2018). Every edge e_j of the graph becomes a vertex u_j
between its two ends, so that the graph becomes bipartite, H = (V, U, E'). The strut takes the lightest edge of H at
each v in V; u_j has degree 1 or 2 in it, or is not of the forest. A u_j of degree 2 is a zero-difference vertex, and
each tree of the strut holds one of them: their number is the number of vertices after compaction (lemma 3), and the
last round is the one with a single one (lemma 2).

H is never built: u_j is row j, its two edges are the row read from either end, and it has degree 2 if both ends
chose it.

===============================  ===============================================================================
Algorithms 1 to 4                here
===============================  ===============================================================================
1: 3-9, CreateBipartiteGraph     :func:`dfmst._engines.primitives.edges.key_edges`; columns of its form are not copied
1: 15-20, FindLightestEdges      kernel ``propose_to_ends``
1: 21-30, ObtainStrut,           kernel ``hook``, which flags the rows of degree 1 or 2 and lets a zero-difference
UpdateSolutionSet                vertex's smaller end stay a root
1: 31-37, numdiff                roots less vertices without an edge
1: 38                            a single zero-difference vertex, or (a forest) no edge left
1: 41-53, Compaction             ``flatten`` and ``contract_edges`` of :mod:`dfmst._engines.primitives.contract`
figure 6 (b)                     ``drop_parallel``
1: 13, local finish              :func:`dfmst.algorithms._shared_steps.scan_light`, Kruskal's scan
===============================  ===============================================================================

A spanning forest is the case of equal weights: ties go to the smaller row, which is the paper's smaller u_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import count_roots, flatten
from dfmst._engines.primitives.edges import Edges, key_edges
from dfmst._engines.primitives.flags import flag_words
from dfmst.algorithms._shared_steps import Level, contract_round, scan_light
from dfmst.algorithms.base import Trace, chosen_rows

_NONE = np.iinfo(np.uint64).max
_FEW = 1 << 15  # edges that one scan finishes faster than the rounds they would take


@dataclass(frozen=True, slots=True)
class BSP:
    """The BSP/CGM algorithm.

    Parameters
    ----------
    rounds
        Rounds at most, before Kruskal's scan finishes sequentially. ``"log p"``: the logarithm to base 2 of the
        engine's threads, rounded up, as in the paper. ``None``: until few edges are left.
    drop_parallel
        Of the edges between two vertices keep the lightest only, after each compaction.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm=dfmst.algorithms.BSP(rounds=1))
    array([1, 2])

    Notes
    -----
    **Differences from the paper**

    * The bipartite graph is never built: its edge vertices are the rows (see the module's table).
    * The rounds of a forest end when no edge is left; the paper's stopping rule assumes a connected graph.
    * By default, rounds repeat until few edges are left; ``rounds="log p"`` is the paper's number.
    * Processors are threads that share the columns; nothing is sent between them.

    The trace adds, for each round: ``strut``, the vertices with an edge in the strut; ``zero_difference``, the
    zero-difference vertices; ``edges_after``, the edges that compaction leaves (``edges`` are those before), and
    ``edges_parallel``, those of them after parallel ones are dropped. The sequential finish is a record of its
    own, with ``light``, the edges scanned. On the CUDA engine it runs on the host, with 8 bytes an edge and 4 bytes a
    vertex copied there; by default few remain then.

    References
    ----------
    Vasconcellos, Cáceres, Mongelli, Song, Dehne, Szwarcfiter: New BSP/CGM algorithms for spanning trees. International
    Journal of High Performance Computing Applications, 2018.
    """

    rounds: int | Literal["log p"] | None = None
    drop_parallel: bool = False

    def __post_init__(self) -> None:
        """Refuse a negative number of rounds."""
        known = self.rounds == "log p" if isinstance(self.rounds, str) else self.rounds is None or self.rounds >= 0
        if not known:
            raise ValueError(f"rounds is {self.rounds!r}; it must be at least 0, 'log p', or None to stop at few edges")

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        vertices = components = table.vertices
        edges = key_edges(engine, table.edges(), table.flip)
        done = 0
        most = (engine.threads - 1).bit_length() if self.rounds == "log p" else self.rounds
        while len(edges):
            trace.round(vertices=vertices, edges=len(edges))
            if len(edges) <= _FEW if most is None else done >= most:
                parent = engine.xp.arange(vertices, dtype=np.uint32)
                components -= scan_light(Level(engine, edges, 0, vertices, chosen, trace), None, parent)
                trace.add(components=components)
                break
            parent, joined, zero_difference = _strut(engine, edges, vertices, chosen, trace)
            components -= joined
            trace.add(chosen=joined, components=components, edges_after=0)
            if zero_difference <= 1:
                break
            with trace.step("compact"):
                flatten(engine, parent)
            edges, after, vertices = contract_round(engine, edges, parent, trace, "compact", self.drop_parallel)
            trace.add(edges_after=after)
            if self.drop_parallel:
                trace.add(edges_parallel=len(edges))
            done += 1
        return chosen_rows(engine, chosen)


def _strut(engine: Engine, edges: Edges, vertices: int, chosen: Array, trace: Trace) -> tuple[Array, int, int]:
    """Flag the strut's rows; the trees' parents, how many rows there are, and how many zero-difference vertices."""
    xp = engine.xp
    with trace.step("lightest"):
        best = xp.full(vertices, _NONE, np.uint64)
        engine.launch("propose_to_ends", len(edges), edges.source, edges.target, edges.key, best)
    with trace.step("strut"):
        parent = xp.arange(vertices, dtype=np.uint32)
        engine.launch("hook", vertices, edges.source, edges.target, best, edges.row, parent, chosen)
        isolated = int(xp.count_nonzero(best == _NONE))
        roots = count_roots(engine, parent)
    trace.add(strut=vertices - isolated, zero_difference=roots - isolated)
    return parent, vertices - roots, roots - isolated


def strut_components(engine: Engine, table: EdgeTable, algorithm: BSP | None = None) -> Array:
    """Label every vertex by the smallest vertex of its component: the trees of a spanning forest.

    The weights do not matter. Shape ``(vertices,)``, ``uint32``.
    """
    xp = engine.xp
    equal = EdgeTable(table.source, table.target, xp.zeros(len(table), np.uint32), table.vertices)
    rows = (algorithm or BSP()).run(engine, equal, Trace()).astype(np.uint32)
    label: Array = xp.arange(table.vertices, dtype=np.uint32)
    engine.launch("unite", len(rows), table.source, table.target, rows, label)
    flatten(engine, label)
    return label
