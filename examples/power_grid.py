"""A power grid in stages: what stands is kept (`keep=`), lakes are crossed by no line (`drop=`), the rest costs least.

A line costs more in the mountains. Each stage keeps what the one before it built. At the end a second forest gives the
grid rings, and `bridges` lists the lines whose loss would still cut places off.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

try:
    import pandas as pd
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install pandas")


import dfmst

TOWNS, FARMS = 400, 60  # substations of towns, and wind farms


def draw_places(rng: np.random.Generator) -> pd.DataFrame:
    """Substations and wind farms, none in the lake; farms are joined in the second stage."""
    place = pd.DataFrame(rng.random((2 * (TOWNS + FARMS), 2)) * 200, columns=["x", "y"])
    names = [*(f"town {number}" for number in range(TOWNS)), *(f"farm {number}" for number in range(FARMS))]
    return place[~in_lake(place)].head(len(names)).assign(name=names)


def in_lake(place: pd.DataFrame) -> pd.Series:
    """Whether places are in a lake of 12 by 70 km."""
    return ((place.x - 140) / 6) ** 2 + ((place.y - 100) / 35) ** 2 < 1


def candidate_lines(places: pd.DataFrame) -> pd.DataFrame:
    """Lines that could be built: from each place to its ten nearest ones, with their costs in millions."""
    lines = dfmst.knn_edges(places, ["x", "y"], k=10)
    ends = [places.iloc[lines[end]].reset_index(drop=True) for end in ("source", "target")]
    middle = (ends[0][["x", "y"]] + ends[1][["x", "y"]]) / 2
    mountains = np.exp(-(((middle.x - 60) / 35) ** 2))  # a range from south to north
    return pd.DataFrame(
        {
            "source": ends[0].name,
            "target": ends[1].name,
            "km": lines.distance.round(2),
            "cost": (lines.distance * (0.8 + 1.6 * mountains)).round(2),
            "lake": in_lake(middle),
        }
    )


def main(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(17)
    lines = candidate_lines(draw_places(rng))
    farms = lines.source.str.startswith("farm") | lines.target.str.startswith("farm")

    # What stands was built for other reasons: by length, and without some of the lines.
    standing = dfmst.minimum_spanning_forest(lines[~farms & ~lines.lake], weight="km").sample(frac=0.6, random_state=1)
    lines["built"] = lines.index.isin(standing.index)

    stages = {"towns": ~farms, "wind farms": np.ones(len(lines), bool)}
    for stage, open_to_it in stages.items():
        grid = dfmst.minimum_spanning_forest(lines[open_to_it], weight="cost", keep="built", drop="lake")
        dfmst.verify(lines[open_to_it], grid, weight="cost", keep="built", drop="lake")
        new = grid[~grid.built]
        print(f"{stage}: {len(new)} new lines, {new.km.sum():,.0f} km, {new.cost.sum():,.0f} million")
        lines.loc[new.index, "built"] = True
    at_once = dfmst.minimum_spanning_forest(lines, weight="cost", drop="lake")
    print(f"the grid costs {lines.cost[lines.built].sum():,.0f} million, one from scratch {at_once.cost.sum():,.0f}")

    rest = lines[~lines.built & ~lines.lake]
    rings = dfmst.minimum_spanning_forest(rest, weight="cost")
    lines["ring"] = lines.index.isin(rings.index)
    cut = dfmst.bridges(lines[lines.built | lines.ring])
    print(f"{len(rings)} lines more, for {rings.cost.sum():,.0f} million, leave {len(cut)} lines without another way")
    lines[lines.built | lines.ring].to_csv(folder / "power_grid.csv", index=False)
    return lines, cut


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
