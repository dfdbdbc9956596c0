"""Single linkage of a matrix of distances, next to SciPy and fastcluster: CPU-seconds and seconds.

    python bench/matrices.py [--repeat 5] [-o OUTPUT.json]

Distances of uniform points with eight coordinates: as a square, of which the peers first make a vector, and as the
vector of SciPy's ``pdist``. "table" makes the table of all pairs. The least of several runs in turn; fastcluster takes
part if it is installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved

import dfmst

POINTS = (1_000, 4_000, 15_000)
MOST_ROWS = 10_000_000  # of the table of all pairs
WITH_FASTCLUSTER = importlib.util.find_spec("fastcluster") is not None


def by_dfmst(distances: np.ndarray, forest: bool = True) -> np.ndarray:
    """The linkage matrix of a square or a vector, or of the table of all pairs."""
    matrix, _ = dfmst.single_linkage(dfmst.from_matrix(distances, forest=forest), as_scipy=True)
    return matrix


def by_fastcluster(distances: np.ndarray) -> np.ndarray:
    import fastcluster

    matrix: np.ndarray = fastcluster.linkage(distances, "single")
    return matrix


def of_square(link: Callable[[np.ndarray], np.ndarray], square: np.ndarray) -> np.ndarray:
    """The linkage matrix by a program that takes vectors."""
    return link(squareform(square))


def measured(points: int, repeat: int) -> dict[str, dict[str, float]]:
    """Least CPU-seconds and seconds by program and form, of which all give the same distances of merges."""
    vector = pdist(np.random.default_rng(points).random((points, 8)))
    square = squareform(vector)
    runs: dict[str, Callable[[], np.ndarray]] = {
        "dfmst, square": partial(by_dfmst, square),
        "dfmst, vector": partial(by_dfmst, vector),
    }
    if len(vector) <= MOST_ROWS:
        runs["dfmst, table"] = partial(by_dfmst, square, forest=False)
    peers: dict[str, Callable[[np.ndarray], np.ndarray]] = {"SciPy": partial(linkage, method="single")}
    if WITH_FASTCLUSTER:
        peers["fastcluster"] = by_fastcluster
    for name, link in peers.items():
        runs[f"{name}, square"], runs[f"{name}, vector"] = partial(of_square, link, square), partial(link, vector)
    found = interleaved(runs, repeat)
    first, *others = (run.value[:, 2] for run in found.values())
    assert all(np.array_equal(first, heights) for heights in others)
    return {
        name: {"cpu": round(run.least_cpu, 5), "seconds": round(run.least_seconds, 5)} for name, run in found.items()
    }


def main() -> None:
    """Measure, and write the result file."""
    arguments = parser(__doc__, "cpu/matrices.json", repeat=5).parse_args()
    packages = ["scipy", *(["fastcluster"] if WITH_FASTCLUSTER else [])]
    results: dict[str, Any] = {"machine": describe(*packages)}
    for points in POINTS:
        results[f"{points:,} points"] = measured(points, arguments.repeat)
        print(points, results[f"{points:,} points"], flush=True)
    write(arguments.output, results)


if __name__ == "__main__":
    main()
