"""The cards of a page: weights, degrees, trees and last merges; the run, its steps and plan, and its rounds."""

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
from dfmst._common.types import Array, ColumnName
from dfmst._report.drawing import (
    WIDTH,
    Drawing,
    LogScale,
    Scale,
    TimeScale,
    clip,
    count_scale,
    duration,
    grouped,
    label,
    memory_size,
    percent,
    tick,
)
from dfmst._report.facts import ForestFacts, GraphFacts
from dfmst._trees.forest import FrameRows
from dfmst._trees.result import Forest

Card = dict[str, Any]  # words and drawings, by their names in the template

_BINS = 48  # of a histogram
_SKEWED = 20  # ratio of the greatest weight to the median from which the axis is logarithmic
_SINGLE = 20  # up to this number each has a bar of its own
_TREES = 11  # trees that are drawn; of more trees the sizes are
_MERGES = 15  # merges that are drawn
_WIDEST = 1e300  # wider ranges leave no margin on a scale
_ROW = 19  # height of a tree's line
_LEFT, _RIGHT, _TOP, _HEIGHT = 44, WIDTH - 8, 12, 250
_BOTTOM = _HEIGHT - 36


def weight_card(graph: GraphFacts, forest: ForestFacts) -> Card | None:
    """Draw histograms of the weights; ``None`` without two different finite ones."""
    if forest.weight_name is None:
        return None
    values = [forest.weight if graph.weight is None else graph.weight, forest.weight]
    finite = [weights[known] if not (known := np.isfinite(weights)).all() else weights for weights in values]
    if not len(finite[0]) or finite[0].min() == finite[0].max():
        return None
    name, words, timed = label(forest.weight_name), forest.weight_words, forest.weight_words is not grouped
    medians = [np.median(weights) if len(weights) else np.nan for weights in finite]
    edges, logarithmic = _bins(finite[0], float(medians[0]), skewed=not timed)
    counts = [np.histogram(weights, edges)[0] for weights in finite]
    drawing = Drawing(_HEIGHT, f"Histogram of {name} in the graph and in the forest")
    if logarithmic:
        scale: Scale = LogScale(edges[1], edges[-1], _LEFT + 20, _RIGHT)
        drawing.text(_LEFT + 10, _BOTTOM + 15, f"<{grouped(float(edges[1]))}", "tick", "middle")
    else:
        span = (float(edges[0]), float(edges[-1]), _LEFT, _RIGHT)
        whole = bool((finite[0] == np.round(finite[0])).all())
        scale = TimeScale(*span, words) if timed else Scale(*span, step=1.0 if whole else 0.0)
    height = count_scale(np.concatenate(counts).tolist(), _BOTTOM, _TOP)
    drawing.rows(height, _LEFT, _RIGHT)
    _weight_ticks(drawing, scale)
    places = [_LEFT if logarithmic and not at else scale(edge) for at, edge in enumerate(edges)]
    shown = [(kind, at) for at, kind in enumerate("gf") if kind == "f" or graph.weight is not None]
    for kind, at in shown:
        shape = f"M{places[0]:.1f} {_BOTTOM}"
        for count, end in zip(counts[at].tolist(), places[1:], strict=True):
            shape += f"V{height(count) if count else _BOTTOM:.1f}H{end:.1f}"
        drawing.path(f"{shape}V{_BOTTOM}Z", f"area {kind}")
    _weight_titles(drawing, counts, places, [words(float(edge)) for edge in edges])
    drawing.line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis")
    for kind, at in shown:
        if not np.isnan(medians[at]):
            place = min(max(scale(float(medians[at])), _LEFT), _RIGHT)
            drawing.line(place, _TOP, place, _BOTTOM, f"med {kind}")
    drawing.text(_RIGHT, _BOTTOM + 32, clip(name, 30) + (", logarithmic" if logarithmic else ""), "lab", "end")
    own, other = ("–" if np.isnan(median) else words(float(median)) for median in medians)
    return {
        "drawing": drawing.markup(),
        "axis": _axis_words(isinstance(height, LogScale), logarithmic),
        "infinite": len(values[0]) - len(finite[0]),
        "graph": own if len(shown) == 2 else "",
        "forest": other,
    }


def _axis_words(rows: bool, weights: bool) -> str:
    if rows and weights:
        return "; both axes are logarithmic"
    return f"; the axis of {'rows' if rows else 'weights'} is logarithmic" if rows or weights else ""


