"""dfmst on a GPU: device time from edge columns to row ids, next to ECL-MST if the caller has built it.

    python bench gpu/speed [--ecl-mst PROGRAM] [--graphs rmat22,grid-2e20] [--light 2] [--seconds 200] [-o FOLDER]

Every graph is solved with ``float32``, ``float64`` and ``int64`` weights of one order: the median of nine runs after
three, between CUDA events and by the host's clock, the cache overwritten before each. The launches of one more run are
timed one by one and compared with the bytes that each must move, and the bandwidth of a copy on the device.

ECL-MST (Fallin, Gonzalez, Seo, Burtscher 2023) is a program that the caller builds; its path is given. It solves the
same graph with ``int32`` weights, and its time is the one that it prints: from a symmetric CSR on the device to a mask,
by the host's clock, and is compared with ours by that clock. To build it with CUDA 13, delete the two fields that
it prints and CUDA 13 no longer has: ``clockRate`` and ``memoryClockRate``.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

from support.inside import Engine, Trace, select_engine
from support.machine import describe_device
from support.results import parser, write

from dfmst.algorithms import FilterBoruvka
from gpu import ecl, in_time, measured
from gpu.graphs import GRAPHS, DeviceGraph, generate
from gpu.timing import TimedEngine, copy_bandwidth, milliseconds, spread

DTYPES = ("float32", "float64", "int64")
ECL_RUNS = 3
TIMES_CACHE = 4  # bytes written between runs, as a multiple of the second-level cache


def measure(
    engine: Engine, graph: DeviceGraph, dtype: str, options: argparse.Namespace, bandwidth: float, flush: Any
) -> dict[str, Any]:
    """Times of whole runs, and of the launches of one."""
    table, algorithm = graph.table(dtype), FilterBoruvka(options.light)

    def run() -> object:
        return algorithm.run(engine, table, Trace())

    times = milliseconds(engine.xp, run, options.repeat, options.warm_up, flush)
    timed, trace = TimedEngine(engine), Trace()
    flush.fill(0)
    rows = algorithm.run(timed, table, trace)
    steps = timed.steps(bandwidth)
    record = spread(times.device)
    needed = sum(step["gigabytes"] for step in steps.values()) * 1e9
    median = record["milliseconds"] or math.inf
    return {
        **record,
        "wall": spread(times.wall),
        "rows": len(rows),
        "edges_per_second": round(len(table) / median * 1e3),
        "bandwidth_bound_ms": round(needed / bandwidth * 1e3, 4),
        "share_of_bound": round(needed / bandwidth * 1e3 / median, 3),
        "rounds": [{name: record[name] for name in ("edges", "taken", "rounds", "chosen")} for record in trace.records],
        "steps": steps,
    }


def beside_ecl(engine: Engine, graph: DeviceGraph, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """ECL-MST's times on the same graph."""
    with tempfile.TemporaryDirectory(prefix="dfmst-ecl-") as folder:
        path = Path(folder) / "graph.egr"
        ecl.write(engine, graph, path)
        return ecl.measure(options.ecl_mst, path, len(graph), ECL_RUNS, seconds)


def measure_graph(
    engine: Engine, name: str, options: argparse.Namespace, bandwidth: float, flush: Any, seconds: float
) -> dict[str, Any]:
    """One graph: every weight type, and ECL-MST."""
    graph = generate(engine, name, options.shrink)
    record: dict[str, Any] = {"vertices": graph.vertices, "edges": len(graph), "weights": {}}
    for dtype in DTYPES:
        record["weights"][dtype] = measure(engine, graph, dtype, options, bandwidth, flush)
    if options.ecl_mst is not None:
        record["ecl_mst"] = theirs = beside_ecl(engine, graph, options, seconds)
        if "milliseconds" in theirs:
            record["times_faster_than_ecl_mst"] = {
                dtype: round(theirs["milliseconds"] / max(ours["wall"]["milliseconds"], 1e-6), 3)
                for dtype, ours in record["weights"].items()
            }
    return record


def summary(graphs: dict[str, Any]) -> dict[str, Any]:
    """Geometric mean and least of the ratios, by weight type and over all."""
    compared = [
        record["times_faster_than_ecl_mst"] for record in graphs.values() if "times_faster_than_ecl_mst" in record
    ]
    ratios = {dtype: [one[dtype] for one in compared] for dtype in DTYPES}
    ratios["all"] = [ratio for dtype in DTYPES for ratio in ratios[dtype]]
    return {
        name: {"geometric_mean": round(math.exp(math.fsum(map(math.log, found)) / len(found)), 3), "least": min(found)}
        for name, found in ratios.items()
        if found
    }


def arguments() -> argparse.Namespace:
    """The command line."""
    options = parser(__doc__, "", graphs=",".join(GRAPHS), repeat=9, warm_up=3)
    options.add_argument("--ecl-mst", type=Path, metavar="PROGRAM", help="a program of yours that solves an .egr file")
    options.add_argument("--shrink", type=int, default=0, help="divide the graphs' sizes by 2 to this power")
    options.add_argument("--light", type=float, help="as FilterBoruvka's")
    options.add_argument("--seconds", type=float, default=math.inf, help="begin no graph after this time")
    return options.parse_args()


def main() -> int:
    options, begin = arguments(), time.monotonic()
    engine = select_engine("cuda")
    device = describe_device(engine.xp)
    bandwidth = copy_bandwidth(engine.xp, 2.0 / (1 << options.shrink))
    flush = engine.xp.empty(max(1 << 20, int(TIMES_CACHE * 1e6 * device["l2_mb"])) >> options.shrink, "uint8")
    result: dict[str, Any] = {"device": device, "copy_gb_per_s": round(bandwidth / 1e9, 1), "graphs": {}}
    result["not_begun"] = options.graphs.split(",")
    path = options.output / device["folder"] / "gpu.json"

    def measure_next() -> dict[str, Any]:
        left = options.seconds - (time.monotonic() - begin)
        return measure_graph(engine, result["not_begun"][0], options, bandwidth, flush, min(60.0, left))

    for record in in_time((measure_next() for _ in result["not_begun"][:]), options.seconds):
        name = result["not_begun"].pop(0)
        result["graphs"][name] = record
        result["times_faster_than_ecl_mst"] = summary(result["graphs"])
        write(path, result)
        shown = {dtype: ours["milliseconds"] for dtype, ours in record["weights"].items()}
        print(name, json.dumps(shown), json.dumps(record.get("ecl_mst", {}).get("milliseconds")), flush=True)
    return measured([*result["graphs"]], result["not_begun"])
