"""Rolling correlation trees: a forest for every window of a time series, all in one call (`by=`).

The shorter the tree, the more the series move together. Here a common shock comes halfway.
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import matplotlib
    import polars as pl
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install matplotlib polars")

import numpy as np

import dfmst

matplotlib.use("Agg")
from matplotlib import pyplot

SERIES, DAYS, WINDOW, STEP = 40, 750, 60, 5


def draw_returns() -> np.ndarray:
    """Daily returns of 40 series in four groups; a common factor rules days 350 to 450."""
    rng = np.random.default_rng(7)
    group, common = rng.normal(size=(DAYS, 4)), rng.normal(size=(DAYS, 1))
    shock = np.zeros((DAYS, 1))
    shock[350:450] = 2
    return rng.normal(size=(DAYS, SERIES)) + np.repeat(group, SERIES // 4, axis=1) + shock * common


def window_edges(returns: np.ndarray) -> pl.DataFrame:
    """The distance of every two series in every window: the root of 2 (1 - correlation)."""
    source, target = np.triu_indices(SERIES, 1)
    tables = []
    for first in range(0, DAYS - WINDOW + 1, STEP):
        correlation = np.corrcoef(returns[first : first + WINDOW].T)[source, target]
        distance = np.sqrt(np.maximum(0, 2 * (1 - correlation)))
        tables.append(
            pl.DataFrame({"window": first + WINDOW, "source": source, "target": target, "distance": distance})
        )
    return pl.concat(tables)


def main(folder: Path) -> pl.DataFrame:
    folder.mkdir(parents=True, exist_ok=True)
    edges = window_edges(draw_returns())
    trees = dfmst.minimum_spanning_forest(edges, weight="distance", by="window")
    length = trees.group_by("window").agg(pl.col("distance").mean().alias("length")).sort("window")
    print(f"{edges.height:,} edges in {length.height} windows; {trees.height:,} rows in the trees")

    _, axes = pyplot.subplots(figsize=(9, 3))
    axes.plot(length["window"], length["length"])
    axes.set(xlabel="last day of the window", ylabel="mean edge of the tree", title="Series that move together")
    pyplot.savefig(folder / "correlation_trees.png", dpi=100, bbox_inches="tight")
    pyplot.close()
    return length


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
