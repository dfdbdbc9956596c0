"""HDBSCAN of edge tables and points, by fast_hdbscan."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dfmst
import dfmst.pandas

fast = pytest.importorskip("fast_hdbscan.hdbscan")
EDGES = pd.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [1.0, -1.0]})


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def test_points():
    """The clusters of the package itself, on one real set, without its ties: theirs are broken in another order."""
    from sklearn.datasets import load_iris

    iris = load_iris().data
    iris = iris + np.random.default_rng(0).normal(size=iris.shape) * 0.01
    for size in (5, 12):
        ours = dfmst.hdbscan(iris, min_cluster_size=size, min_samples=size)
        tree = fast.compute_minimum_spanning_tree(iris, min_samples=size)[0]
        weights = dfmst.euclidean_forest(iris, min_samples=size)["distance"].to_numpy()
        np.testing.assert_allclose(np.sort(weights), np.sort(tree[:, 2]), rtol=1e-5)
        theirs = fast.clusters_from_spanning_tree(tree, min_cluster_size=size)
        assert same_partition(ours["label"].to_numpy(), theirs[0])
        np.testing.assert_allclose(ours["probability"].to_numpy(), theirs[1], atol=1e-4)
        labels = ours["label"].to_numpy()
        assert list(dict.fromkeys(labels[labels >= 0])) == list(range(labels.max() + 1))


def test_components():
    """Parts of a graph that is not connected are clusters; what is isolated is noise."""
    rng = np.random.default_rng(0)
    one = dfmst.euclidean_forest(rng.random((30, 2))).to_pandas()
    two = one.assign(source=one.source + 30, target=one.target + 30, distance=one.distance * 9)
    edges = pd.concat([two, one], ignore_index=True)
    labels = edges.mst.hdbscan(weight="distance", min_cluster_size=20, vertices=range(70))
    assert labels.vertex.tolist() == list(range(70))
    assert labels.label.tolist() == [0] * 30 + [1] * 30 + [-1] * 10
    assert labels.probability.between(0, 1).all()
    text = pl.from_pandas(edges).with_columns(pl.col("source", "target").cast(pl.String))
    frame = dfmst.hdbscan(text.lazy(), weight="distance", min_cluster_size=20).collect()
    assert frame["vertex"].dtype == pl.String
    assert frame["vertex"].to_list() == sorted(map(str, range(60)))
    assert frame["label"].n_unique() == 2


def test_integers_beyond_float64():
    edges = pd.DataFrame({"source": [0, 1, 3, 4, 2], "target": [1, 2, 4, 5, 3], "weight": [1, 1, 1, 1, 2**70]})
    assert dfmst.hdbscan(edges, min_cluster_size=3).label.tolist() == [0, 0, 0, 1, 1, 1]


def test_names():
    frame = pd.DataFrame({"x": [0, 1, 2, 50, 51, 52], "name": list("abcdef")})
    labels = dfmst.hdbscan(frame, columns="x", ids="name", min_cluster_size=3, min_samples=1)
    assert labels.vertex.tolist() == list("abcdef")
    assert labels.label.tolist() == [0, 0, 0, 1, 1, 1]
    assert dfmst.hdbscan(frame[:1], columns="x", min_cluster_size=3).label.tolist() == [-1]
    assert dfmst.hdbscan(np.zeros((0, 2)))["label"].to_pylist() == []
    assert dfmst.hdbscan(frame, columns="x", min_cluster_size=2, cluster_selection_method="leaf").shape == (6, 3)
    empty = pd.DataFrame({"source": [], "target": [], "weight": []})
    assert dfmst.hdbscan(empty).shape == (0, 3)
    assert dfmst.hdbscan(empty, vertices=[3, 4]).label.tolist() == [-1, -1]


def test_bad_arguments(monkeypatch):
    with pytest.raises(ValueError, match="min_cluster_size is 1; it must be at least 2"):
        dfmst.hdbscan(EDGES, min_cluster_size=1)
    with pytest.raises(ValueError, match="cluster_selection_method is 'best'; it must be 'eom' or 'leaf'"):
        dfmst.hdbscan(EDGES, cluster_selection_method="best")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fast_hdbscan.hdbscan", None)
        with pytest.raises(dfmst.EngineUnavailableError, match=r"fast_hdbscan(.|\n)*pip install 'dfmst\[hdbscan\]'"):
            dfmst.hdbscan(EDGES)
    monkeypatch.setattr("dfmst._trees.density._selector", lambda: None)
    with pytest.raises(dfmst.InvalidEdgesError, match=r"name the coordinates of points with columns=\['x', 'y'\]"):
        dfmst.hdbscan(EDGES, ["x", "y"])
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'weight' holds negative weights"):
        dfmst.hdbscan(EDGES)
