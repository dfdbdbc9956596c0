"""Functions that are not the forest next to the libraries for them, in one interleaved run.

    python bench/others.py [-o RESULT.json] [--rows N] [--items N] [--points N] [--repeat R]

Components of a pandas frame of random edges: SciPy and networkit. Single linkage of a square matrix of distances:
fastcluster and SciPy. HDBSCAN of blobs in the plane: fast_hdbscan (compiled before), hdbscan and scikit-learn. Peers
that are not installed are left out. Each peer must find as many components, the same heights of merges, or as many
clusters but for one in twenty (their rules for ties of core distances differ).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved

import dfmst
from dfmst.generate import erdos_renyi

Runs = dict[str, Callable[[], Any]]


def components(rows: int) -> Runs:
    """Number of components."""
    vertices = rows // 10  # so that each of them has a row, which a result without vertices= needs
    frame = erdos_renyi(vertices, rows, seed=1).to_pandas()

    def own() -> int:
        return int(dfmst.connected_components(frame)["component"].nunique())

    def scipy() -> int:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = (frame["source"].to_numpy(), frame["target"].to_numpy())
        graph = coo_array((np.ones(rows, np.int8), ends), (vertices, vertices))
        return int(connected_components(graph, directed=False)[0])

    def networkit() -> int:
        import networkit

        graph = networkit.GraphFromCoo((frame["source"].to_numpy(), frame["target"].to_numpy()), n=vertices)
        found = networkit.components.ParallelConnectedComponents(graph)
        return int(found.run().numberOfComponents())

    return {"dfmst": own, "scipy": scipy, "networkit": networkit}


def linkage(items: int) -> Runs:
    """Sum of the heights of merges."""
    points = np.random.default_rng(2).random((items, 8))
    square = np.sqrt(np.maximum(0, ((points[:, None] - points) ** 2).sum(axis=2)))
    square = np.maximum(square, square.T)

    def condensed() -> Any:
        from scipy.spatial.distance import squareform

        return squareform(square, checks=False)

    def own() -> float:
        return float(
            np.asarray(dfmst.single_linkage(dfmst.from_matrix(square, forest=True), as_scipy=True)[0])[:, 2].sum()
        )

    def scipy() -> float:
        from scipy.cluster.hierarchy import linkage

        return float(linkage(condensed(), "single")[:, 2].sum())

    def fastcluster() -> float:
        from fastcluster import linkage

        return float(linkage(condensed(), "single")[:, 2].sum())

    return {"dfmst": own, "scipy": scipy, "fastcluster": fastcluster}


def density(count: int) -> Runs:
    """Number of clusters."""
    rng = np.random.default_rng(3)
    points = rng.random((50, 2))[rng.integers(0, 50, count)] + rng.normal(size=(count, 2)) * 0.01

    def own() -> int:
        labels = dfmst.hdbscan(points, min_cluster_size=50)["label"]
        return len(np.unique(labels[labels >= 0]))

    def fast_hdbscan() -> int:
        from fast_hdbscan import HDBSCAN

        return int(HDBSCAN(min_cluster_size=50).fit(points).labels_.max()) + 1

    def hdbscan() -> int:
        from hdbscan import HDBSCAN

        return (
            int(HDBSCAN(min_cluster_size=50, core_dist_n_jobs=1, approx_min_span_tree=False).fit(points).labels_.max())
            + 1
        )

    def sklearn() -> int:
        from sklearn.cluster import HDBSCAN

        return int(HDBSCAN(min_cluster_size=50, copy=True).fit(points).labels_.max()) + 1

    return {"dfmst": own, "fast_hdbscan": fast_hdbscan, "hdbscan": hdbscan, "sklearn": sklearn}


def main() -> None:
    chosen = parser(__doc__, "cpu/others.json", rows=10_000_000, items=4_000, points=100_000, repeat=5).parse_args()
    measured = {
        f"components of {chosen.rows:,} rows": (components(chosen.rows), 0.0),
        f"single linkage of {chosen.items:,} items": (linkage(chosen.items), 1e-9),
        f"HDBSCAN of {chosen.points:,} points": (density(chosen.points), 0.05),
    }
    packages = {
        "scipy": "scipy",
        "networkit": "networkit",
        "fastcluster": "fastcluster",
        "fast_hdbscan": "fast_hdbscan",
    }
    packages |= {"hdbscan": "hdbscan", "sklearn": "scikit-learn"}
    there = {name: package for name, package in packages.items() if find_spec(name)}
    result: dict[str, Any] = {"machine": describe(*there.values())}
    for name, (runs, tolerance) in measured.items():
        taken = interleaved({peer: run for peer, run in runs.items() if peer in {"dfmst", *there}}, chosen.repeat)
        own = taken["dfmst"].value
        if any(abs(run.value - own) > tolerance * own for run in taken.values()):
            raise AssertionError(f"{name}: { ({peer: run.value for peer, run in taken.items()}) }")
        result[name] = {
            clock: {peer: round(getattr(run, attribute), 4) for peer, run in taken.items()}
            for clock, attribute in (("seconds", "seconds"), ("cpu_seconds", "cpu"))
        }
        print(name, json.dumps(result[name]), flush=True)
    write(chosen.output, result)


if __name__ == "__main__":
    main()
