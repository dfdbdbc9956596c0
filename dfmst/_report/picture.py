"""The picture of a forest: its links on a map or as a layout, the longest ones numbered.

References
----------
Šavrič, Patterson, Jenny: The Equal Earth map projection. International Journal of Geographical Information Science 33
(2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from dfmst._common.types import Array
from dfmst._report.drawing import Drawing, chains, polyline
from dfmst._report.facts import ForestFacts
from dfmst._report.layout import Layout, lay_out
from dfmst._report.points import Points
from dfmst.errors import InvalidEdgesError

CENTRE = 11.0
"""Degrees east in the middle of the world: its edge at 169° W then crosses the least land."""

_WIDE = 100.0  # degrees: a wider span is drawn as the world
_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796

Plane = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True, slots=True)
class Projection:
    """A way to the plane, y upwards."""

    name: str  # "world", "region" or "plane"
    to_plane: Plane  # gives x and y of coordinates


def equal_earth(longitude: Array, latitude: Array) -> tuple[Array, Array]:
    """Return x and y of degrees from the centre, by Equal Earth."""
    t = np.arcsin(np.sqrt(3) / 2 * np.sin(np.radians(latitude)))
    square = t * t
    sixth = square**3
    slope = _A1 + 3 * _A2 * square + sixth * (7 * _A3 + 9 * _A4 * square)
    x = 2 / np.sqrt(3) * np.radians(longitude) * np.cos(t) / slope
    return x, t * (_A1 + _A2 * square + sixth * (_A3 + _A4 * square))


def _from_centre(longitude: Array) -> Array:
    """Degrees east of the centre, from -180 to 180."""
    return (np.asarray(longitude) - CENTRE + 180) % 360 - 180


def project(x: Array, y: Array, geographic: bool) -> Projection:
    """Choose a projection for coordinates: longitude and latitude in degrees if `geographic`."""
    if not geographic or not len(x):
        return Projection("plane", lambda one, other: (one, other))
    if x.max() - x.min() > _WIDE or y.max() - y.min() > _WIDE:
        return Projection("world", lambda one, other: equal_earth(_from_centre(one), other))
    width = float(np.cos(np.radians((y.min() + y.max()) / 2)))
    return Projection("region", lambda one, other: (one * max(width, 0.05), other))


def arc(start: tuple[float, float], stop: tuple[float, float], parts: int) -> tuple[Array, Array]:
    """Return longitudes and latitudes along the shorter great circle between two points, in degrees."""
    points = np.radians([start, stop])
    ends = np.column_stack(
        [
            np.cos(points[:, 1]) * np.cos(points[:, 0]),
            np.cos(points[:, 1]) * np.sin(points[:, 0]),
            np.sin(points[:, 1]),
        ]
    )
    angle = np.arccos(np.clip(ends[0] @ ends[1], -1, 1))
    share = np.linspace(0, 1, parts + 1)[:, None]
    if np.sin(angle) < 1e-9:  # the same point, or its opposite, to which every way is as short
        way = (1 - share) * ends[0] + share * ends[1] + 1e-12
    else:
        way = (np.sin((1 - share) * angle) * ends[0] + np.sin(share * angle) * ends[1]) / np.sin(angle)
    return np.degrees(np.arctan2(way[:, 1], way[:, 0])), np.degrees(np.arcsin(np.clip(way[:, 2], -1, 1)))


def pieces(longitude: Array, latitude: Array) -> Iterator[tuple[Array, Array]]:
    """Cut a line where it crosses the edge of the world."""
    cuts = np.flatnonzero(np.abs(np.diff(_from_centre(longitude))) > 180) + 1
    for part in np.split(np.arange(len(longitude)), cuts):
        if len(part) > 1:
            yield longitude[part], latitude[part]


Place = Callable[[Array, Array], tuple[Array, Array]]
_EDGE = 179.999  # degrees from the centre


def draw_world(drawing: Drawing, projection: Projection, place: Place, south: float, north: float) -> None:
    """Draw outline and net."""

    def shape(longitude: Array, latitude: Array) -> str:
        return polyline(*place(*projection.to_plane(longitude, latitude)))

    up = np.linspace(south, north, 60)
    sides = np.concatenate([np.full(60, CENTRE - _EDGE), np.full(60, CENTRE + _EDGE)])
    drawing.path(shape(sides, np.concatenate([up, up[::-1]])) + "Z", "sea")
    net = "".join(shape(np.full(60, float(at)), up) for at in range(-150, 181, 30))
    across = np.array([CENTRE - _EDGE, CENTRE + _EDGE])
    net += "".join(shape(across, np.full(2, float(at))) for at in range(-60, 90, 30) if south < at < north)
    drawing.path(net, "grat")


LONGEST = 5
_GRIDS = (4000, 2000, 1000)
_LINKS = 60_000  # drawn at most; a coarser grid joins links that a finer one separates
_FAR = 2.7  # degrees, 300 km: a longer link is drawn along its great circle
_ARCS = 3_000
_FLAT, _TALL = 0.42, 0.72  # a picture's height as a share of its width
_NAMED = 40  # vertices whose names fit a picture


class Tag(NamedTuple):
    """A word on the picture, at a place in percent."""

    text: str
    left: float
    top: float


@dataclass(slots=True)
class Picture:
    """A drawing of the forest and its captions."""

    kind: str  # "world", "region", "plane" or "layout"
    drawing: Markup  # the SVG
    drawn: int  # vertices on it
    cut: bool = False
    tags: list[Tag] = field(default_factory=list)  # numbers of the longest links, and names of vertices
    names: list[Tag] = field(default_factory=list)


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

    def tag(self, text: str, x: float, y: float) -> Tag:
        left, top = 100 * (x - self.left) * self.scale / self.width, 100 * (self.top - y) * self.scale / self.height
        return Tag(text, round(min(98.5, max(1.5, left)), 2), round(min(98.0, max(2.0, top)), 2))


def draw_map(forest: ForestFacts, points: Points) -> Picture:
    """Draw the forest at the coordinates of its vertices."""
    x, y = points.of(forest.ordered.listed.values())
    there = np.isfinite(x) & np.isfinite(y)
    if not there.any():
        raise InvalidEdgesError("no vertex has coordinates that are numbers", "name other columns with coordinates=")
    projection = project(x[there], y[there], points.geographic)
    if projection.name == "world":
        corners = np.array([CENTRE - 179.999, CENTRE + 179.999]), np.array([0.0, 0.0])
        sides = projection.to_plane(*corners)[0]
        box = sides, projection.to_plane(np.full(2, CENTRE), np.array(_latitudes(y[there])))[1]
        margin = 0.0
    else:
        box = projection.to_plane(x[there], y[there])
        margin = 0.03
    return _draw(forest, x, y, there, projection, box, margin)


def _latitudes(y: Array) -> tuple[float, float]:
    """Return the southern and northern limits of a world map: all points and the inhabited land."""
    return min(-58.0, float(y.min())), max(84.0, float(y.max()))


def draw_layout(forest: ForestFacts) -> tuple[Picture, Layout]:
    """Draw the forest, or its largest trees, without coordinates."""
    layout = lay_out(forest)
    there = np.isfinite(layout.x)
    projection = Projection("layout", lambda one, other: (one, other))
    picture = _draw(forest, layout.x, layout.y, there, projection, (layout.x[there], layout.y[there]), 0.04)
    picture.cut = layout.cut
    return picture, layout


def _draw(
    forest: ForestFacts,
    x: Array,
    y: Array,
    there: Array,
    projection: Projection,
    box: tuple[Array, Array],
    margin: float,
) -> Picture:
    rows = np.flatnonzero(there[forest.ordered.source] & there[forest.ordered.target])
    source, target = forest.ordered.source[rows].astype(np.int64), forest.ordered.target[rows].astype(np.int64)
    plane = projection.to_plane(np.nan_to_num(x), np.nan_to_num(y))
    frame, places = _grid(box, margin, plane, source, target)
    drawing = Drawing(frame.height, "The minimum spanning forest", frame.width)
    if projection.name == "world":
        draw_world(drawing, projection, frame.place, *_latitudes(y[there]))
    far, straight = _far(projection, x, y, source, target)
    rank = np.minimum(forest.tree[source], 2) if len(rows) else rows
    for kind in (2, 1, 0):
        shape, _ = chains(*places, *(end[(rank == kind) & straight] for end in (source, target)))
        for at in np.flatnonzero((rank == kind) & far).tolist():
            shape += "".join(polyline(*frame.place(*line)) for line in _lines(projection, x, y, source[at], target[at]))
        drawing.path(shape, f"link c{kind}")
    picture = Picture(projection.name, Markup(), int(there.sum()))
    if forest.weight_name is not None:
        _number(drawing, picture, frame, forest, (x, y, there), projection)
    vertices = np.flatnonzero(there)
    _dots(drawing, picture, frame, forest, vertices, (plane[0][vertices], plane[1][vertices]))
    picture.drawing = drawing.markup()
    return picture


def _grid(
    box: tuple[Array, Array], margin: float, plane: tuple[Array, Array], source: Array, target: Array
) -> tuple[_Frame, tuple[Array, Array]]:
    """Return the finest grid on which at most 60,000 links differ."""
    frames = [_Frame.around(*box, width, margin) for width in _GRIDS]
    for frame in frames[:-1]:
        places = frame.place(*plane)
        spot = places[0] << 32 | (places[1] & 0xFFFFFFFF)
        if len(source) <= _LINKS or int((spot[source] != spot[target]).sum()) <= _LINKS:
            return frame, places
    return frames[-1], frames[-1].place(*plane)


def _far(projection: Projection, x: Array, y: Array, source: Array, target: Array) -> tuple[Array, Array]:
    """Links of the world that are drawn along their great circles, and those that are drawn straight."""
    if projection.name != "world":
        return np.zeros(len(source), bool), np.ones(len(source), bool)
    phi, lam = np.radians(np.nan_to_num(y)), np.radians(np.nan_to_num(x))
    half = np.sin((phi[target] - phi[source]) / 2) ** 2
    half += np.cos(phi[source]) * np.cos(phi[target]) * np.sin((lam[target] - lam[source]) / 2) ** 2
    cut = np.abs((x[source] - CENTRE + 180) % 360 - (x[target] - CENTRE + 180) % 360) > 180
    angle = np.degrees(2 * np.arcsin(np.sqrt(np.clip(half, 0, 1)))) + 360 * cut
    least = max(_FAR, float(np.partition(angle, -_ARCS)[-_ARCS]) if len(angle) > _ARCS else 0.0)
    return angle > least, (angle <= least) & ~cut


def _lines(projection: Projection, x: Array, y: Array, source: int, target: int) -> list[tuple[Array, Array]]:
    """Return one link as lines in the plane: two if it crosses the edge of the map."""
    start, stop = (float(x[source]), float(y[source])), (float(x[target]), float(y[target]))
    if projection.name != "world":
        return [projection.to_plane(np.array([start[0], stop[0]]), np.array([start[1], stop[1]]))]
    parts = int(max(8, abs(stop[0] - start[0]) % 360, abs(stop[1] - start[1])))
    return [projection.to_plane(*piece) for piece in pieces(*arc(start, stop, parts))]


def _number(
    drawing: Drawing,
    picture: Picture,
    frame: _Frame,
    forest: ForestFacts,
    where: tuple[Array, Array, Array],
    projection: Projection,
) -> None:
    """Draw the longest links in a color of their own, each with its number."""
    x, y, there = where
    for number, at in enumerate(forest.extreme(LONGEST).tolist(), 1):
        source, target = int(forest.ordered.source[at]), int(forest.ordered.target[at])
        if not (there[source] and there[target]):
            continue
        one, other = forest.names([source, target])
        title = f"{number}: {one} – {other}: {forest.weight_words(float(forest.weight[at]))}"
        for line in _lines(projection, x, y, source, target):
            shape = polyline(*frame.place(*line))
            drawing.path(shape, "halo")
            drawing.path(shape, "long", title)
            middle = (len(line[0]) - 1) // 2
            halfway = [float(axis[middle] / 2 + axis[-1 - middle] / 2) for axis in line]
            picture.tags.append(frame.tag(str(number), halfway[0], halfway[1]))


def _dots(
    drawing: Drawing, picture: Picture, frame: _Frame, forest: ForestFacts, vertices: Array, plane: tuple[Array, Array]
) -> None:
    """Draw at most 600 vertices as dots, and name them if they are few."""
    if len(vertices) > 600:
        return
    names = forest.names(vertices)
    radius = frame.width / (160 if len(vertices) <= _NAMED else 320)
    columns, rows = frame.place(*plane)
    for x, y, name, vertex in zip(columns.tolist(), rows.tolist(), names, vertices.tolist(), strict=True):
        drawing.circle(x, y, radius, f"node c{min(int(forest.tree[vertex]), 2)}", name)
    if len(vertices) <= _NAMED:
        picture.names += [
            frame.tag(name, *place) for name, *place in zip(names, *(axis.tolist() for axis in plane), strict=True)
        ]
