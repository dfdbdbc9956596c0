"""HDBSCAN of edge tables and points, next to hdbscan and scikit-learn, and to a plain reading of its definition."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.pandas
from tests.support.lanes import examples

EDGES = pd.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [1.0, -1.0]})


def blobs(count: int, axes: int = 2, seed: int = 0) -> np.ndarray:
    """Groups of several densities, and noise; without equal distances."""
    rng = np.random.default_rng(seed)
    centers = rng.random((5, axes)) * 10
    near = centers[rng.integers(0, 5, count)] + rng.normal(size=(count, axes)) * rng.choice([0.1, 0.4], (count, 1))
    return np.concatenate([near, rng.random((count // 5, axes)) * 10])


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def reference(points: np.ndarray, **options: Any) -> Any:
    package = pytest.importorskip("hdbscan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return package.HDBSCAN(algorithm="generic", **options).fit(points)


@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cluster_selection_method": "leaf"},
        {"max_cluster_size": 40},
        {"epsilon": 0.3},
        {"cluster_selection_method": "leaf", "epsilon": 0.3},
    ],
)
def test_hdbscan(size, options):
    """The labels, probabilities, outlier scores and the tree of hdbscan.

    With larger core distances many edges of a point weigh the same, and their packages choose among them.
    """
    for seed in range(3):
        points = blobs(150, seed=seed)
        theirs_options = {
            name.replace("epsilon", "cluster_selection_epsilon"): given for name, given in options.items()
        }
        theirs = reference(points, min_cluster_size=size, min_samples=1, **theirs_options)
        ours = pd.DataFrame(dfmst.hdbscan(points, min_cluster_size=size, min_samples=1, **options))
        assert same_partition(ours.label.to_numpy(), theirs.labels_)
        np.testing.assert_allclose(ours.probability, theirs.probabilities_, atol=1e-9)
        np.testing.assert_allclose(ours.outlier_score, theirs.outlier_scores_, atol=1e-9)
        labels = ours.label[ours.label >= 0]
        assert list(dict.fromkeys(labels)) == list(range(labels.max() + 1))
        tree = pd.DataFrame(dfmst.condensed_tree(points, min_cluster_size=size, min_samples=1))
        expected = theirs.condensed_tree_.to_pandas()
        for one, other in (("lambda", "lambda_val"), ("size", "child_size")):
            assert sorted(tree[one]) == pytest.approx(sorted(expected[other]), rel=1e-9)
        mine, yours = (frame[frame.child < len(points)].set_index("child").sort_index() for frame in (tree, expected))
        assert same_partition(mine.parent.to_numpy(), yours.parent.to_numpy())
        np.testing.assert_allclose(mine["lambda"], yours.lambda_val, rtol=1e-9)


@pytest.mark.parametrize("size", [3, 8, 25])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 0.3},
        {"epsilon": 1.5},
        {"max_cluster_size": 40},
        {"cluster_selection_method": "leaf"},
        {"cluster_selection_method": "leaf", "epsilon": 0.7},
    ],
)
def test_a_single_cluster(size, options):
    """The labels and probabilities of hdbscan and scikit-learn if all points may be one cluster."""
    from sklearn.cluster import HDBSCAN

    rng = np.random.default_rng(5)
    theirs = {name.replace("epsilon", "cluster_selection_epsilon"): given for name, given in options.items()}
    single = 0
    for points in (blobs(150), rng.normal(size=(100, 2)), rng.random((60, 3)), rng.standard_cauchy(size=(90, 2))):
        ours = dfmst.hdbscan(points, min_cluster_size=size, min_samples=1, allow_single_cluster=True, **options)
        label, probability = (ours[name] for name in ("label", "probability"))
        peers = [reference(points, min_cluster_size=size, min_samples=1, allow_single_cluster=True, **theirs)]
        if options.keys() <= {"max_cluster_size"}:  # scikit-learn fails if it climbs to the root with other options
            peers.append(HDBSCAN(size, min_samples=2, allow_single_cluster=True, copy=True, **theirs).fit(points))
        for peer in peers:
            assert same_partition(label, peer.labels_)
            np.testing.assert_allclose(probability, peer.probabilities_, atol=1e-9)
        single += label.max() == 0
    assert single or "max_cluster_size" in options or options.get("cluster_selection_method")


def test_core_distances_that_are_equal():
    """The case of the guide: a point that joins two groups at one distance is noise in every order of rows."""
    places = np.array([[1.0], [2], [6], [15], [28], [34], [35]])
    rng = np.random.default_rng(0)
    theirs = set()
    for order in (np.arange(7), np.arange(7)[::-1], *(rng.permutation(7) for _ in range(20))):
        labels = np.empty(7, int)
        labels[order] = dfmst.hdbscan(places[order], min_cluster_size=3, min_samples=2)["label"]
        assert same_partition(labels, np.array([0, 0, 0, -1, 1, 1, 1]))
        assert labels[3] == -1
        theirs.add(reference(places[order], min_cluster_size=3, min_samples=2).labels_[order.tolist().index(3)])
    assert theirs == {0, 1}


def test_equal_points_are_a_single_cluster():
    alike = np.zeros((10, 2))
    assert dfmst.hdbscan(alike)["label"].tolist() == [-1] * 10
    ours = dfmst.hdbscan(alike, allow_single_cluster=True)
    assert (ours["label"].tolist(), ours["probability"].tolist()) == ([0] * 10, [1.0] * 10)
    tree = dfmst.condensed_tree(alike, allow_single_cluster=True)
    assert np.array_equal(tree, dfmst.condensed_tree(alike))
    few = dfmst.hdbscan(alike[:4], allow_single_cluster=True)["label"].tolist()
    assert few == [-1] * 4  # fewer than min_cluster_size


def test_components_are_not_a_single_cluster():
    """Nothing joins them; one of them is a cluster if the others are too small to be one."""
    pairs = pd.DataFrame({"source": range(0, 12, 2), "target": range(1, 12, 2), "weight": 1.0})
    assert set(dfmst.hdbscan(pairs, allow_single_cluster=True).label) == {-1}
    path = pd.DataFrame({"source": range(20, 28), "target": range(21, 29), "weight": 1.0})
    labels = dfmst.hdbscan(pd.concat([pairs, path]), allow_single_cluster=True)
    assert labels.vertex[labels.label == 0].tolist() == list(range(20, 29))
    grouped = pd.concat([path.assign(day=1), path.assign(day=2)])
    assert dfmst.hdbscan(grouped, by="day", allow_single_cluster=True).label.tolist() == [0] * 18


def test_their_own_examples():
    """scikit-learn's moons and blobs, and a graph of distances."""
    from sklearn.cluster import HDBSCAN
    from sklearn.datasets import make_blobs, make_moons
    from sklearn.neighbors import kneighbors_graph

    moons, _ = make_moons(n_samples=50, noise=0.05, random_state=0)
    dots, _ = make_blobs(n_samples=50, centers=[(-0.75, 2.25), (1.0, 2.0)], cluster_std=0.25, random_state=0)
    points = np.vstack([moons, dots])
    ours = dfmst.hdbscan(points, min_cluster_size=15, min_samples=14)["label"]
    assert same_partition(ours, HDBSCAN(min_cluster_size=15, copy=True).fit(points).labels_)
    graph = kneighbors_graph(points, 40, mode="distance")
    graph = graph.maximum(graph.T)
    theirs = HDBSCAN(min_cluster_size=6, min_samples=4, metric="precomputed", copy=True).fit(graph.copy())
    edges = dfmst.from_sparse(graph)
    ours = dfmst.hdbscan(edges, min_cluster_size=6, min_samples=4).to_pandas()
    assert same_partition(ours.label.to_numpy(), theirs.labels_)
    np.testing.assert_allclose(ours.probability, theirs.probabilities_, atol=1e-9)


