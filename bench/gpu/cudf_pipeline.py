"""From Parquet to Parquet with cuDF: seconds of reading, of the forest and of writing.

    python bench gpu/cudf_pipeline [--scale 22] [-o FOLDER]

Exit code 77 if cuDF is not installed.
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from support.machine import describe_device
from support.results import parser, write

from dfmst.generate import rmat
from gpu import require


def pipeline(library: Any, edges: Path, forest: Path) -> tuple[dict[str, float], int]:
    """Seconds of each step, and the forest's rows; `library` reads the file and has the accessor."""
    times = [time.perf_counter()]
    frame = library.read_parquet(edges)
    times.append(time.perf_counter())
    found = frame.mst.minimum("source", "target", "weight")
    times.append(time.perf_counter())
    found.to_parquet(forest, index=False)
    times.append(time.perf_counter())
    names = ("read_parquet", "mst.minimum", "to_parquet")
    spans = itertools.pairwise(times)
    return {name: after - before for name, (before, after) in zip(names, spans, strict=True)}, len(found)


def measure(library: Any, scale: int, repeat: int) -> dict[str, Any]:
    """Medians by step, after one run that warms up."""
    with tempfile.TemporaryDirectory(prefix="dfmst-cudf-") as folder:
        edges, forest = Path(folder) / "edges.parquet", Path(folder) / "forest.parquet"
        table = rmat(scale, 8)
        pq.write_table(table, edges)
        runs, rows = [], 0
        for _ in range(repeat + 1):
            times, rows = pipeline(library, edges, forest)
            runs.append(times)
        if pq.read_metadata(forest).num_rows != rows:
            message = "the forest's file has another number of rows"
            raise AssertionError(message)
        medians = {name: round(statistics.median(run[name] for run in runs[1:]), 4) for name in runs[0]}
        return {"edges": table.num_rows, "forest": rows, "seconds": medians, "total": round(sum(medians.values()), 4)}


def main() -> None:
    chosen = parser(__doc__, "", scale=22, repeat=5).parse_args()
    cudf, cupy, _ = require("cudf", "cupy", "dfmst.cudf")
    result = {"device": describe_device(cupy), "cudf": cudf.__version__}
    result |= measure(cudf, chosen.scale, chosen.repeat)
    write(chosen.output / result["device"]["folder"] / "cudf.json", result)
    print(json.dumps(result["seconds"]))
