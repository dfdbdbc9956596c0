"""What a fold in runs holds in memory, in bytes, where they are on disk, and where they are in memory as well.

For n vertices it holds ``VERTEX * n``, and a buffer of b rows, weights of w bytes. While rows arrive, the buffer takes
``(ROW + w) * b`` and its sort ``SORT * b``; while slices are solved, ``(ROW + w) * b`` and ``(SCAN + w) * b``. Whenever
the buffer is full, solving it takes time for every vertex, so that it has room for a sixteenth of them at least.
"""

from __future__ import annotations

from dataclasses import dataclass

from dfmst._fold.memory import ROW

SORT = 30  # bytes a row that sorting the buffer takes: keys, records twice, places
SCAN = 30  # bytes a row besides its key: records, ends, leading bits, chosen places
VERTEX = 5  # bytes a vertex: its parent, and its level in the cycle filter
SHARE = 16  # vertices for each row that there is room for, at most
_FIXED = 32 << 20  # pieces that are read and written
_ON_DISK = 8  # rows on disk, as a multiple of the vertices, before they are solved
_RUNS = 4  # runs in memory, beside the forest, before they are solved
_HELD = 19  # bytes a vertex for these runs and the buffers, at least
_LEAST = 1 << 12  # rows
_MOST = 1 << 30


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that a fold on disk may hold, and those of a weight."""

    size: int
    weight: int

    @property
    def most_vertices(self) -> int:
        """Vertices that there is room for."""
        return max(0, (self.size - _FIXED) // self.vertex)

    @property
    def vertex(self) -> int:
        """Bytes that a vertex takes at least."""
        return VERTEX + -(-self._scan // SHARE)

    def least(self, vertices: int) -> int:
        """Bytes that so many vertices take at least."""
        return vertices * self.vertex + _FIXED

    def run_rows(self, vertices: int) -> int:
        """Rows of the buffer that is sorted and becomes a run."""
        return _rows(self._left(vertices) // (self._row + SORT))

    def slice_rows(self, vertices: int) -> int:
        """Rows of the buffer in which slices are solved."""
        return _rows(self._left(vertices) // self._scan)

    def most_rows(self, vertices: int, capacity: int) -> int:
        """Rows of all runs before they are solved; a run has `capacity` of them."""
        return _ON_DISK * max(vertices, capacity)

    @property
    def _row(self) -> int:
        return ROW + self.weight

    @property
    def _scan(self) -> int:
        return ROW + SCAN + 2 * self.weight

    def _left(self, vertices: int) -> int:
        return self.size - _FIXED - VERTEX * vertices


@dataclass(frozen=True, slots=True)
class HeldRoom(Room):
    """The same for a fold whose runs are in memory: the forest, as a run, and a few runs beside it.

    `sort` and `scan` are the bytes a row, besides its weight, that sorting a buffer and solving a slice take: more on a
    GPU, which holds fewer rows at a time then.
    """

    sort: int = SORT
    scan: int = ROW + SCAN

    @property
    def vertex(self) -> int:
        """Bytes that a vertex takes at least."""
        return VERTEX + self._row + _HELD

    def run_rows(self, vertices: int) -> int:
        """Rows of the buffer that is sorted and becomes a run."""
        return _rows(self._left(vertices) // ((_RUNS + 1) * self._row + self.sort))

    def slice_rows(self, vertices: int) -> int:
        """Rows of the buffer in which slices are solved, beside all runs."""
        left = self._left(vertices) - _RUNS * self.run_rows(vertices) * self._row
        return _rows(left // (self.scan + 2 * self.weight))

    def most_rows(self, vertices: int, capacity: int) -> int:
        """Rows of all runs before they are solved; a run has `capacity` of them."""
        return vertices + _RUNS * capacity

    def _left(self, vertices: int) -> int:
        return self.size - _FIXED - (VERTEX + self._row) * vertices


def _rows(fitting: int) -> int:
    return min(_MOST, max(_LEAST, fitting))
