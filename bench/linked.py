"""Linked rows next to polars' group_by of each key: CPU-seconds and seconds, in turn in one process.

    python bench/linked.py [-o bench/results/cpu/linked.json] [--rows 10000000] [--turns 3]

A frame of polars has three keys: an address (text, 0.8 different ones a row), a number (0.9 a row), and a first name
with a date (2,000 and 30,000 different ones). polars counts the rows of each value of each key: three group_bys. dfmst
finds the groups that rows form if they share any of the three. The ratio is that of the least CPU-seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from support.machine import describe
from support.results import write
from support.timing import spent

import dfmst

KEYS = ["email", "phone", ["first", "born"]]


def people(rows: int) -> pl.DataFrame:
    """Records that few others share a value with, as in a table of customers."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "email": rng.integers(0, int(0.8 * rows), rows),
            "phone": 10**9 + 7 * rng.integers(0, int(0.9 * rows), rows),
            "first": rng.integers(0, 2_000, rows),
            "born": rng.integers(0, 30_000, rows),
        }
    )
    email = "user" + pl.col("email").cast(pl.String) + "@example.org"
    return table.with_columns(
        email.alias("email"), ("name" + pl.col("first").cast(pl.String)).alias("first"), pl.col("born").cast(pl.Date)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "cpu" / "linked.json")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    table = people(arguments.rows)
    runs = {
        "polars, three group_bys": lambda: [table.group_by(key).agg(pl.len()).height for key in KEYS],
        "dfmst.linked_rows": lambda: dfmst.linked_rows(table, KEYS)["group"].n_unique(),
    }
    times: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
    values = {}
    for _ in range(arguments.turns):
        for name, run in runs.items():
            taken, values[name] = spent(run)
            times[name].append({clock: round(value, 3) for clock, value in taken.items()})
            print(name, times[name][-1], flush=True)
    least = {name: min(run["cpu_seconds"] for run in own) for name, own in times.items()}
    ours, peer = least["dfmst.linked_rows"], least["polars, three group_bys"]
    results = {"rows": arguments.rows, "keys": KEYS, "runs": times, "least_cpu_seconds": least, "values": values}
    write(arguments.output, {"machine": describe("polars"), **results, "times_of_polars": round(ours / peer, 2)})


if __name__ == "__main__":
    main()
