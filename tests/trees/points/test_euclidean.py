"""The tree of points is the forest of the table of all pairs, ties and duplicates included."""

from __future__ import annotations

import time
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

import dfmst
import dfmst.pandas
from dfmst._trees.points import spanning
from tests.support.lanes import examples


def all_pairs(points: np.ndarray, min_samples: int = 0) -> np.ndarray:
    """Every pair of points and its distance, summed up axis by axis."""
    source, target = np.triu_indices(len(points), 1)
    distance = np.zeros(len(source))
    for axis in points.T:
        distance += (axis[source] - axis[target]) ** 2
    distance = np.sqrt(distance)
    if min_samples:
        square = np.zeros((len(points), len(points)))
        square[source, target] = square[target, source] = distance
        np.fill_diagonal(square, -1)
        core = np.sort(square, axis=1)[:, min_samples]
        distance = np.maximum(distance, np.maximum(core[source], core[target]))
    kinds = [("source", np.int64), ("target", np.int64), ("distance", np.float64)]
    return np.rec.fromarrays([source, target, distance], kinds)


def brute_force(points: np.ndarray, min_samples: int = 0) -> np.ndarray:
    return dfmst.minimum_spanning_forest(all_pairs(points, min_samples), weight="distance")


def cloud(kind: str, axes: int, count: int, rng: np.random.Generator) -> np.ndarray:
    points: dict[str, Any] = {
        "uniform": lambda: rng.random((count, axes)),
        "blobs": lambda: rng.normal(size=(count, axes)) * 0.01 + rng.integers(0, 3, (count, axes)),
        "line": lambda: np.pad(rng.permutation(count)[:, None].astype(float), ((0, 0), (0, axes - 1))),
        "grid": lambda: rng.integers(0, 4, (count, axes)).astype(float),
        "equal": lambda: np.repeat(rng.random((3, axes)), count // 3 + 1, axis=0)[:count],
        "tiny": lambda: rng.integers(0, 9, (count, axes)) * 1e-160,
        "far": lambda: 1e8 + rng.integers(0, 99, (count, axes)) / 8,
    }
    return points[kind]()


@pytest.mark.parametrize("axes", [1, 2, 3, 8, 24, 64])
@pytest.mark.parametrize("kind", ["uniform", "blobs", "line", "grid", "equal", "tiny", "far"])
def test_brute_force(kind, axes, monkeypatch):
    monkeypatch.setattr(spanning, "_BLOCK", 700)  # of 24 axes and more: products of matrices, in several blocks
    rng = np.random.default_rng(axes)
    for count in (2, 7, 90, 300 if axes < 64 else 120):
        points = cloud(kind, axes, count, rng)
        for threads, k, min_samples in ((1, None, None), (2, 1, 1), (2, 9, 5)):
            if min_samples is None or min_samples < count:
                ours = dfmst.euclidean_forest(points, k=k, min_samples=min_samples, threads=threads)
                assert np.array_equal(ours, brute_force(points, min_samples or 0)), (count, k, min_samples)


@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=40),
    st.integers(0, 4),
    st.integers(1, 5),
)
@examples(200)
def test_ties(points, min_samples, k):
    array = np.array(points, float)
    core = min(min_samples, len(points) - 1)
    assert np.array_equal(dfmst.euclidean_forest(array, k=k, min_samples=core or None), brute_force(array, core))


@pytest.mark.parametrize("axes", [2, 6])
def test_many_points(axes):
    """A component's way out is found past thousands of its own points."""
    rng = np.random.default_rng(0)
    blobs = rng.normal(size=(2500, axes)) * 0.05 + rng.integers(0, 3, (2500, 1))
    tree = dfmst.euclidean_forest(blobs)
    assert len(tree) == 2499
    for min_samples in (None, 5):
        one, two = (
            dfmst.euclidean_forest(blobs, k=k, min_samples=min_samples, threads=t) for k, t in ((1, 1), (40, 2))
        )
        assert np.array_equal(one, two)
    near, exact = dfmst.knn_edges(blobs, k=200, return_exact=True)
    assert not exact  # the blobs are apart
    inner = dfmst.minimum_spanning_forest(near, weight="distance")
    pairs = set(zip(tree["source"].tolist(), tree["target"].tolist(), strict=True))
    assert set(zip(inner["source"].tolist(), inner["target"].tolist(), strict=True)) <= pairs


