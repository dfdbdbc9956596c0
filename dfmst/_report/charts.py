"""The cards of a page with charts of the graph and of the forest: weights, degrees, trees and the last merges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from markupsafe import Markup

from dfmst._common.arguments import plural
from dfmst._common.types import Array
from dfmst._report.drawing import WIDTH, Drawing, LogScale, Scale, TimeScale, count_scale
from dfmst._report.facts import ForestFacts, GraphFacts
from dfmst._report.words import clip, grouped, label, percent, tick

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
