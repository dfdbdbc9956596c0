"""Every metric against all pairs of points: the same tree, in the metric's unit, on random and on hard sets."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

import dfmst
import dfmst.pandas
from tests.support.lanes import examples

EARTH = 6371008.8
NAMES = {"manhattan": "cityblock"}


def haversine(degrees: np.ndarray) -> np.ndarray:
    """Arcs of all pairs in meters: by the haversine, and near antipodes by that of the opposite point."""
    latitude, longitude = np.radians(degrees).T
    up, across = latitude[:, None], longitude[:, None] - longitude
    near = np.sin((up - latitude) / 2) ** 2 + np.cos(up) * np.cos(latitude) * np.sin(across / 2) ** 2
    far = np.sin((up + latitude) / 2) ** 2 + np.cos(up) * np.cos(latitude) * np.cos(across / 2) ** 2
    arc = np.where(near < 0.5, 2 * np.arcsin(np.sqrt(near)), np.pi - 2 * np.arcsin(np.sqrt(np.minimum(1, far))))
    return EARTH * arc


def formula(points: np.ndarray, metric: Any) -> np.ndarray:
    return haversine(points) if metric == "haversine" else cdist(points, points, NAMES.get(metric, metric))


def cloud(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Latitudes and longitudes, or other coordinates, of the kind that makes trouble."""
    latitude: Any = rng.uniform(-90, 90, count)
    longitude: Any = rng.uniform(-180, 180, count)
    if kind == "date line":
        longitude = rng.choice([-180, 180, 179.999, -179.999], count)
    elif kind == "poles":
        latitude = rng.choice([90, -90, 89.9999, -89.9999], count)
    elif kind == "antipodes":
        half = np.stack([latitude, longitude], axis=1)[: count // 2]
        return np.concatenate([half, np.stack([-half[:, 0], half[:, 1] - 180], axis=1)])
    elif kind == "grid":
        latitude, longitude = rng.integers(-9, 9, count) * 10.0, rng.integers(-18, 37, count) * 10.0
    elif kind == "street":
        latitude, longitude = 52 + rng.random(count) * 1e-5, 13 + rng.random(count) * 1e-5
    return np.stack([latitude, longitude], axis=1)


def check(points: np.ndarray, metric: str, atol: float = 0.0, **options: Any) -> pa.Table:
    """The tree's distances are the formula's, and no tree of all pairs is lighter."""
    tree, count = dfmst.points_forest(points, metric=metric, **options), len(points)
    ends = np.asarray(tree["source"]), np.asarray(tree["target"])
    assert len(tree) == count - 1 == len(set(zip(*map(np.ndarray.tolist, ends), strict=True)))
    assert (ends[0] < ends[1]).all()
    expected = formula(points, metric)
    # Chords and haversines of antipodes are precise to the root of the epsilon.
    far = 1e-8 * (tree["distance"].max(initial=0) > 19e6)
    np.testing.assert_allclose(tree["distance"], expected[ends], rtol=max(far, 1e-9), atol=atol)
    everyone = dfmst.knn_edges(points, k=count, metric=metric)
    assert dfmst.minimum_spanning_forest(everyone, weight="distance").tolist() == tree.tolist()
    least = minimum_spanning_tree(np.triu(expected + 1, 1)).sum() - (count - 1)  # SciPy drops distances of 0
    assert tree["distance"].sum() == pytest.approx(least, rel=max(far, 1e-9), abs=atol * count + 1e-9)
    return tree


@pytest.mark.parametrize("kind", ["globe", "date line", "poles", "antipodes", "grid", "street"])
def test_haversine(kind):
    rng = np.random.default_rng(3)
    for count in (2, 9, 160):
        points = cloud(kind, count, rng)
        check(points, "haversine", atol=1e-7)  # a tenth of a micrometer
    points = cloud(kind, 80, rng)
    both = np.concatenate([points, points])
    assert np.count_nonzero(dfmst.points_forest(both, metric="haversine")["distance"] == 0) >= len(points)


def test_one_place_on_earth():
    """A pole has every longitude, and 180 degrees west are 180 degrees east."""
    for places in ([[90, 0], [90, 77.7], [90, -180]], [[10, 180], [10, -180]], [[-5.5, 0], [-5.5, 360], [-5.5, -360]]):
        tree = dfmst.points_forest(np.array(places, float), metric="haversine")
        assert tree["distance"].tolist() == [0.0] * (len(places) - 1)
    halves = dfmst.points_forest([[0.0, 0.0], [0.0, 180.0]], metric="haversine")["distance"].tolist()
    assert halves == [pytest.approx(np.pi * EARTH, rel=1e-15)]
    degree = dfmst.points_forest([[0.0, 0.0], [0.0, 1.0]], metric="haversine")["distance"].tolist()
    assert degree == [pytest.approx(np.pi * EARTH / 180, rel=1e-15)]


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("axes", [3, 8, 40])
def test_angles(metric, axes):
    rng = np.random.default_rng(axes)
    points = rng.normal(size=(120, axes)) * 10.0 ** rng.integers(-3, 3, (120, 1))
    check(points, metric, atol=1e-14)
    check(np.concatenate([points, points[:30] * 2, -points[:10]]), metric, atol=1e-14)
    grid = rng.integers(-2, 3, (60, axes)) * 1.0
    check(grid[grid.min(axis=1) < grid.max(axis=1)], metric, atol=1e-14)
    tiny = dfmst.points_forest(points * 2.0**-700, metric=metric)
    assert np.array_equal(tiny, dfmst.points_forest(points, metric=metric))


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
@pytest.mark.parametrize("axes", [1, 2, 3, 7, 30])
def test_sums_and_maxima(metric, axes):
    rng = np.random.default_rng(axes)
    for points in (rng.random((150, axes)), rng.integers(0, 4, (120, axes)) * 1.0):
        for min_samples in (None, 4):
            check_core(points, metric, min_samples, formula(points, metric))
        check(points, metric)


def check_core(points: np.ndarray, metric: str, min_samples: int | None, square: np.ndarray, **options: Any) -> None:
    """The forest of the table of all pairs: the same rows, whose distances are rounded in another order."""
    one, other = np.triu_indices(len(points), 1)
    weight = square[one, other]
    if min_samples:
        apart = square.copy()
        np.fill_diagonal(apart, -1)
        core = np.sort(apart, axis=1)[:, min_samples]
        weight = np.maximum(weight, np.maximum(core[one], core[other]))
    expected = dfmst.minimum_spanning_forest(
        pa.table({"source": one, "target": other, "distance": weight}), weight="distance"
    )
    tree = dfmst.points_forest(points, metric=metric, min_samples=min_samples, **options)
    assert all(np.array_equal(tree[name], expected[name]) for name in ("source", "target"))
    np.testing.assert_allclose(tree["distance"], expected["distance"].to_numpy(), rtol=1e-14)


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=30),
    st.sampled_from(["euclidean", "manhattan", "chebyshev"]),
    st.sampled_from([(4, 4), (5, 0), (0, 3), (7, 100)]),
    st.integers(0, 3),
)
@examples(120)
def test_a_periodic_box(points, metric, box, min_samples):
    array = np.array(points, float)
    difference = np.abs(array[:, None] - array)
    for axis, length in enumerate(box):
        if length:
            along = difference[:, :, axis] % length
            difference[:, :, axis] = np.minimum(along, length - along)
    norms = {"euclidean": lambda d: np.sqrt((d**2).sum(2)), "manhattan": lambda d: d.sum(2)}
    square = norms.get(metric, lambda d: d.max(2))(difference)
    check_core(array, metric, min(min_samples, len(points) - 1) or None, square, box=box)


