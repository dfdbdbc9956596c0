"""Points on a GPU: the host's trees and neighbors, without a copy of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst._engines import CpuEngine, CudaEngine
from dfmst._engines.cuda import attributes_of, bound_kernels
from dfmst._trees.points.spanning import spanning_pairs
from tests.support.gpu.packages import cudf, cupy
from tests.support.lanes import examples

pytestmark = pytest.mark.usefixtures("shared_device")


def both(points: np.ndarray, function: str, **options: Any) -> None:
    """The frame of the device is the host's, to the bit."""
    table = pa.table({"x": points[:, 0], "y": points[:, 1], "name": [f"p{row}" for row in range(len(points))]})
    frame = cudf.DataFrame.from_arrow(table)
    cupy.traffic.reset()
    ours = getattr(dfmst, function)(frame, ["x", "y"], ids="name", **options)
    assert cupy.traffic.columns(65) == []
    expected = getattr(dfmst, function)(table, ["x", "y"], ids="name", **options)
    assert isinstance(ours, cudf.DataFrame)
    assert ours.to_arrow(preserve_index=False).to_pydict() == expected.to_pydict()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "haversine", "cosine"])
def test_metrics(metric):
    rng = np.random.default_rng(4)
    for count in (1, 2, 9, 700):
        for points in (rng.random((count, 2)) * 80, rng.integers(0, 6, (count, 2)) * 10.0 + (metric == "cosine")):
            both(points, "points_forest", metric=metric)
            both(points, "knn_edges", metric=metric, k=3)
            if count > 9:
                both(points, "points_forest", metric=metric, min_samples=4, k=2)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_boxes(metric):
    points = np.random.default_rng(6).integers(-90, 90, (400, 2)) * 0.35
    for box in (7.0, [9.5, None]):
        both(points, "points_forest", metric=metric, box=box)
    both(points, "knn_edges", metric=metric, box=30.0, k=3)


def test_correlations():
    rng = np.random.default_rng(7)
    series = pa.table({f"x{axis}": rng.normal(size=60) * 10.0 ** rng.integers(-99, 99) for axis in range(4)})
    frame = cudf.DataFrame.from_arrow(series)
    for find in (lambda table: dfmst.points_forest(table, metric="correlation"), dfmst.correlation_forest):
        assert find(frame).to_arrow(preserve_index=False).to_pydict() == find(series).to_pydict()
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'y' holds equal values, which correlate with nothing"):
        dfmst.correlation_forest(cudf.DataFrame.from_arrow(pa.table({"x": [1, 2], "y": [3, 3]})))


@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=40),
    st.integers(0, 4),
    st.integers(1, 5),
)
@examples(60)
def test_ties(points, min_samples, k):
    both(np.array(points, float), "euclidean_forest", k=k, min_samples=min(min_samples, len(points) - 1) or None)


def test_many_points():
    """Launches and copies do not grow with the points: all rounds are one launch, and no column is read."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((3000, 2)), rng.random((3000, 2)) * 0.01 + 3])
    cupy.cuda.launches.clear()
    both(points, "points_forest")
    assert len(cupy.cuda.launches) <= 9
    assert len(cupy.traffic.to_host) <= 10  # three of them for the comparison
    few = cudf.DataFrame.from_arrow(pa.table({"x": points[::100, 0]}))
    assert dfmst.knn_edges(few, k=50, return_exact=True)[1]
    assert not dfmst.knn_edges(few, k=1, return_exact=True)[1]


@pytest.mark.parametrize(
    ("setting", "value", "threads"),
    [("cooperative", False, [256]), ("watched", False, [1024]), ("watched", True, [1024] * 5)],
)
def test_launches_of_a_device_that_has_no_cooperative_ones_or_ends_long_ones(setting, value, threads):
    """One block, whose threads may always wait for each other; one launch a round, which takes no seconds."""
    before, points = getattr(cupy.cuda, setting)[:], np.random.default_rng(3).random((900, 2))
    getattr(cupy.cuda, setting)[:] = [value]
    attributes_of.cache_clear()
    bound_kernels.cache_clear()
    try:
        cupy.cuda.launches.clear()
        both(points, "points_forest")
        assert [launched for name, _, launched, _ in cupy.cuda.launches if name == "span_points"] == threads
        engine, label = CudaEngine(), np.arange(900, dtype=np.uint32) // 3 * 3  # points that are joined already
        columns = spanning_pairs(engine, engine.from_host(points.T), 2, label=engine.from_host(label))
        expected = spanning_pairs(CpuEngine(1), points.T, 2, label=label)
        for ours, theirs in zip(columns, expected, strict=True):
            np.testing.assert_array_equal(engine.to_host(ours), theirs)
    finally:
        getattr(cupy.cuda, setting)[:] = before
        attributes_of.cache_clear()
        bound_kernels.cache_clear()


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (
            {"x": [1.0, float("nan")]},
            {},
            "column 'x' has 1 coordinate that is null, NaN or infinite, the first in row 1",
        ),
        ({"x": [1, None, None]}, {}, "column 'x' has 2 coordinates that are null"),
        ({"x": [1e151, 0.0]}, {}, "column 'x' holds coordinates beyond 1e150"),
        ({"x": [2**53 + 1, 0]}, {}, "column 'x' holds integers that no float64 is equal to"),
        ({"x": ["a", "b"]}, {}, "coordinates must be numbers"),
        ({"x": [1.0, 2.0]}, {"columns": "y"}, "column 'y' not found"),
        ({"x": [1.0, 0.0]}, {"metric": "cosine"}, "the point in row 1 is zero, and has no direction"),
        (
            {"x": [1.0, 2.0], "y": [3.0, 2.0], "name": ["a", "b"]},
            {"metric": "correlation", "ids": "name"},
            "point 'b' in row 1 has equal coordinates",
        ),
        (
            {"x": [1.0, 2.0, 3.0], "name": ["a", "b", "a"]},
            {"columns": "x", "ids": "name"},
            "column 'name' of ids has 1 repeated entries, the first is 'a' in row 2, as in row 0",
        ),
        (
            {"x": [1.0, 2.0], "n": [1, None]},
            {"columns": "x", "ids": "n"},
            "column 'n' of ids has 1 nulls, the first in",
        ),
        ({"x": [1.0], "n": [1], "m": [2]}, {"columns": "x", "ids": ["n", "m"]}, "ids= names 2 columns, and the points"),
        (
            {"stop_lon": [0.0, 2.0], "stop_lat": [91.0, 0.0]},
            {"metric": "haversine"},
            "column 'stop_lat' has 1 latitudes",
        ),
        ({"x": [1.0, 2.0]}, {"box": [3.0, 4.0]}, "box has 2 lengths, and the points have 1 axis"),
        ({"x": [1.0, 2.0], "y": [91.0, 0.0]}, {"metric": "haversine"}, "column 'y' has 1 latitudes beyond 90 degrees"),
        (
            {"x": [1.0, 2.0]},
            {"edges": pa.table({"source": [0], "target": [1]})},
            "edges= is for points on the host",
        ),
    ],
)
def test_bad_points(frame, options, message):
    with pytest.raises(dfmst.DfmstError) as caught:
        dfmst.points_forest(cudf.DataFrame.from_arrow(pa.table(frame)), **options)
    assert message in str(caught.value)


def test_clusters_are_made_on_the_host():
    frame = cudf.DataFrame.from_arrow(pa.table({"x": [1.0, 2.0]}))
    with pytest.raises(dfmst.UnsupportedFrameError, match=r"these are on a GPU\nHint: pass points.to_arrow"):
        dfmst.hdbscan(frame, columns="x")
