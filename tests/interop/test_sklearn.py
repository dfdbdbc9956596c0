"""The estimators: scikit-learn's own checks, and its own clusters next to ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

pytest.importorskip("sklearn")

from sklearn.cluster import HDBSCAN as Theirs, AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.estimator_checks import estimator_checks_generator

import dfmst
from dfmst.sklearn import HDBSCAN, SingleLinkage
from tests.support.lanes import examples

CHECKS = [each for model in (SingleLinkage(), HDBSCAN()) for each in estimator_checks_generator(model)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    ("model", "check"), CHECKS, ids=[f"{type(model).__name__}-{check.func.__name__}" for model, check in CHECKS]
)
def test_scikit_learn_s_checks(model, check):
    check(model)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(3, 9), near=st.integers(1, 6) | st.none())
@examples(30)
def test_its_own_hdbscan(seed, size, near):
    draw = np.random.default_rng(seed)
    points = np.concatenate([draw.normal(size=(30, 2)), draw.normal(size=(40, 2)) + 5, draw.uniform(-9, 9, (15, 2))])
    ours = HDBSCAN(size, min_samples=near).fit(points)
    assert ours.labels_.tolist() == dfmst.hdbscan(points, min_cluster_size=size, min_samples=near)["label"].tolist()
    theirs = Theirs(size, min_samples=1 + (near or size), copy=True).fit(points)
    assert np.mean((ours.labels_ < 0) == (theirs.labels_ < 0)) > 0.9  # theirs depends on the order of equal distances
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.8
    distances = (lambda d: (d + d.T) / 2)(euclidean_distances(points))
    far = HDBSCAN(size, min_samples=near, metric="precomputed").fit(distances)
    assert far.labels_.tolist() == ours.labels_.tolist()
    np.testing.assert_allclose(far.probabilities_, ours.probabilities_, atol=1e-6)
    graph = HDBSCAN(size, min_samples=near or size, metric="precomputed").fit(sparse.csr_array(distances))
    assert graph.labels_.tolist() == ours.labels_.tolist()


@given(seed=st.integers(0, 2**32 - 1), samples=st.integers(2, 40), axes=st.integers(1, 4), clusters=st.integers(1, 6))
@examples(30)
def test_its_own_single_linkage(seed, samples, axes, clusters):
    points = np.random.default_rng(seed).normal(size=(samples, axes))
    clusters = min(clusters, samples)
    ours = SingleLinkage(clusters).fit(points)
    theirs = AgglomerativeClustering(clusters, linkage="single", compute_distances=True).fit(points)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    np.testing.assert_allclose(ours.distances_, theirs.distances_)
    middle = float(np.median(ours.distances_))
    for threshold in (middle, middle * 1.000001, 0.0, np.inf):
        cut = SingleLinkage(None, distance_threshold=threshold).fit(points)
        assert cut.n_clusters_ == int((ours.distances_ >= threshold).sum()) + 1
    distances = SingleLinkage(clusters, metric="precomputed").fit(
        (lambda d: (d + d.T) / 2)(euclidean_distances(points))
    )
    assert adjusted_rand_score(ours.labels_, distances.labels_) == 1.0


def test_a_graph_of_two_components():
    graph = sparse.csr_array(([1.0, 5.0, 2.0], ([0, 1, 3], [1, 2, 4])), shape=(5, 5))
    whole = SingleLinkage(1, metric="precomputed").fit(graph)
    assert whole.labels_.tolist() == [0, 0, 0, 1, 1]
    assert (whole.n_connected_components_, whole.n_clusters_) == (2, 2)
    assert whole.distances_.tolist() == [1.0, 2.0, 5.0, np.inf]
    assert SingleLinkage(3, metric="precomputed").fit_predict(graph).tolist() == [0, 0, 1, 2, 2]
    for other in (graph.tobsr(blocksize=(5, 5)), graph.todia()):  # their zeros are no edges
        assert SingleLinkage(3, metric="precomputed").fit_predict(other).tolist() == [0, 0, 1, 2, 2]


@pytest.mark.parametrize("sparsely", [False, True])
def test_similarities_are_no_distances(sparsely):
    correlations = np.corrcoef(np.random.default_rng(0).normal(size=(4, 30)))
    for similarities, hint in ((np.abs(correlations), "1 - X"), (9 * correlations, "1 / X" if sparsely else "X.max")):
        given = sparse.csr_array(similarities) if sparsely else similarities
        with pytest.raises(ValueError, match=rf"on its diagonal, as similarities have.*\nHint: pass distances.*{hint}"):
            SingleLinkage(2, metric="precomputed").fit(given)


def test_wrong_parameters():
    calls: dict[str, Any] = {
        "Exactly one of": lambda: SingleLinkage(2, distance_threshold=1.0),
        "it must be from 1 to 3": lambda: SingleLinkage(4),
        "metric is 'far'": lambda: SingleLinkage(metric="far"),
        "it must be a text": lambda: SingleLinkage(metric=len),  # type: ignore[arg-type]
    }
    for words, make in calls.items():
        with pytest.raises(ValueError, match=words):
            make().fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="X has 3 missing entries"):
        SingleLinkage(2).fit(np.ma.masked_equal(np.eye(3), 1))