@pytest.mark.parametrize(("count", "axes"), [(3000, 3), (300, 24)])
def test_a_box_of_many_points(count, axes):
    """Trees of a box that is rolled along its axes have the same lengths."""
    rng = np.random.default_rng(1)
    points = rng.integers(0, 1 << 20, (count, axes)) / (1 << 20)
    lengths = [
        dfmst.points_forest((points + shift) % 1, box=1.0)["distance"]
        for shift in (0, 0.5, rng.integers(0, 4, axes) / 4)
    ]
    for length in lengths[1:]:
        np.testing.assert_array_equal(np.sort(length), np.sort(lengths[0]))
    assert lengths[0].sum() < dfmst.points_forest(points)["distance"].sum()


#: Names of a longitude and of a latitude.
DEGREES = """
lon lat / lng lat / long lat / longitude latitude / LON LAT / Longitude Latitude / x y / X_COORD Y_COORD /
easting northing /
point_x point_y / xcoord ycoord / stop_lon stop_lat / pickup_longitude pickup_latitude / lonDD latDD / geo_lon geo_lat /
decimalLongitude decimalLatitude / geo.lon geo.lat / lon1 lat1 / lng2 lat2 / Long_deg Lat_deg / startLng startLat /
GPSLongitude GPSLatitude / reclong reclat / INTPTLONG INTPTLAT / XLONG XLAT / dropofflongitude dropofflatitude /
center-lng center-lat / LONGITUD LATITUD / lon_wgs84 lat_wgs84 / mean_lon_2020 mean_lat_2020 / lon_stop y_of_stop_lat /
x_start lat_of_start / lon other / other lat / trip_long trip_lat / LonDeg LatDeg / x_lon y_lat /
long_trip_lon long_trip_lat / ra dec / RA_J2000 DEC_J2000 / lon_dec lat_dec / posx posy / MAPX MAPY / geox_wgs geoy_wgs
"""
PAIRS = [tuple(pair.split()) for pair in DEGREES.split("/")]


