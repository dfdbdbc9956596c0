"""The account of streams whose rows are runs (:mod:`dfmst._fold.disk_fold`), on disk or in memory.

With 64-bit weights it holds 9 bytes a vertex if rows are on disk (:class:`dfmst._fold.disk_memory.Room`), 48 if they
are in memory, and the dictionary of ids that are not dense.
"""

from __future__ import annotations

from dataclasses import dataclass

from dfmst._drive.stream.memory import ON_DISK, Memory
from dfmst._fold.disk_memory import HeldRoom, Room


@dataclass(frozen=True, slots=True)
class SpillMemory(Memory):
    """As :class:`dfmst._drive.stream.memory.Memory`, for rows on disk.

    Attributes
    ----------
    on_disk
        Whether they are; otherwise they are in memory.
    """

    on_disk: bool = True

    @classmethod
    def of_memory(cls, memory: Memory, *, on_disk: bool) -> SpillMemory:
        """Take over a limit."""
        return cls(memory.limit, memory.weight, memory.id_bytes, on_disk)

    @property
    def room(self) -> Room:
        """What the fold may hold."""
        return self._room(self._folding + self._pieces)

    def _room(self, size: int) -> Room:
        return Room(size, self.weight) if self.on_disk else HeldRoom(size, self.weight)

    @property
    def _pieces(self) -> int:
        return self._room(0).least(0)

    @property
    def _least(self) -> int:
        return self._room(0).vertex

    @property
    def _instead(self) -> str:
        return "" if self.on_disk else ON_DISK