def test_neighbors():
    rng = np.random.default_rng(2)
    for points in (rng.random((80, 3)), rng.integers(0, 3, (60, 2)).astype(float)):
        distance = cdist(points, points)
        for k in (1, 4, 200):
            edges, exact = dfmst.knn_edges(points, k=k, return_exact=True)
            expected = set()
            for one, row in enumerate(distance):
                others = [other for other in np.lexsort((np.arange(len(row)), row)) if other != one]
                expected |= {(min(one, other), max(one, other)) for other in others[:k]}
            assert list(zip(edges["source"].tolist(), edges["target"].tolist(), strict=True)) == sorted(expected)
            forest = dfmst.minimum_spanning_forest(edges, weight="distance")
            assert np.array_equal(forest, brute_force(points)) == exact
            assert exact or k < 200


def test_piles_of_equal_points():
    """The lists of neighbors of a pile take no time that grows with its square."""
    rng = np.random.default_rng(3)
    pile = np.full((40_000, 2), 0.5)
    begin = time.process_time()
    edges = dfmst.knn_edges(pile, k=3)
    tree = dfmst.points_forest(pile, edges=np.arange(40_000)[:, None] ^ 1)
    assert time.process_time() - begin < 3  # 0.4; it was 14
    given = sorted([(at, at + 1) for at in range(0, 40_000, 2)] + [(0, at) for at in range(2, 40_000, 2)])
    assert list(zip(tree["source"].tolist(), tree["target"].tolist(), strict=True)) == given
    others = [(0, 3)] + [(row, at) for at in range(4, 40_000) for row in range(3)]
    expected = sorted({(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), *others})
    assert list(zip(edges["source"].tolist(), edges["target"].tolist(), strict=True)) == expected
    for axes in (1, 2, 24):
        for low in (1.0, 1e-170)[: 1 + (axes < 20)]:  # squares of the smaller differences are 0
            points = rng.integers(0, 3, (90, axes)) * low
            points[rng.random(90) < 0.5] = points[7]
            for k in (1, 3, 20):
                check_neighbors(points, k)


def check_neighbors(points: np.ndarray, k: int) -> None:
    distance = np.zeros((len(points), len(points)))
    for axis in points.T:
        distance += (axis[:, None] - axis) ** 2
    expected = set()
    for one, row in enumerate(np.sqrt(distance)):
        others = [other for other in np.lexsort((np.arange(len(row)), row)) if other != one]
        expected |= {(min(one, other), max(one, other)) for other in others[:k]}
    edges = dfmst.knn_edges(points, k=k)
    assert list(zip(edges["source"].tolist(), edges["target"].tolist(), strict=True)) == sorted(expected)


TOWNS = pd.DataFrame({"name": list("cabd"), "x": [0, 3, 3, 9], "y": [0.0, 4.0, 5.0, 5.0]}, index=[9, 7, 7, 1])


def test_kinds_of_frames():
    expected = {"source": ["c", "a", "b"], "target": ["a", "b", "d"], "distance": [5.0, 1.0, 6.0]}
    tree = dfmst.euclidean_forest(TOWNS, ["x", "y"], ids="name")
    assert tree.to_dict("list") == expected
    assert tree.index.tolist() == [0, 1, 2]
    assert TOWNS.mst.euclidean_forest(["x", "y"], ids="name").equals(tree)
    assert TOWNS.mst.knn_edges(["x", "y"], k=1).source.tolist() == [0, 1, 2]
    frame = pl.from_pandas(TOWNS)
    assert dfmst.euclidean_forest(frame, ids="name").to_dict(as_series=False) == expected
    lazy = dfmst.euclidean_forest(frame.lazy(), ids="name")
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().to_dict(as_series=False) == expected
    table = pa.table({"x": pa.array([1, 2, 4], pa.int8()), "y": [Decimal("1.5"), Decimal(2), Decimal(2)]})
    assert dfmst.euclidean_forest(table).column_names == ["source", "target", "distance"]
    assert dfmst.euclidean_forest(table, "x")["distance"].to_pylist() == [1.0, 2.0]
    for points in ([[0, 0], [0, 2]], np.array([[0, 0], [0, 2]], ">f8"), np.ma.array([[0, 0], [0, 2]])):
        assert dfmst.euclidean_forest(points)["distance"].tolist() == [2.0]
    assert dfmst.euclidean_forest(TOWNS.astype({"x": ">i4"}), ["x", "y"], ids="name").to_dict("list") == expected


