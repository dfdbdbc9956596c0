"""Forests on a cluster of two one-thread workers: CPU-seconds, bytes moved and peak memory, beside what plan says.

    python bench/cluster.py FOLDER [-o RESULT.json] [--only NAME]... [--scipy] [--single]

Graphs are written to FOLDER as Parquet files and left there for the next call; results of calls are put together in
one file. The large graph is Erdős–Rényi with 2 M vertices and 96 M rows in 48 files.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet
from id_kinds import with_ids
from machine import describe

import dfmst.dask
from dfmst import generate

RESULT = Path(__file__).parent / "results" / "cpu" / "cluster.json"
MEMORY = 3 << 30


class Case(NamedTuple):
    """A graph in files, and the strategy to find its forest with."""

    graph: str
    strategy: str


class Files(NamedTuple):
    """How a graph is made, file by file."""

    vertices: int
    rows: int
    files: int
    make: Any


def er1m_with(kind: str, rows: int, seed: int) -> Any:
    """The graph er1M with other ids."""
    return with_ids(generate.erdos_renyi(1_000_000, rows, seed=seed), kind)


GRAPHS = {
    "er2M": Files(2_000_000, 96_000_000, 48, lambda rows, seed: generate.erdos_renyi(2_000_000, rows, seed=seed)),
    "er1M": Files(1_000_000, 10_000_000, 10, lambda rows, seed: generate.erdos_renyi(1_000_000, rows, seed=seed)),
    "er1M-sparse": Files(1_000_000, 10_000_000, 10, lambda rows, seed: er1m_with("sparse", rows, seed)),
    "er1M-text": Files(1_000_000, 10_000_000, 10, lambda rows, seed: er1m_with("text", rows, seed)),
    "er4M": Files(4_000_000, 24_000_000, 24, lambda rows, seed: generate.erdos_renyi(4_000_000, rows, seed=seed)),
    "rmat20": Files(1 << 20, 16 << 20, 16, lambda rows, seed: generate.rmat(20, rows >> 20, seed=seed)),
    "dense100k": Files(100_000, 12_000_000, 12, lambda rows, seed: generate.erdos_renyi(100_000, rows, seed=seed)),
}
CASES = [
    Case("er2M", "two-pass"),
    Case("er2M", "merge"),
    Case("er1M", "merge"),
    Case("er1M-sparse", "merge"),
    Case("er1M-text", "merge"),
    Case("er1M-sparse", "two-pass"),
    Case("er1M-text", "two-pass"),
    Case("er4M", "merge"),
    Case("rmat20", "two-pass"),
    Case("dense100k", "merge"),
    Case("er1M", "shuffle"),
]


def write_graph(folder: Path, graph: Files) -> None:
    """Write the graph's files, each with rows of its own seed."""
    if folder.exists():
        return
    part = folder.with_name(folder.name + ".part")
    part.mkdir(parents=True)
    for number in range(graph.files):
        table = graph.make(graph.rows // graph.files, number)
        # Random numbers do not compress: packing and unpacking them would only hide what is measured.
        options = {"use_dictionary": False, "compression": "none"}
        pyarrow.parquet.write_table(table, part / f"part-{number:03}.parquet", **options)
    part.rename(folder)


def usage() -> dict[str, float]:
    """CPU-seconds and peak memory of the process that this runs in."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024}


def sent(dask_worker: Any) -> int:
    """Bytes that a worker has sent to others."""
    return int(dask_worker.transfer_outgoing_bytes_total)


def run_case(case: Case, folder: Path, output: Path) -> dict[str, Any]:
    """Find the forest on a fresh cluster."""
    from distributed import Client, LocalCluster

    graph = GRAPHS[case.graph]
    # A shuffle of a graph that would fit: what a worker may use is said to be a tenth of what the forest needs.
    limit = 4 * graph.vertices // 10 * 36 + (250 << 20) if case.strategy == "shuffle" else None
    options: Any = {"strategy": case.strategy, "vertices": graph.vertices, "memory_limit": limit}
    workers = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": MEMORY, "dashboard_address": ":0"}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        before = client.run(usage)
        begin = time.perf_counter()
        written = dfmst.dask.forest_of_files(folder, output, client=client, **options)
        seconds = time.perf_counter() - begin
        after = client.run(usage)
        moved = sum(client.run(sent).values())
    shutil.rmtree(output)
    planned = dfmst.plan(
        graph.vertices, graph.rows, partitions=graph.files, workers=2, memory=limit or MEMORY, strategy=case.strategy
    )
    peak = max(used["peak"] for used in after.values())
    return {
        **case._asdict(),
        "vertices": graph.vertices,
        "rows": graph.rows,
        "forest_rows": written.rows,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(sum(used["cpu"] - before[worker]["cpu"] for worker, used in after.items()), 2),
        "mb_moved": round(moved / 1e6, 1),
        "mb_moved_planned": round(planned.bytes_moved / 1e6, 1),
        "peak_mb": round(peak / 1e6),
        "peak_mb_planned": round(planned.peak_memory / 1e6),
    }


SINGLE = """
import resource, sys, time
begin = time.perf_counter()
{body}
used = resource.getrusage(resource.RUSAGE_SELF)
print(len(forest), time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
"""
BODIES = {
    "scan": """
import pyarrow.dataset as ds
forest = ()
for batch in ds.dataset({folder!r}).scanner(columns=["source", "target", "weight"]).to_batches():
    pass
""",
    "stream": "import dfmst.stream; forest = dfmst.stream.minimum_spanning_forest({folder!r}, memory_limit='800MiB')",
    "in_memory": (
        "import dfmst, pyarrow.parquet as pq; forest = dfmst.minimum_spanning_forest(pq.read_table({folder!r}))"
    ),
    "scipy": """
import numpy as np, pyarrow.parquet as pq
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
table = pq.read_table({folder!r})
u, v, w = (table[name].to_numpy() for name in ("source", "target", "weight"))
del table
n = int(max(u.max(), v.max())) + 1
# SciPy adds parallel rows up, one in 40,000 here; to drop the heavier ones first would more than double its time.
matrix = coo_array((w, (u.astype(np.int32), v.astype(np.int32))), shape=(n, n)).tocsr()
del u, v, w
forest = minimum_spanning_tree(matrix).data
""",
}


def run_single(name: str, folder: Path) -> dict[str, Any]:
    """Find the forest in one process."""
    program = SINGLE.format(body=BODIES[name].format(folder=str(folder)))
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, check=True, text=True)
    rows, seconds, cpu, peak = map(float, done.stdout.split())
    return {
        "graph": folder.name,
        "run": name,
        "forest_rows": int(rows),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "peak_mb": round(peak / 1e6),
    }


def main() -> None:
    """Measure what is asked for and put it into the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    parser.add_argument("--only", action="append", help="graph:strategy, or graph:stream, :in_memory or :scipy")
    chosen = parser.parse_args()
    known = [f"{case.graph}:{case.strategy}" for case in CASES] + [f"er2M:{name}" for name in BODIES]
    known += [
        f"{graph}:{name}" for graph in ("er1M", "er1M-sparse", "er1M-text") for name in ("stream", "in_memory", "scan")
    ]
    results = json.loads(chosen.output.read_text(encoding="utf-8")) if chosen.output.exists() else {"runs": {}}
    for name in chosen.only or known:
        graph, run = name.split(":")
        folder = chosen.folder / graph
        write_graph(folder, GRAPHS[graph])
        if run in BODIES:
            found = run_single(run, folder)
        else:
            found = run_case(Case(graph, run), folder, chosen.folder / "forest")
        # A call adds a run; the one with the median of CPU-seconds stands for all.
        repeats = results.setdefault("repeats", {}).setdefault(name, [])
        repeats.append(found)
        results["runs"][name] = sorted(repeats, key=lambda run: run["cpu_seconds"])[(len(repeats) - 1) // 2]
        print(json.dumps(found))
    results["machine"] = describe("dask", "distributed", "pyarrow")
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
