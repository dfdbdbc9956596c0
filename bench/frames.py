"""What a user waits for beside the algorithm: frame overhead, verification, and the first call of a cold process.

    python bench/frames.py [-o RESULT.json]

Graph: Erdős–Rényi, 1 M vertices, 10 M rows, ``int64`` ids and ``float64`` weights, in a pandas frame.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from graphs import erdos_renyi
from machine import describe
from peers import frame_of

import dfmst
from dfmst._columns.read import EdgeColumns, read_table
from dfmst._engines import select_engine
from dfmst._frames.open import open_frame
from dfmst.algorithms import resolve
from dfmst.algorithms.trace import Trace

REPEAT = 7
RESULT = Path(__file__).parent / "results" / "cpu" / "frames.json"

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
    """Seconds of one call, by part."""
    engine = select_engine()
    times = [time.perf_counter()]
    view = open_frame(frame)
    given = read_table(engine, view, EdgeColumns(), defer_checks=True)
    times.append(time.perf_counter())
    rows = resolve("auto", engine, given.table).run(engine.in_scratch(), given.table, Trace())  # as `solve` does
    times.append(time.perf_counter())
    view.take(engine, rows)
    times.append(time.perf_counter())
    read, solve, take = (after - before for before, after in itertools.pairwise(times))
    return {"read": read, "solve": solve, "take": take}


def verification(frame: Any) -> dict[str, float]:
    """Seconds of a call and of its verification."""
    begin = time.perf_counter()
    forest = dfmst.minimum_spanning_forest(frame)
    solved = time.perf_counter()
    certificate = dfmst.verify(frame, forest)
    verified = time.perf_counter()
    if not certificate:
        raise AssertionError(certificate)
    return {"solve": solved - begin, "verify": verified - solved}


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """Median of each part."""
    return {name: round(statistics.median(run[name] for run in runs), 4) for name in runs[0]}


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    chosen = parser.parse_args()
    frame = frame_of(erdos_renyi(1_000_000, 10_000_000))
    call = medians([steps(frame) for _ in range(REPEAT + 2)][2:])
    call["overhead_share"] = round((call["read"] + call["take"]) / sum(call.values()), 3)
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
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