def test_components():
    """Parts of a graph that is not connected are clusters; what is isolated is noise."""
    rng = np.random.default_rng(0)
    one = pd.DataFrame(dfmst.euclidean_forest(rng.random((30, 2))))
    two = one.assign(source=one.source + 30, target=one.target + 30, distance=one.distance * 9)
    edges = pd.concat([two, one], ignore_index=True)
    labels = edges.mst.hdbscan(weight="distance", min_cluster_size=20, vertices=range(70))
    assert labels.vertex.tolist() == list(range(70))
    assert labels.label.tolist() == [0] * 30 + [1] * 30 + [-1] * 10
    assert labels.probability.between(0, 1).all()
    assert labels.outlier_score.between(0, 1).all()
    text = pl.from_pandas(edges).with_columns(pl.col("source", "target").cast(pl.String))
    frame = dfmst.hdbscan(text.lazy(), weight="distance", min_cluster_size=20).collect()
    assert frame["vertex"].dtype == pl.String
    assert frame["vertex"].to_list() == sorted(map(str, range(60)))
    assert frame["label"].n_unique() == 2
    infinite = pd.concat([edges, pd.DataFrame({"source": [0], "target": [30], "distance": [np.inf]})])
    joined = dfmst.hdbscan(infinite, weight="distance", min_cluster_size=20, vertices=range(70))
    pd.testing.assert_frame_equal(joined, labels)


