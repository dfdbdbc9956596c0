"""What a call costs on a table so small that its fixed costs decide: from arrays, from pandas, from a file.

    python bench/small_calls.py [--repeat 2000] [--commands 15] [-o RESULT.json]

Medians of interleaved runs on one thread, in microseconds, beside SciPy's minimum spanning tree from the same arrays
(to which the making of its matrix belongs); then milliseconds of ``dfmst forest`` on a CSV of 10,000 rows, a process
each, beside one that imports what it cannot do without. Graphs are random, of ``int64`` ids and ``float64`` weights.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import describe
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from timing import interleaved, milliseconds

import dfmst
from dfmst.arrays import forest_rows
from dfmst.typing import Array

RESULT = Path(__file__).parent / "results" / "cpu" / "small_calls.json"
ROWS = (10, 780, 10_000)


def edges(rows: int) -> tuple[tuple[Array, Array, Array], int]:
    """Ends, weights, and the number of vertices: half as many as rows."""
    draw, vertices = np.random.default_rng(rows), max(2, rows // 2)
    source, target = draw.integers(0, vertices, (2, rows))
    return (source, target, draw.random(rows)), vertices


def scipy_tree(source: Array, target: Array, weight: Array, vertices: int) -> Any:
    """SciPy's forest; parallel rows are added up there."""
    return minimum_spanning_tree(coo_array((weight, (source, target)), shape=(vertices, vertices)).tocsr())


def calls(repeat: int) -> dict[str, dict[str, float]]:
    """Microseconds of a call in a warm process, by rows."""
    result = {}
    for rows in ROWS:
        columns, vertices = edges(rows)
        frame = pd.DataFrame(dict(zip(("source", "target", "weight"), columns, strict=True)))
        runs = {
            "arrays": partial(forest_rows, *columns),
            "pandas frame": partial(dfmst.minimum_spanning_forest, frame),
            "SciPy, arrays": partial(scipy_tree, *columns, vertices),
        }
        result[f"{rows} rows"] = {name: round(1e6 * run.seconds, 1) for name, run in interleaved(runs, repeat).items()}
    return result


def commands(repeat: int) -> dict[str, float]:
    """Milliseconds of the command line, from the start of the process to its end."""
    with tempfile.TemporaryDirectory() as folder:
        (source, target, weight), _ = edges(10_000)
        path = Path(folder) / "edges.csv"
        pd.DataFrame({"source": source, "target": target, "weight": weight}).to_csv(path, index=False)
        forest = [sys.executable, "-m", "dfmst", "forest", str(path), "-o", str(Path(folder) / "forest.csv")]
        imports = [sys.executable, "-c", "import click, numpy, pyarrow.csv"]
        runs = {
            name: partial(subprocess.run, command, check=True, capture_output=True)
            for name, command in (("dfmst forest", forest), ("import click, numpy and pyarrow", imports))
        }
        return milliseconds(interleaved(runs, repeat))


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=2000)
    parser.add_argument("--commands", type=int, default=15)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    chosen = parser.parse_args()
    result = {
        "machine": {**describe("scipy", "pyarrow"), "load": round(os.getloadavg()[0], 1)},
        "microseconds_of_a_call": calls(chosen.repeat),
        "milliseconds_of_a_process": commands(chosen.commands),
    }
    print(json.dumps(result, indent=1))
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
