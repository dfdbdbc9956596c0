"""Borůvka's algorithm, edge-centric, with three levels of contraction.

Each round every component takes its lightest edge (kernel ``lightest_edges``), hooks onto the component
at the other end (kernel ``hook``), and pointer jumping makes the joined components one. The levels of Knox
and Knox (2025), section 5.3, say which edges stay between rounds:

* ``"none"``: edges stay; each carries the representatives of its ends, so later finds are short.
* ``"loops"``: edges inside a component are removed and the vertices renumbered.
* ``"parallel"``: of the edges between two components, only the lightest stays as well.

The edge-centric form with packed (key, position) words and guarded atomic minima follows the ideas of
Fallin, Gonzalez, Seo and Burtscher (2023, ECL-MST).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import count_roots
from dfmst._engines.primitives.edges import gather_edges
from dfmst._engines.primitives.flags import flag_words
from dfmst.algorithms._shared_steps import contract_round, join_lightest
from dfmst.algorithms.base import Trace, chosen_rows


@dataclass(frozen=True, slots=True)
class Boruvka:
    """Borůvka's algorithm.

    Parameters
    ----------
    contract
        Edges to remove between rounds: ``"none"``, ``"loops"`` or ``"parallel"``.

    Notes
    -----
    **Differences from the paper**

    * Knox and Knox drop parallel edges by an approximate filter that may keep heavier ones; ours keeps exactly the
      lightest.
    * They write a component's lightest edge by one of three ways of synchronizing (figure 7). Ours is one: an atomic
      minimum, guarded by a read. Theirs allocate or lock, which kernels that also run on a GPU cannot;
      ``bench/papers.py`` measures all of them.
    * The edges are a table, without neighbor lists.

    Examples
    --------
    >>> import numpy as np
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm=dfmst.algorithms.Boruvka("parallel"))
    array([1, 2])

    References
    ----------
    Borůvka (1926); Knox and Knox (2025), section 5.3.
    """

    contract: Literal["none", "loops", "parallel"] = "loops"

    def __post_init__(self) -> None:
        """Refuse an unknown contraction level."""
        if self.contract not in ("none", "loops", "parallel"):
            raise ValueError(f"contract is {self.contract!r}; it must be 'none', 'loops' or 'parallel'")

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        components, joined = table.vertices, 1
        parent = engine.xp.arange(components, dtype=np.uint32)
        # The first gather makes the working copy that rounds may write to.
        edges = gather_edges(engine, table.edges(), None, None, table.flip)
        while len(edges) and joined:
            trace.round(vertices=components, edges=len(edges), touched=2 * len(edges))
            join_lightest(engine, edges, parent, chosen, trace)
            # Either way, the host reads one number from the device.
            if self.contract == "none":
                left = count_roots(engine, parent)
            else:
                parallel = self.contract == "parallel"
                edges, _, left = contract_round(engine, edges, parent, trace, "contract", parallel)
                parent = engine.xp.arange(left, dtype=np.uint32)
            joined, components = components - left, left
            trace.add(chosen=joined, components=components)
        return chosen_rows(engine, chosen)
