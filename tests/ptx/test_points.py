"""The PTX of the points' kernels finds the host's trees: Morton order, boxes, neighbors and rounds."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._engines import CpuEngine
from dfmst._trees.points.spanning import nearest_pairs, spanning_pairs
from dfmst._trees.points.tree import EUCLID, Space
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
    count = 400 // (axes + 1)
    for min_samples in (0, 3):
        check(Card(seed=seed), grid(axes, count), min_samples)
        check(Card(seed=seed), np.random.default_rng(axes).random((axes, count)), min_samples)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [0, 1])
def test_norms(norm):
    check(Card(seed=3), grid(3, 120), 2, Space(norm))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["compute_75", "compute_90", "compute_120"])
def test_architectures(architecture):
    check(Card(architecture=architecture), grid(2, 100), 2)


@pytest.mark.slow
def test_the_sphere():
    rng = np.random.default_rng(0)
    places = rng.uniform(-90, 90, 200), rng.uniform(-360, 360, 200)
    found = []
    with real_ptx(Card()) as engine:
        for runner in (CpuEngine(1), engine):
            column = runner.xp.empty(600)
            runner.launch("place_on_sphere", 200, *(runner.from_host(axis) for axis in places), 200, column)
            chord = runner.from_host(np.linspace(0, 12742017.6, 200))
            runner.launch("arcs_of_chords", 200, chord)
            found.append((runner.to_host(column), runner.to_host(chord)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
