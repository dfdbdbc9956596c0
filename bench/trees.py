"""What follows from a forest, in CPU-seconds: dendrograms, rooted trees, bridges, parts, Steiner trees, groups.

    python bench/trees.py [-o OUTPUT.json] [--vertices N] [--terminals T]

Peers run on the same data: SciPy's breadth-first order for rooted trees, igraph's bridges, fast_hdbscan's dendrogram,
and NetworkX's Mehlhorn for Steiner trees (on `--peer-rows` rows at most: it takes minutes on a million). One
that is not installed is skipped. Every figure is the least of five runs, taken in turn, and that of all threads.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from support.graphs import frame_of, road
from support.inside import CpuEngine, contracted_merges, merge_clusters
from support.machine import describe
from support.results import parser, write

import dfmst

RUNS = 5


def least(runs: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """The least CPU-seconds of each run, in turn, and the values of the last ones."""
    spent, values = dict.fromkeys(runs, float("inf")), dict[str, Any]()
    for _ in range(RUNS):
        for name, run in runs.items():
            values.pop(name, None)
            begin = time.process_time()
            values[name] = run()
            spent[name] = min(spent[name], time.process_time() - begin)
    return {name: round(seconds, 4) for name, seconds in spent.items()}, values


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def dendrograms(forest: pd.DataFrame, vertices: int) -> dict[str, Any]:
    ordered = forest.sort_values("weight", kind="stable")
    source, target = (ordered[name].to_numpy().astype(np.uint32) for name in ("source", "target"))
    runs: dict[str, Callable[[], Any]] = {
        "union_find": lambda: merge_clusters(CpuEngine(1), source, target, vertices),
        "contraction_1_thread": lambda: contracted_merges(CpuEngine(1), source, target, vertices),
        "contraction_2_threads": lambda: contracted_merges(CpuEngine(2), source, target, vertices),
        "single_linkage_1_thread": lambda: dfmst.single_linkage(forest, threads=1),
        "single_linkage_2_threads": lambda: dfmst.single_linkage(forest, threads=2),
    }
    if installed("fast_hdbscan"):
        from fast_hdbscan.cluster_trees import mst_to_linkage_tree

        matrix = np.column_stack([source, target, ordered.weight.to_numpy()]).astype(np.float64)
        mst_to_linkage_tree(np.array([[0.0, 1.0, 1.0]]))  # compiles
        if len(matrix) == vertices - 1:
            runs["fast_hdbscan"] = lambda: mst_to_linkage_tree(matrix)
    cpu, values = least(runs)
    for name in ("contraction_1_thread", "contraction_2_threads"):
        assert all(np.array_equal(one, other) for one, other in zip(values["union_find"], values[name], strict=True))
    return {"merges": len(forest), "cpu_seconds": cpu}


def rooted_trees(forest: pd.DataFrame, vertices: int) -> dict[str, Any]:
    runs: dict[str, Callable[[], Any]] = {
        "rooted_1_thread": lambda: dfmst.rooted(forest, threads=1),
        "rooted_2_threads": lambda: dfmst.rooted(forest, threads=2),
    }
    if installed("scipy"):
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import breadth_first_order

        def in_scipy() -> Any:
            ends = forest.source.to_numpy(), forest.target.to_numpy()
            matrix = coo_array((forest.weight.to_numpy(), ends), shape=(vertices, vertices)).tocsr()
            return breadth_first_order(matrix, int(ends[0][0]), directed=False)

        runs["scipy_parents_of_one_tree"] = in_scipy
    return {"edges": len(forest), "cpu_seconds": least(runs)[0]}


def find_bridges(edges: pd.DataFrame, vertices: int) -> dict[str, Any]:
    runs: dict[str, Callable[[], Any]] = {
        "bridges_1_thread": lambda: len(dfmst.bridges(edges, threads=1)),
        "bridges_2_threads": lambda: len(dfmst.bridges(edges, threads=2)),
    }
    if installed("igraph"):
        import igraph

        runs["igraph"] = lambda: len(igraph.Graph(n=vertices, edges=edges[["source", "target"]].to_numpy()).bridges())
    cpu, values = least(runs)
    assert len(set(values.values())) == 1
    return {"rows": len(edges), "bridges": values["bridges_1_thread"], "cpu_seconds": cpu}


def parts(side: int) -> dict[str, Any]:
    graph = road(side)
    forest = dfmst.minimum_spanning_forest(frame_of(graph)[["source", "target", "weight"]])
    label = dfmst.connected_components(forest)
    largest = label[label.component == label.component.mode()[0]].vertex
    forest = forest[forest.source.isin(largest)]
    draw = np.random.default_rng(0)
    people = pd.DataFrame({"vertex": largest, "people": draw.integers(1, 100, len(largest))})
    found: dict[str, Any] = {"vertices": len(largest)}
    for name, tolerance in (("halved", None), ("within_20_percent", 0.2)):
        options: dict[str, Any] = {"balance": "people", "vertices": people, "tolerance": tolerance}
        cpu, values = least({name: partial(dfmst.partition, forest, 10, **options)})
        sums = values[name].merge(people, on="vertex").groupby("cluster").people.sum()
        deviation = float(abs(sums / (people.people.sum() / 10) - 1).max())
        found[name] = {"cpu_seconds": cpu[name], "largest_deviation": round(deviation, 4)}
    return found


def steiner(edges: pd.DataFrame, terminals: int, peer_rows: int) -> dict[str, Any]:
    draw = np.random.default_rng(0)
    label = dfmst.connected_components(edges)
    largest = label[label.component == label.component.mode()[0]].vertex.to_numpy()
    ends = draw.choice(largest, min(terminals, len(largest) // 2), replace=False)
    run = partial(dfmst.steiner_tree, edges, terminals=ends)
    runs: dict[str, Callable[[], Any]] = {f"steiner_tree_{n}_threads": partial(run, threads=n) for n in (1, 2)}
    cpu, values = least(runs)
    found = {"rows": len(edges), "terminals": len(ends), "cpu_seconds": cpu}
    found["total"] = float(values["steiner_tree_1_threads"].weight.sum())
    if installed("networkx") and len(edges) <= peer_rows:
        import networkx as nx
        from networkx.algorithms.approximation import steiner_tree

        whole = edges[edges.source.isin(largest)]
        graph = nx.from_pandas_edgelist(whole, "source", "target", "weight")
        begin = time.process_time()
        theirs = steiner_tree(graph, ends.tolist(), method="mehlhorn").size("weight")
        found["networkx"] = {"cpu_seconds": round(time.process_time() - begin, 2), "total": float(theirs)}
    return found


def groups(rows: int) -> dict[str, Any]:
    draw = np.random.default_rng(0)
    edges = pd.DataFrame({"day": draw.integers(0, 1000, rows), "source": draw.integers(0, 5000, rows)})
    edges = edges.assign(target=draw.integers(0, 5000, rows), weight=draw.random(rows))

    def one_by_one() -> Any:
        return pd.concat([dfmst.connected_components(part) for _, part in edges.groupby("day")])

    runs: dict[str, Callable[[], Any]] = {
        "by": lambda: dfmst.connected_components(edges, by="day"),
        "one_by_one": one_by_one,
    }
    limited: dict[str, Callable[[], Any]] = {
        "max_size_10": lambda: dfmst.clusters(edges, max_size=10),
        "all": lambda: dfmst.clusters(edges, n_clusters=9),
    }
    return {"rows": rows, "cpu_seconds": least(runs)[0], "clusters": least(limited)[0]}


def main() -> None:
    options = parser(__doc__, "cpu/trees.json", vertices=1_000_000, terminals=1000, peer_rows=2_000_000)
    arguments = options.parse_args()
    n = arguments.vertices
    draw = np.random.default_rng(0)
    random = {"source": np.arange(1, n), "target": (draw.random(n - 1) * np.arange(1, n)).astype(np.int64)}
    tree = pd.DataFrame({**random, "weight": draw.random(n - 1)}).sample(frac=1, random_state=0, ignore_index=True)
    roads = frame_of(road(round(n**0.5)))[["source", "target", "weight"]]
    packages = [name for name in ("scipy", "networkx", "igraph", "fast_hdbscan") if installed(name)]
    results = {
        "machine": describe(*packages),
        "random tree": {"dendrogram": dendrograms(tree, n), "rooted": rooted_trees(tree, n)},
        "road": {"bridges": find_bridges(roads, n), "parts": parts(round((n / 10) ** 0.5))},
        "steiner": {
            "roads": steiner(roads, arguments.terminals, arguments.peer_rows),
            "a tenth": steiner(frame_of(road(round((n / 10) ** 0.5))), arguments.terminals, arguments.peer_rows),
        },
        "groups": groups(n),
    }
    write(arguments.output, results)


if __name__ == "__main__":
    main()
