"""A kd-tree of points: distances, and the nearest points of every point.

Metrics of points: coordinates in which they are compared, and the unit of their distances.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dfmst._common.arguments import check_choice, is_several, plural, real_number
from dfmst._common.types import Array, ColumnName
from dfmst._engines import Engine
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.points.read import Points, check_no_correlations
from dfmst.errors import InvalidEdgesError


class Space(NamedTuple):
    """How distances follow from differences of coordinates."""

    norm: int = 2  # 2: the root of the sum of squares; 1: the sum; 0: the largest
    period: Array | None = None  # of every axis, ``float64``; 0 if it has none


EUCLID = Space()


def distances(engine: Engine, points: Array, source: Array, target: Array, space: Space = EUCLID) -> Array:
    """Return the distances of pairs of points (``int64``), ``float64``: the same floats as the searches'."""
    distance: Array = engine.xp.empty(len(source))
    ends = (engine.xp.ascontiguousarray(end) for end in (source, target))
    columns = points.reshape(-1), points.shape[1], len(points), *space, *ends, distance
    engine.launch("pair_distances", len(source), *columns)
    return distance


_LANES = 8  # entries that the kernels read behind the last point
SURE = 9  # most points that are listed by ``sure_neighbors``; the kernels' SLOTS less one
PLANE = 3  # axes up to which a box is small compared with its distance from most points
_FEW, _MANY, _DEVICE_MANY = 8, 16, 32  # points of a leaf, or up to twice as many: up to PLANE axes, above, on a GPU
_SCRATCH = 1 << 18  # distances of neighbors at a time
_CODE = 63  # bits of a code
_DEVICE_SCRATCH = 1 << 25  # on a GPU: enough to keep it busy
GRAIN = 128  # positions that one thread takes at a time: points that follow each other look into the same leaves


class PointTree(NamedTuple):
    """Points in the order of a tree: arguments of kernels, in their order."""

    column: Array  # coordinates axis by axis, ``float64``, and some padding
    order: Array  # position in the tree -> number of the point, ``uint32``
    length: int  # number of points
    axes: int
    depth: int  # levels above the leaves
    box: Array  # node -> least and largest coordinates of its points, ``float64``, shape ``(nodes, 2, axes)``
    axis: Array  # node above the leaves -> the axis that it is cut across, ``uint32``
    cut: Array  # node above the leaves -> least coordinate of its upper half
    norm: int = 2  # as in :class:`Space`
    period: Array | None = None

    @property
    def space(self) -> Space:
        return Space(self.norm, self.period)

    @property
    def points(self) -> Array:
        """Coordinates in the tree's order, shape ``(axes, length)``."""
        points: Array = self.column[: self.axes * self.length].reshape(self.axes, self.length)
        return points


