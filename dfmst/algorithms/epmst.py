"""EPMST, the edge-pruned minimum spanning tree of Mamun and Rajasekaran (2016): sampled Kruskal, then Prim.

Vasconcellos et al. (2018, "Experimental analysis") describe it and measure against it (tables 7 to 9, figures 9 and
10): random sampling chooses a subset of the edges, Kruskal's idea solves it, and if more than one component is left,
Prim's algorithm finishes the compacted graph. A subset can only be solved ahead of the rest if it is the lightest one,
so the sample here is of weights: it gives the pivot below which an edge goes to Kruskal (kernel ``flag_light``). The
compacted graph's vertices are the components, its edges those that still join two of them; most are pruned by then.

The trace has two rounds: ``light`` edges and those ``chosen`` by Kruskal, then the survivors and Prim's choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.flags import flag_words
from dfmst.algorithms._shared_steps import Level, label_components, scan_light, select_light, survivors
from dfmst.algorithms.base import Trace, chosen_rows
from dfmst.algorithms.prim import Prim

_MOST = 0.9  # share that Kruskal gets at most: road networks are then almost solved, as the paper says of theirs


@dataclass(frozen=True, slots=True)
class EPMST:
    """Kruskal on the lightest edges by a sampled pivot, Prim on the compacted rest.

    Parameters
    ----------
    sample
        Share of the edges, above 0 and at most 1, that the pivot leaves to Kruskal. ``None``: about ``n ln(n) / 4``
        edges, half of those with which a random graph becomes connected, so that about the root of its vertices are
        components that Prim joins; nine tenths of all edges at most.
    seed
        Draws the sampled edges at random. ``None``: one at a fixed pseudo-random place in each of as many equal
        stretches of rows, so that a run can be repeated.

    Notes
    -----
    **Differences from the paper**

    * The subset that Kruskal solves is the lightest edges below a pivot, and the random sample is of weights, to find
      the pivot: of another subset, not every edge that Kruskal chooses would be in the forest.
    * By default the sample is spread evenly over the rows; with a `seed` it is random, as published.
    * The texts do not say how large the sampled subset is. Ours leaves a part of every graph of table 7 to Prim.

    On the CUDA engine Kruskal's scan, which is sequential, runs on the host: 8 bytes for each edge below the pivot and
    4 bytes a vertex are copied there, the parents and the choice back.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm=dfmst.algorithms.EPMST(sample=0.5))
    array([1, 2])

    References
    ----------
    Mamun, Rajasekaran: An efficient minimum spanning tree algorithm. ISCC 2016; Vasconcellos et al. (2018).
    """

    sample: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse a share outside (0, 1] and a negative seed."""
        if self.sample is not None and not 0 < self.sample <= 1:
            raise ValueError(f"sample is {self.sample!r}; it must be above 0 and at most 1, or None to choose by size")
        if self.seed is not None and self.seed < 0:
            message = f"seed is {self.seed!r}; it must be at least 0, or None for a sample that is spread evenly"
            raise ValueError(message)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        components, edges = table.vertices, table.edges()
        if not len(edges):
            return chosen_rows(engine, chosen)
        trace.round(vertices=components, edges=len(edges))
        parent = engine.xp.arange(components, dtype=np.uint32)
        share = self.sample or min(_MOST, components * math.log(max(components, 3)) / 4 / len(edges))
        level = Level(engine, edges, table.flip, components, chosen, trace)
        light, position = (None, None) if share >= 1 else select_light(level, share, self.seed)
        components -= scan_light(level, position, parent)
        if light is not None and components > 1:
            rest, components = survivors(level, light, *label_components(level, parent))
            if len(rest):
                trace.round(vertices=components, edges=len(rest))
                Prim().grow(engine, rest, components, chosen, trace)
        return chosen_rows(engine, chosen)
