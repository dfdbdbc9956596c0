"""Spanning trees of points, next to other packages: CPU-seconds and seconds, each in a process of its own.

    python bench/points.py OUTPUT.json [--points PLANE HIGH] [--limit CPU_SECONDS]

The peers: quitefastmst, fast_hdbscan (its spanning tree with min_samples=1, compiled before), SciPy's Delaunay
triangulation with dfmst's forest of its sides (in the plane), and scikit-learn's HDBSCAN (its tree, and clusters). One
that is not installed is skipped. A peer that takes more CPU-seconds than the limit is stopped. The median of five runs
in turn; one run if it is long. dfmst alone: places on the earth, and columns by their correlation.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from support.machine import describe
from support.results import write
from support.timing import spent

PEERS = {
    "dfmst": "dfmst",
    "quitefastmst": "quitefastmst",
    "fast_hdbscan": "fast_hdbscan",
    "Delaunay": "scipy",
    "scikit-learn": "sklearn",
}
RUNS = 5
LONG = 5.0  # seconds from which one run will do
LONGEST = 600  # CPU-seconds of dfmst where it has no peer


def cloud(axes: int, count: int, kind: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    if kind == "uniform":
        return rng.random((count, axes))
    if kind == "earth":
        latitude, longitude = np.degrees(np.arcsin(rng.uniform(-1, 1, count))), rng.uniform(-180, 180, count)
        return np.stack([latitude, longitude], axis=1)
    if kind == "series":  # with common factors; one row a day
        return rng.normal(size=(axes, 30)) @ rng.normal(size=(30, count)) * 0.5 + rng.normal(size=(axes, count))
    centers = rng.random((50, axes))
    return centers[rng.integers(0, 50, count)] + rng.normal(size=(count, axes)) * 0.01


def span(peer: str, points: np.ndarray, kind: str) -> float:
    """Total length of the tree."""
    if peer == "dfmst":
        import pyarrow as pa

        import dfmst

        if kind == "series":
            table = pa.table({f"c{column}": values for column, values in enumerate(points.T)})
            return float(dfmst.correlation_forest(table)["distance"].to_numpy().sum())
        metric = "haversine" if kind == "earth" else "euclidean"
        return float(dfmst.points_forest(points, metric=metric)["distance"].sum())
    if peer == "scikit-learn":
        from sklearn.cluster import HDBSCAN

        tree = HDBSCAN(min_samples=2, copy=True).fit(points)._single_linkage_tree_
        return float(tree["value"].sum() if "value" in (tree.dtype.names or ()) else tree["distance"].sum())
    if peer == "quitefastmst":
        import quitefastmst

        return float(quitefastmst.mst_euclid(points, 0)[0].sum())
    if peer == "fast_hdbscan":
        from fast_hdbscan.hdbscan import compute_minimum_spanning_tree

        return float(compute_minimum_spanning_tree(points, min_samples=1)[0][:, 2].sum())
    from scipy.spatial import Delaunay

    import dfmst

    corners = Delaunay(points).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    length = np.sqrt(((points[sides[:, 0]] - points[sides[:, 1]]) ** 2).sum(axis=1))
    rows = dfmst.arrays.forest_rows(sides[:, 0], sides[:, 1], length, n_vertices=len(points))
    return float(length[rows].sum())


def run_one(peer: str, axes: int, count: int, kind: str, limit: int) -> None:
    """Measure one call, after a small one that loads and compiles."""
    span(peer, cloud(axes, 1000, kind), kind)
    most = int(time.process_time()) + limit
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    points = np.ascontiguousarray(cloud(axes, count, kind))
    figures, total = spent(lambda: span(peer, points, kind))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"cpu": figures["cpu_seconds"], "seconds": figures["seconds"], "total": total, "peak_gib": peak}))


def measure(peer: str, axes: int, count: int, kind: str, limit: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", peer, str(axes), str(count), kind, str(limit)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode < 0:  # by the signal for too many seconds of a processor
        return {"stopped_after_cpu": float(limit)}
    if run.returncode:
        raise RuntimeError(run.stderr)
    return {name: float(f"{value:.9g}") for name, value in json.loads(run.stdout).items()}


def measure_in_turn(peers: list[str], *cloud: Any) -> dict[str, dict[str, float]]:
    """The median run of each peer by CPU-seconds, of `RUNS` in turn; a long one runs once."""
    runs = {peer: [measure(peer, *cloud)] for peer in peers}
    for _ in range(RUNS - 1):
        for peer, done in runs.items():
            if done[0].get("seconds", LONG) < LONG:
                done.append(measure(peer, *cloud))
    return {
        peer: sorted(done, key=lambda run: run.get("cpu", 0.0))[len(done) // 2] | {"runs": len(done)}
        for peer, done in runs.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--points", type=int, nargs=2, default=(1_000_000, 200_000))
    parser.add_argument("--limit", type=int, default=120)
    arguments = parser.parse_args()
    peers = [peer for peer, package in PEERS.items() if importlib.util.find_spec(package)]
    clouds: dict[str, dict[str, dict[str, float]]] = {}
    for kind in ("uniform", "blobs"):
        for axes, count in zip((2, 10), arguments.points, strict=True):
            cloud_peers = [peer for peer in peers if axes == 2 or peer != "Delaunay"]
            here = measure_in_turn(cloud_peers, axes, count, kind, arguments.limit)
            clouds[f"{count:,} {kind} points, {axes} axes"] = here
            print(json.dumps(here), flush=True)
    for name, axes, count, kind in (
        ("places on the earth", 2, 3, "earth"),
        ("series of 750 days", 750, 0.02, "series"),
    ):
        scaled = int(count * arguments.points[0])
        clouds[f"{scaled:,} {name}"] = measure_in_turn(["dfmst"], axes, scaled, kind, LONGEST)
        print(json.dumps(clouds), flush=True)
    names = {"sklearn": "scikit-learn"}
    packages = [names.get(name, name) for name in PEERS.values() if name != "dfmst" and importlib.util.find_spec(name)]
    results = {"machine": describe(*packages), **clouds}
    write(arguments.output, results)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        run_one(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], int(sys.argv[6]))
    else:
        main()
