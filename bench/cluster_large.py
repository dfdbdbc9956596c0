"""Grids that fit none of their workers, by ``strategy="shuffle"``: CPU-seconds, peak memory and bytes on disk.

    python bench/cluster_large.py FOLDER 6M [-o RESULT.json] [--busy]       # 4 workers of 400 MB, two minutes
    python bench/cluster_large.py FOLDER 20M                                # 3 workers of 1 GB
    python bench/cluster_large.py FOLDER 60M                                # 4 workers of 1 GB

A grid has two rows a vertex, with random weights: nothing that a worker knows by itself tells much about the forest.
Workers are processes with one thread each, which Dask ends when they pass their limit; their files go to FOLDER. The
forest is compared with that of a stream with its rows on disk. Files are left in FOLDER for the next call.
"""

from __future__ import annotations

import argparse
import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from cluster import usage
from machine import describe
from one_process import run_single

import dfmst.dask
import dfmst.stream

RESULT = Path(__file__).parent / "results" / "cpu" / "cluster_large.json"
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


def write_grid(folder: Path, side: int) -> None:
    """Write the grid's rows, band after band."""
    if folder.exists():
        return
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    height = max(1, _BAND // side)
    for number, top in enumerate(range(0, side, height)):
        vertices = np.arange(top * side, min(top + height, side) * side)
        beside, below = vertices[vertices % side < side - 1], vertices[vertices < side * (side - 1)]
        source = np.concatenate([beside, below])
        target = np.concatenate([beside + 1, below + side])
        weight = np.random.default_rng(number).random(len(source))
        table = pa.table({"source": source, "target": target, "weight": weight})
        pyarrow.parquet.write_table(table, part / f"part-{number:04}.parquet", compression="none", use_dictionary=False)
    part.rename(folder)


class DiskWatch(threading.Thread):
    """The most bytes that lie in a directory, looked at twice a second."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder, self._done = folder, threading.Event()
        self.most = 0

    def run(self) -> None:
        """Look until it is stopped."""
        while not self._done.wait(0.5):
            self.most = max(self.most, sum(size_of(path) for path in self._folder.rglob("*")))

    def stop(self) -> int:
        """End it; the most bytes."""
        self._done.set()
        self.join()
        return self.most


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where it is gone, or a directory."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def run_cluster(size: Size, edges: Path, output: Path, local: Path) -> dict[str, Any]:
    """Find the forest on a fresh cluster."""
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"n_workers": size.workers, "threads_per_worker": 1, "memory_limit": size.memory}
    local.mkdir()
    disk = DiskWatch(local)
    disk.start()
    with (
        LocalCluster(dashboard_address=":0", local_directory=str(local), **options) as cluster,
        Client(cluster) as client,
    ):
        before = client.run(usage)
        begin = time.perf_counter()
        written = dfmst.dask.forest_of_files(
            edges, output, client=client, strategy="shuffle", vertices=size.side * size.side, memory_limit=size.memory
        )
        seconds = time.perf_counter() - begin
        after = client.run(usage)
    return {
        "forest_rows": written.rows,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(sum(used["cpu"] - before[worker]["cpu"] for worker, used in after.items()), 1),
        "peak_mb": round(max(used["peak"] for used in after.values()) / 1e6),
        "gb_on_disk": round(disk.stop() / 1e9, 2),
    }


def run_stream(size: Size, edges: Path, output: Path, local: Path) -> dict[str, Any]:
    """The same in one process, its rows on disk."""
    before, begin = time.process_time(), time.perf_counter()
    limit = max(size.memory, 500_000_000)
    dfmst.stream.minimum_spanning_forest(edges, output=output, memory_limit=limit, spill_dir=local)
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "cpu_seconds": round(time.process_time() - before, 1),
    }


def run_in_memory(edges: Path, cluster: dict[str, Any]) -> dict[str, Any]:
    """All rows in one process without a limit, and how many times as many CPU-seconds the cluster took."""
    run = run_single("in_memory", edges, 0)
    cluster["times_in_memory"] = round(cluster["cpu_seconds"] / run["cpu_seconds"], 1)
    return {name: run[name] for name in ("seconds", "cpu_seconds", "peak_mb")}


def same_rows(first: Path, second: Path) -> bool:
    """Whether Parquet files or directories of them hold the same rows, read piece by piece."""
    names = ["source", "target", "weight"]

    def columns(path: Path) -> Any:
        for file in sorted(path.rglob("*.parquet")) if path.is_dir() else [path]:
            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(1 << 16, columns=names):
                yield np.concatenate([batch.column(name).to_numpy().astype(np.float64) for name in names]), len(batch)

    def digest(path: Path) -> tuple[int, list[float]]:
        rows, sums = 0, [0.0, 0.0, 0.0]
        for values, length in columns(path):
            # The order of the rows counts: each is weighed by its number.
            place = np.arange(rows, rows + length) % 1_000_003
            rows += length
            sums = [total + float(part @ place) for total, part in zip(sums, values.reshape(3, length), strict=True)]
        return rows, sums

    (rows, sums), (other_rows, other_sums) = digest(first), digest(second)
    return rows == other_rows and bool(np.allclose(sums, other_sums, rtol=1e-9))


def main() -> None:
    """Measure one size, and put it into the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    parser.add_argument("--busy", action="store_true", help="leave wall times out")
    chosen = parser.parse_args()
    size, edges = SIZES[chosen.size], chosen.folder / f"grid{chosen.size}"
    write_grid(edges, size.side)
    forest, streamed, local = (chosen.folder / name for name in ("forest", "streamed.parquet", "local"))
    for path in (forest, local):
        shutil.rmtree(path, ignore_errors=True)
    figures = {"shuffle": run_cluster(size, edges, forest, local), "spilled_stream": {}}
    figures["spilled_stream"] = run_stream(size, edges, streamed, local)
    figures["in_memory"] = run_in_memory(edges, figures["shuffle"])
    if not same_rows(forest, streamed):
        raise AssertionError("the cluster's rows are not those of the stream")
    if chosen.busy:
        for run in figures.values():
            del run["seconds"]
    asked = {"vertices": size.side**2, "rows": 2 * size.side * (size.side - 1), "workers": size.workers}
    results = json.loads(chosen.output.read_text(encoding="utf-8")) if chosen.output.exists() else {}
    results["machine"] = describe("dask", "distributed", "pyarrow")
    results[chosen.size] = {**asked, "memory_mb": size.memory // 10**6, **figures, "rows_equal": True}
    print(json.dumps(results[chosen.size]))
    chosen.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for path in (forest, local):
        shutil.rmtree(path, ignore_errors=True)
    streamed.unlink()


if __name__ == "__main__":
    main()