def build_tree(engine: Engine, points: Array, space: Space = EUCLID) -> PointTree:
    """Build the tree of points, ``float64`` of shape ``(axes, length)`` and at least one."""
    xp, (axes, length) = engine.xp, points.shape
    points_of_leaf = _FEW if axes <= PLANE else _MANY if engine.on_host else _DEVICE_MANY
    depth = max(0, (length // points_of_leaf).bit_length() - 1)
    column, nodes = xp.empty(axes * length + _LANES), 2 << depth
    box, axis, cut = xp.empty((nodes, 2, axes)), xp.empty(nodes // 2, np.uint32), xp.empty(nodes // 2)
    if not engine.on_host:
        barrier = xp.zeros(1, np.uint32)
        order, points = _sort_points(engine, points, barrier), points.reshape(-1)
        engine.launch("bound_nodes", length, barrier, points, order, length, axes, depth, column, box, axis, cut)
        return PointTree(column, order, length, axes, depth, box, axis, cut, *space)
    column[: axes * length] = points.reshape(-1)
    column[axes * length :] = 0
    order = np.arange(length, dtype=np.uint32)
    for level in range(depth + 1):
        columns = column, order, length, axes, level, depth, box, axis, cut
        engine.launch("split_points", 1 << level, *columns, grain=max(1, (GRAIN << level) // length))
    return PointTree(column, order, length, axes, depth, box, axis, cut, *space)


def _sort_points(engine: Engine, points: Array, barrier: Array) -> Array:
    """Return the points in the order of Morton codes.

    To sort codes keeps all threads of a GPU busy; the selection of medians leaves the upper levels to a few.
    """
    xp, (axes, length) = engine.xp, points.shape
    used = min(axes, _CODE)
    bits = _CODE // used if used > 2 else _CODE // 2
    code, bounds = xp.empty(length, np.uint64), xp.zeros(2 * used, np.uint64)
    engine.launch("morton_codes", length, barrier, points.reshape(-1), length, axes, bits, bounds, code)
    return sort_order(engine, code, used * bits)


def nearest_points(engine: Engine, tree: PointTree, wanted: int) -> tuple[Array, Array]:
    """Find the nearest points of every point, by position in the tree; and the distance of the last one."""
    xp, length, by_leaf = engine.xp, tree.length, engine.on_host and tree.axes <= PLANE
    neighbor, reach = xp.empty(length * wanted, np.uint32), xp.empty(length) if wanted else xp.zeros(length)
    # An index is a leaf, whose points look for neighbors together. On a GPU, and if boxes are large compared with
    # distances, it is a point.
    indices, scratch = (1 << tree.depth, _SCRATCH) if by_leaf else (length, _DEVICE_SCRATCH)
    grain = max(1, GRAIN * indices // length)
    step = max(grain, scratch * indices // max(1, wanted * length))
    distance = xp.empty(min(step * (length // indices + 1), length) * wanted)
    for start in range(0, indices if wanted else 0, step):
        begin, end = (length * min(at, indices) // indices for at in (start, start + step))
        here = neighbor[begin * wanted : end * wanted], distance, reach[begin:end]
        count = min(step, indices - start)
        kernel = "nearest_to_leaves" if by_leaf else "nearest_points"
        engine.launch(kernel, count, *tree, wanted, start, *here, grain=grain)
    if wanted == tree.length - 1:
        reach.fill(np.inf)
    return neighbor.reshape(tree.length, wanted), reach


def sure_neighbors(engine: Engine, tree: PointTree) -> tuple[Array, Array]:
    """Find up to ``SURE`` points of which each is surely nearer than all others; and a bound of the distance of those.

    For up to three axes on the host. A list of positions is padded with the largest ``uint32``.
    """
    neighbor, reach = np.empty((tree.length, SURE), np.uint32), np.empty(tree.length)
    grain = max(1, (GRAIN << tree.depth) // tree.length)
    engine.launch("sure_neighbors", 1 << tree.depth, *tree, neighbor.reshape(-1), reach, grain=grain)
    return neighbor, reach


METRICS = ("euclidean", "haversine", "cosine", "correlation", "manhattan", "chebyshev")
_NORMS = {"euclidean": 2, "manhattan": 1, "chebyshev": 0}
_LONGITUDES = 360.0

#: Lengths of a periodic box: one for all axes, or one each.
Box: TypeAlias = float | Sequence[float | None]


class Measured(NamedTuple):
    """Points as they are compared."""

    coordinates: Array  # ``float64``, shape ``(axes, points)``
    space: Space
    metric: str
    about: Mapping[str, str] = {}  # attributes of the result: the columns that were read as degrees

    def unit(self, engine: Engine, weight: Array) -> Array:
        """Return distances in the unit of the metric; a longer one is never less. May reuse `weight`."""
        if self.metric == "haversine":
            engine.launch("arcs_of_chords", len(weight), weight)
        elif self.metric in ("cosine", "correlation"):
            weight *= weight
            weight /= 2
        return weight


def measure(engine: Engine, points: Points, metric: str | None, box: object) -> Measured:
    """Move points to where they are compared; without a metric the points' reference system or Euclid's says it."""
    metric = _default_metric(points) if metric is None else metric
    check_metric(metric)
    if metric in _NORMS:
        period = None if box is None else _period(box, len(points.coordinates))
        if period is None:
            return Measured(points.coordinates, Space(_NORMS[metric]), metric)
        coordinates = _wrapped(engine.xp, points.coordinates, period)
        return Measured(coordinates, Space(_NORMS[metric], engine.from_host(period)), metric)
    if box is not None:
        message = f"a box is for the metrics {', '.join(map(repr, _NORMS))}, and metric is {metric!r}"
        raise InvalidEdgesError(message, "leave out box=", option=("box=", "--box"))
    if metric == "haversine":
        latitude = _latitude(points)
        return Measured(_on_sphere(engine, points, latitude), EUCLID, metric, _about(points, latitude))
    if metric == "correlation" and points.kind == "point" and engine.on_host:
        check_no_correlations(points.coordinates)
    return Measured(_directions(engine.xp, points, centered=metric == "correlation"), EUCLID, metric)


def check_metric(metric: object) -> None:
    known = " or ".join(map(repr, METRICS))
    matrix = "; of a matrix of distances, make a table: dfmst.from_matrix" if str(metric) == "precomputed" else ""
    check_choice(metric, METRICS, f"metric is {metric!r}; it must be {known}{matrix}")


def _period(box: Any, axes: int) -> Array | None:
    """Lengths of a periodic box, 0 of an axis that is not periodic; ``None`` if none is."""
    lengths = [0.0 if length is None else real_number("box", length) for length in (box if is_several(box) else [box])]
    lengths = lengths * axes if not is_several(box) else lengths
    if len(lengths) != axes:
        message = f"box has {plural(len(lengths), 'length')}, and the points have {plural(axes, 'axis', 'axes')}"
        raise InvalidEdgesError(message, "pass a length for each axis, 0 if the axis is not periodic")
    for length in lengths:
        if not 0 <= length < math.inf:
            message = f"box holds the length {length:g}; it must be positive, or 0 if the axis is not periodic"
            raise InvalidEdgesError(message, "pass the length of the box along each axis")
    return np.array(lengths) if any(lengths) else None


def _wrapped(xp: ModuleType, coordinates: Array, period: Array) -> Array:
    """Coordinates inside a periodic box, from 0 to below its length."""
    inside: Array = xp.ascontiguousarray(xp.array(coordinates, np.float64))
    for place, length in enumerate(period.tolist()):
        if length > 0:
            axis = inside[place]
            axis[:] = xp.fmod(axis, length)  # exact on the host and on a GPU
            axis[axis < 0] += length
            axis[axis >= length] = 0.0  # the sum may round to the length
    return inside


def _default_metric(points: Points) -> str:
    """Return haversine for a reference system in degrees, else Euclid's metric; warn if names say degrees."""
    if points.geographic:
        return "haversine"
    found = degrees_among(points.names)
    if found is not None:
        message = f"columns {found[0]!r} and {found[1]!r} are read as plain coordinates, not as degrees on the earth"
        hint = 'pass metric="haversine" for meters, or metric="euclidean" to keep this distance'
        caller, level = sys._getframe(), 1
        while caller.f_back is not None and caller.f_globals.get("__name__", "").startswith("dfmst."):
            caller, level = caller.f_back, level + 1
        warnings.warn(f"{message}: {hint}", UserWarning, stacklevel=level)
    return "euclidean"


def _latitude(points: Points) -> int:
    """Return which of two columns of degrees is the latitude; the first if their names do not say it."""
    if points.geographic is False:
        message = "haversine takes degrees, and the reference system of the geometries is not in degrees"
        hint = "leave out metric= for distances in its unit, or take degrees: frame.to_crs(4326)"
        raise InvalidEdgesError(message, hint, option=("metric=", "--metric"))
    for name in points.names:
        if not _RADIANS.isdisjoint(_words(name)):
            message = f"column {name!r} holds radians by its name, and haversine takes degrees"
            hint = "pass numpy.degrees(column) under another name, or rename the column if it holds degrees"
            raise InvalidEdgesError(message, hint)
    axes, hint, option = len(points.coordinates), "name them with columns=", ("columns=", "-c")
    if axes != 2:
        if points.geographic:
            hint = 'drop the heights: frame.geometry.force_2d(), or pass metric="euclidean"'
            option = 'metric="euclidean"', "--metric euclidean"
        message = f"haversine takes two columns, latitude and longitude, and the points have {axes}"
        raise InvalidEdgesError(message, hint, option=option)
    return latitude_of(*points.names) if points.names else 0


def _about(points: Points, latitude: int) -> dict[str, str]:
    """Attributes of a result: which columns were read as degrees."""
    names = points.names or ("column 0 of the array", "column 1 of the array")
    return {"metric": "haversine", _NORTH: str(names[latitude]), _EAST: str(names[1 - latitude])}


_NORTH, _EAST, _BOTH = "latitude", "longitude", "both"
_TERMS = {
    _NORTH: {"latitude", "latitud", "lat", "lats"},
    _EAST: {"longitude", "longitud", "long", "lon", "lng", "lons"},
}
_RADIANS = {"rad", "rads", "radian", "radians"}
_BETWEEN_WORDS = re.compile("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LETTERS = re.compile(r"[^\W\d_]+")


def latitude_of(first: object, second: object) -> int:
    """Return which of two columns is the latitude by their names; the first if they do not say it."""
    names = first, second
    for place, pair in enumerate((names, names[::-1])):
        if str(pair[1]).casefold() in _partners(pair[0]):
            return place
    said = [_said(name) for name in names]
    sides = [side or _axis(name) for side, name in zip(said, names, strict=True)]
    if any(said) and (_BOTH in said or sides[0] == sides[1]):
        message = f"the names {first!r} and {second!r} are not those of one latitude and one longitude"
        hint = "name the two columns with columns=, or rename them"
        raise InvalidEdgesError(message, hint, option=("columns=", "-c"))
    if any(said):
        return int(sides[0] == _EAST or sides[1] == _NORTH)
    one, other = (str(name).casefold() for name in names)  # such as posx, posy
    differ = (f"{one[:at]}y{one[at + 1 :]}" == other for at, letter in enumerate(one) if letter == "x")
    return int(sides == [_EAST, _NORTH] or any(differ))


def degrees_among(names: tuple[ColumnName, ...]) -> tuple[Any, Any] | None:
    """Return a latitude and a longitude by their names; ``None`` if there are none."""
    known = {str(name).casefold(): name for name in names}
    pairs = ((name, known[other]) for name in names for other in _partners(name) if other in known)
    said = {_said(name): name for name in reversed(names)}
    return next(pairs, (said[_NORTH], said[_EAST]) if {_NORTH, _EAST} <= said.keys() else None)


def _words(name: ColumnName) -> list[str]:
    return _LETTERS.findall(_BETWEEN_WORDS.sub(" ", str(name)).casefold())


def _partners(name: ColumnName) -> set[str]:
    """Return names of longitudes that differ from the name of a latitude in this word alone: reclat, reclong."""
    text = str(name).casefold()
    parts = (re.split(f"({term})", text) for term in ("latitude", "lat"))
    cuts = (("".join(part[:at]), "".join(part[at + 1 :])) for part in parts for at in range(1, len(part), 2))
    return {f"{begin}{term}{end}" for begin, end in cuts for term in _TERMS[_EAST]}


def _said(name: ColumnName) -> str | None:
    """Return whether a name has the word latitude or longitude, or both; ``long`` counts as its last word."""
    text, words = str(name).casefold(), _words(name)
    known = {*_LETTERS.findall(text), *words} - {"long"} | {*words[-1:]}
    sides = [side for side, terms in _TERMS.items() if terms & known or side[:-1] in text]
    return _BOTH if len(sides) > 1 else sides[0] if sides else None


def _axis(name: ColumnName) -> str | None:
    """Return which of x and y a name has as a word: x is the longitude."""
    words = set(_words(name))
    for axis, side, *others in (("x", _EAST, "easting", "ra"), ("y", _NORTH, "northing", "dec")):  # or of the sky
        if words & {axis, f"{axis}coord", f"coord{axis}", f"{axis}coordinate", *others}:
            return side
    return None


def _on_sphere(engine: Engine, points: Points, latitude_at: int) -> Array:
    """Coordinates in space of latitudes and longitudes."""
    latitude, longitude = points.coordinates[latitude_at], points.coordinates[1 - latitude_at]
    for place, values, name, limit in (
        (latitude_at, latitude, "latitude", 90.0),
        (1 - latitude_at, longitude, "longitude", _LONGITUDES),
    ):
        beyond = (values > limit) | (values < -limit)
        if bool(beyond.any()):
            row = int(beyond.argmax())
            column = f"column {points.names[place]!r}" if points.names else f"column {place} of the array"
            message = f"{column} has {int(beyond.sum()):,} {name}s beyond {limit:g} degrees, the first in row {row}"
            hint = "name latitude first, then longitude, both in degrees"
            if points.names and latitude_of(*points.names[::-1]) != latitude_at:  # the names said it
                hint = "pass degrees; if the two columns have each other's values, swap their names (or x and y)"
            raise InvalidEdgesError(message, hint, row=row)
    placed: Array = engine.xp.empty((3, points.number))
    degrees = [engine.xp.ascontiguousarray(values) for values in (latitude, longitude)]
    engine.launch("place_on_sphere", points.number, *degrees, points.number, placed)
    return placed


def _directions(xp: ModuleType, points: Points, *, centered: bool) -> Array:
    """Points at distance 1 from the origin, after their mean is subtracted if they are centered."""
    values: Array = xp.ascontiguousarray(xp.array(points.coordinates, np.float64))
    if not values.size:
        return values
    low, high = values.min(axis=0), values.max(axis=0)
    alike = low == high if centered else (low == 0) & (high == 0)
    if alike.any():
        at, count = int(alike.argmax()), int(alike.sum())
        what = "has equal coordinates, which correlate with nothing" if centered else "is zero, and has no direction"
        if points.kind == "column":
            what = "holds equal values, which correlate with nothing"
        more = "" if count == 1 else f" (and {count - 1:,} others)"
        row = at if points.kind == "point" else None
        raise InvalidEdgesError(f"{points.called(at)}{more} {what}", f"remove such {points.kind}s", row=row)
    xp.ldexp(values, -xp.frexp(xp.maximum(abs(low), abs(high)))[1], out=values)
    if centered:
        values -= _total(xp, values) / len(values)
        xp.ldexp(values, -xp.frexp(abs(values).max(axis=0))[1], out=values)
    values /= xp.sqrt(_total(xp, values, squared=True))
    return values


def _total(xp: ModuleType, values: Array, *, squared: bool = False) -> Array:
    """Sum over the axes, one after the other, which needs no other column."""
    total: Array = xp.zeros(values.shape[1])
    for at in range(len(values)):
        total += values[at] * values[at] if squared else values[at]
    return total
