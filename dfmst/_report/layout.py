"""Places for vertices, or for parts of a forest, that have no coordinates: each tree spread around its middle.

A tree is drawn on circles around its middle, and every subtree has a sector (Eades: Drawing free trees. Bulletin of the
ICA 5, 1992). A leaf takes the angle that it needs on its own circle, so leaves near the middle get more of it, and a
vertex stands in the middle of its children. Discs then move until their distances are about those along the tree
(Gansner, Koren, North: Graph drawing by stress majorization. Graph Drawing 2004). Trees stand in rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array

_LENGTH = 1.3  # of an edge between two discs
_APART = 0.25  # least distance of discs
_STEPS = 80  # of an improvement
_GAP = 0.03  # between trees, as a share of the larger one's side
_FLAT, _TALL = 0.16, 0.72  # a picture's height as a share of its width

#: Pixels of a picture's width, of a letter and of a line, and the most letters of a word: on a screen, on a telephone.
_SCREENS = ((860, 6.2, 15, 20), (350, 5.2, 12, 15))
_ABOVE = 8  # pixels above a picture

Tag = tuple[str, float, float]  # a word on the picture, at a place in percent from the left and from the top
Name = tuple[str, float, float, str]  # the same, and the class of the word
_Neighbors = Callable[[int], list[int]]  # of a vertex


@dataclass(frozen=True, slots=True)
class Box:
    """A box of whole units that the plane is drawn in."""

    width: int
    height: int
    left: float
    top: float
    scale: float

    @classmethod
    def around(cls, x: Array, y: Array, width: int, margin: float) -> Box:
        """Return the box around points of the plane, `width` units wide."""
        wide, high = float(np.ptp(x)) or 1e-9, float(np.ptp(y)) or 1e-9
        shape = min(max(high / wide * (1 - 2 * margin) + 2 * margin, _FLAT), _TALL)
        inner = width * (1 - 2 * margin)
        scale = min(inner / wide, (width * shape - 2 * margin * width) / high)
        height = round(width * shape)
        return cls(width, height, x.min() - (width / scale - wide) / 2, y.max() + (height / scale - high) / 2, scale)

    def place(self, x: Array, y: Array) -> tuple[Array, Array]:
        columns = np.rint((x - self.left) * self.scale)
        rows = np.rint((self.top - y) * self.scale)
        return columns.astype(np.int64), rows.astype(np.int64)

    def tag(self, text: str, x: float, y: float) -> Tag:
        left, top = 100 * (x - self.left) * self.scale / self.width, 100 * (self.top - y) * self.scale / self.height
        return text, round(min(98.5, max(1.5, left)), 2), round(min(98.0, max(2.0, top)), 2)


def spaced(
    tags: list[Tag], taken: list[Tag], box: Box, lift: list[float], discs: Sequence[tuple[float, float, float]] = ()
) -> list[Name]:
    """Return the words that cover no earlier one; the class of one that only a wide picture has room for is "spare".

    Each word stands `lift` lines above its point; those in `taken` stand on theirs. The word at place k may cover disc
    k, and no other: `discs` has their places in percent, and radii in units of the box.
    """
    filled: tuple[list[Tag], list[Tag]] = ([], [])

    def fits(narrow: bool, own: int, text: str, left: float, top: float, lines: float) -> bool:
        width, letter, line, most = _SCREENS[narrow]
        across, down = width / 100, width * box.height / box.width / 100  # pixels of one percent
        top -= lines * line / down
        wide = letter * min(len(text) + 1, most)
        if not wide / across / 2 - 3 <= left <= 103 - wide / across / 2 or top * down < line / 2 - _ABOVE:
            return False
        for other, x, y in filled[narrow]:
            apart = (wide + letter * min(len(other) + 1, most)) / 2
            if abs(left - x) * across < apart and abs(top - y) * down < line:
                return False
        for at, (x, y, radius) in enumerate(discs):
            sides = abs(left - x) * across - wide / 2, abs(top - y) * down - line / 3
            if at != own >= 0 and math.hypot(*(max(side, 0.0) for side in sides)) < radius * width / box.width:
                return False
        filled[narrow].append((text, left, top))
        return True

    for tag in taken:
        for narrow in (False, True):
            fits(narrow, -1, *tag, 0.0)
    each = list(enumerate(zip(tags, lift, strict=False)))
    shown = [(at, tag, up) for at, (tag, up) in each if fits(False, at, *tag, up)]
    return [(*tag, "" if fits(True, at, *tag, up) else " spare") for at, tag, up in shown]


def lay_out(source: Array, target: Array, radius: Array) -> tuple[Array, Array]:
    """Return x and y (upwards) of the vertices of a forest, which are discs; a radius of NaN leaves a tree out.

    Discs of one tree do not overlap. If all radii are 0, a tree's area follows its number of vertices.
    """
    count = len(radius)
    ends = np.concatenate([source, target]).astype(np.int64)
    others = np.concatenate([target, source])[np.argsort(ends, kind="stable")]
    first = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=count))])
    seen = np.isnan(radius)
    placed = []
    for start in np.flatnonzero(~seen).tolist():
        if not seen[start]:
            vertices, own_x, own_y = _place_tree(start, lambda at: others[first[at] : first[at + 1]].tolist(), radius)
            seen[vertices] = True
            placed.append((vertices, own_x, own_y))
    placed.sort(key=lambda tree: -len(tree[0]))
    x, y = np.full(count, np.nan), np.full(count, np.nan)
    if placed:
        _pack(placed, radius, x, y)
    return x, y


def _breadth_first(start: int, neighbors: _Neighbors) -> tuple[list[int], dict[int, int]]:
    """Vertices of a tree from `start` on, and the parent of each."""
    parent, order = {start: start}, [start]
    for vertex in order:
        for other in neighbors(vertex):
            if other not in parent:
                parent[other] = vertex
                order.append(other)
    return order, parent


def _middle(start: int, neighbors: _Neighbors) -> int:
    first = _breadth_first(start, neighbors)[0][-1]
    order, parent = _breadth_first(first, neighbors)
    path = [order[-1]]
    while parent[path[-1]] != path[-1]:
        path.append(parent[path[-1]])
    return path[len(path) // 2]


def _place_tree(start: int, neighbors: _Neighbors, radius: Array) -> tuple[list[int], Array, Array]:
    root = _middle(start, neighbors)
    order, parent = _breadth_first(root, neighbors)
    distance = {root: 0.0}
    for vertex in order[1:]:
        distance[vertex] = distance[parent[vertex]] + 1 + float(radius[parent[vertex]] + radius[vertex])
    middle = _angles(order, parent, {at: (1 + 2 * float(radius[at])) / (1 + distance[at]) for at in order})
    angle, away = (np.array([each[vertex] for vertex in order]) for each in (middle, distance))
    around, points = radius[order], np.column_stack([away * np.cos(angle), away * np.sin(angle)])
    if around.any():
        points = _push_apart(_relax(points, _distances(order, parent, radius)), around)
    # The longest side goes across: pictures are wider than high.
    if len(points) > 2:
        x, y = (points - points.mean(axis=0)).T
        turn = 0.5 * math.atan2(2 * float(x @ y), float(x @ x - y @ y))
        points = np.column_stack([x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)])
    return order, points[:, 0], points[:, 1]


def _distances(order: list[int], parent: dict[int, int], radius: Array) -> Array:
    """Length of the path between each two discs of a tree."""
    place = {vertex: at for at, vertex in enumerate(order)}
    found = np.zeros((len(order), len(order)))
    for at, vertex in enumerate(order[1:], 1):
        above = parent[vertex]
        found[at, :at] = found[:at, at] = found[place[above], :at] + _LENGTH + radius[above] + radius[vertex]
    return found


def _angles(order: list[int], parent: dict[int, int], own: dict[int, float]) -> dict[int, float]:
    """Angle of each vertex, from the angle that it needs as a leaf (`own`)."""
    children: dict[int, list[int]] = {vertex: [] for vertex in order}
    for vertex in order[1:]:
        children[parent[vertex]].append(vertex)
    need: dict[int, float] = {}
    for vertex in reversed(order):
        need[vertex] = sum(need[child] for child in children[vertex]) or own[vertex]
    begin, unit = {order[0]: 0.0}, 2 * math.pi / need[order[0]]
    for vertex in order:
        by_need = sorted(children[vertex], key=lambda child: (-need[child], child))
        children[vertex] = by_need[::2] + by_need[1::2][::-1]  # the largest subtrees at the sides
        at = begin[vertex]
        for child in children[vertex]:
            begin[child] = at
            at += unit * need[child]
    angle: dict[int, float] = {}
    for vertex in reversed(order):
        below = children[vertex]
        middle = begin[vertex] + unit * need[vertex] / 2
        angle[vertex] = sum(angle[child] for child in below) / len(below) if below else middle
    return angle


def _relax(points: Array, distance: Array) -> Array:
    """Move points until those apart are about their distances, by majorization of the stress."""
    weight = distance + np.eye(len(points))
    weight = weight**-2 - np.eye(len(points))
    # The points' sum is 0, so any matrix that differs by a constant from the pseudo-inverse will do.
    inverse = np.linalg.inv(np.diag(weight.sum(axis=0)) - weight + 1 / len(points))
    for _ in range(_STEPS):
        apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
        pull = -weight * distance / np.maximum(apart, 1e-9)
        points = inverse @ ((pull - np.diag(pull.sum(axis=0))) @ points)
    return points


def _push_apart(points: Array, radius: Array) -> Array:
    """Move discs until no two overlap, a little at a time."""
    need = radius[:, None] + radius[None] + _APART
    np.fill_diagonal(need, 0.0)
    for _ in range(_STEPS):
        between = points[:, None] - points[None]
        apart = np.hypot(*between.transpose(2, 0, 1))
        lap = np.maximum(need - apart, 0.0)
        if lap.max() < _APART / 4:
            break
        points = points + 0.5 * ((lap / np.maximum(apart, 1e-9))[:, :, None] * between).sum(axis=1)
    return points


def _pack(placed: list[tuple[list[int], Array, Array]], radius: Array, x: Array, y: Array) -> None:
    """Put the trees into rows, each in a box whose area follows its vertices, or that holds its discs."""
    boxes = []
    for vertices, own_x, own_y in placed:
        around = 2 * float(radius[vertices].max())
        wide, high = (max(float(np.ptp(own)) + around, 0.8) for own in (own_x, own_y))
        scale = 1.0
        if not around:
            scale = math.sqrt(len(vertices) ** 1.1 / (wide * high))
            scale = min(scale, 3 * len(vertices) ** 0.5 / max(wide, high))
        boxes.append((scale * wide, scale * high, scale, around / 2))
    gap = _GAP * max(max(wide, high) for wide, high, *_ in boxes)
    room = max(max(wide for wide, *_ in boxes), 1.35 * math.sqrt(sum((w + gap) * (h + gap) for w, h, *_ in boxes)))
    left = top = row = 0.0
    for (vertices, own_x, own_y), (wide, high, scale, edge) in zip(placed, boxes, strict=True):
        if left and left + wide > room:
            left, top, row = 0.0, top - row - gap, 0.0
        x[vertices] = left + edge + scale * (own_x - own_x.min())
        y[vertices] = top - (high - scale * float(np.ptp(own_y))) / 2 - scale * (own_y.max() - own_y)
        left, row = left + wide + gap, max(row, high)
