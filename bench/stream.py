"""Streams next to SciPy in memory and to a bare scan: edges a second, and peak memory.

Every run is a process of its own, whose imports are not counted; its peak is that of the system (``VmHWM``). Graphs
are Erdős–Rényi, in Parquet files of equal length with three columns (two int64, one float64), as pyarrow writes them
by default. They are made by ``dfmst.generate``, and removed in the end.

    python bench/stream.py speed            # n = 2 M, m = 96 M in 48 files
    python bench/stream.py large            # n = 10 M, m = 400 M, and a smaller sibling in memory
    python bench/stream.py ids              # n = 2 M, m = 24 M with dense ids, 64-bit hashes and texts, 3 minutes
    python bench/stream.py store            # n = 2 M, m = 24 M in files, and in an S3 server on this machine, 3 minutes
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.fs
from support.files import ID_KINDS, random_tables, write_files
from support.machine import describe
from support.results import Plans, parser, read, run_plan, write
from support.runs import STORE, measure


def best(runs: list[dict[str, float]]) -> dict[str, float]:
    """The median run by seconds, a hundredth at least, and the highest peak."""
    ordered = sorted(runs, key=lambda run: run["seconds"])
    median = ordered[len(ordered) // 2]
    return {
        "seconds": max(0.01, round(median["seconds"], 2)),  # rates are of these
        "processor_seconds": round(median["cpu_seconds"], 2),
        "peak_mib": round(max(run["peak"] for run in runs) / 2**20),
    }


def speed(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Throughput and memory next to SciPy and a scan, in one run."""
    write_files(folder, random_tables(chosen.vertices, chosen.rows, chosen.files))
    measure("scan", folder)  # brings the files into memory's cache
    runs: dict[str, list[dict[str, float]]] = {"scan": [], "stream": [], "scan_in_order": []}
    for _ in range(chosen.repeat):
        for name, times in runs.items():
            times.append(measure(name, folder, chosen.limit))
    result = {name: best(times) for name, times in runs.items()}
    if chosen.scipy:
        result["scipy"] = best([measure("scipy", folder)])
    rates = {name: chosen.rows / figures["seconds"] / 1e6 for name, figures in result.items()}
    for name, rate in rates.items():
        result[name]["m_rows_per_s"] = round(rate, 1)
    scan = max(rates["scan"], rates["scan_in_order"])
    summary: dict[str, Any] = {"memory_limit": chosen.limit, "of_the_faster_scan": round(rates["stream"] / scan, 2)}
    if chosen.scipy:
        summary["times_faster_than_scipy"] = round(rates["stream"] / rates["scipy"], 1)
    return {**graph_of(folder, chosen), **result, **summary}


