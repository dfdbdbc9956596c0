"""dfmst next to the libraries that pip installs: the same forest from the same frame, interleaved, medians.

    python bench/peers.py [--graphs road1M,er1M] [--peers scipy,rustworkx] [--repeat 7] [-o RESULT.json]
    python bench/peers.py --quick

The second form prints a table of smaller graphs in under five minutes, with CPU seconds and memory; no file is written.

Every peer starts from the pandas frame (``int64`` ids, ``float64`` weights, two more columns). dfmst hands back
the forest's rows with all columns; of a peer only the tree's weights are asked, not the way back to the rows.
The total weights must agree (outside the time). A peer that takes over five seconds runs three times.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from support.graphs import GRAPHS, Graph, frame_of, scipy_weights
from support.machine import describe
from support.quick_table import print_table
from support.results import parser, read, write
from support.timing import interleaved, peak_memory

import dfmst


def run_dfmst(frame: pd.DataFrame, vertices: int, threads: int | None = None) -> Any:
    """Forest rows, all columns; their weights."""
    return dfmst.minimum_spanning_forest(frame, threads=threads)["weight"].to_numpy()


def run_scipy(frame: pd.DataFrame, vertices: int) -> Any:
    """scipy.sparse.csgraph."""
    source, target, weight = (frame[name].to_numpy() for name in ("source", "target", "weight"))
    return scipy_weights(source, target, weight, vertices)


def run_igraph(frame: pd.DataFrame, vertices: int) -> Any:
    """igraph's own choice between Prim and Kruskal."""
    import igraph

    graph = igraph.Graph(n=vertices, edges=frame[["source", "target"]].to_numpy())
    rows = graph.spanning_tree(weights=frame["weight"].to_numpy(), return_tree=False)
    return frame["weight"].to_numpy()[rows]


def run_rustworkx(frame: pd.DataFrame, vertices: int) -> Any:
    """rustworkx's Kruskal."""
    import rustworkx

    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from(list(zip(*(frame[name].tolist() for name in ("source", "target", "weight")), strict=True)))
    return [edge[2] for edge in rustworkx.minimum_spanning_edges(graph, weight_fn=float)]


def run_networkit(frame: pd.DataFrame, vertices: int) -> Any:
    """networkit's Kruskal for maximum forests, on negated weights."""
    import networkit

    ends = (frame["source"].to_numpy(), frame["target"].to_numpy())
    graph = networkit.GraphFromCoo((-frame["weight"].to_numpy(), ends), n=vertices, weighted=True)
    forest = networkit.graph.RandomMaximumSpanningForest(graph).run().getMSF(True)
    return [-forest.totalEdgeWeight()]


PEERS: dict[str, Callable[[pd.DataFrame, int], Any]] = {
    "scipy": run_scipy,
    "igraph": run_igraph,
    "rustworkx": run_rustworkx,
    "networkit": run_networkit,
}


def runs_of(graph: Graph, peers: list[str]) -> dict[str, Callable[[], Any]]:
    """The runs, by name."""
    frame = frame_of(graph)
    return {
        "dfmst": lambda: run_dfmst(frame, graph.vertices),
        "dfmst, 1 thread": lambda: run_dfmst(frame, graph.vertices, threads=1),
        **{name: partial(PEERS[name], frame, graph.vertices) for name in peers},
    }


def measure(graph: Graph, peers: list[str], repeat: int) -> dict[str, Any]:
    """Run all in turn, `repeat` times over; seconds and ratios."""
    measured = interleaved(runs_of(graph, peers), repeat)
    totals = {name: math.fsum(run.value) for name, run in measured.items()}
    for name, total in totals.items():
        if not math.isclose(total, totals["dfmst"], rel_tol=1e-9):
            message = f"{name} found weight {total}, dfmst {totals['dfmst']}"
            raise AssertionError(message)
    best = min(peers, key=lambda name: measured[name].seconds)
    return {
        "vertices": graph.vertices,
        "edges": len(graph.source),
        "total_weight": totals["dfmst"],
        "median_seconds": {name: round(run.seconds, 4) for name, run in measured.items()},
        "runs": {name: run.runs for name, run in measured.items()},
        "best_peer": best,
        "times_faster_than_best_peer": round(measured[best].seconds / measured["dfmst"].seconds, 1),
        "times_faster_than_one_thread": round(measured["dfmst, 1 thread"].seconds / measured["dfmst"].seconds, 2),
    }


def memory(graph: Graph, peers: list[str]) -> dict[str, int]:
    """Megabytes that each takes next to the frame, one run each."""
    peaks = {name: peak_memory(run) for name, run in runs_of(graph, peers).items()}
    return {name: round(peak / 1e6) for name, peak in peaks.items() if peak is not None}


def main() -> None:
    options = parser(__doc__, "cpu/peers.json", graphs=",".join(GRAPHS), peers=",".join(PEERS), repeat=7)
    options.add_argument("--memory", action="store_true", help="measure memory instead, and keep the times of the file")
    options.add_argument("--quick", action="store_true", help="print a table of smaller graphs, and write no file")
    chosen = options.parse_args()
    peers = chosen.peers.split(",")
    if chosen.quick:
        print_table(runs_of, peers)
        return
    # A run over some graphs keeps the figures of the others.
    result = {"machine": describe(*peers), "graphs": read(chosen.output).get("graphs", {})}
    for name in chosen.graphs.split(","):
        if chosen.memory:
            found = {"peak_megabytes_beside_the_frame": memory(GRAPHS[name](), peers)}
            result["graphs"][name] = {**result["graphs"].get(name, {}), **found}
        else:
            found = result["graphs"][name] = measure(GRAPHS[name](), peers, chosen.repeat)
        print(name, json.dumps(found), flush=True)
        write(chosen.output, result)


if __name__ == "__main__":
    main()