def _weight_titles(drawing: Drawing, counts: list[Array], places: list[float], words: list[str]) -> None:
    for at, (rows, chosen) in enumerate(zip(*(each.tolist() for each in counts), strict=True)):
        text = f"{words[at]} to {words[at + 1]}: {plural(rows, 'row')}, {chosen:,} in the forest"
        wide = places[at + 1] - places[at]
        drawing.rect(places[at], _TOP, wide, _BOTTOM - _TOP, "hit", f"{text} ({percent(chosen, rows)})")


def _bins(values: Array, median: float, *, skewed: bool) -> tuple[Array, bool]:
    """Return the edges of bins, and whether they are logarithmic: the first one then begins at the least weight."""
    low, high = float(values.min()), float(values.max())
    positive = values if low > 0 else values[values > 0]
    if skewed and low >= 0 and high > _SKEWED * (median if low > 0 else float(np.median(positive))):
        least = max(float(np.quantile(positive, 0.002)), high * 1e-15)
        decade = 10.0 ** np.floor(np.log10(least))
        least = decade * (5 if least >= 5 * decade else 2 if least >= 2 * decade else 1)
        edges = 10.0 ** np.linspace(np.log10(least), np.log10(high), _BINS)
        edges[0], edges[-1] = least, high
        return np.concatenate([[min(low, 0.0)], edges]), True
    if high - low <= _BINS and bool((values == np.round(values)).all()):
        return np.arange(low - 0.5, high + 1), False
    share = np.linspace(0, 1, _BINS + 1)
    return low * (1 - share) + high * share, False


def _weight_ticks(drawing: Drawing, scale: Scale) -> None:
    last = -99.0
    for value in scale.ticks(5):
        word, place = scale.words(value), scale(value)
        if place - last >= max(44, 6 * len(word)) and place <= _RIGHT:
            drawing.text(place, _BOTTOM + 15, word, "tick", "middle" if place < _RIGHT - 3 * len(word) else "end")
            drawing.line(place, _BOTTOM, place, _BOTTOM + 4, "axis")
            last = place


def degree_card(graph: GraphFacts, forest: ForestFacts) -> Card | None:
    """Draw the share of the vertices of each degree, the forest's bar in front; ``None`` if all have the same."""
    own = np.bincount(forest.degree) if forest.vertices else np.zeros(1, np.int64)
    own[0] += graph.vertices - forest.vertices
    if not own.sum():
        return None
    degrees = {"forest": own} if graph.degree is None else {"graph": graph.degree, "forest": own}
    if len(set().union(*(np.flatnonzero(counts).tolist() for counts in degrees.values()))) == 1:
        return None
    words = {
        name: f"mean {float((counts * np.arange(len(counts))).sum() / counts.sum()):,.2f}, at most {len(counts) - 1:,}"
        for name, counts in degrees.items()
    }
    titles = {name: ("vertex", "vertices", f" in the {name}") for name in degrees}
    drawing = Drawing(_HEIGHT, "Share of the vertices by degree, in the graph and in the forest")
    _draw_shares(drawing, "degree", degrees, titles, 0 if own[0] else 1)
    return {"graph": None, **words, "drawing": drawing.markup()}


def _draw_shares(
    drawing: Drawing, axis: str, counts: dict[str, Array], titles: dict[str, tuple[str, str, str]], least: int
) -> None:
    """Draw shares by a whole number from `least` on, in bars of which the last kind is the narrow one in front.

    The titles have the words for one and for more of a kind, and the end of the sentence.
    """
    most = max(map(len, counts.values())) - 1
    bounds = _groups(max(most, 1), least)
    whole = {name: np.pad(each, (0, bounds[-1] - len(each))) for name, each in counts.items()}
    shares = {name: np.add.reduceat(each, bounds[:-1]) for name, each in whole.items()}
    top = max(10.0, float(np.ceil(100 * max(share.max() / share.sum() for share in shares.values()) / 10) * 10))
    height = Scale(0, top, _BOTTOM, _TOP)
    drawing.rows(height, _LEFT, _RIGHT, " %")
    wide = (_RIGHT - _LEFT) / (len(bounds) - 1)
    for name, share in shares.items():
        front = name == list(shares)[-1]
        inset = 0.28 if front and len(shares) == 2 else 0.1
        for at in np.flatnonzero(share).tolist():
            first, last, count = bounds[at], bounds[at + 1] - 1, int(share[at])
            span = f"{first:,}" if first == last else f"{first:,} to {last:,}"
            title = (
                f"{axis} {span}: {plural(count, *titles[name][:2])}{titles[name][2]} ({percent(count, share.sum())})"
            )
            y = height(100 * count / share.sum())
            place = _LEFT + wide * (at + inset)
            drawing.rect(place, y, wide * (1 - 2 * inset), _BOTTOM - y, f"bar {'f' if front else 'g'}", title)
    before = -99.0
    for at in range(len(bounds) - 1):
        place = _LEFT + wide * (at + 0.5)
        word = tick(bounds[at]) + ("" if bounds[at + 1] - bounds[at] == 1 else "+")
        if place - before >= 12 + 7 * len(word):
            before = place
            drawing.text(place, _BOTTOM + 15, word, "tick", "middle")
    drawing.line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis")
    drawing.text(_RIGHT, _BOTTOM + 32, axis if most <= _SINGLE else f"{axis}, grouped", "lab", "end")


