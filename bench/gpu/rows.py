"""Whether the GPU's rows are the CPU's, for as many algorithms and graphs as the time allows.

    python bench gpu/rows [--shrink 0] [--seconds 110] [--each 6] [--seed 7] [--no-pool] [-o FOLDER]

The CPU's rows are Filter-Kruskal's. Filter-Borůvka solves every graph at full size, for three weight types; every
other algorithm first solves two small versions, and the full one if these predict less than ``--each`` seconds. The
others are recorded as left out, and so is ``dataframe`` if cuDF is not installed. Every run draws other weights: the
seed is printed and recorded. Exit code 1 if any rows differ, or if an algorithm fails, which does not stop the others;
75 if the time was too short for some. The last line counts all of these.
"""

from __future__ import annotations

import argparse
import json
import math
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from support.inside import CpuEngine, EdgeTable, Engine, Trace, select_engine
from support.machine import describe_device
from support.results import parser, write

from dfmst.algorithms import REGISTRY, Algorithm, FilterKruskal
from gpu import IN_PART, in_time
from gpu.graphs import DeviceGraph, generate

SMALL, SMALLER = 5, 8  # how often a graph is halved for the two small versions
DTYPES = ("float32", "float64", "int64")
FIRST = "filter-boruvka"
WEIGHTS = "float64"  # of all other algorithms
NEEDS = {"dataframe": "cudf"}  # libraries that algorithms need on a GPU


def _ties(engine: Engine, shrink: int) -> DeviceGraph:
    graph = generate(engine, "rmat22", shrink)
    return replace(graph, drawn=engine.xp.full(len(graph), 0.5, np.float64))


def _path(engine: Engine, shrink: int) -> DeviceGraph:
    xp, vertices = engine.xp, (1 << 22) >> shrink
    first = xp.arange(vertices - 1, dtype=np.uint32)
    # In ascending order all of the path joins up in one round, which makes the longest chains.
    return DeviceGraph(first, first + np.uint32(1), first.astype(np.float64) / vertices, vertices)


def _named(name: str, halvings: int = 0) -> Callable[[Engine, int], DeviceGraph]:
    return lambda engine, shrink: generate(engine, name, shrink + halvings)


GRAPHS: dict[str, Callable[[Engine, int], DeviceGraph]] = {
    "rmat22": _named("rmat22"),
    "erdos-renyi": _named("er-16m-128m", 2),
    "road-grid": _named("road-24m-29m", 2),
    "dense": _named("dense-10k-10m"),
    "ties-only": _ties,
    "path": _path,
}

ORDERED = ("ties-only", "path")  # of which the weights are the point


def host_rows(engine: Engine, table: EdgeTable) -> Any:
    """Rows that the CPU finds."""
    source, target, weight = (engine.to_host(column) for column in (table.source, table.target, table.weight))
    return FilterKruskal().run(CpuEngine(), EdgeTable(source, target, weight, table.vertices), Trace())


def equal(engine: Engine, algorithm: Algorithm, table: EdgeTable, expected: Any) -> dict[str, Any]:
    """Run an algorithm; whether its rows are those expected (not if it failed), and in how many seconds."""
    begin, found = time.perf_counter(), dict[str, Any]()
    try:
        with engine.guard():
            found["equal"] = bool(np.array_equal(engine.to_host(algorithm.run(engine, table, Trace())), expected))
    except Exception as error:  # recorded: the other algorithms run all the same
        found["error"] = f"{type(error).__name__}: {error}"
    return {"edges": len(table), **found, "seconds": round(time.perf_counter() - begin, 4)}


def fresh(engine: Engine, name: str, shrink: int, seed: int) -> DeviceGraph:
    """Return a graph with its weights in an order that a seed decides."""
    graph = GRAPHS[name](engine, shrink)
    if name in ORDERED:
        return graph
    order = np.random.default_rng(seed).permutation(len(graph)).astype(np.uint32)
    return replace(graph, drawn=graph.drawn[engine.from_host(order)])


def promise(smaller: float, small: float) -> float:
    """Seconds at full size, from those at two small ones: at least in proportion to the edges."""
    growth = math.log(max(small / max(smaller, 1e-6), 1e-6)) / math.log(1 << SMALLER - SMALL)
    return float(small * (1 << SMALL) ** min(max(1.0, growth), 2.0))


