"""The graphs of the CPU benchmarks, by name: two vertex columns, a weight column, and the number of vertices.

None has parallel rows: a peer that adds them up (SciPy's matrices) or keeps one (many graph types) solves the same
problem as the others, without a step of its own beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class Graph(NamedTuple):
    """`source` and `target` are ``int64``, `weight` is ``float64``; each of shape ``(edges,)``."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    vertices: int


def _weighted(source: NDArray[np.int64], target: NDArray[np.int64], vertices: int, seed: int) -> Graph:
    weight = np.random.default_rng(seed + 1).random(len(source))
    return Graph(source, target, weight, vertices)


def _distinct(
    source: NDArray[np.int64], target: NDArray[np.int64], vertices: int, edges: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first `edges` pairs of different vertices that did not occur before."""
    code = np.minimum(source, target) * vertices + np.maximum(source, target)
    rows = np.sort(np.unique(code, return_index=True)[1])
    rows = rows[source[rows] != target[rows]][:edges]
    if len(rows) < edges:
        message = f"{edges} edges wanted, {len(rows)} drawn"
        raise ValueError(message)
    return source[rows], target[rows]


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
    pairs = vertices * (vertices - 1) // 2
    drawn = edges + 1000 + int(1.2 * edges * edges / pairs)  # more, since some occur twice
    source, target = draw.integers(0, vertices, (2, drawn))
    return _weighted(*_distinct(source, target, vertices, edges), vertices, seed)


def rmat(scale: int = 20, edge_factor: int = 15, seed: int = 0) -> Graph:
    """Recursive quadrants (0.57, 0.19, 0.19, 0.05), vertices shuffled."""
    draw = np.random.default_rng(seed)
    edges = (edge_factor << scale) * 9 // 8
    source, target = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range(scale):
        quadrant = draw.random(edges, np.float32)
        source = source << 1 | (quadrant >= 0.76)
        target = target << 1 | (((quadrant >= 0.57) & (quadrant < 0.76)) | (quadrant >= 0.95))
    shuffle = draw.permutation(1 << scale)
    source, target = _distinct(shuffle[source], shuffle[target], 1 << scale, edge_factor << scale)
    return _weighted(source, target, 1 << scale, seed)


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
#: With those that take a peer too long, or much memory.
ALL: dict[str, Callable[[], Graph]] = {
    **GRAPHS,
    "grid4M": lambda: road(2000),
    "er4M": lambda: erdos_renyi(4_000_000, 64_000_000),
    "rmat22": lambda: rmat(22),
}


def frame_of(graph: Graph) -> pd.DataFrame:
    """The edge table with a payload."""
    rows = np.arange(len(graph.source))
    columns = {"source": graph.source, "target": graph.target, "weight": graph.weight}
    return pd.DataFrame({**columns, "row": rows, "quality": (rows % 7).astype(np.int8)})


def graph_of(name: str) -> Graph:
    """A graph by its name, or from a Parquet file whose first columns are the two ids and the weight.

    Of a file's rows from one vertex to another, only the lightest is kept: SciPy adds them up.
    """
    if name in ALL:
        return ALL[name]()
    import pyarrow.parquet as pq

    source, target, weight = (column.to_numpy() for column in pq.read_table(name).columns[:3])
    vertices = int(max(source.max(), target.max())) + 1
    order = np.argsort(weight, kind="stable")
    rows = np.sort(order[np.unique(source[order] * np.int64(vertices) + target[order], return_index=True)[1]])
    columns = source[rows].astype(np.int64), target[rows].astype(np.int64), weight[rows].astype(np.float64)
    return Graph(*columns, vertices)


def columns_of(name: str) -> tuple[Any, Any, Any, int]:
    """A graph's ids, weights and number of vertices, one of them isolated; the name of a graph, or of a file."""
    if name in ALL:
        graph = ALL[name]()
        ids = graph.source.astype(np.uint32), graph.target.astype(np.uint32)
        return *ids, graph.weight.astype(np.float32), graph.vertices + 1
    import pyarrow.parquet as pq

    source, target, weight = (column.to_numpy() for column in pq.read_table(name).columns[:3])
    return source.view(np.uint64), target.view(np.uint64), weight, int(max(source.max(), target.max())) + 2


def ranks(weight: Any) -> Any:
    """Distinct ``uint32`` weights in the same order."""
    rank = np.empty(len(weight), np.uint32)
    rank[np.argsort(weight, kind="stable")] = np.arange(len(weight), dtype=np.uint32)
    return rank


def scipy_weights(source: Any, target: Any, weight: Any, vertices: int) -> Any:
    """The weights of SciPy's forest; it adds parallel rows up."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    return minimum_spanning_tree(coo_array((weight, (source, target)), shape=(vertices, vertices)).tocsr()).data
