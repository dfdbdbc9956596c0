"""How often a call launches, reads and allocates: each costs microseconds, which the small graphs consist of."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._engines import CudaEngine
from dfmst.algorithms import FilterBoruvka
from dfmst.generate import rmat, road_grid
from tests.support.gpu.standin import cupy
from tests.support.solving import forest_of

#: Launches, array calls of CuPy, reads to the host: whatever the graph, since all rounds are one launch.
BUDGET = (4, 0, 1)
GRAPHS = ("grid", "rmat", "star")


def columns(name):
    if name == "star":
        return np.zeros(4000, np.uint32), np.arange(1, 4001, dtype=np.uint32), 4001
    table, vertices = (road_grid(300, 300, 0.7), 90_000) if name == "grid" else (rmat(12, 8), 1 << 12)
    return *(table[end].to_numpy().astype(np.uint32) for end in ("source", "target")), vertices


@pytest.mark.parametrize("name", GRAPHS)
def test_budgets(device, name):
    source, target, vertices = columns(name)
    weight = np.random.default_rng(0).random(len(source), np.float32)
    engine = CudaEngine()
    cupy.reset()
    forest_of(engine, FilterBoruvka(), source, target, weight, vertices)
    reads = len(cupy.traffic.to_host) - 1  # the forest's rows are the test's own
    spent = len(cupy.cuda.launches), len(cupy.traffic.array_calls), reads
    assert all(one <= most for one, most in zip(spent, BUDGET, strict=True)), spent
    # Minima, two lists, parents, flags, counters; then sums and the rows.
    assert len(cupy.driver_memory.mallocs) - 3 <= 8
