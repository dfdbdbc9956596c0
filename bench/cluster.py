"""Forests on a cluster of two one-thread workers: CPU-seconds, bytes moved and peak memory, beside what plan says.

    python bench/cluster.py FOLDER [-o RESULT.json] [--only NAME]... [--busy] [--replan]    # all: 6 minutes

Graphs are written to FOLDER as Parquet files and left there for the next call; results of calls are put together in
one file. With --busy, for a machine that does other work as well, wall times are left out; --replan only computes anew
what plan says. The large graph is Erdős–Rényi with 2 M vertices and 96 M rows in 48 files.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet
from id_kinds import with_ids
from machine import describe
from one_process import BODIES, run_single

import dfmst.dask
from dfmst import generate

RESULT = Path(__file__).parent / "results" / "cpu" / "cluster.json"
MEMORY = 3 << 30


class Case(NamedTuple):
    """A graph in files, and the strategy to find its forest with."""

    graph: str
    strategy: str


class Files(NamedTuple):
    """How a graph is made, file by file, and the bytes of its ids as `dfmst.plan` counts them."""

    vertices: int
    rows: int
    files: int
    make: Any
    id_bytes: int = 4


def er1m_with(kind: str, rows: int, seed: int) -> Any:
    """The graph er1M with other ids."""
    return with_ids(generate.erdos_renyi(1_000_000, rows, seed=seed), kind)


GRAPHS = {
    "er2M": Files(2_000_000, 96_000_000, 48, lambda rows, seed: generate.erdos_renyi(2_000_000, rows, seed=seed)),
    "er1M": Files(1_000_000, 10_000_000, 10, lambda rows, seed: generate.erdos_renyi(1_000_000, rows, seed=seed)),
    "er1M-sparse": Files(1_000_000, 10_000_000, 10, lambda rows, seed: er1m_with("sparse", rows, seed), 8),
    "er1M-text": Files(1_000_000, 10_000_000, 10, lambda rows, seed: er1m_with("text", rows, seed), 23),
    "er4M": Files(4_000_000, 24_000_000, 24, lambda rows, seed: generate.erdos_renyi(4_000_000, rows, seed=seed)),
    # Forests that fit workers of 300 MB, and a merge of two that does not: 1.4 GB of edges.
    "er400k": Files(400_000, 60_000_000, 1000, lambda rows, seed: generate.erdos_renyi(400_000, rows, seed=seed)),
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
    Case("er400k", "merge"),
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
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    # ``ru_maxrss`` would count the parent's memory, from before the exec.
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return {"cpu": used.ru_utime + used.ru_stime, "peak": peak * 1024}


def count_sent(dask_worker: Any) -> None:
    """Count the bytes that a worker writes to others; Dask counts what objects say of themselves."""
    from distributed.comm.tcp import TCP

    write, scheduler = TCP.write, dask_worker.scheduler.address
    dask_worker.bytes_sent = 0

    async def counted(self: Any, *arguments: Any, **options: Any) -> int:
        size: int = await write(self, *arguments, **options)
        if self.peer_address != scheduler:
            dask_worker.bytes_sent += size
        return size

    TCP.write = counted


def sent(dask_worker: Any) -> int:
    """Bytes that a worker has sent to others."""
    return int(dask_worker.bytes_sent)


def run_case(case: Case, folder: Path, output: Path) -> dict[str, Any]:
    """Find the forest on a fresh cluster."""
    from distributed import Client, LocalCluster

    graph, limit = GRAPHS[case.graph], memory_of(case.strategy, case.graph)
    options: Any = {"strategy": case.strategy, "vertices": graph.vertices}
    options["memory_limit"] = None if limit == MEMORY else limit
    workers = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": MEMORY, "dashboard_address": ":0"}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        client.run(count_sent)
        before = client.run(usage)
        begin = time.perf_counter()
        written = dfmst.dask.forest_of_files(folder, output, client=client, **options)
        seconds = time.perf_counter() - begin
        after = client.run(usage)
        moved = sum(client.run(sent).values())
    shutil.rmtree(output)
    peak = max(used["peak"] for used in after.values())
    return {
        **case._asdict(),
        "vertices": graph.vertices,
        "rows": graph.rows,
        "forest_rows": written.rows,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(sum(used["cpu"] - before[worker]["cpu"] for worker, used in after.items()), 2),
        "mb_moved": round(moved / 1e6, 1),
        "peak_mb": round(peak / 1e6),
    }


def memory_of(strategy: str, graph: str) -> int:
    """What each process may use."""
    if strategy == "shuffle":  # of a graph that would fit: a tenth of what the forest needs
        return 4 * GRAPHS[graph].vertices // 10 * 36 + (270 << 20)
    if graph == "er400k":
        return 300_000_000
    return {"stream": 800 << 20, "spill": 440 << 20}.get(strategy, MEMORY)


def with_plan(name: str, run: dict[str, Any]) -> dict[str, Any]:
    """Put beside a run's figures what plan says, and what it was asked."""
    graph, strategy = name.split(":")
    if strategy in BODIES and strategy not in ("stream", "spill"):
        return run
    files = GRAPHS[graph]
    asked: Any = {"vertices": files.vertices, "edges": files.rows, "partitions": files.files, "workers": 2}
    asked |= {"memory": memory_of(strategy, graph), "strategy": strategy, "id_bytes": files.id_bytes}
    planned = dfmst.plan(**asked)
    figures = {"mb_moved_planned": round(planned.bytes_moved / 1e6, 1)} if "mb_moved" in run else {}
    return {**run, **figures, "peak_mb_planned": round(planned.peak_memory / 1e6), "plan": asked}


def main() -> None:
    """Measure what is asked for and put it into the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    parser.add_argument("--only", action="append", help="graph:strategy, or graph:stream, :in_memory or :scipy")
    parser.add_argument("--busy", action="store_true", help="leave wall times out")
    parser.add_argument("--replan", action="store_true", help="measure nothing")
    chosen = parser.parse_args()
    known = [f"{case.graph}:{case.strategy}" for case in CASES] + [f"er2M:{name}" for name in BODIES]
    known += [
        f"{graph}:{name}" for graph in ("er1M", "er1M-sparse", "er1M-text") for name in ("stream", "in_memory", "scan")
    ]
    known = [name for name in known if not name.endswith(":spill")] + ["er4M:spill"]
    results = json.loads(chosen.output.read_text(encoding="utf-8")) if chosen.output.exists() else {"runs": {}}
    for name in () if chosen.replan else chosen.only or known:
        graph, run = name.split(":")
        folder = chosen.folder / graph
        write_graph(folder, GRAPHS[graph])
        if run in BODIES:
            found = run_single(run, folder, memory_of(run, graph))
        else:
            found = run_case(Case(graph, run), folder, chosen.folder / "forest")
        if chosen.busy:
            del found["seconds"]
        # A call adds a run; the one with the median of CPU-seconds stands for all.
        repeats = results.setdefault("repeats", {}).setdefault(name, [])
        repeats.append(found)
        results["runs"][name] = sorted(repeats, key=lambda run: run["cpu_seconds"])[(len(repeats) - 1) // 2]
        print(json.dumps(found))
    results["runs"] = {name: with_plan(name, run) for name, run in results["runs"].items()}
    if not chosen.replan:
        results["machine"] = describe("dask", "distributed", "pyarrow")
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
