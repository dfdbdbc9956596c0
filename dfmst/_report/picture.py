"""The picture of a forest: its links on a map or as a layout, the longest ones numbered.

References
----------
Šavrič, Patterson, Jenny: The Equal Earth map projection. International Journal of Geographical Information Science 33
(2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dfmst._common.arguments import plural
from dfmst._common.types import Array
from dfmst._report.drawing import Drawing, chains, polyline
from dfmst._report.facts import ForestFacts
from dfmst._report.layout import lay_out
from dfmst._report.points import Points
from dfmst.errors import InvalidEdgesError

LONGEST = 5  # edges that are numbered
_CENTER = 11.0  # degrees east in the middle of the world: its edge at 169° W then crosses the least land
_EDGE = 179.999  # degrees from the center
_WIDE = 100.0  # degrees: a wider span is drawn as the world
_GRIDS = (4000, 2000, 1000)
_LINKS = 60_000  # drawn at most; a coarser grid joins links that a finer one separates
_FAR = 2.7  # degrees, 300 km: a longer link is drawn along its great circle
_ARCS = 3_000  # drawn at most
_FLAT, _TALL = 0.42, 0.72  # a picture's height as a share of its width
_FEW = 600  # vertices that are drawn as dots, with bold links
_NAMED = 40  # vertices whose names fit a picture
_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796

_Tag = tuple[str, float, float]  # a word on the picture, at a place in percent from the left and from the top
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


@dataclass(frozen=True, slots=True)
class _Frame:
    """A box of whole units that the plane is drawn in."""

    width: int
    height: int
    left: float
    top: float
    scale: float

    @classmethod
    def around(cls, x: Array, y: Array, width: int, margin: float) -> _Frame:
        wide, high = float(np.ptp(x)) or 1e-9, float(np.ptp(y)) or 1e-9
        shape = min(max(high / wide, _FLAT), _TALL)
        inner = width * (1 - 2 * margin)
        scale = min(inner / wide, (width * shape - 2 * margin * width) / high)
        height = round(width * shape)
        return cls(width, height, x.min() - (width / scale - wide) / 2, y.max() + (height / scale - high) / 2, scale)

    def place(self, x: Array, y: Array) -> tuple[Array, Array]:
        columns = np.rint((x - self.left) * self.scale)
        rows = np.rint((self.top - y) * self.scale)
        return columns.astype(np.int64), rows.astype(np.int64)

    def tag(self, text: str, x: float, y: float) -> _Tag:
        left, top = 100 * (x - self.left) * self.scale / self.width, 100 * (self.top - y) * self.scale / self.height
        return text, round(min(98.5, max(1.5, left)), 2), round(min(98.0, max(2.0, top)), 2)


def picture_card(forest: ForestFacts, points: Points | None) -> dict[str, Any] | None:
    """Draw the forest at the coordinates of its vertices, or lay it out; ``None`` if it has no edges."""
    if not len(forest.ordered):
        return None
    if points is not None:
        picture, cut, title = _on_map(forest, points), False, "The forest on the map"
        note = f"{plural(len(forest.ordered), 'link')} in {plural(len(forest.tree_sizes), 'tree')}"
        missing = forest.vertices - picture.drawn
        note += f"; {plural(missing, 'vertex has', 'vertices have')} no coordinates" if missing else ""
    else:
        x, y, cut = lay_out(forest)
        there = np.isfinite(x)
        projection: _Projection = "layout", lambda one, other: (one, other)
        picture = _Picture(forest, (x, y, there), projection, (x[there], y[there]), 0.04)
        whole = picture.drawn == forest.vertices
        title = "The forest, laid out" if whole else "A part of the forest"
        note = f"{picture.drawn:,} of {forest.vertices:,} vertices"
        note += ", those nearest the vertex of most edges in the largest tree" if cut else ""
        note += ", in the largest trees" if not (cut or whole) else ""
    picture.draw()
    return {
        "kind": picture.kind,
        "drawing": picture.drawing.markup(),
        "tags": picture.tags,
        "names": picture.names,
        "few": picture.drawn <= _FEW,
        "cut": cut,
        "title": title,
        "note": note,
    }


def _on_map(forest: ForestFacts, points: Points) -> _Picture:
    x, y = points.of(forest.ordered.listed.values())
    there = np.isfinite(x) & np.isfinite(y)
    if not there.any():
        raise InvalidEdgesError("no vertex has coordinates that are numbers", "name other columns with coordinates=")
    projection = kind, to_plane = _project(x[there], y[there], points.geographic)
    if kind != "world":
        return _Picture(forest, (x, y, there), projection, to_plane(x[there], y[there]), 0.03)
    sides = to_plane(np.array([_CENTER - _EDGE, _CENTER + _EDGE]), np.zeros(2))[0]
    limits = to_plane(np.full(2, _CENTER), np.array(_latitudes(y[there])))[1]
    return _Picture(forest, (x, y, there), projection, (sides, limits), 0.0)


def _latitudes(y: Array) -> tuple[float, float]:
    """Return the southern and northern limits of a world map: all points and the inhabited land."""
    return min(-58.0, float(y.min())), max(84.0, float(y.max()))


class _Picture:
    """A drawing of the forest, numbers of its longest links, and names of vertices."""

    def __init__(
        self,
        forest: ForestFacts,
        coordinates: tuple[Array, Array, Array],  # x, y and whether a vertex has both
        projection: _Projection,
        box: tuple[Array, Array],
        margin: float,
    ) -> None:
        self.forest, (self.kind, self.to_plane) = forest, projection
        self.x, self.y, self.there = coordinates
        self.drawn = int(self.there.sum())
        source, target = forest.ordered.source, forest.ordered.target
        rows = np.flatnonzero(self.there[source] & self.there[target])
        self.source, self.target = source[rows].astype(np.int64), target[rows].astype(np.int64)
        self.plane = self.to_plane(np.nan_to_num(self.x), np.nan_to_num(self.y))
        self.frame, self.places = self._grid([_Frame.around(*box, width, margin) for width in _GRIDS])
        self.drawing = Drawing(self.frame.height, "The minimum spanning forest", self.frame.width)
        self.tags: list[_Tag] = []
        self.names: list[_Tag] = []

    def _grid(self, frames: list[_Frame]) -> tuple[_Frame, tuple[Array, Array]]:
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
        rank = np.minimum(self.forest.tree[self.source], 2)
        for kind in (2, 1, 0):
            shape = chains(*self.places, *(end[(rank == kind) & straight] for end in (self.source, self.target)))
            for at in np.flatnonzero((rank == kind) & far).tolist():
                lines = self._lines(self.source[at], self.target[at])
                shape += "".join(polyline(*self.frame.place(*line)) for line in lines)
            self.drawing.path(shape, f"link c{kind}")
        if self.forest.weight_name is not None:
            self._number()
        if self.drawn <= _FEW:
            self._dot(np.flatnonzero(self.there))

    def _draw_world(self, south: float, north: float) -> None:
        """Draw outline and net."""

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
            for line in self._lines(source, target):
                shape = polyline(*self.frame.place(*line))
                self.drawing.path(shape, "halo")
                self.drawing.path(shape, "long", title)
                middle = (len(line[0]) - 1) // 2
                halfway = (float(axis[middle] / 2 + axis[-1 - middle] / 2) for axis in line)
                self.tags.append(self.frame.tag(str(number), *halfway))

    def _dot(self, vertices: Array) -> None:
        """Draw vertices as dots, and name them if they are few."""
        radius = self.frame.width / (160 if len(vertices) <= _NAMED else 320)
        for name, vertex in zip(self.forest.names(vertices), vertices.tolist(), strict=True):
            kind = f"node c{min(int(self.forest.tree[vertex]), 2)}"
            self.drawing.circle(int(self.places[0][vertex]), int(self.places[1][vertex]), radius, kind, name)
            if len(vertices) <= _NAMED:
                self.names.append(self.frame.tag(name, float(self.plane[0][vertex]), float(self.plane[1][vertex])))
