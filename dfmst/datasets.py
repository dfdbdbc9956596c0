"""Tables to try functions on: the world's cities, and links between them.

Every city of more than 15,000 people, from GeoNames (https://www.geonames.org, CC BY 4.0). The commands read the same
files as ``demo:points`` and ``demo:cities``.

Examples
--------
>>> import dfmst
>>> links = dfmst.datasets.links().to_pandas()
>>> swiss = links[(links.source_country == "CH") & (links.target_country == "CH")]
>>> dfmst.minimum_spanning_forest(swiss, weight="km").nlargest(2, "km")[["source", "target", "km"]].values.tolist()
[['Chur, CH', 'Herisau, CH', 62.65], ['Olten, CH', 'Solothurn, CH', 31.82]]
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dfmst.errors import DfmstError

__all__ = ["cities", "links", "path"]

_FILES = {"cities": "city_points.parquet", "links": "cities.parquet"}


def cities() -> pa.Table:
    """Return the world's cities: ``city``, a name of its own, ``lon`` and ``lat``.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.datasets.cities().column_names
    ['city', 'lon', 'lat']
    """
    return pq.read_table(path("cities"))


def links() -> pa.Table:
    """Return links from each city to its nearest neighbors: ``source``, ``target``, ``km``, countries, populations.

    Examples
    --------
    >>> import dfmst
    >>> len(dfmst.datasets.links())
    170522
    """
    return pq.read_table(path("links"))


def path(name: str) -> Path:
    """Return the Parquet file of ``"cities"`` or ``"links"``.

    Raises
    ------
    DfmstError
        The name is unknown, or the file is missing.
    """
    if name not in _FILES:
        raise DfmstError(f"there is no dataset {name!r}", f"choose {' or '.join(map(repr, _FILES))}")
    package = Path(__file__).parent
    # An editable installation reads the files of the source tree.
    places = [folder / _FILES[name] for folder in (package / "data", package.parent / "examples" / "data")]
    for place in places:
        if place.is_file():
            return place
    raise DfmstError(f"the demo data is missing: {places[0]}", "install dfmst again")
