"""The graphs of the GPU benchmarks: columns in the engine's memory, with weights of every width in one order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from support.inside import Array, EdgeTable, Engine

from dfmst.generate import erdos_renyi, rmat, road_grid

#: All increase with the ``float64`` weights drawn, so that every width has the same forest, except for ties.
WEIGHTS = ("float32", "float64", "int64", "int32")


@dataclass(frozen=True)
class DeviceGraph:
    """Vertices (``uint32``) and weights (``float64``, uniform in [0, 1)) in the engine's memory, without self-loops."""

    source: Array
    target: Array
    drawn: Array
    vertices: int

    def __len__(self) -> int:
        """Return the number of edges, each in one direction."""
        return len(self.source)

    def weights(self, dtype: str) -> Array:
        """Weights of another width: integers fill the positive half of theirs."""
        bits = {"int32": 31, "int64": 53}.get(dtype)
        made: Array = (self.drawn if bits is None else self.drawn * float(1 << bits)).astype(dtype)
        return made

    def table(self, dtype: str) -> EdgeTable:
        """An edge table with weights of a width."""
        return EdgeTable(self.source, self.target, self.weights(dtype), self.vertices)


def _rmat(shrink: int) -> tuple[pa.Table, int]:
    scale = 22 - shrink
    return rmat(scale, 8), 1 << scale


def _random(vertices: int, edges: int, shrink: int) -> tuple[pa.Table, int]:
    vertices = max(2, vertices >> shrink)
    return erdos_renyi(vertices, edges >> shrink), vertices


def _grid(scale: int, shrink: int) -> tuple[pa.Table, int]:
    side = math.isqrt((1 << scale) >> shrink)
    return road_grid(side, side, 1.0, weight="float64"), side * side


def _road(shrink: int) -> tuple[pa.Table, int]:
    side = math.isqrt(23_950_000 >> shrink)
    return road_grid(side, side, 0.603, weight="float64"), side * side


#: Name -> the table and its number of vertices, at the full size divided by 2 to a given power.
GRAPHS: dict[str, Callable[[int], tuple[pa.Table, int]]] = {
    "rmat22": _rmat,
    "grid-2e20": lambda shrink: _grid(20, shrink),
    "grid-2e22": lambda shrink: _grid(22, shrink),
    "grid-2e24": lambda shrink: _grid(24, shrink),
    "er-16m-128m": lambda shrink: _random(1 << 24, 1 << 27, shrink),
    "dense-10k-10m": lambda shrink: _random(10_000, 10_000_000, shrink),
    "road-24m-29m": _road,
}


def generate(engine: Engine, name: str, shrink: int = 0) -> DeviceGraph:
    """Draw a graph on the host and bring it to the engine."""
    table, vertices = GRAPHS[name](shrink)
    columns: list[Any] = [column.to_numpy() for column in table.columns]
    apart = columns[0] != columns[1]
    source, target = (np.ascontiguousarray(ends[apart], np.uint32) for ends in columns[:2])
    ours = [engine.from_host(column) for column in (source, target, columns[2][apart])]
    return DeviceGraph(ours[0], ours[1], ours[2], vertices)
