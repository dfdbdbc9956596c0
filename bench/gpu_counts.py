"""What a call of Filter-Borůvka asks of a GPU, counted without one, and an estimate of its time from these counts.

    python bench/gpu_counts.py [-o FOLDER] [--ny FILE]

Counted, never measured. Launches, array calls, reads to the host and allocations come from the stand-in for CuPy, on
the whole graph. Sectors of 32 bytes, atomics and idle lanes come from the kernels' PTX, which an interpreter runs on a
small graph of the same kind; they are scaled by edges.

The model: a launch or array call takes ``launch`` microseconds, a read to the host ``read``, and memory serves
``sectors`` a second; nothing overlaps. Its three numbers are assumptions for an H100 or H200, each with a low and a
high end, and the estimate has both ends. Caches, CuPy's own kernels but for their launch, and threads that wait for one
address are left out, so that the true time may lie outside. Beside it stands the time of raft's port of ECL-MST on an
H200, as published in its pull request 3118: from a CSR of both directions, with ``float32`` weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # behind the installed dfmst: for the package `tests` alone

from dfmst._columns.edge_table import EdgeTable  # noqa: E402
from dfmst._engines import CudaEngine, Engine  # noqa: E402
from dfmst.algorithms import FilterBoruvka  # noqa: E402
from dfmst.algorithms.trace import Trace  # noqa: E402
from dfmst.generate import erdos_renyi, rmat, road_grid  # noqa: E402
from tests.support import standin  # noqa: E402
from tests.support.ptx.counts import Counts  # noqa: E402
from tests.support.ptx.modules import Card, real_ptx  # noqa: E402
from tests.support.standin import cupy  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "gpu_counts.json"
#: Graph -> milliseconds of raft's port on an H200.
PUBLISHED = {"rmat16": 0.537, "2d-2e20": 1.343, "USA-road-d.NY": 0.378}
#: What the model assumes, with its low and high end: microseconds, microseconds, sectors a second.
MODEL = {"launch": (2.0, 5.0), "read": (8.0, 20.0), "sectors": (170e9, 60e9)}

Columns = tuple[Any, Any, Any, int]


def columns(table: Any, vertices: int) -> Columns:
    """Ends and ``float32`` weights of a table."""
    rng = np.random.default_rng(1)
    source, target = (table[name].to_numpy().astype(np.uint32) for name in table.column_names[:2])
    return source, target, rng.random(len(source), np.float32), vertices


def star(edges: int) -> Columns:
    """One vertex beside all others."""
    rng = np.random.default_rng(1)
    return (
        np.zeros(edges, np.uint32),
        np.arange(1, edges + 1, dtype=np.uint32),
        rng.random(edges, np.float32),
        edges + 1,
    )


def path(edges: int) -> Columns:
    """Vertices in a row."""
    first = np.arange(edges, dtype=np.uint32)
    return first, first + np.uint32(1), np.random.default_rng(1).random(edges, np.float32), edges + 1


def graphs(ny: Path | None) -> dict[str, tuple[Columns, Columns]]:
    """Name -> the whole graph, and a small one of its kind."""
    small_grid = columns(road_grid(64, 64, 1.0), 64 * 64)
    found = {
        "rmat16": (columns(rmat(16, 8), 1 << 16), columns(rmat(10, 8), 1 << 10)),
        "2d-2e20": (columns(road_grid(1024, 1024, 1.0), 1 << 20), small_grid),
        "random": (columns(erdos_renyi(1 << 17, 1 << 20), 1 << 17), columns(erdos_renyi(1 << 10, 1 << 13), 1 << 10)),
        "star": (star(1 << 18), star(1 << 12)),
        "path": (path(1 << 18), path(1 << 12)),
    }
    if ny is not None:
        source, target, weight, _ = columns(pyarrow.parquet.read_table(ny), 0)
        once = source < target  # the file has every road in both directions
        found["USA-road-d.NY"] = (source[once], target[once], weight[once], 1 + int(target.max())), small_grid
    return found


def solve(engine: Engine, graph: Columns) -> int:
    """Solve a graph whose columns are moved there first; nothing of that is counted."""
    source, target, weight = (engine.from_host(column) for column in graph[:3])
    cupy.reset()
    rows = FilterBoruvka().run(engine, EdgeTable(source, target, weight, graph[3]), Trace())
    return len(rows)


def counted_calls(graph: Columns) -> dict[str, int]:
    """Launches, array calls, reads and allocations of one call."""
    solve(CudaEngine(cupy), graph)
    return {
        "launches": len(cupy.cuda.launches),
        "array_calls": len(cupy.traffic.array_calls),
        "reads": len(cupy.traffic.to_host),
        "writes": len(cupy.traffic.to_device),
        "allocations": len(cupy.driver_memory.mallocs),
    }


def counted_memory(graph: Columns) -> dict[str, float]:
    """Sectors, atomics and idle lanes an edge, on PTX."""
    counts, edges = Counts(), len(graph[0])
    with real_ptx(Card(observer=counts)) as engine:
        solve(engine, graph)
    return {
        "edges": edges,
        "sectors_loaded_per_edge": round(counts.sectors["load"] / edges, 2),
        "sectors_stored_per_edge": round(counts.sectors["store"] / edges, 2),
        "atomics_per_edge": round(counts.atomics / edges, 2),
        "hottest_address_share": round(counts.hottest / max(1, counts.atomics), 4),
        "idle_lane_share": round(counts.idle_share, 3),
    }


def estimate(calls: dict[str, int], memory: dict[str, float], edges: int) -> tuple[float, float]:
    """Milliseconds by the model: low and high end."""
    per_edge = sum(memory[f"{name}_per_edge"] for name in ("sectors_loaded", "sectors_stored", "atomics"))
    ends = []
    for launch, read, sectors in zip(*MODEL.values(), strict=True):
        microseconds = launch * (calls["launches"] + calls["array_calls"]) + read * calls["reads"]
        ends.append(round(1e-3 * microseconds + 1e3 * edges * per_edge / sectors, 3))
    return ends[0], ends[1]


def main() -> None:
    """Count, estimate and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    parser.add_argument("--ny", type=Path, help="the graph of New York's roads, as Parquet")
    options = parser.parse_args()
    result: dict[str, Any] = {"model": MODEL, "graphs": {}}
    with standin.installed():
        for name, (whole, small) in graphs(options.ny).items():
            calls, memory, edges = counted_calls(whole), counted_memory(small), len(whole[0])
            low, high = estimate(calls, memory, edges)
            told = {"edges": edges, "calls": calls, "memory": memory, "estimated_ms": [low, high]}
            if name in PUBLISHED:
                told["published_ms_of_raft_port"] = PUBLISHED[name]
            result["graphs"][name] = told
            print(name, json.dumps(told), flush=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
