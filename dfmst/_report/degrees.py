"""Degrees of the vertices, in the graph and in the forest."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from dfmst._common.types import Array
from dfmst._report.scale import LinearScale
from dfmst._report.svg import WIDTH, Drawing
from dfmst._report.words import percent, tick

_SINGLE = 20  # up to this degree each has a bar of its own
_LEFT, _RIGHT, _TOP, _HEIGHT = 44, WIDTH - 8, 16, 250


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
    """Bounds of groups of degrees: each its own, or growing where there are many."""
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