def others(
    engine: Engine, name: str, options: argparse.Namespace, full: tuple[EdgeTable, Any]
) -> Iterator[dict[str, Any]]:
    """All algorithms but the first, on small versions, and at full size if they predict that it is quick."""
    versions = []
    for halvings in (SMALLER, SMALL):
        table = fresh(engine, name, options.shrink + halvings, options.seed).table(WEIGHTS)
        versions.append((table, host_rows(engine, table)))
    for algorithm in REGISTRY:
        if algorithm == FIRST:
            continue
        needed_library = NEEDS.get(algorithm)
        if needed_library is not None and not installed(needed_library):
            yield {"graph": name, "algorithm": algorithm, "left_out": f"needs {needed_library}"}
            continue
        found = [equal(engine, REGISTRY[algorithm](), *version) for version in (versions[0], *versions)]
        needed = promise(found[-2]["seconds"], found[-1]["seconds"])
        record = {"graph": name, "algorithm": algorithm, "weights": WEIGHTS}
        if needed <= options.each:
            found.append(equal(engine, REGISTRY[algorithm](), *full))
        else:
            record["left_out"] = f"full size would take about {needed:.0f} s"
        record |= {name: value for one in found for name, value in one.items() if name != "equal"}
        yield record | ({} if "error" in record else {"equal": all(one["equal"] for one in found)})


def installed(library: str) -> bool:
    """Whether a library can be imported."""
    return library in sys.modules or find_spec(library) is not None


def check(engine: Engine, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a record for each graph, algorithm and weight type: first the first algorithm on every graph."""
    solved = {}
    for name in GRAPHS:
        graph = fresh(engine, name, options.shrink, options.seed)
        for dtype in DTYPES:
            table = graph.table(dtype)
            expected = host_rows(engine, table)
            found = equal(engine, REGISTRY[FIRST](), table, expected)
            yield {"graph": name, "algorithm": FIRST, "weights": dtype, **found}
            if dtype == WEIGHTS:
                solved[name] = table, expected
    for name, full in solved.items():
        yield from others(engine, name, options, full)


def main() -> int:
    options = parser(__doc__, "")
    options.add_argument("--shrink", type=int, default=0, help="divide the graphs' sizes by 2 to this power")
    options.add_argument("--seconds", type=float, default=math.inf, help="begin nothing after this time")
    options.add_argument("--each", type=float, default=6.0, help="seconds that an algorithm may take at full size")
    options.add_argument("--seed", type=int, help="of the weights (default: a new one)")
    options.add_argument("--no-pool", action="store_true", help="every array in memory of its own, for memcheck")
    chosen = options.parse_args()
    chosen.seed = secrets.randbelow(1 << 31) if chosen.seed is None else chosen.seed
    engine = select_engine("cuda")
    if chosen.no_pool:
        engine.xp.cuda.set_allocator(None)
    device = describe_device(engine.xp)
    result: dict[str, Any] = {"device": device, "seed": chosen.seed, "complete": False, "rows": []}
    path = chosen.output / device["folder"] / "rows.json"
    for record in in_time(check(engine, chosen), chosen.seconds):
        result["rows"].append(record)
        print(json.dumps(record), flush=True)
        write(path, result)
    missing = len(GRAPHS) * (len(DTYPES) + len(REGISTRY) - 1) - len(result["rows"])
    result["complete"] = not missing
    write(path, result)
    return _conclude(result["rows"], missing, chosen.seed)


def _conclude(records: list[dict[str, Any]], missing: int, seed: int) -> int:
    """Print how many runs were compared, and how many not and why, as the last line, and return the exit code."""
    equal, different = (sum(record.get("equal") is which for record in records) for which in (True, False))
    failed = sum("error" in record for record in records)
    left_out = len(records) - equal - different - failed
    counted = f"{equal + different} compared, {different} differ, {failed} failed, {left_out} left out"
    print(f"{counted}, {missing} not begun or not finished; seed: {seed}", flush=True)
    return 1 if different or failed else IN_PART if missing else 0