def test_components_are_clustered_one_by_one():
    """Each component has the clusters that hdbscan finds in it alone, where it may select all of it."""
    parts = [blobs(60, seed=seed) for seed in (0, 1)]
    trees = [pd.DataFrame(dfmst.points_forest(part)) for part in parts]
    trees[1] += [len(parts[0]), len(parts[0]), 0.0]
    edges = pd.concat(trees).astype({"source": int, "target": int})
    ours = dfmst.hdbscan(edges, weight="distance", min_cluster_size=8)
    for begin, part in ((0, parts[0]), (len(parts[0]), parts[1])):
        theirs = reference(part, min_cluster_size=8, min_samples=1, allow_single_cluster=True)
        here = ours[begin : begin + len(part)]
        assert same_partition(here.label, theirs.labels_)
        np.testing.assert_allclose(here.probability, theirs.probabilities_, atol=1e-9)


def reachability(edges: pd.DataFrame, min_samples: int) -> list[float]:
    """Weights by mutual reachability, vertex by vertex."""
    near: dict[int, dict[int, float]] = {}
    for a, b, weight in edges.itertuples(index=False):
        if a != b:
            for one, other in ((a, b), (b, a)):
                known = near.setdefault(one, {})
                known[other] = min(weight, known.get(other, np.inf))
    core = {one: [*sorted(known.values()), *[np.inf] * min_samples][min_samples - 1] for one, known in near.items()}
    return [max(w, core.get(a, np.inf), core.get(b, np.inf)) for a, b, w in edges.itertuples(index=False)]


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 5)), min_size=1, max_size=40),
    st.integers(1, 4),
    st.integers(2, 4),
    st.randoms(),
)
@examples(100)
def test_core_distances_of_edges(rows, min_samples, size, random):
    """Edges with core distances are edges with other weights, in any order of rows and of ends."""
    edges = pd.DataFrame(rows, columns=["source", "target", "weight"])
    expected = edges.assign(weight=reachability(edges, min_samples))
    ours = dfmst.hdbscan(edges, min_samples=min_samples, min_cluster_size=size)
    pd.testing.assert_frame_equal(ours, dfmst.hdbscan(expected, min_cluster_size=size))
    random.shuffle(rows)
    other = pd.DataFrame([(b, a, w) for a, b, w in rows], columns=["source", "target", "weight"])
    again = dfmst.hdbscan(other, min_samples=min_samples, min_cluster_size=size)
    pd.testing.assert_frame_equal(ours, again)


def test_a_condensed_tree_with_ties():
    """Nine vertices in three groups that come apart at one distance: one split into three, whatever the order."""
    chain = [(0, 1, 1), (1, 2, 1), (3, 4, 2), (4, 5, 1), (6, 7, 1), (7, 8, 1), (2, 3, 4), (5, 6, 4)]
    frames = [pd.DataFrame(rows, columns=["source", "target", "weight"]) for rows in (chain, chain[::-1])]
    for frame in frames:
        tree = dfmst.condensed_tree(frame, min_cluster_size=3)
        assert tree[tree.child > 8].to_numpy().tolist() == [[9, 10, 0.25, 3], [9, 11, 0.25, 3], [9, 12, 0.25, 3]]
        assert tree[tree.parent == 11].to_numpy().tolist() == [[11, 3, 0.5, 1], [11, 4, 0.5, 1], [11, 5, 0.5, 1]]
        assert dfmst.hdbscan(frame, min_cluster_size=3).label.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    lone = dfmst.condensed_tree(frames[0], vertices=range(10))
    assert lone[lone.child == 9].to_numpy().tolist() == [[10, 9, 0.0, 1]]
    zero = dfmst.hdbscan(frames[0].assign(weight=[0, 0, 1, 0, 1, 1, 9, 9]), min_cluster_size=3)
    assert zero.label.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert zero.probability.between(0, 1).all()
    assert zero.outlier_score.between(0, 1).all()


