"""Graphs to test and measure with, as tables of ``source``, ``target`` and ``weight``.

Every graph depends on its parameters and `seed` alone: not on the engine, the threads or the platform.

====================================  ==================================================================================
paper                                 graphs
====================================  ==================================================================================
Knox and Knox (2025), section 6.1     :func:`exact_density` at 25 %, and by density
Nobari et al. (2012)                  :func:`rmat`, :func:`ssca2`, :func:`erdos_renyi`, :func:`watts_strogatz`
Vasconcellos et al. (2018)            :func:`exact_density` (Johnsonbaugh and Kalin 1991), :func:`road_grid` for DIMACS
Wang, Huang and Guo (2011)            :func:`erdos_renyi` with twice as many edges as vertices, ``weight="int32"``
====================================  ==================================================================================
"""

from __future__ import annotations

from dfmst.generate.models import complete_points, erdos_renyi, exact_density, rmat, road_grid, ssca2, watts_strogatz
from dfmst.generate.tables import Weight, hash24

__all__ = [
    "Weight",
    "complete_points",
    "erdos_renyi",
    "exact_density",
    "hash24",
    "rmat",
    "road_grid",
    "ssca2",
    "watts_strogatz",
]
