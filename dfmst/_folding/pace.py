"""When work in progress is saved: early enough to be worth it, and seldom enough to cost little."""

from __future__ import annotations

import time

__all__ = ["SavePace"]

_LEAST = 3.0  # seconds of work between two saves
_SHARE = 0.05  # of the work that saving may take
_GROWTH = 0.75  # of the work so far that is done before the next save, early in a run


class SavePace:
    """The clock of one run's saves."""

    def __init__(self) -> None:
        self._cost = 0.0  # seconds that the last save took
        self._begin = self._last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to save.

        So much was done since the last time that saving takes a small share of it; or, early in a run, nearly half of
        all that was done would be lost if the run ended before the next save does. Not half of it: later rows take
        less time than earlier ones.
        """
        now = time.monotonic()
        grown = _GROWTH * (self._last - self._begin) - 3 * self._cost
        return now - self._last >= max(_LEAST, min(self._cost / _SHARE, grown))

    def saved(self, begin: float) -> None:
        """Note that a save has ended, which began then (``time.monotonic``)."""
        self._last = time.monotonic()
        self._cost = self._last - begin