def test_several_sizes():
    points = blobs(100)
    both = pd.DataFrame(dfmst.hdbscan(points, min_cluster_size=[5, 12], min_samples=5))
    names = ["label", "probability", "outlier_score"]
    assert both.columns.tolist() == ["vertex", *(f"{name}{size}" for size in (5, 12) for name in names)]
    for size in (5, 12):
        one = pd.DataFrame(dfmst.hdbscan(points, min_cluster_size=size, min_samples=5))
        for name in names:
            assert one[name].equals(both[f"{name}{size}"].rename(name))


def test_integers_beyond_float64():
    edges = pd.DataFrame({"source": [0, 1, 3, 4, 2], "target": [1, 2, 4, 5, 3], "weight": [1, 1, 1, 1, 2**70]})
    assert dfmst.hdbscan(edges, min_cluster_size=3).label.tolist() == [0, 0, 0, 1, 1, 1]


def test_epsilon_is_in_the_type_of_the_weights():
    ends = {"source": [0, 1, 3, 4, 6, 7, 2, 5], "target": [1, 2, 4, 5, 7, 8, 3, 6]}
    frame = pd.DataFrame({**ends, "weight": np.array([0.1] * 6 + [0.7, 9.0], np.float32)})  # 0.7 of float32 is less
    for epsilon, labels in ((0.7, [0] * 3 + [1] * 3 + [2] * 3), (0.75, [0] * 6 + [1] * 3)):
        found = dfmst.hdbscan(frame, min_cluster_size=3, epsilon=epsilon)
        assert found.label.tolist() == labels


def test_names():
    frame = pd.DataFrame({"x": [0, 1, 2, 50, 51, 52], "name": list("abcdef")})
    labels = dfmst.hdbscan(frame, columns="x", ids="name", min_cluster_size=3, min_samples=1)
    assert labels.vertex.tolist() == list("abcdef")
    assert labels.label.tolist() == [0, 0, 0, 1, 1, 1]
    assert dfmst.hdbscan(frame[:1], columns="x", min_cluster_size=3).label.tolist() == [-1]
    assert dfmst.hdbscan(np.zeros((0, 2)))["label"].tolist() == []
    assert dfmst.hdbscan(np.zeros((9, 2)))["label"].tolist() == [-1] * 9
    assert dfmst.hdbscan(frame, columns="x", min_cluster_size=2, cluster_selection_method="leaf").shape == (6, 4)
    assert frame.mst.condensed_tree(columns="x", min_cluster_size=3, min_samples=1)["size"].tolist() == [3, 3, *[1] * 6]
    empty = pd.DataFrame({"source": [], "target": [], "weight": []})
    assert dfmst.hdbscan(empty).shape == dfmst.hdbscan(empty.astype({"weight": "datetime64[s]"})).shape == (0, 4)
    assert dfmst.condensed_tree(empty).shape == (0, 4)
    assert dfmst.hdbscan(empty, vertices=[3, 4]).label.tolist() == [-1, -1]
    assert dfmst.hdbscan(empty, vertices=[3, 4], min_samples=2).label.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        (EDGES, {"min_cluster_size": 1}, "min_cluster_size is 1; it must be at least 2"),
        (EDGES, {"min_cluster_size": [5, 5]}, "pass one size, or several different ones"),
        (EDGES, {"cluster_selection_method": "best"}, "is 'best'; it must be 'eom' or 'leaf'"),
        (EDGES, {"epsilon": -1}, "epsilon is -1; it must not be negative"),
        (EDGES, {"epsilon": np.nan}, "epsilon is nan; it must not be negative"),
        (EDGES, {"epsilon": True}, "epsilon is True; it must be a number"),
        (EDGES, {"max_cluster_size": -1}, "max_cluster_size is -1; it must be at least 1, or None"),
        (EDGES, {"max_cluster_size": 0}, "max_cluster_size is 0; it must be at least 1, or None"),
        (EDGES, {"max_cluster_size": np.nan}, "max_cluster_size is nan; it must be a whole number"),
        (EDGES, {"min_cluster_size": True}, "min_cluster_size is True; it must be a whole number"),
        (EDGES, {"min_cluster_size": 2.5}, "min_cluster_size is 2.5; it must be a whole number"),
        (blobs(9), {"min_samples": -3}, "min_samples is -3; it must be at least 1"),
        (blobs(9), {"min_samples": 0}, "min_samples is 0; it must be at least 1"),
        (blobs(9), {"min_samples": True}, "min_samples is True; it must be a whole number"),
        (blobs(9), {"min_samples": 1.5}, "min_samples is 1.5; it must be a whole number"),
        (blobs(9), {"box": True}, "box is True; it must be a number"),
        (blobs(9), {"threads": True}, "threads is True; it must be a whole number"),
        (EDGES, {"metric": "cosine"}, "metric=, ids= and box= are for points"),
        (EDGES, {"min_samples": 0}, "min_samples is 0; it must be at least 1"),
        (EDGES, {"source": ["x", "y"]}, "name the coordinates of points with columns=['x', 'y']"),
        (EDGES, {}, "column 'weight' holds negative weights"),
        (EDGES, {"min_samples": 2}, "column 'weight' holds negative weights"),
        (blobs(9), {"by": "x"}, "by= groups the rows of an edge table, and these are points"),
    ],
)
def test_bad_arguments(edges, options, message):
    both = {"cluster_selection_method", "max_cluster_size", "epsilon", "by"}.isdisjoint(options)
    both &= not isinstance(options.get("min_cluster_size"), list)
    for find in (dfmst.hdbscan, dfmst.condensed_tree)[: 1 + both]:
        with pytest.raises((ValueError, TypeError)) as caught:
            find(edges, **options)
        assert message in str(caught.value)


