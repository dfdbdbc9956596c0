"""Kernels over neighbor lists, by the algorithms that launch them: the rows of a plain Kruskal on every engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfmst._edges.edge_table import EdgeTable
from dfmst.algorithms import PMA, BaderCong, Mastiff, Prim, Vineet
from dfmst.algorithms.base import Trace
from tests.support.columns import each_engine
from tests.support.oracle import kruskal_rows

ALGORITHMS = [
    Mastiff(),
    Mastiff(drop_inside=True),
    PMA("min", 7),
    PMA("sort", search="scan"),
    BaderCong(trees=5),
    BaderCong(trees=5, colors=False),
    Vineet(),
    Prim("queues", queues=2, hub=4),
    Prim("reduction", lanes=2),
    Prim("reduction", lanes=2, lists="columns"),
]


@each_engine
@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_rows(engine, dtype, algorithm):
    rng = np.random.default_rng(7)
    vertices, edges = 60, 170
    source, target = rng.integers(0, vertices, (2, edges)).astype(np.uint32)
    source[::5] = 3  # a hub, so that a list is in several parts
    weight = rng.integers(0, 25, edges).astype(dtype)
    if isinstance(algorithm, Prim) and algorithm.form == "reduction":
        engine = replace(engine, on_host=False)  # three launches a round, as on a GPU
    rows = algorithm.run(engine, EdgeTable(source, target, weight, vertices), Trace())
    assert rows.tolist() == sorted(kruskal_rows(source.tolist(), target.tolist(), weight.tolist()))
