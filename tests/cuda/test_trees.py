"""Bridges, rooted trees, dendrograms and Steiner trees on a GPU, which is the stand-in: the results of the host."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dfmst
from dfmst._engines.cpu import CpuEngine
from dfmst._engines.primitives.kruskal_tree import merge_clusters
from dfmst._engines.primitives.tour import root_trees


@pytest.fixture(scope="module")
def edges() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"u": rng.integers(0, 400, 420), "v": rng.integers(0, 400, 420), "w": rng.integers(0, 9, 420)})


def test_moved_tables(device, edges):
    options: dict[str, Any] = {"source": "u", "target": "v"}
    assert dfmst.bridges(edges, **options, engine="cuda").equals(dfmst.bridges(edges, **options))
    terminals = edges.u.unique()[:30].tolist()
    ours = dfmst.steiner_tree(edges, **options, weight="w", terminals=terminals, engine="cuda")
    assert ours.equals(dfmst.steiner_tree(edges, **options, weight="w", terminals=terminals))
    options |= {"by": "w"}
    for function in (dfmst.connected_components, partial(dfmst.rooted, weight="w")):
        assert function(edges, **options, engine="cuda").equals(function(edges, **options))


@pytest.mark.parametrize("shape", ["random", "path"])
def test_kernels_on_the_device(device, shape):
    from dfmst._engines.cuda import CudaEngine

    rng, n = np.random.default_rng(1), 3000
    at = np.arange(1, n)
    source = at - 1 if shape == "path" else (rng.random(n - 1) * at).astype(np.int64)
    rows = rng.permutation(n - 1)[: n - 40]
    ends: Any = [column[rows].astype(np.uint32) for column in (source, at)]
    host: Any = CpuEngine(1)
    engine: Any = CudaEngine()
    moved = [engine.from_host(column) for column in ends]
    for one, other in zip(merge_clusters(host, *ends, n), merge_clusters(engine, *moved, n), strict=True):
        np.testing.assert_array_equal(one, engine.to_host(other))
    table = pd.DataFrame({"source": ends[0], "target": ends[1]})
    labels = dfmst.connected_components(table, vertices=np.arange(n)).component.to_numpy().astype(np.uint32)
    for one, other in zip(
        root_trees(host, *ends, labels), root_trees(engine, *moved, engine.from_host(labels)), strict=True
    ):
        np.testing.assert_array_equal(one, engine.to_host(other))
