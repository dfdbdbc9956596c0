"""When work in progress is saved: early enough to be worth it, and seldom enough to cost little."""

from __future__ import annotations

import time

_LEAST = 3.0  # seconds of work before the first save, and between later ones
_SHARE = 0.05  # of the time that saving may take
_GROWTH = 1.6  # how many times what is saved is done at the next save, early in a run


class SavePace:
    """The clock of one run's saves."""

    def __init__(self, done: int = 0) -> None:
        self._done = done
        self._cost = 0.0  # seconds that the last save took
        self._last = self.now()

    def now(self) -> float:
        """Seconds on the clock of saves."""
        return time.monotonic()

    def due(self, done: int) -> bool:
        """Whether it is time to save, when so much is done in all.

        Either saving takes a small share of the time since the last save; or, early in a run, more than a third of
        what is done would be lost if the run ended now. There are few such saves, as each holds over half as much again
        as the one before.
        """
        if self._cost and done >= _GROWTH * self._done:
            return True
        return self.now() - self._last >= max(_LEAST, self._cost / _SHARE)

    def saved(self, begin: float, done: int) -> None:
        """Note that a save of so much has ended, which began then (:meth:`now`)."""
        self._last, self._done = self.now(), done
        self._cost = self._last - begin
