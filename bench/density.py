"""HDBSCAN's labels next to those of the packages hdbscan and scikit-learn, and to a plain reading of the paper.

    python bench/density.py [-o bench/results/cpu/density.json] [--sets 7]

Each setting is a set of 120 points in two dimensions, a minimum size of clusters, and a number of neighbors for core
distances. A setting agrees if two programs find the same clusters and the same noise. Then the rows of each set are put
into five other orders: the labels of a point should be the same. The plain reading removes the edges of the complete
graph of mutual reachability distance by distance, largest first, and labels components by breadth-first search.
"""

from __future__ import annotations

import warnings
from bisect import bisect
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from support.machine import describe
from support.results import parser, write

import dfmst

SIZES, NEIGHBORS, ORDERS = (3, 5, 8, 12, 20), (3, 8), 5


def clouds(seed: int) -> np.ndarray:
    """Groups of several densities, and noise; no two distances are equal."""
    rng = np.random.default_rng(seed)
    centers = rng.random((4, 2)) * 6
    near = centers[rng.integers(0, 4, 100)] + rng.normal(size=(100, 2)) * rng.choice([0.2, 0.6], (100, 1))
    return np.concatenate([near, rng.random((20, 2)) * 6])


def by_dfmst(points: np.ndarray, size: int, neighbors: int) -> np.ndarray:
    labels: np.ndarray = dfmst.hdbscan(points, min_cluster_size=size, min_samples=neighbors)["label"]
    return labels


def by_hdbscan(points: np.ndarray, size: int, neighbors: int) -> np.ndarray:
    from hdbscan import HDBSCAN

    labels: np.ndarray = HDBSCAN(size, min_samples=neighbors, algorithm="generic").fit_predict(points)
    return labels


def by_scikit_learn(points: np.ndarray, size: int, neighbors: int) -> np.ndarray:
    from sklearn.cluster import HDBSCAN  # its min_samples counts the point itself

    labels: np.ndarray = HDBSCAN(size, min_samples=neighbors + 1, algorithm="brute", copy=True).fit_predict(points)
    return labels


def by_definition(points: np.ndarray, size: int, neighbors: int) -> np.ndarray:
    """Campello, Moulavi, Sander 2013, algorithm 1 and section 5: the hierarchy, then the largest excess of mass."""
    distance = cdist(points, points)
    core = np.sort(distance, axis=1)[:, neighbors]
    weight = np.maximum(distance, np.maximum(core[:, None], core))

    def grow(members: np.ndarray, birth: float, root: bool) -> tuple[float, list[np.ndarray]]:
        """The largest mass of a cluster or of clusters in it, and their members."""
        mass, rest = 0.0, members
        while True:
            inside = weight[np.ix_(rest, rest)]
            levels = np.unique(inside[~np.eye(len(rest), dtype=bool)])
            # The largest distance without whose edges the component comes apart.
            at = bisect(levels, 0, key=lambda level: int(connected_components(inside < level)[0] == 1)) - 1
            level = levels[at]
            count, part = connected_components(inside < level)
            parts = [rest[part == number] for number in range(count)]
            large = [each for each in parts if len(each) >= size]
            left = len(rest) - (len(large[0]) if len(large) == 1 else 0)
            mass += left * (1 / level - birth)
            if len(large) == 1:
                rest = large[0]
                continue
            below = [grow(each, 1 / level, False) for each in large]
            together = sum(each for each, _ in below)
            if root or together > mass:
                return together, [own for _, found in below for own in found]
            return mass, [members]

    labels = np.full(len(points), -1)
    for at, members in enumerate(grow(np.arange(len(points)), 0.0, True)[1]):
        labels[members] = at
    return labels


PROGRAMS: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "dfmst": by_dfmst,
    "the paper": by_definition,
    "hdbscan": by_hdbscan,
    "scikit-learn": by_scikit_learn,
}


def alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether labels are the same clusters and the same noise."""
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    noise = all((a < 0) == (b < 0) for a, b in pairs)
    return noise and len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


def main() -> None:
    made = parser(__doc__, "cpu/density.json", sets=7)
    arguments = made.parse_args()
    warnings.simplefilter("ignore")
    agree = {f"{one} and {other}": 0 for one, other in combinations(PROGRAMS, 2)}
    ordered, settings = dict.fromkeys(PROGRAMS, 0), 0
    for seed, size, neighbors in product(range(arguments.sets), SIZES, NEIGHBORS):
        points, settings = clouds(seed), settings + 1
        found = {name: run(points, size, neighbors) for name, run in PROGRAMS.items()}
        for one, other in combinations(PROGRAMS, 2):
            agree[f"{one} and {other}"] += alike(found[one], found[other])
        orders = [np.random.default_rng(order).permutation(len(points)) for order in range(ORDERS)]
        for name, run in PROGRAMS.items():
            ordered[name] += all(alike(found[name][order], run(points[order], size, neighbors)) for order in orders)
    result = {"settings": settings, "agree": agree, "same_in_every_order": ordered}
    print(result)
    write(arguments.output, {"machine": describe("hdbscan", "scikit-learn"), **result})


if __name__ == "__main__":
    main()
