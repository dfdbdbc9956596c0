"""Kruskal's algorithm over slices of the total order, which arrive in ascending order and need not fit the memory.

The state is one array of parents, 4 bytes a vertex. Rows inside a component are dropped as they arrive (the filter of
Filter-Kruskal); the others wait in a buffer, which is sorted and scanned when the next slice does not fit.

References
----------
Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004.
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import crossing_flags, flatten
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import compact, flag_words
from dfmst._fold.buffer import RowBuffer, Rows
from dfmst._fold.compact import forest_positions, unite_rows
from dfmst._fold.cuts import concat_spans, cut_runs, read_spans
from dfmst._fold.runs import Run
from dfmst.algorithms._steps.light_edges import scan_light
from dfmst.algorithms.base import Trace

_PIECE = 1 << 18  # rows of a slice that are filtered at a time


class Chosen(NamedTuple):
    """Rows of the buffer, and the ascending positions of those that are in the forest."""

    rows: Rows
    positions: Array


class SliceKruskal:
    """The forest of rows that arrive slice by slice.

    Attributes
    ----------
    parent
        Disjoint sets over the vertices; every vertex points at its root.
    components
        How many of them are their own root.
    """

    def __init__(
        self,
        engine: Engine,
        vertices: int,
        capacity: int,
        weight_dtype: DTypeLike,
        flip: int,
        state: tuple[Array, int] | None = None,
    ) -> None:
        self._engine, self._flip = engine, flip
        self._buffer = RowBuffer(engine, capacity, weight_dtype)
        self._scanned = state is not None
        self.parent: Array
        self.components: int
        self.parent, self.components = state or (engine.xp.arange(vertices, dtype=np.uint32), vertices)

    def solve_runs(self, runs: Sequence[Run], rows: int) -> Iterator[Chosen]:
        """Take all rows of runs, in slices of so many rows, and release them; a result is good until the next.

        Many runs cannot be cut short: a slice of one grain of each may be longer, and the buffer grows for it.
        """
        for spans in cut_runs(runs, rows):
            length = sum(end - begin for begin, end in spans)
            if length > self._buffer.free:
                yield self.solve()
            if length > len(self._buffer):
                self._buffer = RowBuffer(self._engine, length, self._buffer.rows.weight.dtype)
            # Short spans are filtered together: each step has a price, whatever its rows.
            together = length <= _PIECE and all(run.on_host for run in runs)
            for piece in [concat_spans(runs, spans)] if together else read_spans(runs, spans):
                self.add(piece)
            for run, (_, end) in zip(runs, spans, strict=True):
                run.release(end)
        yield self.solve()

    def add(self, rows: Rows) -> None:
        """Take rows of a slice; of equal weights, earlier ones come first."""
        rows, positions = Rows(*map(self._engine.from_host, rows.arrays)), None
        if self._scanned:
            flags = crossing_flags(self._engine, rows.source, rows.target, self.parent)
            positions = compact(self._engine, flags)
        self._buffer.append(rows, positions)

    def solve(self) -> Chosen:
        """Choose among the rows in the buffer, which is empty then: good until the next row is added."""
        rows = self._buffer.rows
        self._buffer.filled = 0
        return self.choose(rows)

    def choose(self, rows: Rows) -> Chosen:
        """Choose among the rows of a slice; their ends are ``uint32``."""
        if not self._engine.on_host:
            return self._choose_compact(rows)
        chosen = flag_words(self._engine, len(rows))
        if len(rows) and self.components > 1:
            edges = Edges(rows.source, rows.target, rows.weight, None)
            trace = Trace()
            trace.round(vertices=self.components, edges=len(edges))
            arguments = (edges, self._flip, None, self.components, self.parent, chosen, trace)
            self.components -= scan_light(self._engine, *arguments)
            flatten(self._engine, self.parent)
            self._scanned = True
        return Chosen(rows, compact(self._engine, chosen))

    def _choose_compact(self, rows: Rows) -> Chosen:
        """Choose by any algorithm: a scan takes one step after the other."""
        if not len(rows):
            return Chosen(rows, self._engine.xp.empty(0, np.uint32))
        positions = forest_positions(self._engine, rows, self._flip, self.parent)
        unite_rows(self._engine, rows, positions, self.parent)
        self.components -= len(positions)
        self._scanned = True
        return Chosen(rows, positions)
