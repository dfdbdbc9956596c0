"""A stream through one GPU next to a bare scan: rows a second of `dfmst.stream.fold` and of cuDF's reader.

    python bench gpu/stream [--scale 22] [--repeat 3] [-o FOLDER]

The file only has the three columns of the edges. Exit code 77 if cuDF is not installed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from support.machine import describe_device
from support.results import parser, write
from support.timing import interleaved

import dfmst.stream
from dfmst.generate import rmat
from gpu import require

BYTES_A_VERTEX = 320  # of the limit: a buffer of four rows a vertex


def measure(library: Any, engine: str, scale: int, repeat: int) -> dict[str, Any]:
    """Rows a second of both, and whether the stream's forest is the host's."""
    with tempfile.TemporaryDirectory(prefix="dfmst-stream-") as folder:
        path = Path(folder) / "edges.parquet"
        table = rmat(scale, 16)
        pq.write_table(table, path, row_group_size=1 << 20)
        limit = (512 << 20) + (BYTES_A_VERTEX << scale)

        def stream(engine: str) -> dfmst.forest.Forest:
            return dfmst.stream.fold(path, memory_limit=limit, gpu_memory_limit=limit, engine=engine)

        same = stream(engine).frame.equals(stream("cpu").frame)
        runs = {"scan": lambda: library.read_parquet(path), "fold": lambda: stream(engine)}
        scan, fold = (run.seconds for run in interleaved(runs, repeat).values())
        rows = table.num_rows
        return {
            "edges": rows,
            "rows_are_the_hosts": same,
            "scan_rows_per_s": round(rows / scan),
            "stream_rows_per_s": round(rows / fold),
            "stream_to_scan": round(fold / scan, 2),
        }


def main() -> int:
    chosen = parser(__doc__, "", scale=22, repeat=3).parse_args()
    cudf, cupy = require("cudf", "cupy")
    record = measure(cudf, "cuda", chosen.scale, chosen.repeat)
    device = describe_device(cupy)
    result = {"device": device, "cudf": cudf.__version__, **record}
    write(chosen.output / device["folder"] / "stream.json", result)
    print(json.dumps(record))
    return int(not record["rows_are_the_hosts"])
