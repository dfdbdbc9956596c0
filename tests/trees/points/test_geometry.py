"""Points and lines of GeoPandas, GeoParquet and GeoArrow."""

from __future__ import annotations

import functools
import io
import json
import struct
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dfmst

PLACES = np.array([[6.95, 50.94], [7.1, 50.73], [6.08, 50.78], [9.99, 48.4]])
NAMES = ["Köln", "Bonn", "Aachen", "Ulm"]
EXPECTED = dfmst.points_forest(PLACES)


def wkb(kind: int, positions: list[tuple[float, ...]], order: str = "<", system: bool = False) -> bytes:
    head = struct.pack(f"{order}BI", order == "<", kind | 0x20000000 * system)
    head += struct.pack(f"{order}I", 4326) if system else b""
    head += b"" if kind % 1000 == 1 else struct.pack(f"{order}I", len(positions))
    return head + b"".join(struct.pack(f"{order}{len(place)}d", *place) for place in positions)


def column(form: str) -> pa.Array:
    x, y = PLACES.T
    if form == "wkb":
        cells = [wkb(1, [tuple(PLACES[0])]), wkb(1, [tuple(PLACES[1])], ">"), wkb(2001, [(*PLACES[2], 7.0)])]
        return pa.array([*cells, wkb(1, [tuple(PLACES[3])], system=True)])
    if form == "struct":
        return pa.StructArray.from_arrays([pa.array(x), pa.array(y)], ["x", "y"])
    return pa.FixedSizeListArray.from_arrays(pa.array(PLACES.reshape(-1)), 2)


@pytest.mark.parametrize("form", ["wkb", "struct", "list"])
@pytest.mark.parametrize("said", ["geoparquet", "geoarrow", "columns"])
def test_arrow(form, said):
    table = pa.table({"town": NAMES, "place": column(form)})
    if said == "geoparquet":
        table = table.replace_schema_metadata({"geo": json.dumps({"primary_column": "place"})})
    elif said == "geoarrow":
        field = table.schema.field("place").with_metadata({"ARROW:extension:name": "geoarrow.point"})
        table = table.cast(pa.schema([table.schema.field("town"), field]))
    names = "place" if said == "columns" else None
    tree = dfmst.points_forest(table, names, ids="town")
    assert np.array_equal(tree["distance"], EXPECTED["distance"])
    assert tree["source"].to_pylist() == [NAMES[row] for row in EXPECTED["source"].tolist()]
    arcs = dfmst.points_forest(table.slice(1), names, ids="town", metric="haversine")["distance"].to_pylist()
    assert arcs == dfmst.points_forest(PLACES[1:, ::-1], metric="haversine")["distance"].tolist()


def test_geometries_that_are_no_points():
    line = wkb(2, [(0.0, 0.0), (1.0, 1.0)])
    for cells, row in (([wkb(1, [(0.0, 0.0)]), line], 1), ([None, line], 0), ([b"", line], 0)):
        with pytest.raises(dfmst.InvalidEdgesError, match=f"geometries other than points, the first in row {row}"):
            dfmst.points_forest(pa.table({"place": pa.array(cells, pa.binary())}), "place")


def in_forms(geometries: Any) -> list[tuple[Any, Any]]:
    """A column of geometries in each form that says its reference system, and the columns to name."""
    frame = geometries.to_frame("place")
    forms = [(geometries, None), (geometries.values, None), (frame, None), (pd.DataFrame(frame), "place")]
    forms += [(pa.table(frame.to_arrow(geometry_encoding=form)), None) for form in ("wkb", "geoarrow")]
    file = io.BytesIO()
    frame.to_parquet(file)
    return [*forms, (pq.read_table(file), None)]


