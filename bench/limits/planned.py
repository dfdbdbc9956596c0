"""Runs on a cluster next to their plans: peak memory, bytes moved and on disk, and CPU-seconds.

    python bench limits/planned FOLDER [-o RESULT.json] [--only NAME]... [--replan]    # all: 10 minutes

Every strategy finds the forest, and labels the components, of graphs of two sizes with dense, hashed and text ids, on
two workers of one thread each. The files of the graphs are left in FOLDER. Wall times are left out: the machine may do
other work as well. A call adds its runs to the result file, which has the median of each figure. With --replan it only
computes the plans again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import dask.dataframe as dd
from support.files import PLAIN, random_tables, write_files
from support.machine import describe
from support.results import parser, read, write
from support.workers import forest_on_workers, on_workers

import dfmst
import dfmst.dask

WORKERS, MEMORY = 2, 3 << 30
SIZES = {"small": (400_000, 4_000_000, 8), "large": (1_600_000, 16_000_000, 16)}  # vertices, rows, files
ID_BYTES = {"dense": 4, "sparse": 8, "text": 8 + 15}
STRATEGIES = ("merge", "shuffle", "labels")
KNOWN = [f"{strategy}:{kind}:{size}" for strategy in STRATEGIES for kind in ID_BYTES for size in SIZES]
#: Quantity of a run -> attribute of its plan, and the factor between their units.
QUANTITIES = {
    "peak_mb": ("peak_memory", 1e6),
    "mb_moved": ("bytes_moved", 1e6),
    "mb_on_disk": ("bytes_on_disk", 1e6),
    "mb_on_disk_of_a_worker": ("peak_disk", 1e6),
    "cpu_seconds": ("cpu_seconds", 1),
}


def question(name: str) -> dict[str, Any]:
    """The arguments of `dfmst.plan` for a run."""
    strategy, kind, size = name.split(":")
    vertices, rows, files = SIZES[size]
    memory = (280 << 20) + 16 * vertices if strategy == "shuffle" else MEMORY  # of a graph that would fit otherwise
    asked = {"n_vertices": vertices, "n_edges": rows, "partitions": files, "workers": WORKERS}
    return {**asked, "memory_limit": memory, "strategy": strategy, "id_bytes": ID_BYTES[kind]}


def measured(name: str, folder: Path) -> dict[str, Any]:
    """The figures of a run on a fresh cluster."""
    asked, output = question(name), folder / f"output-{name.replace(':', '-')}"
    strategy, kind, size = name.split(":")
    edges = folder / f"{kind}-{size}"
    write_files(edges, random_tables(*SIZES[size], kind), **PLAIN)
    cluster = {"n_workers": WORKERS, "memory_limit": MEMORY}
    options = {"n_vertices": asked["n_vertices"], "memory_limit": asked["memory_limit"]}
    if strategy == "labels":

        def label(_: Any) -> None:
            labels = dfmst.dask.connected_components(dd.read_parquet(edges), memory_limit=MEMORY)
            labels.to_parquet(output, write_index=False)

        figures, _ = on_workers(label, cluster)
    else:
        figures = forest_on_workers(edges, output, cluster, strategy=strategy, **options)
    shutil.rmtree(output)
    del figures["seconds"]
    return figures


def with_plan(name: str, repeats: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of each figure of repeated runs, next to what is planned."""
    asked = question(name)
    planned = dfmst.plan(**asked)
    figures = {quantity: round(median(run[quantity] for run in repeats), 2) for quantity in QUANTITIES}
    expected = {quantity: getattr(planned, attribute) / unit for quantity, (attribute, unit) in QUANTITIES.items()}
    return {
        "plan": asked,
        "measured": figures,
        "planned": {quantity: round(value, 2) for quantity, value in expected.items()},
        "measured_per_planned": {
            quantity: round(figures[quantity] / value, 2) for quantity, value in expected.items() if value
        },
    }


def main() -> None:
    options = parser(__doc__, "cpu/planned.json")
    options.add_argument("folder", type=Path)
    options.add_argument("--only", action="append", help="one of STRATEGY:dense|sparse|text:small|large")
    options.add_argument("--replan", action="store_true", help="measure nothing")
    chosen = options.parse_args()
    results = read(chosen.output) or {"repeats": {}}
    for name in () if chosen.replan else chosen.only or KNOWN:
        found = measured(name, chosen.folder)
        print(name, json.dumps(found), flush=True)
        results["repeats"].setdefault(name, []).append(found)
        results["machine"] = describe("dask", "distributed", "pyarrow")
        write(chosen.output, results)
    results["runs"] = {name: with_plan(name, repeats) for name, repeats in results["repeats"].items()}
    write(chosen.output, results)


if __name__ == "__main__":
    main()
