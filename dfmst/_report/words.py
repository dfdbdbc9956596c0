"""Format numbers, times and labels for people."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

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


def alike(values: Sequence[object]) -> Callable[[Any], str]:
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


def size(count: float) -> str:
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
