"""The solver from arrays next to SciPy, by thread, and step by step next to the bytes that a step has to move.

    python bench solver/steps [--graphs road1M,er4M] [--edges FILE.parquet ...] [--repeat 7] [-o RESULT.json]

``uint32`` ids, ``uint32`` weights (ranks, so that none are equal) and ``float32`` weights; then ``int64`` ids and
``float64`` weights, as arrays and in a pandas frame. Ratios of the three are of the least times.

For SciPy and the steps, one isolated vertex is added, so that no scan ends early with the last join of a connected
graph. ``--edges`` adds files with a source, a target and a weight as their first three columns.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from support.graphs import GRAPHS, Graph, graph_of, ranks, scipy_weights
from support.inside import CpuEngine, EdgeTable, Trace
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved

import dfmst
from dfmst.algorithms.solve import resolve
from dfmst.arrays import forest_rows

LINE = 64  # bytes of a cache line


def beside_scipy(graph: Graph, weight: Any, repeat: int) -> dict[str, Any]:
    """Seconds on 2 threads, on 1, and SciPy's; the weights agree."""
    u, v, n = graph.source.astype(np.uint32), graph.target.astype(np.uint32), graph.vertices + 1
    shifted = weight.astype(np.float64) + 1  # SciPy drops edges of weight zero
    measured = interleaved(
        {
            "dfmst": lambda: forest_rows(u, v, weight, threads=2),
            "dfmst, 1 thread": lambda: forest_rows(u, v, weight, threads=1),
            "scipy": lambda: scipy_weights(u, v, shifted, n),
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
        "least_seconds": {name: round(run.least_seconds, 4) for name, run in measured.items()},
        "times_faster_than_scipy": round(seconds["scipy"] / seconds["dfmst"], 1),
        "times_faster_than_one_thread": round(seconds["dfmst, 1 thread"] / seconds["dfmst"], 2),
    }


def widths(graph: Graph, repeat: int) -> dict[str, Any]:
    """Least and median milliseconds of columns of 32 and of 64 bits, and of a pandas frame, on 1 and 2 threads."""
    narrow = graph.source.astype(np.uint32), graph.target.astype(np.uint32), graph.weight.astype(np.float32)
    frame = pd.DataFrame({"source": graph.source, "target": graph.target, "weight": graph.weight})
    calls: dict[str, Callable[[int], Any]] = {
        "32 bits": lambda threads: forest_rows(*narrow, threads=threads),
        "64 bits": lambda threads: forest_rows(*graph[:3], threads=threads),
        "pandas": lambda threads: dfmst.minimum_spanning_forest(frame, threads=threads),
    }
    runs = {f"{name}, {threads} threads": partial(call, threads) for threads in (1, 2) for name, call in calls.items()}
    found = interleaved(runs, repeat)
    return {
        name: {
            "least_ms": round(1e3 * run.least_seconds, 2),
            "median_ms": round(1e3 * run.seconds, 2),
            "least_cpu_ms": round(1e3 * run.least_cpu, 2),
            "ratio_of_cpu": round(run.least_cpu / found[f"32 bits, {name[-9:]}"].least_cpu, 2),
        }
        for name, run in found.items()
    }


def step_bytes(record: dict[str, Any], survivors: int, id_bytes: int, key_bytes: int) -> dict[str, float]:
    """Bytes that a level's steps move from or to memory; data that caches hold between steps counts once."""
    edges, light, vertices = record["edges"], record["light"], record["vertices"]

    def sparse(taken: int, width: int) -> float:
        """Entries spread over a column come with the rest of their cache line."""
        per_line = LINE / width
        return edges * width * (1 - (1 - taken / edges) ** per_line) if edges else 0.0

    taken = sparse(survivors, key_bytes) + survivors * (16 + key_bytes) + edges / 8
    return {
        "threshold": 0.0,
        "select": edges * key_bytes + edges / 8,
        "sort": sparse(light, key_bytes) + 2 * sparse(light, id_bytes) + light * (4 + 3 * key_bytes + 16),
        "scan": light * 3 * 16 + vertices * 8 + edges / 8,
        "label": vertices * 3 * 4,
        "filter": edges * 2 * id_bytes + edges / 4 if "seconds_compact" in record else edges * 2 * id_bytes + taken,
        "compact": 2 * sparse(survivors, id_bytes) + taken,
    }


def by_step(graph: Graph, columns: tuple[Any, Any, Any], bandwidth: float, repeat: int) -> dict[str, Any]:
    """Milliseconds of every step of ``auto`` on 2 threads, all levels, next to bytes / bandwidth."""
    table = EdgeTable(*columns, graph.vertices + 1)
    engine = CpuEngine(2).in_scratch()  # as the public functions do
    traces = []
    for _ in range(repeat + 1):
        trace = Trace()
        resolve("auto", engine).run(engine, table, trace)
        traces.append(trace.records)
    names = dict.fromkeys(name for record in traces[0] for name in record if name.startswith("seconds_"))
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
    options = parser(__doc__, "cpu/solver.json", graphs=",".join(GRAPHS), repeat=7)
    options.add_argument("--edges", type=Path, nargs="*", default=[])
    chosen = options.parse_args()
    machine = describe("scipy")
    result: dict[str, Any] = {"machine": machine, "graphs": {}}
    bandwidth = machine["read_gb_per_s"][2] * 1e9
    for given in [*filter(None, chosen.graphs.split(",")), *map(str, chosen.edges)]:
        name, graph = Path(given).stem, graph_of(given)
        u, v = graph.source.astype(np.uint32), graph.target.astype(np.uint32)
        rank, single = ranks(graph.weight), graph.weight.astype(np.float32)
        ids = graph.source.view(np.uint64), graph.target.view(np.uint64)
        result["graphs"][name] = {
            "uint32 weights": beside_scipy(graph, rank, chosen.repeat),
            "float32 weights": beside_scipy(graph, single, chosen.repeat),
            "columns of 32 and 64 bits": widths(graph, chosen.repeat),
            "steps, uint32 ids, float32 weights": by_step(graph, (u, v, single), bandwidth, chosen.repeat),
            "steps, int64 ids, float64 weights": by_step(graph, (*ids, graph.weight), bandwidth, chosen.repeat),
        }
        print(name, json.dumps(result["graphs"][name]), flush=True)
        write(chosen.output, result)
