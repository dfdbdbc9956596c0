"""Histograms of the weights and of the degrees, in the graph and in its forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from dfmst._common.types import Array
from dfmst._report.drawing import WIDTH, Drawing, LinearScale, LogScale, Scale, TimeScale, count_scale
from dfmst._report.words import clip, grouped, percent, tick

_BINS = 48
_SKEWED = 20  # ratio of the greatest weight to the median from which the axis is logarithmic
_LEFT, _RIGHT, _TOP, _HEIGHT = 44, WIDTH - 8, 12, 250


@dataclass(frozen=True, slots=True)
class WeightChart:
    """A histogram and its captions."""

    drawing: Markup
    axis: str
    graph_median: str
    forest_median: str
    beyond: int


def weight_chart(
    graph: Array | None, forest: Array, name: str, words: Callable[[float], str] = grouped
) -> WeightChart | None:
    """Draw the weights."""
    finite = [values[np.isfinite(values)] for values in (forest if graph is None else graph, forest)]
    beyond = len(forest if graph is None else graph) - len(finite[0])
    if not len(finite[0]):
        return None
    timed = words is not grouped
    edges, logarithmic = _bins(finite[0], skewed=not timed)
    counts = [np.histogram(values, edges)[0] for values in finite]
    drawing = Drawing(_HEIGHT, f"Histogram of {name} in the graph and in the forest")
    bottom = _HEIGHT - 36
    scale: Scale
    if logarithmic:
        scale = LogScale(edges[1], edges[-1], _LEFT + 20, _RIGHT)
        drawing.text(_LEFT + 10, bottom + 15, f"<{grouped(float(edges[1]))}", "tick", "middle")
    else:
        span = (float(edges[0]), float(edges[-1]), _LEFT, _RIGHT)
        scale = TimeScale(*span, words) if timed else LinearScale(*span)
    _axes(drawing, count_scale(int(counts[0].max()), bottom, _TOP), scale, bottom)
    places = [_LEFT if logarithmic and not at else scale(edge) for at, edge in enumerate(edges)]
    shown = [words(float(edge)) for edge in edges]
    _areas(drawing, counts, places, shown, graph is not None, bottom)
    medians = [_median(values) for values in finite]
    for median, kind in zip(medians, ("g", "f"), strict=True):
        if median is not None and (kind == "f" or graph is not None):
            place = min(max(scale(median), _LEFT), _RIGHT)
            drawing.line(place, _TOP, place, bottom, f"med {kind}")
    drawing.text(_RIGHT, bottom + 32, clip(name, 30) + (", logarithmic" if logarithmic else ""), "lab", "end")
    graph_median, forest_median = ("–" if median is None else words(median) for median in medians)
    axis = "logarithmic" if logarithmic else "linear"
    return WeightChart(drawing.markup(), axis, graph_median, forest_median, beyond)


def _median(values: Array) -> float | None:
    return float(np.median(values)) if len(values) else None


def _bins(values: Array, *, skewed: bool) -> tuple[Array, bool]:
    """Return the bins' edges, and whether they are logarithmic: the first one then begins at the least weight."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        room = 0.5 if not skewed else max(0.5, abs(low) / 2) if abs(low) < 1e300 else 0.0
        return np.array([low - room, high + room]) if room else np.array([low * 0.9, high * 1.1]), False
    positive = values[values > 0]
    if skewed and low >= 0 and high > _SKEWED * float(np.median(positive)):
        least = max(float(np.quantile(positive, 0.002)), high * 1e-15)
        decade = 10.0 ** np.floor(np.log10(least))
        least = decade * (5 if least >= 5 * decade else 2 if least >= 2 * decade else 1)
        edges = 10.0 ** np.linspace(np.log10(least), np.log10(high), _BINS)
        edges[0], edges[-1] = least, high
        return np.concatenate([[min(low, 0.0)], edges]), True
    whole = high - low <= _BINS and bool((values == np.round(values)).all())
    if whole:
        return np.arange(low - 0.5, high + 1), False
    share = np.linspace(0, 1, _BINS + 1)
    return low * (1 - share) + high * share, False


def _axes(drawing: Drawing, height: Scale, scale: Scale, bottom: float) -> None:
    drawing.rows(height, _LEFT, _RIGHT)
    last = -99.0
    for value in scale.ticks(5):
        word = scale.words(value)
        if scale(value) - last >= max(44, 6 * len(word)) and scale(value) <= _RIGHT:
            last = scale(value)
            drawing.text(last, bottom + 15, word, "tick", "middle" if last < _RIGHT - 3 * len(word) else "end")
            drawing.line(last, bottom, last, bottom + 4, "axis")


