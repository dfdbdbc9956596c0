"""Words for numbers, times and labels, and SVG drawings: elements, axes with ticks, and links as a few long strokes.

All text of a drawing is escaped.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import accumulate, chain
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from dfmst._common.types import Array
from dfmst.errors import printable

_PREFIXES = ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"))


def grouped(value: object) -> str:
    """Format a number with thousands separators, fractions to two decimals or four digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return label(value)
    if isinstance(value, int):
        return f"{value:,}"
    number = float(value)
    if not math.isfinite(number):
        return f"{number}"
    if number and not 1e-3 <= abs(number) < 1e15:
        return f"{number:.4g}"
    if number == int(number):
        return f"{int(number):,}"
    short = f"{number:,.2f}" if abs(number) >= 1 else f"{number:.4g}"
    return short if abs(number) >= 1 or abs(float(short)) < 1 else repr(number)  # 0.99999 is not 1


def in_one_format(values: Sequence[object]) -> Callable[[Any], str]:
    """Return a format for the numbers of a column: all with the same number of decimals, in which they differ."""
    floats = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value)]
    most = max(floats, default=0.0)
    if not 1e-3 <= most < 1e15:
        return grouped
    decimals = 0 if all(value == int(value) for value in floats) else 2 if most >= 1 else 4

    def shown(value: Any, decimals: int = decimals) -> str:
        if not isinstance(value, float) or not math.isfinite(value):
            return grouped(value)
        if value and abs(value) < 0.5 * 10.0**-decimals:
            return f"{value:.2g}"
        return grouped(value) if _is_rounded_up(value, decimals) else f"{value:,.{decimals}f}"

    def tells_apart(decimals: int) -> bool:
        rounded = any(_is_rounded_up(value, decimals) for value in floats)
        return not rounded and len({shown(value, decimals) for value in floats}) == len(set(floats))

    return partial(shown, decimals=next(filter(tells_apart, range(decimals, decimals + 5)), decimals))


def _is_rounded_up(value: float, decimals: int) -> bool:
    """Whether a number below 1 would be shown as 1."""
    return abs(value) < 1 <= round(abs(value), decimals)


def tick(value: float) -> str:
    if abs(value) >= 1e15:
        return f"{value:.0e}"
    for unit, prefix in _PREFIXES:
        if abs(value) >= max(unit, 1e4):
            return f"{value / unit:g}{prefix}"
    return f"{value:,g}" if abs(value) >= 1 else f"{value:g}"


def moment(seconds: float) -> str:
    """Return the date, and the time unless it is midnight, of seconds since 1970."""
    return str(np.datetime64(round(seconds), "s")).replace("T", " ").removesuffix(" 00:00:00")


def clock(seconds: float) -> str:
    """Return the time of day of seconds since midnight."""
    minutes = int(seconds) // 60
    return f"{minutes // 60:02}:{minutes % 60:02}:{int(seconds) % 60:02}"


def percent(part: float, whole: float) -> str:
    if not whole:
        return "–"
    share = part / whole
    if 0 < share < 0.0005 or 0.9995 <= share < 1:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    return f"{100 * share:.{0 if share in (0, 1) else 1}f} %"


def duration(seconds: float) -> str:
    """Return seconds in three digits."""
    value, unit = (1e3 * seconds, "ms") if seconds < 1 else (seconds, "s")
    value, unit = (1e6 * seconds, "µs") if seconds < 1e-4 else (value, unit)
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"


def rate(rows: float, seconds: float) -> str:
    if not seconds:
        return ""
    each = rows / seconds
    if each < 1e4:
        return f"{each:,.0f} rows/s"
    return f"{each / 1e6:,.1f} M rows/s" if each >= 1e6 else f"{each / 1e3:,.0f} k rows/s"


def memory_size(count: float) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:,.0f} MiB"


def label(value: object) -> str:
    """Return a value as one line of text that shows all its characters."""
    if value is None:
        return "–"
    return printable(value if isinstance(value, str) else str(value))


