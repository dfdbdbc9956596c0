"""Single linkage of points, drawn by SciPy: the same merges as SciPy's, from a tree in place of all distances."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    import matplotlib
    from scipy.cluster import hierarchy
    from sklearn.datasets import load_iris
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install matplotlib scipy scikit-learn")

import numpy as np

import dfmst

matplotlib.use("Agg")
from matplotlib import pyplot


def main(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    flowers = load_iris().data
    tree = dfmst.euclidean_forest(flowers)
    merges, ids = dfmst.single_linkage(tree, weight="distance", as_scipy=True)

    theirs = hierarchy.linkage(flowers, "single")
    print("heights differ by at most", np.abs(merges[:, 2] - theirs[:, 2]).max())
    np.testing.assert_allclose(hierarchy.cophenet(merges), hierarchy.cophenet(theirs), rtol=1e-12)

    _, axes = pyplot.subplots(figsize=(12, 4))
    hierarchy.dendrogram(merges, labels=ids, no_labels=True, ax=axes)
    axes.set_title("Iris, single linkage")
    pyplot.savefig(folder / "dendrogram.png", dpi=100)
    pyplot.close()
    (folder / "iris.nwk").write_text(dfmst.newick(merges) + "\n", encoding="utf-8")  # for tools of phylogenetics
    return merges


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
