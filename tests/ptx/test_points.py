"""The PTX of the points' kernels finds the host's trees: Morton order, boxes, neighbors and rounds."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._engines import CpuEngine
from dfmst._trees.points.search import EUCLID, Space
from dfmst._trees.points.spanning import nearest_pairs, spanning_pairs
from tests.support.gpu.ptx.modules import Card, real_ptx


def check(card: Card, points: np.ndarray, min_samples: int = 0, space: Space = EUCLID) -> None:
    host = CpuEngine(1)
    expected = spanning_pairs(host, points, 2, min_samples, space), nearest_pairs(host, points, 2, space)
    with real_ptx(card) as engine:
        columns = engine.from_host(points)
        tree = spanning_pairs(engine, columns, 2, min_samples, space)
        near = nearest_pairs(engine, columns, 2, space)
        for ours, theirs in zip([*tree, *near], [*expected[0], *expected[1]], strict=True):
            np.testing.assert_array_equal(engine.to_host(ours), theirs)


def grid(axes: int, count: int) -> np.ndarray:
    return np.random.default_rng(axes).integers(0, 9, (axes, count)) * 0.5


def test_a_random_schedule():
    check(Card(seed=1), grid(2, 60))


@pytest.mark.slow
@pytest.mark.parametrize(("axes", "seed"), [(1, 2), (2, None), (3, 2), (5, None)])
def test_points(axes, seed):
    count = 240 // (axes + 1)
    for min_samples in (0, 3):
        check(Card(seed=seed), grid(axes, count), min_samples)
        check(Card(seed=seed), np.random.default_rng(axes).random((axes, count)), min_samples)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [0, 1])
def test_norms(norm):
    check(Card(seed=3), grid(3, 70), 2, Space(norm))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["compute_75", "compute_90", "compute_120"])
def test_architectures(architecture):
    check(Card(architecture=architecture), grid(2, 60), 2)
