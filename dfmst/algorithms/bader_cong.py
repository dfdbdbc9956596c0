"""BC."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst.algorithms.partial_prim import UNVISITED, Graph, Growth, grow, grow_and_unify
from dfmst.edges import EdgeTable
from dfmst.engines import Engine
from dfmst.trace import Trace
from dfmst.typing import Array

__all__ = ["BaderCong"]
_SMALL = 1024


@dataclass(frozen=True, slots=True)
class BaderCong:
    trees: int | None = None

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""

        def growth(graph: Graph, chosen: Array) -> Growth:
            trees = 1 if graph.vertices <= _SMALL else (self.trees or 64)
            colour = engine.xp.full(graph.vertices, UNVISITED, np.uint32)
            grown = grow(engine, "grow_coloured", graph, -(-graph.vertices // trees), colour, chosen)
            lists, row = graph.lists, graph.edges.row
            arguments = (lists.offset, lists.edge, lists.other, row, grown.tree, grown.parent, chosen)
            engine.launch("hook_unvisited", graph.vertices, *arguments)
            return grown

        return grow_and_unify(engine, table, trace, growth, 1, False)
