"""Cells in the order of their development: neighbors of cells, their tree, and distances from a first cell.

The cells are in the form of scanpy: `obs` has a row a cell, `obsm["X_pca"]` their coordinates, and `obsp["distances"]`
a sparse matrix of nearest neighbors. They are an AnnData object if anndata is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

try:
    import pandas as pd
    from sklearn.neighbors import kneighbors_graph
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install pandas scikit-learn")


import dfmst

CELLS, GENES, COMPONENTS, NEIGHBORS = 1_500, 120, 10, 15


def draw_cells(rng: np.random.Generator) -> Any:
    """Cells of a trunk that divides into two fates; `time` and `fate` are the truth."""
    time = np.sort(rng.random(CELLS))
    fate = np.where(time < 0.4, "trunk", np.where(rng.random(CELLS) < 0.5, "blood", "nerve"))
    late = np.maximum(time - 0.4, 0)
    courses = np.stack([time, late * (fate == "blood"), late * (fate == "nerve")], axis=1)
    expression = courses @ rng.normal(size=(3, GENES)) * 6 + rng.normal(size=(CELLS, GENES))
    names = rng.permutation([f"cell{number:05}" for number in range(CELLS)])
    obs = pd.DataFrame({"time": time, "fate": fate}, index=pd.Index(names, name="cell"))

    centered = expression - expression.mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2][:COMPONENTS]
    reduced = centered @ axes.T
    held = {"obsm": {"X_pca": reduced}, "obsp": {"distances": kneighbors_graph(reduced, NEIGHBORS, mode="distance")}}
    try:
        from anndata import AnnData
    except ImportError:
        return SimpleNamespace(X=expression, obs=obs, **held)
    return AnnData(expression, obs=obs, **held)


def main(folder: Path) -> pd.DataFrame:
    folder.mkdir(parents=True, exist_ok=True)
    cells = draw_cells(np.random.default_rng(3))
    first = cells.obs.index[0]  # in real data, a cell with the highest value of a marker gene

    neighbors = dfmst.from_sparse(cells.obsp["distances"], ids=cells.obs.index).to_pandas()
    tree = dfmst.minimum_spanning_forest(neighbors)
    print(f"{len(tree):,} links of {len(neighbors):,} join {len(cells.obs):,} cells")

    rooted = dfmst.rooted(tree, root=first, vertices=cells.obs.index).set_index("vertex")
    # The way along the tree, smoothed over the neighbors of a cell.
    way = rooted.distance.reindex(cells.obs.index)
    near = cells.obsp["distances"] > 0
    smooth = (near @ way.to_numpy() + way.to_numpy()) / (NEIGHBORS + 1)
    cells.obs["pseudotime"] = smooth / smooth.max()
    order: pd.DataFrame = cells.obs.sort_values("pseudotime")
    agreement = cells.obs[["time", "pseudotime"]].corr(method="spearman").iloc[0, 1]
    print(f"rank correlation with the true time: {agreement:.2f}")
    for fate in ("blood", "nerve"):
        last = order.index[order.fate == fate][-1]
        steps = dfmst.path(tree, start=first, stop=last)
        print(f"from {first} to {last}, the last of {fate}: {len(steps)} cells on the way")
    order.to_csv(folder / "pseudotime.csv")
    return order


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