def test_reference_systems():
    """Degrees are compared on the earth, and what is projected is not: by default, and if the metric is named."""
    geopandas = pytest.importorskip("geopandas")
    places = geopandas.GeoSeries(geopandas.points_from_xy(*PLACES.T), crs=4326)
    arcs = dfmst.points_forest(PLACES[:, ::-1], metric="haversine")["distance"].tolist()
    for system in (4326, 4979, "OGC:CRS84"):
        for points, columns in in_forms(places.set_crs(system, allow_override=True)):
            tree = dfmst.points_forest(points, columns)
            assert np.asarray(tree["distance"]).tolist() == arcs
            plain = dfmst.points_forest(points, columns, metric="euclidean")
            assert np.asarray(plain["distance"]).tolist() == EXPECTED["distance"].tolist()
            assert not np.asarray(dfmst.knn_edges(points, columns, k=1)["distance"]).max() < 1000
    with pytest.raises(dfmst.InvalidEdgesError, match="is not in degrees"):
        dfmst.points_forest(places.to_crs(4807), metric="haversine")  # in grads
    meters = places.to_crs(25832)
    expected = dfmst.points_forest(np.stack([meters.x, meters.y], axis=1))["distance"].tolist()
    for points, columns in in_forms(meters):
        assert np.asarray(dfmst.points_forest(points, columns)["distance"]).tolist() == expected
        for find in (dfmst.points_forest, dfmst.knn_edges):
            with pytest.raises(
                dfmst.InvalidEdgesError, match="the reference system of the geometries is not in degrees"
            ):
                find(points, columns, metric="haversine")
    for points, columns in in_forms(places.set_crs(None, allow_override=True)):
        tree = dfmst.points_forest(points, columns)
        assert np.asarray(tree["distance"]).tolist() == EXPECTED["distance"].tolist()
        assert np.asarray(dfmst.points_forest(points, columns, metric="haversine")["distance"]).tolist() == arcs


@pytest.mark.parametrize(
    ("system", "degrees"),
    [
        ("EPSG:4326", True),
        ("ogc:crs84", True),
        ("EPSG:32632", False),
        ('GEOGCRS["WGS 84"]', True),
        ('PROJCS["local"]', False),
        ({"type": "GeographicCRS"}, True),
        ({"type": "ProjectedCRS"}, False),
        ({"type": "GeographicCRS", "coordinate_system": {"axis": [{"unit": "degree"}]}}, True),
        ({"type": "GeographicCRS", "coordinate_system": {"axis": [{"unit": {"name": "grad"}}]}}, False),
        ('GEOGCRS["NTF (Paris)",CS[ellipsoidal,2],ANGLEUNIT["grad",0.01570796326794897]]', False),
        ({"type": "BoundCRS", "source_crs": {"type": "GeographicCRS"}}, True),
        ({"type": "CompoundCRS", "components": [{"type": "ProjectedCRS"}, {"type": "VerticalCRS"}]}, False),
        ("a mystery", None),
        (None, None),
    ],
)
def test_words_for_reference_systems(system, degrees):
    if system == "EPSG:32632":
        pytest.importorskip("pyproj")
    metadata = {"ARROW:extension:name": "geoarrow.point", "ARROW:extension:metadata": json.dumps({"crs": system})}
    field = pa.field("place", column("struct").type, metadata=metadata)
    table = pa.table([column("struct")], schema=pa.schema([field]))
    tree = dfmst.points_forest(table)
    assert (tree["distance"].to_pylist() != EXPECTED["distance"].tolist()) == (degrees is True)
    if degrees is False:
        with pytest.raises(dfmst.InvalidEdgesError, match="is not in degrees"):
            dfmst.points_forest(table, metric="haversine")


