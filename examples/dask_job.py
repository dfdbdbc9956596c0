"""A job for a cluster: the forest of a directory of Parquet files, and the clusters of it.

The forest is small beside the edges, so that what follows from it is computed here.
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import dask.dataframe as dd
    import pandas as pd
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install 'dfmst[dask]' pandas")

import numpy as np

import dfmst
import dfmst.dask


def write_edges(folder: Path) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir(exist_ok=True)
    for part in range(4):
        ends = rng.integers(0, 5_000, (20_000, 2))
        edges = pd.DataFrame({"a": ends[:, 0], "b": ends[:, 1], "km": rng.random(20_000), "part": part})
        edges.to_parquet(folder / f"part-{part}.parquet", index=False)


def main(folder: Path) -> pd.DataFrame:
    folder.mkdir(parents=True, exist_ok=True)
    write_edges(folder / "edges")
    edges = dd.read_parquet(folder / "edges")
    forest = edges.mst.minimum("a", "b", "km", strategy="merge")  # nothing is computed yet
    forest.to_parquet(folder / "forest")

    rows = pd.read_parquet(folder / "forest")
    clusters = dfmst.clusters(rows, "a", "b", "km", n_clusters=10)
    print(f"{len(rows):,} of {len(edges):,} rows; clusters of {clusters.groupby('cluster').size().tolist()} vertices")
    return rows


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
