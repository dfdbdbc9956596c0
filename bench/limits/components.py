"""Components of a stream: rate and peak memory next to a bare scan, to a scan that hashes, and to peers in memory.

Every run is a process of its own, whose imports are not counted; its peak is that of the system (``VmHWM``). Graphs are
Erdős–Rényi in Parquet files of two columns of 64-bit ids (16 bytes a row) or of texts, as pyarrow writes them by
default; with --plain without encoding and compression, so that a scan of files in the system's cache only copies bytes.
They are written, and removed in the end. Figures of plans that were run before stay in the result file.

    python bench limits/components dense                 # 1 G rows on 100 M vertices within 1 GiB: half an hour
    python bench limits/components ids                   # 50 M rows on 4 M vertices as hashes and as texts
    python bench limits/components peers                 # 150 M rows on 15 M vertices, SciPy and networkit in memory
    python bench limits/components dense --rows 50000000 --vertices 5000000
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from stream import best
from support.files import PLAIN, random_tables, write_files
from support.machine import describe
from support.results import Plans, parser, read, run_plan, write
from support.runs import measure


def pairs(chosen: argparse.Namespace, kind: str) -> Iterable[pa.Table]:
    """The two columns of ids of each file."""
    for table in random_tables(chosen.vertices, chosen.rows, chosen.files, kind):
        yield table.select(["source", "target"])


def in_turn(folder: Path, names: Iterable[str], chosen: argparse.Namespace) -> dict[str, Any]:
    """Median seconds and rate, and the highest peak, of runs that are repeated in turn; equal results."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(chosen.repeat):
        for name, times in runs.items():
            times.append(measure(name, folder, chosen.limit))
    result: dict[str, Any] = {name: best(times) for name, times in runs.items()}
    for figures in result.values():
        figures["m_rows_per_s"] = float(f"{chosen.rows / figures['seconds'] / 1e6:.3g}")
    found = {name: times[0]["rows"] for name, times in runs.items() if "components" in name}
    if len(set(found.values())) != 1:
        raise AssertionError(f"numbers of components differ: {found}")
    return {"components_found": next(iter(found.values())), **result}


def size_of(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Size of the graph."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {"vertices": chosen.vertices, "rows": chosen.rows, "files": chosen.files, "gb_on_disk": round(size / 1e9, 2)}


def dense(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Dense ids next to a scan of the two columns."""
    write_files(folder, pairs(chosen, "dense"), **(PLAIN if chosen.plain else {}))
    result = in_turn(folder, ("scan_ends", "scan_ends_in_order", "components"), chosen)
    scan = max(result[name]["m_rows_per_s"] for name in ("scan_ends", "scan_ends_in_order"))
    share = round(result["components"]["m_rows_per_s"] / scan, 2)
    return {**size_of(folder, chosen), "memory_limit": chosen.limit, **result, "of_the_faster_scan": share}


def ids(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Hashes of 64 bits and texts next to a scan that hashes."""
    kinds = {}
    for kind in ("sparse", "text"):
        part = folder.with_name(kind)
        write_files(part, pairs(chosen, kind), **(PLAIN if chosen.plain else {}))
        result = in_turn(part, ("scan_ends_in_order", "hash_ends", "components"), chosen)
        times = round(result["components"]["seconds"] / result["hash_ends"]["seconds"], 2)
        kinds[kind] = {**size_of(part, chosen), **result, "times_the_scan_that_hashes": times}
        shutil.rmtree(part)
    return {"memory_limit": chosen.limit, **kinds}


def peers(folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Union-find and traversals of other libraries, in memory."""
    write_files(folder, pairs(chosen, "dense"), **(PLAIN if chosen.plain else {}))
    names = ["components", "components_in_memory", "scipy_components"]
    names += ["networkit_components"] if importlib.util.find_spec("networkit") else []
    return {**size_of(folder, chosen), "memory_limit": chosen.limit, **in_turn(folder, names, chosen)}


PLANS: Plans = {
    "dense": (dense, {"vertices": 100_000_000, "rows": 1_000_000_000, "files": 100, "limit": "1000MiB"}),
    "ids": (ids, {"vertices": 4_000_000, "rows": 50_000_000, "files": 10, "limit": "1GiB"}),
    "peers": (peers, {"vertices": 15_000_000, "rows": 150_000_000, "files": 15, "limit": "1GiB"}),
}


def main() -> None:
    options = parser(__doc__, "cpu/components.json", repeat=3)
    options.add_argument("--plain", action="store_true", help="write the files without encoding and compression")
    chosen, figures = run_plan(options, PLANS)
    libraries = ("pyarrow", "scipy", *(["networkit"] if "networkit_components" in figures else []))
    write(
        chosen.output,
        {
            **read(chosen.output),
            "machine": describe(*libraries),
            chosen.plan + ("_plain" if chosen.plain else ""): figures,
        },
    )


if __name__ == "__main__":
    main()
