"""Times on the device: whole runs, and each kernel next to the bytes that it must move."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from support.inside import Engine, kernels

_SECTOR = 32  # bytes that a GPU reads at least


@contextmanager
def _timed(xp: Any, into: list[float]) -> Iterator[None]:
    begin, end = xp.cuda.Event(), xp.cuda.Event()
    begin.record()
    yield
    end.record()
    end.synchronize()
    into.append(float(xp.cuda.get_elapsed_time(begin, end)))


class Times(NamedTuple):
    """Milliseconds of each run: between two events on the device, and on the host until the device has finished."""

    device: list[float]
    wall: list[float]


def milliseconds(xp: Any, run: Callable[[], object], repeat: int, warm_up: int, flush: Any) -> Times:
    """Time `repeat` runs. `flush` is written before each, so that caches hold nothing.

    That write has ended when the time begins: behind it, the host would launch for nothing.
    """
    times = Times([], [])
    for turn in range(warm_up + repeat):
        flush.fill(turn % 7)
        xp.cuda.get_current_stream().synchronize()
        begin = time.perf_counter()
        with _timed(xp, times.device):
            run()
        times.wall.append(1e3 * (time.perf_counter() - begin))
    return Times(times.device[warm_up:], times.wall[warm_up:])


def copy_bandwidth(xp: Any, gibibytes: float) -> float:
    """Bytes a second, read and written, of a copy on the device."""
    column = xp.zeros(int(gibibytes * 2**27), np.uint64)
    times: list[float] = []
    for _ in range(5):
        with _timed(xp, times):
            column.copy()
    return 2 * int(column.nbytes) / (min(times) / 1e3)


@dataclass
class TimedEngine:
    """An engine that times every launch, by kernel; it waits for each, so that a whole run takes longer than it does.

    Parameters
    ----------
    engine
        The engine that launches.
    """

    engine: Engine
    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    bytes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _light: float = 0.0

    def __getattr__(self, name: str) -> Any:
        """Everything else is the engine's."""
        return getattr(self.engine, name)

    def launch(self, kernel: str, count: int, *arguments: Any, grain: int = 4096) -> None:
        """Launch and time a kernel."""
        with _timed(self.engine.xp, self.milliseconds[kernel]):
            self.engine.launch(kernel, count, *arguments, grain=grain)
        named = dict(zip((parameter.name for parameter in kernels()[kernel].parameters), arguments, strict=True))
        measure = {
            "take_edges": self._taken,
            "offer_records": self._offered,
            "join_records": self._joined,
            "finish_records": self._finished,
            "gather_keys": _sampled,
        }
        self.bytes[kernel] += measure.get(kernel, _columns)(named)

    def prepare(self, kernel: str, *arguments: Any) -> Callable[[int], None]:
        """Launch and time a kernel later, with these arguments."""
        return lambda count: self.launch(kernel, count, *arguments)

    def steps(self, bandwidth: float) -> dict[str, dict[str, float]]:
        """Milliseconds, launches, gigabytes and share of the copy's bandwidth, by kernel."""
        record = {}
        for kernel, times in self.milliseconds.items():
            total = sum(times)
            share = self.bytes[kernel] / bandwidth / (total / 1e3) if total else 0.0
            record[kernel] = {
                "milliseconds": round(total, 4),
                "launches": len(times),
                "gigabytes": round(self.bytes[kernel] / 1e9, 4),
                "share_of_bandwidth": round(share, 3),
            }
        return record

    def _taken(self, named: dict[str, Any]) -> int:
        """Weights, the sectors of ends on the wanted side, the records, and every vertex's minimum (and parent)."""
        taken, edges, parent = int(named["length"][0]), named["edges"], named["parent"]
        side = taken / edges if parent is None else 1 - self._light
        if parent is None:
            self._light = side
        size = 4 * named["stride"]
        touched = 1 - (1 - side) ** (_SECTOR / size)
        return int(
            named["weight"].nbytes
            + 2 * size * edges * touched
            + 16 * taken
            + named["best"].nbytes
            + sum(column.nbytes for column in (parent, named["giant"]) if column is not None)
        )

    @staticmethod
    def _offered(named: dict[str, Any]) -> int:
        """Records in and out, and the parents and minima of their ends."""
        before, after, vertices = int(named["length"][0]), int(named["next_length"][0]), len(named["parent"])
        return 16 * (before + after) + 4 * min(vertices, 2 * before) + 8 * min(vertices, 2 * after)

    @staticmethod
    def _joined(named: dict[str, Any]) -> int:
        """Records, and the minima of their ends: those of this round, and those cleared for the next."""
        length, vertices = int(named["length"][0]), len(named["parent"])
        return 16 * length + 8 * min(vertices, 2 * length) + 8 * min(vertices, named["cleared"] or 2 * length)

    @staticmethod
    def _finished(named: dict[str, Any]) -> int:
        """Records of each round, read twice and, but for the first, written; every vertex's parent and minima, once."""
        taken, listed = (int(count) for count in named["counters"][3:5].tolist())
        return int(48 * listed - 16 * taken + 20 * min(named["vertices"], 2 * taken))


def _sampled(named: dict[str, Any]) -> int:
    """A sector an entry, if the entries are not adjacent."""
    apart = named["position"] is not None
    return int(named["key"].nbytes + (_SECTOR * len(named["key"]) if apart else named["weight"].nbytes))


def _columns(named: dict[str, Any]) -> int:
    return sum(int(argument.nbytes) for argument in named.values() if hasattr(argument, "nbytes"))


def spread(times: list[float]) -> dict[str, float]:
    """Median, least and greatest."""
    return {
        "milliseconds": round(statistics.median(times), 4),
        "least": round(min(times), 4),
        "greatest": round(max(times), 4),
    }