def test_heights():
    """Z is a coordinate of Euclid's distance; haversine refuses it, and all points have it or none."""
    geopandas = pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    high = geopandas.GeoSeries([shapely.Point(0, 0, 0), shapely.Point(0, 0, 100), shapely.Point(0, 3, 104)])
    for points, columns in in_forms(high.set_crs(25832)):
        assert np.asarray(dfmst.points_forest(points, columns)["distance"]).tolist() == [100.0, 5.0]
    for points, columns in in_forms(high.set_crs(4326)):
        with pytest.raises(
            dfmst.InvalidEdgesError, match=r"the points have 3\nHint: drop the heights: frame.geometry.force_2d"
        ) as caught:
            dfmst.points_forest(points, columns)
        assert caught.value.hint.replace(*caught.value.option or ()).endswith("or pass --metric euclidean")
        assert np.asarray(dfmst.points_forest(points, columns, metric="euclidean")["distance"]).tolist() == [100.0, 5.0]
    flat = high.set_crs(4326).to_frame("place").geometry.force_2d()  # as the hint says: it is still in degrees
    assert dfmst.points_forest(flat)["distance"].max() > 300_000
    mixed = geopandas.GeoSeries([shapely.Point(0, 0, 0), shapely.Point(0, 0), shapely.Point(0, 9)])
    with pytest.raises(dfmst.InvalidEdgesError, match=r"2 points without a height \(Z\), the first in row 1"):
        dfmst.points_forest(mixed)
    for kind in ("wkb", "geoarrow"):
        high = pa.array([wkb(1001, [(0, 0, np.inf)]), wkb(1001, [(0, 0, 1)])])
        high = high if kind == "wkb" else pa.array([{"x": 0.0, "y": 0.0, "z": -np.inf}, {"x": 1.0, "y": 0.0, "z": 1.0}])
        with pytest.raises(dfmst.InvalidEdgesError, match="1 point with a coordinate that is NaN or infinite"):
            dfmst.points_forest(pa.table({"place": high}), "place")
    four = pa.table({"place": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(8.0)), 4)})
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'place' holds lists of four numbers"):
        dfmst.points_forest(four, "place")


def test_objects_of_shapely():
    """A column, a series or a list of points is read; what is no point is named."""
    shapely = pytest.importorskip("shapely")
    points = [shapely.Point(place) for place in PLACES]
    frame = pd.DataFrame({"town": NAMES, "place": points})
    polars = pytest.importorskip("polars")
    for table in (frame, polars.DataFrame({"town": NAMES, "place": polars.Series(points, dtype=polars.Object)})):
        tree = dfmst.points_forest(table, "place", ids="town")
        assert np.asarray(tree["distance"]).tolist() == EXPECTED["distance"].tolist()
    for values in (points, tuple(points), np.array(points), frame["place"]):
        assert np.array_equal(dfmst.points_forest(values)["distance"], EXPECTED["distance"])
    area = points[0].buffer(1)
    for value, form in (
        (None, "other than points, the first in row 2: a missing one"),
        (float("nan"), "other than points, the first in row 2: a missing one"),
        (shapely.Point(), "the first in row 2: an empty point"),
        (shapely.LineString(PLACES), "the first in row 2: a line\nHint: fill or remove those rows, or take centroids"),
        (shapely.Point(0, np.inf), "has 1 point with a coordinate that is NaN or infinite, the first in row 2"),
        (shapely.Point(np.nan, 0), "has 1 point with a coordinate that is NaN or infinite, the first in row 2"),
        (area, "the first in row 2: a polygon"),
        ("Ulm", "1 values that are not geometries, the first in row 2"),
    ):
        with pytest.raises(dfmst.InvalidEdgesError, match=form):
            dfmst.points_forest(frame.assign(place=pd.Series([*points[:2], value, points[3]], dtype=object)), "place")
    with pytest.raises(dfmst.InvalidEdgesError, match="1 values that are not geometries, the first in row 0"):
        dfmst.points_forest(pd.Series(["Ulm", *points]))


def lines() -> tuple[pd.DataFrame, list[list[tuple[float, ...]]]]:
    edges = pd.DataFrame({"a": [0, 1, 2], "b": [1, 2, 3], "km": [26.0, 75.0, 380.0]})
    return edges, [[tuple(PLACES[a]), (8.0, 50.0), tuple(PLACES[b])] for a, b in zip(edges.a, edges.b, strict=True)]


