"""The cycle filter of a forest that is found slice by slice: the slice with which a vertex joined the giant component.

A later row whose ends were both in it after some slice, and that is as heavy as that slice's heaviest row or heavier,
closes a cycle of rows that come before it (:mod:`dfmst._engines.primitives.cycle_filter`). One byte a vertex.
"""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.cycle_filter import CycleFilter, FilterTables

_OUTSIDE = 255
_LAST = 254
_PIECE = 1 << 20
_SAMPLE = 1 << 12


class LevelMarks:
    """Levels, marked after each slice."""

    def __init__(self, engine: Engine, vertices: int) -> None:
        self._engine = engine
        self._level: Array = engine.xp.full(vertices, _OUTSIDE, np.uint8)
        self._limit: Array = engine.xp.zeros(256, np.uint64)
        self._used = 0

    def mark(self, parent: Array, heaviest: int) -> None:
        """Give the vertices that have joined the component of more than half of them the next level."""
        root = self._giant(parent)
        if root is None:
            return
        self._used = min(self._used + 1, _LAST)
        self._limit[self._used] = heaviest
        for begin in range(0, len(parent), _PIECE):
            level = self._level[begin : begin + _PIECE]
            level[(parent[begin : begin + _PIECE] == root) & (level == _OUTSIDE)] = self._used

    def filter(self) -> CycleFilter | None:
        """Make the filter; ``None`` where it would drop nothing."""
        if not self._used:
            return None
        return CycleFilter.of_tables(self._engine, FilterTables(self._level, self._limit, None, 0))

    def _giant(self, parent: Array) -> int | None:
        """The root of more than half of the vertices: there is one at most, and it stays theirs."""
        xp = self._engine.xp
        roots, counts = xp.unique(parent[:: max(1, len(parent) // _SAMPLE)], return_counts=True)
        root = int(roots[counts.argmax()]) if len(roots) else 0
        pieces = (parent[begin : begin + _PIECE] for begin in range(0, len(parent), _PIECE))
        members = sum(int(xp.count_nonzero(piece == root)) for piece in pieces)
        return root if 2 * members > len(parent) else None