def test_few_points():
    for points in (np.zeros((0, 2)), np.zeros((1, 2))):
        for tree in (
            dfmst.euclidean_forest(points),
            dfmst.euclidean_forest(points, min_samples=3),
            dfmst.knn_edges(points),
        ):
            assert [tree.dtype[name] for name in ("source", "target", "distance")] == [np.int64, np.int64, np.float64]
            assert not len(tree)
    assert dfmst.euclidean_forest(TOWNS[:0], ids="name").shape == (0, 3)
    assert dfmst.knn_edges(np.zeros((1, 2)), return_exact=True)[1]


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (TOWNS, {}, "column 'name' holds"),
        (TOWNS, {"columns": ["x", "z"]}, "'name', 'x', 'y'\nHint: name the coordinates with columns=, and"),
        (TOWNS, {"columns": ["x", "y"], "ids": "nmae"}, "did you mean 'name'? Else name the coordinates"),
        (
            TOWNS,
            {"columns": "x", "min_samples": 4},
            "min_samples is 4, and there are 4 points: a point has 1 to 3 others",
        ),
        (TOWNS, {"columns": "x", "k": 0}, "k is 0; it must be at least 1"),
        (TOWNS, {"columns": "x", "k": True}, "k is True; it must be a whole number"),
        (TOWNS[:1], {"columns": "x", "min_samples": -3}, "min_samples is -3; it must be at least 1"),
        (
            TOWNS.assign(name=["a", "b", "b", "a"]),
            {"columns": "x", "ids": "name"},
            "column 'name' of ids has 2 repeated entries, the first is 'b' in row 2, as in row 1\nHint: name more",
        ),
        (
            TOWNS.assign(name=np.array(["a", None, "b", None])),
            {"columns": "x", "ids": "name"},
            "column 'name' of ids has 2 nulls, the first in row 1",
        ),
        (
            TOWNS.assign(name="a"),
            {"columns": "x", "ids": ["name", "y"]},
            "column 'name, y' of ids has 1 repeated entries, the first is 'a, 5' in row 3, as in row 2",
        ),
        (
            TOWNS.assign(x=[1, np.nan, np.inf, 2]),
            {"columns": "x"},
            "column 'x' has 2 coordinates that are null, NaN",
        ),
        (TOWNS.assign(x=[1, np.nan, 3, 2]), {"columns": "x"}, "column 'x' has 1 coordinate that is null, NaN"),
        (
            TOWNS.assign(x=[2**53 + 1, 1, 2, 3]),
            {"columns": "x"},
            "'x' holds integers that no float64 is equal to",
        ),
        (TOWNS.assign(x=1e151), {"columns": "x"}, "column 'x' holds coordinates beyond 1e150"),
        (TOWNS, {"columns": []}, "the points have no coordinates"),
        (TOWNS, {"columns": ["x", "y", "x"]}, "column 'x' is named twice"),
        (TOWNS[["x", "y"]].assign(town_id=4), {}, "column 'town_id' may name the points, or be a coordinate"),
        (
            np.array([[0.0, 1], [np.nan, 2]]),
            {},
            "column 'x0' has 1 coordinate that is null, NaN or infinite, the first in",
        ),
        (np.array([[0.0, 1], [1e151, 2]]), {}, "column 'x0' holds coordinates beyond 1e150"),
        (np.zeros(3), {}, "the array of points has 1 dimensions; it must have two"),
        (
            sparse.eye_array(3, format="csr"),
            {},
            "points is a csr_array, a sparse matrix\nHint: pass coordinates as points",
        ),
        (sparse.coo_matrix((3, 2)), {}, "points is a coo_matrix, a sparse matrix"),
        (np.zeros((3, 2)), {"columns": ["x"]}, "columns= and ids= name columns of a frame"),
        (np.array([["a", "b"]]), {}, "the array of points holds <U1 values; coordinates must be numbers"),
        (np.zeros((3, 2), np.longdouble), {}, "column 'x0' holds float128 values, which Arrow has no type for"),
        ([[0.5, 2**53 + 1], [0, 0]], {}, "column 'points' mixes values of types float, int"),
        (np.ma.masked_equal([[0, 1], [2, 9]], 9), {}, "points has 1 missing entries, the first at position (1, 1)"),
    ],
)
def test_bad_points(points, options, message):
    for function in (dfmst.euclidean_forest, dfmst.knn_edges):
        if "min_samples" in options and function is dfmst.knn_edges:
            continue
        with pytest.raises((dfmst.DfmstError, TypeError)) as caught:
            function(points, **options)
        assert message in str(caught.value)