def _groups(most: int, least: int) -> list[int]:
    """Return bounds of groups of whole numbers: one each, or growing groups."""
    if most <= _SINGLE:
        return list(range(least, most + 2))
    bounds = [*range(least, 5)]
    while bounds[-1] <= most:
        bounds.append(bounds[-1] * 2 if len(bounds) % 2 == 0 or bounds[-1] >= 64 else bounds[-1] * 3 // 2)
    return bounds


def tree_card(forest: ForestFacts, trees: int, vertices: int) -> Card:
    if not len(forest.ordered) or trees == 1:
        return {"drawing": None}
    if trees > _TREES:
        return {"drawing": _tree_sizes(forest, trees), "histogram": True}
    sizes = forest.tree_sizes.tolist()
    left, right, bottom = 130, WIDTH - 58, 4 + _ROW * len(sizes)
    drawing = Drawing(bottom + 24, "Vertices of the largest trees")
    scale = LogScale(1, max(10.0, 10.0 ** np.ceil(np.log10(sizes[0]))), left, right)
    drawing.columns(scale, 4, bottom)
    names = forest.names(forest.hubs(forest.tree, len(sizes)))
    for at, (name, size) in enumerate(zip(names, sizes, strict=True)):
        y, end, kind = 4 + _ROW * (at + 0.5), scale(size), f"c{min(at, 2)}"
        drawing.text(left - 7, y + 4, clip(name, 18), "tick", "end")
        drawing.line(left, y, end, y, f"stem {kind}")
        drawing.circle(
            end,
            y,
            4.5,
            f"bar {kind}",
            f"tree of {name}: {plural(size, 'vertex', 'vertices')} ({percent(size, vertices)})",
        )
        drawing.text(end + 9, y + 4, f"{size:,}", "val")
    return {"drawing": drawing.markup(), "histogram": False, "more": trees - len(sizes)}


def _tree_sizes(forest: ForestFacts, trees: int) -> Markup:
    """Draw the share of the trees of each size, those without edges included, and of the vertices in them."""
    counts = np.bincount(forest.tree_sizes)
    counts[1] = trees - len(forest.tree_sizes)
    drawing = Drawing(_HEIGHT, "Share of the trees, and of the vertices in them, by the size of the tree")
    series = {"vertices": counts * np.arange(len(counts)), "trees": counts}
    titles = {"vertices": ("vertex", "vertices", " in such trees"), "trees": ("tree", "trees", "")}
    _draw_shares(drawing, "vertices of a tree", series, titles, int(np.flatnonzero(counts)[0]))
    return drawing.markup()


def dendrogram(forest: ForestFacts) -> Markup | None:
    """Draw the last merges of the single linkage with their weights."""
    count = min(_MERGES, len(forest.weight))
    first = len(forest.weight) - count
    shown = forest.weight[first:]
    if not count or not (np.abs(shown) < _WIDEST).all() or shown.min() == shown.max():
        return None
    merges, words, tips = forest.merges, forest.weight_words, _tips(forest, first)
    left, right, bottom = 8, WIDTH - 128, 6 + 14 * len(tips)
    drawing = Drawing(bottom + 40, f"Dendrogram of the last {count} merges")
    scale = _distance_scale(shown, left, right)
    if words is not grouped and not isinstance(scale, LogScale):
        scale = TimeScale(scale.low, scale.high, scale.start, scale.end, words)
    drawing.columns(scale, 2, bottom)
    place = {cluster: (right + 4.0, 6 + 14 * (at + 0.5)) for at, cluster in enumerate(tips)}
    for cluster, (x, y) in place.items():
        size = _size(forest, cluster)
        name = clip(forest.names([cluster])[0], 18) if size == 1 else f"{size:,} vertices"
        drawing.text(x + 4, y + 4, name, "tick")
    shape = ""
    for at in range(first, first + count):
        (x1, y1), (x2, y2) = (place.pop(int(side[at])) for side in (merges.left, merges.right))
        x, weight = scale(float(forest.weight[at])), words(float(forest.weight[at]))
        shape += f"M{x1:.1f} {y1:.1f}H{x:.1f}V{y2:.1f}H{x2:.1f}"
        drawing.circle(x, (y1 + y2) / 2, 3, "dot f", f"joined at {weight}: {int(merges.size[at]):,} vertices")
        place[forest.vertices + at] = (x, (y1 + y2) / 2)
    drawing.path(shape, "ln thin f")
    drawing.text(right, bottom + 32, clip(str(forest.weight_name), 24), "lab", "end")
    return drawing.markup()


def _tips(forest: ForestFacts, first: int) -> list[int]:
    """Clusters that the merges from `first` on begin with, in an order in which lines do not cross."""
    merges, vertices, last = forest.merges, forest.vertices, len(forest.weight)
    sides = {at: [int(side[at]) for side in (merges.left, merges.right)] for at in range(first, last)}
    tops = set(sides) - {cluster - vertices for both in sides.values() for cluster in both}
    tips: list[int] = []
    waiting = [vertices + at for at in sorted(tops)]
    while waiting:
        cluster = waiting.pop()
        if cluster - vertices < first:
            tips.append(cluster)
        else:
            waiting += sorted(sides[cluster - vertices], key=lambda side: _size(forest, side))
    return tips


def _size(forest: ForestFacts, cluster: int) -> int:
    return 1 if cluster < forest.vertices else int(forest.merges.size[cluster - forest.vertices])


def _distance_scale(weights: Array, left: float, right: float) -> Scale:
    """Return a scale with the heaviest merge on the left and a margin next to the lightest."""
    low, high = float(weights.min()), float(weights.max())
    if low > 0 and high > 20 * low:
        ratio = math.log10(high) - math.log10(low)
        return LogScale(max(10 ** (math.log10(low) - 0.06 * ratio), 5e-324), high, right, left)
    span = high / 2 - low / 2
    room = 0.12 * span if span else 0.5
    return Scale(low - room, high, right, left, step=1.0 if (weights == np.round(weights)).all() else 0.0)


_PROBE = 1 << 24  # bytes: twice that is beyond a core's own caches
_PASS = 16  # bytes that a pass over the edges reads: two ids and a weight of 32 to 64 bits
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
    text = f"{memory_size(peak)} of the {memory_size(limit)} of {of}" if limit else memory_size(peak)
    share = round(min(100.0, 100 * peak / limit), 1) if limit else None
    return [{"name": "Peak memory of the process", "text": text, "share": share}]


def _bandwidth_words(run: RunFacts, rows: int) -> str:
    """Compare the time to solve with one pass over the ids and weights."""
    solved = run.seconds.get("solve", run.seconds.get("fold"))
    if not solved or not rows:
        return ""
    once = rows * _PASS / _bandwidth()
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
class TracedRounds:
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


def read_rounds(trace: Mapping[str, list[object]]) -> TracedRounds | None:
    """Read the columns of a trace; ``None`` if it has no rounds."""
    if not trace.get("round"):
        return None
    numbers = {name: [_number(value) for value in values[:_MOST]] for name, values in trace.items()}
    times = {name: [value or 0.0 for value in values] for name, values in numbers.items() if name.startswith(_SECONDS)}
    columns = {name: values for name, values in numbers.items() if name not in times}
    steps = {name.removeprefix(_SECONDS): values for name, values in times.items()}
    return TracedRounds(columns, steps, max(0, len(trace["round"]) - _MOST))


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


def round_chart(rounds: TracedRounds) -> Markup:
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


def _time_chart(rounds: TracedRounds) -> Markup | None:
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
