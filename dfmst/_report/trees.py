"""The trees of the forest by size, and the dendrogram of its last merges."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from dfmst._report.drawing import WIDTH, Drawing, LinearScale, LogScale, Scale, TimeScale
from dfmst._report.facts import ForestFacts
from dfmst._report.words import clip, grouped, percent

_ROW = 19
_MERGES = 15
_WIDEST = 1e300  # wider ranges leave no margin on a scale


def tree_chart(names: Sequence[str], sizes: Sequence[int], vertices: int) -> Markup | None:
    """Draw the largest trees."""
    if not sizes:
        return None
    left, right, bottom = 130, WIDTH - 58, 4 + _ROW * len(sizes)
    drawing = Drawing(bottom + 24, "Vertices of the largest trees")
    scale = LogScale(1, max(10.0, 10.0 ** np.ceil(np.log10(sizes[0]))), left, right)
    drawing.columns(scale, 4, bottom)
    for at, (name, size) in enumerate(zip(names, sizes, strict=True)):
        y = 4 + _ROW * (at + 0.5)
        kind = f"c{min(at, 2)}"
        drawing.text(left - 7, y + 4, clip(name, 18), "tick", "end")
        drawing.line(left, y, scale(size), y, f"stem {kind}")
        drawing.circle(
            scale(size), y, 4.5, f"bar {kind}", f"tree of {name}: {size:,} vertices ({percent(size, vertices)})"
        )
        drawing.text(scale(size) + 9, y + 4, f"{size:,}", "val")
    return drawing.markup()


def dendrogram(forest: ForestFacts) -> Markup | None:
    """Draw the last merges of the single linkage with their weights."""
    merges, weight = forest.merges, forest.weight
    count = min(_MERGES, len(weight))
    first = len(weight) - count
    shown = weight[first:]
    if not count or not (np.abs(shown) < _WIDEST).all() or shown.min() == shown.max():
        return None
    tips = _tips(forest, first)
    left, right, bottom = 8, WIDTH - 128, 6 + 14 * len(tips)
    drawing = Drawing(bottom + 40, f"Dendrogram of the last {count} merges")
    words = forest.weight_words
    scale = _distance_scale(float(shown.min()), float(shown.max()), left, right)
    if words is not grouped and isinstance(scale, LinearScale):
        scale = TimeScale(scale.low, scale.high, scale.start, scale.end, words)
    drawing.columns(scale, 2, bottom)
    place = {cluster: (right + 4.0, 6 + 14 * (at + 0.5)) for at, cluster in enumerate(tips)}
    for cluster, (x, y) in place.items():
        drawing.text(x + 4, y + 4, _tip_name(forest, cluster), "tick")
    shape = ""
    for at in range(first, first + count):
        children = [place.pop(int(side[at])) for side in (merges.left, merges.right)]
        x = scale(float(weight[at]))
        (x1, y1), (x2, y2) = children
        shape += f"M{x1:.1f} {y1:.1f}H{x:.1f}V{y2:.1f}H{x2:.1f}"
        size = int(merges.size[at])
        drawing.circle(x, (y1 + y2) / 2, 3, "dot f", f"joined at {words(float(weight[at]))}: {size:,} vertices")
        place[forest.vertices + at] = (x, (y1 + y2) / 2)
    drawing.path(shape, "ln thin f")
    drawing.text(right, bottom + 32, clip(str(forest.weight_name), 24), "lab", "end")
    return drawing.markup()


def _tips(forest: ForestFacts, first: int) -> list[int]:
    """Clusters that the merges from `first` on begin with, those that are joined next to each other."""
    merges, vertices = forest.merges, forest.vertices
    tops = set(range(first, len(forest.weight)))
    for at in range(first, len(forest.weight)):
        tops -= {int(side[at]) - vertices for side in (merges.left, merges.right)}
    tips: list[int] = []
    waiting = [vertices + at for at in sorted(tops)]
    while waiting:
        cluster = waiting.pop()
        if cluster - vertices < first:
            tips.append(cluster)
        else:
            sides = [int(side[cluster - vertices]) for side in (merges.left, merges.right)]
            waiting += sorted(sides, key=lambda side: _size(forest, side))
    return tips


def _size(forest: ForestFacts, cluster: int) -> int:
    return 1 if cluster < forest.vertices else int(forest.merges.size[cluster - forest.vertices])


def _tip_name(forest: ForestFacts, cluster: int) -> str:
    size = _size(forest, cluster)
    return clip(forest.names([cluster])[0], 18) if size == 1 else f"{size:,} vertices"


def _distance_scale(low: float, high: float, left: float, right: float) -> Scale:
    """Return a scale with the heaviest merge on the left and a margin next to the lightest."""
    if low > 0 and high > 20 * low:
        ratio = math.log10(high) - math.log10(low)
        return LogScale(max(10 ** (math.log10(low) - 0.06 * ratio), 5e-324), high, right, left)
    span = high / 2 - low / 2
    room = 0.12 * span if span else 0.5
    return LinearScale(low - room, high, right, left)
