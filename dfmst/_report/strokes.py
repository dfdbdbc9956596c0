"""Many links as few long strokes on a grid, which take little room on a page."""

from __future__ import annotations

from itertools import chain

import numpy as np

from dfmst._common.types import Array


def polyline(x: Array, y: Array) -> str:
    """Return a line through points as an SVG path."""
    return "M" + "L".join(f"{one} {other}" for one, other in zip(x.tolist(), y.tolist(), strict=True))


def chains(x: Array, y: Array, source: Array, target: Array) -> tuple[str, int]:
    """Return links as relative polylines, walked from end to end."""
    place = x.astype(np.int64) << 32 | y.astype(np.int64)
    used, at = np.unique(np.concatenate([place[source], place[target]]), return_inverse=True)
    one, other = at[: len(source)], at[len(source) :]
    low, high = np.minimum(one, other), np.maximum(one, other)
    link = np.unique(low[low != high] * len(used) + high[low != high])
    low, high = link // max(len(used), 1), link % max(len(used), 1)
    neighbours: list[list[tuple[int, int]]] = [[] for _ in used]
    for number, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        neighbours[a].append((b, number))
        neighbours[b].append((a, number))
    columns, rows = (used >> 32).tolist(), (used & 0xFFFFFFFF).tolist()
    drawn = bytearray(len(link))
    strokes: list[str] = []
    tips = (vertex for vertex, own in enumerate(neighbours) if len(own) == 1)
    for start in chain(tips, range(len(used))):
        while stroke := _walk(start, neighbours, drawn, columns, rows):
            strokes.append(stroke)
    return "".join(strokes), len(link)


def _walk(
    start: int, neighbours: list[list[tuple[int, int]]], drawn: bytearray, columns: list[int], rows: list[int]
) -> str:
    """Follow links that are not drawn yet, as far as they go; nothing where there is none."""
    at, words = start, [f"M{columns[start]} {rows[start]}l"]
    while True:
        own = neighbours[at]
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
