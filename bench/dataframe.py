"""The forest in pure dataframe steps beside the kernels, and in DuckDB under a memory limit.

    python bench/dataframe.py [--only ENGINE] [--large ROWS] [-o RESULT.json]

Graphs: Erdős–Rényi with ten rows a vertex, as er1M; ``int64`` ids and ``float64`` weights. Seconds are of one call,
CPU-seconds those of all threads. `--large` solves so many rows of a Parquet file in DuckDB with ``memory_limit`` 1 GB,
and holds the rows against those of ``dfmst.stream``.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from graphs import erdos_renyi
from machine import describe

import dfmst
import dfmst.stream

SIZES = (100_000, 1_000_000)
RESULT = Path(__file__).parent / "results" / "cpu" / "dataframe.json"


def edges_of(rows: int) -> pa.Table:
    """The graph, its rows numbered."""
    graph = erdos_renyi(rows // 10, rows)
    columns = {"source": graph.source, "target": graph.target, "weight": graph.weight, "row": np.arange(rows)}
    return pa.table(columns)


def engines(table: pa.Table) -> dict[str, tuple[Any, Callable[[Any], list[int]]]]:
    """Name -> frame, and how to read the rows of its forest."""
    pandas = table.to_pandas()
    return {
        "pandas": (pandas, lambda forest: forest["row"].tolist()),
        "polars": (pl.from_arrow(table), lambda forest: forest["row"].to_list()),
        "pyarrow": (table, lambda forest: forest["row"].to_pylist()),
        "duckdb": (duckdb.connect().from_arrow(table), lambda forest: [row[3] for row in forest.fetchall()]),
        "dask": (dd.from_pandas(pandas, npartitions=4), lambda forest: forest["row"].compute().tolist()),
    }


def spent(run: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Seconds and CPU-seconds of a run, and what it returns."""
    usage, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    value = run()
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime
    return {"seconds": round(seconds, 3), "cpu_seconds": round(cpu, 3)}, value


def measure(rows: int, only: str) -> dict[str, dict[str, float]]:
    """Seconds of every engine, after the same call on few rows; its rows are held against the kernels'."""
    table, small = edges_of(rows), edges_of(1_000)
    pandas = table.to_pandas()
    dfmst.minimum_spanning_forest(pandas)
    result = {}
    result["kernels (pandas)"], forest = spent(lambda: dfmst.minimum_spanning_forest(pandas))
    expected = forest["row"].tolist()
    for (name, (frame, read)), (few, _) in zip(engines(table).items(), engines(small).values(), strict=True):
        if not name.startswith(only):
            continue
        dfmst.minimum_spanning_forest(few, algorithm="dataframe")

        def solve(frame: Any = frame, read: Callable[[Any], list[int]] = read) -> list[int]:
            return read(dfmst.minimum_spanning_forest(frame, algorithm="dataframe"))

        result[name], got = spent(solve)
        if got != expected:
            raise AssertionError(name)
    for times in result.values():
        times["cpu_ns_a_row"] = round(1e9 * times["cpu_seconds"] / rows)
    for name, times in result.items():
        print(rows, name, times, flush=True)
    return result


def large(rows: int) -> dict[str, Any]:
    """DuckDB out of core against the stream, on one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        draw = np.random.default_rng(0)
        ends = draw.integers(0, rows // 10, (2, rows))
        columns = {"source": ends[0], "target": ends[1], "weight": draw.random(rows), "row": np.arange(rows)}
        pq.write_table(pa.table(columns), path, row_group_size=1 << 20)
        del ends, columns
        limits: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": "1GB",
            "threads": 2,
            "temp_directory": folder,
        }
        edges = duckdb.connect(config=limits).read_parquet(str(path))
        times, forest = spent(lambda: dfmst.minimum_spanning_forest(edges, algorithm="dataframe"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found = np.asarray(forest.fetchnumpy()["row"])
        stream, streamed = spent(lambda: dfmst.stream.minimum_spanning_forest(path, memory_limit="1GiB"))
        same = np.array_equal(found, np.asarray(streamed["row"]))
    if not same:
        raise AssertionError("DuckDB's rows are not those of the stream")
    told = {"rows": rows, "vertices": rows // 10, "forest": len(found), "memory_limit": "1GB"}
    return {**told, "duckdb": times, "peak_rss_of_process": peak, "stream": stream, "same_rows": True}


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="ENGINE")
    parser.add_argument("--large", type=int, default=20_000_000, metavar="ROWS", help="0: leave it out")
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    chosen = parser.parse_args()
    result: dict[str, Any] = {"machine": describe("polars", "pyarrow", "duckdb", "dask", "narwhals")}
    if chosen.large:
        result["duckdb_out_of_core"] = large(chosen.large)
        print(result["duckdb_out_of_core"], flush=True)
    result["engines"] = {str(rows): measure(rows, chosen.only) for rows in SIZES}
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
