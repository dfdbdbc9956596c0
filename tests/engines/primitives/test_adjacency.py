"""Adjacency lists against lists built one edge at a time."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._engines import CpuEngine
from dfmst._engines.primitives.edges import Edges, adjacency


def _edges(rng, vertices, edges, key_dtype):
    ends = rng.integers(0, vertices, (2, edges), dtype=np.uint32)
    return Edges(ends[0], ends[1], rng.integers(0, 7, edges).astype(key_dtype), None)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("by_weight", [False, True])
@pytest.mark.parametrize("key_dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize(("vertices", "edges"), [(1, 0), (5, 0), (1, 3), (2, 5), (40, 25), (30, 400), (20_000, 30_000)])
def test_lists(vertices, edges, key_dtype, by_weight, threads):
    columns = _edges(np.random.default_rng(vertices), vertices, edges, key_dtype)
    lists: list[list[tuple[int, int]]] = [[] for _ in range(vertices)]
    order = np.argsort(columns.key, kind="stable") if by_weight else np.arange(edges)
    for edge in order.tolist():
        a, b = int(columns.source[edge]), int(columns.target[edge])
        if a != b:
            lists[a].append((edge, b))
            lists[b].append((edge, a))
    found = adjacency(CpuEngine(threads), columns, vertices, by_weight)
    assert found.offset.dtype == np.uint64
    assert found.edge.dtype == found.other.dtype == np.uint32
    assert found.offset.tolist() == np.cumsum([0, *map(len, lists)]).tolist()
    assert found.edge.tolist() == [edge for entries in lists for edge, _ in entries]
    assert found.other.tolist() == [other for entries in lists for _, other in entries]
