"""A network to which lines are added: some are built (`keep=`), some may not be (`drop=`), the rest should be short."""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import pandas as pd
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install pandas")


import dfmst


def read_lines() -> pd.DataFrame:
    """Links between Germany's cities, of the table that `dfmst demo` runs on."""
    links: pd.DataFrame = dfmst.datasets.links().to_pandas()
    return links[(links.source_country == "DE") & (links.target_country == "DE")].reset_index(drop=True)


def main(folder: Path) -> pd.DataFrame:
    folder.mkdir(parents=True, exist_ok=True)
    lines = read_lines()
    large = (lines.source_population > 200_000) & (lines.target_population > 100_000)
    built = dfmst.maximum_spanning_forest(lines[large], weight="km").index  # what stands, however long it is
    lines["built"] = lines.index.isin(built)
    lines["closed"] = ~lines.built & lines.km.between(3.0, 3.4)  # a river, say

    free = dfmst.minimum_spanning_forest(lines, weight="km")
    plan = dfmst.minimum_spanning_forest(lines, weight="km", keep="built", drop="closed")
    certificate = dfmst.verify(lines, plan, weight="km", keep="built", drop="closed")
    print(certificate)
    new = plan[~plan.built]
    print(f"{len(built)} lines stand; {len(new):,} new ones of {new.km.sum():,.1f} km join all that can be joined")
    print(f"on a green field: {len(free):,} lines of {free.km.sum():,.1f} km; this network: {plan.km.sum():,.1f} km")

    way = dfmst.path(plan, weight="km", start="Hamburg, DE", stop="Munich, DE")
    print(f"Hamburg to Munich: {len(way)} lines, the longest of {way.km.max()} km")
    new.to_csv(folder / "network_planning.csv", index=False)
    return plan


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
