"""Grids that fit none of their workers, by ``strategy="shuffle"``: CPU-seconds, peak memory and bytes on disk.

    python bench limits/cluster_large FOLDER 6M [-o RESULT.json] [--busy]       # 4 workers of 400 MB, two minutes
    python bench limits/cluster_large FOLDER 20M                                # 3 workers of 1 GB
    python bench limits/cluster_large FOLDER 60M                                # 4 workers of 1 GB

A grid has two rows a vertex, with random weights: the rows of one worker alone decide little of the forest. Workers
are processes with one thread each, which Dask ends when they pass their limit; their files go to FOLDER. The forest is
compared with that of a stream with its rows on disk. Files are left in FOLDER for the next call.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset
from support.files import PLAIN, write_files
from support.machine import describe
from support.results import BUSY, parser, read, write
from support.runs import measure
from support.timing import spent
from support.workers import forest_on_workers

import dfmst.stream

_BAND = 250_000  # vertices of a file


class Size(NamedTuple):
    """Vertices on a side of the grid, workers, and the bytes of each."""

    side: int
    workers: int
    memory: int


SIZES = {
    "6M": Size(2_450, 4, 400_000_000),
    "20M": Size(4_473, 3, 1_000_000_000),
    "60M": Size(7_746, 4, 1_000_000_000),
}


def grid_tables(side: int) -> Iterator[pa.Table]:
    """The grid's rows, band after band."""
    height = max(1, _BAND // side)
    for number, top in enumerate(range(0, side, height)):
        vertices = np.arange(top * side, min(top + height, side) * side)
        right, below = vertices[vertices % side < side - 1], vertices[vertices < side * (side - 1)]
        source, target = np.concatenate([right, below]), np.concatenate([right + 1, below + side])
        weight = np.random.default_rng(number).random(len(source))
        yield pa.table({"source": source, "target": target, "weight": weight})


def run_cluster(size: Size, edges: Path, output: Path, local: Path) -> dict[str, Any]:
    """Find the forest on a fresh cluster."""
    local.mkdir()
    cluster = {"n_workers": size.workers, "memory_limit": size.memory, "local_directory": str(local)}
    options = {"strategy": "shuffle", "n_vertices": size.side**2, "memory_limit": size.memory}
    return forest_on_workers(edges, output, cluster, **options)


def run_stream(size: Size, edges: Path, output: Path, local: Path) -> dict[str, Any]:
    """The same in one process, with its rows on disk."""
    options: dict[str, Any] = {"memory_limit": max(size.memory, 500_000_000), "spill_dir": local}
    figures, _ = spent(lambda: dfmst.stream.minimum_spanning_forest(edges, output=output, **options))
    return {name: round(value, 1) for name, value in figures.items()}


def run_in_memory(edges: Path, cluster: dict[str, Any]) -> dict[str, Any]:
    """All rows in one process without a limit; the cluster's CPU-seconds as a multiple of its own."""
    run = measure("in_memory", edges)
    cluster["times_in_memory"] = round(cluster["cpu_seconds"] / run["whole_cpu_seconds"], 1)
    figures = {name: round(run[f"whole_{name}"], 2) for name in ("seconds", "cpu_seconds")}
    return {**figures, "peak_mb": round(run["peak"] / 1e6)}


def digest(path: Path) -> list[str]:
    """A hash of each column of a Parquet file or a directory of them, read in pieces."""
    hashes = {name: hashlib.blake2b() for name in ("source", "target", "weight")}
    for batch in pyarrow.dataset.dataset(path).to_batches(columns=list(hashes)):
        for name, found in hashes.items():
            found.update(batch.column(name).to_numpy())
    return [found.hexdigest() for found in hashes.values()]


def main() -> None:
    options = parser(__doc__, "cpu/cluster_large.json")
    options.add_argument("folder", type=Path)
    options.add_argument("size", choices=SIZES)
    options.add_argument("--busy", **BUSY)
    chosen = options.parse_args()
    size, edges = SIZES[chosen.size], chosen.folder / f"grid{chosen.size}"
    write_files(edges, grid_tables(size.side), **PLAIN)
    forest, streamed, local = (chosen.folder / name for name in ("forest", "streamed.parquet", "local"))
    for path in (forest, local):
        shutil.rmtree(path, ignore_errors=True)
    figures = {"shuffle": run_cluster(size, edges, forest, local)}
    figures["spilled_stream"] = run_stream(size, edges, streamed, local)
    figures["in_memory"] = run_in_memory(edges, figures["shuffle"])
    if digest(forest) != digest(streamed):
        raise AssertionError("the cluster's rows are not those of the stream")
    if chosen.busy:
        for run in figures.values():
            del run["seconds"]
    asked = {"vertices": size.side**2, "rows": 2 * size.side * (size.side - 1), "workers": size.workers}
    results = read(chosen.output)
    results["machine"] = describe("dask", "distributed", "pyarrow")
    results[chosen.size] = {**asked, "memory_mb": size.memory // 10**6, **figures, "rows_equal": True}
    print(json.dumps(results[chosen.size]))
    write(chosen.output, results)
    for path in (forest, local):
        shutil.rmtree(path, ignore_errors=True)
    streamed.unlink()
