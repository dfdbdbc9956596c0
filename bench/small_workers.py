"""A graph of 20 times a worker's memory: what `dfmst.plan` says of its merge in slices, beside what that takes.

    python bench/small_workers.py FOLDER [-o RESULT.json] [--busy]    # 6 GB in FOLDER; some minutes

250 M rows of 24 bytes on 400,000 vertices, and four workers of 300 MB: processes of one thread each, that a merge of
two forests does not fit. Dask would end them at more than that, so that a peak above 300 MB is measured. The files are
left in FOLDER for the next call. With --busy, for a machine that does other work as well, wall times are left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

from cluster import Files, count_sent, sent, usage, write_graph
from machine import describe

import dfmst.dask
from dfmst import generate

RESULT = Path(__file__).parent / "results" / "cpu" / "small_workers.json"
VERTICES, ROWS, FILES = 400_000, 250_000_000, 4000
WORKERS, MEMORY = 4, 300_000_000
ROW = 24  # bytes
_ENDED = 1 << 30  # bytes at which Dask ends a worker


def make(rows: int, seed: int) -> Any:
    """Rows of one file."""
    return generate.erdos_renyi(VERTICES, rows, seed=seed)


def run(folder: Path, output: Path) -> dict[str, Any]:
    """Find the forest on a fresh cluster."""
    from distributed import Client, LocalCluster

    workers = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": _ENDED, "dashboard_address": ":0"}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        client.run(count_sent)
        before, begin = client.run(usage), time.perf_counter()
        options: Any = {"client": client, "strategy": "merge", "vertices": VERTICES, "memory_limit": MEMORY}
        written = dfmst.dask.forest_of_files(folder, output, **options)
        seconds, after = time.perf_counter() - begin, client.run(usage)
        moved = sum(client.run(sent).values())
    shutil.rmtree(output)
    cpu = sum(used["cpu"] - before[worker]["cpu"] for worker, used in after.items())
    return {
        "forest_rows": written.rows,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "peak_mb": round(max(used["peak"] for used in after.values()) / 1e6, 1),
        "mb_moved": round(moved / 1e6, 1),
    }


def main() -> None:
    """Measure, and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    parser.add_argument("--busy", action="store_true", help="leave wall times out")
    chosen = parser.parse_args()
    folder = chosen.folder / "small_workers"
    write_graph(folder, Files(VERTICES, ROWS, FILES, make))
    asked: Any = {"vertices": VERTICES, "edges": ROWS, "partitions": FILES, "workers": WORKERS, "memory": MEMORY}
    asked["strategy"] = "merge"
    planned = dfmst.plan(**asked)
    measured = run(folder, chosen.folder / "forest")
    if chosen.busy:
        del measured["seconds"]
    ratios = {
        "peak_mb": round(measured["peak_mb"] * 1e6 / planned.peak_memory, 2),
        "mb_moved": round(measured["mb_moved"] * 1e6 / planned.bytes_moved, 2),
    }
    results = {
        "plan": asked,
        "times_the_memory": round(ROW * ROWS / MEMORY, 1),
        "planned": {"peak_mb": round(planned.peak_memory / 1e6, 1), "mb_moved": round(planned.bytes_moved / 1e6, 1)},
        "measured": measured,
        "measured_per_planned": ratios,
        "machine": describe("dask", "distributed", "pyarrow"),
    }
    print(json.dumps(results))
    chosen.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
