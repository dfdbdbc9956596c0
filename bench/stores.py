"""A forest of objects that are far away, next to polars and PyArrow's dataset: seconds and requests.

    python bench/stores.py [-o bench/results/cpu/stores.json] [--files 4 16 1000] [--latency 1 20 100] [--turns 3]

Each file has 1,000 rows: two ids, a weight and a number. A server on this machine answers every request after the
latency, in milliseconds. polars and PyArrow read the three columns once; dfmst reads them, and then the rows of the
forest. Each run is a process of its own, as libraries keep lists and connections, and its imports are not counted. The
ratio is that of the least seconds.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from support.files import random_tables, write_files
from support.machine import describe
from support.results import BENCH, parser, write
from support.runs import measure

ROWS = 1000  # of a file
RUNS = {"dfmst": "stream_of_store", "polars": "polars_of_store", "pyarrow": "dataset_of_store"}


def compared(folder: Path, files: int, latencies: list[float], turns: int) -> dict[str, Any]:
    """Seconds and requests by latency and library."""
    write_files(folder, random_tables(files * ROWS // 10, files * ROWS, files))
    command = [sys.executable, str(BENCH), "support/far_store", str(folder.parent), "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        words, answers = server.stdin, server.stdout
        assert words is not None
        assert answers is not None
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{answers.readline().strip()}"

        def asked(latency: float) -> dict[str, int]:
            """Set the latency, and return the requests since it was last set."""
            print(latency, file=words, flush=True)
            counts: dict[str, int] = ast.literal_eval(answers.readline())
            return counts

        figures: dict[str, Any] = {}
        for latency in latencies:
            runs: dict[str, list[dict[str, float]]] = {name: [] for name in RUNS}
            counts: dict[str, dict[str, int]] = {}
            for _ in range(turns):
                for name, run in RUNS.items():
                    asked(latency)
                    runs[name].append(measure(run, folder))
                    counts[name] = asked(latency)
            least = {name: min(run["seconds"] for run in taken) for name, taken in runs.items()}
            cpu = {name: min(run["cpu_seconds"] for run in taken) for name, taken in runs.items()}
            table: dict[str, Any] = {
                name: {"seconds": round(least[name], 2), "cpu_seconds": round(cpu[name], 2), "requests": counts[name]}
                for name in RUNS
            }
            figures[f"{latency:g} ms"] = {**table, "times_of_polars": round(least["dfmst"] / least["polars"], 2)}
        words.close()
    return figures


def main() -> None:
    options = parser(__doc__, "cpu/stores.json", turns=3)
    options.add_argument("--files", type=int, nargs="+", default=[4, 16, 1000])
    options.add_argument("--latency", type=float, nargs="+", default=[1, 20, 100], help="milliseconds")
    chosen = options.parse_args()
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    os.environ |= {**dict.fromkeys(names, "bench"), "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    figures = {}
    for files in chosen.files:
        with tempfile.TemporaryDirectory() as temporary:
            figures[f"{files:,} files"] = compared(Path(temporary) / "edges", files, chosen.latency, chosen.turns)
    write(chosen.output, {"machine": describe("polars", "pyarrow"), "rows_of_a_file": ROWS, **figures})


if __name__ == "__main__":
    main()
