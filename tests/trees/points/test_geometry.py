"""Points and lines of GeoPandas, GeoParquet and GeoArrow."""

from __future__ import annotations

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
        cells = [wkb(1, [tuple(PLACES[0])]), wkb(1, [tuple(PLACES[1])], ">"), wkb(1001, [(*PLACES[2], 7.0)])]
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
    assert tree["distance"].equals(EXPECTED["distance"])
    assert tree["source"].to_pylist() == [NAMES[row] for row in EXPECTED["source"].to_pylist()]
    arcs = dfmst.points_forest(table.slice(1), names, ids="town", metric="haversine")["distance"].to_pylist()
    assert arcs == dfmst.points_forest(PLACES[1:, ::-1], metric="haversine")["distance"].to_pylist()


def test_geometries_that_are_no_points():
    line = wkb(2, [(0.0, 0.0), (1.0, 1.0)])
    for cells, row in (([wkb(1, [(0.0, 0.0)]), line], 1), ([None, line], 0), ([b"", line], 0)):
        with pytest.raises(dfmst.InvalidEdgesError, match=f"geometries other than points, the first in row {row}"):
            dfmst.points_forest(pa.table({"place": pa.array(cells, pa.binary())}), "place")


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
    for frame in (towns, pa.table(towns.to_arrow()), pa.table(towns.to_arrow(geometry_encoding="geoarrow"))):
        tree = dfmst.euclidean_forest(frame, ids="town")
        assert isinstance(tree, pa.Table if isinstance(frame, pa.Table) else pd.DataFrame)
        assert np.asarray(tree["distance"]).tolist() == EXPECTED["distance"].to_pylist()
    file = io.BytesIO()
    towns.to_parquet(file)
    stored = pq.read_table(file)
    assert dfmst.knn_edges(stored, ids="town", k=1, metric="haversine").num_rows == 3
    assert dfmst.hdbscan(stored, "town", columns="geometry", min_cluster_size=2).num_rows == 4
    edges, ways = lines()
    roads = geopandas.GeoDataFrame(edges, geometry=[geopandas.GeoSeries.from_wkb([wkb(2, way)])[0] for way in ways])
    expected = dfmst.report(edges, "a", "b", "km", points=towns.assign(id=range(4)), id="id").html
    assert "The forest on the map" in expected
    assert "The forest on the map" in dfmst.report(roads, "a", "b", "km").html


@pytest.mark.parametrize("begin", [0, 1, 3])
@pytest.mark.parametrize("form", ["wkb", "list"])
def test_all_positions_of_lines(form, begin):
    from dfmst._trees.points.geometry import read_lines

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
