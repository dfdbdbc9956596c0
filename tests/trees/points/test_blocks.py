"""Many axes: products of matrices find the same trees, whatever the rounding errors of their estimates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfmst
from dfmst._trees.points import rounds, spanning
from tests.trees.points.test_euclidean import brute_force, cloud


@pytest.mark.parametrize("kind", ["uniform", "blobs", "line", "grid", "equal", "tiny", "far"])
@pytest.mark.parametrize("min_samples", [None, 1, 5])
def test_brute_force(kind, min_samples, monkeypatch):
    monkeypatch.setattr(rounds, "_BLOCK", 700)  # several blocks
    for count, k in ((2, None), (7, 1), (90, 3), (250, None)):
        points = cloud(kind, 24, count, np.random.default_rng(count))
        if min_samples is None or min_samples < count:
            ours = dfmst.points_forest(points, k=k, min_samples=min_samples)
            assert ours.equals(brute_force(points, min_samples or 0)), (count, k)


@pytest.mark.parametrize("spread", [1e-3, 1e-6, 1e-12])
def test_estimates_that_are_too_coarse(spread, monkeypatch):
    """Groups far apart, with distances below the precision of float32: float64, and then all candidates."""
    rng = np.random.default_rng(1)
    points = rng.integers(0, 3, (180, 1)) * np.ones(30) * 7 + rng.normal(size=(180, 30)) * spread
    by_blocks = dfmst.points_forest(points), dfmst.knn_edges(points, k=4), dfmst.points_forest(points, min_samples=4)
    monkeypatch.setattr(spanning, "_MANY_AXES", 1000)
    by_tree = dfmst.points_forest(points), dfmst.knn_edges(points, k=4), dfmst.points_forest(points, min_samples=4)
    for one, other in zip(by_blocks, by_tree, strict=True):
        assert one.equals(other)


def neighbors(points: np.ndarray, k: int) -> np.ndarray:
    distance = ((points[:, None] - points) ** 2).sum(2)
    return np.argsort(distance, axis=1, kind="stable")[:, :k]  # with the point itself, as libraries have them


@pytest.mark.parametrize("axes", [2, 25])
def test_given_neighbors(axes):
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.random((60, axes)), rng.random((60, axes)) + 9, rng.random((3, axes)) - 50])
    near = neighbors(points, 12)
    tree, exact = dfmst.points_forest(points, edges=near, return_exact=True)
    assert not exact
    assert tree.equals(dfmst.points_forest(points))  # the neighbors contain it, and the rest is joined exactly
    assert dfmst.points_forest(points, return_exact=True)[1]
    near[:, 4:] = -1
    coarse = dfmst.points_forest(points, edges=near)
    assert len(coarse) == len(points) - 1
    assert coarse["distance"].to_numpy().sum() >= tree["distance"].to_numpy().sum()
    assert dfmst.connected_components(coarse)["component"].to_pylist() == [0] * len(points)
    names = [f"p{row}" for row in range(len(points))]
    frame = pd.DataFrame(points).assign(name=names)
    pairs = pd.DataFrame({"source": np.repeat(names, 12), "target": np.array(names)[neighbors(points, 12)].reshape(-1)})
    named = dfmst.points_forest(frame, ids="name", edges=pairs)
    assert named.source.tolist() == [names[row] for row in tree["source"].to_pylist()]
    assert named.distance.tolist() == tree["distance"].to_pylist()
    none = dfmst.points_forest(points, edges=np.zeros((len(points), 0), np.int32))
    assert none.equals(tree)  # nothing is given: all is joined


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        (np.zeros((2, 1), int), {}, "integers of shape (3, k)"),
        (np.zeros((3, 1)), {}, "edges is an array of shape (3, 1) and type float64"),
        (np.full((3, 1), 3), {}, "edges name point 3, and the points are numbered from 0 to 2"),
        (
            pa.table({"source": ["a"], "target": ["b"]}),
            {},
            "holds string values, and the points are named by their rows",
        ),
        (
            pa.table({"source": ["a"], "target": ["z"]}),
            {"ids": "name"},
            "column 'target' of edges has 1 ids of no point",
        ),
        (pa.table({"source": [1]}), {}, "column 'target' not found"),
    ],
)
def test_bad_edges(edges, options, message):
    points = pa.table({"x": [0.0, 1.0, 3.0], "name": ["a", "b", "c"]})
    with pytest.raises(dfmst.DfmstError) as caught:
        dfmst.points_forest(points, "x", edges=edges, **options)
    assert message in str(caught.value)
    with pytest.raises(ValueError, match="min_samples= and edges= cannot be combined"):
        dfmst.points_forest(points, "x", edges=edges, min_samples=1)
