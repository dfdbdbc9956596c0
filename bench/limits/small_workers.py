"""A graph of 20 times a worker's memory: the figures of `dfmst.plan` for its merge in slices, next to measured ones.

    python bench limits/small_workers FOLDER [-o RESULT.json] [--busy]    # 6 GB in FOLDER; some minutes

250 M rows of 24 bytes on 400,000 vertices, and four workers of 300 MB: processes of one thread each. A merge of two
forests does not fit. Dask would end them at more than that, so that a peak above 300 MB is measured. The files are
left in FOLDER for the next call. With --busy, for a machine that does other work as well, wall times are left out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from support.files import PLAIN, random_tables, write_files
from support.machine import describe
from support.results import BUSY, parser, write
from support.workers import forest_on_workers

import dfmst

VERTICES, ROWS, FILES = 400_000, 250_000_000, 4000
WORKERS, MEMORY = 4, 300_000_000
ROW = 24  # bytes
_ENDED = 1 << 30  # bytes at which Dask ends a worker


def main() -> None:
    options = parser(__doc__, "cpu/small_workers.json")
    options.add_argument("folder", type=Path)
    options.add_argument("--busy", **BUSY)
    chosen = options.parse_args()
    folder, output = chosen.folder / "small_workers", chosen.folder / "forest"
    write_files(folder, random_tables(VERTICES, ROWS, FILES), **PLAIN)
    asked: Any = {
        "n_vertices": VERTICES,
        "n_edges": ROWS,
        "partitions": FILES,
        "workers": WORKERS,
        "memory_limit": MEMORY,
    }
    asked["strategy"] = "merge"
    planned = dfmst.plan(**asked)
    cluster = {"n_workers": WORKERS, "memory_limit": _ENDED}
    limits = {"n_vertices": VERTICES, "memory_limit": MEMORY}
    measured = forest_on_workers(folder, output, cluster, strategy="merge", **limits)
    shutil.rmtree(output)
    if chosen.busy:
        del measured["seconds"]
    expected = {"peak_mb": planned.peak_memory / 1e6, "mb_moved": planned.bytes_moved / 1e6}
    results = {
        "plan": asked,
        "times_the_memory": round(ROW * ROWS / MEMORY, 1),
        "planned": {name: round(value, 1) for name, value in expected.items()},
        "measured": measured,
        "measured_per_planned": {name: round(measured[name] / value, 2) for name, value in expected.items()},
        "machine": describe("dask", "distributed", "pyarrow"),
    }
    print(json.dumps(results))
    write(chosen.output, results)
