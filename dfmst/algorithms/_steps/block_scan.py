"""Kruskal's scan by many threads, a block of edges at a time, by deterministic reservations."""

from __future__ import annotations

import numpy as np

from dfmst._engines.primitives.fills import ones
from dfmst._engines.primitives.flags import flag_words
from dfmst.algorithms._steps.portion_scan import PortionScan

BLOCK = 1 << 16  # edges of a block
_CHUNK = 1 << 9  # of which a thread takes so many at a time
_FIRST_ROUND = (1 << 16) - 1
MANY_THREADS = 4  # from which all threads take less time than one thread's scan, as bench/solver/span.py projects


class BlockScan(PortionScan):
    """Edges in buckets, sorted all at once, and the scan by all threads; parameters are `PortionScan`'s."""

    def run(self) -> int:
        """Scan in ascending order until `most` edges are chosen or none is left; the number of chosen edges."""
        engine, xp, length = self._engine, self._engine.xp, self._length
        self._sort_buckets()
        picked, totals = flag_words(engine, length), np.zeros(2, np.uint64)
        reserved = ones(engine, len(self._parent))
        room = (xp.empty(BLOCK, np.uint64), xp.empty(BLOCK, np.uint32))
        counts = (xp.empty(BLOCK // _CHUNK, np.uint32) for _ in range(2))
        bounds = (length, len(self._parent), self._most, _FIRST_ROUND)
        engine.launch_alone("scan_blocks", self._ends, *bounds, self._parent, reserved, *room, *counts, picked, totals)
        engine.launch("flag_picked", len(picked), picked, self._records, *self._rows, self._flags, grain=64)
        return int(totals[0])
