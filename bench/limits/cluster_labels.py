"""Components of a graph on small workers: peak memory of a worker, bytes moved, and the figures of `dfmst.plan`.

    python bench limits/cluster_labels FOLDER [-o RESULT.json] [--vertices 20000000] [--rows 40000000] [--busy]

Three workers of one thread and 700 MB each label all vertices; the labels are written as Parquet, partition by
partition. Dask ends a worker that takes more than 95 % of its memory. The files of the graph are left in FOLDER.
With --busy, for a machine that does other work as well, wall times are left out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import pyarrow.compute as pc
import pyarrow.dataset as ds
from support.files import PLAIN, random_tables, write_files
from support.machine import describe
from support.results import BUSY, parser, write
from support.workers import on_workers

import dfmst
import dfmst.dask

WORKERS, MEMORY, FILES = 3, 700_000_000, 96


def main() -> None:
    options = parser(__doc__, "cpu/cluster_labels.json", vertices=20_000_000, rows=40_000_000, algorithm="auto")
    options.add_argument("folder", type=Path)
    options.add_argument("--busy", **BUSY)
    chosen = options.parse_args()
    folder, output = chosen.folder / f"graph-{chosen.vertices}-{chosen.rows}", chosen.folder / "labels"
    write_files(folder, random_tables(chosen.vertices, chosen.rows, FILES), **PLAIN)
    cluster = {"n_workers": WORKERS, "memory_limit": MEMORY, "local_directory": str(chosen.folder)}

    def label(_: Any) -> int:
        edges = dd.read_parquet(folder)
        labels = dfmst.dask.connected_components(edges, memory_limit=MEMORY, algorithm=chosen.algorithm)
        labels.to_parquet(output, write_index=False)
        return int(labels.npartitions)

    figures, partitions = on_workers(label, cluster)
    found = ds.dataset(output).to_table(columns=["component"])
    measured: dict[str, Any] = {
        "labelled": found.num_rows,
        "components": pc.count_distinct(found["component"]).as_py(),
        "partitions": partitions,
        **figures,
    }
    shutil.rmtree(output)
    if chosen.busy:
        del measured["seconds"]
    asked: Any = {"n_vertices": chosen.vertices, "n_edges": chosen.rows, "partitions": FILES, "workers": WORKERS}
    planned = dfmst.plan(**asked, memory_limit=MEMORY, strategy="labels")
    results = {
        "plan": asked | {"memory_limit": MEMORY},
        "planned_peak_mb": round(planned.peak_memory / 1e6, 1),
        "measured": measured,
        "measured_per_planned": round(measured["peak_mb"] / (planned.peak_memory / 1e6), 2),
        "machine": describe("dask", "distributed", "pyarrow"),
    }
    print(json.dumps(results))
    write(chosen.output, results)


if __name__ == "__main__":
    main()