def _areas(
    drawing: Drawing, counts: list[Array], places: list[float], shown: list[str], both: bool, bottom: float
) -> None:
    height = count_scale(int(counts[0].max()), bottom, _TOP)
    for values, kind in list(zip(counts, ("g", "f"), strict=True))[0 if both else 1 :]:
        shape = f"M{places[0]:.1f} {bottom}"
        for at, count in enumerate(values.tolist()):
            shape += f"V{height(count) if count else bottom:.1f}H{places[at + 1]:.1f}"
        drawing.path(f"{shape}V{bottom}Z", f"area {kind}")
    for at, (rows, kept) in enumerate(zip(*(values.tolist() for values in counts), strict=True)):
        text = f"{shown[at]} to {shown[at + 1]}: {rows:,} rows, {kept:,} of them in the forest ({percent(kept, rows)})"
        drawing.rect(places[at], _TOP, places[at + 1] - places[at], bottom - _TOP, "hit", text)
    drawing.line(_LEFT, bottom, _RIGHT, bottom, "axis")


_SINGLE = 20  # up to this degree each has a bar of its own


def degree_chart(graph: Array | None, forest: Array) -> Markup | None:
    """Draw which share of the vertices has which degree, the forest's bar in front of the graph's."""
    total = int(forest.sum())
    if not total:
        return None
    most = max(len(forest), 0 if graph is None else len(graph)) - 1
    bounds = _groups(max(most, 1), 0 if forest[0] else 1)
    shares = [_grouped(counts, bounds) for counts in (graph, forest) if counts is not None]
    top = max(10.0, float(np.ceil(100 * max(share.max() / share.sum() for share in shares) / 10) * 10))
    drawing = Drawing(_HEIGHT, "Share of the vertices by degree, in the graph and in the forest")
    bottom = _HEIGHT - 36
    height = LinearScale(0, top, bottom, _TOP)
    drawing.rows(height, _LEFT, _RIGHT, " %")
    wide = (_RIGHT - _LEFT) / (len(bounds) - 1)
    names = ["graph", "forest"] if graph is not None else ["forest"]
    for share, name in zip(shares, names, strict=True):
        inset = 0.1 if name == "graph" else 0.28 if graph is not None else 0.1
        for at, count in enumerate(share.tolist()):
            if count:
                y = height(100 * count / share.sum())
                title = f"degree {_span(bounds, at)} in the {name}: {count:,} vertices ({percent(count, share.sum())})"
                place = _LEFT + wide * (at + inset)
                drawing.rect(place, y, wide * (1 - 2 * inset), bottom - y, f"bar {name[0]}", title)
    last = -99.0
    for at in range(len(bounds) - 1):
        place = _LEFT + wide * (at + 0.5)
        word = _short(bounds, at)
        if place - last >= 12 + 7 * len(word):
            last = place
            drawing.text(place, bottom + 15, word, "tick", "middle")
    drawing.line(_LEFT, bottom, _RIGHT, bottom, "axis")
    drawing.text(_RIGHT, bottom + 32, "degree" if most <= _SINGLE else "degree, grouped", "lab", "end")
    return drawing.markup()


def _groups(most: int, least: int) -> list[int]:
    """Return bounds of groups of degrees: one degree each, or growing groups."""
    if most <= _SINGLE:
        return list(range(least, most + 2))
    bounds = [*range(least, 5)]
    while bounds[-1] <= most:
        bounds.append(bounds[-1] * 2 if len(bounds) % 2 == 0 or bounds[-1] >= 64 else bounds[-1] * 3 // 2)
    return bounds


def _grouped(counts: Array, bounds: list[int]) -> Array:
    whole = np.concatenate([counts, np.zeros(max(0, bounds[-1] + 1 - len(counts)), np.int64)])
    sums = np.concatenate([[0], np.cumsum(whole)])
    return np.diff(sums[np.array(bounds)])


def _span(bounds: list[int], at: int) -> str:
    first, last = bounds[at], bounds[at + 1] - 1
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _short(bounds: list[int], at: int) -> str:
    return tick(bounds[at]) if bounds[at + 1] - bounds[at] == 1 else f"{tick(bounds[at])}+"