@pytest.mark.parametrize("find", [dfmst.hdbscan, dfmst.condensed_tree])
def test_points_without_names_of_columns(find):
    frame = pd.DataFrame(blobs(9), columns=["x", "y"])
    with pytest.raises(dfmst.ColumnNotFoundError, match=r"For points, name the coordinates: columns=\['x', 'y'\]$"):
        find(frame)
    with pytest.raises(dfmst.ColumnNotFoundError, match=r"name your columns, for example source='x'[^.]*$"):
        find(frame, "a")


def test_a_cold_start(tmp_path):
    """No compiler runs: 400 points take less than a CPU-second, the start of Python included."""
    path = tmp_path / "points.csv"
    pd.DataFrame(blobs(333), columns=["x", "y"]).to_csv(path, index=False)
    code = f"""
import resource, sys
from dfmst.__main__ import run
sys.argv = ["dfmst", "hdbscan", {str(path)!r}, "-c", "x", "-c", "y", "-o", {str(tmp_path / "out.parquet")!r}]
try:
    run()
finally:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    print(spent.ru_utime + spent.ru_stime, "numba" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PATH": ""}, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    seconds, compiled = run.stdout.split()
    assert compiled == "False"
    assert float(seconds) < 3  # 0.5 on a free machine; a loaded one counts more


@pytest.mark.parametrize("find", [dfmst.hdbscan, dfmst.condensed_tree, dfmst.points_forest, dfmst.knn_edges])
def test_arrays_and_lists_give_a_structured_array(find):
    points = blobs(40)
    frame = find(pd.DataFrame(points, columns=["x", "y"]), columns=["x", "y"])
    for array in (points, points.tolist()):
        found = find(array)
        pd.testing.assert_frame_equal(pd.DataFrame(found), frame)
        name = frame.columns[-1]
        assert (found[name] == frame[name].to_numpy()).all()


def test_a_structured_array_is_a_frame():
    tree = dfmst.points_forest(blobs(40))
    frame = pd.DataFrame(tree)
    for find in (dfmst.clusters, dfmst.hdbscan, dfmst.rooted, dfmst.minimum_spanning_forest):
        options: dict[str, Any] = {"n_clusters": 3} if find is dfmst.clusters else {}
        found, expected = (find(edges, weight="distance", **options) for edges in (tree, frame))
        assert isinstance(found, np.ndarray)
        pd.testing.assert_frame_equal(pd.DataFrame(found), expected, check_dtype=False)
    names = np.array([("a", "bc", 2), ("bc", "d", 1)], [("source", "U2"), ("target", "U2"), ("weight", "i2")])
    assert dfmst.minimum_spanning_forest(names).dtype == names.dtype
