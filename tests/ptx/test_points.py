"""The PTX of the points' kernels finds the host's trees: Morton order, boxes, neighbors and rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dfmst._engines import CpuEngine
from dfmst._trees.points.search import EUCLID, Space
from dfmst._trees.points.spanning import nearest_pairs, spanning_pairs
from tests.support.gpu.ptx.faults import is_found, sown
from tests.support.gpu.ptx.modules import Card, real_ptx


def check(card: Card, points: np.ndarray, min_samples: int = 0, space: Space = EUCLID, label: Any = None) -> None:
    host = CpuEngine(1)
    expected = spanning_pairs(host, points, 2, min_samples, space, label), nearest_pairs(host, points, 2, space)
    with real_ptx(card) as engine:
        columns = engine.from_host(points)
        joined = None if label is None else engine.from_host(label)
        tree = spanning_pairs(engine, columns, 2, min_samples, space, joined)
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


#: Fault of a round -> the right text, and the wrong one.
FAULTS = {
    "a way that is stored": (
        "if (way < load(&chosen[mine])) atomic_min(&chosen[mine], way);",
        "if (way < load(&chosen[mine])) store(&chosen[mine], way);",
    ),
    "a known weight that is stored": (
        "if (bits < load(&ways.lightest[mine])) atomic_min(&ways.lightest[mine], bits);",
        "if (bits < load(&ways.lightest[mine])) store(&ways.lightest[mine], bits);",
    ),
    "a weight that is stored": (
        "if (bits_of(least) < load(&ways.lightest[mine])) atomic_min(&ways.lightest[mine], bits_of(least));",
        "if (bits_of(least) < load(&ways.lightest[mine])) store(&ways.lightest[mine], bits_of(least));",
    ),
}


def in_one_step(text: str) -> str:
    """Paths are halved in the step that joins: a root that is halved may lose what it was hooked to."""
    halving, join = "shorten_path(label, i, length);", "if (round == 0) join_sets(label, place[i], place[given[i]]);"
    text = text.replace(f"team.each(length, [=](u64 i) {{ {halving} }});\n", "")
    return text.replace(join, f"{join}\n{halving}")


def is_right(card: Card) -> bool:
    """Whether trees are the host's, and the lightest pair of two labels, for which all threads look."""
    try:
        for points in (grid(2, 60), np.random.default_rng(4).random((2, 120))):
            check(card, points, 0, EUCLID, np.arange(points.shape[1], dtype=np.uint32) % np.uint32(2))
        check(card, np.random.default_rng(60).random((2, 60)), 2)
    except AssertionError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", ["in one step", *FAULTS])
def test_a_fault_of_a_round_is_found(name):
    edit: Callable[[str], str] = sown(*FAULTS[name]) if name in FAULTS else in_one_step
    assert is_found(is_right, edit)
