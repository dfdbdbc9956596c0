"""dfmst beside the libraries that pip installs: the same forest from the same frame, interleaved, medians.

    python bench/peers.py [--graphs road1M,er1M] [--peers scipy,rustworkx] [--repeat 7] [-o RESULT.json]

Every peer starts from the pandas frame (``int64`` ids, ``float64`` weights, two more columns). dfmst hands back
the forest's rows with all columns; of a peer only its own tree is asked, not the way back to the rows. The
total weights must agree. A peer that takes over five seconds runs three times.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from graphs import GRAPHS, Graph
from machine import describe

import dfmst

SLOW = 5.0  # seconds
RESULTS = Path(__file__).parent / "results" / "cpu"


def frame_of(graph: Graph) -> pd.DataFrame:
    """The edge table with a payload."""
    rows = np.arange(len(graph.source))
    columns = {"source": graph.source, "target": graph.target, "weight": graph.weight}
    return pd.DataFrame({**columns, "row": rows, "quality": (rows % 7).astype(np.int8)})


def run_dfmst(frame: pd.DataFrame, vertices: int, threads: int | None = None) -> float:
    """Forest rows, all columns."""
    return math.fsum(dfmst.minimum_spanning_forest(frame, threads=threads)["weight"])


def run_scipy(frame: pd.DataFrame, vertices: int) -> float:
    """scipy.sparse.csgraph; parallel edges are reduced to the lightest first, since the matrix would sum them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    low = np.minimum(frame["source"].to_numpy(), frame["target"].to_numpy())
    high = np.maximum(frame["source"].to_numpy(), frame["target"].to_numpy())
    matrix = coo_array((frame["weight"].to_numpy(), (low, high)), shape=(vertices, vertices))
    if frame.attrs["parallel"]:
        order = np.lexsort((frame["weight"].to_numpy(), high, low))
        first = np.ones(len(order), bool)
        first[1:] = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
        kept = order[first]
        matrix = coo_array((frame["weight"].to_numpy()[kept], (low[kept], high[kept])), shape=(vertices, vertices))
    return math.fsum(minimum_spanning_tree(matrix.tocsr()).data)


def run_igraph(frame: pd.DataFrame, vertices: int) -> float:
    """igraph's Prim."""
    import igraph

    graph = igraph.Graph(n=vertices, edges=frame[["source", "target"]].to_numpy())
    rows = graph.spanning_tree(weights=frame["weight"].to_numpy(), return_tree=False)
    return math.fsum(frame["weight"].to_numpy()[rows])


def run_rustworkx(frame: pd.DataFrame, vertices: int) -> float:
    """rustworkx's Kruskal."""
    import rustworkx

    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from(list(zip(*(frame[name].tolist() for name in ("source", "target", "weight")), strict=True)))
    return math.fsum(edge[2] for edge in rustworkx.minimum_spanning_edges(graph, weight_fn=float))


def run_networkit(frame: pd.DataFrame, vertices: int) -> float:
    """networkit's Kruskal for maximum forests, on negated weights."""
    import networkit

    ends = (frame["source"].to_numpy(), frame["target"].to_numpy())
    graph = networkit.GraphFromCoo((-frame["weight"].to_numpy(), ends), n=vertices, weighted=True)
    forest = networkit.graph.RandomMaximumSpanningForest(graph).run().getMSF(True)
    return -float(forest.totalEdgeWeight())


PEERS: dict[str, Callable[[pd.DataFrame, int], float]] = {
    "scipy": run_scipy,
    "igraph": run_igraph,
    "rustworkx": run_rustworkx,
    "networkit": run_networkit,
}


def measure(graph: Graph, peers: list[str], repeat: int) -> dict[str, Any]:
    """Run all in turn, `repeat` times over; seconds and ratios."""
    frame = frame_of(graph)
    low, high = np.minimum(graph.source, graph.target), np.maximum(graph.source, graph.target)
    frame.attrs["parallel"] = bool(len(np.unique(low * graph.vertices + high)) < len(low))
    runs: dict[str, Callable[[], float]] = {
        "dfmst": lambda: run_dfmst(frame, graph.vertices),
        "dfmst, 1 thread": lambda: run_dfmst(frame, graph.vertices, threads=1),
        **{name: lambda name=name: PEERS[name](frame, graph.vertices) for name in peers},
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    weights = {}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            times = seconds[name]
            if turn > 3 and statistics.median(times) > SLOW:
                continue
            begin = time.perf_counter()
            weights[name] = run()
            taken = time.perf_counter() - begin
            if turn or taken > SLOW:  # the first turn warms up
                times.append(taken)
    expected = weights["dfmst"]
    for name, weight in weights.items():
        if not math.isclose(weight, expected, rel_tol=1e-9):
            message = f"{name} found weight {weight}, dfmst {expected}"
            raise AssertionError(message)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    best = min(peers, key=medians.__getitem__)
    return {
        "vertices": graph.vertices,
        "edges": len(graph.source),
        "total_weight": expected,
        "median_seconds": {name: round(value, 4) for name, value in medians.items()},
        "runs": {name: len(times) for name, times in seconds.items()},
        "best_peer": best,
        "times_faster_than_best_peer": round(medians[best] / medians["dfmst"], 1),
    }


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "peers.json")
    chosen = parser.parse_args()
    peers = chosen.peers.split(",")
    result: dict[str, Any] = {"machine": describe(*peers), "graphs": {}}
    for name in chosen.graphs.split(","):
        result["graphs"][name] = measure(GRAPHS[name](), peers, chosen.repeat)
        print(name, json.dumps(result["graphs"][name]["median_seconds"]), flush=True)
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
