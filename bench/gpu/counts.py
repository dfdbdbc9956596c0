"""The work of a call of Filter-Borůvka on a GPU, counted without one, and an estimate of its time from these counts.

    python bench gpu/counts [-o RESULT.json] [--ny FILE] [--before RESULT.json]

Counted, never measured. Launches, array calls, reads to the host, allocations and rounds come from the stand-in for
CuPy, on the whole graph. Sectors of 32 bytes, atomics and idle lanes come from the kernels' PTX, which an interpreter
runs on a small graph of the same kind; they are scaled by edges. New York's roads are the published graph; every other
one is drawn here with the published numbers of vertices and edges: grids for the roads of the USA, R-MAT (vertices
rounded to a power of two) for links, papers and networks.

The model of the device: a launch or array call takes ``launch`` microseconds, a read to the host ``read``, threads that
wait for each other behind a step ``meeting``; memory serves ``sectors`` a second, and one word as many atomics a second
as the ``clock`` has cycles. Nothing of these overlaps. The model of the host, which works ahead of the device: a call
takes ``host_call`` microseconds, and ``host_launch``, ``host_array`` and ``host_allocation`` more each. The slower of
the two counts. Host times were measured with the real CuPy 14.2 on the driver of ``tests/support/gpu/driver``, where
launches do nothing; the others are assumptions for an H100 or H200. Each has a low and a high end, and so has the
estimate. Caches, and CuPy's own kernels but for their launch, are left out, so that the true time may lie outside.

The result also has the time of raft's port of ECL-MST on an H200, as published in its pull request 3118: from a CSR of
both directions, with ``float32`` weights.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from support.results import BENCH, parser, read, write

sys.path.append(str(BENCH.parent))  # after the installed dfmst: only for the package `tests`

from support.inside import EUCLID, CudaEngine, EdgeTable, Engine, PointRounds, Trace, constants_of, spanning_pairs

from dfmst.algorithms import FilterBoruvka, filter_boruvka
from dfmst.generate import erdos_renyi, rmat, road_grid
from tests.support.gpu import standin
from tests.support.gpu.ptx.counts import Counts
from tests.support.gpu.ptx.modules import Card, real_ptx
from tests.support.gpu.standin import cupy
from tests.support.gpu.standin.cupy import modules

#: Graph -> milliseconds of raft's port on an H200.
PUBLISHED = {
    "internet": 0.296,
    "USA-road-d.NY": 0.378,
    "rmat16": 0.537,
    "citationCiteseer": 0.728,
    "2d-2e20": 1.343,
    "amazon0601": 0.931,
    "as-skitter": 2.819,
    "in-2004": 2.843,
    "coPapersDBLP": 2.570,
    "cit-Patents": 6.450,
    "USA-road-d.USA": 10.166,
    "rmat22": 7.928,
}
#: Graphs drawn by R-MAT -> the power of two next to their vertices, and their edges.
NETWORKS = {
    "internet": (17, 193_620),
    "rmat16": (16, 483_933),
    "citationCiteseer": (18, 1_156_647),
    "amazon0601": (19, 2_443_408),
    "as-skitter": (21, 11_095_298),
    "in-2004": (20, 13_591_473),
    "coPapersDBLP": (19, 15_245_729),
    "cit-Patents": (22, 16_518_947),
    "rmat22": (22, 32_869_788),
}
#: What the model of the device assumes, with its low and high end: microseconds (three times), and counts a second.
DEVICE = {
    "launch": (2.0, 5.0),
    "read": (8.0, 20.0),
    "meeting": (1.0, 3.0),
    "sectors": (170e9, 60e9),
    "clock": (1.7e9, 1.2e9),
}
#: The same of the host, in microseconds.
HOST = {"host_call": (35.0, 70.0), "host_launch": (3.0, 6.0), "host_array": (10.0, 20.0), "host_allocation": (1.4, 3.0)}
MODEL = DEVICE | HOST

Columns = tuple[Any, Any, Any, int]
#: Draws a graph: only one of the whole ones fits some machines at a time.
Draw = Callable[[], Columns]
_SAMPLED = 8000  # edges of a small graph
_POINTS = 1 << 11  # of the small set
_NEIGHBORS = 8


def columns(table: Any, vertices: int) -> Columns:
    """Ends and ``float32`` weights of a table."""
    rng = np.random.default_rng(1)
    source, target = (table[name].to_numpy().astype(np.uint32) for name in table.column_names[:2])
    return source, target, rng.random(len(source), np.float32), vertices


def star(edges: int) -> Columns:
    """One vertex, and an edge to each other."""
    leaves = np.arange(1, edges + 1, dtype=np.uint32)
    return np.zeros_like(leaves), leaves, np.random.default_rng(1).random(edges, np.float32), edges + 1


def path(edges: int) -> Columns:
    """Vertices in a row."""
    first = np.arange(edges, dtype=np.uint32)
    return first, first + np.uint32(1), np.random.default_rng(1).random(edges, np.float32), edges + 1


def network(scale: int, edges: int) -> Columns:
    """The first rows of an R-MAT graph: any number of them is one."""
    table = rmat(scale, -(-edges >> scale) or 1).slice(0, edges)
    return columns(table, 1 << scale)


def sampled_network(scale: int, edges: int) -> Columns:
    """A small R-MAT graph with as many edges a vertex."""
    small = max(1, round(math.log2(_SAMPLED * (1 << scale) / edges)))
    return network(small, edges * (1 << small) >> scale)


def graphs(ny: Path | None) -> dict[str, tuple[Draw, Draw]]:
    """Name -> the whole graph, and a small one of its kind."""
    small_road = partial(columns, road_grid(81, 81, 0.603), 81 * 81)
    side = math.isqrt(23_947_347)
    found: dict[str, tuple[Draw, Draw]] = {
        "2d-2e20": (
            lambda: columns(road_grid(1024, 1024, 1.0), 1 << 20),
            lambda: columns(road_grid(64, 64, 1.0), 4096),
        ),
        "USA-road-d.USA": (lambda: columns(road_grid(side, side, 0.603), side * side), small_road),
        "random": (
            lambda: columns(erdos_renyi(1 << 17, 1 << 20), 1 << 17),
            lambda: columns(erdos_renyi(1 << 10, 1 << 13), 1 << 10),
        ),
        "star": (partial(star, 1 << 18), partial(star, 1 << 12)),
        "path": (partial(path, 1 << 18), partial(path, 1 << 12)),
    }
    for name, size in NETWORKS.items():
        found[name] = partial(network, *size), partial(sampled_network, *size)
    if ny is not None:
        found["USA-road-d.NY"] = partial(roads, ny), small_road
    return dict(sorted(found.items(), key=lambda item: PUBLISHED.get(item[0], 0)))


def roads(file: Path) -> Columns:
    """New York's roads; the file has each in both directions."""
    source, target, weight, _ = columns(pyarrow.parquet.read_table(file), 0)
    once = source < target
    return source[once], target[once], weight[once], 1 + int(target.max())


