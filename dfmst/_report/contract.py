"""A large forest in few parts: its heaviest edges with many vertices on both sides are cut, and join the parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from dfmst._common.arguments import plural
from dfmst._common.types import Array
from dfmst._engines.primitives.tour import RootedTrees, root_trees
from dfmst._report.drawing import Drawing
from dfmst._report.facts import LONGEST, ForestFacts, number_of_root
from dfmst._report.layout import Box, Name, Tag, lay_out, spaced
from dfmst._report.vertices import Colors
from dfmst._report.words import clip

_FEWEST, _MOST = 40, 90  # parts that are wanted, and that are made by weight
_WIDTH = 1000  # of the drawing
_RADIUS, _SMALLEST = 3.0, 0.12  # of discs, in lengths of an edge between two of them
_TINY = 0.5  # radius of a disc that a number would hide
_LETTER = 7.2  # units: the width of a letter in a disc
_NAMED = 40  # discs whose hubs are named if there is room
_SHARES = (100, 200, 400, 800, 1600, 3200)  # of the vertices: the least part is one of these

# The heaviest edge that may be cut, negative, and the vertices of a part; such edges in ascending order, with the first
# and last place in depth-first order and the number of vertices below each.
_Candidates = tuple[int, int, Array, Array, Array, Array]


@dataclass(frozen=True, slots=True)
class Parts:
    """Connected parts of a forest, and the edges between them."""

    of: Array  # part of each vertex, ``int64``
    size: Array  # vertices of each part
    edges: Array  # places of the edges between parts in the forest's order
    least: int  # vertices on both sides of an edge that was cut for its weight
    drawn: Array  # whether a part is drawn: those of small trees are not


def contract(forest: ForestFacts, always: Array) -> Parts:
    """Cut a forest into parts; the edges in `always`, places in its order, are cut in any case."""
    ordered = forest.ordered
    trees = root_trees(ordered.engine, ordered.source, ordered.target, forest.root)
    cuts, least = np.empty(0, np.int64), 0
    for share in _SHARES:
        least = max(2, forest.vertices // share)
        cuts = _heavy_cuts(trees, forest.root, least)
        if len(cuts) >= _FEWEST or least == 2:
            break
    cut = np.zeros(len(ordered), bool)
    cut[cuts] = cut[always] = True
    root = ordered.labels(~cut)
    part = number_of_root(root)
    drawn = forest.tree_sizes >= least
    drawn[forest.tree[ordered.source[always]]] = True
    tree = forest.tree[root == np.arange(forest.vertices)]
    return Parts(part, np.bincount(part), np.flatnonzero(cut), least, drawn[tree])


def _heavy_cuts(trees: RootedTrees, root: Array, least: int) -> Array:
    """Cut the heaviest edge that leaves `least` vertices on both sides, and so on; return the edges."""
    size = trees.size.astype(np.int64)
    vertex = np.flatnonzero((size >= least) & (size[root] - size >= least))
    vertex = vertex[np.argsort(trees.edge[vertex])]
    begin = trees.order[vertex].astype(np.int64)
    columns = trees.edge[vertex].astype(np.int64), begin, begin + size[vertex], size[vertex]
    parts: list[_Candidates] = []  # the one with the heaviest edge first
    for tree in np.unique(root[vertex]).tolist():
        own = root[vertex] == tree
        _add(parts, int(size[tree]), least, *(column[own] for column in columns))
    cuts: list[int] = []
    while parts and len(cuts) < _MOST:
        _, whole, edge, begin, end, below = heappop(parts)
        first, last, amount = int(begin[-1]), int(end[-1]), int(below[-1])
        inside = (begin >= first) & (begin < last)
        below[(begin < first) & (first < end)] -= amount
        _add(parts, amount, least, edge[inside], begin[inside], end[inside], below[inside])
        _add(parts, whole - amount, least, *(column[~inside] for column in (edge, begin, end, below)))
        cuts.append(int(edge[-1]))
    return np.array(cuts, np.int64)


def _add(parts: list[_Candidates], whole: int, least: int, edge: Array, begin: Array, end: Array, below: Array) -> None:
    """Add a part with those of its edges that may be cut; the others cannot be later, since parts become smaller."""
    fitting = np.flatnonzero((below >= least) & (whole - below >= least))
    if len(fitting):
        columns = edge[fitting], begin[fitting], end[fitting], below[fitting]
        heappush(parts, (-int(columns[0][-1]), whole, *columns))


def part_card(forest: ForestFacts, colors: Colors) -> dict[str, Any]:
    """Draw the parts as discs, and the edges between them, the heaviest ones numbered."""
    heaviest = forest.extreme(LONGEST if forest.ranked else 0)
    between = np.flatnonzero(colors.vertex[forest.ordered.source] != colors.vertex[forest.ordered.target])
    parts = contract(forest, np.concatenate([heaviest, between]) if len(between) <= _MOST else heaviest)
    discs = _Discs(forest, parts)
    tags = discs.join({int(at): rank for rank, at in enumerate(heaviest, 1)})
    return {
        "kind": "parts",
        "names": discs.fill(colors, tags),
        "drawing": discs.drawing.markup(),
        "tags": tags,
        "few": True,
        "legend": colors.legend if colors.words or len(np.unique(forest.tree[parts.drawn[parts.of]])) > 1 else [],
        "title": "The forest in parts",
        "note": _note(forest, parts, colors),
    }


class _Discs:
    def __init__(self, forest: ForestFacts, parts: Parts) -> None:
        self.forest, self.parts = forest, parts
        source, target = forest.ordered.source, forest.ordered.target
        self.edges = parts.edges[parts.drawn[parts.of[source[parts.edges]]]]
        shown = np.cumsum(parts.drawn) - 1
        self.source, self.target = (shown[parts.of[end[self.edges]]] for end in (source, target))
        size = parts.size[parts.drawn]
        radius = self.radius = np.maximum(_RADIUS * np.sqrt(size / size.max()), _SMALLEST)
        x, y = self.x, self.y = lay_out(self.source, self.target, radius)
        across, up = (np.concatenate([axis - radius, axis + radius]) for axis in (x, y))
        self.box = Box.around(across, up, _WIDTH, 0.02)
        self.places = np.column_stack(self.box.place(x, y)).tolist()
        self.drawing = Drawing(self.box.height, "The forest in parts", self.box.width)

    def join(self, number: dict[int, int]) -> list[Tag]:
        """Draw the edges, and return the tags of those that have a number."""
        forest, tags = self.forest, list[Tag]()
        columns = (self.edges, self.source, self.target)
        for at, one, other in zip(*(column.tolist() for column in columns), strict=True):
            title = " – ".join(forest.ends(at))
            if forest.weight_name is not None:
                title += f": {forest.weight_words(float(forest.weight[at]))}"
            (x1, y1), (x2, y2) = self.places[one], self.places[other]
            self.drawing.path(f"M{x1} {y1}L{x2} {y2}", "long" if at in number else "join", title)
            if at in number:
                tags.append(self.box.tag(str(number[at]), *self._place_of_number(one, other)))
        return tags

    def _place_of_number(self, one: int, other: int) -> tuple[float, float]:
        """Return the middle of an edge, or a place behind its end if that is a small disc, so that the edge shows."""
        near, far = (one, other) if self.radius[one] >= self.radius[other] else (other, one)
        across, up = float(self.x[far] - self.x[near]), float(self.y[far] - self.y[near])
        share = 1 + 1 / math.hypot(across, up) if self.radius[far] < _TINY else 0.5
        return float(self.x[near]) + share * across, float(self.y[near]) + share * up

    def fill(self, colors: Colors, tags: list[Tag]) -> list[Name]:
        """Draw the discs, and return the names of hubs that have room."""
        forest, parts = self.forest, self.parts
        hubs = forest.names(forest.hubs(parts.of, len(parts.size))[parts.drawn])
        style = colors.of_parts(parts.of, len(parts.size))[parts.drawn]
        size = parts.size[parts.drawn]
        for at, (hub, count) in enumerate(zip(hubs, size.tolist(), strict=True)):
            title = f"{plural(count, 'vertex', 'vertices')} around {hub}"
            radius = round(float(self.radius[at]) * self.box.scale, 1)
            x, y = self.places[at]
            self.drawing.circle(x, y, radius, f"disc {colors.family}{style[at]}", title)
        order = np.argsort(-size, kind="stable")
        texts = [clip(hubs[at], 24) for at in order[:_NAMED].tolist()]
        wide = self.radius[order] * self.box.scale
        small = wide[:_NAMED] < [_LETTER / 2 * len(text) for text in texts]  # the name of a small disc stands above it
        above = self.y[order[:_NAMED]] + np.where(small, self.radius[order[:_NAMED]], 0.0)
        places = zip(texts, self.x[order].tolist(), above.tolist(), strict=False)
        words = [self.box.tag(text, left, top) for text, left, top in places]
        middles = [self.box.tag("", left, top)[1:] for left, top in zip(self.x[order], self.y[order], strict=True)]
        discs = [(*middle, radius) for middle, radius in zip(middles, wide.tolist(), strict=True)]
        names = spaced(words, tags, self.box, np.where(small, 0.5, 0.0).tolist(), discs)
        lifted = {word for word, up in zip(words, small.tolist(), strict=True) if up}
        return [(*name[:3], f"{name[3]}{' up' * (name[:3] in lifted)}") for name in names]


def _note(forest: ForestFacts, parts: Parts, colors: Colors) -> str:
    count, kind = int(parts.size[parts.drawn].sum()), "lightest" if forest.maximum else "heaviest"
    note = f"{plural(forest.vertices, 'vertex', 'vertices')} in {plural(int(parts.drawn.sum()), 'part')}"
    note = f"{count:,} of {note}, in the largest trees" if count < forest.vertices else note
    if forest.ranked:
        note += f", joined by the {kind} edges with {parts.least:,} vertices or more on both sides"
    note += ". The area of a disc shows its vertices; it is named after the one with most edges"
    return f"{note}. {colors.words}" if colors.words else note
