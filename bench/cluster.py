"""Forests on a cluster of two one-thread workers: CPU-seconds, bytes moved and peak memory, next to those of `plan`.

    python bench/cluster.py FOLDER [-o RESULT.json] [--only NAME]... [--busy] [--replan]    # all: 6 minutes

Graphs are written to FOLDER as Parquet files and left there for the next call. Each call adds its runs to one result
file. With --busy, for a machine that does other work as well, wall times are left out; --replan only computes the
plans again. The large graph is Erdős–Rényi with 2 M vertices and 96 M rows in 48 files.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from support.files import PLAIN, random_tables, write_files
from support.machine import describe
from support.results import BUSY, parser, read, write
from support.runs import RUNS, measure
from support.workers import forest_on_workers

import dfmst
from dfmst import generate

MEMORY = 3 << 30


class Files(NamedTuple):
    """The size of a graph, its kind of ids, and their bytes as `dfmst.plan` counts them."""

    vertices: int
    rows: int
    files: int
    kind: str = "dense"
    id_bytes: int = 4


GRAPHS = {
    "er2M": Files(2_000_000, 96_000_000, 48),
    "er1M": Files(1_000_000, 10_000_000, 10),
    "er1M-sparse": Files(1_000_000, 10_000_000, 10, "sparse", 8),
    "er1M-text": Files(1_000_000, 10_000_000, 10, "text", 23),
    "er4M": Files(4_000_000, 24_000_000, 24),
    # Forests that fit workers of 300 MB, and a merge of two that does not: 1.4 GB of edges.
    "er400k": Files(400_000, 60_000_000, 1000),
    "rmat20": Files(1 << 20, 16 << 20, 16),
    "dense100k": Files(100_000, 12_000_000, 12),
}
KNOWN = [f"er2M:{run}" for run in ("merge", "scan", "stream", "in_memory", "scipy")]
KNOWN += [
    f"{graph}:{run}"
    for graph in ("er1M", "er1M-sparse", "er1M-text")
    for run in ("merge", "stream", "in_memory", "scan")
]
KNOWN += ["er4M:merge", "er4M:spill", "er400k:merge", "rmat20:merge", "dense100k:merge", "er1M:shuffle"]


def write_graph(folder: Path, name: str) -> None:
    """Write the graph's files, if they are not there."""
    graph = GRAPHS[name]
    tables = random_tables(graph.vertices, graph.rows, graph.files, graph.kind)
    if name == "rmat20":
        tables = (generate.rmat(20, 1, seed=number) for number in range(graph.files))
    write_files(folder, tables, **PLAIN)


def memory_of(strategy: str, graph: str) -> int:
    """Memory limit of each process, in bytes."""
    if strategy == "shuffle":  # of a graph that would fit: a tenth of the forest's memory
        return 4 * GRAPHS[graph].vertices // 10 * 36 + (280 << 20)
    if graph == "er400k":
        return 300_000_000
    return {"stream": 800 << 20, "spill": 440 << 20}.get(strategy, MEMORY)


def run_cluster(graph: str, strategy: str, folder: Path) -> dict[str, Any]:
    """Find the forest on a fresh cluster."""
    size, limit, output = GRAPHS[graph], memory_of(strategy, graph), folder.with_name("forest")
    options = {"strategy": strategy, "n_vertices": size.vertices, "memory_limit": None if limit == MEMORY else limit}
    figures = forest_on_workers(folder, output, {"n_workers": 2, "memory_limit": MEMORY}, **options)
    shutil.rmtree(output)
    figures["peak_mb"] = round(figures["peak_mb"])
    return {"graph": graph, "strategy": strategy, "n_vertices": size.vertices, "rows": size.rows, **figures}


def run_single(graph: str, run: str, folder: Path) -> dict[str, Any]:
    """Find the forest in one process; its imports count."""
    figures = measure(run, folder, str(memory_of(run, graph)))
    return {
        "graph": graph,
        "run": run,
        "forest_rows": figures["rows"],
        "seconds": round(figures["whole_seconds"], 2),
        "cpu_seconds": round(figures["whole_cpu_seconds"], 2),
        "peak_mb": round(figures["peak"] / 1e6),
    }


def with_plan(name: str, run: dict[str, Any]) -> dict[str, Any]:
    """Add the planned figures, and the question that `plan` was asked."""
    graph, strategy = name.split(":")
    if strategy in RUNS and strategy not in ("stream", "spill"):
        return run
    files = GRAPHS[graph]
    asked: Any = {"n_vertices": files.vertices, "n_edges": files.rows, "partitions": files.files}
    asked["workers"] = 1 if strategy in ("stream", "spill") else 2
    asked |= {"memory_limit": memory_of(strategy, graph), "strategy": strategy, "id_bytes": files.id_bytes}
    planned = dfmst.plan(**asked)
    figures = {"mb_moved_planned": round(planned.bytes_moved / 1e6, 1)} if "mb_moved" in run else {}
    return {**run, **figures, "peak_mb_planned": round(planned.peak_memory / 1e6), "plan": asked}


def main() -> None:
    options = parser(__doc__, "cpu/cluster.json")
    options.add_argument("folder", type=Path)
    options.add_argument("--only", action="append", help=f"one of {', '.join(KNOWN)}")
    options.add_argument("--busy", **BUSY)
    options.add_argument("--replan", action="store_true", help="measure nothing")
    chosen = options.parse_args()
    results = read(chosen.output) or {"runs": {}}
    for name in () if chosen.replan else chosen.only or KNOWN:
        graph, run = name.split(":")
        folder = chosen.folder / graph
        write_graph(folder, graph)
        found = run_single(graph, run, folder) if run in RUNS else run_cluster(graph, run, folder)
        if chosen.busy:
            del found["seconds"]
        # A call adds a run; the one with the median of CPU-seconds represents all.
        repeats = results.setdefault("repeats", {}).setdefault(name, [])
        repeats.append(found)
        results["runs"][name] = sorted(repeats, key=lambda run: run["cpu_seconds"])[(len(repeats) - 1) // 2]
        print(json.dumps(found))
    results["runs"] = {name: with_plan(name, run) for name, run in results["runs"].items()}
    if not chosen.replan:
        results["machine"] = describe("dask", "distributed", "pyarrow")
    write(chosen.output, results)


if __name__ == "__main__":
    main()