def solve(engine: Engine, graph: Columns) -> int:
    """Solve a graph whose columns are moved there first; nothing of that is counted. How many rounds it took."""
    source, target, weight = (engine.from_host(column) for column in graph[:3])
    cupy.reset()
    trace = Trace()
    FilterBoruvka().run(engine, EdgeTable(source, target, weight, graph[3]), trace)
    return sum(record["rounds"] for record in trace.records)


def join(engine: Engine, points: Any) -> None:
    """Find the spanning tree of points in the same way."""
    on_device = engine.from_host(points)
    cupy.reset()
    spanning_pairs(engine, on_device, _NEIGHBORS, 0, EUCLID)


def meetings_of_points(engine: Engine, points: Any) -> dict[str, int]:
    """Rounds, which the device alone counts, and how often all threads wait."""
    rounds = PointRounds(engine, engine.from_host(points), None, _NEIGHBORS, 0, EUCLID)
    rounds.run()
    taken, climbs = max(1, int(rounds.words[1])), -(-rounds.tree.depth // constants_of("kd_tree")["CLIMBED"])
    return {"rounds": taken, "meetings": 5 + climbs + taken * (8 + climbs)}


def _calls(rounds: int) -> dict[str, int]:
    """Launches, array calls, reads and allocations of a call."""
    return {
        "launches": len(cupy.cuda.launches),
        "array_calls": len(cupy.traffic.array_calls),
        "reads": len(cupy.traffic.to_host),
        "writes": len(cupy.traffic.to_device),
        "allocations": len(cupy.driver_memory.mallocs),
        "rounds": rounds,
    }


def counted_calls(graph: Columns) -> dict[str, int]:
    """Launches, array calls, reads, allocations and rounds of one call; and how often all threads wait."""
    rounds = solve(CudaEngine(cupy), graph)
    launched = [launch[0] for launch in cupy.cuda.launches]
    meetings = 2 * max(0, rounds - launched.count("join_records")) + sum(map(_meetings, launched))
    return {**_calls(rounds), "meetings": meetings}


def _meetings(launched: str) -> int:
    """How often all threads wait in a launch, but for the rounds of a list."""
    return {"finish_records": 1, "compact_flags": 4}.get(launched.rpartition("_")[0], 0)


def counted_memory(graph: Columns, split: bool = False) -> dict[str, float]:
    """Sectors, atomics and idle lanes an edge, on PTX; with two lists if the density is high enough and `split`."""
    counts, edges = Counts(), len(graph[0])
    sizes = filter_boruvka._SMALL, filter_boruvka._SMALL_DENSE, filter_boruvka._COUNTED
    if split:  # a sample is to be a small part here, too
        filter_boruvka._SMALL, filter_boruvka._SMALL_DENSE, filter_boruvka._COUNTED = 0, 0, 64
    try:
        with real_ptx(Card(observer=counts)) as engine:
            solve(engine, graph)
    finally:
        filter_boruvka._SMALL, filter_boruvka._SMALL_DENSE, filter_boruvka._COUNTED = sizes
    return _memory(counts, edges, "edge")


def counted_points() -> dict[str, Any]:
    """The same of the spanning tree of random points in the plane, without an estimate."""
    counts, (whole, small) = Counts(), (np.random.default_rng(1).random((2, count)) for count in (1 << 17, _POINTS))
    join(CudaEngine(cupy), whole)
    calls = {**_calls(0), **meetings_of_points(CudaEngine(cupy), whole)}
    with real_ptx(Card(observer=counts)) as engine:
        join(engine, small)
    return {"points": whole.shape[1], "calls": calls, "memory": _memory(counts, _POINTS, "point")}


def _memory(counts: Counts, items: int, item: str) -> dict[str, float]:
    return {
        f"{item}s": items,
        f"sectors_loaded_per_{item}": round(counts.sectors["load"] / items, 2),
        f"sectors_stored_per_{item}": round(counts.sectors["store"] / items, 2),
        f"atomics_per_{item}": round(counts.atomics / items, 2),
        "hottest_address_share": round(counts.hottest / max(1, counts.atomics), 4),
        "idle_lane_share": round(counts.idle_share, 3),
    }


def estimate(calls: dict[str, int], memory: dict[str, float], edges: int) -> tuple[float, float]:
    """Milliseconds by the model: low and high end."""
    per_edge = sum(memory[f"{name}_per_edge"] for name in ("sectors_loaded", "sectors_stored", "atomics"))
    hot = memory["atomics_per_edge"] * memory["hottest_address_share"]
    ends = []
    for end in (0, 1):
        one = {name: both[end] for name, both in MODEL.items()}
        device = one["launch"] * (calls["launches"] + calls["array_calls"]) + one["meeting"] * calls["meetings"]
        device += 1e6 * edges * (per_edge / one["sectors"] + hot / one["clock"])
        host = one["host_call"] + one["host_launch"] * calls["launches"] + one["host_array"] * calls["array_calls"]
        host += one["host_allocation"] * calls["allocations"]
        ends.append(round(1e-3 * (max(host, device) + one["read"] * calls["reads"]), 3))
    return ends[0], ends[1]


def counted(name: str, whole: Draw, small: Draw, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """The record of a graph, with the counts of an earlier one and their estimate by the same model."""
    graph = whole()
    calls, edges = counted_calls(graph), len(graph[0])
    memory = counted_memory(small(), FilterBoruvka()._light_share(edges, graph[3]) is not None)
    record: dict[str, Any] = {
        "drawn": name != "USA-road-d.NY",
        "edges": edges,
        "vertices": graph[3],
        "calls": calls,
        "memory": memory,
        "estimated_ms": estimate(calls, memory, edges),
    }
    if before is not None:
        calls, memory = before["calls"], before["memory"]
        record["before"] = {"calls": calls, "memory": memory, "estimated_ms": estimate(calls, memory, edges)}
    if name in PUBLISHED:
        record["published_ms_of_raft_port"] = PUBLISHED[name]
    return record


def main() -> None:
    options = parser(__doc__, "gpu_counts.json")
    options.add_argument("--ny", type=Path, help="the graph of New York's roads, as Parquet")
    options.add_argument("--before", type=Path, help="an earlier result, of which the counts are shown as well")
    options.add_argument("--points", action="store_true", help="count those of points only, and keep the graphs")
    chosen = options.parse_args()
    earlier = {} if chosen.before is None else read(chosen.before)["graphs"]
    result: dict[str, Any] = read(chosen.output) if chosen.points else {"model": MODEL, "graphs": {}}
    modules._GRAIN = 1 << 12  # its few indices at a time are for tests
    with standin.installed():
        result["points"] = counted_points()
        print("points", json.dumps(result["points"]), flush=True)
        for name, draws in () if chosen.points else graphs(chosen.ny).items():
            result["graphs"][name] = record = counted(name, *draws, earlier.get(name))
            print(name, json.dumps(record), flush=True)
    write(chosen.output, result)
