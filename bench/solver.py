"""The solver from arrays: beside SciPy, by thread, and step by step beside the bytes that a step has to move.

    python bench/solver.py [--graphs road1M,er1M] [--repeat 7] [-o RESULT.json]

``uint32`` ids, ``uint32`` weights (ranks, so that none are equal) and ``float32`` weights. One isolated vertex is
added, so that no scan may end with the last join of a connected graph.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from graphs import GRAPHS, Graph
from machine import describe
from timing import interleaved

from dfmst._columns.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst.algorithms import resolve
from dfmst.algorithms.trace import Trace
from dfmst.arrays import forest_rows

RESULT = Path(__file__).parent / "results" / "cpu" / "solver.json"
LINE = 64  # bytes that memory hands over at least


def ranks(weight: Any) -> Any:
    """Distinct ``uint32`` weights in the same order."""
    rank = np.empty(len(weight), np.uint32)
    rank[np.argsort(weight, kind="stable")] = np.arange(len(weight), dtype=np.uint32)
    return rank


def run_scipy(source: Any, target: Any, weight: Any, vertices: int) -> Any:
    """scipy.sparse.csgraph from arrays."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    matrix = coo_array((weight, (source, target)), shape=(vertices, vertices))
    return minimum_spanning_tree(matrix.tocsr()).data


def beside_scipy(graph: Graph, weight: Any, repeat: int) -> dict[str, Any]:
    """Seconds on 2 threads, on 1, and SciPy's; the weights agree."""
    u, v, n = graph.source.astype(np.uint32), graph.target.astype(np.uint32), graph.vertices + 1
    shifted = weight.astype(np.float64) + 1  # SciPy takes a zero for no edge
    measured = interleaved(
        {
            "dfmst": lambda: forest_rows(u, v, weight, n=n, threads=2),
            "dfmst, 1 thread": lambda: forest_rows(u, v, weight, n=n, threads=1),
            "scipy": lambda: run_scipy(u, v, shifted, n),
        },
        repeat,
    )
    ours, theirs = math.fsum(shifted[measured["dfmst"].value]), math.fsum(measured["scipy"].value)
    if not math.isclose(ours, theirs, rel_tol=1e-9):
        message = f"scipy found weight {theirs}, dfmst {ours}"
        raise AssertionError(message)
    seconds = {name: run.seconds for name, run in measured.items()}
    return {
        "median_seconds": {name: round(value, 4) for name, value in seconds.items()},
        "times_faster_than_scipy": round(seconds["scipy"] / seconds["dfmst"], 1),
        "times_faster_than_one_thread": round(seconds["dfmst, 1 thread"] / seconds["dfmst"], 2),
    }


def step_bytes(record: dict[str, Any], survivors: int, id_bytes: int, key_bytes: int) -> dict[str, float]:
    """Bytes that a level's steps have to bring from memory or to it; what caches hold between steps counts once."""
    edges, light, vertices = record["edges"], record["light"], record["vertices"]

    def sparse(taken: int, width: int) -> float:
        """Entries spread over a column come with the rest of their cache line."""
        per_line = LINE / width
        return edges * width * (1 - (1 - taken / edges) ** per_line) if edges else 0.0

    return {
        "threshold": 0.0,
        "select": edges * key_bytes + edges / 8,
        "sort": sparse(light, key_bytes) + 2 * sparse(light, id_bytes) + light * (4 + 3 * key_bytes + 16),
        "scan": light * 3 * 16 + vertices * 8 + edges / 8,
        "label": vertices * 3 * 4,
        "filter": edges * 2 * id_bytes + edges / 4,
        "compact": 2 * sparse(survivors, id_bytes) + sparse(survivors, key_bytes) + survivors * (16 + key_bytes),
    }


def by_step(graph: Graph, columns: tuple[Any, Any, Any], bandwidth: float, repeat: int) -> dict[str, Any]:
    """Milliseconds of every step of ``auto`` on 2 threads, all levels, beside bytes / bandwidth."""
    table = EdgeTable(*columns, graph.vertices + 1)
    engine = CpuEngine(2).in_scratch()  # as the public functions do
    traces = []
    for _ in range(repeat + 1):
        trace = Trace()
        resolve("auto", engine, table).run(engine, table, trace)
        traces.append(trace.records)
    names = [name for name in traces[0][0] if name.startswith("seconds_")]
    spent = {
        name[8:]: statistics.median(sum(record.get(name, 0.0) for record in trace) for trace in traces[1:])
        for name in names
    }
    bound: dict[str, float] = dict.fromkeys(spent, 0.0)
    records = traces[0]
    for record, following in zip(records, [*records[1:], {"edges": 0}], strict=True):
        widths = (table.source.dtype.itemsize if record is records[0] else 4, table.weight.dtype.itemsize)
        for name, moved in step_bytes(record, following["edges"], *widths).items():
            if f"seconds_{name}" in record:
                bound[name] += moved / bandwidth
    return {name: {"ms": round(spent[name] * 1e3, 2), "bound_ms": round(bound[name] * 1e3, 2)} for name in spent} | {
        "sum": {"ms": round(sum(spent.values()) * 1e3, 2), "bound_ms": round(sum(bound.values()) * 1e3, 2)}
    }


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    chosen = parser.parse_args()
    machine = describe("scipy")
    result: dict[str, Any] = {"machine": machine, "graphs": {}}
    bandwidth = machine["read_gb_per_s"][2] * 1e9
    for name in chosen.graphs.split(","):
        graph = GRAPHS[name]()
        u, v = graph.source.astype(np.uint32), graph.target.astype(np.uint32)
        rank, single = ranks(graph.weight), graph.weight.astype(np.float32)
        ids = graph.source.view(np.uint64), graph.target.view(np.uint64)
        result["graphs"][name] = {
            "uint32 weights": beside_scipy(graph, rank, chosen.repeat),
            "float32 weights": beside_scipy(graph, single, chosen.repeat),
            "steps, uint32 ids, float32 weights": by_step(graph, (u, v, single), bandwidth, chosen.repeat),
            "steps, int64 ids, float64 weights": by_step(graph, (*ids, graph.weight), bandwidth, chosen.repeat),
        }
        print(name, json.dumps(result["graphs"][name]), flush=True)
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
