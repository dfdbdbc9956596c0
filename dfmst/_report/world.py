"""What lies beneath a map of the world: its outline and a net of meridians and parallels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dfmst._common.types import Array
from dfmst._report.projection import CENTRE, Projection
from dfmst._report.strokes import polyline
from dfmst._report.svg import Drawing

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
