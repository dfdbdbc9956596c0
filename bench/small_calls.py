"""Fixed costs of a call, on small tables: from arrays, a matrix, frames and files.

    python bench/small_calls.py [--repeat 2000] [--commands 15] [-o RESULT.json]

Medians of interleaved runs on one thread, in microseconds, next to SciPy's minimum spanning tree from the same arrays
(its matrix included). Graphs are random, of ``int64`` ids and ``float64`` weights; ids of frames are also texts. Then
milliseconds of ``dfmst forest`` on a CSV of 10,000 rows, a process each, next to one that only imports the libraries
that it needs, and to a run that imports pandas as well, as PyArrow would. Last, CPU-microseconds of a call in a loop;
of arrays and pandas also without the private names of NumPy and pandas that dfmst uses.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy.sparse import coo_array
from support.graphs import scipy_weights
from support.inside import Array, by_public_names
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved

import dfmst
from dfmst.arrays import forest_rows

ROWS = (10, 780, 10_000)
LOOP = 20  # calls


def edges(rows: int) -> tuple[tuple[Array, Array, Array], int]:
    """Ends, weights, and the number of vertices: half as many as rows."""
    draw, vertices = np.random.default_rng(rows), max(2, rows // 2)
    source, target = draw.integers(0, vertices, (2, rows))
    return (source, target, draw.random(rows)), vertices


def frames(columns: tuple[Array, Array, Array]) -> dict[str, Any]:
    """Frames of the columns, and of texts in place of the ids."""
    named = dict(zip(("source", "target", "weight"), columns, strict=True))
    texts = named | {end: [f"n{vertex}" for vertex in named[end]] for end in ("source", "target")}
    made: dict[str, Callable[..., Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
    return {
        f"{library}{ids}": make(data)
        for ids, data in ((" frame", named), (" frame, texts", texts))
        for library, make in made.items()
    }


def calls(repeat: int) -> dict[str, dict[str, float]]:
    """Microseconds of a call in a warm process, by rows."""
    result = {}
    for rows in ROWS:
        columns, vertices = edges(rows)
        matrix = coo_array((columns[2], columns[:2]), shape=(vertices, vertices)).tocsr()
        runs = {
            "arrays": partial(forest_rows, *columns),
            "CSR matrix": partial(forest_rows, matrix),
            **{name: partial(dfmst.minimum_spanning_forest, frame) for name, frame in frames(columns).items()},
            "SciPy, arrays": partial(scipy_weights, *columns, vertices),
        }
        result[f"{rows} rows"] = {name: round(1e6 * run.seconds, 1) for name, run in interleaved(runs, repeat).items()}
    return result


def in_a_loop(repeat: int) -> dict[str, dict[str, float]]:
    """CPU-microseconds of a call in a loop, by rows; of arrays and pandas also without private names."""
    result = {}
    for rows in ROWS:
        columns, _ = edges(rows)
        runs = {"arrays": partial(_loop, partial(forest_rows, *columns, threads=1))}
        for name, frame in frames(columns).items():
            runs[name] = partial(_loop, partial(dfmst.minimum_spanning_forest, frame, threads=1))
        for name in ("arrays", "pandas frame"):
            runs[f"{name}, public names"] = partial(by_public_names, runs[name])
        measured = interleaved(runs, repeat)
        result[f"{rows} rows"] = {name: round(1e6 * run.cpu / LOOP, 1) for name, run in measured.items()}
    return result


def _loop(call: Callable[[], object]) -> None:
    for _ in range(LOOP):
        call()


def commands(repeat: int) -> dict[str, dict[str, float]]:
    """Median milliseconds of the command line, from the start of the process to its end: on the clock and of CPUs."""
    with tempfile.TemporaryDirectory() as folder:
        (source, target, weight), _ = edges(10_000)
        path = Path(folder) / "edges.csv"
        pd.DataFrame({"source": source, "target": target, "weight": weight}).to_csv(path, index=False)
        arguments = ["forest", str(path), "-o", str(Path(folder) / "forest.csv")]
        with_pandas = "import pandas; from dfmst.__main__ import run; run()"
        runs = {
            "dfmst forest": ["-m", "dfmst", *arguments],
            "dfmst forest and pandas": ["-c", with_pandas, *arguments],
            "import click, numpy and pyarrow": ["-c", "import click, numpy, pyarrow.csv"],
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for turn in range(repeat + 1):
            for name, options in runs.items():
                before = time.perf_counter(), _children()
                subprocess.run([sys.executable, *options], check=True, capture_output=True)
                if turn:
                    taken[name].append((time.perf_counter() - before[0], _children() - before[1]))
    return {
        clock: {name: round(1e3 * median(run[at] for run in each), 2) for name, each in taken.items()}
        for at, clock in enumerate(("clock", "cpu"))
    }


def _children() -> float:
    """CPU-seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    chosen = parser(__doc__, "cpu/small_calls.json", repeat=2000, commands=15).parse_args()
    result = {
        "machine": {**describe("scipy", "polars", "pyarrow"), "load": round(os.getloadavg()[0], 1)},
        "microseconds_of_a_call": calls(chosen.repeat),
        "milliseconds_of_a_process": commands(chosen.commands),
        "cpu_microseconds_in_a_loop": in_a_loop(max(2, chosen.repeat // LOOP)),
    }
    print(json.dumps(result, indent=1))
    write(chosen.output, result)


if __name__ == "__main__":
    main()
