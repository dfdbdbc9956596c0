"""What launches do to the memory, counted instruction by instruction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tests.support.gpu.ptx.machine import Launch

_SECTOR_BITS = np.uint64(5)  # a GPU reads and writes sectors of 32 bytes
_LANES = 32


@dataclass
class Counts:
    """Sums over launches; implements :class:`tests.support.gpu.ptx.machine.Observer`.

    Attributes
    ----------
    launches
        How many.
    instructions, warp_instructions
        Instructions of threads, and of warps: at best, one of a warp serves 32 threads.
    sectors
        ``"load"`` and ``"store"`` -> sectors of 32 bytes that the instructions of warps touch, caches left aside.
    atomics
        Atomic operations, one a thread.
    addresses
        Atomic operations by address.
    """

    launches: int = 0
    instructions: int = 0
    warp_instructions: int = 0
    sectors: Counter[str] = field(default_factory=Counter)
    atomics: int = 0
    addresses: Counter[int] = field(default_factory=Counter)
    _last: object = None

    def ran(self, launch: Launch, threads: np.ndarray, instructions: int) -> None:
        """Some threads ran so many instructions side by side."""
        if launch is not self._last:
            self.launches, self._last = self.launches + 1, launch
        self.instructions += len(threads) * instructions
        self.warp_instructions += len(np.unique(launch.warp[threads])) * instructions

    def accessed(self, launch: Launch, kind: str, threads: np.ndarray, addresses: np.ndarray, size: int) -> None:
        """Each of some threads loaded, stored or changed so many bytes of global memory."""
        if kind == "atomic":
            self.atomics += len(threads)
            words, times = np.unique(addresses, return_counts=True)
            self.addresses.update(dict(zip(words.tolist(), times.tolist(), strict=True)))
            return
        sector = addresses >> _SECTOR_BITS  # an access is aligned to its size, so that it lies in one sector
        pairs = np.unique(np.stack([launch.warp[threads].astype(np.uint64), sector]), axis=1)
        self.sectors[kind] += pairs.shape[1]

    @property
    def idle_share(self) -> float:
        """Share of the lanes that idled while their warp went on, because threads had gone elsewhere."""
        return 1 - self.instructions / max(1, _LANES * self.warp_instructions)

    @property
    def hottest(self) -> int:
        """Atomic operations on the address that had most of them."""
        return max(self.addresses.values(), default=0)