def clip(text: str, width: int) -> str:
    """Cut a text to `width` columns; wide letters count twice."""
    columns = [0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF") for one in text]
    if sum(columns) <= width:
        return text
    return text[: next(at for at, taken in enumerate(accumulate(columns)) if taken >= width)] + "…"


_VISIBLE = 100  # ratio of counts that still show on a linear scale


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` at places from `start` to `end`, and the words of a tick."""

    low: float
    high: float
    start: float
    end: float
    words: Callable[[float], str] = tick
    step: float = 0.0  # least distance of ticks: 1 for whole numbers

    def __call__(self, value: float) -> float:
        # Halves, so that the range of the largest floats is one.
        span = self.high / 2 - self.low / 2
        return self.start + (self.end - self.start) * ((value / 2 - self.low / 2) / span if span else 0.5)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about `count` round values."""
        span = self.high / 2 - self.low / 2
        if not 0 < span < math.inf:
            return [self.low]
        raw = 2 * (span / count)
        unit = 10.0 ** math.floor(math.log10(raw)) if raw > 1e-300 else raw
        among = (1, 2, 5) if self.step else (1, 2, 2.5, 5)
        step = max(self.step, next((unit * factor for factor in among if unit * factor >= raw * 0.999), 10 * unit))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [at * step for at in range(first, last + 1)][: 4 * count]


class TimeScale(Scale):
    """Dates, or times of a day, in seconds."""

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


class LogScale(Scale):
    """Positive values, by their logarithm."""

    def __call__(self, value: float) -> float:
        """Return the place of a value; values below the scale are at its start."""
        scale = Scale(math.log10(self.low), math.log10(self.high), self.start, self.end)
        return scale(math.log10(max(value, self.low)))

    def ticks(self, count: int = 6) -> list[float]:
        """Return about `count` powers of ten."""
        first = math.ceil(math.log10(self.low) - 1e-9)
        last = math.floor(math.log10(self.high) + 1e-9)
        step = max(1, math.ceil((last - first + 1) / count))
        return [10.0**power for power in range(first, last + 1, step)]


def count_scale(counts: Iterable[float], start: float, end: float) -> Scale:
    """Return a scale for counts, logarithmic if bars of the least one would not show."""
    positive = [count for count in counts if count > 0] or [1]
    most = math.ceil(max(positive))
    if most <= _VISIBLE * min(positive):
        return Scale(0, max(2, most + most % 2), start, end, step=1.0)
    return LogScale(0.7, 10.0 ** math.ceil(math.log10(most)), start, end)


WIDTH = 360  # of a chart in units: about the pixels of a card, so that text keeps its size


class Drawing:
    """The elements of a drawing. The title of an element shows under the pointer."""

    def __init__(self, height: float, name: str, width: float = WIDTH) -> None:
        self.height, self.width = height, width
        self._name = name
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        body = escape(label(text))
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{body}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str, title: str = "") -> None:
        """Draw a rectangle, of half a unit at least."""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{max(height, 0):.1f}"'
        self._parts.append(f'<rect {place} class="{kind}">{_title(title)}</rect>')

    def circle(self, x: float, y: float, radius: float, kind: str, title: str = "") -> None:
        place = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"'
        self._parts.append(f'<circle {place} class="{kind}">{_title(title)}</circle>')

    def path(self, shape: str, kind: str, title: str = "") -> None:
        if shape:
            self._parts.append(f'<path d="{shape}" class="{kind}">{_title(title)}</path>')

    def rows(self, scale: Scale, left: float, right: float, unit: str = "") -> None:
        """Draw the ticks of a vertical axis, with a line across for each."""
        for value in scale.ticks():
            self.line(left, scale(value), right, scale(value), "gl")
            self.text(left - 6, scale(value) + 4, f"{scale.words(value)}{unit}", "tick", "end")

    def columns(self, scale: Scale, top: float, bottom: float) -> None:
        """Draw the ticks of a horizontal axis, with a line across for each."""
        for value in scale.ticks(4):
            self.line(scale(value), top, scale(value), bottom, "gl")
            word = scale.words(value)
            self.text(max(scale(value), 3 * len(word)), bottom + 15, word, "tick", "middle")

    def markup(self) -> Markup:
        box = f'viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{escape(label(self._name))}"'
        return Markup(f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(self._parts)}</svg>')


def _title(text: str) -> str:
    return f"<title>{escape(label(text))}</title>" if text else ""


def polyline(x: Array, y: Array) -> str:
    return "M" + "L".join(f"{one} {other}" for one, other in zip(x.tolist(), y.tolist(), strict=True))


def chains(x: Array, y: Array, source: Array, target: Array) -> str:
    """Return links as relative polylines from end to end."""
    place = x.astype(np.int64) << 32 | y.astype(np.int64)
    used, at = np.unique(np.concatenate([place[source], place[target]]), return_inverse=True)
    one, other = at[: len(source)], at[len(source) :]
    low, high = np.minimum(one, other), np.maximum(one, other)
    link = np.unique(low[low != high] * len(used) + high[low != high])
    low, high = link // max(len(used), 1), link % max(len(used), 1)
    neighbors: list[list[tuple[int, int]]] = [[] for _ in used]
    for number, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        neighbors[a].append((b, number))
        neighbors[b].append((a, number))
    columns, rows = (used >> 32).tolist(), (used & 0xFFFFFFFF).tolist()
    drawn = bytearray(len(link))
    strokes: list[str] = []
    tips = (vertex for vertex, own in enumerate(neighbors) if len(own) == 1)
    for start in chain(tips, range(len(used))):
        while stroke := _walk(start, neighbors, drawn, columns, rows):
            strokes.append(stroke)
    return "".join(strokes)


def _walk(
    start: int, neighbors: list[list[tuple[int, int]]], drawn: bytearray, columns: list[int], rows: list[int]
) -> str:
    """Follow links that are not drawn yet to an end; return an empty text if there are none."""
    at, words = start, [f"M{columns[start]} {rows[start]}l"]
    while True:
        own = neighbors[at]
        while own and drawn[own[-1][1]]:
            own.pop()
        if not own:
            return "".join(words) if len(words) > 1 else ""
        to, number = own.pop()
        drawn[number] = 1
        dx, dy = columns[to] - columns[at], rows[to] - rows[at]
        space = "" if len(words) == 1 or dx < 0 else " "
        words.append(f"{space}{dx}{'' if dy < 0 else ' '}{dy}")
        at = to