@pytest.mark.parametrize("names", PAIRS, ids=" ".join)
def test_names_of_longitude_and_latitude(names):
    """Words in the names say which column is which, in either order; a result names what was read."""
    frame = pd.DataFrame({names[0]: [10.0, 20.0], names[1]: [60.0, 60.0]})
    for columns in (list(names), list(names[::-1]), None):
        tree = dfmst.points_forest(frame, columns, metric="haversine")
        assert tree.distance[0] == pytest.approx(555_445, abs=1)
        assert tree.attrs == {"metric": "haversine", "latitude": names[1], "longitude": names[0]}
    table = pa.Table.from_pandas(frame)
    for find in (dfmst.knn_edges, functools.partial(dfmst.hdbscan, columns=list(names), min_cluster_size=2)):
        assert find(table, metric="haversine").schema.metadata[b"latitude"].decode() == names[1]


@pytest.mark.parametrize(
    "names",
    [
        "a b",
        "latency along",
        "flat platform",
        "plate long_name",
        "long_name plate",
        "x0 x1",
        "x z",
        "y1 y2",
        "boxx toyy",
    ],
)
def test_names_that_say_nothing(names):
    """Latitude comes first, as in an array."""
    frame = pd.DataFrame([[10.0, 60.0], [20.0, 60.0]], columns=names.split())
    assert dfmst.points_forest(frame, metric="haversine").distance[0] == pytest.approx(1_111_951, abs=1)
    dfmst.points_forest(frame)  # without a warning


@pytest.mark.parametrize("names", ["lat1 lat2", "lon x", "latitude y", "start_lon end_lon", "lat_lon lat", "lat_lon b"])
def test_names_that_contradict(names):
    frame = pd.DataFrame([[10.0, 60.0], [20.0, 60.0]], columns=names.split())
    with pytest.raises(dfmst.InvalidEdgesError, match="are not those of one latitude and one longitude"):
        dfmst.points_forest(frame, metric="haversine")


def test_radians_by_their_names():
    frame = pd.DataFrame({"lat_rad": [0.1, 0.2], "lon_rad": [0.1, 0.2]})
    with pytest.raises(dfmst.InvalidEdgesError, match=r"column 'lat_rad' holds radians by its name.*\n.*under another"):
        dfmst.points_forest(frame, metric="haversine")