@pytest.mark.parametrize("form", ["wkb", "list"])
def test_a_table_of_lines_draws_its_map(form):
    edges, ways = lines()
    cells = [wkb(2, way, order) for way, order in zip(ways, "<><", strict=True)]
    geometry = pa.array(cells) if form == "wkb" else pa.array([[{"x": x, "y": y} for x, y in way] for way in ways])
    table = pa.Table.from_pandas(edges).append_column("way", geometry)
    table = table.replace_schema_metadata({"geo": json.dumps({"primary_column": "way"})})
    page = dfmst.report(table, "a", "b", "km").html
    assert "The forest on the map" in page
    points = pd.DataFrame({"id": range(4), "lon": PLACES[:, 0], "lat": PLACES[:, 1]})
    expected = dfmst.report(edges, "a", "b", "km", points=points, coordinates=("lon", "lat")).html
    begin, end = "The forest on the map", "</svg>"
    assert page.split(begin)[1].split(end)[0] == expected.split(begin)[1].split(end)[0]
    points_only = table.set_column(3, "way", pa.array([wkb(1, [(0.0, 0.0)])] * 3))
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'way' holds no lines"):
        dfmst.report(points_only, "a", "b", "km", coordinates="way")


def test_geopandas():
    geopandas = pytest.importorskip("geopandas")
    towns = geopandas.GeoDataFrame({"town": NAMES}, geometry=geopandas.points_from_xy(*PLACES.T), crs=4326)
    tree = dfmst.euclidean_forest(towns, ids="town")
    assert tree["distance"].tolist() == EXPECTED["distance"].tolist()
    assert (type(tree), tree.crs) == (geopandas.GeoDataFrame, towns.crs)
    place = towns.set_index("town").geometry
    for find in (dfmst.points_forest, functools.partial(dfmst.knn_edges, k=2)):
        edges = find(towns.set_index("town"), ids="town")
        assert edges.attrs == find(pd.DataFrame(towns), "geometry", ids="town").attrs
        for row in edges.itertuples():
            assert [*row.geometry.coords] == [*place[row.source].coords, *place[row.target].coords]
    assert set(find(towns.assign(land=1), ids=["town", "land"]).geom_type) == {"LineString"}
    plain = dfmst.points_forest(towns.assign(x=range(4)), ["x"])
    assert plain.columns.tolist() == ["source", "target", "distance"]  # other coordinates than the geometries'
    file = io.BytesIO()
    towns.to_parquet(file)
    stored = pq.read_table(file)
    assert dfmst.knn_edges(stored, ids="town", k=1, metric="haversine").num_rows == 3
    assert dfmst.hdbscan(stored, "town", columns="geometry", min_cluster_size=2).num_rows == 4
    edges, ways = lines()
    roads = geopandas.GeoDataFrame(edges, geometry=[geopandas.GeoSeries.from_wkb([wkb(2, way)])[0] for way in ways])
    expected = dfmst.report(edges, "a", "b", "km", points=towns.assign(id=range(4)), ids="id").html
    assert "The forest on the map" in expected
    assert "The forest on the map" in dfmst.report(roads, "a", "b", "km").html


@pytest.mark.parametrize("begin", [0, 1, 3])
@pytest.mark.parametrize("form", ["wkb", "list"])
def test_all_positions_of_lines(form, begin):
    from dfmst._trees.points.read import read_lines

    ways: list[Any] = [[(1.0, 2.0), (3.0, 4.0)], [], None, [(5.0, 6.0), (7.0, 8.0), (9.0, 10.0)], [(11.0, 12.0)]]
    if form == "wkb":
        cells = [None if way is None else wkb(2, way, order) for way, order in zip(ways, "<<<><", strict=True)]
        cells[3] = wkb(1002, [(*place, -1.0) for place in ways[3]], ">", system=True)
        column = pa.array([*cells, wkb(1, [(0.0, 0.0)]), b"\x01"], pa.binary())
    else:
        pair = pa.struct([("x", pa.float64()), ("y", pa.float64())])
        column = pa.array([way and [{"x": x, "y": y} for x, y in way] for way in ways], pa.list_(pair))
    found = read_lines(pa.chunked_array([column[begin:]]), "way")
    assert len(found.offset) == len(column) - begin + 1
    rows = [slice(*ends) for ends in zip(found.offset[:-1].tolist(), found.offset[1:].tolist(), strict=True)]
    places = [list(zip(found.x[row].tolist(), found.y[row].tolist(), strict=True)) for row in rows]
    assert places == [way or [] for way in [*ways, None, None][begin : len(column)]]
