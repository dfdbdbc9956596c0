"""NetworkX's own functions next to the backend, on graphs of 100 to 1 M edges.

    python bench/networkx_backend.py [--most 1000000] [-o RESULT.json]

Erdős–Rényi graphs of five edges a node, with random weights. ``cold``: the graph is read in the call, as in the first
call on it. ``cached``: it was read before, and only its weights are read again. ``frame``: from a pandas frame to the
tree's edges, NetworkX's graph against the backend's. Times are medians of runs in turn, in milliseconds of processor
time: NetworkX has one thread, and those of the backend are added up. From 1 M edges on NetworkX runs once. dfmst must
be installed.
"""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from support.machine import describe
from support.results import parser, write
from support.timing import Measured, interleaved, spent

from dfmst.interop.networkx import backend

ONCE = 1_000_000  # edges from which NetworkX is not run again


def frame_of(edges: int) -> pd.DataFrame:
    """A random graph of five edges a node."""
    draw = np.random.default_rng(edges)
    ends = draw.integers(0, max(2, edges // 5), (2, edges))
    return pd.DataFrame({"source": ends[0], "target": ends[1], "weight": draw.random(edges)})


def whole(frame: pd.DataFrame, name: str | None) -> int:
    """From a frame to the edges of its spanning tree."""
    graph = nx.from_pandas_edgelist(frame, edge_attr="weight", backend=name)
    return len(list(nx.minimum_spanning_edges(graph, data=False, backend=name)))


def measure(edges: int) -> dict[str, dict[str, float]]:
    """Milliseconds of each call."""
    frame = frame_of(edges)
    graph = nx.from_pandas_edgelist(frame, edge_attr="weight")
    converted = backend.convert_from_nx(graph)
    backend.minimum_spanning_edges(converted, data=False)
    calls: dict[str, dict[str, Any]] = {
        "minimum_spanning_edges": {
            "networkx": lambda: len(list(nx.minimum_spanning_edges.orig_func(graph, data=False))),
            "cold": lambda: len(list(backend.minimum_spanning_edges(backend.convert_from_nx(graph), data=False))),
            "cached": lambda: len(list(backend.minimum_spanning_edges(converted, data=False))),
        },
        "minimum_spanning_tree": {
            "networkx": lambda: len(nx.minimum_spanning_tree.orig_func(graph).edges),
            "cold": lambda: len(backend.minimum_spanning_tree(backend.convert_from_nx(graph)).edges),
            "cached": lambda: len(backend.minimum_spanning_tree(converted).edges),
        },
        "frame to edges": {"networkx": lambda: whole(frame, "networkx"), "frame": lambda: whole(frame, "dfmst")},
    }
    result = {}
    for name, runs in calls.items():
        measured = {}
        if edges >= ONCE:
            taken, value = spent(runs.pop("networkx"))
            measured["networkx"] = Measured([taken], value)
        measured |= interleaved(runs, 3)
        if len({run.value for run in measured.values()}) != 1:
            raise AssertionError(f"{name}: forests of different sizes")
        result[name] = {run: round(1e3 * one.cpu, 2) for run, one in measured.items()}
    return result


def main() -> None:
    chosen = parser(__doc__, "cpu/networkx.json", most=1_000_000).parse_args()
    nx.config.warnings_to_ignore.add("cache")
    result: dict[str, Any] = {"machine": describe("networkx", "pandas"), "milliseconds": {}}
    edges = 100
    while edges <= chosen.most:
        result["milliseconds"][str(edges)] = measure(edges)
        edges *= 10
    print(json.dumps(result["milliseconds"], indent=2))
    write(chosen.output, result)


if __name__ == "__main__":
    main()
