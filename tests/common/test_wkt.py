"""Geometries as text: WKB of all kinds, and columns of GeoParquet and GeoArrow in files of text."""

from __future__ import annotations

import csv
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst._common.records import wkt
from dfmst.errors import OutputError
from dfmst.formats import write_edges


def wkb(kind: int, body: bytes = b"", order: str = "<", prefix: bytes = b"") -> bytes:
    return bytes([order == "<"]) + struct.pack(f"{order}I", kind) + prefix + body


def places(*values: float, order: str = "<", count: int | None = None) -> bytes:
    head = b"" if count is None else struct.pack(f"{order}I", count)
    return head + struct.pack(f"{order}{len(values)}d", *values)


def several(*parts: bytes) -> bytes:
    return struct.pack("<I", len(parts)) + b"".join(parts)


POINT = wkb(1, places(1, 2))
LINE = wkb(2, places(0, 0, 1.5, 1e-9, count=2))
POLYGON = wkb(3, several(places(0, 0, 4, 0, 0, 4, 0, 0, count=4), places(1, 1, 2, 1, 1, 2, 1, 1, count=4)))
TEXTS = {
    POINT: "POINT (1 2)",
    wkb(1, places(-1, 1e300, order=">"), ">"): "POINT (-1 1e+300)",
    wkb(1, places(np.nan, np.nan)): "POINT EMPTY",
    wkb(0x20000001, places(1, 2), prefix=struct.pack("<I", 4326)): "POINT (1 2)",
    wkb(1001, places(1, 2, 3)): "POINT Z (1 2 3)",
    wkb(0x80000001, places(1, 2, 3)): "POINT Z (1 2 3)",
    wkb(2001, places(1, 2, 3)): "POINT M (1 2 3)",
    wkb(3001, places(1, 2, 3, 4)): "POINT ZM (1 2 3 4)",
    LINE: "LINESTRING (0 0, 1.5 1e-09)",
    wkb(2, places(count=0)): "LINESTRING EMPTY",
    POLYGON: "POLYGON ((0 0, 4 0, 0 4, 0 0), (1 1, 2 1, 1 2, 1 1))",
    wkb(4, several(POINT, POINT)): "MULTIPOINT ((1 2), (1 2))",
    wkb(5, several(LINE)): "MULTILINESTRING ((0 0, 1.5 1e-09))",
    wkb(6, several(POLYGON)): "MULTIPOLYGON (((0 0, 4 0, 0 4, 0 0), (1 1, 2 1, 1 2, 1 1)))",
    wkb(7, several(POINT, LINE)): "GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (0 0, 1.5 1e-09))",
    wkb(7, several()): "GEOMETRYCOLLECTION EMPTY",
}
BROKEN = [b"", b"\x01", POINT[:-1], POINT + b"\x00", wkb(8, places(1, 2)), wkb(2, places(1, 2, count=4_000_000_000))]
BROKEN.append(wkb(7, struct.pack("<I", 1)) * 100_000)


@pytest.mark.parametrize("data", TEXTS)
def test_every_kind(data):
    assert wkt(data) == TEXTS[data]
    shapely = pytest.importorskip("shapely")
    text, binary = shapely.from_wkt(wkt(data)), shapely.from_wkb(data)
    assert text.equals(binary) or (text.is_empty and binary.is_empty)


def roads(lines: list[Any], **marks: Any) -> pa.Table:
    count = len(lines)
    table = pa.table({"source": range(count), "target": range(1, count + 1), "weight": [1.5] * count, "way": lines})
    if "geo" in marks:
        return table.replace_schema_metadata({"geo": json.dumps(marks["geo"])})
    field = pa.field("way", pa.binary(), metadata={"ARROW:extension:name": marks["extension"]})
    return table.cast(table.schema.set(3, field))


MARKS: list[dict[str, Any]] = [
    {"geo": {"primary_column": "way", "columns": {"way": {"encoding": "WKB"}}}},
    {"extension": "geoarrow.wkb"},
]


@pytest.mark.parametrize("marks", MARKS, ids=["GeoParquet", "GeoArrow"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_text_files(tmp_path, marks, suffix):
    forest = dfmst.minimum_spanning_forest(roads([LINE, None, POINT], **marks))
    write_edges(forest, tmp_path / f"forest.{suffix}")
    with (tmp_path / f"forest.{suffix}").open(newline="") as file:
        rows = list(csv.reader(file, delimiter="," if suffix == "csv" else "\t"))
    assert [row[3] for row in rows] == ["way", TEXTS[LINE], "", TEXTS[POINT]]


@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_bytes_that_are_no_geometry_are_refused(tmp_path, data):
    with pytest.raises(OutputError, match=r"column 'way' holds bytes that are not WKB(?s:.*)write Parquet"):
        write_edges(roads([LINE, data], **MARKS[0]), tmp_path / "forest.csv")
    assert not list(tmp_path.iterdir())


def test_a_forest_of_geopandas(tmp_path):
    geopandas = pytest.importorskip("geopandas")
    frame = roads([LINE, LINE], extension="x").to_pandas()
    frame = geopandas.GeoDataFrame(frame, geometry=geopandas.GeoSeries.from_wkb(frame.pop("way")), crs=4326)
    solution = dfmst.forest.solve(frame)
    solution.write(tmp_path / "forest.csv")
    assert Path(tmp_path / "forest.csv").read_text().count(TEXTS[LINE]) == 2
    page = dfmst.report(frame).html
    assert "The forest on the map" in page
    assert "LINESTRING" not in page
