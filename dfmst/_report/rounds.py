"""The rounds of a run: what was left after each, as lines and as a table, and the time of each by step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from dfmst._report.scale import LinearScale, LogScale, count_scale
from dfmst._report.svg import WIDTH, Drawing
from dfmst._report.words import duration, grouped

_MOST = 24  # rounds that are drawn
_LINES = (("edges", "g"), ("vertices", "f"), ("chosen", "h"))
_PLAIN = ("round", "vertices", "edges", "chosen", "components")
_COLUMNS = 9  # of the table


@dataclass(frozen=True, slots=True)
class Rounds:
    """The records of a run, without gaps that are not numbers.

    Attributes
    ----------
    columns
        Name -> value of each round; ``None`` where a round has none.
    steps
        Name of a step -> seconds in each round.
    left_out
        Rounds beyond those that are drawn.
    """

    columns: dict[str, list[float | None]]
    steps: dict[str, list[float]]
    left_out: int

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.columns["round"])

    @property
    def seconds(self) -> list[float]:
        """Seconds of each round."""
        return [sum(values) for values in zip(*self.steps.values(), strict=True)] or [0.0] * len(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of a table: counts, what the algorithm adds, milliseconds."""
        own = [name for name, values in self.columns.items() if name not in _PLAIN and any(values)]
        names = [name for name in (*_PLAIN, *own) if name in self.columns][:_COLUMNS]
        cells = [["–" if value is None else grouped(value) for value in self.columns[name]] for name in names]
        if self.steps:
            names.append("ms")
            cells.append([f"{1e3 * value:,.2f}" for value in self.seconds])
        return [name.replace("_", " ") for name in names], [list(row) for row in zip(*cells, strict=True)]

    def step_totals(self) -> list[tuple[int, str, str]]:
        """Return each step's number, name and time in all rounds."""
        return [(at % 8, name, duration(sum(values))) for at, (name, values) in enumerate(self.steps.items())]


def read_rounds(trace: Mapping[str, list[Any]]) -> Rounds | None:
    """Read the columns of a trace; ``None`` where it has no rounds."""
    if not trace.get("round"):
        return None
    numbers = {name: [_number(value) for value in values] for name, values in trace.items()}
    columns = {name: values[:_MOST] for name, values in numbers.items() if not name.startswith("seconds_")}
    steps = {
        name.removeprefix("seconds_"): [value or 0.0 for value in values[:_MOST]]
        for name, values in numbers.items()
        if name.startswith("seconds_")
    }
    return Rounds(columns, steps, max(0, len(numbers["round"]) - _MOST))


def _number(value: Any) -> float | None:
    """An integer stays one; what is no number becomes ``None``."""
    if value is None or isinstance(value, (str, bytes)):
        return None
    number = float(value)
    return None if math.isnan(number) else int(number) if number.is_integer() else number


def round_chart(rounds: Rounds) -> Markup:
    """Draw edges and vertices at the start of each round, and the edges chosen in it."""
    lines = [(name, kind, rounds.columns[name]) for name, kind in _LINES if name in rounds.columns]
    left, right, top, bottom = 44, WIDTH - 66, 12, 214
    drawing = Drawing(250, "Edges and vertices left, and edges chosen, by round")
    most = max((value for *_, values in lines for value in values if value), default=1)
    height = count_scale(int(most), bottom, top)
    height = LogScale(0.7, height.high, bottom, top) if isinstance(height, LogScale) else height
    drawing.rows(height, left, right)
    count = len(rounds)
    across = LinearScale(1, count, left + 12, right - 12)
    for at in range(1, count + 1, 1 + count // 12):
        drawing.text(across(at), bottom + 16, f"{at}", "tick", "middle")
    ends = []
    for name, kind, values in lines:
        points = [(at + 1, value) for at, value in enumerate(values) if value is not None]
        places = [(across(at), min(height(value), bottom)) for at, value in points]
        drawing.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) if len(places) > 1 else "", f"ln {kind}")
        for (x, y), (at, value) in zip(places, points, strict=True):
            drawing.circle(x, y, 3, f"dot {kind}", f"round {at}: {grouped(value)} {name}")
        if places:
            ends.append((places[-1][1] + 4, name, kind))
    _names(drawing, ends, right + 2, bottom)
    drawing.line(left, bottom, right, bottom, "axis")
    drawing.text(right, bottom + 32, "round", "lab", "end")
    return drawing.markup()


def _names(drawing: Drawing, ends: list[tuple[float, str, str]], x: float, bottom: float) -> None:
    """Write each line's name at its end, none over another."""
    ends = sorted(ends)
    places = [y for y, *_ in ends]
    for at in range(1, len(places)):
        places[at] = max(places[at], places[at - 1] + 15)
    for at in range(len(places) - 1, -1, -1):
        places[at] = min(places[at], bottom + 4 - 15 * (len(places) - 1 - at))
    for y, (_, name, kind) in zip(places, ends, strict=True):
        drawing.text(x, y, name, f"note {kind}")


def time_chart(rounds: Rounds) -> Markup | None:
    """Draw the milliseconds of each round by step; ``None`` where they were not taken."""
    totals = [1e3 * value for value in rounds.seconds]
    if not rounds.steps or not max(totals):
        return None
    row, left, right = 19, 66, WIDTH - 80
    bottom = 2 + row * len(totals)
    drawing = Drawing(bottom + 20, "Milliseconds of each round by step")
    scale = LinearScale(0, float(np.max(totals)), left, right)
    drawing.columns(scale, 2, bottom)
    for at, total in enumerate(totals):
        y = 2 + row * at
        drawing.text(left - 8, y + row / 2 + 4, f"round {at + 1}", "tick", "end")
        begin = 0.0
        for number, (name, values) in enumerate(rounds.steps.items()):
            ms = 1e3 * values[at]
            if ms > 0:
                place = scale(begin)
                title = f"round {at + 1}, {name}: {ms:.3f} ms"
                drawing.rect(place, y + 3, scale(begin + ms) - place, row - 6, f"s{number % 8}", title)
            begin += ms
        drawing.text(scale(total) + 5, y + row / 2 + 4, f"{total:.2f} ms", "val")
    return drawing.markup()
