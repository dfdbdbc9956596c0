"""Metrics of points: coordinates in which they are compared, and the unit of their distances."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.arguments import check_choice, is_several, plural, real_number
from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._trees.points.read import Points
from dfmst._trees.points.tree import EUCLID, Space
from dfmst.errors import InvalidEdgesError

METRICS = ("euclidean", "haversine", "cosine", "correlation", "manhattan", "chebyshev")
_NORMS = {"euclidean": 2, "manhattan": 1, "chebyshev": 0}
_LONGITUDES = 360.0


class Measured(NamedTuple):
    """Points as they are compared."""

    coordinates: Array  # ``float64``, shape ``(axes, points)``
    space: Space
    metric: str

    def unit(self, engine: Engine, weight: Array) -> Array:
        """Return distances in the unit of the metric; a longer one is never less. May reuse `weight`."""
        if self.metric == "haversine":
            engine.launch("arcs_of_chords", len(weight), weight)
        elif self.metric in ("cosine", "correlation"):
            weight *= weight
            weight /= 2
        return weight


def measure(engine: Engine, points: Points, metric: str, box: Any) -> Measured:
    """Move points to where they are compared."""
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
        return Measured(_on_sphere(engine, points), EUCLID, metric)
    return Measured(_directions(engine.xp, points, centered=metric == "correlation"), EUCLID, metric)


def check_metric(metric: Any) -> None:
    """Raise an error if an argument is not the name of a metric."""
    known = " or ".join(map(repr, METRICS))
    check_choice(metric, METRICS, f"metric is {metric!r}; it must be {known}")


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


def _wrapped(xp: Any, coordinates: Array, period: Array) -> Array:
    """Coordinates inside a periodic box, from 0 to below its length."""
    inside: Array = xp.ascontiguousarray(xp.array(coordinates, np.float64))
    for place, length in enumerate(period.tolist()):
        if length > 0:
            axis = inside[place]
            axis[:] = xp.fmod(axis, length)  # exact on the host and on a GPU
            axis[axis < 0] += length
            axis[axis >= length] = 0.0  # the sum may round to the length
    return inside


def _on_sphere(engine: Engine, points: Points) -> Array:
    """Coordinates in space of latitudes and longitudes."""
    if len(points.coordinates) != 2:
        message = f"haversine takes two columns, latitude and longitude, and the points have {len(points.coordinates)}"
        raise InvalidEdgesError(message, "name them with columns=", option=("columns=", "-c"))
    turned = _begins_with_longitude(points.names)
    latitude, longitude = points.coordinates[int(turned)], points.coordinates[int(not turned)]
    for values, name, limit in ((latitude, "latitude", 90.0), (longitude, "longitude", _LONGITUDES)):
        beyond = (values > limit) | (values < -limit)
        if bool(beyond.any()):
            row, place = int(beyond.argmax()), int((name == "longitude") != turned)
            column = f"column {points.names[place]!r}" if points.names else f"column {place} of the array"
            message = f"{column} has {int(beyond.sum()):,} {name}s beyond {limit:g} degrees, the first in row {row}"
            hint = "name latitude first, then longitude, both in degrees"
            raise InvalidEdgesError(message, hint, row=row)
    placed: Array = engine.xp.empty((3, points.number))
    degrees = [engine.xp.ascontiguousarray(values) for values in (latitude, longitude)]
    engine.launch("place_on_sphere", points.number, *degrees, points.number, placed)
    return placed


def _begins_with_longitude(names: tuple[Any, ...]) -> bool:
    """Whether the names of two columns say that the first is the longitude."""
    words = [str(name).lower() for name in names]
    if len(words) != 2 or words[0].startswith("lat") or words[1].startswith(("lon", "lng")):
        return False
    return words[0].startswith(("lon", "lng")) or words[1].startswith("lat") or words == ["x", "y"]


def _directions(xp: Any, points: Points, *, centered: bool) -> Array:
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


def _total(xp: Any, values: Array, *, squared: bool = False) -> Array:
    """Sum over the axes, one after the other, which needs no other column."""
    total: Array = xp.zeros(values.shape[1])
    for at in range(len(values)):
        total += values[at] * values[at] if squared else values[at]
    return total