@pytest.mark.parametrize(
    "find",
    [
        dfmst.points_forest,
        dfmst.knn_edges,
        lambda frame, **options: dfmst.hdbscan(frame, columns=list(frame.columns), **options),
        lambda frame, **options: dfmst.condensed_tree(frame, columns=list(frame.columns), **options),
    ],
)
def test_degrees_as_plain_coordinates_draw_a_warning(find):
    frame = pd.DataFrame({"time": [1, 2, 3], "stopLat": [1.0, 2, 4], "stopLon": [3.0, 4, 9]})
    with pytest.warns(UserWarning, match="'stopLat' and 'stopLon' are read as plain coordinates") as caught:
        find(frame)
    assert [warning.filename for warning in caught] == [__file__]
    find(frame, metric="euclidean")
    find(frame[["time", "stopLat"]])


def test_columns_by_correlation():
    rng = np.random.default_rng(0)
    returns = rng.normal(size=(60, 45)) + rng.normal(size=(60, 1))
    names = [f"c{column}" for column in range(45)]
    expected = dfmst.points_forest(returns.T.copy(), metric="correlation")
    for frame in (
        pd.DataFrame(returns, columns=names),
        pl.DataFrame(returns, names),
        pa.table(dict(zip(names, returns.T, strict=True))),
    ):
        tree = dfmst.correlation_forest(frame)
        assert type(tree) is type(frame)
        plain = pa.table(tree.to_dict("list")) if isinstance(tree, pd.DataFrame) else pa.table(tree)
        assert plain["distance"].to_pylist() == expected["distance"].tolist()
        assert plain["source"].to_pylist() == [names[at] for at in expected["source"].tolist()]
    assert pd.DataFrame(returns, columns=names).mst.correlation_forest(names[:2]).target.tolist() == ["c1"]
    with pytest.raises(
        dfmst.InvalidEdgesError, match=r"column 'flat' holds equal values, which correlate with nothing"
    ):
        dfmst.correlation_forest(pd.DataFrame({"a": [1.0, 2, 4], "flat": [0.1, 0.1, 0.1]}))
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        for rows, words in ((0, "0 rows"), (1, "1 row")):
            words = f"the table has {words}, and a correlation needs two or more\n.*dfmst.correlation_forest"
            with pytest.raises(dfmst.InvalidEdgesError, match=words):
                dfmst.correlation_forest(make({name: np.arange(rows) for name in names}))
    for table, dense in ((returns, "table"), (returns.tolist(), "table"), (csr_array(returns), r"table.toarray\(\)")):
        with pytest.raises(dfmst.UnsupportedFrameError, match=rf"Hint: .*: pandas.DataFrame\({dense}\)$"):
            dfmst.correlation_forest(table)


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], {"metric": "cosine"}, "the point in row 1 is zero, and has no direction"),
        ([[0.1, 0.1], [0.1, 0.2]], {"metric": "correlation"}, "the point in row 0 has equal coordinates"),
        ([[0.0, 1.0], [91.0, 0.0]], {"metric": "haversine"}, "column 0 of the array has 1 latitudes beyond 90 degrees"),
        (
            pd.DataFrame({"lon": [52.0], "lat": [130.0]}),
            {"metric": "haversine"},
            "column 'lat' has 1 latitudes beyond 90 degrees, the first in row 0\nHint: pass degrees; if the two",
        ),
        ([[0.0, 361.0]], {"metric": "haversine"}, "column 1 of the array has 1 longitudes beyond 360 degrees"),
        ([[0.0, 1.0, 2.0]], {"metric": "haversine"}, "haversine takes two columns, latitude and longitude"),
        ([[0.0, 1.0]], {"box": [1.0]}, "box has 1 length, and the points have 2 axes"),
        ([[0.0, 1.0]], {"box": [1.0, -1.0]}, "box holds the length -1; it must be positive"),
    ],
)
def test_bad_points(points, options, message):
    for function in (dfmst.points_forest, dfmst.knn_edges):
        with pytest.raises(dfmst.InvalidEdgesError) as caught:
            function(points, **options)
        assert message in str(caught.value)