@pytest.mark.parametrize("ids", ["id", ["id", "x"]])
def test_types_of_ids(ids):
    """Encoded texts name points like plain ones; values that are no ids are refused by their type."""
    text = pa.array(["a", "b"])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), text)
    for column in (text, text.cast(pa.large_string()), text.cast(pa.string_view()), text.dictionary_encode(), runs):
        tree = dfmst.points_forest(pa.table({"id": column, "x": [0, 1]}), "x", ids=ids)
        assert tree["source"].to_pylist() == ["a" if ids == "id" else "a, 0"]
    with pytest.raises(dfmst.InvalidEdgesError, match="ids must be integers, strings or categoricals"):
        dfmst.points_forest(pa.table({"id": [[1], [2]], "x": [0, 1]}), "x", ids=ids)


def test_ids_of_extension_types():
    ids = [uuid.UUID(int=number) for number in (3, 1, 2)]
    tree = dfmst.points_forest(pd.DataFrame({"x": [0, 1, 3], "id": ids}), "x", ids="id")
    assert tree.source.tolist() == ids[:2]
    with pytest.raises(dfmst.InvalidEdgesError, match=r"1 repeated entries, the first is .* in row 2, as in row 0"):
        dfmst.points_forest(pd.DataFrame({"x": [0, 1, 3], "id": [*ids[:2], ids[0]]}), "x", ids="id")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_ids_of_several_columns(frame):
    """The joined texts name the points, in all functions that follow."""
    cities = {"name": ["a", "a", "b"], "country": [1, 2, 2], "x": [0, 1, 5], "y": [0, 0, 0]}
    tree = dfmst.points_forest(frame(cities), ids=["name", "country"])
    tree = tree.collect() if isinstance(tree, pl.LazyFrame) else tree
    assert np.asarray(tree["source"]).tolist() == ["a, 1", "a, 2"]
    assert np.asarray(tree["target"]).tolist() == ["a, 2", "b, 2"]
    clusters = dfmst.clusters(tree, weight="distance", n_clusters=2)
    assert np.asarray(clusters["vertex"]).tolist() == ["a, 1", "a, 2", "b, 2"]
    options: dict[str, Any] = {"columns": ["x", "y"], "ids": ["name", "country"], "min_cluster_size": 2}
    labels = dfmst.hdbscan(frame(cities), **options)
    labels = labels.collect() if isinstance(labels, pl.LazyFrame) else labels
    assert np.asarray(labels["vertex"]).tolist() == ["a, 1", "a, 2", "b, 2"]
    named = pd.DataFrame({end: np.asarray(tree[end]) for end in ("source", "target")})
    near = dfmst.points_forest(pd.DataFrame(cities), ["x", "y"], ids=["name", "country"], edges=named)
    assert near.source.tolist() == ["a, 1", "a, 2"]
    for levels in (["name", "country"], ["country"]):
        indexed = dfmst.points_forest(pd.DataFrame(cities).set_index(levels), ["x", "y"], ids=["name", "country"])
        assert indexed.equals(dfmst.points_forest(pd.DataFrame(cities), ["x", "y"], ids=["name", "country"]))


