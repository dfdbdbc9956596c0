"""The graphs of the CPU benchmarks, by name: two vertex columns, a weight column, and the number of vertices."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GRAPHS", "Graph"]


class Graph(NamedTuple):
    """`source` and `target` are ``int64``, `weight` is ``float64``; each of shape ``(edges,)``."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    vertices: int


def _weighted(source: NDArray[np.int64], target: NDArray[np.int64], vertices: int, seed: int) -> Graph:
    weight = np.random.default_rng(seed + 1).random(len(source))
    return Graph(source, target, weight, vertices)


def road(side: int = 1000, keep: float = 0.7, seed: int = 0) -> Graph:
    """A grid with part of its edges removed, in random row order."""
    vertex = np.arange(side * side).reshape(side, side)
    source = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1].ravel()])
    target = np.concatenate([vertex[:, 1:].ravel(), vertex[1:].ravel()])
    rows = np.random.default_rng(seed).permutation(len(source))[: int(keep * len(source))]
    return _weighted(source[rows], target[rows], side * side, seed)


def erdos_renyi(vertices: int, edges: int, seed: int = 0) -> Graph:
    """Random ends."""
    draw = np.random.default_rng(seed)
    return _weighted(draw.integers(0, vertices, edges), draw.integers(0, vertices, edges), vertices, seed)


def rmat(scale: int = 20, edge_factor: int = 15, seed: int = 0) -> Graph:
    """Recursive quadrants (0.57, 0.19, 0.19, 0.05), vertices shuffled."""
    draw = np.random.default_rng(seed)
    edges = edge_factor << scale
    source, target = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range(scale):
        quadrant = draw.random(edges, np.float32)
        source = source << 1 | (quadrant >= 0.76)
        target = target << 1 | (((quadrant >= 0.57) & (quadrant < 0.76)) | (quadrant >= 0.95))
    shuffle = draw.permutation(1 << scale)
    return _weighted(shuffle[source], shuffle[target], 1 << scale, seed)


def euclid(points: int = 4000, seed: int = 0) -> Graph:
    """The complete graph of random points in the unit square."""
    at = np.random.default_rng(seed).random((points, 2))
    source, target = (ends.astype(np.int64) for ends in np.triu_indices(points, 1))
    return Graph(source, target, np.hypot(*(at[source] - at[target]).T), points)


GRAPHS: dict[str, Callable[[], Graph]] = {
    "road1M": road,
    "rmat20": rmat,
    "er1M": lambda: erdos_renyi(1_000_000, 10_000_000),
    "dense10k": lambda: erdos_renyi(10_000, 10_000_000),
    "euclid4k": euclid,
}
