"""The picture of a forest: its links on a map or as a layout, the longest ones numbered, or its parts.

A large forest is cut into few parts: its heaviest edges with many vertices on both sides join the parts.

References
----------
Šavrič, Patterson, Jenny: The Equal Earth map projection. International Journal of Geographical Information Science 33
(2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from dfmst._common.arguments import plural
from dfmst._common.types import Array
from dfmst._engines.primitives.tour import RootedTrees, root_trees
from dfmst._report.drawing import Drawing, chains, clip, polyline
from dfmst._report.facts import LONGEST, Colors, DrawnPoints, ForestFacts, number_of_root, tree_colors
from dfmst._report.layout import Box, Name, Tag, lay_out, spaced
from dfmst._trees.points.read import Lines
from dfmst.errors import InvalidEdgesError

_CENTER = 11.0  # degrees east in the middle of the world: its edge at 169° W then crosses the least land
_EDGE = 179.999  # degrees from the center
_WIDE = 100.0  # degrees: a wider span is drawn as the world
_GRIDS = (4000, 2000, 1000)
_LINKS = 60_000  # drawn at most; a coarser grid joins links that a finer one separates
_FAR = 2.7  # degrees, 300 km: a longer link is drawn along its great circle
_ARCS = 3_000  # drawn at most
_WIDER = 1.3  # a layout is stretched to the shape of a picture
_LAID_OUT = 3_000  # vertices that are laid out; a larger tree is drawn in parts
_HUBS = 60  # vertices of a layout that have a title
_FEW = 600  # vertices that are drawn as dots, with bold links
_APART = 5.0  # percent: numbers that are nearer would cover each other
_NAMED = 40  # vertices whose names fit a picture, and discs whose hubs are named if there is room
_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796

# "world", "region", "plane" or "layout", and the function from coordinates to x and y (upwards) in the plane.
_Projection = tuple[str, Callable[[Array, Array], tuple[Array, Array]]]


def _equal_earth(longitude: Array, latitude: Array) -> tuple[Array, Array]:
    """Return x and y of degrees from the center, by Equal Earth."""
    t = np.arcsin(np.sqrt(3) / 2 * np.sin(np.radians(latitude)))
    square = t * t
    sixth = square**3
    slope = _A1 + 3 * _A2 * square + sixth * (7 * _A3 + 9 * _A4 * square)
    x = 2 / np.sqrt(3) * np.radians(longitude) * np.cos(t) / slope
    return x, t * (_A1 + _A2 * square + sixth * (_A3 + _A4 * square))


def _from_center(longitude: Array) -> Array:
    """Degrees east of the center, from -180 to 180."""
    return (np.asarray(longitude) - _CENTER + 180) % 360 - 180


def _project(x: Array, y: Array, geographic: bool) -> _Projection:
    """Choose a projection for coordinates: longitude and latitude in degrees if `geographic`."""
    if not geographic or not len(x):
        return "plane", lambda one, other: (one, other)
    if x.max() - x.min() > _WIDE or y.max() - y.min() > _WIDE:
        return "world", lambda one, other: _equal_earth(_from_center(one), other)
    width = float(np.cos(np.radians((y.min() + y.max()) / 2)))
    return "region", lambda one, other: (one * max(width, 0.05), other)


def _arc(start: tuple[float, float], stop: tuple[float, float], parts: int) -> tuple[Array, Array]:
    """Return longitudes and latitudes along the shorter great circle between two points, in degrees."""
    points = np.radians([start, stop])
    east, north = points[:, 0], points[:, 1]
    ends = np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
    angle = np.arccos(np.clip(ends[0] @ ends[1], -1, 1))
    share = np.linspace(0, 1, parts + 1)[:, None]
    if np.sin(angle) < 1e-9:  # the same point, or its opposite, to which every way is as short
        way = (1 - share) * ends[0] + share * ends[1] + 1e-12
    else:
        way = (np.sin((1 - share) * angle) * ends[0] + np.sin(share * angle) * ends[1]) / np.sin(angle)
    return np.degrees(np.arctan2(way[:, 1], way[:, 0])), np.degrees(np.arcsin(np.clip(way[:, 2], -1, 1)))


def _pieces(longitude: Array, latitude: Array) -> Iterator[tuple[Array, Array]]:
    """Cut a line where it crosses the edge of the world."""
    cuts = np.flatnonzero(np.abs(np.diff(_from_center(longitude))) > 180) + 1
    for part in np.split(np.arange(len(longitude)), cuts):
        if len(part) > 1:
            yield longitude[part], latitude[part]


def picture_card(forest: ForestFacts, points: DrawnPoints | None, colors: Colors | None) -> dict[str, Any] | None:
    """Draw the forest at the coordinates of its vertices, or lay it out; ``None`` if it has no edges."""
    if not len(forest.ordered):
        return None
    colors = colors or tree_colors(forest)
    if points is not None:
        picture = _on_map(forest, points, colors)
        links, trees = plural(len(forest.ordered), "link"), plural(len(forest.tree_sizes), "tree")
        title, note = "The forest on the map", f"{links} in {trees}"
        missing = forest.vertices - picture.drawn
        note += f"; {plural(missing, 'vertex has', 'vertices have')} no coordinates" if missing else ""
    elif forest.tree_sizes[0] > _LAID_OUT:
        return part_card(forest, colors)
    else:
        picture = _laid_out(forest, colors)
        whole = picture.drawn == forest.vertices
        title = "The forest, laid out" if whole else "The largest trees, laid out"
        note = plural(forest.vertices, "vertex", "vertices")
        note = note if whole else f"{picture.drawn:,} of {note}, in the largest trees"
    picture.draw()
    return {
        "kind": picture.kind,
        "drawing": picture.drawing.markup(),
        "tags": picture.tags,
        "names": picture.names,
        "few": picture.drawn <= _FEW,
        "legend": colors.legend,
        "title": title,
        "note": f"{note}. {colors.words}" if colors.words else note,
    }


def _laid_out(forest: ForestFacts, colors: Colors) -> _Picture:
    """Lay out the largest trees that have 3,000 vertices together."""
    whole = int(np.searchsorted(np.cumsum(forest.tree_sizes), _LAID_OUT, side="right"))
    there = forest.tree < whole
    edges = np.flatnonzero(there[forest.ordered.source])
    source, target = forest.ordered.source[edges], forest.ordered.target[edges]
    x, y = lay_out(source, target, np.where(there, 0.0, np.nan))
    x *= _WIDER
    projection: _Projection = "layout", lambda one, other: (one, other)
    return _Picture(forest, colors, (x, y, there), projection, (x[there], y[there]), 0.04)


def _on_map(forest: ForestFacts, points: DrawnPoints, colors: Colors) -> _Picture:
    x, y = points.of(forest.ordered.listed.values())
    there = np.isfinite(x) & np.isfinite(y)
    if not there.any():
        raise InvalidEdgesError("no vertex has coordinates that are numbers", "name other columns with coordinates=")
    projection = kind, to_plane = _project(x[there], y[there], points.geographic)
    if kind != "world":
        bends = (x[:0], y[:0]) if points.lines is None else points.lines[1:]
        box = to_plane(np.append(x[there], bends[0]), np.append(y[there], bends[1]))
        return _Picture(forest, colors, (x, y, there), projection, box, 0.03, points.lines)
    sides = to_plane(np.array([_CENTER - _EDGE, _CENTER + _EDGE]), np.zeros(2))[0]
    limits = to_plane(np.full(2, _CENTER), np.array(_latitudes(y[there])))[1]
    return _Picture(forest, colors, (x, y, there), projection, (sides, limits), 0.0)


def _latitudes(y: Array) -> tuple[float, float]:
    """Return the southern and northern limits of a world map: all points and the inhabited land."""
    return min(-58.0, float(y.min())), max(84.0, float(y.max()))


class _Picture:
    """A drawing of the forest, numbers of its longest links, and names of vertices."""

    def __init__(
        self,
        forest: ForestFacts,
        colors: Colors,
        coordinates: tuple[Array, Array, Array],  # x, y and whether a vertex has both
        projection: _Projection,
        box: tuple[Array, Array],
        margin: float,
        lines: Lines | None = None,
    ) -> None:
        self.forest, self.colors, (self.kind, self.to_plane) = forest, colors, projection
        self.x, self.y, self.there = coordinates
        self.drawn = int(self.there.sum())
        source, target = forest.ordered.source, forest.ordered.target
        rows = np.flatnonzero(self.there[source] & self.there[target])
        self.style, self.lines = colors.edge[rows], lines
        self.edges, self.bent = rows, self._bent()  # whether an edge is drawn as the line of its row
        self.source, self.target = source[rows].astype(np.int64), target[rows].astype(np.int64)
        self.plane = self.to_plane(np.nan_to_num(self.x), np.nan_to_num(self.y))
        self.frame, self.places = self._grid([Box.around(*box, width, margin) for width in _GRIDS])
        self.drawing = Drawing(self.frame.height, "The minimum spanning forest", self.frame.width)
        self.tags: list[Tag] = []
        self.names: list[Name] = []

    def _grid(self, frames: list[Box]) -> tuple[Box, tuple[Array, Array]]:
        """Return the finest grid on which at most 60,000 links differ."""
        for frame in frames[:-1]:
            places = frame.place(*self.plane)
            spot = places[0] << 32 | (places[1] & 0xFFFFFFFF)
            if len(self.source) <= _LINKS or int((spot[self.source] != spot[self.target]).sum()) <= _LINKS:
                return frame, places
        return frames[-1], frames[-1].place(*self.plane)

    def draw(self) -> None:
        """Draw the links of the largest tree on top, then the longest links and the vertices."""
        if self.kind == "world":
            self._draw_world(*_latitudes(self.y[self.there]))
        far, straight = self._far()
        bent = self.bent[self.edges]
        straight &= ~bent
        for style in self.colors.order():
            own = self.style == style
            shape = chains(*self.places, *(end[own & straight] for end in (self.source, self.target)))
            for at in np.flatnonzero(own & far).tolist():
                lines = self._lines(self.source[at], self.target[at])
                shape += "".join(polyline(*self.frame.place(*line)) for line in lines)
            shape += self._bends(self.edges[own & bent])
            self.drawing.path(shape, f"link {self.colors.family}{style}")
        if self.forest.ranked:
            self._number()
        if self.drawn <= _FEW or self.kind == "layout":
            self._dot(np.flatnonzero(self.there))

    def _draw_world(self, south: float, north: float) -> None:
        def shape(longitude: Array, latitude: Array) -> str:
            return polyline(*self.frame.place(*self.to_plane(longitude, latitude)))

        up = np.linspace(south, north, 60)
        sides = np.concatenate([np.full(60, _CENTER - _EDGE), np.full(60, _CENTER + _EDGE)])
        self.drawing.path(shape(sides, np.concatenate([up, up[::-1]])) + "Z", "sea")
        net = "".join(shape(np.full(60, float(at)), up) for at in range(-150, 181, 30))
        across = np.array([_CENTER - _EDGE, _CENTER + _EDGE])
        net += "".join(shape(across, np.full(2, float(at))) for at in range(-60, 90, 30) if south < at < north)
        self.drawing.path(net, "grat")

    def _far(self) -> tuple[Array, Array]:
        """Links of the world that are drawn along their great circles, and those that are drawn straight."""
        source, target = self.source, self.target
        if self.kind != "world":
            return np.zeros(len(source), bool), np.ones(len(source), bool)
        phi, lam = np.radians(np.nan_to_num(self.y)), np.radians(np.nan_to_num(self.x))
        half = np.sin((phi[target] - phi[source]) / 2) ** 2
        half += np.cos(phi[source]) * np.cos(phi[target]) * np.sin((lam[target] - lam[source]) / 2) ** 2
        cut = np.abs(_from_center(self.x[source]) - _from_center(self.x[target])) > 180
        angle = np.degrees(2 * np.arcsin(np.sqrt(np.clip(half, 0, 1)))) + 360 * cut
        least = max(_FAR, float(np.partition(angle, -_ARCS)[-_ARCS]) if len(angle) > _ARCS else 0.0)
        return angle > least, (angle <= least) & ~cut

    def _bent(self) -> Array:
        """Edges whose lines have more than two positions; none if there are too many to draw, or on a world map."""
        if self.lines is None or self.kind == "world":
            return np.zeros(len(self.forest.ordered), bool)
        count = np.diff(self.lines.offset)[self.forest.ordered.rows]
        bent = count > 2
        return bent & bool(count[bent].sum() <= _LINKS)

    def _bends(self, edges: Array) -> str:
        """Return the lines of edges, without positions on the same spot."""
        if self.lines is None or not len(edges):
            return ""
        offset, x, y = self.lines
        rows = self.forest.ordered.rows[edges]
        at = np.concatenate([np.arange(offset[row], offset[row + 1]) for row in rows.tolist()])
        spots = np.column_stack(self.frame.place(*self.to_plane(x[at], y[at])))
        first = np.zeros(len(at), bool)
        first[np.cumsum(np.diff(offset)[rows])[:-1]] = first[0] = True
        kept = first | np.append(True, (spots[1:] != spots[:-1]).any(axis=1))
        words = zip(first[kept].tolist(), spots[kept].tolist(), strict=True)
        return "".join(f"{'M' if begin else 'L'}{column} {row}" for begin, (column, row) in words)

    def _lines(self, source: int, target: int) -> list[tuple[Array, Array]]:
        """Return one link as lines in the plane: two if it crosses the edge of the map."""
        start, stop = ((float(self.x[end]), float(self.y[end])) for end in (source, target))
        if self.kind != "world":
            return [self.to_plane(np.array([start[0], stop[0]]), np.array([start[1], stop[1]]))]
        parts = int(max(8, abs(stop[0] - start[0]) % 360, abs(stop[1] - start[1])))
        return [self.to_plane(*piece) for piece in _pieces(*_arc(start, stop, parts))]

    def _number(self) -> None:
        """Draw the longest links in a color of their own, each with its number."""
        forest = self.forest
        for number, at in enumerate(forest.extreme(LONGEST).tolist(), 1):
            source, target = int(forest.ordered.source[at]), int(forest.ordered.target[at])
            if not (self.there[source] and self.there[target]):
                continue
            title = f"{number}: {' – '.join(forest.ends(at))}: {forest.weight_words(float(forest.weight[at]))}"
            own = self._bends(np.array([at])) if self.bent[at] else ""
            for line in self._lines(source, target):
                shape = own or polyline(*self.frame.place(*line))
                self.drawing.path(shape, "halo")
                self.drawing.path(shape, "long", title)
                self._tag(str(number), line)

    def _tag(self, text: str, line: tuple[Array, Array]) -> None:
        """Put a number on the middle of a line, or if another one is there on a place next to it."""
        points = np.arange(len(line[0]))
        tag = ("", 0.0, 0.0)
        for share in (0.5, 0.65, 0.35, 0.8):
            tag = self.frame.tag(text, *(float(np.interp(share * points[-1], points, axis)) for axis in line))
            if all(math.hypot(tag[1] - left, tag[2] - top) > _APART for _, left, top in self.tags):
                break
        self.tags.append(tag)

    def _dot(self, vertices: Array) -> None:
        """Draw vertices as dots, larger ones for more edges, and name all if they are few, else the hubs."""
        degree = self.forest.degree[vertices]
        by_degree = vertices[np.argsort(-degree, kind="stable")]
        hubs = by_degree[: min(_HUBS, int((degree > 2).sum()))]
        shown = by_degree if len(vertices) <= _FEW else hubs
        for style in self.colors.order() if len(vertices) > _FEW else ():
            own = vertices[self.colors.vertex[vertices] == style]
            places = zip(*(axis[own].tolist() for axis in self.places), strict=True)
            self.drawing.path("".join(f"M{x} {y}h0" for x, y in places), f"dots {self.colors.family}{style}")
        base = self.frame.width / (160 if len(vertices) <= _NAMED else 450)
        words = self.forest.names(shown)
        for name, vertex in zip(words, shown.tolist(), strict=True):
            radius = base * (1 if len(vertices) <= _NAMED else min(4.0, float(self.forest.degree[vertex]) ** 0.5))
            place = int(self.places[0][vertex]), int(self.places[1][vertex])
            kind = f"node {self.colors.family}{int(self.colors.vertex[vertex])}"
            self.drawing.circle(*place, round(radius, 1), kind, name)
        named = by_degree if len(vertices) <= _NAMED else hubs[: _NAMED // 2]
        tags = [
            self.frame.tag(name, float(self.plane[0][vertex]), float(self.plane[1][vertex]))
            for name, vertex in zip(words, named.tolist(), strict=False)
        ]
        if self.kind == "layout":
            self.names = spaced(tags, self.tags, self.frame, [1.2] * len(tags))
        elif len(vertices) <= _NAMED:
            self.names = [(*tag, "") for tag in tags]


_FEWEST, _MOST = 40, 90  # parts that are wanted, and that are made by weight
_WIDTH = 1000  # of the drawing
_RADIUS, _SMALLEST = 3.0, 0.12  # of discs, in lengths of an edge between two of them
_TINY = 0.5  # radius of a disc that a number would hide
_LETTER = 7.2  # units: the width of a letter in a disc
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


def contract_picture(forest: ForestFacts, always: Array) -> Parts:
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
    parts = contract_picture(forest, np.concatenate([heaviest, between]) if len(between) <= _MOST else heaviest)
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
