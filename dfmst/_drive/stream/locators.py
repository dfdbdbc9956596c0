"""Locators of a forest's rows, taken piece by piece in ascending order."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run

_PIECE = 1 << 18


class Locators:
    """Ascending numbers of rows, of which each is taken once."""

    def __init__(self, rows: Array | Rows | Run) -> None:
        self._rows = rows
        self._piece = np.zeros(0, np.uint64)
        self._read = 0
        #: How many were taken.
        self.taken = 0

    def __len__(self) -> int:
        """Return how many there are in all."""
        return len(self._rows)

    def any_below(self, end: int) -> bool:
        """Whether the next one is below `end`."""
        if not len(self._piece) and self._read < len(self._rows):
            begin, self._read = self._read, min(self._read + _PIECE, len(self._rows))
            if isinstance(self._rows, np.ndarray):
                self._piece = self._rows[begin : self._read]
            else:
                self._piece = self._rows.part(begin, self._read).arrays[3]
        return bool(len(self._piece) and self._piece[0] < end)

    def below(self, end: int) -> Array:
        """Take those below `end`."""
        pieces = []
        while self.any_below(end):
            count = int(np.searchsorted(self._piece, np.uint64(end)))
            pieces.append(self._piece[:count])
            self._piece = self._piece[count:]
            self.taken += count
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.uint64), *pieces])
