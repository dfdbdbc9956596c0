"""Forests, components and linked rows of files next to DuckDB, polars with SciPy, and networkit, on two threads.

Every run is a process of its own (imports are not counted), in turn with the others; its result is written to a Parquet
file. dfmst and DuckDB have a memory limit of 1 GiB; the others hold all rows, and their peaks show how much that takes.
A run of more than --most CPU-seconds, or that asks for more than --room bytes, is ended, and the table says so.

Edges are R-MAT (few hubs, many vertices of low degree), with ids of 64-bit hashes or texts, in shuffled order or with
each file sorted by its source. Linked rows are records with three keys, as in `linked.py`, a sixteenth as many. Numbers
of components and of groups, and the forest's weight, must be equal.

    python bench limits/instead --rows 50000000                    # 40 min
    python bench limits/instead --rows 200000000 --only dfmst      # 20 min
    python bench limits/instead --rows 4000000 --repeat 1 -o /tmp/small.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from support.files import with_ids, write_files
from support.machine import describe
from support.results import BENCH, parser, read, write
from support.timing import spent, usage

LIMIT = "1GiB"
KEYS = ["email", "phone", ["first", "born"]]
#: Graphs: kind of ids, and whether each file is sorted.
GRAPHS = {"hashed, shuffled": ("sparse", False), "text, shuffled": ("text", False), "text, sorted": ("text", True)}


def edges(rows: int, kind: str, is_sorted: bool) -> Iterable[pa.Table]:
    """R-MAT rows, about 12 a vertex, in files of about 4 M rows; hubs are the same in all of them."""
    from dfmst.generate import rmat

    scale, files = max(10, (rows // 12).bit_length() - 1), max(1, rows >> 22)
    for number in range(files):
        part = rows * (number + 1) // files - rows * number // files
        table = rmat(scale, -(-part // (1 << scale)), shuffle=False, seed=number).slice(0, part)
        table = with_ids(table, kind)
        yield table.sort_by("source") if is_sorted else table


def people(rows: int) -> Iterable[pa.Table]:
    """Records that few others share a value with: a text, a number, and a name with a date."""
    files, random = max(1, rows >> 22), np.random.default_rng(0)
    for number in range(files):
        part = rows * (number + 1) // files - rows * number // files
        email, phone, first, born = (
            pa.array(random.integers(0, most, part))
            for most in (int(0.8 * rows), int(0.9 * rows), rows // 1000, 30_000)
        )
        columns = {
            "email": pc.binary_join_element_wise("user", email.cast(pa.string()), "@example.org", ""),
            "phone": phone,
            "first": pc.binary_join_element_wise("name", first.cast(pa.string()), ""),
            "born": born.cast(pa.int32()).cast(pa.date32()),
        }
        yield pa.table(columns)


# Every run returns a number that the others must return, too.


def dfmst_components(folder: Path, output: Path) -> float:
    """A stream."""
    import dfmst.stream

    labels = dfmst.stream.fold_components(folder, memory_limit=LIMIT, threads=2)
    labels.write(output)
    return labels.groups["component"]


def dfmst_forest(folder: Path, output: Path) -> float:
    """A stream."""
    import dfmst.stream

    forest = dfmst.stream.fold(folder, memory_limit=LIMIT, threads=2)
    forest.write(output)
    return cast("float", forest.total_weight)


def dfmst_linked(folder: Path, output: Path) -> float:
    """A stream."""
    import pyarrow.parquet

    import dfmst.stream

    dfmst.stream.linked_rows(folder, KEYS, memory_limit=LIMIT, threads=2, output=output)
    return _groups(pyarrow.parquet.read_table(output, columns=["group"])["group"].to_numpy())


def _groups(group: Any) -> int:
    """The number of groups whose name is the first of its rows."""
    return int((group == np.arange(len(group))).sum())


def _duckdb(folder: Path) -> Any:
    import duckdb

    spilled = folder.with_name("duckdb-spilled")
    connection = duckdb.connect(str(folder.with_name("work.duckdb")))
    for setting in (
        "memory_limit='1GiB'",
        "threads=2",
        f"temp_directory='{spilled}'",
        "preserve_insertion_order=false",
    ):
        connection.execute(f"SET {setting}")
    return connection


#: Borůvka's hooking with pointer jumping: each vertex takes its least neighbor, and edges are contracted.
_ROUND = (
    """CREATE OR REPLACE TABLE parent AS SELECT v, least(v, min(u)) AS p FROM (
         SELECT s AS v, t AS u FROM pair UNION ALL SELECT t, s FROM pair) GROUP BY v""",
    # A chain of parents descends, so it ends; a few jumps leave short ones to the next round.
    *["CREATE OR REPLACE TABLE parent AS SELECT a.v, b.p FROM parent a JOIN parent b ON a.p = b.v"] * 3,
    "CREATE OR REPLACE TABLE label AS SELECT l.v, coalesce(q.p, l.p) AS p FROM label l LEFT JOIN parent q ON l.p = q.v",
    """CREATE OR REPLACE TABLE pair AS SELECT DISTINCT a.p AS s, b.p AS t FROM pair e
         JOIN parent a ON e.s = a.v JOIN parent b ON e.t = b.v WHERE a.p <> b.p""",
)


def _contract(connection: Any) -> None:
    """Components of the table ``pair`` (s, t), in the table ``label`` (v, p)."""
    connection.execute("CREATE TABLE label AS SELECT v, v AS p FROM (SELECT s AS v FROM pair UNION SELECT t FROM pair)")
    while connection.execute("SELECT count(*) FROM pair").fetchone()[0]:
        for statement in _ROUND:
            connection.execute(statement)


def duckdb_components(folder: Path, output: Path) -> float:
    """Rounds in SQL, on disk."""
    connection = _duckdb(folder)
    connection.execute(f"CREATE TABLE pair AS SELECT source AS s, target AS t FROM '{folder}/*.parquet'")
    _contract(connection)
    connection.execute(f"COPY label TO '{output}' (FORMAT parquet)")
    return float(connection.execute("SELECT count(*) FROM label WHERE v = p").fetchone()[0])


def duckdb_linked(folder: Path, output: Path) -> float:
    """Pairs of each row and the first row with the same value of a key, then the rounds."""
    connection = _duckdb(folder)
    connection.execute("SET preserve_insertion_order=true")
    connection.execute(f"CREATE TABLE record AS SELECT row_number() OVER () - 1 AS row, * FROM '{folder}/*.parquet'")
    keys = [[key] if isinstance(key, str) else key for key in KEYS]
    firsts = " UNION ALL ".join(
        f"SELECT row AS s, min(row) OVER (PARTITION BY {', '.join(key)}) AS t FROM record" for key in keys
    )
    connection.execute(f"CREATE TABLE pair AS SELECT DISTINCT s, t FROM ({firsts})")
    _contract(connection)
    query = "SELECT r.* EXCLUDE row, l.p AS group_ FROM record r JOIN label l ON r.row = l.v ORDER BY r.row"
    connection.execute(f"COPY ({query}) TO '{output}' (FORMAT parquet)")
    return float(connection.execute("SELECT count(*) FROM label WHERE v = p").fetchone()[0])


def _numbered(folder: Path, *names: str) -> tuple[Any, Any, Any, Any]:
    """Polars: the different ids, both columns as numbers of these, and the table."""
    import polars as pl

    table = pl.read_parquet(f"{folder}/*.parquet", columns=["source", "target", *names])
    ids = pl.concat([table["source"], table["target"]]).unique()
    numbers = pl.DataFrame({"id": ids, "number": np.arange(len(ids), dtype=np.int32)})
    ends = [
        table.select(pl.col(name).alias("id")).join(numbers, on="id", how="left", maintain_order="left")["number"]
        for name in ("source", "target")
    ]
    return ids, ends[0].to_numpy(), ends[1].to_numpy(), table


def _scipy_labels(source: Any, target: Any, vertices: int) -> Any:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    matrix = coo_array((np.ones(len(source), np.int8), (source, target)), (vertices, vertices))
    return connected_components(matrix, directed=False)


def scipy_components(folder: Path, output: Path) -> float:
    """Numbers by polars, components by SciPy."""
    import polars as pl

    ids, source, target, _ = _numbered(folder)
    count, labels = _scipy_labels(source, target, len(ids))
    pl.DataFrame({"vertex": ids, "component": labels}).write_parquet(output)
    return float(count)


def scipy_forest(folder: Path, output: Path) -> float:
    """Numbers by polars, the lightest of parallel rows too, the forest by SciPy; ids go back by a gather."""
    import polars as pl
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    ids, source, target, table = _numbered(folder, "weight")
    low, high = np.minimum(source, target), np.maximum(source, target)
    pairs = pl.DataFrame({"low": low, "high": high, "weight": table["weight"]})
    del source, target, low, high, table
    pairs = pairs.filter(pl.col("low") != pl.col("high")).group_by("low", "high").agg(pl.col("weight").min())
    columns = [pairs[name].to_numpy() for name in ("weight", "low", "high")]
    forest = minimum_spanning_tree(coo_array((columns[0], (columns[1], columns[2])), (len(ids), len(ids)))).tocoo()
    found = {"source": ids.gather(forest.coords[0]), "target": ids.gather(forest.coords[1]), "weight": forest.data}
    pl.DataFrame(found).write_parquet(output)
    return float(forest.data.sum())


def scipy_linked(folder: Path, output: Path) -> float:
    """Pairs of each row and the first row with the same value by polars, components by SciPy."""
    import polars as pl

    table = pl.read_parquet(f"{folder}/*.parquet").with_row_index("row")
    firsts = [table.select(pl.col("row").min().over(key)).to_series().to_numpy() for key in KEYS]
    source = np.concatenate([table["row"].to_numpy()] * len(KEYS))
    count, labels = _scipy_labels(source.astype(np.int32), np.concatenate(firsts).astype(np.int32), len(table))
    table.with_columns(pl.Series("group", labels)).write_parquet(output)
    return float(count)


def networkit_components(folder: Path, output: Path) -> float:
    """Numbers by polars, components by networkit."""
    import networkit
    import polars as pl

    networkit.setNumberOfThreads(2)
    ids, source, target, _ = _numbered(folder)
    graph = networkit.GraphFromCoo((source.astype(np.int64), target.astype(np.int64)), n=len(ids))
    found = networkit.components.ParallelConnectedComponents(graph).run()
    labels = found.getPartition().getVector()
    pl.DataFrame({"vertex": ids, "component": labels}).write_parquet(output)
    return float(found.numberOfComponents())


_DFMST, _SCIPY = ["dfmst.stream", "pyarrow.parquet"], ["polars", "scipy.sparse.csgraph"]
#: Question -> library -> run, and the imports before it.
RUNS: dict[str, dict[str, tuple[Callable[[Path, Path], float], list[str]]]] = {
    "components": {
        "dfmst": (dfmst_components, _DFMST),
        "DuckDB": (duckdb_components, ["duckdb"]),
        "polars + SciPy": (scipy_components, _SCIPY),
        "polars + networkit": (networkit_components, ["polars", "networkit"]),
    },
    "forest": {"dfmst": (dfmst_forest, _DFMST), "polars + SciPy": (scipy_forest, _SCIPY)},
    "linked rows": {
        "dfmst": (dfmst_linked, _DFMST),
        "DuckDB": (duckdb_linked, ["duckdb"]),
        "polars + SciPy": (scipy_linked, _SCIPY),
    },
}


def run_here(question: str, library: str, folder: Path, output: Path) -> dict[str, float]:
    """Run in this process; its figures."""
    run, modules = RUNS[question][library]
    for module in modules:
        importlib.import_module(module)
    figures, value = spent(lambda: run(folder, output))
    return {**figures, "peak": usage()["peak"], "value": value}


def measure(question: str, library: str, folder: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Run in a process of its own, with a limit of CPU-seconds and of memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (chosen.most, chosen.most + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (chosen.room, chosen.room))

    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        own = Path(scratch) / folder.name  # DuckDB's files are written next to it
        own.symlink_to(folder)
        asked = [question, library, str(own), str(Path(scratch) / "result.parquet")]
        command = [sys.executable, str(BENCH), "limits/instead", "--here", *asked]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode == 0:
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures
    if after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime >= chosen.most - 1:
        return {"ended": f"over {chosen.most} CPU-seconds"}
    if done.returncode < 0 or re.search("memory|alloc", done.stderr, re.IGNORECASE):
        return {"ended": f"over {chosen.room >> 30} GiB"}
    raise RuntimeError(done.stderr)


def in_turn(question: str, folder: Path, libraries: list[str], chosen: argparse.Namespace) -> dict[str, Any]:
    """The least CPU-seconds and the highest peak of runs that are repeated in turn; equal values."""
    runs: dict[str, list[dict[str, Any]]] = {library: [] for library in libraries}
    for _ in range(chosen.repeat):
        for library, own in runs.items():
            if not own or "ended" not in own[-1]:
                own.append(measure(question, library, folder, chosen))
                print(folder.name, question, library, json.dumps(own[-1]), flush=True)
    values = [run["value"] for own in runs.values() for run in own if "value" in run]
    if values and not np.allclose(values, values[0], rtol=1e-9):
        raise AssertionError(f"results differ: {runs}")
    result: dict[str, Any] = {"value": values[0]} if values else {}
    for library, own in runs.items():
        ended = [run for run in own if "ended" in run]
        result[library] = (
            ended[0]
            if ended
            else {
                "cpu_seconds": round(min(run["cpu_seconds"] for run in own), 1),
                "peak_mib": round(max(run["peak"] for run in own) / 2**20),
            }
        )
    return result


def tables(chosen: argparse.Namespace) -> Iterable[tuple[str, str, Iterable[pa.Table]]]:
    """Question, kind of input, and its files."""
    for name, (kind, is_sorted) in GRAPHS.items():
        for question in ("components", "forest"):
            yield question, name, edges(chosen.rows, kind, is_sorted)
    records = chosen.rows // 16  # more do not fit dfmst's limit
    yield "linked rows", f"{records / 1e6:.1f} M records", people(records)


def main() -> None:
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(run_here(sys.argv[2], sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5]))))
        return
    options = parser(__doc__, "cpu/instead.json", rows=50_000_000, repeat=2, most=1800, room=10 << 30, only="")
    options.add_argument("--folder", type=Path, help="the files are made in it (default: temporary)")
    options.add_argument("--kinds", default="", help="kinds of input, by commas' parts of their names")
    chosen = options.parse_args()
    results = read(chosen.output)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as scratch:
        for question, kind, made in tables(chosen):
            if chosen.kinds not in kind:
                continue
            folder = Path(scratch) / kind.replace(", ", "-")
            write_files(folder, made)
            libraries = [name for name in RUNS[question] if name.startswith(chosen.only)]
            figures = in_turn(question, folder, libraries, chosen)
            own = results.setdefault(f"{chosen.rows} rows", {}).setdefault(question, {})
            own[kind] = {**own.get(kind, {}), **figures}
            results["machine"] = describe("duckdb", "networkit", "polars", "pyarrow", "scipy")
            write(chosen.output, results)
            if question != "components":  # the graph's last question
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
