"""A stream through one GPU beside a bare scan: rows a second of `dfmst.stream.fold` and of cuDF's reader.

    python bench/gpu_stream.py [--scale 22] [--repeat 3] [-o FOLDER]

The file has nothing but the three columns of the edges. Exit code 77 where cuDF is not installed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from machine import describe_device

import dfmst.stream
from dfmst.generate import rmat

RESULTS = Path(__file__).parent / "results"
LEFT_OUT = 77
BYTES_A_VERTEX = 320  # of the limit: a buffer of four rows a vertex


def seconds(run: Callable[[], Any], repeat: int) -> float:
    """Median of some runs, after one that warms up."""
    times = []
    for _ in range(repeat + 1):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def measure(library: Any, engine: str, scale: int, repeat: int) -> dict[str, Any]:
    """Rows a second of both, and whether the stream's forest is the host's."""
    with tempfile.TemporaryDirectory(prefix="dfmst-stream-") as folder:
        path = Path(folder) / "edges.parquet"
        table = rmat(scale, 16)
        pq.write_table(table, path, row_group_size=1 << 20)
        limit = (512 << 20) + (BYTES_A_VERTEX << scale)

        def stream(engine: str) -> dfmst.stream.StreamForest:
            return dfmst.stream.fold(path, memory_limit=limit, engine=engine)

        same = stream(engine).read().equals(stream("cpu").read())
        scan, fold = (seconds(run, repeat) for run in (lambda: library.read_parquet(path), lambda: stream(engine)))
        rows = table.num_rows
        return {
            "edges": rows,
            "rows_are_the_hosts": same,
            "scan_rows_per_s": round(rows / scan),
            "stream_rows_per_s": round(rows / fold),
            "stream_to_scan": round(fold / scan, 2),
        }


def main() -> int:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    try:
        cudf, cupy = import_module("cudf"), import_module("cupy")
    except ImportError as error:
        print(f"left out: {error}")
        return LEFT_OUT
    told = measure(cudf, "cuda", options.scale, options.repeat)
    device = describe_device(cupy)
    path = options.output / device["folder"] / "stream.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"device": device, "cudf": cudf.__version__, **told}, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(told))
    return int(not told["rows_are_the_hosts"])


if __name__ == "__main__":
    raise SystemExit(main())
