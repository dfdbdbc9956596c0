"""The levels of a cycle filter made slice by slice: they drop only what the path beats, and nearly all of it."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from dfmst._engines import CpuEngine, CudaEngine
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import compact
from dfmst._engines.primitives.kruskal_tree import CycleFilter, FilterTables, joined_levels
from dfmst.arrays import forest_rows


def forest_of(rng, trees, size, keys):
    """The forest of so many random graphs beside each other."""
    ends = rng.integers(0, size, (2, 12 * size * trees)) + np.repeat(np.arange(trees), 12 * size) * size
    key = rng.integers(0, keys, ends.shape[1]).astype(np.uint64)
    rows = forest_rows(ends[0], ends[1], key)
    return (
        *map(np.ascontiguousarray, ends[:, rows].astype(np.uint32)),
        key[rows],
        np.arange(len(rows), dtype=np.uint32),
    )


def passing(engine, cycle_filter, queries):
    flags = cycle_filter.passing(*map(engine.from_host, queries), 0)
    return set(engine.to_host(compact(engine, flags)).tolist())


@pytest.mark.parametrize(("trees", "share"), [(1, 0.95), (3, 0.7), (40, 0.5)])
@pytest.mark.parametrize("keys", [2000, 5])
def test_only_rows_that_the_path_beats_are_dropped(device, trees, share, keys):
    rng, size = np.random.default_rng(trees), 240 // trees
    columns = forest_of(rng, trees, size, keys)
    vertices = trees * size + 4
    queries = (*rng.integers(0, vertices, (2, 4000)).astype(np.uint32), rng.integers(0, keys, 4000).astype(np.uint64))
    levels = []
    for engine in (CpuEngine(), CudaEngine()):
        forest = Edges(*map(engine.from_host, columns))
        tables = FilterTables(*joined_levels(engine, forest, vertices, 0.95), 0)
        assert (tables.tree is None) == (trees == 1)
        levels.append(passing(engine, CycleFilter(engine, tables), queries))
    passed, again = levels
    assert passed == again
    graph = nx.Graph()
    graph.add_nodes_from(range(vertices))
    graph.add_weighted_edges_from(zip(*(column.tolist() for column in columns[:3]), strict=True))
    for place, (u, v, key) in enumerate(zip(*(column.tolist() for column in queries), strict=True)):
        if place not in passed:
            assert key >= max((graph[a][b]["weight"] for a, b in pairwise(nx.shortest_path(graph, u, v))), default=0)
    exact = passing(CpuEngine(), CycleFilter.of_forest(CpuEngine(), Edges(*columns), vertices), queries)
    assert 4000 - len(passed) >= share * (4000 - len(exact))
