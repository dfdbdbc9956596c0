"""PMA."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dfmst.algorithms.partial_prim import Graph, Growth, grow, grow_and_unify
from dfmst.edges import EdgeTable
from dfmst.engines import Engine
from dfmst.trace import Trace
from dfmst.typing import Array

__all__ = ["PMA"]

_SORT_ROUND: dict[str, int | None] = {"min": None, "sort": 1, "hybrid": 2}


@dataclass(frozen=True, slots=True)
class PMA:
    lightest: Literal["min", "sort", "hybrid"] = "hybrid"
    max_subtree: int | None = None
    drop_parallel: bool = True

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""

        def growth(graph: Graph, chosen: Array) -> Growth:
            limit = self.max_subtree or 10
            return grow(engine, "grow_subtrees", graph, min(limit, graph.vertices), int(graph.ordered), chosen)

        return grow_and_unify(engine, table, trace, growth, _SORT_ROUND[self.lightest], self.drop_parallel)