def test_bad_points_have_names():
    frame = pl.DataFrame({"name": ["a", "b", "c"], "x": [1.0, 0.0, 0.0], "y": [1.0, 0.0, 0.0]})
    with pytest.raises(dfmst.InvalidEdgesError, match=r"point 'b' in row 1 \(and 1 others\) is zero, and has no"):
        dfmst.points_forest(frame, ids="name", metric="cosine")
    with pytest.raises(ValueError, match="metric is 'l2'; it must be 'euclidean' or 'haversine' or"):
        dfmst.points_forest(frame, ids="name", metric="l2")
    with pytest.raises(ValueError, match="a box is for the metrics 'euclidean', 'manhattan', 'chebyshev'"):
        dfmst.points_forest(frame, ids="name", metric="cosine", box=1)


def test_neighbors_and_clusters():
    """The other functions of points take the metrics, too."""
    rng = np.random.default_rng(0)
    points = np.concatenate([cloud("globe", 30, rng) * 0.01, cloud("globe", 30, rng) * 0.01 + [50, 100]])
    near, exact = dfmst.knn_edges(points, k=3, metric="haversine", return_exact=True)
    assert not exact
    assert near["distance"].max() < 200_000
    labels = dfmst.hdbscan(points, metric="haversine", min_cluster_size=10)["label"].tolist()
    assert (labels[0], labels[59]) == (0, 1)
    sklearn = pytest.importorskip("dfmst.sklearn")
    estimator = sklearn.SingleLinkage(n_clusters=2, metric="haversine")
    assert estimator.fit_predict(points).tolist() == [0] * 30 + [1] * 30
    frame = pd.DataFrame({"stop_lon": points[:, 1], "stop_lat": points[:, 0]})
    distances = estimator.distances_
    np.testing.assert_array_equal(estimator.fit(frame).distances_, distances)
    with pytest.warns(UserWarning, match="are read as plain coordinates"):
        sklearn.SingleLinkage().fit(frame)


def test_matrices_are_no_points():
    """Correlations and distances of all pairs are refused; honest tables are not."""
    returns = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 5)), columns=list("ABCDE"))
    corr = returns.corr()
    for table in (corr, pl.from_pandas(corr), pa.Table.from_pandas(corr, preserve_index=False), corr.round(3)):
        with pytest.raises(
            dfmst.InvalidEdgesError, match=r"ones on its diagonal[^\n]*\nHint.*from_matrix\(table, dist"
        ):
            dfmst.correlation_forest(table)
    single = np.corrcoef(returns.T.astype(np.float32), dtype=np.float32)
    for part in (single, single * (1 - np.float32(2e-7)), corr - np.eye(5)):  # rounded, and without its diagonal
        with pytest.raises(dfmst.InvalidEdgesError, match="correlations, and no observations"):
            dfmst.correlation_forest(pd.DataFrame(part))
    for distances in (1 - corr, np.sqrt(2 * (1 - corr).abs())):
        with pytest.raises(dfmst.InvalidEdgesError, match="matrix of zero diagonal"):
            dfmst.correlation_forest(distances)
    for columns, table in ((["A", "C"], corr), (list("ABCDE"), corr.reset_index())):
        with pytest.raises(dfmst.InvalidEdgesError, match="correlations, and no observations"):
            dfmst.correlation_forest(table, columns)
    with pytest.raises(dfmst.InvalidEdgesError, match="correlations, and no observations"):
        dfmst.points_forest(corr.to_numpy(), metric="correlation")
    square = cdist(returns, returns)
    for find in (dfmst.points_forest, dfmst.knn_edges, dfmst.hdbscan, dfmst.condensed_tree):
        with pytest.raises(
            dfmst.InvalidEdgesError, match=r"matrix of zero diagonal[^\n]*\nHint.*from_matrix\(matrix\)"
        ):
            find(square)
    with pytest.raises(dfmst.InvalidEdgesError, match="matrix of zero diagonal"):
        dfmst.points_forest(pd.DataFrame(square).assign(name=range(30)), ids="name")
    for metric in ("euclidean", "cosine", "correlation"):  # as the hint says
        assert len(dfmst.points_forest(square[:, ::-1], metric=metric)) == 29
    for honest in (returns[:5].to_numpy(), np.zeros((4, 4)), np.eye(4)):
        assert len(dfmst.points_forest(honest)) == len(honest) - 1
    assert len(dfmst.points_forest(np.eye(4), metric="correlation")) == 3
    assert len(dfmst.correlation_forest(returns[:5])) == 4
