"""The demo's data, which are inputs of every command as ``demo:cities`` and ``demo:points``."""

from __future__ import annotations

from pathlib import Path

from dfmst.errors import DfmstError

__all__ = ["DEMO", "demo_path", "is_demo"]

#: What stands before the name of a file of the demo's.
DEMO = "demo:"

_FILES = {"cities": "cities.parquet", "points": "city_points.parquet"}


def is_demo(name: str) -> bool:
    """Say whether a name is one of the demo's files, and not that of a file here."""
    return name.startswith(DEMO) and not Path(name).exists()


def demo_path(name: str) -> Path:
    """Return where a file of the demo's lies: the links between the world's cities, or the cities' coordinates."""
    known = name.removeprefix(DEMO)
    if known not in _FILES:
        raise DfmstError(f"there is no {name}", f"there are {' and '.join(DEMO + one for one in _FILES)}")
    package = Path(__file__).parents[1]
    # Beside the package in a source tree, where an editable installation reads it.
    places = [folder / _FILES[known] for folder in (package / "data", package.parent / "examples" / "data")]
    for place in places:
        if place.is_file():
            return place
    raise DfmstError(f"the demo data is missing: {places[0]}", "install dfmst again")