@pytest.mark.parametrize("spread", [1e-3, 1e-6, 1e-12])
def test_estimates_that_are_too_coarse(spread, monkeypatch):
    """Groups far apart, with distances below the precision of float32: float64, and then all candidates."""
    rng = np.random.default_rng(1)
    points = rng.integers(0, 3, (180, 1)) * np.ones(30) * 7 + rng.normal(size=(180, 30)) * spread
    by_blocks = dfmst.points_forest(points), dfmst.knn_edges(points, k=4), dfmst.points_forest(points, min_samples=4)
    monkeypatch.setattr(spanning, "_MANY_AXES", 1000)
    by_tree = dfmst.points_forest(points), dfmst.knn_edges(points, k=4), dfmst.points_forest(points, min_samples=4)
    for one, other in zip(by_blocks, by_tree, strict=True):
        assert np.array_equal(one, other)


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
    assert np.array_equal(tree, dfmst.points_forest(points))  # the neighbors contain it, and the rest is joined exactly
    assert dfmst.points_forest(points, return_exact=True)[1]
    near[:, 4:] = -1
    coarse = dfmst.points_forest(points, edges=near)
    assert len(coarse) == len(points) - 1
    assert coarse["distance"].sum() >= tree["distance"].sum()
    assert dfmst.connected_components(coarse)["component"].tolist() == [0] * len(points)
    names = [f"p{row}" for row in range(len(points))]
    frame = pd.DataFrame(points).assign(name=names)
    pairs = pd.DataFrame({"source": np.repeat(names, 12), "target": np.array(names)[neighbors(points, 12)].reshape(-1)})
    named = dfmst.points_forest(frame, ids="name", edges=pairs)
    assert named.source.tolist() == [names[row] for row in tree["source"].tolist()]
    assert named.distance.tolist() == tree["distance"].tolist()
    none = dfmst.points_forest(points, edges=np.zeros((len(points), 0), np.int32))
    assert np.array_equal(none, tree)  # nothing is given: all is joined


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "haversine"])
def test_links_that_exist_are_kept(metric):
    """As the forest of the table of all pairs keeps them, ties included."""
    rng = np.random.default_rng(4)
    for points in (rng.random((40, 2)), rng.integers(0, 4, (40, 2)), np.zeros((9, 2))):
        source, target = np.triu_indices(len(points), 1)
        table = pd.DataFrame({"source": source, "target": target})
        table["distance"] = dfmst.knn_edges(points, k=len(points), metric=metric)["distance"]
        links = dfmst.spanning_forest(table.sample(len(points) // 2, random_state=3))[["source", "target"]]
        table["built"] = table.index.isin(links.index)
        expected = dfmst.minimum_spanning_forest(table, weight="distance", keep="built")
        tree, exact = dfmst.points_forest(points, metric=metric, keep=links, return_exact=True)
        assert exact
        assert tree["source"].tolist() == expected.source.tolist()
        assert tree["target"].tolist() == expected.target.tolist()
    cycle = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 0]})
    with pytest.raises(dfmst.InvalidEdgesError, match="the pairs of keep form cycles: 1 too many"):
        dfmst.points_forest(points, keep=cycle)
    with pytest.raises(ValueError, match="keep= and edges= cannot be combined"):
        dfmst.points_forest(points, keep=cycle, edges=cycle)


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
        (sparse.eye_array(3), {}, "a sparse matrix\nHint: make a table: dfmst.from_sparse(edges)"),
    ],
)
def test_bad_edges(edges, options, message):
    points = pa.table({"x": [0.0, 1.0, 3.0], "name": ["a", "b", "c"]})
    with pytest.raises(dfmst.DfmstError) as caught:
        dfmst.points_forest(points, "x", edges=edges, **options)
    assert message in str(caught.value)
    with pytest.raises(ValueError, match="min_samples= and edges= cannot be combined"):
        dfmst.points_forest(points, "x", edges=edges, min_samples=1)
