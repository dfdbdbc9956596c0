"""The accounts of streams whose rows are runs (:mod:`dfmst._slices.fold`), on disk or in memory.

On disk, it holds what :class:`dfmst._slices.memory.Room` says, about 10 bytes a vertex, and for ids that are not dense
their dictionary: up to two thirds of what is left beside the batches. In memory, it holds 48 bytes a vertex in all with
64-bit weights, and a dictionary: 27 for integers, up to half of what is left for others.
"""

from __future__ import annotations

from dataclasses import dataclass

from dfmst._columns.encode import are_integers
from dfmst._columns.ids import IdColumns
from dfmst._slices.memory import HeldRoom, Room
from dfmst.stream.memory import ID_BYTES, ON_DISK, Memory

__all__ = ["CompactMemory", "SpillMemory"]

_SPARSE = 4  # integers below this multiple of the rows look dense


@dataclass(frozen=True, slots=True)
class SpillMemory(Memory):
    """As :class:`dfmst.stream.memory.Memory`, for rows on disk."""

    @classmethod
    def of_memory(cls, memory: Memory) -> SpillMemory:
        """Take over a limit."""
        return cls(memory.limit, memory.weight, memory.dictionary, memory.integers)

    @property
    def room(self) -> Room | HeldRoom:
        """What the fold may hold."""
        return Room(self._folding, self.weight)

    @property
    def dictionary_bytes(self) -> int:
        """Bytes that the dictionary may take."""
        return max(0, 2 * self._left // 3) if self.dictionary else 0

    @property
    def most_vertices(self) -> int:
        """Vertices that fit."""
        return self.room.most_vertices

    def needed(self, vertices: int) -> int:
        """Return the least limit for so many vertices."""
        least = self.room.least(vertices)
        return self._fixed + (3 * least if self.dictionary else least) + (1 << 20)

    def looks_dense(self, ids: IdColumns, rows: int) -> bool:
        """Whether ids of the first so many rows look like dense integers, and fit as such."""
        if not are_integers(ids.source) or not len(ids.source):
            return False
        least = min(int(ids.source.min()), int(ids.target.min()))
        largest = max(int(ids.source.max()), int(ids.target.max()))
        return least >= 0 and largest < min(_SPARSE * rows, self.most_vertices)

    @property
    def _least(self) -> int:
        return self.room.vertex

    @property
    def _instead(self) -> str:
        return ""

    @property
    def _share(self) -> str:
        return "two thirds are for the ids, which stay in memory"


@dataclass(frozen=True, slots=True)
class CompactMemory(SpillMemory):
    """As :class:`SpillMemory`, for rows in memory: 48 bytes a vertex with 64-bit weights."""

    @property
    def room(self) -> HeldRoom:
        """What the fold may hold."""
        return HeldRoom(self._folding, self.weight)

    @property
    def dictionary_bytes(self) -> int:
        """Bytes that the dictionary may take."""
        share = ID_BYTES / (ID_BYTES + HeldRoom(0, self.weight).vertex) if self.integers else 1 / 2
        return max(0, int(self._left * share)) if self.dictionary else 0

    def needed(self, vertices: int) -> int:
        """Return the least limit for so many vertices."""
        least = self.room.least(vertices)
        if self.dictionary:
            # The room's fixed part has its share of the dictionary as well.
            vertex = self.room.vertex
            least = least * (vertex + ID_BYTES) // vertex if self.integers else 2 * least
        return self._fixed + least + (1 << 20)

    @property
    def _instead(self) -> str:
        return ON_DISK

    @property
    def _share(self) -> str:
        return f"{self.dictionary_bytes >> 20:,} MiB of it are for the ids"
