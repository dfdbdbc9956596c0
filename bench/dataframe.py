"""The forest in pure dataframe steps next to the kernels, and in DuckDB under a memory limit.

    python bench/dataframe.py [--only ENGINE] [--large ROWS] [--forms ROWS] [-o RESULT.json]

Graphs: Erdős–Rényi with ten rows a vertex, as er1M; ``int64`` ids and ``float64`` weights. Seconds are of one call,
CPU-seconds those of all threads. `--forms` compares Borůvka, Mastiff and BSP on four kinds of graphs of about that many
rows. `--large` solves a Parquet file of that many rows in DuckDB with a
memory limit of 1 GB, and compares the rows with those of ``dfmst.stream``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import dask.dataframe as dd
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from support.graphs import erdos_renyi
from support.machine import describe
from support.results import parser, write
from support.timing import spent, usage

import dfmst
import dfmst.stream
from dfmst.generate import rmat, road_grid

SIZES = (100_000, 1_000_000)


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


def rounded(run: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Rounded seconds and CPU-seconds of a run, and its value."""
    times, value = spent(run)
    return {name: round(seconds, 3) for name, seconds in times.items()}, value


def measure(rows: int, only: str) -> dict[str, dict[str, float]]:
    """Seconds of every engine, after the same call on few rows; its rows must be the kernels'."""
    table, small = edges_of(rows), edges_of(1_000)
    pandas = table.to_pandas()
    dfmst.minimum_spanning_forest(pandas)
    result = {}
    result["kernels (pandas)"], forest = rounded(lambda: dfmst.minimum_spanning_forest(pandas))
    expected = forest["row"].tolist()
    for (name, (frame, read)), (few, _) in zip(engines(table).items(), engines(small).values(), strict=True):
        if not name.startswith(only):
            continue
        dfmst.minimum_spanning_forest(few, algorithm="dataframe")

        def solve(frame: Any = frame, read: Callable[[Any], list[int]] = read) -> list[int]:
            return read(dfmst.minimum_spanning_forest(frame, algorithm="dataframe"))

        result[name], got = rounded(solve)
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
        times, forest = rounded(lambda: dfmst.minimum_spanning_forest(edges, algorithm="dataframe"))
        peak = usage()["peak"]
        found = np.asarray(forest.fetchnumpy()["row"])
        stream, streamed = rounded(lambda: dfmst.stream.minimum_spanning_forest(path, memory_limit="1GiB"))
        same = np.array_equal(found, np.asarray(streamed["row"]))
    if not same:
        raise AssertionError("DuckDB's rows are not those of the stream")
    graph = {"rows": rows, "vertices": rows // 10, "forest": len(found), "memory_limit": "1GB"}
    return {**graph, "duckdb": times, "peak_rss_of_process": peak, "stream": stream, "same_rows": True}


FORMS: tuple[Literal["boruvka", "mastiff", "bsp"], ...] = ("boruvka", "mastiff", "bsp")


def kinds(rows: int) -> dict[str, pa.Table]:
    """Graphs of about as many rows: random, skewed, sparse and with a hub."""
    draw = np.random.default_rng(0)
    side, bits = int((rows / 1.4) ** 0.5), (rows // 16).bit_length() - 1
    hub = np.arange(1, rows // 2 + 1)
    others = draw.integers(1, rows // 2 + 1, (2, rows - len(hub)))
    star = [np.concatenate([hub * 0, others[0]]), np.concatenate([hub, others[1]])]
    weight = np.concatenate([draw.random(len(hub)), 1 + draw.random(len(others[0]))])
    graphs = {
        "Erdős–Rényi": edges_of(rows),
        "R-MAT": rmat(bits, 16, weight="float64"),
        "road grid": road_grid(side, side, 0.7, weight="float64"),
        "hub": pa.table({"source": star[0], "target": star[1], "weight": weight}),
    }
    return {
        name: graph.select(range(3)).append_column("row", pa.array(range(len(graph)))) for name, graph in graphs.items()
    }


def forms(rows: int, only: str) -> dict[str, dict[str, dict[str, float]]]:
    """CPU-seconds of each form, engine and kind of graph, the less of two runs in turn; all rows are the same."""
    result: dict[str, dict[str, dict[str, float]]] = {}
    for kind, table in kinds(rows).items():
        for engine, (frame, read) in engines(table).items():
            if engine not in ("polars", "duckdb", "dask") or not engine.startswith(only):
                continue
            seconds: dict[str, float] = {}
            expected = None
            for form in (*FORMS, *FORMS):
                algorithm = dfmst.algorithms.Dataframe(form=form)

                def solve(frame: Any = frame, read: Any = read, algorithm: Any = algorithm) -> list[int]:
                    rows: list[int] = read(dfmst.minimum_spanning_forest(frame, algorithm=algorithm))
                    return rows

                times, got = rounded(solve)
                seconds[form] = min(times["cpu_seconds"], seconds.get(form, times["cpu_seconds"]))
                if expected is not None and got != expected:
                    raise AssertionError((kind, engine, form))
                expected = got
            result.setdefault(kind, {})[engine] = seconds
            print(rows, kind, engine, seconds, flush=True)
    return result


def main() -> None:
    options = parser(__doc__, "cpu/dataframe.json")
    options.add_argument("--forms", type=int, default=300_000, metavar="ROWS", help="0: leave it out")
    options.add_argument("--only", default="", metavar="ENGINE")
    options.add_argument("--large", type=int, default=20_000_000, metavar="ROWS", help="0: leave it out")
    chosen = options.parse_args()
    result: dict[str, Any] = {"machine": describe("polars", "pyarrow", "duckdb", "dask", "narwhals")}
    if chosen.large:
        result["duckdb_out_of_core"] = large(chosen.large)
        print(result["duckdb_out_of_core"], flush=True)
    if chosen.forms:
        result["forms"] = {"rows": chosen.forms, **forms(chosen.forms, chosen.only)}
    result["engines"] = {str(rows): measure(rows, chosen.only) for rows in SIZES}
    write(chosen.output, result)


if __name__ == "__main__":
    main()
