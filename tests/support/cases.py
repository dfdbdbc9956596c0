"""What every algorithm is run with. A new algorithm is covered by its configured objects in ALGORITHMS."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst.algorithms import (
    BSP,
    EPMST,
    PMA,
    Algorithm,
    BaderCong,
    Boruvka,
    Dataframe,
    FilterBoruvka,
    FilterKruskal,
    Kruskal,
    Mastiff,
    Prim,
    Vineet,
)
from tests.support.oracle import kruskal_rows

ALGORITHMS: list[Algorithm] = [
    Boruvka("none"),
    Boruvka("loops"),
    Boruvka("parallel"),
    FilterBoruvka(),
    FilterBoruvka(light=0.01),
    FilterBoruvka(light=2),
    FilterBoruvka(light=float("inf")),
    FilterKruskal(),
    FilterKruskal(light=0.05),
    FilterKruskal(light=1),
    FilterKruskal(light=float("inf")),
    PMA(),
    PMA("min", max_subtree=5),
    PMA("sort", max_subtree=2),
    PMA("sort", max_subtree=10**6, drop_parallel=False),
    PMA("hybrid", max_subtree=30, search="scan"),
    BaderCong(),
    BaderCong(trees=1),
    BaderCong(trees=7, colors=False),
    BaderCong(trees=10**6),
    BSP(),
    BSP(rounds=1),
    BSP(rounds=64, drop_parallel=True),
    Mastiff(),
    Mastiff(drop_inside=True),
    Kruskal(),
    Kruskal(helpers=0),
    Kruskal(helpers=7),
    Prim(),
    Prim("queues", queues=3, hub=100),
    EPMST(),
    EPMST(sample=0.1),
    EPMST(sample=1),
    Vineet(),
    Dataframe(),
    Dataframe(form="mastiff"),
    Dataframe(form="bsp"),
]


def algorithm_id(algorithm: Algorithm) -> str:
    return repr(algorithm).replace(" ", "")


class _FineEngine(CpuEngine):
    """Gives out a few indices at a time, so that threads meet on small graphs as well."""

    __slots__ = ()

    def launch(self, kernel, count, *arguments, grain=4096):
        CpuEngine.launch(self, kernel, count, *arguments, grain=min(grain, 5))


ENGINES = [CpuEngine(1), _FineEngine(2), _FineEngine(4)]


class Graph(NamedTuple):
    """End points, and an upper bound of them."""

    source: np.ndarray
    target: np.ndarray
    vertices: int


def _graph(pairs, vertices: int) -> Graph:
    source, target = np.array(list(pairs), np.int64).reshape(-1, 2).T
    return Graph(source, target, vertices)


def _grid(side: int) -> Graph:
    at = np.arange(side * side).reshape(side, side)
    across, down = (at[:, :-1], at[:, 1:]), (at[:-1], at[1:])
    source, target = (np.concatenate([a.ravel(), d.ravel()]) for a, d in zip(across, down, strict=True))
    return Graph(source, target, side * side)


SHAPES: dict[str, Graph] = {
    "nothing": _graph([], 0),
    "isolated": _graph([], 9),
    "one loop": _graph([(0, 0)], 1),
    "loops": _graph([(v, v) for v in range(70)], 70),
    "one edge": _graph([(1, 0)], 2),
    "bundle": _graph([(0, 1), (1, 0)] * 100, 2),
    "far apart": _graph([(0, 70_000), (70_000, 35_000), (35_000, 0), (5, 6)], 70_001),
    "path": _graph([(v, v + 1) for v in range(600)], 601),
    "path backwards": _graph([(v + 1, v) for v in reversed(range(600))], 601),
    "cycle": _graph([(v, (v + 1) % 257) for v in range(257)], 257),
    "star": _graph([(v, 0) for v in range(1, 500)], 500),
    "double star": _graph([(v, v % 2) for v in range(500)], 500),
    "tree": _graph([((v - 1) // 2, v) for v in range(1, 511)], 511),
    "forest": _graph([(v, v + 1) for v in range(600) if v % 7], 700),
    "clique": _graph([(a, b) for a in range(40) for b in range(a)], 40),
    "cliques and a bridge": _graph(
        [(a + c, b + c) for c in (0, 20) for a in range(20) for b in range(a)] + [(3, 33)], 50
    ),
    "bipartite": _graph([(a, 20 + b) for a in range(20) for b in range(30)], 50),
    "grid": _grid(24),
}

ORDERS = ("equal", "ascending", "descending", "two values", "ties", "ruler", "distinct")


def ordered_weights(order: str, length: int, dtype: str) -> np.ndarray:
    """Weights in an order that some algorithm may dislike."""
    rank = np.arange(length)
    if order == "equal":
        rank[:] = 7
    elif order == "descending":
        rank = rank[::-1]
    elif order == "two values":
        rank %= 2
    elif order == "ties":
        rank = np.random.default_rng(1).integers(0, 10, length)
    elif order == "ruler":
        # Neighbors pair up in every round: as many rounds of Borůvka as there can be.
        rank = np.array([(at + 1 & -(at + 1)).bit_length() for at in range(length)], np.int64)
    elif order == "distinct":
        rank = np.random.default_rng(2).permutation(length)
    return (rank - length // 2 if np.dtype(dtype).kind != "u" else rank).astype(dtype)


#: Kind of graph -> arguments of a small one, and of a larger one.
GENERATED: dict[str, list[tuple[Any, ...]]] = {
    "rmat": [(6,), (10,)],
    "ssca2": [(6,), (9,)],
    "road_grid": [(9, 7), (40, 50)],
    "exact_density": [(40, 0.3), (200, 0.3)],
    "watts_strogatz": [(60, 4, 0.2), (300, 6, 0.2)],
    "complete_points": [(20,), (70,)],
}


class Large(NamedTuple):
    """A graph of 160,000 edges, enough for several levels of Filter-Kruskal."""

    vertices: int
    weights: str
    dtype: str
    hub: bool = False
    maximum: bool = False


LARGE = [
    Large(3_000, "distinct", "float64"),
    Large(3_000, "ties", "int32"),
    Large(3_000, "equal", "uint64"),
    Large(3_000, "ascending", "float32"),
    Large(3_000, "descending", "int64"),
    Large(3_000, "two values", "uint32"),
    Large(3_000, "distinct", "float32", hub=True),
    Large(3_000, "distinct", "float32", maximum=True),
    Large(3_000, "ties", "uint64", maximum=True),
    Large(3_000, "equal", "int32", maximum=True),
    Large(60_000, "distinct", "uint32"),
    Large(60_000, "ties", "float64"),
    Large(400_000, "distinct", "int64"),
]


def large(case: Large) -> Graph:
    """Draw a random multigraph; with a hub, every second edge ends in it."""
    source, target = np.random.default_rng(case.vertices).integers(0, case.vertices, (2, 160_000))
    if case.hub:
        source[::2] = 1
    return Graph(source, target, case.vertices)


def table_of(source, target, weight, vertices, vertex="uint32", maximum=False):
    """An edge table whose columns nobody may write to: they are the user's."""
    columns = [np.ascontiguousarray(source, vertex), np.ascontiguousarray(target, vertex), weight.copy()]
    for column in columns:
        column.flags.writeable = False
    return EdgeTable(*columns, vertices, maximum)


def expected_rows(table):
    columns = (table.source.tolist(), table.target.tolist(), table.weight.tolist())
    return sorted(kruskal_rows(*columns, maximum=table.maximum))


@cache
def large_table(case):
    source, target, vertices = large(case)
    weight = ordered_weights(case.weights, len(source), case.dtype)
    table = table_of(source, target, weight, vertices, maximum=case.maximum)
    return table, expected_rows(table)
