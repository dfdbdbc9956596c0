"""The cards of a page about the run: its steps, memory and bandwidth, its plan, and its rounds as charts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup

from dfmst._common.arguments import plural
from dfmst._common.machine import machine_memory, peak_memory
from dfmst._common.types import ColumnName
from dfmst._report.drawing import WIDTH, Drawing, Scale, count_scale
from dfmst._report.words import duration, grouped, label, percent, size
from dfmst._trees.forest import FrameRows
from dfmst._trees.result import Forest

_PROBE = 1 << 24  # bytes: twice that is beyond a core's own caches
_ROW = 16  # bytes that a pass over the edges reads: two ids and a weight of 32 to 64 bits
_DRIVERS = {"stream": "as a stream", "cluster": "on a cluster"}
_MOST = 24  # rounds that are drawn
_LINES = (("edges", "g"), ("vertices", "f"), ("chosen", "h"))
_PLAIN = ("round", "vertices", "edges", "chosen", "components")
_COLUMNS = 9  # of the table of rounds
_SECONDS = "seconds_"  # begin of the names of columns with the seconds of steps


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Context manager: add the seconds of a step to those of the same name."""
    begin = time.perf_counter()
    yield
    seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin


@dataclass(frozen=True, slots=True)
class RunFacts:
    about: tuple[str, ...]  # algorithm, engine and threads, as words
    summary: Mapping[str, Any]  # as `dfmst forest --json` prints it
    trace: Mapping[str, list[Any]]  # columns of the records of its rounds

    @property
    def seconds(self) -> Mapping[str, float]:
        """Seconds by step, in order; "total" is the whole run, if known."""
        return dict(self.summary.get("seconds", {}))

    @property
    def total(self) -> float:
        """Seconds of the whole run: its own figure if known, else the sum of the steps."""
        return self.seconds.get("total") or sum(self.seconds.values())


