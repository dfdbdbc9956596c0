"""How a change has changed the time of a forest: two checkouts in turn, on the graphs of the benchmarks.

    python bench solver/before CHECKOUT [--graphs road1M,er1M] [--edges FILE.parquet ...] [--threads 2] [-o RESULT.json]

CHECKOUT is another checkout with compiled kernels (``pip install -e``, or a build in place). Each has a process of its
own that holds the graph; they run in turn, so that both see the same machine. Rows must be equal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.machine import describe
from support.results import BENCH, parser, write

HERE = BENCH.parent
GRAPHS = "road1M,rmat20,er1M,dense10k,euclid4k,grid4M"


def serve(graph: str, threads: int) -> None:
    """Hold a graph; for every line of input, run once and print seconds, CPU-seconds and the rows' digest."""
    from support.graphs import columns_of

    from dfmst.arrays import forest_rows

    source, target, weight, _ = columns_of(graph)
    for _ in sys.stdin:
        forest_rows(source, target, weight, threads=threads)
        begin, spent = time.perf_counter(), time.process_time()
        rows = forest_rows(source, target, weight, threads=threads)
        seconds = time.perf_counter() - begin, time.process_time() - spent
        print(json.dumps([*seconds, hashlib.sha256(rows.tobytes()).hexdigest()]), flush=True)


def start(checkout: Path, graph: str, threads: int) -> subprocess.Popen[str]:
    """The process of one checkout. Its package comes first; the graphs are drawn by this folder's code."""
    command = [sys.executable, str(BENCH), "solver/before", "--serve", graph, "--threads", str(threads)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(process: subprocess.Popen[str]) -> list[Any]:
    """One run."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    answer: list[Any] = json.loads(process.stdout.readline())
    return answer


def compare(checkout: Path, graph: str, threads: int, repeat: int) -> dict[str, float]:
    """Median milliseconds of both, wall and CPU."""
    processes = [start(folder.resolve(), graph, threads) for folder in (checkout, HERE)]
    try:
        runs = [[ask(process) for process in processes] for _ in range(repeat + 1)][1:]
    finally:
        for process in processes:
            process.kill()
    if len({answer[2] for turn in runs for answer in turn}) != 1:
        message = f"the rows of {graph} differ"
        raise AssertionError(message)
    wall, spent = ([statistics.median(turn[side][of] for turn in runs) for side in (0, 1)] for of in (0, 1))
    return {
        "before_ms": round(wall[0] * 1e3, 2),
        "after_ms": round(wall[1] * 1e3, 2),
        "times_faster": round(wall[0] / wall[1], 2),
        "before_cpu_ms": round(spent[0] * 1e3, 2),
        "after_cpu_ms": round(spent[1] * 1e3, 2),
    }


def main() -> None:
    options = parser(__doc__, "cpu/before.json", graphs=GRAPHS, threads=2, repeat=15)
    options.add_argument("checkout", type=Path, nargs="?")
    options.add_argument("--serve", help=argparse.SUPPRESS)
    options.add_argument("--edges", type=Path, nargs="*", default=[])
    chosen = options.parse_args()
    if chosen.serve:
        return serve(chosen.serve, chosen.threads)
    command = ["git", "-C", str(chosen.checkout), "rev-parse", "--short", "HEAD"]
    before = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    result: dict[str, Any] = {"machine": describe(), "before": before, "threads": chosen.threads, "graphs": {}}
    for graph in [*filter(None, chosen.graphs.split(",")), *map(str, chosen.edges)]:
        result["graphs"][Path(graph).stem] = compare(chosen.checkout, graph, chosen.threads, chosen.repeat)
        print(graph, json.dumps(result["graphs"][Path(graph).stem]), flush=True)
        write(chosen.output, result)
    return None
