"""Seconds next to those of the algorithm: taking the rows, verification, and the first call of a cold process.

    python bench solver/frames [-o RESULT.json]

Graph: Erdős–Rényi, 1 M vertices, 10 M rows, ``int64`` ids and ``float64`` weights, in a pandas frame.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import Any

from support.graphs import erdos_renyi, frame_of
from support.machine import describe
from support.results import parser, write
from support.timing import spent

import dfmst

REPEAT = 7

COLD = """
import time
import numpy as np
import pandas as pd
draw = np.random.default_rng(0)
ends = draw.integers(0, 100_000, (2, 1_000_000))
frame = pd.DataFrame({"source": ends[0], "target": ends[1], "weight": draw.random(1_000_000)})
begin = time.perf_counter()
import dfmst
dfmst.minimum_spanning_forest(frame)
print(time.perf_counter() - begin)
"""


def steps(frame: Any) -> dict[str, float]:
    """Seconds of the two parts of a call: rows found (the columns are read in it), and rows taken from the frame."""
    solved, solution = spent(lambda: dfmst.forest.solve(frame))
    taken, _ = spent(lambda: solution.frame)
    return {"solve": solved["seconds"], "take": taken["seconds"]}


def verification(frame: Any) -> dict[str, float]:
    """Seconds of a call and of its verification."""
    solved, forest = spent(lambda: dfmst.minimum_spanning_forest(frame))
    verified, certificate = spent(lambda: dfmst.verify(frame, forest))
    if not certificate:
        raise AssertionError(certificate)
    return {"solve": solved["seconds"], "verify": verified["seconds"]}


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """Median of each part."""
    return {name: round(statistics.median(run[name] for run in runs), 4) for name in runs[0]}


def main() -> None:
    chosen = parser(__doc__, "cpu/frames.json").parse_args()
    frame = frame_of(erdos_renyi(1_000_000, 10_000_000))
    call = medians([steps(frame) for _ in range(REPEAT + 2)][2:])
    call["overhead_share"] = round(call["take"] / sum(call.values()), 3)
    check = medians([verification(frame) for _ in range(REPEAT)])
    check["times_solving"] = round(check["verify"] / check["solve"], 2)
    runs = [subprocess.run([sys.executable, "-c", COLD], capture_output=True, check=True) for _ in range(3)]
    cold = [float(run.stdout) for run in runs]
    result = {
        "machine": describe(),
        "call_of_10_M_rows": call,
        "verify_of_10_M_rows": check,
        "first_call_of_a_cold_process_1_M_rows": round(statistics.median(cold), 3),
    }
    write(chosen.output, result)
    print(json.dumps(result, indent=1))
