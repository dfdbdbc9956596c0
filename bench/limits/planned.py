"""Runs on a cluster next to their plans: peak memory, bytes moved and on disk, and CPU-seconds.

    python bench limits/planned FOLDER [-o RESULT.json] [--only NAME]... [--replan]    # all: 10 minutes

Every strategy finds the forest, and labels the components, of graphs of two sizes with dense, hashed and text ids, on
two workers of one thread each. The files of the graphs are left in FOLDER. Wall times are left out: the machine may do
other work as well. A call adds its runs to the result file, which has the median of each figure. With --replan it only
computes the plans again. Plans are made with the rates of the machine, which each call measures first.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import dask.dataframe as dd
import numpy as np
from support.files import PLAIN, random_tables, write_files
from support.machine import describe
from support.results import parser, read, write
from support.workers import forest_on_workers, on_workers

import dfmst
import dfmst.dask
from dfmst._common.directories import SpillDirectory
from dfmst._drive.devices import BY_KEY
from dfmst._drive.parts import FileRows
from dfmst._drive.tables import Table, columns_of, read_edges
from dfmst._drive.tasks import StoredEncoder, TableFold, solve_tables
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine
from dfmst._fold.fold import BufferFold
from dfmst._fold.rows import Rows, Run, write_sorted

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
    rates = repeats[-1].get("rates")  # of the machine; earlier runs have none
    asked = question(name) | ({"rates": rates} if rates else {})
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


ENGINE = CpuEngine(1)


def tables_of(folder: Path) -> list[Table]:
    """The edges of half of the files, as tasks of a cluster read them."""
    files, columns = sorted(folder.iterdir()), EdgeColumns("source", "target", "weight")
    parts = enumerate(FileRows(path) for path in files[::2])
    return [table for number, part in parts for table in read_edges(ENGINE, part, number, columns)]


def all_rows(tables: list[Table]) -> Rows:
    """The rows of tables with dense ids."""
    columns = [columns_of(ENGINE, table) for table in tables]
    source, target, key, row = (np.concatenate(each) for each in zip(*columns, strict=True))
    return Rows(source.astype(np.uint32), target.astype(np.uint32), key, row)


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """CPU-seconds of a run."""
    begin = clock()
    run()
    return clock() - begin


def send() -> float:
    """Bytes a second from one worker of this machine to another."""
    from distributed import Client, LocalCluster, wait

    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as workers, Client(workers) as client:
        one, other = client.scheduler_info()["workers"]
        taken = []
        for _ in range(5):
            block = client.submit(np.ones, 1 << 25, workers=[one], pure=False)
            wait(block)
            taken.append(seconds(client.submit(len, block, workers=[other], pure=False).result, time.perf_counter))
    return 8 * (1 << 25) / min(taken)


def measured_rates(folder: Path) -> dict[str, float]:
    """Rows a second of a core, and bytes a second that it writes to the disk, for `dfmst.plan(rates=…)`."""
    for kind in ("dense", "sparse"):
        write_files(folder / f"{kind}-large", random_tables(*SIZES["large"], kind), **PLAIN)
    dense, sparse = (tables_of(folder / f"{kind}-large") for kind in ("dense", "sparse"))
    rows, vertices, encoder = all_rows(dense), SIZES["large"][0], StoredEncoder().on(ENGINE, None)
    numbered = [columns_of(ENGINE, table).ids for table in sparse]
    fold, forest = BufferFold(ENGINE, vertices, 4 * vertices, weight_dtype=np.uint64), TableFold(ENGINE)
    fold.add(rows)
    for table in dense:
        forest.add(table)
    forests, block = [forest.forest(), forest.forest()], np.zeros(1 << 26)
    with tempfile.TemporaryDirectory(dir=folder) as local:
        run = Run(ENGINE, SpillDirectory(local), BY_KEY, np.dtype(np.uint64))

        def store() -> None:
            with open(f"{local}/block", "wb") as file:
                file.write(block.data)
                os.fsync(file.fileno())

        rates = {
            "read": len(rows) / seconds(lambda: tables_of(folder / "dense-large")),
            "number": len(rows) / seconds(lambda: [encoder.encode(ids, 0) for ids in numbered]),
            "fold": len(rows) / seconds(lambda: fold.add(rows)),
            "sort": len(rows) / seconds(lambda: write_sorted(ENGINE, run, BY_KEY, rows)),
            "solve": 2 * forests[0].num_rows / seconds(lambda: solve_tables(ENGINE, ENGINE, forests)),
            "network": send(),
            "disk": block.nbytes / min(seconds(store, time.perf_counter) for _ in range(5)),
        }
    return {name: float(f"{rate:.2g}") for name, rate in rates.items()}


def main() -> None:
    options = parser(__doc__, "cpu/planned.json")
    options.add_argument("folder", type=Path)
    options.add_argument("--only", action="append", help="one of STRATEGY:dense|sparse|text:small|large")
    options.add_argument("--replan", action="store_true", help="measure nothing")
    options.add_argument("--rates", action="store_true", help="measure the rates of this machine alone")
    chosen = options.parse_args()
    results = read(chosen.output) or {"repeats": {}}
    rates = {} if chosen.replan else measured_rates(chosen.folder)
    if rates and not chosen.only:
        results["rates"] = rates
    for name in () if chosen.replan or chosen.rates else chosen.only or KNOWN:
        found = {**measured(name, chosen.folder), "rates": rates}
        print(name, json.dumps(found), flush=True)
        results["repeats"].setdefault(name, []).append(found)
        results["machine"] = describe("dask", "distributed", "pyarrow")
        write(chosen.output, results)
    results["runs"] = {name: with_plan(name, repeats) for name, repeats in results["repeats"].items()}
    write(chosen.output, results)


if __name__ == "__main__":
    main()
