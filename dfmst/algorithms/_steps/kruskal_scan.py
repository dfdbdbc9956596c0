"""Kruskal's two steps, shared by the algorithms built on them: edges in ascending order, then the scan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, gather_keys
from dfmst._engines.primitives.flags import FLAG_GRAIN
from dfmst._engines.primitives.sort import sort_order


@dataclass(frozen=True, slots=True)
class SortedEdges:
    """Edges (those at `position`; ``None``: all of them) in the total order; `order` lists their places."""

    edges: Edges
    position: Array | None
    order: Array

    @classmethod
    def sort(cls, engine: Engine, edges: Edges, position: Array | None = None, flip: int = 0) -> SortedEdges:
        """Sort edges by (key, place): radix, stable, parallel over blocks."""
        return cls(edges, position, sort_order(engine, gather_keys(engine, edges.key, position, flip)))

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.order)


class KruskalScan:
    """The scan of sorted edges: joins the components in `parent`, stretch by stretch."""

    def __init__(self, engine: Engine, ordered: SortedEdges, parent: Array, most: int, flags: Array) -> None:
        self._engine = engine
        self._ordered = ordered
        self._parent = parent
        self._most = most
        self._flags = flags
        self._packed = engine.xp.empty(len(ordered), np.uint64)
        self._ends = engine.xp.empty(len(ordered), np.uint64)
        self._gathered = 0
        self._chosen = engine.xp.empty(min(most, len(ordered)), np.uint32)
        self._count = engine.xp.zeros(1, np.uint64)

    def gather(self, end: int) -> None:
        """Bring the ends of the edges below `end` into scanning order; a scan that stops early leaves the rest."""
        if not self._gathered:
            source, target, _, _ = self._ordered.edges
            self._engine.launch("pack_ends", len(self._packed), source, target, self._ordered.position, self._packed)
        span = slice(self._gathered, end)
        order, ends = self._ordered.order[span], self._ends[span]
        self._engine.launch("gather_packed", len(order), self._packed, order, ends)
        self._gathered = end

    def scan(
        self, begin: int, end: int, ahead: int = 0, label: Array | None = None, excluded: Array | None = None
    ) -> int:
        """Scan the edges ``[begin, end)`` while helpers check those up to `ahead`; the number of edges chosen so far.

        Helpers flag in `excluded` the edges whose ends share a `label`. The bounds are multiples of 64 or the
        number of edges. Without helpers, the CUDA engine scans on the host.
        """
        words = max(0, -(-(ahead - end) // 64))
        bounds = (begin, end, ahead, self._most)
        arguments = (self._ends, *bounds, label, excluded, self._parent, self._chosen, self._count)
        if words:
            self._engine.launch("scan_edges", 1 + words, *arguments, grain=min(FLAG_GRAIN, 1 + words // 8))
        else:
            self._engine.launch_alone("scan_edges", *arguments)
        return int(self._count[0])

    def run(self) -> int:
        """Scan all edges, without helpers, and flag the chosen ones; their number."""
        self.gather(len(self._ordered))
        joined = self.scan(0, len(self._ordered))
        self.mark()
        return joined

    def reached(self, end: int) -> int:
        """Where a scan up to `end` has stopped: right behind the last possible join, or at `end`."""
        joined = int(self._count[0])
        return int(self._chosen[joined - 1]) + 1 if joined == self._most else end

    def mark(self) -> None:
        """Flag the rows of the chosen edges."""
        row, position, order = self._ordered.edges.row, self._ordered.position, self._ordered.order
        self._engine.launch("flag_chosen", int(self._count[0]), self._chosen, order, position, row, self._flags)
