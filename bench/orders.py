"""Graphs whose lightest rows join few vertices: CPU-seconds of `auto` next to Borůvka and Kruskal, and other paths.

    python bench/orders.py [--rows 3000000] [--repeat 3] [--threads 1] [-o OUTPUT.json]

A filter by the forest of the lightest rows drops few of the others here. `forest` is that of a table in memory; a
stream adds the rows to a fold in small batches, with a memory limit that makes it solve its buffer again and again
(`buffer`) or write sorted runs and solve slices of them (`slices`). Their `times` is the ratio to the same path on the
random graph of as many rows and vertices. The least of several runs in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from support.graphs import Graph

GROWTH = (3, 30, 1000)  # rows of a new vertex
LEAVES = 64  # cliques of a star


def clique(rows: int) -> tuple[Any, Any, int]:
    """All pairs of vertices, the first end the greater one, in the order of the greater one."""
    vertices = int((1 + (1 + 8 * rows) ** 0.5) / 2)
    greater, smaller = np.tril_indices(vertices, -1)
    return greater.astype(np.int64), smaller.astype(np.int64), vertices


def latest_end(rows: int) -> Graph:
    """A clique whose weights are the greater ends."""
    source, target, vertices = clique(rows)
    return Graph(source, target, source.astype(np.float64), vertices)


def last_row_first(rows: int) -> Graph:
    """A clique whose weights fall from row to row."""
    vertices = clique(rows)[2]
    source, target = (ends.astype(np.int64) for ends in np.triu_indices(vertices, 1))
    return Graph(source, target, -np.arange(len(source), dtype=np.float64), vertices)


def growing(each: int, rows: int) -> Graph:
    """Every new vertex joins some earlier ones; the weights are the time."""
    vertices = rows // each + 1
    source = np.repeat(np.arange(1, vertices), each)
    target = (np.random.default_rng(each).random(len(source)) * source).astype(np.int64)
    return Graph(source, target, source.astype(np.float64), vertices)


def nested_cliques(rows: int) -> Graph:
    """Cliques of 2, 4, 8 ... vertices, each inside the next; random weights, the inner clique's first."""
    source, target, vertices = clique(rows)
    draw = np.random.default_rng(1).random(len(source))
    return Graph(source, target, np.floor(np.log2(source)) + draw, vertices)


def star_of_cliques(rows: int) -> Graph:
    """Cliques with weights of their own, one after the other, and the rows from each to the hub."""
    source, target, size = clique(rows // LEAVES)
    leaf = np.arange(LEAVES)
    ends = [
        np.append(1 + (end + size * leaf[:, None]).ravel(), hub)
        for end, hub in ((source, 1 + size * leaf), (target, 0 * leaf))
    ]
    draw = np.random.default_rng(2).random(len(ends[0]))
    level = np.append(np.repeat(leaf, len(source)), np.full(LEAVES, LEAVES))
    return Graph(*ends, level + draw, 1 + size * LEAVES)


def two_scales(rows: int) -> Graph:
    """Nine tenths of the rows in a clique with small weights; the others anywhere, a thousand times as heavy."""
    source, target, size = clique(rows * 9 // 10)
    others, vertices = rows - len(source), 20 * size
    draw = np.random.default_rng(3)
    more = draw.integers(0, vertices, (2, others))
    weight = np.append(draw.random(len(source)), 1000 * (1 + draw.random(others)))
    return Graph(np.append(source, more[0]), np.append(target, more[1]), weight, vertices)


def mutual_reachability(rows: int) -> Graph:
    """All pairs of points in blobs; a weight is at least the distances of both to their tenth neighbor."""
    source, target, vertices = clique(rows)
    draw = np.random.default_rng(4)
    center = draw.random((8, 2)) * 20
    points = center[draw.integers(0, 8, vertices)] + draw.normal(size=(vertices, 2))
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    core = np.partition(distance, 10, axis=1)[:, 10]
    weight = np.maximum(distance[source, target], np.maximum(core[source], core[target]))
    return Graph(source, target, weight, vertices)


FAMILIES: dict[str, Callable[[int], Graph]] = {
    "clique, max(i, j)": latest_end,
    "clique, -row": last_row_first,
    **{f"growing, {each} rows a vertex": partial(growing, each) for each in GROWTH},
    "nested cliques": nested_cliques,
    "star of cliques": star_of_cliques,
    "two scales": two_scales,
    "mutual reachability": mutual_reachability,
}


def shuffled(graph: Graph) -> Graph:
    """The same edges with other rows and vertices."""
    draw = np.random.default_rng(5)
    rows, vertex = draw.permutation(len(graph.source)), draw.permutation(graph.vertices)
    return Graph(vertex[graph.source[rows]], vertex[graph.target[rows]], graph.weight[rows], graph.vertices)
