"""What a page says of the run: what ran, how long each step took, how much memory there was."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

_PROBE = 1 << 24  # bytes: twice that is beyond a core's own caches


@dataclass(slots=True)
class Steps:
    """Seconds by step, to be handed to :func:`dfmst.forest.solve`."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time a step; the same name adds up."""
        begin = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run.

    Attributes
    ----------
    about
        What ran: algorithm, engine, threads, as words.
    seconds
        By step, in order.
    trace
        Columns of the records of its rounds; empty where there are none.
    peak, limit
        Bytes that the process took at most, and that it might take; ``None``: unknown.
    bandwidth
        Bytes a second that a copy in memory moves; ``None``: not measured.
    verified
        Whether the forest was proved minimal.
    plan
        What was planned for a cluster and what happened: (what, planned, happened).
    """

    about: tuple[str, ...]
    seconds: Mapping[str, float]
    trace: Mapping[str, list[Any]] = field(default_factory=dict)
    peak: int | None = None
    limit: int | None = None
    bandwidth: float | None = None
    verified: bool = False
    plan: tuple[tuple[str, str, str], ...] = ()

    @property
    def total(self) -> float:
        """Seconds of the whole run: its own figure where there is one, else the sum of the steps."""
        return self.seconds.get("total") or sum(self.seconds.values())

    @property
    def steps(self) -> dict[str, float]:
        """Seconds by step, without the total."""
        return {name: value for name, value in self.seconds.items() if name != "total"}


def machine_memory() -> int | None:
    """Return the bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


@cache
def bandwidth() -> float:
    """Return the bytes a second that one thread reads and writes in a copy: the best of three."""
    source = np.ones(_PROBE // 8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - begin)
    return 2 * _PROBE / best
