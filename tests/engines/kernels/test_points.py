"""The kd-tree of points, its neighbors and its rounds, on every number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._engines import CpuEngine
from dfmst._trees.points.search import SURE, Space, build_tree, distances, nearest_points, sure_neighbors
from dfmst._trees.points.spanning import spanning_pairs
from tests.support.columns import each_engine


def square(points: np.ndarray) -> np.ndarray:
    """Distances of all pairs, summed up axis by axis."""
    total = np.zeros((points.shape[1], points.shape[1]))
    for axis in points:
        total += (axis[:, None] - axis) ** 2
    return np.sqrt(total)


@pytest.mark.parametrize("axes", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [2, 9, 150, 700])
@each_engine
def test_a_tree(engine, axes, count):
    rng = np.random.default_rng(count)
    points = rng.integers(0, 30, (axes, count)).astype(float)
    tree = build_tree(engine, points)
    assert sorted(tree.order) == list(range(count))
    np.testing.assert_array_equal(tree.points, points[:, tree.order])
    for depth in range(tree.depth + 1):
        for place in range(1 << depth):
            node, (begin, end) = (1 << depth) + place, (count * at >> depth for at in (place, place + 1))
            inside = tree.points[:, begin:end]
            np.testing.assert_array_equal(tree.box[node], [inside.min(axis=1), inside.max(axis=1)])
    wanted = min(7, count - 1)
    neighbor, reach = nearest_points(engine, tree, wanted)
    np.testing.assert_array_equal(neighbor, nearest_points(engine, tree, min(150, count - 1))[0][:, :wanted])
    everyone = square(points)
    np.fill_diagonal(everyone, -1)
    for position, number in enumerate(tree.order):
        expected = np.lexsort((np.arange(count), everyone[number]))[1 : wanted + 1]
        np.testing.assert_array_equal(tree.order[neighbor[position]], expected)
        assert reach[position] == (np.inf if wanted == count - 1 else everyone[number, expected[-1]])


@pytest.mark.parametrize("kind", ["random", "ordered", "few values"])
@each_engine
def test_a_large_tree(engine, kind):
    """Halves of many points are on either side of the cut, and boxes bound them."""
    rng, count = np.random.default_rng(3), 9000
    points = rng.integers(0, 3, (2, count)).astype(float) if kind == "few values" else rng.random((2, count))
    points = np.sort(points, axis=1) if kind == "ordered" else points
    tree = build_tree(engine, points)
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(count))
    np.testing.assert_array_equal(tree.points, points[:, tree.order])
    for depth in range(tree.depth + 1):
        nodes, begin = slice(1 << depth, 2 << depth), count * np.arange(1 << depth) >> depth
        np.testing.assert_array_equal(tree.box[nodes, 0], np.minimum.reduceat(tree.points, begin, axis=1).T)
        np.testing.assert_array_equal(tree.box[nodes, 1], np.maximum.reduceat(tree.points, begin, axis=1).T)
    node = np.arange(1, 1 << tree.depth)
    axis = tree.axis[node]
    assert (tree.box[2 * node, 1, axis] <= tree.cut[node]).all()
    assert (tree.box[2 * node + 1, 0, axis] == tree.cut[node]).all()
    neighbor, reach = nearest_points(engine, tree, 3)
    some = rng.integers(0, count, 50)
    apart = np.sqrt(((tree.points[:, some, None] - tree.points[:, None]) ** 2).sum(axis=0))
    apart[np.arange(50), some] = np.inf
    np.testing.assert_array_equal(np.sort(apart, axis=1)[:, 2], reach[some])
    np.testing.assert_array_equal(
        np.take_along_axis(apart, neighbor[some].astype(int), 1), np.sort(apart, axis=1)[:, :3]
    )


@pytest.mark.parametrize("space", [Space(), Space(1), Space(0), Space(2, np.array([30.0, 0.0, 30.0]))])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_sure_neighbors(axes, space):
    """They are the first of all neighbors, as many as are nearer than the bound of the others."""
    rng = np.random.default_rng(axes)
    most: dict[tuple[int, str], int] = {}
    if space.period is not None:
        space = Space(2, space.period[:axes].copy())
    for count in (1, 2, SURE + 1, SURE + 2, 700):
        for kind in ("random", "grid", "tenths", "equal", "tiny"):
            points = rng.random((axes, count)) if kind == "random" else rng.integers(0, 30, (axes, count)).astype(float)
            points *= {"random": 29, "tenths": 0.1, "equal": 0, "tiny": 1e-162}.get(kind, 1)
            tree = build_tree(CpuEngine(1), points, space)
            neighbor, reach = sure_neighbors(CpuEngine(2), tree)
            # One neighbor more than can be sure: if it is not sure, none that is farther is.
            nearest, _ = nearest_points(CpuEngine(1), tree, min(SURE + 1, count - 1))
            ends = np.repeat(np.arange(count), nearest.shape[1]), nearest.ravel().astype(np.int64)
            apart = distances(CpuEngine(1), tree.points, *ends, space).reshape(nearest.shape)
            sure, listed = apart < reach[:, None], min(SURE, count - 1)
            assert not sure[:, SURE:].any()
            np.testing.assert_array_equal(neighbor[:, :listed], np.where(sure, nearest, 2**32 - 1)[:, :listed])
            assert (neighbor[:, listed:] == 2**32 - 1).all()
            most[count, kind] = sure.sum(axis=1).max()
    for count, expected in {1: 0, 2: 1, SURE + 1: SURE, SURE + 2: SURE, 700: SURE}.items():
        assert most[count, "random"] == expected


@pytest.mark.parametrize("min_samples", [0, 3])
@each_engine
def test_rounds(engine, min_samples):
    rng = np.random.default_rng(5)
    points = rng.integers(0, 40, (2, 150)).astype(float) * rng.choice([1, 3], 150)
    source, target, weight = spanning_pairs(engine, points, 2, min_samples)
    distance = square(points)
    if min_samples:
        np.fill_diagonal(distance, -1)
        core = np.sort(distance, axis=1)[:, min_samples]
        distance = np.maximum(distance, np.maximum(core[:, None], core))
    one, other = np.triu_indices(150, 1)
    order, group, rows = np.lexsort((other, one, distance[one, other])), list(range(150)), []
    for pair in order:
        a, b = group[one[pair]], group[other[pair]]
        if a != b:
            group = [a if label == b else label for label in group]
            rows.append(pair)
    rows.sort()
    np.testing.assert_array_equal(source, one[rows])
    np.testing.assert_array_equal(target, other[rows])
    np.testing.assert_array_equal(weight, distance[one, other][rows])