def run_facts(summary: Mapping[str, Any], weight: ColumnName, solution: Forest | None = None) -> RunFacts:
    """Read the run from its summary, and its rounds from the solution in memory."""
    about = [] if weight in (None, "weight") else [f"weight {weight}"]
    about += [str(summary["algorithm"])] if summary.get("algorithm") else []
    about += [_DRIVERS[summary["driver"]]] if summary.get("driver") in _DRIVERS else []
    about += [plural(summary["threads"], "thread")] if summary.get("threads") else []
    about += [] if solution is None else ["CUDA" if solution.engine == "cuda" else "CPU"]
    about.append(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    records = solution.store.records if solution and isinstance(solution.store, FrameRows) else None
    trace = {} if records is None or solution is None else _used_only(records.columns(), solution)
    return RunFacts(tuple(about), summary, trace)


def _used_only(trace: dict[str, list[Any]], solution: Forest) -> dict[str, list[Any]]:
    """Take unused integers between the ids, which a trace counts as vertices without edges, out of its counts."""
    last = trace.get("components", [None])[-1]
    unused = 0 if last is None else last - solution.components
    if unused <= 0 or trace["vertices"][0] - unused != solution.vertices:
        return trace
    counted = ("vertices", "components")
    return trace | {name: [None if one is None else one - unused for one in trace[name]] for name in counted}


def run_card(run: RunFacts, rows: int) -> dict[str, Any]:
    steps = [(name, value) for name, value in run.seconds.items() if name != "total" and value > 0]
    covered = sum(value for _, value in steps)
    sums = len(steps) > 1 and run.total > covered * 1.005
    note = f"{duration(run.total)} from start to end" + f"; the steps add up to {duration(covered)}" * sums
    shown = []
    for at, (name, value) in enumerate(steps):
        kind = "won" if name in ("solve", "fold") else f"w{at % 7}{' patterned' * (at % 2)}"
        shown.append((label(name), duration(value), f"{max(value / run.total, 1e-4):.5f}", kind))
    plan = [[label(word) for word in row] for row in run.summary.get("plan", ())]
    internals = _bandwidth_words(run, rows)
    return {"note": f"{note}.", "steps": shown, "facts": _memory_facts(run), "plan": plan, "internals": internals}


def _memory_facts(run: RunFacts) -> list[dict[str, Any]]:
    peak, limit, of = run.summary.get("peak_memory") or peak_memory(), run.summary.get("memory_limit"), "the limit"
    if peak is None:
        return []
    limit, of = (limit, of) if limit else (machine_memory(), "this machine")
    text = f"{size(peak)} of the {size(limit)} of {of}" if limit else size(peak)
    share = round(min(100.0, 100 * peak / limit), 1) if limit else None
    return [{"name": "Peak memory of the process", "text": text, "share": share}]


def _bandwidth_words(run: RunFacts, rows: int) -> str:
    """Compare the time to solve with one pass over the ids and weights."""
    solved = run.seconds.get("solve", run.seconds.get("fold"))
    if not solved or not rows:
        return ""
    once = rows * _ROW / _bandwidth()
    words = f"One pass over the ids and weights takes {duration(once)} at {_bandwidth() / 1e9:.1f} GB/s"
    return f"{words}, {percent(once, solved)} of the time to solve."


@cache
def _bandwidth() -> float:
    """Return the bytes a second that one thread reads and writes in a copy: the best of three."""
    source = np.ones(_PROBE // 8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - begin)
    return 2 * _PROBE / best


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of a run that are drawn."""

    columns: dict[str, list[float | None]]  # name -> value of each round; None if a round has none
    steps: dict[str, list[float]]  # name of a step -> seconds in each round
    more: int  # number of further rounds

    @property
    def seconds(self) -> list[float]:
        """Seconds of each round."""
        count = len(self.columns["round"])
        return [sum(values) for values in zip(*self.steps.values(), strict=True)] or [0.0] * count

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of a table: counts, further columns of the algorithm, milliseconds."""
        own = [name for name, values in self.columns.items() if name not in _PLAIN and any(values)]
        names = [name for name in (*_PLAIN, *own) if name in self.columns][:_COLUMNS]
        cells = [["–" if value is None else grouped(value) for value in self.columns[name]] for name in names]
        if self.steps:
            names.append("ms")
            cells.append([f"{1e3 * value:,.2f}" for value in self.seconds])
        return [name.replace("_", " ") for name in names], [list(row) for row in zip(*cells, strict=True)]


def read_rounds(trace: Mapping[str, list[object]]) -> Rounds | None:
    """Read the columns of a trace; ``None`` if it has no rounds."""
    if not trace.get("round"):
        return None
    numbers = {name: [_number(value) for value in values[:_MOST]] for name, values in trace.items()}
    times = {name: [value or 0.0 for value in values] for name, values in numbers.items() if name.startswith(_SECONDS)}
    columns = {name: values for name, values in numbers.items() if name not in times}
    steps = {name.removeprefix(_SECONDS): values for name, values in times.items()}
    return Rounds(columns, steps, max(0, len(trace["round"]) - _MOST))


def _number(value: Any) -> float | None:
    """Return a number, integers as ``int``; anything else becomes ``None``."""
    if value is None or isinstance(value, (str, bytes)):
        return None
    number = float(value)
    return None if math.isnan(number) else int(number) if number.is_integer() else number


def round_card(run: RunFacts) -> dict[str, Any] | None:
    """Return charts and a table of the rounds; ``None`` if there are none."""
    rounds = read_rounds(run.trace)
    if rounds is None:
        return None
    head, rows = rounds.table()
    more = f" {rounds.more:,} more rounds are not shown." if rounds.more else ""
    return {
        "drawing": round_chart(rounds) if len(rows) > 1 else None,
        "times": _time_chart(rounds) if len(rows) > 1 else None,
        "steps": [(at % 8, name, duration(sum(values))) for at, (name, values) in enumerate(rounds.steps.items())],
        "total": duration(sum(rounds.seconds)),
        "head": head,
        "rows": rows,
        "more": more,
    }


def round_chart(rounds: Rounds) -> Markup:
    """Draw edges and vertices at the start of each round, and the edges chosen in it."""
    lines = [(name, kind, rounds.columns[name]) for name, kind in _LINES if name in rounds.columns]
    left, right, top, bottom = 44, WIDTH - 66, 12, 214
    drawing = Drawing(250, "Edges and vertices left, and edges chosen, by round")
    height = count_scale((value for *_, values in lines for value in values if value), bottom, top)
    drawing.rows(height, left, right)
    count = len(rounds.columns["round"])
    across = Scale(1, count, left + 12, right - 12)
    for at in range(1, count + 1, 1 + count // 12):
        drawing.text(across(at), bottom + 16, f"{at}", "tick", "middle")
    ends = []
    for name, kind, values in lines:
        points = [(at, value) for at, value in enumerate(values, 1) if value is not None]
        places = [(across(at), min(height(value), bottom)) for at, value in points]
        drawing.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) if len(places) > 1 else "", f"ln {kind}")
        for (x, y), (at, value) in zip(places, points, strict=True):
            drawing.circle(x, y, 3, f"dot {kind}", f"round {at}: {grouped(value)} {name}")
        if places:
            ends.append((places[-1][1] + 4, name, kind))
    _write_names(drawing, sorted(ends), right + 2, bottom)
    drawing.line(left, bottom, right, bottom, "axis")
    drawing.text(right, bottom + 32, "round", "lab", "end")
    return drawing.markup()


def _write_names(drawing: Drawing, ends: list[tuple[float, str, str]], x: float, bottom: float) -> None:
    """Write each line's name at its end, none over another."""
    places = [y for y, *_ in ends]
    for at in range(1, len(places)):
        places[at] = max(places[at], places[at - 1] + 15)
    for at in range(len(places) - 1, -1, -1):
        places[at] = min(places[at], bottom + 4 - 15 * (len(places) - 1 - at))
    for y, (_, name, kind) in zip(places, ends, strict=True):
        drawing.text(x, y, name, f"note {kind}")


def _time_chart(rounds: Rounds) -> Markup | None:
    """Draw the milliseconds of each round by step; ``None`` if they were not measured."""
    totals = [1e3 * value for value in rounds.seconds]
    if not rounds.steps or not max(totals):
        return None
    row, left, right = 19, 66, WIDTH - 80
    bottom = 2 + row * len(totals)
    drawing = Drawing(bottom + 20, "Milliseconds of each round by step")
    scale = Scale(0, max(totals), left, right)
    drawing.columns(scale, 2, bottom)
    for at, total in enumerate(totals):
        y = 2 + row * at
        drawing.text(left - 8, y + row / 2 + 4, f"round {at + 1}", "tick", "end")
        begin = 0.0
        for number, (name, values) in enumerate(rounds.steps.items()):
            ms = 1e3 * values[at]
            if ms > 0:
                place, title = scale(begin), f"round {at + 1}, {name}: {ms:.3f} ms"
                drawing.rect(place, y + 3, scale(begin + ms) - place, row - 6, f"s{number % 8}", title)
            begin += ms
        drawing.text(scale(total) + 5, y + row / 2 + 4, f"{total:.2f} ms", "val")
    return drawing.markup()