def large(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """More rows than the limit holds: peak, certificate, and a smaller graph's rows compared with a run in memory."""
    sibling = folder.with_name("sibling")
    write_files(sibling, random_tables(chosen.vertices // 10, chosen.rows // 10, max(1, chosen.files // 10)))
    small = measure("written", sibling, chosen.sibling_limit)
    memory = measure("compared", sibling)
    shutil.rmtree(sibling)
    write_files(folder, random_tables(chosen.vertices, chosen.rows, chosen.files))
    stream = measure("written", folder, chosen.limit)
    verified = measure("command", folder, chosen.limit)
    return {
        **graph_of(folder, chosen),
        "memory_limit": chosen.limit,
        "stream": {**best([stream]), "m_rows_per_s": round(chosen.rows / stream["seconds"] / 1e6, 1)},
        "stream_and_certificate": {**best([verified]), "verified": True},
        "sibling": {
            "rows": chosen.rows // 10,
            "memory_limit": chosen.sibling_limit,
            "stream": best([small]),
            "in_memory": best([memory]),
            "rows_equal": True,
        },
    }


def ids(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """The same rows with ids of three kinds: a scan, a scan that hashes, the stream and a run in memory, in turn."""
    names = ("scan_in_order", "scan_and_hash", "stream", "in_memory")
    folders = {kind: folder.with_name(kind) for kind in ID_KINDS}
    runs: dict[str, dict[str, list[dict[str, float]]]] = {kind: {name: [] for name in names} for kind in ID_KINDS}
    for kind, edges in folders.items():
        write_files(edges, random_tables(chosen.vertices, chosen.rows, chosen.files, kind))
        measure("scan", edges)  # brings the files into memory's cache
    for _ in range(chosen.repeat):
        for kind, edges in folders.items():
            for name in names:
                runs[kind][name].append(measure(name, edges, chosen.limit))
    forests = {run["rows"] for kinds in runs.values() for name in names[2:] for run in kinds[name]}
    if len(forests) != 1:
        raise AssertionError("forests of one graph have different numbers of rows")
    kinds: dict[str, Any] = {}
    for kind, times in runs.items():
        figures: dict[str, Any] = {name: best(found) for name, found in times.items()}
        for figure in figures.values():
            figure["m_rows_per_s"] = float(f"{chosen.rows / figure['seconds'] / 1e6:.3g}")
        busy = {name: figure["processor_seconds"] for name, figure in figures.items()}
        figures["times_scan_and_hash"] = round(busy["stream"] / max(busy["scan_and_hash"], 0.01), 2)
        kinds[kind] = figures
    return {**graph_of(folders["dense"], chosen), "memory_limit": chosen.limit, **kinds}


def store(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """The same files on the disk and in an S3 server on the loopback, which is a process of its own and not counted."""
    write_files(folder, random_tables(chosen.vertices, chosen.rows, chosen.files))
    names = ("stream", "stream_of_store", "polars", "polars_of_store")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with served(folder):
        measure("scan", folder)  # brings the files into memory's cache
        for _ in range(chosen.repeat):
            for name, times in runs.items():
                times.append(measure(name, folder, chosen.limit))
    if len({run["rows"] for name in names[:2] for run in runs[name]}) != 1:
        raise AssertionError("forests of one graph have different numbers of rows")
    figures = {name: best(times) for name, times in runs.items()}
    for figure in figures.values():
        del figure["seconds"]  # the server takes its time of the same cores
    machine = describe("polars", "pyarrow")  # another one than that of the other plans
    return {"machine": machine, **graph_of(folder, chosen), "memory_limit": chosen.limit, **figures}


@contextmanager
def served(folder: Path) -> Iterator[None]:
    """Let a server have the files, and the environment name it."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    keys = {"access_key": "bench", "secret_key": "bench", "region": "us-east-1"}
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_REGION": "us-east-1"}
    os.environ |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while socket.socket().connect_ex(("127.0.0.1", port)):
                time.sleep(0.1)
            options = {"endpoint_override": f"127.0.0.1:{port}", "scheme": "http", "allow_bucket_creation": True}
            files = pyarrow.fs.S3FileSystem(**keys, **options, request_timeout=600)
            files.create_dir(STORE)
            for path in folder.iterdir():  # PyArrow's copy_files hides errors
                with files.open_output_stream(f"{STORE}/{folder.name}/{path.name}") as file:
                    file.write(path.read_bytes())
            yield
        finally:
            server.kill()


def graph_of(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Size of the graph."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {
        "vertices": chosen.vertices,
        "rows": chosen.rows,
        "files": chosen.files,
        "gb_on_disk": round(size / 1e9, 2),
        "gb_as_columns": round(24 * chosen.rows / 1e9, 2),
    }


PLANS: Plans = {
    "speed": (speed, {"vertices": 2_000_000, "rows": 96_000_000, "files": 48, "limit": "560MiB"}),
    "large": (large, {"vertices": 10_000_000, "rows": 400_000_000, "files": 100, "limit": "2GiB"}),
    "ids": (ids, {"vertices": 2_000_000, "rows": 24_000_000, "files": 12, "limit": "1GiB"}),
    "store": (store, {"vertices": 2_000_000, "rows": 24_000_000, "files": 12, "limit": "1GiB"}),
}


def main() -> None:
    options = parser(__doc__, "cpu/stream.json", sibling_limit="512MiB", repeat=3)
    options.add_argument("--no-scipy", dest="scipy", action="store_false")
    chosen, figures = run_plan(options, PLANS)
    write(
        chosen.output, {**read(chosen.output), "machine": describe("polars", "pyarrow", "scipy"), chosen.plan: figures}
    )


if __name__ == "__main__":
    main()
