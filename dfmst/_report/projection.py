"""From coordinates to a plane: the world by Equal Earth, a region as a chart, other coordinates as they are.

References
----------
Šavrič, Patterson, Jenny: The Equal Earth map projection. International Journal of Geographical Information Science 33
(2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array

CENTRE = 11.0
"""Degrees east in the middle of the world: its edge at 169° W then crosses the least land."""

_WIDE = 100.0  # degrees: what spans more is drawn as the world
_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796

Plane = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True, slots=True)
class Projection:
    """A way to the plane, y upwards.

    Attributes
    ----------
    name
        ``"world"``, ``"region"`` or ``"plane"``.
    to_plane
        Gives x and y of coordinates.
    """

    name: str
    to_plane: Plane


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
    """Choose a projection for coordinates: longitude and latitude in degrees where they are `geographic`."""
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
