"""Kruskal for a short list, by one thread in one launch: those of a portion scan would cost more than the work."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, gather_keys

SHORT = 1 << 13  # edges; measured: a portion scan on one thread is no faster below


class ShortScan:
    """Few edges on the host, and the scan that joins the components in `parent`; parameters are `PortionScan`'s."""

    def __init__(
        self, engine: Engine, edges: Edges, position: Array | None, flip: int, parent: Array, most: int, flags: Array
    ) -> None:
        self._engine = engine
        key = gather_keys(engine, edges.key, position, flip)
        keys = (key, None) if key.dtype == np.uint32 else (None, key)
        ordered = [np.empty(len(key), np.uint64) for _ in range(2)]  # records and ends, each in either
        self._count = np.zeros(1, np.uint64)
        chosen = np.empty(min(most, len(key)), np.uint32)
        columns = (edges.source, edges.target, position, edges.row, *keys)
        self._arguments = (*columns, len(key), most, parent, *ordered, chosen, self._count, flags)

    def run(self) -> int:
        """Scan in ascending order until `most` edges are chosen or none is left; the number of chosen edges."""
        self._engine.launch_alone("scan_short", *self._arguments)
        return int(self._count[0])
