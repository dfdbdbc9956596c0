"""Axes: from values to places on a drawing, linear or logarithmic, and where their ticks are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dfmst._report.words import tick


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Values from `low` to `high` at places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        # Halves, so that the range of the largest floats is one.
        span = self.high / 2 - self.low / 2
        return self.start + (self.end - self.start) * ((value / 2 - self.low / 2) / span if span else 0.5)

    def words(self, value: float) -> str:
        """Show a tick."""
        return tick(value)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about so many round values."""
        span = self.high / 2 - self.low / 2
        if not 0 < span < math.inf:
            return [self.low]
        raw = 2 * (span / count)
        unit = 10.0 ** math.floor(math.log10(raw)) if raw > 1e-300 else raw
        step = next((unit * one for one in (1, 2, 2.5, 5) if unit * one >= raw * 0.999), 10 * unit)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [at * step for at in range(first, last + 1)][: 4 * count]


@dataclass(frozen=True)
class TimeScale(LinearScale):
    """Dates, or times of a day, in seconds; `show` makes text of one."""

    show: Callable[[float], str]

    def words(self, value: float) -> str:
        """Show a tick."""
        return self.show(value)

    def ticks(self, count: int = 5) -> list[float]:
        """Return two or three first days of years or of months, days, hours, minutes or seconds."""
        ends = np.array([math.floor(self.low), math.ceil(self.high)]).view("M8[s]")
        for unit in ("Y", "M", "D", "h", "m", "s"):
            first, last = ends.astype(f"M8[{unit}]").view(np.int64).tolist()
            step = max(1, -(-(last - first) // (3 if unit in "YMD" else 2)))
            places = np.arange(-(-first // step) * step, last + 1, step).view(f"M8[{unit}]").astype("M8[s]")
            shown = [float(at) for at in places.view(np.int64) if self.low <= at <= self.high]
            if len(shown) > 1:
                return shown
        return [self.low]


@dataclass(frozen=True, slots=True)
class LogScale:
    """Positive values from `low` to `high` at places from `start` to `end`, by their logarithm."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value; what is below the scale is at its start."""
        low = math.log10(self.low)
        span = math.log10(self.high) - low
        above = math.log10(max(value, self.low)) - low
        return self.start + (self.end - self.start) * (above / span if span else 0.5)

    def words(self, value: float) -> str:
        """Show a tick."""
        return tick(value)

    def ticks(self, count: int = 6) -> list[float]:
        """Return powers of ten, every so many of them that about `count` are left."""
        first = math.ceil(math.log10(self.low) - 1e-9)
        last = math.floor(math.log10(self.high) + 1e-9)
        step = max(1, math.ceil((last - first + 1) / count))
        return [10.0**power for power in range(first, last + 1, step)]


Scale = LinearScale | LogScale


def count_scale(most: int, start: float, end: float) -> Scale:
    """Return a scale for counts: logarithmic where some are much larger than others may be."""
    if most <= 20:
        return LinearScale(0, max(2, most + most % 2), start, end)
    return LogScale(0.7, 10.0 ** math.ceil(math.log10(most)), start, end)
