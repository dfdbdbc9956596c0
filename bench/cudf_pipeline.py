"""From Parquet to Parquet with cuDF: seconds of reading, of the forest and of writing.

    python bench/cudf_pipeline.py [--scale 22] [-o FOLDER]

Exit code 77 where cuDF is not installed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from machine import describe_device

from dfmst.generate import rmat

RESULTS = Path(__file__).parent / "results"
LEFT_OUT = 77


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


def main() -> int:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="the device's folder is made there")
    options = parser.parse_args()
    try:
        cudf, cupy = import_module("cudf"), import_module("cupy")
        import_module("dfmst.cudf")
    except ImportError as error:
        print(f"left out: {error}")
        return LEFT_OUT
    result = {"device": describe_device(cupy), "cudf": cudf.__version__}
    result |= measure(cudf, options.scale, options.repeat)
    path = options.output / result["device"]["folder"] / "cudf.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result["seconds"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
